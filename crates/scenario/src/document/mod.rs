//! The scenario language as people write it: the types behind the TOML file and its JSON Schema.
//!
//! The doc comments of these types are what editors, `bentpipe explain` and the reference show,
//! so they speak to the person who writes a scenario. Limits stand in the attributes: the check of
//! a file reads them from the schema, and so a file and its schema cannot disagree.

mod beam;
mod channel;
mod hints;
mod hosts;
mod impairments;
mod line;
mod link;
mod mix;
mod named;
mod proxy;
mod switch;
mod traffic;
mod transport;
mod words;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};
use wire::IpVersion;

use named::named;

pub(crate) use beam::{
    Access, Beam, Forward as BeamForward, Group, Load, PlanAllowance, PlanRate, Requests,
    Return as BeamReturn, Scheduler, SchemeName,
};
pub(crate) use channel::{Attenuation, Awgn, Channel, CodeName, Modem, Signal};
pub(crate) use hints::{DetectionRule, HintSource, PathHints};
pub(crate) use hosts::{HostName, Hosts};
pub(crate) use impairments::{
    Around, Distribution as JitterDistribution, DistributionName, Jitter,
};
pub(crate) use line::{Bucket, Cells};
pub(crate) use link::{
    Aqm, Changed, Columns, Direction, Event, Feedback, Link, Mtu, Orbit, Outside, Queue, Trace,
    TraceFiles, TraceKind,
};
pub(crate) use mix::Mix;
pub(crate) use proxy::{NamedProxy, Proxy, ProxySide};
pub(crate) use switch::{Bfd, Outages, Switch};
pub(crate) use traffic::{Bulk, Distribution, KeepAlive, OnOff, Traffic};
pub(crate) use transport::{
    DelayedAck, Ecn, EcnOfEnd, ReceiveBuffer, SendBuffer, SendTable, Transport,
};
pub(crate) use words::{FileName, Name, Phase};

/// A Bentpipe scenario: nodes joined by links, flows between nodes, and what to record.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Bentpipe scenario")]
pub(crate) struct Document {
    /// Name of the scenario, used for output files. Default: the name of the file.
    pub name: Option<Name>,
    /// Maximum simulated time. A run ends earlier when all finite transfers are complete.
    #[serde(default = "default_duration")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "87600h"))]
    pub duration: Span,
    /// Seed of all random numbers. The same scenario and seed give the same recording.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Version of the Internet Protocol. The header of IPv4 has 20 bytes (RFC 791), that of IPv6 40
    /// (RFC 8200). With IPv6, an MTU of 1500 corresponds to an `mss` of 1440.
    #[serde(default)]
    pub ip: IpVersion,
    /// Time of the events of all links and switches. `"fixed"`: as written, in every run.
    /// `"random"`: all events are later by the same time, so that the seeds of a study meet them at
    /// different moments. The time is uniform from zero to the longest `every`, or to a tenth of
    /// `duration` if no event repeats, and at most half of the time from the last `at` to the end.
    /// Events after the end do not count. The time depends on the seed only, so that all
    /// controllers meet the same events. Attenuation series keep their time.
    #[serde(default)]
    pub phase: Phase,
    /// Date and time of the start in UTC, as `2026-11-27T12:00:00Z`. A path over satellites is that
    /// of this time, and `path_hints` with the source `"clock"` count from it.
    #[schemars(extend("x-format" = "date", "examples" = ["2026-11-27T12:00:00Z"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// Backend kernel only: maximum delay error of 99 % of the packets for a valid run.
    #[serde(default = "default_delay_tolerance")]
    #[schemars(extend("x-minimum" = "1ns"))]
    pub delay_tolerance: Span,
    /// Nodes with settings of their own. All other nodes are defined by the links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<Node>,
    /// Links between nodes. Any graph is allowed. Routes have the smallest total propagation delay
    /// at the start, then the fewest hops. At most 8192 links and 4096 nodes.
    #[schemars(length(min = 1))]
    pub link: Vec<Link>,
    /// Pairs of routers with several paths between them. At most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switch: Vec<Switch>,
    /// Satellite beams with many terminals. All beams together have at most 20,000 terminals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beam: Vec<Beam>,
    /// Transport flows. A scenario has at least one `[[flow]]` or `[[mix]]`.
    #[serde(default)]
    pub flow: Vec<Flow>,
    /// Mixes of applications: households or offices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<Mix>,
    /// Recording in addition to totals.
    #[serde(default)]
    pub record: Record,
}

fn default_duration() -> Span {
    Span::from_secs(600)
}

/// 1 ms is 0.4 % of the one-way delay over a geostationary satellite.
fn default_delay_tolerance() -> Span {
    Span::from_millis(1)
}

fn default_seed() -> u64 {
    1
}

