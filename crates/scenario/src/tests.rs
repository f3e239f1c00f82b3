//! The language as a whole.

mod accepted;
mod explained;
mod fades;
mod refused;
mod robust;
