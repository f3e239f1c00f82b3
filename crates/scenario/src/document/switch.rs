//! Two routers with several paths between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Span;

use super::words::{FileName, Name};

/// Two routers with several paths between them, one of which carries the packets at a time. It has
/// one rule that moves the packets: `event`, `file`, `outages` or `bfd`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// The two routers, which may also be hosts. Each moves the packets that it sends to the other
    /// one, and through it.
    pub between: [Name; 2],
    /// A node of each path, in the order of preference. The first one is on the route without the
    /// switch, and its path carries the packets at the start. Packets take the route to the node,
    /// and then the route from there to the other router.
    #[schemars(length(min = 2, max = 8))]
    pub via: Vec<Name>,
    /// Moves at known times, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event: Vec<Move>,
    /// Moves at the times of a file: CSV or Parquet with the columns `t_s` (seconds after the
    /// start) and `via`.
    pub file: Option<FileName>,
    /// With `event` or `file`: how much later the second router moves its packets, because its
    /// clock is late. Default: both move them at the same time.
    pub lag: Option<Span>,
    /// Moves by the outages of links, of events, traces and orbits, which both routers know: the
    /// first path without an outage carries the packets.
    pub outages: Option<Outages>,
    /// Moves by loss: each router sends Control packets of Bidirectional Forwarding Detection (BFD,
    /// RFC 5880) over each path, and the first path whose session is up carries its packets.
    pub bfd: Option<Bfd>,
}

/// A move of the packets to another path.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    /// Time of the move.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub at: Span,
    /// Period after which it repeats. Of several moves at the same time, the last one in the file
    /// counts. Default: it happens once.
    #[schemars(extend("x-minimum" = "1ms"))]
    pub every: Option<Span>,
    /// The node of the path, as in the `via` of the switch.
    pub via: Name,
}

/// A router that knows the outages of the links of its paths.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outages {
    /// Time until an outage is noticed. A shorter outage moves nothing.
    #[serde(default)]
    pub delay: Span,
    /// Time without an outage after which a path is used again.
    #[serde(default)]
    pub hold: Span,
}

/// Bidirectional Forwarding Detection (RFC 5880) in asynchronous mode.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bfd {
    /// Time between two Control packets, less a random part of up to 25 % (section 6.8.7). A
    /// session that is not up sends one each second at most (section 6.8.3).
    #[serde(default = "interval")]
    #[schemars(extend("x-minimum" = "1ms"))]
    pub interval: Span,
    /// Number of intervals without a packet after which a session is down (section 6.8.4).
    #[serde(default = "multiplier")]
    #[schemars(range(min = 1, max = 255))]
    pub multiplier: u8,
    /// Time for which a session that was down must be up before its path is used again.
    #[serde(default)]
    pub hold: Span,
}

fn interval() -> Span {
    Span::from_millis(300)
}

fn multiplier() -> u8 {
    3
}
