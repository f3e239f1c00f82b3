//! Endpoints of the Stream Control Transmission Protocol (SCTP, RFC 9260) as state machines without
//! I/O: packets and time go in, packets and deadlines come out.
//!
//! An association has one sequence of transmission sequence numbers (TSNs) for reliability, and
//! streams for order: a loss delays the messages of its own stream only. It may have several paths,
//! one for each pair of addresses. Each path has a congestion window, an RTO and a heartbeat of its
//! own. Data goes to the primary path, and to an alternate one while the primary path is inactive.
//!
//! The head of each module says what RFC 9260 leaves open and what deviates from it. Not
//! implemented: restart of an association, simultaneous INITs, changes of addresses, ECN, and
//! dropping data that was acknowledged in a gap block.
//!
//! - [`Packet`] and [`Chunk`]: the layout and the lengths; [`write()`] makes their bytes
//! - [`Connection`]: one end

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod chunk;
mod config;
mod connection;
mod inbound;
mod info;
mod outbound;
mod path;
mod receiver;
mod sender;
mod window;
mod wire;

pub use chunk::{
    Address, Beat, COMMON_HEADER, Chunk, Cookie, DATA_HEADER, Data, Flags, Init, Kind, Packet, Sack,
};
pub use config::{Config, MAX_PATHS};
pub use connection::{Connection, State};
pub use info::{Chunks, Events};
pub use wire::{PROTOCOL, write};
