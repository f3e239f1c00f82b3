//! The model of a scenario for all backends: defaults filled in, names resolved, values valid.

mod beam;
mod hints;
mod page;
mod switch;
mod traffic;
mod transport;
mod tunnel;

use std::ops::Deref;
use std::sync::Arc;

use ::transport::Protocol;
use congestion::Specification;
use language::path::Path;
use orbit::Utc;
use serde_json::Value as Json;
use units::{Bytes, Rate, Span};
use wire::IpVersion;

use crate::hosts::Profile;
use crate::routes::{Hop, Routes};

pub use self::beam::{
    Background, BackgroundCopy, Beam, BeamGroup, CellSignal, DELAY_BEHIND_TERMINALS, NO_CLASS,
    RATE_BEHIND_TERMINALS,
};
pub use self::hints::{HintSource, PathHints};
pub use self::page::{
    After, DrawnPages, Handshake, Headers, Http, Milestone, Page, PageModel, PageObject,
};
pub use self::switch::{Move, Switch, SwitchRule};
pub use self::traffic::{Distribution, Loading, OnOff, Traffic, Web, Writes};
pub use self::transport::{Lengths, Plan, Timer, Transport, Uncontrolled};
pub use self::tunnel::{Hidden, Inside, OuterConnection, Tunnel};
pub use link::{
    Aqm, Arq, ArqSettings, Change, Demand, DemandSettings, Errors as Channel, Fec, FecSettings,
    Feedback, LowPriority, Marking, QueueLimit, Settings as Direction, Timeline,
};
pub use middlebox::{
    Accept, AtLimit, BucketSettings, HeaderCompression, Icmp, Middlebox, Mtu, Policy, Preset,
    SideName,
};

/// A whole experiment.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, used for output files.
    pub name: String,
    /// Upper bound of simulated time; a run ends earlier when every finite transfer has.
    pub duration: Span,
    /// Seed of all random streams.
    pub seed: u64,
    /// How much later than written events and switches may happen; zero if they never do. See
    /// [`Scenario::event_delay`].
    pub phase: Span,
    /// UTC at its start, if it has one.
    pub epoch: Option<Utc>,
    /// Version of the Internet Protocol that all hosts speak.
    pub ip: IpVersion,
    /// The largest 99th percentile of the delay error with which a run on a real kernel is valid.
    pub delay_tolerance: Span,
    /// Nodes; their position is their number. Terminals of beams are the last ones.
    pub nodes: Vec<Node>,
    /// Links between nodes.
    pub links: Vec<Link>,
    /// Beams, in the order of their terminals.
    pub beams: Vec<Beam>,
    /// Flows, `count` already spelt out.
    pub flows: Vec<Flow>,
    /// Addresses of hosts besides their own. Destinations are numbered with the nodes first, then
    /// these.
    pub addresses: Vec<Address>,
    /// Tunnels, each of which flows share that have the same ends and the same settings.
    pub tunnels: Vec<Tunnel>,
    /// Pairs of routers with several paths between them.
    pub switches: Vec<Switch>,
    /// Rates of routes of SCPS-TP.
    pub route_rates: Vec<RouteRate>,
    /// Records besides totals.
    pub record: Record,
}

impl Scenario {
    /// How much later than written all events of links happen in a run with `seed`.
    pub fn event_delay(&self, seed: &link::Seed) -> Span {
        link::event_delay(seed, self.phase)
    }

    /// Number of nodes that links join: all but the terminals of beams.
    pub fn linked_nodes(&self) -> usize {
        self.beams.first().map_or(self.nodes.len(), |beam| beam.terminals.start)
    }

    /// The beam of a terminal, and its number; `None` for other nodes.
    pub fn beam_of(&self, node: usize) -> Option<(usize, &Beam)> {
        self.beams.iter().enumerate().find(|(_, beam)| beam.terminals.contains(&node))
    }

    /// Propagation delay in beams of packets from `from` to `to`. A terminal and the host behind it
    /// have the same number.
    pub fn beam_delay(&self, (from, to): Way) -> Span {
        if from == to {
            return DELAY_BEHIND_TERMINALS;
        }
        let delays = [from, to].into_iter().filter_map(|node| Some(self.beam_of(node)?.1));
        delays.fold(Span::ZERO, |sum, beam| sum + beam.forward.delay)
    }

