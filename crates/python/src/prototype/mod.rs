//! Controllers written in Python: a class with the methods of the trait `Controller`.
//!
//! `base` is the class that they inherit from, `window` and `events` what its methods work with,
//! `bridge` makes an object of it a controller of the engine, `flows` says whose, and `steps`
//! compares it with a controller in Rust.

mod base;
mod bridge;
mod events;
mod flows;
mod steps;
mod values;
mod window;

pub use base::Controller;
pub use events::{
    Ack, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, RateSample, Sent,
};
pub use flows::Prototypes;
pub use steps::{Lockstep, StepDifference, StepState, lockstep};
pub use window::{Settings, Window};
