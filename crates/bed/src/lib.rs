//! What every bed does alike, so that one scenario means the same in all of them: the network that
//! a scenario describes, the addresses of its nodes, what its applications do, and what its links
//! leave behind.
//!
//! Like the rooms below it, this one reads no clock and no socket: a bed tells the time and owns the
//! connections, which applications act on through [`Connections`].

mod address;
mod application;
mod links;
mod topology;

pub use address::{address, ipv4, ipv6, node};
pub use application::{Application, Connections, Pair, applications};
pub use links::{LinkRecorder, link_records};
pub use topology::{channels, topology};