    /// The gateway of a terminal; another node itself.
    pub fn anchor(&self, node: usize) -> usize {
        self.beam_of(node).map_or(node, |(_, beam)| beam.gateway)
    }

    /// Number of destinations that packets can have: nodes, then addresses.
    pub fn destinations(&self) -> usize {
        self.nodes.len() + self.addresses.len()
    }

    /// Number of the route's rate that holds back what `from` sends to `to` by SCPS-TP.
    pub fn route_rate(&self, routes: &Routes, from: usize, to: usize) -> Option<usize> {
        let hop = Some(routes.next(from, to)?);
        self.route_rates.iter().position(|rate| Some(rate.hop) == hop)
    }

    /// Length of a full packet of a flow as an IP packet, in bytes.
    pub fn packet_bytes(&self, flow: &Flow) -> u64 {
        u64::from(self.ip.header_bytes()) + flow.transport.plan().lengths().full
    }

    /// Length of the longest packet of a flow as an IP packet, in bytes.
    pub fn longest_packet_bytes(&self, flow: &Flow) -> u64 {
        u64::from(self.ip.header_bytes()) + flow.transport.plan().lengths().longest
    }

    /// Length of the longest IP packet of a flow in bytes: in its tunnel if it has one, or of the
    /// messages that set it up.
    pub fn longest_outside(&self, flow: &Flow) -> u64 {
        let longest = self.longest_packet_bytes(flow);
        self.tunnel_of(flow).map_or(longest, |tunnel| {
            // Packets of the outer connection may carry an ACK, too.
            let longest = u16::try_from(longest).unwrap_or(u16::MAX).min(tunnel.mtu);
            let inner = if tunnel.outer.is_some() { tunnel.mtu } else { longest };
            let outer = tunnel.outer(self.ip, inner).max(tunnel.longest_message(self.ip));
            outer.max(longest).into()
        })
    }

    /// Length of an ACK of a flow without data as an IP packet, in bytes.
    pub fn ack_bytes(&self, flow: &Flow) -> u64 {
        u64::from(self.ip.header_bytes()) + flow.transport.plan().lengths().ack
    }

    /// Bytes of the headers of IP and TCP without options.
    pub fn headers(&self) -> u64 {
        u64::from(self.ip.header_bytes() + wire::tcp::HEADER)
    }
}

/// The rate of a route of SCPS-TP: that of the bucket which connections share whose data takes this
/// hop first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRate {
    /// The link on which the data leaves the host.
    pub hop: Hop,
    /// Rate and size of the bucket.
    pub bucket: BucketSettings,
}

/// An address of a host to which packets go through another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Number of the host.
    pub node: usize,
    /// Number of the other node.
    pub via: usize,
}

/// One of the paths between the hosts of a flow, if it names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// Number of the node that it leads through.
    pub via: usize,
    /// Destinations: the addresses at `from` and at `to`.
    pub ends: [usize; 2],
}

/// The way of packets: the node that sends them, and their destination.
pub type Way = (usize, usize);

/// A host or router.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Limit of the packets that it forwards; `None` forwards at once.
    pub forwarding: Option<Forwarding>,
    /// Middlebox that looks into its packets.
    pub middlebox: Option<Middlebox>,
    /// Its split proxy.
    pub proxy: Option<Arc<Proxy>>,
    /// Number of its `[[node]]`, if it has one. Terminals of a group share one.
    pub entry: Option<usize>,
}

impl Node {
    /// Its `[[node]]`.
    pub fn place(&self) -> Path {
        self.entry.map_or_else(|| Path::default().key("node"), |entry| Path::entry("node", entry))
    }
}

/// Where packets come from and go to at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Neighbour {
    /// The node with this number, over a link.
    Node(usize),
    /// The beam with this number, at its gateway and at its terminals.
    Beam(usize),
    /// The host behind a terminal, at that terminal.
    Host,
}

impl Neighbour {
    /// The name of the host behind a terminal.
    pub const OF_HOST: &str = "its host";

    /// Its name.
    pub fn name(self, scenario: &Scenario) -> &str {
        match self {
            Self::Node(number) => &scenario.nodes[number].name,
            Self::Beam(number) => &scenario.beams[number].name,
            Self::Host => Self::OF_HOST,
        }
    }
}

