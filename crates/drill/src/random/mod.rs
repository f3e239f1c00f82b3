//! Random scripts: a seed draws a stimulus, one host records a script of it, another host plays it.
//!
//! A stimulus has the settings of a connection, the writes of an application, and a path with its
//! faults. The other end is a model of a receiver, which answers what the host sends. The recorded
//! script is fixed: its segments arrive at the other host at the same times, whatever that sends.

mod campaign;
mod dice;
mod group;
mod receiver;
mod recorder;
mod reduction;
mod stimulus;
mod trace;

pub use campaign::{Bench, Difference, Plan, Verdict, run};
pub use group::{Group, group};
pub use recorder::{prologue, record, record_again};
pub use reduction::reduce;
pub use stimulus::{Controller, Fault, Stimulus, Write};
pub use trace::trace;
