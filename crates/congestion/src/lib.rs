//! Congestion controllers. One algorithm is one file; `registry` gives each its name.
//!
//! A [`Controller`] is a state machine without I/O: TCP tells it what happened (an ACK, a loss, a
//! timeout), with the time as an argument, and reads its congestion window. What a controller does
//! not change it does not write: the trait's defaults are RFC 5681 and RFC 6582.

mod controller;
mod controllers;
mod events;
mod parameters;
mod parts;
mod registry;
pub mod standard;
mod window;

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
