//! Congestion controllers, and their interface to transport protocols.
//!
//! A [`Controller`] is a state machine without I/O. The transport reports events (an ACK, a loss, a
//! timeout) with the time as an argument, and reads the congestion window. A controller implements
//! only the methods that it changes: the defaults of the trait are RFC 5681 and RFC 6582. Decisions
//! that only TCP needs are in [`TcpPolicy`].
//!
//! - `controllers/` has one file per algorithm, and its `mod.rs` is the list of them
//! - `parts/` has the parts that several of them share
//! - [`entries`], [`find`] and [`Specification`] find controllers by name; [`register`] adds those
//!   of other crates
//!
//! ```
//! use congestion::Specification;
//!
//! let specification = Specification::named("cubic").unwrap();
//! assert_eq!(specification.entry().source, "RFC 9438");
//! assert!(Specification::named("cubik").is_err());
//! ```

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod any;
mod controller;
mod controllers;
mod detector;
mod entry;
mod events;
mod hints;
mod link_share;
mod parameters;
mod parts;
mod registry;
mod specification;
pub mod standard;
mod tcp_policy;
mod unlimited;
mod window;

pub use any::{AnyController, External};
pub use controller::Controller;
pub use detector::{Detection, DetectionLog, DetectionRule, Detector, Sign, Watched};
pub use entry::{Entry, Listed, Need, Repair, Status};
pub use events::{
    Ack, Ecn, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, PathChangeKind,
    RateSample, RecoveryStyle, RequestState, RouterFeedback, Sent, Utilisation,
};
pub use hints::PathHints;
pub use parameters::{Allowed, Parameter, ParameterError, Value, Values};
pub use parts::delivery_model::draw;
pub use parts::linux::{LINUX, ORIGINAL, VARIANT};
pub use parts::picoquic::PICOQUIC;
pub use registry::{NameTaken, entries, find, need, register, variants};
pub use specification::{Specification, UnknownController};
pub use tcp_policy::{Probe, ProbeState, SendState, Sizing, TcpPolicy};
pub use window::{Settings, Window};
pub use wire::feedback::{Protocol, Request, Response};
