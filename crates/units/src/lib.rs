//! The quantities that all crates share: times, spans, data rates and sizes.
//!
//! Internally, every quantity is an unsigned integer (nanoseconds, bits per second, bytes), so that
//! all machines compute the same results. Externally, values are strings with units: `"250ms"`,
//! `"2Mbit/s"`, `"64KiB"`. A bare number, or an ambiguous unit (`bps`), is an error.
//!
//! ```
//! use units::{Rate, Span};
//!
//! assert_eq!("2Mbit/s".parse::<Rate>()?, Rate::from_bits_per_second(2_000_000));
//! assert_eq!("250ms".parse::<Span>()?.as_millis_f64(), 250.0);
//! assert!("2Mbps".parse::<Rate>().is_err(), "it could mean bytes");
//! # Ok::<(), units::UnitError>(())
//! ```
//!
//! [`shrink_if_empty`] is the rule by which queues give back their memory.
//!
//! Decisions:
//! - `units` is a room of its own: every other room speaks in times, rates and sizes; one place to
//!   parse them.

mod parse;
mod queue;
mod rate;
#[cfg(feature = "schema")]
mod schema;
mod size;
mod time;

pub use parse::UnitError;
pub use queue::shrink_if_empty;
pub use rate::Rate;
pub use size::{Bytes, SizeLimit};
pub use time::{Span, Time};
