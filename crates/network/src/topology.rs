//! The graph: nodes, the lanes between them, and the next lane on every route.
//!
//! A *lane* is whatever a packet passes in order: one direction of a link, or the forwarding of a
//! router that is limited in rate and memory.

use link::Link;

use crate::fabric::NodeId;

/// What a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// One direction of a link; packets come out at the far end.
    Link,
    /// A router's forwarding; packets come out at the same router and then take their link.
    Forwarding,
}

/// A lane as it is built.
#[derive(Clone, Debug)]
pub struct LaneSpec {
    /// Where packets come out.
    pub to: NodeId,
    /// What it is.
    pub kind: LaneKind,
    /// Rate, delay, queue and channel.
    pub link: Link,
}

/// A graph that is ready to carry packets.
#[derive(Clone, Debug)]
pub struct Topology {
    /// All lanes; their position is their number, and the order of simultaneous arrivals.
    pub lanes: Vec<LaneSpec>,
    /// For each node and destination, the lane of the link to take; `None` where no route leads.
    pub routes: Vec<Vec<Option<u16>>>,
    /// For each node, the lane of its limited forwarding.
    pub forwarding: Vec<Option<u16>>,
}

impl Topology {
    /// The lane that a packet takes out of `node`.
    ///
    /// # Panics
    /// When no route leads there; scenarios with unreachable nodes are refused before they run.
    #[inline]
    pub(crate) fn lane_out(&self, node: NodeId, to: NodeId) -> usize {
        let lane = self.routes[usize::from(node.0)][usize::from(to.0)];
        usize::from(lane.expect("a packet is only sent where a route leads"))
    }

    /// The lane that a packet takes when it has come in at `node` to be passed on.
    #[inline]
    pub(crate) fn lane_through(&self, node: NodeId, to: NodeId) -> usize {
        match self.forwarding[usize::from(node.0)] {
            Some(lane) => usize::from(lane),
            None => self.lane_out(node, to),
        }
    }

    /// The lane that a packet takes next when it comes out of `lane`; `None` at its destination.
    #[inline]
    pub(crate) fn next_lane(&self, lane: usize, to: NodeId) -> Option<usize> {
        let spec = &self.lanes[lane];
        match spec.kind {
            LaneKind::Link if spec.to == to => None,
            LaneKind::Link => Some(self.lane_through(spec.to, to)),
            LaneKind::Forwarding => Some(self.lane_out(spec.to, to)),
        }
    }
}