/// A node with settings of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    /// Name, as used by the links. A group of terminals of a beam, or one of its terminals, can
    /// have a `proxy` and a `middlebox`, and no other key.
    pub name: Name,
    /// Profile of the operating system of this node, for its ends of flows over TCP that have no
    /// `host` of their own. `bentpipe hosts` lists the profiles. Not for a node with a `proxy`,
    /// whose sides have settings of their own.
    #[schemars(extend("default" = "none"))]
    pub host: Option<HostName>,
    /// Limits of forwarding, for all directions together. Default: no limit.
    pub forwarding: Option<Forwarding>,
    /// Middlebox at this node, which looks into packets (RFC 3135). A name stands for the
    /// middlebox with its defaults, a table sets parameters. An ACK filter works in the queues of
    /// the links that leave the node, and at a terminal in the queue before the return channel. All
    /// others see the packets that the node forwards, before its `forwarding`: at a terminal, those
    /// between the beam and the host behind it.
    #[schemars(extend("default" = "none"))]
    pub middlebox: Option<Middlebox>,
    /// Split proxy (RFC 3135): the node ends each TCP connection that crosses it from one side to
    /// the other, and opens another one. Both directions of a flow must cross the node. A node with
    /// a proxy has no `forwarding`, and no `middlebox` other than `"ack-filter"`. A name stands for
    /// the `preset` with its defaults, a table sets keys, and `"none"` splits nothing.
    #[schemars(extend("default" = "none"))]
    pub proxy: Option<NamedProxy>,
}

named! {
    /// A middlebox by its name, or with parameters.
    Middlebox, MiddleboxName, middlebox::Middlebox
}

named! {
    /// A tunnel by its name, or with parameters.
    Tunnel, TunnelName, middlebox::Tunnel
}

/// A router with one limit for all packets that it forwards.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forwarding {
    /// Forwarding rate of IP packets.
    pub rate: Rate,
    /// Memory for waiting packets, drop-tail. It must have room for at least one full packet.
    #[schemars(extend("x-minimum" = "1B"))]
    pub buffer: Bytes,
}

/// A flow: one TCP connection, or one web client with several.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    /// Name of the flow. Default: `flow-N`, with its position N from 0. With `count`, `.0`, `.1`, …
    /// are appended.
    pub name: Option<Name>,
    /// The node that sends the data. A group of terminals of a beam stands for a flow of each
    /// terminal.
    pub from: Name,
    /// The node that receives the data, or a group of terminals.
    pub to: Name,
    /// The congestion controller: its name, or a table with its name and parameters. `"none"`, no
    /// congestion control, is for `transport.protocol = "scps-tp"` with a `rate`, for `"xtp"`
    /// and `"udp"`, which have none, and for `"sctp"`, which has one of its own. Default: that of
    /// the profile of the host, and `"none"` with `"udp"`. Other flows without a profile must have
    /// one.
    pub controller: Option<Controller>,
    /// Profiles of the operating systems of the hosts: one name for both ends, or a table with
    /// `from` and `to`. Default: the `host` of the nodes. A profile sets buffers, controller,
    /// recovery, initial window, delayed ACKs, timestamps, window scaling, ECN and the
    /// retransmission timer of its end. A key of the flow overrides that of the profile at both
    /// ends. An option counts only if both ends have it. `bentpipe hosts` lists the profiles. Only
    /// with `transport.protocol = "tcp"`. Gateways take the keys of the flow, and none of a
    /// profile.
    pub host: Option<Hosts>,
    /// Number of such flows; with a group of terminals, of each terminal.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// Start time of the application.
    #[serde(default)]
    pub start: Span,
    /// Time over which the starts of several such flows are spread evenly: the first is at `start`.
    /// Only with `count` or a group of terminals. Default: all start together.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub spread: Option<Span>,
    /// Stop time of the application. It sends no more data and requests no more pages. Data in
    /// flight still arrives, and a page that is loading is loaded to its end. Default: never.
    pub stop: Option<Span>,
    /// Hints to the controller at `from` that its path changes, as in a hand-over between
    /// satellites. A controller never knows the changes of the scenario without this key.
    /// Controllers that ignore hints run as without. Only for controllers of Bentpipe, and not on
    /// the kernel backend. With split proxies the path is that to the first one. Default: no hints.
    pub path_hints: Option<PathHints>,
    /// Sessions: the application begins and ends again and again, as a new one each time, with
    /// connections of its own. The times are drawn from the seed and the number of the flow, so
    /// that they are the same for all controllers. Only for `download`, `page`, `call`, `messages`,
    /// `video` and `speedtest`. Default: one session, without an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<applications::sessions::Settings>,
    /// Tunnel that hides the packets of the flow: between its ends they are one UDP flow. A name
    /// stands for the tunnel with its defaults, a table sets parameters. Flows whose tunnels have
    /// the same ends and the same settings share one. Each terminal of a beam has its own.
    #[schemars(extend("default" = "none"))]
    pub tunnel: Option<Tunnel>,
    /// Transport protocol, with the settings of both ends.
    #[serde(default)]
    pub transport: Transport,
    /// Traffic of the application.
    pub traffic: Traffic,
}

fn default_count() -> u32 {
    1
}

/// A controller's name, or a table with its name and parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Controller {
    Name(String),
    Table {
        name: String,
        #[serde(flatten)]
        parameters: BTreeMap<String, ParameterValue>,
    },
}

/// The value of a controller's parameter.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ParameterValue {
    Number(f64),
    Word(String),
}

/// Recording in addition to totals.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Record {
    /// Sampling interval of the series. Default: no sampled series.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub interval: Option<Span>,
    /// Record a row for each change of a window, estimate or timer of a flow.
    pub events: bool,
    /// Measure the delivery times of all flows over TCP and SCPS-TP: from the first transmission of
    /// data to the receiving application, one way (table `delivery`). Flows that a gateway splits
    /// always have them, because they have no end-to-end RTT.
    pub delivery: bool,
}
