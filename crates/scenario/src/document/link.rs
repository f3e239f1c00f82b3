//! Links, queues and channels.

use link::{LowPriority, Marking};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use super::channel::Channel;
use super::impairments::{Duplicate, Jitter, Reorder, Slot};
use super::line::{Bucket, Cells};
use super::named::named;
use super::words::{FileName, Name, Perfect, Phase, Unlimited};

/// A full-duplex link between two nodes. The values apply to both directions; `forward` and
/// `backward` replace them for one direction.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Link {
    /// The two nodes. `forward` is from the first to the second.
    pub between: [Name; 2],
    #[serde(flatten)]
    pub both: Direction,
    /// Values of the direction from the first node to the second.
    pub forward: Option<Direction>,
    /// Values of the direction from the second node to the first.
    pub backward: Option<Direction>,
    /// Events that change the link during the run, in the order of time: a handover, a new route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event: Vec<Event>,
}

/// An event that changes a link. The values apply to both directions; `forward` and `backward`
/// replace them for one direction. All other values, the queue and the channel do not change. A
/// packet has the rate at the start of its transmission, and the delay at the time when its last
/// bit is sent. If the delay decreases, packets arrive together with the last of the earlier
/// packets, or overtake them with `reorder`. Routes depend on the delays at the start of the run
/// only.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Event {
    /// Time of the event.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub at: Span,
    /// Period after which the event repeats. If several events happen at the same time, the last
    /// one in the file determines rate and delay, and the longest outage applies. Default: the
    /// event happens once.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub every: Option<Span>,
    #[serde(flatten)]
    pub both: Changed,
    /// Values of the direction from the first node to the second.
    pub forward: Option<Changed>,
    /// Values of the direction from the second node to the first.
    pub backward: Option<Changed>,
}

/// Values that an event can change in a direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Changed {
    /// New data rate. The packet in transmission keeps the old rate.
    pub rate: Option<Rate>,
    /// New one-way propagation delay. Packets in propagation keep the old delay.
    pub delay: Option<Span>,
    /// Duration in which no transmission starts. Packets wait in the queue, as long as it has
    /// space. Packets in transmission or propagation arrive.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub outage: Option<Span>,
}

