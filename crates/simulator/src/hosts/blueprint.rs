//! How the connections of a leg are made.

use congestion::{Settings, Specification};
use network::NodeId;
use runtime::Side;
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
    /// At `from`, and at `to`.
    pub(crate) ends: [BlueprintEnd; 2],
    pub(crate) ip: IpVersion,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// The side that opens a connection.
    pub(crate) opener: Side,
    /// Addresses at `from` and at `to` of each path, if there are several.
    pub(crate) paths: Vec<[NodeId; 2]>,
}
