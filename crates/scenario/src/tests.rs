//! The language as a whole.

mod accepted;