/// The values of a direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Direction {
    /// Data rate. Required for each direction, except where a modem of `channel` or a trace with
    /// rates determines it.
    pub rate: Option<Rate>,
    /// One-way propagation delay. Required for each direction, except where a trace with delays has
    /// it.
    pub delay: Option<Span>,
    /// Random delay of packets. A time is the maximum of a delay that is added for each packet,
    /// with a uniform distribution, and packets keep their order. One or two milliseconds on access
    /// links, about the serialisation time at the bottleneck, prevent the phase effects of a
    /// network without randomness (Floyd and Jacobson, 1992). A table is the jitter of netem: a
    /// distribution around `delay`, with or without order.
    #[schemars(extend("default" = Span::ZERO))]
    pub jitter: Option<Jitter>,
    /// Limit of the drop-tail queue before the link, without the packet in transmission. The
    /// default of 100 packets is that of device queues in ns-3.
    #[schemars(extend("default" = Queue::default()))]
    pub queue: Option<Queue>,
    /// ECN marking: mark packets of flows with `ecn` (RFC 3168), or with a controller that needs
    /// marks, while the average queue is long. Default: no marking.
    pub ecn_marking: Option<Marking>,
    /// Active queue management (RFC 7567): drop packets, or mark those of flows with ECN, before
    /// the queue is full. A name stands for the algorithm with its defaults, a table sets
    /// parameters, and `"none"` is a drop-tail queue. `queue` is the limit with each of them, and
    /// cannot have `low_priority` then. It replaces `ecn_marking`. The defaults suit RTTs around
    /// 100 ms.
    #[schemars(extend("default" = "none"))]
    pub aqm: Option<Aqm>,
    /// Automatic repeat request (ARQ, RFC 3366): repeat frames that the channel has corrupted. A
    /// name stands for the procedure with its defaults, a table sets parameters, and `"none"`
    /// repeats nothing. Status frames take the other direction of the link: they use its rate, wait
    /// in its queue and can be corrupted.
    #[schemars(extend("default" = "none"))]
    pub arq: Option<Arq>,
    /// Forward error correction over packets (FEC): add parity packets to blocks of data packets,
    /// and rebuild packets that the channel has corrupted. A name stands for the code with its
    /// defaults, a table sets parameters, and `"none"` adds nothing. Parity takes the rate of the
    /// direction. A direction has `arq` or `fec`, and not both.
    #[schemars(extend("default" = "none"))]
    pub fec: Option<Fec>,
    /// Feedback from the router before the link: it lowers or raises the rate that senders ask for
    /// in a field of their packets. A name stands for the protocol with its defaults, a table sets
    /// parameters, and `"none"` leaves the field as it is. It acts on flows whose controller or
    /// `transport.quick_start` asks in this protocol, and needs all links of their path.
    #[schemars(extend("default" = "none"))]
    pub feedback: Option<Feedback>,
    /// Demand assignment (DAMA) of a return link: a terminal sends in slots of frames that a
    /// control centre assigns to it, at a constant rate, on request, or as free capacity. It is a
    /// model of DVB-RCS2. A name stands for the model with its defaults, a table sets parameters,
    /// and `"none"` may always send. `rate` is that of all slots together. It cannot be combined
    /// with `arq` on the link, nor with `fec` or `feedback` in the same direction.
    #[schemars(extend("default" = "none"))]
    pub demand: Option<Demand>,
    /// MTU: the longest packet that the direction takes, in bytes with the header of IP. A packet
    /// that is longer is dropped by the node before the link, which reports the MTU to its sender
    /// by ICMP (RFC 1191, RFC 8201). A number stands for this, and a table can filter the messages.
    /// Hosts know the MTU of their own links, and agree on segments that fit them. At least 88 with
    /// IPv4 and 1280 with IPv6. Default: no limit.
    pub mtu: Option<Mtu>,
    /// Header compression of TCP/IP packets: the length of headers on the link, and what a loss
    /// takes with it. A name stands for the scheme with its defaults, a table sets parameters, and
    /// `"none"` compresses nothing. `vj` requires `ip = "ipv4"`. Feedback of `rohc` takes the other
    /// direction of the link.
    #[schemars(extend("default" = "none"))]
    pub header_compression: Option<HeaderCompression>,
    /// Link-layer overhead: bytes that the link adds to each IP packet. They take transmission time
    /// and have no errors. Without overhead, the default, the rate is that of IP packets.
    #[schemars(extend("default" = Bytes(0), "x-maximum" = "64KiB"))]
    pub overhead: Option<Bytes>,
    /// Shortest packet on the line, `overhead` included: shorter ones are padded, as 64 bytes on
    /// Ethernet (`mpu` of tc). Default: no padding.
    #[schemars(extend("default" = Bytes(0), "x-maximum" = "64KiB"))]
    pub min_packet: Option<Bytes>,
    /// Cells in which packets are sent after `overhead` and padding, as those of ATM:
    /// `{ payload = "48B", header = "5B" }`. The last cell of a packet is padded. `"none"` sends
    /// packets as they are.
    #[schemars(extend("default" = "none"))]
    pub cells: Option<Cells>,
    /// Shaper: a token bucket between the queue and the line (`tbf` of tc). Packets wait in the
    /// queue until there are tokens for all their bytes, and leave at `rate`, which is that of the
    /// line behind it. So the long-term rate is that of the shaper, and a full bucket leaves as a
    /// burst. Bytes are those on the line, `overhead` and cells included, and `queue` in time or
    /// BDP is at the rate of the shaper. It cannot be combined with `arq` on the link, nor with
    /// `fec`, `demand` or `header_compression` in the same direction; a link before that one can
    /// have it. `"none"` shapes nothing.
    #[schemars(extend("default" = "none"))]
    pub shaper: Option<Bucket>,
    /// Policer: a token bucket before the queue (`police` of tc with the action drop). Packets for
    /// whose bytes on the line there are no tokens are dropped, and nothing waits. The
    /// table `policer` of a recording counts them, and `dropped_packets` of links does not.
    /// `"none"` polices nothing.
    #[schemars(extend("default" = "none"))]
    pub policer: Option<Bucket>,
    /// Errors of the channel. Corrupted packets are discarded at the receiving end of the link.
    #[schemars(extend("default" = Channel::Perfect(Perfect::Perfect)))]
    pub channel: Option<Channel>,
    /// Trace: rate, delay, losses and outages over time from files. A file name stands for a file
    /// with columns. A trace with rates replaces `rate`, and one with delays replaces `delay`:
    /// neither is required then, and figures before a run are of its mean. `event` changes what the
    /// trace has set. `phase` of the scenario does not move it. It cannot be combined with
    /// `low_priority = "push-out"`. Default: none.
    pub trace: Option<Trace>,
    /// Path over satellites that move: its delays and outages. A table has the keys of a file of
    /// `bentpipe orbit`, and a file name stands for that file. The run starts at the `epoch` of the
    /// scenario, or otherwise at that of the orbit. It replaces `delay`, and a `trace` has no
    /// delays and no other `orbit` then. Default: none.
    pub orbit: Option<Orbit>,
    /// True if packets overtake others where an event or a trace shortens the delay, as on a path
    /// that becomes shorter. Otherwise they arrive together with the last of the earlier packets.
    /// Packets with the same delay keep their order, unless `jitter` has `reorder`. It cannot be
    /// combined with `arq` on the link, nor with `fec` or `header_compression` in the same
    /// direction, which rely on the order. A table is the reordering of netem: random packets are
    /// sent at once, and overtake those that take the delay.
    #[schemars(extend("default" = false))]
    pub reorder: Option<Reorder>,
    /// Duplication: probability that a packet which arrives does so twice, as netem has it. The
    /// copy is made on the way: it takes no time of the rate, and has its own jitter. A table has
    /// the probability and a correlation. It cannot be combined with `arq` on the link, nor with
    /// `fec` or `header_compression` in the same direction, which number their frames and headers.
    /// The table `impairments` of a recording counts the copies.
    #[schemars(extend("default" = 0))]
    pub duplicate: Option<Duplicate>,
    /// Slots, as netem has them: packets that have had their delay are held until a slot opens, and
    /// go together. It cannot be combined with packets that overtake others, nor with `arq` on the
    /// link. Slots of a frame that terminals share are `demand`, and a fixed grid of slots is a
    /// `trace` with `outage`. Default: none.
    pub slot: Option<Slot>,
}

