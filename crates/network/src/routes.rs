//! The next lane of a packet, looked up once for each hop.

use crate::fabric::NodeId;
use crate::topology::{LaneKind, LaneSpec, Topology};

/// The tables of a topology in the form that the engines read.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    nodes: usize,
    /// By node and destination, the lane of the link to take.
    out: Vec<u16>,
    /// By node, the lane of its limited forwarding.
    forwarding: Vec<u16>,
}

/// No route leads there.
const NONE: u16 = u16::MAX;

/// The packet is at its destination.
const HERE: u16 = u16::MAX - 1;

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
        there(self.out[usize::from(node.0) * self.nodes + usize::from(to.0)])
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

/// What [`Routes::next`] says, by lane and destination: one look-up instead of two and no questions.
#[derive(Clone, Debug)]
pub(crate) struct Onward {
    nodes: usize,
    lanes: Vec<u16>,
}

impl Onward {
    pub(crate) fn new(topology: &Topology) -> Self {
        let number = |lane: &Option<u16>| lane.unwrap_or(NONE);
        let behind = |lane: &LaneSpec| {
            let node = usize::from(lane.to.0);
            let mut row: Vec<u16> = topology.routes[node].iter().map(number).collect();
            if lane.kind == LaneKind::Link {
                if let Some(forwarding) = topology.forwarding[node] {
                    row.fill(forwarding);
                }
                row[node] = HERE;
            }
            row
        };
        Self {
            nodes: topology.routes.len(),
            lanes: topology.lanes.iter().flat_map(behind).collect(),
        }
    }

    /// The lane that a packet takes next when it comes out of `lane`; `None` at its destination.
    #[inline]
    pub(crate) fn next(&self, lane: usize, to: NodeId) -> Option<usize> {
        let next = self.lanes[lane * self.nodes + usize::from(to.0)];
        (next != HERE).then(|| there(next))
    }
}

#[inline]
fn there(lane: u16) -> usize {
    assert_ne!(lane, NONE, "a packet is only sent where a route leads");
    usize::from(lane)
}
