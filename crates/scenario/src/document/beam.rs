//! Beams: a gateway, a shared forward carrier, a shared return channel, and groups of terminals.

use beam::forward::frames::FrameLength;
use beam::returning::requests::Category;
use beam::returning::waveforms::BurstLength;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use super::channel::{Attenuation, Modem};
use super::hosts::HostName;
use super::link::Aqm;
use super::words::{FileName, Name, Unchecked, Without};

/// A satellite beam: a gateway sends to many terminals on one carrier, and they share a return
/// channel. Flows lead to the terminals by the name of their group, or by that of one terminal.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Beam {
    /// Name of the beam.
    pub name: Name,
    /// The node of the gateway. A link joins it with the other nodes, or its applications run on
    /// it.
    pub gateway: Name,
    /// Propagation delay between the gateway and the terminals, one way. The default is that of a
    /// geostationary satellite.
    #[serde(default = "default_delay")]
    pub delay: Span,
    /// The carrier from the gateway to the terminals.
    #[serde(default)]
    pub forward: Forward,
    /// The channel from the terminals to the gateway.
    #[serde(default, rename = "return")]
    pub back: Return,
    /// Rain over the beam: a CSV or Parquet file with the column `time_s`, seconds from the start
    /// of the run, and a column for each weather cell with its attenuation of the forward carrier
    /// in dB, as `bentpipe rain cells` writes it. Default: each group has its own `attenuation`.
    pub rain: Option<FileName>,
    /// Classes of traffic, the first one first. Flows of no class are in one behind all of these.
    /// Without weights, a class is served if all classes before it are empty. With weights, classes
    /// share the carriers. Default: all packets are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub class: Vec<Class>,
    /// Groups of terminals.
    #[schemars(length(min = 1))]
    pub group: Vec<Group>,
}

/// A class of traffic.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Class {
    /// Name of the class.
    pub name: Name,
    /// Names of the `[[flow]]` tables whose packets have this class, in both directions.
    #[schemars(length(min = 1))]
    pub flows: Vec<Name>,
    /// Weight of the class on both carriers. The packets of no class have the weight 1. Default:
    /// all classes are strict.
    #[schemars(range(min = 1, max = 1000))]
    pub weight: Option<u32>,
}

fn default_delay() -> Span {
    Span::from_millis(250)
}

/// A forward carrier of DVB-S2 with frames, encapsulation (GSE) and a scheduler.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Forward {
    /// Modem with adaptive coding and modulation, by its name or with parameters. Each group has
    /// the choice that its signal allows.
    pub modem: Modem,
    /// Length of frames: `"normal"`, 64,800 bits, or `"short"`, 16,200 bits, which only
    /// `"dvb-s2"` has here.
    pub frames: FrameLength,
    /// Frames have pilots, which cost 2.4 % of the symbols.
    pub pilots: bool,
    /// An idle carrier sends dummy frames. A packet then waits for the end of one.
    pub dummy_frames: bool,
    /// Packets that do not fit into a frame are continued in the next one. Without, the rest of the
    /// frame is padding.
    pub fragmentation: bool,
    /// The longest time that a packet waits in a frame that is not full, while others are sent.
    #[schemars(extend("x-maximum" = "10s"))]
    pub hold: Span,
    /// Order of packets. `"fifo"`: one queue for all terminals. `"equal-rate"` and
    /// `"equal-airtime"`: deficit round robin over the terminals, in bytes or in symbols.
    pub scheduler: Scheduler,
    /// Memory for packets of a class that wait: of each terminal, or of all together with `"fifo"`.
    /// The default is our choice.
    #[schemars(extend("x-minimum" = "1B"))]
    pub buffer: Bytes,
    /// Active queue management of each terminal: `"fq-codel"`, or a table with its parameters. It
    /// keeps memory for all of its queues for each terminal with traffic. Default: drop-tail.
    pub aqm: Option<Aqm>,
}

impl Default for Forward {
    fn default() -> Self {
        Self {
            modem: Modem::default(),
            frames: FrameLength::Normal,
            pilots: true,
            dummy_frames: true,
            fragmentation: true,
            hold: Span::from_millis(10),
            scheduler: Scheduler::EqualRate,
            buffer: Bytes(1_000_000),
            aqm: None,
        }
    }
}

/// The order of packets on the forward carrier.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum Scheduler {
    Fifo,
    EqualRate,
    EqualAirtime,
}

