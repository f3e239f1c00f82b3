//! The vocabulary that every room shares: instants, spans, data rates and sizes.
//!
//! Inside, everything is an unsigned integer (nanoseconds, bits per second, bytes), so that two
//! machines compute the same thing. Outside, values are strings with units: `"250ms"`,
//! `"2Mbit/s"`, `"64KiB"`. A bare number, or a unit that could mean two things (`bps`), is an error.

mod parse;
mod rate;
#[cfg(feature = "schema")]
mod schema;
mod size;
mod time;

pub use parse::UnitError;
pub use rate::Rate;
pub use size::Bytes;
pub use time::{Span, Time};