/// A number of bytes, or a table that says what happens to the messages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Mtu {
    Bytes(#[schemars(range(min = 68, max = 65_535))] u16),
    Table(middlebox::Mtu),
}

impl Mtu {
    pub fn resolve(self) -> middlebox::Mtu {
        match self {
            Self::Bytes(bytes) => middlebox::Mtu::of(bytes),
            Self::Table(mtu) => mtu,
        }
    }
}

/// A file with columns, or a table with files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Trace {
    File(FileName),
    Files(Box<TraceFiles>),
}

/// A file of `bentpipe orbit`, or a table with its keys.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Orbit {
    File(#[schemars(extend("x-content" = "orbit"))] FileName),
    Table(Box<crate::orbit::Document>),
}

/// A trace from files: `file`, or `deliveries` for the rate and `delays` or `orbit` for the delay.
/// It replays the rate, the delay, the losses and the outages of a measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceFiles {
    /// CSV or Parquet file with named columns: `t_s`, and at least one of a rate (`rate_bps`,
    /// `rate_kbps`, `rate_mbps`, or `achieved_mbps` of a flow), a one-way delay (`delay_s`,
    /// `delay_ms`, `delay_us`), a loss (`loss_ratio` from 0 to 1, `loss_percent`) and an `outage`
    /// (0 or 1). A row holds until the
    /// next one, and a rate of 0 is an outage until then. Each packet is lost independently with
    /// the probability of the row in which its last bit is sent, in addition to the errors of the
    /// channel.
    pub file: Option<FileName>,
    /// Names of the columns of `file` where it is a log of another program, as in
    /// `{ t_s = "Timestamp", rtt_ms = "RTT [ms]" }`. Other columns are ignored, times count from
    /// the first row and may be ISO 8601, a missing value is that of the row before, and rows
    /// without a time are left out. `bentpipe explain` shows what was done.
    pub columns: Option<Columns>,
    /// Delivery trace of Mahimahi: each line is a time in milliseconds at which 1500 bytes may
    /// leave.
    pub deliveries: Option<FileName>,
    /// Delays as those of LeoReplayer: each line is a one-way delay in milliseconds, one for each
    /// `step`.
    pub delays: Option<FileName>,
    /// File of `bentpipe orbit`, or a table with its keys: delays and outages of a path over
    /// satellites that move, computed when the scenario is read. The run starts at the `epoch` of
    /// the scenario, or otherwise at that of the orbit. `link.orbit` is the same without a trace.
    pub orbit: Option<Orbit>,
    /// Time from one line of `delays` to the next. Default: 10 ms, as LeoReplayer has it.
    #[schemars(extend("x-minimum" = "1us"))]
    pub step: Option<Span>,
    /// Values after the end of a trace without `loop`: `"refuse"`, which requires that it lasts for
    /// the `duration`, or `"hold"`, the values of its last row.
    #[serde(default)]
    pub outside: Outside,
    /// Kind of the rates: `"capacity"` is what the link carries, `"achieved"` what a flow such as
    /// that of iperf3 has sent, which is at most the capacity. Both are used as rates, and
    /// `bentpipe explain` warns of the second one. Default: `"achieved"` if the column of `file` is
    /// `achieved_mbps`, `achieved_kbps` or `achieved_bps`, and otherwise `"capacity"`.
    pub kind: Option<TraceKind>,
    /// Repeat the trace after its end.
    #[serde(default, rename = "loop")]
    pub repeats: bool,
    /// The part of the trace with which a run starts: `"fixed"` is its beginning, `"random"` a time
    /// that depends on the seed, uniform over the trace. A trace without `loop` must be longer than
    /// the `duration` then. Traces of the same length start at the same time of them.
    #[serde(default)]
    pub phase: Phase,
}

