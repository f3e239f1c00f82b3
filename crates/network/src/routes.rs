//! The next lane of a packet, looked up once for each hop.

use crate::fabric::NodeId;
use crate::topology::{LaneKind, Topology};

/// The tables of a topology in the form that the engines read.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    nodes: usize,
    /// By node and destination, the lane of the link to take.
    out: Vec<u16>,
    /// By node, the lane of its limited forwarding.
    forwarding: Vec<u16>,
}

const NONE: u16 = u16::MAX;

impl Routes {
    pub(crate) fn new(topology: &Topology) -> Self {
        let lane = |lane: &Option<u16>| lane.unwrap_or(NONE);
        Self {
            nodes: topology.routes.len(),
            out: topology.routes.iter().flatten().map(lane).collect(),
            forwarding: topology.forwarding.iter().map(lane).collect(),
        }
    }

    /// The lane that a packet takes out of `node`.
    ///
    /// # Panics
    /// When no route leads there; scenarios with unreachable nodes are refused before they run.
    #[inline]
    pub(crate) fn out(&self, node: NodeId, to: NodeId) -> usize {
        let lane = self.out[usize::from(node.0) * self.nodes + usize::from(to.0)];
        assert_ne!(lane, NONE, "a packet is only sent where a route leads");
        usize::from(lane)
    }

    /// The lane that a packet takes next when it comes out of a lane of `kind` at `node`; `None`
    /// at its destination.
    #[inline]
    pub(crate) fn next(&self, kind: LaneKind, node: NodeId, to: NodeId) -> Option<usize> {
        if kind == LaneKind::Forwarding {
            return Some(self.out(node, to));
        }
        if node == to {
            return None;
        }
        match self.forwarding[usize::from(node.0)] {
            NONE => Some(self.out(node, to)),
            lane => Some(usize::from(lane)),
        }
    }
}
