//! The graph: nodes, their output ports, and the next port on every route.
//!
//! An output *port* is one direction of a link, or the forwarding of a router with limited rate and
//! memory. Packets pass it in order.

use link::Direction;

use crate::fabric::NodeId;

/// The kind of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// One direction of a link; packets come out at the far end.
    Link,
    /// A router's forwarding; packets come out at the same router and then take their link.
    Forwarding,
}

/// Parameters of a port.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// The node at the far end.
    pub to: NodeId,
    /// Kind of the port.
    pub kind: PortKind,
    /// Queue, transmitter, channel and delay.
    pub direction: Direction,
    /// The port of the other direction of the link; `None` without one. The status frames of ARQ
    /// take it.
    pub reverse: Option<u16>,
}

/// A graph that is ready to carry packets.
#[derive(Clone, Debug)]
pub struct Topology {
    /// All ports; their position is their number, and the order of simultaneous arrivals.
    pub ports: Vec<PortSpec>,
    /// For each node and destination, the port of the link to take; `None` where no route leads.
    /// Destinations are the nodes, then the addresses.
    pub routes: Vec<Vec<Option<u16>>>,
    /// The nodes of further addresses.
    pub addresses: Vec<NodeId>,
    /// For each node, the port of its limited forwarding.
    pub forwarding: Vec<Option<u16>>,
}

impl Topology {
    /// Number of destinations that packets can have.
    pub fn destinations(&self) -> usize {
        self.routes.len() + self.addresses.len()
    }
}
