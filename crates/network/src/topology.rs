//! The graph: nodes, the lanes between them, and the next lane on every route.
//!
//! A *lane* is whatever a packet passes in order: one direction of a link, or the forwarding of a
//! router that is limited in rate and memory.

use link::Direction;

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
    /// Queue, transmitter, channel and delay.
    pub direction: Direction,
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