/// A return channel of DVB-RCS2: carriers with slots in frames, which a control centre assigns.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Return {
    /// Number of carriers. The default is our choice.
    #[schemars(range(min = 1, max = 10_000))]
    pub carriers: u32,
    /// Bandwidth of a carrier in Hz. The default is that of SNS3.
    #[schemars(range(min = 10_000, max = 1_000_000_000.0))]
    pub bandwidth: f64,
    /// Roll-off of the pulse. The symbol rate is the bandwidth divided by 1 + `roll_off` and by 1 +
    /// `spacing`.
    #[schemars(range(min = 0, max = 1))]
    pub roll_off: f64,
    /// Space between carriers, as a share of their width. The default is that of SNS3.
    #[schemars(range(min = 0, max = 10))]
    pub spacing: f64,
    /// Length of bursts: `"short"`, 536 symbols, or `"long"`, 1616 symbols. A slot has one burst.
    pub bursts: BurstLength,
    /// Length of a frame.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "10s"))]
    pub frame: Span,
    /// Es/N0 in dB that is left above the threshold of a waveform. The default is our choice.
    #[schemars(range(min = 0, max = 50))]
    pub margin: f64,
    /// Time from a request to the earliest start of a frame with its slots. Default: twice the
    /// `delay` of the beam.
    #[schemars(extend("x-maximum" = "100s"))]
    pub control_delay: Option<Span>,
    /// Time between requests of a terminal. Default: a frame.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "100s"))]
    pub period: Option<Span>,
    /// Factor by which requests exceed the need. The default is that of SNS3.
    #[schemars(range(min = 1, max = 10))]
    pub over_request: f64,
    /// Time for which a requested rate counts as on its way, for `"rbdc"`. Default: the control
    /// delay.
    #[schemars(extend("x-maximum" = "100s"))]
    pub memory: Option<Span>,
    /// Memory for packets of a class that wait at a terminal, drop-tail. The default is our choice.
    #[schemars(extend("x-minimum" = "1B"))]
    pub buffer: Bytes,
    /// Random access, for groups with `random_access`. Default: none.
    pub access: Option<Access>,
}

impl Default for Return {
    fn default() -> Self {
        Self {
            carriers: 10,
            bandwidth: 1.25e6,
            roll_off: 0.2,
            spacing: 0.3,
            bursts: BurstLength::Long,
            frame: Span::from_millis(100),
            margin: 0.5,
            control_delay: None,
            period: None,
            over_request: 1.1,
            memory: None,
            buffer: Bytes(400_000),
            access: None,
        }
    }
}

/// Random access: carriers on which terminals send that have no slots, and on which their bursts
/// may collide. A burst has as much of the terminal's packets as it carries, and a request for the
/// rest.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Access {
    /// `"slotted-aloha"`: one burst for each packet. `"dsa"`, diversity slotted ALOHA: `replicas`
    /// in slots that are drawn. `"crdsa"`, contention resolution diversity slotted ALOHA: each
    /// decoded packet is subtracted from the slots of its replicas.
    pub scheme: SchemeName,
    /// Bursts of each packet, with `"dsa"` and `"crdsa"`. Default: 3, as in SNS3.
    #[schemars(range(min = 2, max = 5))]
    pub replicas: Option<u32>,
    /// Most iterations of the receiver, with `"crdsa"`. Default: 16, our choice.
    #[schemars(range(min = 1, max = 1000))]
    pub iterations: Option<u32>,
    /// Number of carriers for random access, besides those with slots.
    #[schemars(range(min = 1, max = 1000))]
    pub carriers: u32,
    /// Bursts carry packets. Otherwise they carry requests only.
    pub packets: bool,
    /// Time after which a terminal takes a burst for lost. Default: until its acknowledgement would
    /// have arrived, in whole frames.
    #[schemars(extend("x-maximum" = "100s"))]
    pub timeout: Option<Span>,
    /// A retry waits for a time that is uniform up to this one, in whole frames. The default is
    /// that of SNS3.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "100s"))]
    pub back_off: Span,
    /// Number of times that the back-off doubles, once for each retry. The default is our choice.
    #[schemars(range(max = 16))]
    pub doublings: u32,
    /// Most times that a burst is sent. A terminal that gives up requests slots in a control slot
    /// that loses nothing, or drops the packet if its group has no other capacity. The default is
    /// our choice.
    #[schemars(range(min = 1, max = 1000))]
    pub tries: u32,
    /// Load in packets per slot that the gateway keeps to: it announces a probability with which
    /// terminals send. The default is the threshold of SNS3.
    #[schemars(extend("default" = 0.5))]
    pub load: Load,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            scheme: SchemeName::Crdsa,
            replicas: None,
            iterations: None,
            carriers: 1,
            packets: true,
            timeout: None,
            back_off: Span::from_millis(250),
            doublings: 2,
            tries: 5,
            load: Load::Target(0.5),
        }
    }
}

/// Scheme of random access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum SchemeName {
    SlottedAloha,
    Dsa,
    Crdsa,
}

/// A load, or no control of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Load {
    Target(#[schemars(range(max = 10), extend("exclusiveMinimum" = 0))] f64),
    None(Without),
}

