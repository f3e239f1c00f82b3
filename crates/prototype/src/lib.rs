//! Controllers written in Python: a class with the methods of the trait `Controller`.
//!
//! `base` is the class that they inherit from, `window` and `events` what its methods work with,
//! `bridge` makes an object of it a controller of the engine, and `flows` says whose. `errors` has
//! the exceptions that the other bindings raise too.
//!
//! The engine calls these for each ACK, so the crate is optimised. The other bindings are in the
//! crate `python`, which is not.

mod base;
mod bridge;
pub mod errors;
mod events;
mod flows;
mod values;
mod window;

pub use base::Controller;
pub use bridge::{Bridge, Failure};
pub use events::{
    Ack, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, RateSample, Sent,
};
pub use flows::Prototypes;
pub use window::{Settings, Window};
