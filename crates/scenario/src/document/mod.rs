//! The scenario language as people write it: the types behind the TOML file and its JSON Schema.
//!
//! The doc comments of these types are what editors, `bentpipe explain` and the reference show,
//! so they speak to the person who writes a scenario. Limits stand in the attributes: the check of
//! a file reads them from the schema, and so a file and its schema cannot disagree.

mod link;
mod traffic;
mod transport;
mod words;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};
use wire::IpVersion;

pub(crate) use link::{
    Attenuation, Awgn, Changed, Channel, CodeName, Direction, Event, Link, LowPriority, Queue,
};
pub(crate) use traffic::{Bulk, Distribution, KeepAlive, OnOff, Traffic};
pub(crate) use transport::{
    DelayedAck, Estimator, LossThreshold, Pacing, RecoveryName, Transport, every_second,
};
pub(crate) use words::Name;

/// A Bentpipe scenario: nodes joined by links, flows between nodes, and what to record.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Bentpipe scenario")]
pub(crate) struct Document {
    /// Name of the scenario, used for output files. Default: the name of the file.
    pub name: Option<Name>,
    /// Upper bound of simulated time; a run ends earlier when every finite transfer has.
    #[serde(default = "default_duration")]
    #[schemars(extend("x-minimum" = "1ns"))]
    pub duration: Span,
    /// Seed of all random streams. The same scenario and seed give the same recording.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Version of the Internet Protocol. The header of IPv4 takes 20 bytes of each packet (RFC 791),
    /// that of IPv6 40 (RFC 8200): an MTU of 1500 is then an `mss` of 1440.
    #[serde(default)]
    pub ip: IpVersion,
    /// On the kernel bed: how much later than computed a packet in a hundred may be delivered for the
    /// run to be valid.
    #[serde(default = "default_delay_tolerance")]
    #[schemars(extend("x-minimum" = "1ns"))]
    pub delay_tolerance: Span,
    /// Nodes with something to say about them; all others come from the links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<Node>,
    /// Links between nodes. Any graph is allowed; routes have the least total propagation delay at the
    /// start, then the fewest hops.
    #[schemars(length(min = 1))]
    pub link: Vec<Link>,
    /// Transport flows.
    #[schemars(length(min = 1))]
    pub flow: Vec<Flow>,
    /// What to record besides totals.
    #[serde(default)]
    pub record: Record,
}

fn default_duration() -> Span {
    Span::from_secs(600)
}

/// A thousandth of what a packet takes over a geostationary satellite is a quarter of it.
fn default_delay_tolerance() -> Span {
    Span::from_millis(1)
}

fn default_seed() -> u64 {
    1
}

/// A node that needs more than its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    /// Name, as the links use it.
    pub name: Name,
    /// Limits the packets that the node forwards, whatever their direction. Default: no limit.
    pub forwarding: Option<Forwarding>,
}

/// A router that forwards all its packets out of one budget.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forwarding {
    /// Forwarding rate, counted over IP packet lengths.
    pub rate: Rate,
    /// Memory for packets that wait, drop-tail. It must hold at least one full packet.
    #[schemars(extend("x-minimum" = "1B"))]
    #[schemars(extend("x-renamed-from" = "memory"))]
    pub buffer: Bytes,
}

/// A flow: one TCP connection, or one web client with several.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    /// Name of the flow. Default: `flow-N`, N its position from 0. With `count`, `.0`, `.1`, … are
    /// appended.
    pub name: Option<Name>,
    /// The node that sends the data.
    pub from: Name,
    /// The node that receives the data.
    pub to: Name,
    /// The congestion controller: its name, or a table with its name and parameters.
    pub controller: Controller,
    /// How many such flows there are.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// When the application starts.
    #[serde(default)]
    pub start: Span,
    /// When the application stops: it sends no more data and asks for no more pages, and what is on
    /// its way still arrives. Default: never.
    pub stop: Option<Span>,
    /// TCP settings of both ends.
    #[serde(default)]
    pub transport: Transport,
    /// What the application does.
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

/// What is recorded besides totals.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Record {
    /// Sampling interval of the series. Default: no sampled series.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub interval: Option<Span>,
    /// Record a row whenever a window, estimate or timer of a flow changes.
    pub events: bool,
}