/// Terminals that are alike. Their names are that of the group with a number: `home-1`, `home-2`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// Name of the group. A flow with this name at an end stands for one flow of each terminal.
    pub name: Name,
    /// Number of terminals.
    #[schemars(range(min = 1, max = 20_000))]
    pub terminals: u32,
    /// Es/N0 of the forward carrier at the terminals in clear sky in dB, Es being the energy of a
    /// symbol.
    #[schemars(range(min = -20, max = 100))]
    pub es_n0: f64,
    /// Attenuation of the forward carrier by rain: a constant in dB, or a file, as of a channel
    /// with `es_n0`. Default: clear sky.
    pub attenuation: Option<Attenuation>,
    /// The weather cell of the group: a column of the `rain` of the beam. Default with `rain`: the
    /// terminals are spread over all cells, terminal number n in cell number n, and from the first
    /// one on again.
    pub cell: Option<Name>,
    /// Noise temperature of the terminals in clear sky in K, to which rain adds. Default: rain adds
    /// no noise.
    #[schemars(range(max = 100_000), extend("exclusiveMinimum" = 0))]
    pub system_temperature: Option<f64>,
    /// Es/N0 of the bursts at the gateway in dB. It does not change during the run. The most
    /// efficient waveform that it allows is that of the group.
    #[schemars(range(min = -20, max = 100))]
    pub return_es_n0: f64,
    /// Constant-rate assignment (CRA) of each terminal, without requests. Default: none.
    #[schemars(extend("x-maximum" = "1Gbit/s"))]
    pub cra: Option<Rate>,
    /// Category of requests: `"rbdc"`, a rate, `"vbdc"`, a volume in addition to those before,
    /// `"avbdc"`, a volume in their place, or `"none"`.
    #[serde(default)]
    pub requests: Requests,
    /// Highest rate that a terminal requests, with `"rbdc"`. Default: that of one carrier.
    #[schemars(extend("x-minimum" = "1kbit/s"))]
    pub max_rate: Option<Rate>,
    /// Weight of the requests of a terminal in a shortage.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: u32,
    /// Free-capacity assignment (FCA): slots that no terminal has requested go round among the
    /// terminals of all groups with it.
    #[serde(default)]
    pub fca: bool,
    /// Terminals send by random access while they have no slots. It requires `access` of the return
    /// channel. Their requests go along in their bursts then.
    #[serde(default)]
    pub random_access: bool,
    /// The terminals are in the background: their downloads take their share of both carriers, as
    /// trains of bytes without hosts, connections and packets. They have no rows among the flows.
    /// `true` is rejected where no comparison with packets has shown differences below 5 %, and
    /// `"unchecked"` is not.
    #[serde(default)]
    pub background: InBackground,
    /// Plan of the subscribers. Default: no limit.
    pub plan: Option<SubscriberPlan>,
    /// Profile of the operating system of the terminals' hosts, as that of a node.
    #[schemars(extend("default" = "none"))]
    pub host: Option<HostName>,
}

/// The plan of each subscriber of a group, in at least one direction.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubscriberPlan {
    /// To the terminal. Default: no limit.
    pub down: Option<PlanRate>,
    /// From the terminal. Default: no limit.
    pub up: Option<PlanRate>,
}

/// A plan in one direction: a token bucket.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanRate {
    /// Rate in bits of IP packets.
    #[schemars(extend("x-minimum" = "1kbit/s"))]
    pub rate: Rate,
    /// Bytes that may pass at once after a pause, at least the longest packet. Default: those of a
    /// second at `rate`, and at least 10 kB; our choice.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub burst: Option<Bytes>,
    /// Fair-access policy: a volume in a window, after which a lower rate holds. Default: none.
    pub allowance: Option<PlanAllowance>,
}

/// A volume in a window: a leaky bucket that each byte fills, and that leaks evenly over the
/// window. While it is full, the reduced rate holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanAllowance {
    /// The volume in bytes of IP packets.
    #[schemars(extend("x-minimum" = "1kB"))]
    pub volume: Bytes,
    /// Its window. Volume / window is at least 1 kbit/s.
    #[schemars(extend("x-minimum" = "1s"))]
    pub window: Span,
    /// Rate of a terminal that has used its volume, below the rate of the plan.
    #[schemars(extend("x-minimum" = "1kbit/s"))]
    pub reduced_rate: Rate,
    /// Bytes that are used at the start, at most `volume`.
    #[serde(default)]
    pub used: Bytes,
}

fn one() -> u32 {
    1
}

/// A group in the background, or not.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum InBackground {
    Switch(bool),
    Word(Unchecked),
}

impl Default for InBackground {
    fn default() -> Self {
        Self::Switch(false)
    }
}

impl InBackground {
    /// Returns true if the group is in the background.
    pub fn is_on(self) -> bool {
        !matches!(self, Self::Switch(false))
    }

    /// Returns true if that holds whatever was compared.
    pub fn is_unchecked(self) -> bool {
        matches!(self, Self::Word(_))
    }
}

/// A category of requests, or none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Requests {
    Category(Category),
    None(Without),
}

impl Default for Requests {
    fn default() -> Self {
        Self::Category(Category::Rbdc)
    }
}
