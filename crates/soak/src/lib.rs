//! Random scenarios by the thousand. Each is drawn from the schema of the language (`generate`),
//! runs on both engines, again, observed, and is saved and read again; what comes out must agree
//! and must hold invariants that no scenario may break. The second run has another seed if the
//! first has drawn nothing from its own.
//!
//! - [`examine`] does all that with one scenario, and [`Finding`] is what it finds.
//! - [`campaign()`] does it with many on all cores, and counts what of the language they had.
//! - [`reduced`] leaves out of a scenario whatever its finding does not need.
//! - [`Fault`] plants errors, to prove that the checks would find them.
//! - [`entries`] is what fuzzers call with bytes: parsers that must answer whatever they get.
//!
//! The test of this crate examines two thousand scenarios in each run of the tests. `make soak`
//! goes on for hours, in the checked build and in the one that users have.

mod beams;
mod campaign;
mod conservation;
pub mod entries;
mod examination;
mod fault;
mod invariants;
mod reduction;

pub use campaign::{Campaign, PAIRS_OF_EACH, Report, campaign, one};
pub use examination::{Examined, Finding, examine};
pub use fault::Fault;
pub use reduction::{reduced, written};
