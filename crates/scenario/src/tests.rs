//! The language as a whole.

mod accepted;
mod refused;