/// A split proxy at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// Neighbours of the node on each side, in the order of [`SideName::ALL`].
    pub neighbours: [Vec<Neighbour>; 2],
    /// The preset that is written.
    pub preset: Option<Preset>,
    /// Which connections are split, and when they are accepted.
    pub policy: Policy,
    /// The most that the relay holds for one direction of a connection.
    pub relay_buffer: Bytes,
    /// The rate that the connections of each side share, in the order of [`SideName::ALL`].
    pub shared_rates: [Option<BucketSettings>; 2],
}

impl Proxy {
    /// The side of a neighbour; `None` if it is on neither.
    pub fn side_of(&self, neighbour: Neighbour) -> Option<SideName> {
        SideName::ALL.into_iter().find(|side| self.neighbours[side.index()].contains(&neighbour))
    }
}

/// A gateway that splits the connections of a flow.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Number of the node.
    pub node: usize,
    /// Its ends of connections: towards the node that sends the data, and towards the one that
    /// receives it.
    pub ends: [GatewayEnd; 2],
    /// The most that the relay holds for one direction of a connection.
    pub relay_buffer: Bytes,
}

/// A gateway's end of connections.
#[derive(Clone, Debug)]
pub struct GatewayEnd {
    /// The side of the gateway.
    pub side: SideName,
    /// The congestion controller.
    pub controller: Specification,
    /// True if the side has a controller of its own, and not that of the flow.
    pub has_own_controller: bool,
    /// Settings of the protocol of its connections.
    pub transport: Transport,
    /// The maximum pacing rate of one connection, with a bucket of one packet.
    pub pacing: Option<BucketSettings>,
}

impl GatewayEnd {
    /// The protocol of its connections.
    pub fn protocol(&self) -> Protocol {
        self.transport.protocol()
    }
}

/// A router that forwards all its packets, whatever their direction, out of one budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// Forwarding rate, counted over IP packet lengths.
    pub rate: Rate,
    /// Memory for packets that wait, drop-tail.
    pub buffer: Bytes,
}

/// A full-duplex link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name: `first-second`.
    pub name: String,
    /// Numbers of the two nodes.
    pub ends: [usize; 2],
    /// From the first node to the second.
    pub forward: Direction,
    /// From the second node to the first.
    pub backward: Direction,
    /// Header compression of both directions.
    pub header_compression: [Option<HeaderCompression>; 2],
    /// MTU of both directions.
    pub mtu: [Option<Mtu>; 2],
}

impl Link {
    /// Both directions with the names of their keys, in the order of their ports.
    pub fn sides(&self) -> [(&'static str, &Direction); 2] {
        [("forward", &self.forward), ("backward", &self.backward)]
    }
}

/// One transport flow: its own values, and [settings](FlowSettings) that all copies of its entry
/// share. They can be read as fields of the flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Number of the node that sends the data.
    pub from: usize,
    /// Number of the node that receives the data.
    pub to: usize,
    /// When the application starts.
    pub start: Span,
    /// First sequence number of the side that sends the data; the other takes one more.
    pub initial_sequence: u32,
    /// Its paths, the primary one first. Empty: it has one, on the routes between its hosts.
    pub paths: Arc<Vec<FlowPath>>,
    /// Gateways that split its connections, in the order in which the data crosses them.
    pub gateways: Arc<Vec<Gateway>>,
    /// Number of the tunnel that hides its packets.
    pub tunnel: Option<usize>,
    /// The same for all copies of its entry, of which there may be a million.
    pub settings: Arc<FlowSettings>,
}

impl Deref for Flow {
    type Target = FlowSettings;

    fn deref(&self) -> &FlowSettings {
        &self.settings
    }
}

/// Settings of a flow and its copies.
#[derive(Clone, Debug)]
pub struct FlowSettings {
    /// When the application stops, later than `start`; `None` is never.
    pub stop: Option<Span>,
    /// The congestion controller of both ends; that of the sender if they have profiles.
    pub controller: Specification,
    /// Hints to the controller at `from` that its path changes.
    pub path_hints: Option<PathHints>,
    /// The transport protocol of both ends, with its settings. If they have profiles, these are the
    /// settings that its data sees: those of the sender, with the receive buffer and the ACKs of
    /// the receiver, and the options that both have.
    pub transport: Transport,
    /// Its ends, if one of them has a profile.
    pub hosts: Option<Arc<Hosts>>,
    /// How fast the applications read; `None` reads at once.
    pub reader_rate: Option<Rate>,
    /// The application.
    pub traffic: Traffic,
    /// Its sessions; `None` is one.
    pub sessions: Option<applications::sessions::Settings>,
}

