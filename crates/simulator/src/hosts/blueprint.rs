//! How the connections of a leg are made.

use std::sync::Arc;

use congestion::{Settings, Specification};
use network::NodeId;
use runtime::Side;
use scenario::model::Transport;
use units::Rate;
use wire::IpVersion;

use crate::transports::Shared;

/// How one end of the connections of a leg is made.
#[derive(Clone, Debug)]
pub(crate) struct BlueprintEnd {
    pub(crate) controller: Specification,
    pub(crate) settings: Settings,
    /// True if the controller is that of the flow, which the caller of a run may replace.
    pub(crate) is_of_flow: bool,
    pub(crate) reader_rate: Option<Rate>,
    /// How it is made, by its protocol.
    pub(crate) shared: Shared,
}

/// How the two ends of the connections of a leg are made.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    /// At `from`, and at `to`. Flows of thousands of hosts may share them.
    pub(crate) ends: Arc<[BlueprintEnd; 2]>,
    pub(crate) ip: IpVersion,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// The side that opens a connection.
    pub(crate) opener: Side,
    /// Addresses at `from` and at `to` of each path, if there are several.
    pub(crate) paths: Vec<[NodeId; 2]>,
}

impl Blueprint {
    /// A pair of ends of UDP between the hosts of a flow with these legs.
    pub(crate) fn of_datagrams(legs: &[Self]) -> Self {
        let (first, last) = (&legs[0], &legs[legs.len() - 1]);
        let end = BlueprintEnd {
            controller: Specification::unlimited(),
            settings: Transport::Udp(Arc::default()).plan().controller(),
            is_of_flow: false,
            reader_rate: None,
            shared: Shared::Udp,
        };
        Self {
            ends: [end.clone(), end].into(),
            ip: first.ip,
            from: first.from,
            to: last.to,
            opener: first.opener,
            paths: Vec::new(),
        }
    }
}
