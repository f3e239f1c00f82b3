//! Links and what they do to packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use super::words::{Name, Perfect, Unlimited};

/// A full-duplex link between two nodes. What stands here holds for both directions; `forward` and
/// `backward` replace it for one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Link {
    /// The two nodes. `forward` is from the first to the second.
    pub between: [Name; 2],
    #[serde(flatten)]
    pub both: Direction,
    /// What differs from the first node to the second.
    pub forward: Option<Direction>,
    /// What differs from the second node to the first.
    pub backward: Option<Direction>,
}

/// The values of a direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Direction {
    /// Serialisation rate. Each direction must have one.
    pub rate: Option<Rate>,
    /// Propagation delay, one way. Each direction must have one.
    pub delay: Option<Span>,
    /// What may wait before the link, not counting the packet that is being sent; drop-tail.
    /// The default of 100 packets is the one of ns-3's device queues.
    #[schemars(extend("default" = Queue::default()))]
    pub queue: Option<Queue>,
    /// Warn of congestion: mark packets of flows with `ecn` (RFC 3168), or with a controller that
    /// needs the marks, while the average queue is long. By default nothing is marked.
    pub mark: Option<Mark>,
    /// Bytes that the link adds to each IP packet; they take time and are not damaged. The default
    /// adds none: rates are then those that IP sees.
    #[schemars(extend("default" = Bytes(0)))]
    pub framing: Option<Bytes>,
    /// What the channel does to packets; damaged packets are discarded at the far end.
    #[schemars(extend("default" = Channel::Perfect(Perfect::Perfect)))]
    pub channel: Option<Channel>,
}

/// A limit in packets or in bytes, or `"unlimited"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Queue {
    Packets {
        /// At most so many packets.
        #[schemars(range(min = 1))]
        packets: u32,
        /// What the queue does with packets of low priority (RFC 8622), such as the probes of
        /// TCP-Peach: `"push-out"` lets a normal packet that finds the queue full take the place
        /// of the last of them; `"refuse"` lets them in only while at most one packet, or 2000
        /// bytes where the limit is in bytes, waits; `"ignore"` makes no difference.
        #[serde(default)]
        low_priority: LowPriority,
    },
    Bytes {
        /// At most so many bytes, framing included.
        #[schemars(extend("x-minimum" = "1B"))]
        bytes: Bytes,
        /// See the queue in packets.
        #[serde(default)]
        low_priority: LowPriority,
    },
    Unlimited(Unlimited),
}

impl Default for Queue {
    fn default() -> Self {
        Self::Packets { packets: 100, low_priority: LowPriority::Ignore }
    }
}

/// What a queue does with packets of low priority.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum LowPriority {
    #[default]
    Ignore,
    PushOut,
    Refuse,
}

/// When a queue marks packets.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    /// Packets that wait on average, above which all that arrive are marked.
    #[schemars(range(min = 0))]
    pub packets: f64,
    /// Share of the present queue in the average at each arrival (RED); 1 looks at the queue as
    /// it is.
    #[serde(default = "Mark::default_weight")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub weight: f64,
}

impl Mark {
    /// The weight of RED (Floyd and Jacobson, 1993).
    fn default_weight() -> f64 {
        0.002
    }
}

/// Packet errors, bit errors, or `"perfect"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Channel {
    PacketErrors {
        /// Packet error rate: each packet is lost independently with this probability.
        #[schemars(range(min = 0, max = 1))]
        per: f64,
    },
    BitErrors {
        /// Bit error rate: each bit is wrong independently, PER = 1 - (1 - BER)^N for an IP
        /// packet of N bits.
        #[schemars(range(min = 0, max = 1))]
        ber: f64,
        /// The largest proportion of wrong bits in a packet that the receiver corrects.
        #[serde(default)]
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        correction_threshold: f64,
    },
    Perfect(Perfect),
}
