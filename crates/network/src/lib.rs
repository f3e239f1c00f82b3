//! Nodes and links as a graph that carries packets from host to host.
//!
//! Generic over what a packet carries and over who tells the time: the simulator moves TCP
//! segments in virtual time, a kernel bed real packets in real time, through the same code.
//!
//! [`Network`] is the fast engine: one event per packet and hop, packets in flight wait in a ring
//! per link, and the schedule holds one entry per link however long the pipe.
//! [`oracle::SlowNetwork`] is the same network written the obvious way. Both are a [`Fabric`], and
//! must give the same run, event for event.

mod agenda;
mod arrivals;
mod fabric;
mod held;
mod lane;
mod network;
pub mod oracle;
mod ring;
mod routes;
mod schedule;
mod topology;
mod tournament;

pub use fabric::{Delivery, Fabric, FlowId, NodeId, Packet};
pub use lane::LaneReport;
pub use link::Ecn;
pub use network::Network;
pub use schedule::Schedule;
pub use topology::{LaneKind, LaneSpec, Topology};
