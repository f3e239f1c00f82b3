//! One end of a QUIC connection, without I/O.
//!
//! The QUIC is quinn's, unchanged (`quinn-proto`). This crate gives it simulated time, seeded
//! random numbers and the controllers of the laboratory, and carries datagrams in and out.
//! Handshake, packets, loss detection, flow control, pacing and the search for the path MTU are
//! quinn's.
//!
//! Each end has one unidirectional stream to the other, and the client may ask on bidirectional
//! streams, one for each request and its answer. A relay can read and write the two unidirectional
//! streams ([`Connection::relayed`]). The bytes of a stream follow from their position, and the
//! receiver compares them.
//!
//! **Determinism.** Packet lengths and times depend on the scenario and the seed only. Keys of TLS
//! are random, because ring draws them from the system, but of constant length; so the contents of
//! encrypted packets differ between two runs, and nothing else does. Of quinn's own controllers,
//! NewReno and CUBIC are offered. quinn's BBR draws from a generator of the thread, which no seed
//! controls: the laboratory's `bbr` takes its place.

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod choice;
mod clock;
mod config;
mod connection;
mod content;
mod exchanges;
mod identity;
mod key_log;
mod logs;
mod maker;
mod meter;
mod outgoing;
mod resumption;
mod statistics;
mod tls;
mod trace;

pub use choice::{Choice, Congestion, Unsuitable};
pub use config::{Config, Settings};
pub use connection::{Connection, Datagram, reason};
pub use key_log::KeyLogWriter;
pub use logs::{LogError, Logs};
pub use maker::Maker;
pub use quinn_controllers::{Carriage, Driver, Factory, carriage};
pub use quinn_proto::ConnectionError;
pub use statistics::Statistics;
pub use trace::{Sink, Traces};
