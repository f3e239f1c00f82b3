//! The language as a whole.

mod accepted;
mod explained;
mod refused;
mod robust;
