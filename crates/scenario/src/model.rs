//! The model of a scenario for all backends: defaults filled in, names resolved, values valid.

use std::sync::Arc;

use congestion::{Specification, Status};
use quic::Congestion;
use transport::Protocol;
use units::{Bytes, Rate, Span};
use wire::IpVersion;

use crate::routes::{Hop, Routes};

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
    /// How much later than written the events of links may happen; zero if they never do. See
    /// [`Scenario::event_delay`].
    pub phase: Span,
    /// Version of the Internet Protocol that all hosts speak.
    pub ip: IpVersion,
    /// The largest 99th percentile of the delay error with which a run on a real kernel is valid.
    pub delay_tolerance: Span,
    /// Nodes; their position is their number.
    pub nodes: Vec<Node>,
    /// Links between nodes.
    pub links: Vec<Link>,
    /// Flows, `count` already spelt out.
    pub flows: Vec<Flow>,
    /// Addresses of hosts besides their own. Destinations are numbered with the nodes first, then these.
    pub addresses: Vec<Address>,
    /// Rates of routes of SCPS-TP.
    pub route_rates: Vec<RouteRate>,
    /// Records besides totals.
    pub record: Record,
}

impl Scenario {
    /// How much later than written all events of links happen in a run with `seed`.
    pub fn event_delay(&self, seed: u64) -> Span {
        link::event_delay(seed, self.phase)
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
        u64::from(self.ip.header_bytes()) + flow.own.lengths(&flow.transport).full
    }

    /// Length of the longest packet of a flow as an IP packet, in bytes.
    pub fn longest_packet_bytes(&self, flow: &Flow) -> u64 {
        u64::from(self.ip.header_bytes()) + flow.own.lengths(&flow.transport).longest
    }

    /// Length of an ACK of a flow without data as an IP packet, in bytes.
    pub fn ack_bytes(&self, flow: &Flow) -> u64 {
        u64::from(self.ip.header_bytes()) + flow.own.lengths(&flow.transport).ack
    }

    /// Bytes of the headers of IP and TCP without options.
    pub fn headers(&self) -> u64 {
        u64::from(self.ip.header_bytes() + wire::tcp::HEADER)
    }
}

/// The rate of a route of SCPS-TP: that of the bucket which connections share whose data takes this hop first.
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
}

/// A split proxy at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// Neighbours of the node on each side, in the order of [`SideName::ALL`].
    pub neighbours: [Vec<usize>; 2],
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
    pub fn side_of(&self, neighbour: usize) -> Option<SideName> {
        SideName::ALL.into_iter().find(|side| self.neighbours[side.index()].contains(&neighbour))
    }
}

/// A gateway that splits the connections of a flow.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Number of the node.
    pub node: usize,
    /// Its ends of connections: towards the node that sends the data, and towards the one that receives
    /// it.
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
    /// Settings that only the protocol of its connections has.
    pub own: OwnSettings,
    /// TCP settings. Of another protocol they describe a TCP that has as much in flight and as many ACKs.
    pub transport: Arc<tcp::Config>,
    /// The maximum pacing rate of one connection, with a bucket of one packet.
    pub pacing: Option<BucketSettings>,
}

impl GatewayEnd {
    /// The protocol of its connections.
    pub fn protocol(&self) -> Protocol {
        self.own.protocol(&self.transport)
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

/// One transport flow.
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
    /// When the application stops, later than `start`; `None` is never.
    pub stop: Option<Span>,
    /// The congestion controller of both ends.
    pub controller: Specification,
    /// The transport protocol.
    pub protocol: Protocol,
    /// Settings that only this protocol has.
    pub own: OwnSettings,
    /// TCP settings of both ends; shared by the flows of one entry. Of another protocol they describe a TCP
    /// that has as much in flight and as many ACKs.
    pub transport: Arc<tcp::Config>,
    /// How fast the applications read; `None` reads at once.
    pub reader_rate: Option<Rate>,
    /// First sequence number of the side that sends the data; the other takes one more.
    pub initial_sequence: u32,
    /// The application.
    pub traffic: Traffic,
    /// Its paths, the primary one first. Empty: it has one, on the routes between its hosts.
    pub paths: Arc<[FlowPath]>,
    /// Gateways that split its connections, in the order in which the data crosses them.
    pub gateways: Arc<[Gateway]>,
}

impl Flow {
    /// Returns true if all its connections are of TCP, or of SCPS-TP, which is one.
    pub fn has_tcp_only(&self) -> bool {
        self.own == OwnSettings::Tcp && self.other_end().is_none()
    }

    /// Returns true if some of its data may be missing at the end.
    pub fn is_best_effort(&self) -> bool {
        self.transport.scps.is_some_and(|scps| scps.best_effort.is_some())
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

    /// Returns true if some of its connections are of QUIC, those between gateways included.
    pub fn has_quic(&self) -> bool {
        let of_gateways = self.gateways.iter().flat_map(|one| &one.ends);
        let mut ends = of_gateways.map(|end| &end.own).chain([&self.own]);
        ends.any(|own| matches!(own, OwnSettings::Quic(_)))
    }

    /// The first end of a gateway with another protocol, and the number of its node.
    pub fn other_end(&self) -> Option<(usize, &GatewayEnd)> {
        let mut ends =
            self.gateways.iter().flat_map(|one| one.ends.iter().map(|end| (one.node, end)));
        ends.find(|(_, end)| end.own != OwnSettings::Tcp)
    }
}

/// Settings that only one transport protocol has.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnSettings {
    /// Those of TCP are in [`Flow::transport`].
    Tcp,
    /// QUIC.
    Quic(Arc<quic::Settings>),
    /// STP.
    Stp(Arc<stp::Config>),
    /// XTP.
    Xtp(Arc<xtp::Config>),
    /// SCTP.
    Sctp(Arc<sctp::Config>),
}

/// Lengths of the packets of an end in bytes, without the header of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// Of most packets that are full of data.
    pub full: u64,
    /// Of the longest.
    pub longest: u64,
    /// Of an acknowledgement without data and without gaps, as a connection with one-way data sends it.
    pub ack: u64,
}

