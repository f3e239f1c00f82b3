//! Flows as both backends see them: the legs of a flow, and the table of all ends of connections.
//!
//! A flow is a list of legs. A leg is a connection of a transport protocol, or several one after
//! the other, between two nodes. A flow that no gateway splits has one leg, and each split proxy on
//! its way adds one.

use congestion::Specification;
use network::{FlowId, NodeId};
use scenario::model::{Flow, FlowPath, GatewayEnd, PathHints, Transport};
use units::Rate;

use crate::topology::number;

/// The number of one end of a connection, counted through the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u32);

impl EndpointId {
    /// Its place in a table of endpoints.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of a connection, counted through the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// A side of a connection, by the direction of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end at the leg's `from`, which sends the data.
    Sender,
    /// The end at the leg's `to`, which receives the data.
    Receiver,
}

/// One leg of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Leg<'a> {
    /// The node that sends the data.
    pub from: NodeId,
    /// The node that receives the data.
    pub to: NodeId,
    /// The side that opens the connections. The other one listens.
    pub opener: Side,
    /// The ends: at `from`, and at `to`.
    pub ends: [LegEnd<'a>; 2],
    /// Streams of a connection that may have data at the same time, if its protocol has streams.
    pub streams: u64,
    /// First sequence number of the side that sends the data; the other takes one more.
    pub initial_sequence: u32,
    /// True if both ends are gateways.
    pub is_between_gateways: bool,
    /// Its paths, if the flow names them.
    pub paths: &'a [FlowPath],
}

/// One end of the connections of a leg.
#[derive(Clone, Copy, Debug)]
pub struct LegEnd<'a> {
    /// Transport protocol and its settings.
    pub transport: &'a Transport,
    /// The rate at which the application reads; `None` reads at once.
    pub reader_rate: Option<Rate>,
    /// The congestion controller.
    pub controller: &'a Specification,
    /// Hints to it that the path changes.
    pub path_hints: Option<PathHints>,
    /// True if the controller is that of the flow, and not one of a gateway.
    pub is_of_flow: bool,
}

/// Sequence numbers of the legs of a flow are this far apart.
const BETWEEN_LEGS: u32 = 1 << 28;

/// A gateway's end of a leg.
fn at_gateway(end: &GatewayEnd) -> LegEnd<'_> {
    LegEnd {
        transport: &end.transport,
        reader_rate: None,
        controller: &end.controller,
        path_hints: None,
        is_of_flow: !end.has_own_controller,
    }
}

/// First sequence number of the data sender of leg number `leg`, for a flow that begins with
/// `first`.
pub fn sequence_of_leg(first: u32, leg: u16) -> u32 {
    first.wrapping_add(BETWEEN_LEGS.wrapping_mul(leg.into()))
}

/// The legs of a flow, in the order in which its data passes them.
pub fn legs(flow: &Flow) -> Vec<Leg<'_>> {
    let opener = if flow.traffic.receiver_opens() { Side::Receiver } else { Side::Sender };
    let [sender, receiver] = flow.ends().map(|(transport, controller)| LegEnd {
        transport,
        reader_rate: flow.reader_rate,
        controller,
        path_hints: None,
        is_of_flow: true,
    });
    let sender = LegEnd { path_hints: flow.path_hints, ..sender };
    let starts = flow.gateways.iter().map(|gateway| (gateway.node, at_gateway(&gateway.ends[1])));
    let ends = flow.gateways.iter().map(|gateway| (gateway.node, at_gateway(&gateway.ends[0])));
    let starts = [(flow.from, sender)].into_iter().chain(starts);
    let ends = ends.chain([(flow.to, receiver)]);
    let leg = |(leg, ((from, first), (to, last))): (u16, ((usize, _), (usize, _)))| {
        let is_between_gateways = leg > 0 && usize::from(leg) < flow.gateways.len();
        Leg {
            from: NodeId(number(from)),
            to: NodeId(number(to)),
            opener,
            ends: [first, last],
            // A gateway puts all bytes of a connection into one stream.
            streams: if is_between_gateways { 1 } else { flow.traffic.streams() },
            initial_sequence: sequence_of_leg(flow.initial_sequence, leg),
            is_between_gateways,
            paths: &flow.paths,
        }
    };
    (0..).zip(starts.zip(ends)).map(leg).collect()
}

