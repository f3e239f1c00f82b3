//! Packets as they are on the wire: sizes of headers, emitting and parsing of IP, TCP and UDP.
//!
//! - [`ip`]: the version of IP, addresses, the header and its fields.
//! - [`tcp`]: flags, sizes of options, and [`TcpPacket`], which writes a whole segment.
//! - [`udp`]: the header of a datagram.
//! - [`segment`]: reading of TCP segments, and ACKs made from them.
//! - [`icmp`]: the answer to a packet that is too long, or whose destination cannot be reached.
//! - [`netlink`]: messages between a program and the Linux kernel.
//! - [`feedback`]: the field in which routers give feedback to senders.
//! - [`IpPacket`] reads a packet that a real host has sent, and marks it. `gateway` has what a
//!   gateway does to such packets.
//!
//! The simulator, captures and the testbed use the same sizes, so that a packet has the same length
//! in all of them.

mod checksum;
mod crc;
pub mod feedback;
mod gateway;
pub mod icmp;
pub mod ip;
pub mod netlink;
mod packet;
pub mod segment;
pub mod tcp;
pub mod udp;

pub use checksum::internet_checksum;
pub use crc::crc32c;
pub use ip::{Addresses, IpVersion};
pub use packet::IpPacket;
pub use segment::TcpFields;
pub use tcp::TcpPacket;
pub use udp::UdpHeader;
