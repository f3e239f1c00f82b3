//! Congestion controllers. One algorithm is one file; `registry` gives each its name.
//!
//! A [`Controller`] is a state machine without I/O: TCP tells it what happened (an ACK, a loss, a
//! timeout), with the time as an argument, and reads its congestion window. What a controller does
//! not change it does not write: the trait's defaults are RFC 5681 and RFC 6582.

mod adalr;
mod bic;
mod cherry;
mod controller;
mod cubic;
mod events;
mod highspeed;
mod htcp;
mod hybla;
mod parameters;
mod peach;
mod peach_plus;
mod probing;
mod registry;
mod reno;
mod scalable;
mod veno;
mod westwood_plus;
mod window;

pub use controller::{Controller, LossThreshold, Recovery};
pub use events::{
    Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Probe, ProbeState, RateSample,
    RecoveryStyle, SendState, Sent, Sizing,
};
pub use parameters::{Allowed, Parameter, ParameterError, Value, Values};
pub use registry::{AnyController, Entry, Specification, Status, UnknownController, entries, find};
pub use window::{Settings, Window};