/// Values after the end of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outside {
    #[default]
    Refuse,
    Hold,
}

/// Meaning of the rates of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum TraceKind {
    Capacity,
    Achieved,
}

/// Declares the columns that a log can have, each with its docstring.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Names of the columns of a log, by what they are.
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Columns {
            $($(#[$doc])* #[schemars(length(min = 1))] pub $name: Option<String>,)*
        }

        impl Columns {
            /// Their names, with the names in the log.
            pub fn names(&self) -> std::collections::BTreeMap<String, String> {
                let all = [$((stringify!($name), &self.$name),)*];
                let named = all.into_iter().filter_map(|(ours, theirs)| Some((ours, theirs.clone()?)));
                named.map(|(ours, theirs)| (ours.to_owned(), theirs)).collect()
            }
        }
    };
}

columns! {
    /// Time in seconds, or ISO 8601.
    t_s,
    /// Time in milliseconds.
    t_ms,
    /// Time in microseconds.
    t_us,
    /// Rate in bit/s.
    rate_bps,
    /// Rate in kbit/s.
    rate_kbps,
    /// Rate in Mbit/s.
    rate_mbps,
    /// Rate that a flow has achieved, in bit/s.
    achieved_bps,
    /// Rate that a flow has achieved, in kbit/s.
    achieved_kbps,
    /// Rate that a flow has achieved, in Mbit/s.
    achieved_mbps,
    /// One-way delay in seconds.
    delay_s,
    /// One-way delay in milliseconds.
    delay_ms,
    /// One-way delay in microseconds.
    delay_us,
    /// Round-trip time in seconds, of which a direction has half.
    rtt_s,
    /// Round-trip time in milliseconds, of which a direction has half.
    rtt_ms,
    /// Round-trip time in microseconds, of which a direction has half.
    rtt_us,
    /// Loss from 0 to 1.
    loss_ratio,
    /// Loss in per cent.
    loss_percent,
    /// 1 in an outage, otherwise 0.
    outage,
}

impl TraceFiles {
    /// A file with columns.
    pub fn of(name: FileName) -> Self {
        Self { file: Some(name), ..Self::default() }
    }
}

/// A limit in packets, in bytes, in time or in bandwidth-delay products, or `"unlimited"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Queue {
    Packets {
        /// Maximum number of packets.
        #[schemars(range(min = 1))]
        packets: u32,
        /// Treatment of packets of low priority (RFC 8622), such as the probes of TCP-Peach.
        /// `"push-out"`: a normal packet that arrives at a full queue replaces the last of them.
        /// `"refuse"`: they enter only while at most one packet waits, or 2000 bytes if the
        /// limit is in bytes. `"ignore"`: no difference.
        #[serde(default)]
        low_priority: LowPriority,
    },
    Bytes {
        /// Maximum number of bytes, including overhead.
        #[schemars(extend("x-minimum" = "1B"))]
        bytes: Bytes,
        /// See the queue in packets.
        #[serde(default)]
        low_priority: LowPriority,
    },
    Time {
        /// Time that the full queue takes at the rate of the direction, such as `"400ms"`: at the
        /// rate of the start, or the mean of a trace.
        #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
        time: Span,
        /// See the queue in packets.
        #[serde(default)]
        low_priority: LowPriority,
    },
    Bdp {
        /// Bandwidth-delay products: the rate of the direction times the longest round trip,
        /// without queues, of the flows whose data crosses it.
        #[schemars(range(max = 1000), extend("exclusiveMinimum" = 0))]
        bdp: f64,
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

named! {
    /// An algorithm by its name, or with parameters.
    Aqm, AqmName, link::Aqm
}

named! {
    /// A procedure by its name, or with parameters.
    Arq, ArqName, link::Arq
}

named! {
    /// A scheme by its name, or with parameters.
    HeaderCompression, HeaderCompressionName, middlebox::HeaderCompression
}

named! {
    /// A code by its name, or with parameters.
    Fec, FecName, link::Fec
}

named! {
    /// A protocol by its name, or with parameters.
    Feedback, FeedbackName, link::Feedback
}

named! {
    /// A kind of demand assignment by its name, or with parameters.
    Demand, DemandName, link::Demand
}
