//! The network: a graph of nodes and links that carries packets from host to host.
//!
//! It is generic over the content of packets and over the clock. The simulator moves the
//! packets of all transport protocols in virtual time, and the kernel backend moves real packets in
//! real time, with the same code.
//!
//! [`Network`] is the fast engine. It has at most one event per packet and hop. Packets in flight
//! wait in a ring per output port, and the event list has one entry per port for any number of
//! packets.
//! [`reference::ReferenceNetwork`] is the reference engine: the same network in a simple form. Both
//! implement [`Fabric`] and must give the same run, event for event.

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod arrivals;
mod compressor;
mod event_list;
mod fabric;
mod filter;
mod held;
mod network;
mod port;
pub mod reference;
mod ring;
mod router;
mod routes;
mod schedule;
mod topology;
mod winner_tree;

pub use beam::{BeamCounts, BeamReport};
pub use compressor::Compressor;
pub use fabric::{Advance, Counted, Delivery, Fabric, FlowId, NodeId, NodeReport, Packet};
pub use filter::QueueFilter;
pub use link::Ecn;
pub use network::Network;
pub use port::{PortReport, QueueReport};
pub use router::QueueRouter;
pub use schedule::Schedule;
pub use topology::{PortKind, PortSpec, Topology};
pub use winner_tree::WinnerTree;
