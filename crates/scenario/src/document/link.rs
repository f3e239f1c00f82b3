//! Links and what they do to packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use super::words::{FileName, Hold, Interpolate, Name, Perfect, Unlimited};

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
    /// What becomes different while the run goes on, in the order of time: a handover, a new route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-renamed-from" = "change"))]
    pub event: Vec<Event>,
}

/// A change of a link. What stands here becomes so in both directions; `forward` and `backward`
/// replace it for one, and what stands nowhere stays as it is, as do queue and channel. A packet is
/// sent at the rate that holds when its transmission starts, and is on its way for the delay that holds
/// when its last bit leaves; where the delay falls, it does not overtake the packets before, and arrives
/// with the last of them. Routes stay those of the delays at the start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Event {
    /// From when on.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub at: Span,
    /// It happens again and again, so long after the time before. Of several changes at one instant, the
    /// last in the file says rate and delay, and the longest outage holds. Default: it happens once.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub every: Option<Span>,
    #[serde(flatten)]
    pub both: Changed,
    /// What differs from the first node to the second.
    pub forward: Option<Changed>,
    /// What differs from the second node to the first.
    pub backward: Option<Changed>,
}

/// What a change may change in a direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Changed {
    /// The new serialisation rate. The packet that is being sent keeps the old one.
    pub rate: Option<Rate>,
    /// The new propagation delay, one way. Packets on their way keep the old one.
    pub delay: Option<Span>,
    /// For so long no transmission starts: what comes waits in the queue, as far as it has room, and
    /// what is being sent or on its way arrives.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub outage: Option<Span>,
}

/// The values of a direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Direction {
    /// Serialisation rate. Each direction must have one.
    pub rate: Option<Rate>,
    /// Propagation delay, one way. Each direction must have one.
    pub delay: Option<Span>,
    /// Up to so much is added to the delay of each packet, evenly distributed; packets keep their
    /// order. A millisecond or two on access links, about what a packet takes at the bottleneck, break
    /// the phase effects of a network without randomness (Floyd and Jacobson, 1992).
    #[schemars(extend("default" = Span::ZERO))]
    pub jitter: Option<Span>,
    /// What may wait before the link, not counting the packet that is being sent; drop-tail.
    /// The default of 100 packets is the one of ns-3's device queues.
    #[schemars(extend("default" = Queue::default()))]
    pub queue: Option<Queue>,
    /// Warn of congestion: mark packets of flows with `ecn` (RFC 3168), or with a controller that
    /// needs the marks, while the average queue is long. By default nothing is marked.
    #[schemars(extend("x-renamed-from" = "mark"))]
    pub ecn_marking: Option<Mark>,
    /// Bytes that the link adds to each IP packet; they take time and are not damaged. The default
    /// adds none: rates are then those that IP sees.
    #[schemars(extend("default" = Bytes(0)))]
    #[schemars(extend("x-renamed-from" = "framing"))]
    pub overhead: Option<Bytes>,
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
        /// At most so many bytes, overhead included.
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

/// Packet errors, bit errors, bursts of losses, a satellite link with noise and rain, or
/// `"perfect"`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
        #[schemars(extend("x-renamed-from" = "correction_threshold"))]
        ecc_threshold: f64,
    },
    Bursts {
        /// Share of packets that are lost in the long run, in bursts: the chain of Gilbert and
        /// Elliott, which moves with each packet between a good state without losses and a bad
        /// one. With `loss_in_burst` l and `mean_burst` B, at most l B / (1 + B): a packet in the
        /// good state between two bursts.
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        mean_loss: f64,
        /// Mean length of a burst, in packets.
        #[schemars(range(min = 1))]
        mean_burst: f64,
        /// Probability that a packet in a burst is lost.
        #[serde(default = "certain")]
        #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
        loss_in_burst: f64,
    },
    Awgn(Awgn),
    Perfect(Perfect),
}

fn certain() -> f64 {
    1.0
}

/// QPSK over white Gaussian noise, with a link budget, fading and loss of lock.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Awgn {
    /// Eb/N0 in clear sky in dB, Eb being the energy of an information bit.
    #[schemars(range(min = -20, max = 100))]
    pub eb_n0: f64,
    /// How information bits are protected: not at all, by a sequential decoder as a modem
    /// guarantees it, by a Viterbi decoder in theory, or by one as a modem guarantees it.
    pub code: CodeName,
    /// Wrong bits in one error event, e in PER = 1 - (1 - BER / e)^N for an IP packet of N bits.
    /// Default: 1 without a code; 7 behind a decoder, whose errors come in bursts.
    #[schemars(range(min = 1, max = 1000))]
    pub errors_per_event: Option<f64>,
    /// Attenuation by rain: so many dB all the time, or a file with two columns, time in seconds
    /// from the start of the run and attenuation in dB, as CSV or Parquet; any spacing, on straight
    /// lines between samples. A name in a scenario file counts from that file, one in an override
    /// from the current directory. Default: clear sky.
    pub attenuation: Option<Attenuation>,
    /// Noise temperature of the receiving system in clear sky in K: rain that takes A dB adds
    /// 275 (1 - 10^(-A/10)) K to it. Default: rain adds no noise.
    #[schemars(range(max = 100_000), extend("exclusiveMinimum" = 0))]
    pub system_temperature: Option<f64>,
    /// When the demodulator loses the signal; all packets are lost until it has found it again.
    /// Default: never.
    pub lock: Option<Lock>,
}

/// The name of a code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CodeName(pub String);

/// Decibels, a file, or a table with a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Attenuation {
    Constant(#[schemars(range(min = 0, max = 200))] f64),
    File(FileName),
    Series(Series),
}

/// A file with an attenuation series, and what to do where it has no samples.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// Name of the file.
    pub file: FileName,
    /// `"hold"`: the first value holds before the first sample, the last after the last. Default:
    /// a series that does not last for the whole `duration` is refused; a sample stands for its
    /// step, so one step may be missing at either end.
    pub outside: Option<Hold>,
    /// `"interpolate"`: the straight line holds over missing samples too. Default: a series with
    /// one step between nearly all samples and a longer one between others is refused.
    pub gaps: Option<Interpolate>,
}

/// Loss of lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lock {
    /// Eb/N0 in dB below which lock is lost.
    #[schemars(range(min = -20, max = 100))]
    pub threshold: f64,
    /// By how many dB Eb/N0 must exceed the threshold for the demodulator to find the signal. The
    /// default is our choice.
    #[serde(default = "default_hysteresis")]
    #[schemars(range(min = 0, max = 50))]
    pub hysteresis: f64,
    /// How long Eb/N0 must stay there until lock is back. The default is our choice.
    #[serde(default = "default_reacquisition")]
    pub reacquisition: Span,
}

fn default_hysteresis() -> f64 {
    1.0
}

fn default_reacquisition() -> Span {
    Span::from_secs(5)
}