impl OwnSettings {
    /// Lengths of the packets of an end with these settings and those of TCP.
    pub(crate) fn lengths(&self, transport: &tcp::Config) -> Lengths {
        let (full, longest, ack) = match self {
            Self::Tcp => {
                let full = u64::from(transport.mss) + u64::from(wire::tcp::HEADER);
                let options = transport.timestamps_bytes();
                (full, full, u64::from(wire::tcp::HEADER) + u64::from(options))
            }
            Self::Quic(settings) => {
                let full = settings.full_packet();
                (full, full, quic::Settings::ACK)
            }
            Self::Stp(config) => (config.full_packet(), config.longest_packet(), stp::Config::ACK),
            Self::Xtp(config) => {
                let full = config.full_packet() - u64::from(config.ip_header);
                (full, full, xtp::Config::ACK)
            }
            Self::Sctp(config) => {
                let full = config.full_packet();
                (full, full, sctp::Config::ACK)
            }
        };
        Lengths { full, longest, ack }
    }

    /// The protocol of an end with these settings and those of TCP.
    pub fn protocol(&self, transport: &tcp::Config) -> Protocol {
        match self {
            Self::Quic(_) => Protocol::Quic,
            Self::Stp(_) => Protocol::Stp,
            Self::Xtp(_) => Protocol::Xtp,
            Self::Sctp(_) => Protocol::Sctp,
            Self::Tcp if transport.scps.is_some() => Protocol::ScpsTp,
            Self::Tcp => Protocol::Tcp,
        }
    }

    /// Returns true if the controller of the end is one of quinn's own.
    pub fn has_quinns_controller(&self) -> bool {
        matches!(self, Self::Quic(settings) if settings.congestion == Congestion::Quinn)
    }

    /// Confidence that the controller of the end is that of its source.
    pub fn controller_status(&self, controller: &Specification) -> Status {
        match self {
            Self::Quic(_) if self.has_quinns_controller() => Protocol::Quic.entry().status,
            Self::Sctp(_) => Protocol::Sctp.entry().status,
            Self::Xtp(_) => Protocol::Xtp.entry().status,
            Self::Tcp | Self::Quic(_) | Self::Stp(_) => controller.entry().status,
        }
    }
}

/// An application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Traffic {
    /// `to` opens the connection, sends a request and receives `size` bytes from `from`.
    Download {
        /// Bytes to receive.
        size: Bytes,
        /// Bytes of the request; zero sends as soon as the connection stands.
        request: Bytes,
    },
    /// `from` opens the connection and sends.
    Bulk {
        /// Bytes to send; `None` sends until the run ends.
        size: Option<Bytes>,
    },
    /// `to` fetches pages from `from` by HTTP/1.1.
    Web(Web),
    /// `from` opens the connection and writes at a constant rate.
    Constant {
        /// Rate, counted without headers.
        rate: Rate,
        /// Bytes of each write.
        message: Bytes,
    },
    /// `from` opens the connection and writes in bursts.
    OnOff {
        /// Rate during a burst, counted without headers.
        rate: Rate,
        /// Bytes of each write.
        message: Bytes,
        /// When it writes.
        pattern: OnOff,
    },
}

/// Bursts and silences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Mean length of a burst.
    pub on: Span,
    /// Mean length of a silence.
    pub off: Span,
    /// Distribution of both.
    pub distribution: Distribution,
}

impl OnOff {
    /// The share of the time that bursts take in the long run.
    pub fn share(&self) -> f64 {
        self.on.as_secs_f64() / (self.on.as_secs_f64() + self.off.as_secs_f64())
    }
}

/// A distribution of lengths, given their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Exponential.
    Exponential,
    /// Pareto, of this shape.
    Pareto {
        /// Above 1: below it there is no mean.
        shape: f64,
    },
    /// Always the mean.
    Constant,
}

/// Web pages over HTTP/1.1 (RFC 9112), or over streams as with HTTP/3 (RFC 9114).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Web {
    /// Pages to fetch; `None` goes on until the run ends.
    pub pages: Option<u32>,
    /// Time from the start of one page to the start of the next.
    pub interval: Span,
    /// Bytes of the main object.
    pub main_object: Bytes,
    /// Number of embedded objects.
    pub embedded_objects: u32,
    /// Bytes of each embedded object.
    pub embedded_object: Bytes,
    /// Bytes of each request.
    pub request: Bytes,
    /// Parallel connections.
    pub connections: u32,
    /// Send requests without waiting for the response to the one before.
    pub pipelining: bool,
    /// Close a connection that has been idle for so long; `None` keeps it open.
    pub keep_alive: Option<Span>,
}

impl Traffic {
    /// Streams of a connection of QUIC that may have data at the same time.
    pub fn streams(&self) -> u64 {
        match self {
            Self::Web(web) if web.pipelining => {
                let objects = web.embedded_objects.div_ceil(web.connections.max(1));
                u64::from(objects).clamp(1, quic::Settings::OPEN_REQUESTS)
            }
            Self::Web(_)
            | Self::Download { .. }
            | Self::Bulk { .. }
            | Self::Constant { .. }
            | Self::OnOff { .. } => 1,
        }
    }
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
