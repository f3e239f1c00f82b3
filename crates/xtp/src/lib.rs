//! Endpoints of the Xpress Transport Protocol (XTP, revision 4.0) as state machines without I/O:
//! packets and time go in, packets and deadlines come out.
//!
//! In XTP the sender decides when the receiver reports: a packet with SREQ requests its state, one
//! with DREQ requests it once the data is delivered, and data with FASTNAK permits a report of a
//! gap when it is detected. A report has the next byte in order, the end of the window, and the
//! spans of bytes that have arrived above gaps. XTP has no congestion control. A sender is limited
//! by the window and by two numbers, RATE and BURST.
//!
//! Headers, option bits and lengths are those of XTP 4.0, read in a dissector (Wireshark,
//! `packet-xtp.c`). The definition of the protocol itself was not found. What starts a request,
//! which data a report shows to be lost, how much may leave before the first report, and the order
//! of a close are reconstructed. Multicast (JOIN, JCNTL), transfers without error control (NOERR),
//! priorities (SORT), tags (BTAG) and DIAG are not implemented.
//!
//! - [`Packet`]: the packets and their lengths; [`write()`] makes their bytes
//! - [`Connection`]: one end

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod config;
mod connection;
mod info;
mod packet;
mod rate;
mod receiver;
mod requests;
mod sender;
mod wire;

pub use config::{Config, Retransmission};
pub use connection::{Connection, State};
pub use info::Sent;
pub use packet::{HEADER, Kind, Options, Packet, SpanOfBytes, Traffic};
pub use wire::{PROTOCOL, write};