impl Leg<'_> {
    /// Returns true if a connection of `other` is made in the same way, so that both can share what
    /// was made for one.
    pub fn is_like(&self, other: &Self) -> bool {
        // Without `..`, so that a new field has to be considered here. The sequence number is of
        // each connection.
        let Self {
            from,
            to,
            opener,
            ends: _,
            streams,
            initial_sequence: _,
            is_between_gateways,
            paths,
        } = self;
        (*from, *to, *opener) == (other.from, other.to, other.opener)
            && (*streams, *is_between_gateways) == (other.streams, other.is_between_gateways)
            && *paths == other.paths
            && self.has_like_ends(other)
    }

    /// Returns true if the ends of `other` have the same settings, wherever they are.
    pub fn has_like_ends(&self, other: &Self) -> bool {
        let ends = self.ends.iter().zip(&other.ends);
        ends.into_iter().all(|(own, others)| own.is_like(others))
    }
}

impl LegEnd<'_> {
    fn is_like(&self, other: &Self) -> bool {
        let Self { transport, reader_rate, controller, path_hints, is_of_flow } = self;
        *transport == other.transport
            && *reader_rate == other.reader_rate
            && (std::ptr::eq(*controller, other.controller) || *controller == other.controller)
            && *path_hints == other.path_hints
            && *is_of_flow == other.is_of_flow
    }
}

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The end at the leg's `from`.
    pub sender: EndpointId,
    /// The end at the leg's `to`.
    pub receiver: EndpointId,
}

impl Pair {
    /// The end on this side.
    pub fn end(self, side: Side) -> EndpointId {
        match side {
            Side::Sender => self.sender,
            Side::Receiver => self.receiver,
        }
    }

    /// Returns true if `endpoint` is one of the two.
    pub fn has(self, endpoint: EndpointId) -> bool {
        self.sender == endpoint || self.receiver == endpoint
    }
}

impl Side {
    /// The other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The flow that the connection belongs to.
    pub flow: FlowId,
    /// The number of the leg in its flow.
    pub leg: u16,
    /// The connection.
    pub connection: ConnectionId,
    /// Its side of the connection.
    pub side: Side,
    /// The other end.
    pub peer: EndpointId,
}

impl End {
    /// `leg` of a connection that crosses a gateway unsplit which splits others of its flow.
    pub const NO_LEG: u16 = u16::MAX;
}

/// All ends of connections of a run.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    ends: Vec<End>,
    connections: u32,
}

impl Ends {
    /// Adds the two ends of a new connection.
    pub fn open(&mut self, flow: FlowId, leg: u16) -> Pair {
        #[expect(clippy::cast_possible_truncation, reason = "memory is full before")]
        let first = self.ends.len() as u32;
        let pair = Pair { sender: EndpointId(first), receiver: EndpointId(first + 1) };
        let connection = ConnectionId(self.connections);
        self.connections += 1;
        self.ends.extend([Side::Sender, Side::Receiver].map(|side| {
            let peer = pair.end(side.other());
            End { flow, leg, connection, side, peer }
        }));
        pair
    }

    /// The connection of an end crosses a gateway unsplit: it is in no leg of its flow any more.
    pub fn leave_leg(&mut self, endpoint: EndpointId) {
        self.ends[endpoint.index()].leg = End::NO_LEG;
    }

    /// All ends, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (EndpointId, &End)> {
        (0..).map(EndpointId).zip(&self.ends)
    }

    /// The end with this number.
    #[inline]
    pub fn get(&self, endpoint: EndpointId) -> &End {
        &self.ends[endpoint.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_knows_its_peer_its_flow_and_its_side() {
        let mut ends = Ends::default();
        let pairs = [3, 1, 3].map(|flow| (FlowId(flow), ends.open(FlowId(flow), 0)));
        for (number, (flow, pair)) in pairs.into_iter().enumerate() {
            for side in [Side::Sender, Side::Receiver] {
                let end = *ends.get(pair.end(side));
                let connection = ConnectionId(number as u32);
                let peer = pair.end(side.other());
                assert_eq!(end, End { flow, leg: 0, connection, side, peer });
                assert_eq!(ends.get(end.peer).peer, pair.end(side));
            }
        }
    }
}
