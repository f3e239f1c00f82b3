//! Routing tables: the next output port of a packet, looked up once per hop.

use crate::fabric::NodeId;
use crate::topology::{PortKind, PortSpec, Topology};

/// The tables of a topology in the form that the engines read.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// Number of destinations.
    destinations: usize,
    /// The nodes of destinations that are no nodes.
    addresses: Vec<NodeId>,
    /// By node and destination, the port of the link to take.
    out: Vec<u16>,
    /// By node, the port of its limited forwarding.
    forwarding: Vec<u16>,
}

/// No route leads there.
const NONE: u16 = u16::MAX;

/// The packet is at its destination.
const HERE: u16 = u16::MAX - 1;

impl Routes {
    pub(crate) fn new(topology: &Topology) -> Self {
        let port = |port: &Option<u16>| port.unwrap_or(NONE);
        Self {
            destinations: topology.destinations(),
            addresses: topology.addresses.clone(),
            out: topology.routes.iter().flatten().map(port).collect(),
            forwarding: topology.forwarding.iter().map(port).collect(),
        }
    }

    /// The port that a packet takes out of `node`.
    ///
    /// # Panics
    /// If there is no route. Scenarios with unreachable nodes are rejected before they run.
    #[inline]
    pub(crate) fn out(&self, node: NodeId, to: NodeId) -> usize {
        there(self.out[usize::from(node.0) * self.destinations + usize::from(to.0)])
    }

    /// Returns true if `to` is `node` or one of its addresses.
    fn is_at(&self, node: NodeId, to: NodeId) -> bool {
        let address = usize::from(to.0).checked_sub(self.forwarding.len());
        node == address.map_or(to, |address| self.addresses[address])
    }

    /// The port that a packet takes next when it comes out of a port of `kind` at `node`; `None`
    /// at its destination.
    #[inline]
    pub(crate) fn next(&self, kind: PortKind, node: NodeId, to: NodeId) -> Option<usize> {
        if kind == PortKind::Forwarding {
            return Some(self.out(node, to));
        }
        if self.is_at(node, to) {
            return None;
        }
        match self.forwarding[usize::from(node.0)] {
            NONE => Some(self.out(node, to)),
            port => Some(usize::from(port)),
        }
    }
}

/// The result of [`Routes::next`] by port and destination: one look-up without branches.
#[derive(Clone, Debug)]
pub(crate) struct NextHop {
    /// Number of destinations.
    destinations: usize,
    ports: Vec<u16>,
}

impl NextHop {
    pub(crate) fn new(topology: &Topology) -> Self {
        let number = |port: &Option<u16>| port.unwrap_or(NONE);
        let behind = |port: &PortSpec| {
            let node = usize::from(port.to.0);
            let mut row: Vec<u16> = topology.routes[node].iter().map(number).collect();
            if port.kind == PortKind::Link {
                if let Some(forwarding) = topology.forwarding[node] {
                    row.fill(forwarding);
                }
                row[node] = HERE;
                let own = row[topology.routes.len()..].iter_mut().zip(&topology.addresses);
                own.filter(|(_, at)| **at == port.to).for_each(|(hop, _)| *hop = HERE);
            }
            row
        };
        Self {
            destinations: topology.destinations(),
            ports: topology.ports.iter().flat_map(behind).collect(),
        }
    }

    /// The port that a packet takes next when it comes out of `port`; `None` at its destination.
    #[inline]
    pub(crate) fn next(&self, port: usize, to: NodeId) -> Option<usize> {
        let next = self.ports[port * self.destinations + usize::from(to.0)];
        (next != HERE).then(|| there(next))
    }
}

#[inline]
fn there(port: u16) -> usize {
    assert!(port != NONE, "a packet is only sent where a route leads");
    usize::from(port)
}