impl FlowSettings {
    /// The transport protocol.
    pub fn protocol(&self) -> Protocol {
        self.transport.protocol()
    }

    /// Settings and controller of its ends: of the sender and of the receiver of the data.
    pub fn ends(&self) -> [(&Transport, &Specification); 2] {
        match &self.hosts {
            None => [(&self.transport, &self.controller); 2],
            Some(hosts) => hosts.ends.each_ref().map(|end| (&end.transport, &end.controller)),
        }
    }

    /// The settings that the scenario writes, without those of profiles.
    pub fn written_transport(&self) -> &Transport {
        self.hosts.as_ref().map_or(&self.transport, |hosts| &hosts.written)
    }

    /// Returns true if its application sends queries for names, in packets of UDP between its
    /// hosts.
    pub fn queries_names(&self) -> bool {
        self.traffic.page().is_some_and(|page| page.has_remote_resolver)
    }

    /// Returns true if some of its data may be missing at the end.
    pub fn is_best_effort(&self) -> bool {
        self.transport.scps().is_some_and(|scps| scps.best_effort.is_some())
    }
}

impl Flow {
    /// Returns true if all its packets are of TCP, or of SCPS-TP, which is one.
    pub fn has_tcp_only(&self) -> bool {
        self.transport.is_tcp() && self.other_end().is_none() && !self.queries_names()
    }

    /// The nodes between which its legs are: its hosts, and the gateways that split it, in the
    /// order of the data.
    pub fn stops(&self) -> Vec<usize> {
        let gateways = self.gateways.iter().map(|gateway| gateway.node);
        std::iter::once(self.from).chain(gateways).chain([self.to]).collect()
    }

    /// The ways of its data and of its ACKs on the primary path.
    pub fn ways(&self) -> [Way; 2] {
        self.ways_on(self.paths.first())
    }

    /// The ways of its data and of its ACKs on each of its paths.
    pub fn all_ways(&self) -> impl Iterator<Item = [Way; 2]> {
        let others = self.paths.iter().skip(1).map(|path| self.ways_on(Some(path)));
        std::iter::once(self.ways()).chain(others)
    }

    fn ways_on(&self, path: Option<&FlowPath>) -> [Way; 2] {
        let [from, to] = path.map_or([self.from, self.to], |path| path.ends);
        [(self.from, to), (self.to, from)]
    }

    /// The protocols of its connections, those of gateways included.
    pub fn transports(&self) -> impl Iterator<Item = &Transport> {
        let of_gateways = self.gateways.iter().flat_map(|one| &one.ends);
        of_gateways.map(|end| &end.transport).chain([&self.transport])
    }

    /// Returns true if some of its connections are of QUIC, those between gateways included.
    pub fn has_quic(&self) -> bool {
        self.transports().any(|transport| matches!(transport, Transport::Quic(_)))
    }

    /// The first end of a gateway with another protocol, and the number of its node.
    pub fn other_end(&self) -> Option<(usize, &GatewayEnd)> {
        let mut ends =
            self.gateways.iter().flat_map(|one| one.ends.iter().map(|end| (one.node, end)));
        ends.find(|(_, end)| !end.transport.is_tcp())
    }
}

/// Ends of a flow of which one has a profile.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The sender and the receiver of the data.
    pub ends: [HostEnd; 2],
    /// The settings without profiles, which gateways take.
    pub written: Transport,
}

/// One end of a flow.
#[derive(Clone, Debug)]
pub struct HostEnd {
    /// Its profile; `None` for an end with the settings of the flow.
    pub profile: Option<&'static Profile>,
    /// True if the profile is that of its node, and not one of the flow.
    pub is_of_node: bool,
    /// Its settings: those of the profile, and over them those of the flow.
    pub transport: Transport,
    /// Its congestion controller.
    pub controller: Specification,
    /// Keys of the profile that the scenario overrides.
    pub overridden: Vec<&'static str>,
    /// Its table `transport` with every default that the language has a word for.
    pub values: Json,
}

/// Records besides totals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Sampling interval of the series; `None` records no series unless `events` is set.
    pub interval: Option<Span>,
    /// Record a row whenever a window, estimate or timer of a flow changes.
    pub events: bool,
    /// Measure the delivery times of all flows. Flows that a gateway splits always have them.
    pub delivery: bool,
}
