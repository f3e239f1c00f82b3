//! Congestion controllers. One algorithm is one file; `registry` gives each its name.
//!
//! A [`Controller`] is a state machine without I/O: TCP tells it what happened (an ACK, a loss, a
//! timeout), with the time as an argument, and reads its congestion window. What a controller does
//! not change it does not write: the trait's defaults are RFC 5681 and RFC 6582.

mod adalr;
mod aliad;
mod bandwidth;
mod bbr;
mod bbr3;
mod bic;
mod bulk_repeat;
mod careful_resume;
mod cherry;
mod ck_stp;
mod controller;
mod cubic;
mod delivery_model;
mod events;
mod highspeed;
mod hoe;
mod htcp;
mod hybla;
mod jersey;
mod logwestwood_plus;
mod new_vegas;
mod newreno_sat;
mod parameters;
mod peach;
mod peach_plus;
mod probing;
mod registry;
mod reno;
mod scalable;
mod slow_start;
mod spike;
pub mod standard;
mod star;
#[cfg(test)]
mod test_path;
mod vegas;
mod vegas_estimator;
mod veno;
mod westwood;
mod westwood_abse;
mod westwood_plus;
mod window;

pub use careful_resume::{CarefulResume, ResumePhase, SavedPath};
pub use controller::{Controller, LossThreshold, Pacing, Recovery};
pub use events::{
    Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Probe, ProbeState, RateSample,
    RecoveryStyle, SendState, Sent, Sizing,
};
pub use parameters::{Allowed, Parameter, ParameterError, Value, Values};
pub use registry::{
    AnyController, Entry, Foreign, Specification, Status, UnknownController, entries, find,
};
pub use window::{Settings, Window};
