//! Endpoints of the Satellite Transport Protocol (STP) as state machines without I/O: packets and
//! time go in, packets and deadlines come out.
//!
//! STP (T. R. Henderson and R. H. Katz, "Satellite Transport Protocol (STP): An SSCOP-based
//! Transport Protocol for Datagram Satellite Networks", WOSBIS 1997) numbers packets and lets the
//! sender ask for the state of the receiver. A receiver reports gaps when it detects them, and
//! everything when it is polled. No timer runs on data, and little traffic returns.
//!
//! Reconstructed. The rules of the data transfer are those of SSCOP (ITU-T Q.2110), read in an
//! implementation (FreeBSD, `saal_sscop.c`). What STP adds is known from abstracts only: operation
//! over IP, a congestion window, a rate, POLLs on data, and data on the opening PDU. Its layout on
//! the wire, the end of a stream, and the probing of XSTP are ours.
//!
//! - [`Packet`]: the PDUs and their lengths; [`Pdu`] writes and reads them with their ports
//! - [`Connection`]: one end
//! - [`missing`]: controllers that STP cannot carry

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod config;
mod connection;
mod control;
mod info;
mod pdu;
mod polls;
mod probing;
mod receiver;
mod sender;
mod wire;

pub use config::{Config, missing};
pub use connection::{Connection, State};
pub use info::Pdus;
pub use pdu::{Flags, Kind, MAX_LIST, MAX_WINDOW, Packet, SD_HEADER};
pub use probing::{Cause, Verdicts};
pub use wire::{PROTOCOL, Pdu};
