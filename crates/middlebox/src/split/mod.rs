//! Split proxies (RFC 3135, section 3.1): a gateway ends each TCP connection that crosses it, and
//! opens another one towards the other end.
//!
//! `preset` names proxies of papers and programs. `settings` has the keys that every split proxy
//! has, simulated or on Linux. `admission` decides when the SYN of a client is answered. `bucket`
//! is a rate that the connections of a side share, and `meter` measures how much of it they use.
//! `relay` decides what one direction of a split connection does next. Neither opens a socket or
//! reads a clock. `conduct` is the table of tests of both.

mod admission;
mod bucket;
pub mod conduct;
mod meter;
mod preset;
mod relay;
mod settings;

pub use admission::{Admission, Admitted, Known, Policy, Verdict};
pub use bucket::{Bucket, BucketSettings};
pub use meter::{Measured, Meter, Metered};
pub use preset::Preset;
pub use relay::{Relay, Step};
pub use settings::{Accept, AtLimit, SideName, SplitLimits, SplitSide};
