//! The language as a whole.

mod accepted;
mod aqm;
mod arq;
mod changelog;
mod changes;
mod explained;
mod fades;
mod fec;
mod given;
mod middlebox;
mod modems;
mod refused;
mod renamed;
mod robust;
mod traces;
