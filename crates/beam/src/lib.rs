//! A satellite beam as state machines without I/O: one gateway, a shared forward carrier, a shared
//! return channel, and many terminals.
//!
//! - [`forward`]: the carrier to the terminals, with frames and a scheduler
//! - [`returning`]: the channel from the terminals, with demand assignment
//! - [`access`]: random access to the return channel
//! - [`capacity`]: closed forms of the forward carrier
//!
//! The caller gives times and packets, so that the simulator and a bed in real time run the same
//! code. A terminal without packets costs nothing.

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

pub mod access;
pub mod capacity;
mod classes;
pub mod forward;
mod packet;
mod plan;
mod report;
pub mod returning;

pub use classes::Classes;
pub use packet::{Arrived, Delays, Offered, TerminalCounters, TerminalId};
pub use plan::{Allowance, Plan};
pub use report::{BackgroundReport, BeamCounts, BeamReport, DirectionReport};
