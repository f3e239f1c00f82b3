//! Hosts: endpoints, their timers, and the packets between them.

mod blueprint;
mod ended;
mod flow_connections;
mod gateways;
mod rates;
mod timers;

use std::collections::BTreeMap;

use congestion::AnyController;
use link::Priority;
use middlebox::Admission;
use network::{Ecn, Fabric, FlowId, NodeId, Packet, Schedule};
use runtime::{End, EndpointId, Ends, Hearer, News, Pair, Side, Signal};
use scenario::Scenario;
use scenario::model::{Node, Proxy};
use tcp::Segment;
use transport::{PathCache, Written};
use units::{Rate, Span, Time};
use wire::feedback::Field;

use crate::observed::{Observed, Observer};
use crate::simulation::Controllers;
use crate::split::Split;
use crate::transports::{Carried, Connection};

pub(crate) use blueprint::{Blueprint, BlueprintEnd};
use ended::EndedSamples;
pub(crate) use flow_connections::FlowConnections;
pub(crate) use gateways::read_by_peer;
pub(crate) use rates::has_rates;
use rates::{Limit, SharedRate};
pub(crate) use timers::Timer;
use timers::{Alarm, READER};

/// Content of a simulated packet: a segment, or a packet of another protocol, for one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body<P = Segment> {
    /// Number of the endpoint that it is for.
    pub endpoint: EndpointId,
    /// The segment or the packet.
    pub packet: P,
}

/// One end of a connection on a host.
#[derive(Debug)]
pub(crate) struct Endpoint<C> {
    pub(crate) connection: C,
    /// Number of delivered bytes at which the application is notified.
    pub(crate) wake_at: u64,
    /// Its entries in the schedule.
    alarm: Alarm,
    node: NodeId,
    peer_node: NodeId,
    /// Length of the IP header of its packets.
    ip_header: u16,
    peer: EndpointId,
    /// The flow that it belongs to.
    pub(crate) flow: FlowId,
    /// State that most endpoints do not have.
    pub(crate) extras: Option<Box<Extras>>,
}

/// State that few endpoints have. It is looked at after each packet that arrives.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// The application when it reads slowly.
    reader: Option<Reader>,
    /// Part of the endpoint in a flow that gateways split.
    pub(crate) part: Part,
    /// Rates that hold back what it sends.
    limit: Option<Limit>,
    /// Its address and that of its peer on each path, if it has several.
    paths: Vec<[NodeId; 2]>,
}

/// The part that an endpoint has in its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// An end of a flow with one leg.
    #[default]
    End,
    /// An end whose connection a packet may end: it is reset, or speaks another protocol than TCP.
    Fragile,
    /// A gateway's end: number of the split connection.
    Gateway(u32),
}

/// An observer, and the end whose packets it is shown.
struct Witness<'a, 'o> {
    observer: &'a mut Observer<'o>,
    end: &'a End,
}

impl<C: Connection> Endpoint<C> {
    /// A packet of IP with its content, for the peer.
    fn packet(&self, packet: C::Packet, priority: Priority) -> Packet<Body<C::Packet>> {
        let mut packet = self.blank(packet, priority);
        self.address(&mut packet);
        packet
    }

    /// A packet for the peer, to which [`address`](Self::address) adds what its content says.
    #[inline(always)]
    fn blank(&self, packet: C::Packet, priority: Priority) -> Packet<Body<C::Packet>> {
        // A connection has one number at each end, so this is its addresses and ports.
        let (endpoint, flow) = (self.peer, self.peer.0);
        let body = Body { endpoint, packet };
        Packet { body, flow, to: self.peer_node, bytes: 0, priority, ecn: Ecn::NotCapable }
    }

    /// Fills in what the header of IP says of the content.
    #[inline(always)]
    fn address(&self, packet: &mut Packet<Body<C::Packet>>) {
        packet.ecn = packet.body.packet.ecn();
        packet.bytes = self.ip_header + packet.body.packet.bytes();
        if C::MAY_BE_OTHERS {
            packet.to = self.addresses(&packet.body.packet)[1];
        }
    }

    /// Its address and that of its peer on the path of a packet.
    fn addresses(&self, packet: &C::Packet) -> [NodeId; 2] {
        let paths = self.extras.as_ref().map_or(&[][..], |extras| &extras.paths);
        let path = usize::from(packet.path());
        paths.get(path).copied().unwrap_or([self.node, self.peer_node])
    }

    /// Returns true if packets to `address` are for its host.
    fn is_at(&self, address: NodeId) -> bool {
        let paths = self.extras.as_ref().map_or(&[][..], |extras| &extras.paths);
        self.node == address || paths.iter().any(|[own, _]| *own == address)
    }

    /// Its part in its flow.
    pub(crate) fn part(&self) -> Part {
        self.extras.as_ref().map_or(Part::End, |extras| extras.part)
    }

    /// Returns true if its application reads slowly.
    pub(crate) fn has_reader(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.reader.is_some())
    }

    /// Shows the observer a packet that is about to be sent.
    #[cold]
    #[inline(never)]
    fn show(&self, now: Time, end: &End, packet: &C::Packet, observer: &mut Observer<'_>) {
        let [source, destination] = self.addresses(packet).map(|address| address.0);
        observer(&Observed {
            at: now,
            node: self.node.0,
            from: self.node.0,
            to: self.peer_node.0,
            source,
            destination,
            connection: end.connection.0,
            by_data_sender: end.side == Side::Sender,
            content: packet.content(),
            is_marked: false,
        });
    }

    /// Sends all that there is to be sent.
    #[inline(never)]
    fn send<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        fabric: &mut F,
        mut witness: Option<Witness<'_, '_>>,
    ) {
        // One place for all packets: each is written here, and copied to where it waits.
        let mut packet = self.blank(C::Packet::default(), Priority::Normal);
        loop {
            let written = self.connection.write_packet(now, &mut packet.body.packet);
            if written == Written::Nothing {
                break;
            }
            if let Some(Witness { observer, end }) = &mut witness {
                self.show(now, end, &packet.body.packet, observer);
            }
            if fabric.has_fields() {
                self.send_with_field(now, packet.body.packet.clone(), fabric);
            } else {
                self.address(&mut packet);
                C::Packet::send(fabric, now, self.node, &mut packet);
            }
            if written == Written::Last {
                break;
            }
        }
        if self.connection.may_have_low_priority() {
            self.send_low_priority(now, fabric, witness);
        }
    }

    /// Sends a packet in a network whose packets have a feedback field.
    #[cold]
    #[inline(never)]
    fn send_with_field<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        packet: C::Packet,
        fabric: &mut F,
    ) {
        let field = self.connection.take_field(&packet);
        fabric.send_with(now, self.node, self.packet(packet, Priority::Normal), field);
    }

    #[cold]
    #[inline(never)]
    fn send_low_priority<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        fabric: &mut F,
        mut witness: Option<Witness<'_, '_>>,
    ) {
        while let Some(packet) = self.connection.next_of_low_priority(now) {
            if let Some(Witness { observer, end }) = &mut witness {
                self.show(now, end, &packet, observer);
            }
            fabric.send(now, self.node, self.packet(packet, Priority::Low));
        }
    }
}

/// An application that reads at a limited rate, a segment at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    rate: Rate,
    /// Bytes of the piece that is being read; zero while there is nothing to read.
    piece: u64,
}

/// Bytes that a slow reader reads at a time: about a segment.
const LARGEST_PIECE: u64 = 1500;

/// All endpoints, and the timers of endpoints and applications.
#[derive(Debug)]
pub(crate) struct Hosts<C: Connection> {
    pub(crate) endpoints: Vec<Endpoint<C>>,
    /// Who is whose peer, in the order of the endpoints.
    pub(crate) ends: Ends,
    timers: Schedule,
    /// Endpoints that an application has acted on and that may now have something to send.
    touched: Vec<EndpointId>,
    /// Connections that gateways split.
    pub(crate) splits: Vec<Split>,
    /// Properties of paths that hosts know from messages of routers.
    paths: PathCache,
    /// Admission at the gateways, by the number of the node; empty without gateways.
    pub(crate) admissions: Vec<Admission<NodeId>>,
    /// Rates that hold back ends: those that they share, and those of single ones.
    rates: Vec<SharedRate>,
    /// For each flow, the rates of its hosts' routes; empty if no route has one.
    host_rates: Vec<[Option<usize>; 2]>,
    /// Servers whose endpoint has moved, because a connection crosses a gateway unsplit.
    moved: BTreeMap<EndpointId, EndpointId>,
    /// A packet that has reached a gateway for an endpoint which has moved meanwhile.
    astray: Option<Packet<Body<C::Packet>>>,
    /// The feedback field of the last packet that had one.
    field: Field,
    ended: EndedSamples,
}

impl<C: Connection> Hosts<C> {
    /// Hosts and gateways of a scenario, without connections.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let has_gateways = scenario.nodes.iter().any(|node| node.proxy.is_some());
        let nodes = scenario.nodes.iter().filter(|_| has_gateways);
        let admission = |node: &Node| {
            let proxy = node.proxy.as_deref();
            proxy.map_or_else(Admission::default, |one: &Proxy| Admission::new(one.policy))
        };
        Self {
            endpoints: Vec::new(),
            ends: Ends::default(),
            timers: Schedule::default(),
            touched: Vec::new(),
            splits: Vec::new(),
            paths: PathCache::default(),
            admissions: nodes.map(admission).collect(),
            rates: rates::of(scenario),
            host_rates: rates::of_hosts(scenario),
            moved: BTreeMap::new(),
            astray: None,
            field: Field::default(),
            ended: EndedSamples::new(scenario),
        }
    }

    /// Makes the two ends of a connection, both closed.
    pub(crate) fn open_pair(
        &mut self,
        flow: FlowId,
        leg: u16,
        blueprint: &Blueprint,
        controllers: Option<&dyn Controllers>,
        initial_sequence: u32,
    ) -> Pair {
        let pair = self.ends.open(flow, leg);
        let number = self.ends.get(pair.sender).connection.0;
        let [first, last] = &*blueprint.ends;
        let ends = [
            (first, blueprint.from, blueprint.to, pair.receiver, 0),
            (last, blueprint.to, blueprint.from, pair.sender, 1),
        ];
        for (end, node, peer_node, peer, offset) in ends {
            let settings = &end.settings;
            let controllers = controllers.filter(|_| end.is_of_flow);
            let foreign = controllers.and_then(|others| others.build(flow.0 as usize, settings));
            let controller = match foreign {
                Some(foreign) => end.controller.hint(AnyController::External(foreign)),
                None => end.controller.build(settings),
            };
            let sequence = initial_sequence.wrapping_add(offset);
            let reader = end.reader_rate.map(|rate| Reader { rate, piece: 0 });
            // A packet may end a connection of another protocol.
            let part = if end.shared.is_tcp() { Part::End } else { Part::Fragile };
            let has_extras = reader.is_some() || part != Part::End;
            let paths = || {
                let ends = blueprint.paths.iter().copied();
                ends.map(|[from, to]| if offset == 0 { [from, to] } else { [to, from] }).collect()
            };
            let only_answers = node == blueprint.to;
            let mut connection = C::new(end, controller, sequence, only_answers);
            connection.identify(flow.0, number);
            if let (Some(known), Some(connection)) =
                (self.paths.get((node.0, peer_node.0)), connection.tcp_mut())
            {
                connection.know_path(known);
            }
            self.endpoints.push(Endpoint {
                connection,
                wake_at: u64::MAX,
                alarm: Alarm::default(),
                node,
                peer_node,
                ip_header: blueprint.ip.header_bytes(),
                peer,
                flow,
                extras: has_extras
                    .then(|| Box::new(Extras { reader, part, limit: None, paths: paths() })),
            });
        }
        pair
    }

    /// An endpoint for an application to act on.
    pub(crate) fn act_on(&mut self, endpoint: EndpointId) -> &mut Endpoint<C> {
        let endpoint = self.located(endpoint);
        self.touched.push(endpoint);
        &mut self.endpoints[endpoint.index()]
    }

    /// A signal of a gateway has arrived. Its ends have something to send.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_signal(&mut self, now: Time, signal: &Signal) {
        let those =
            |end: &End| Hearer { flow: end.flow, leg: end.leg, side: end.side } == signal.hearer;
        let ends = self.ends.iter().filter(|(_, end)| those(end)).map(|(number, _)| number);
        for number in ends {
            let Some(connection) = self.endpoints[number.index()].connection.tcp_mut() else {
                continue;
            };
            match signal.news {
                News::Out => connection.on_link_state(now, true),
                News::Available => connection.on_link_state(now, false),
                News::Corruption => connection.on_corruption(now),
            }
            self.touched.push(number);
        }
    }

    /// Takes in a packet. Returns the number of its endpoint, and whether its reader must be woken.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        now: Time,
        packet: &Packet<Body<C::Packet>>,
    ) -> (EndpointId, bool) {
        let Body { endpoint: number, packet: carried } = &packet.body;
        let endpoint = &mut self.endpoints[number.index()];
        if endpoint.extras.is_some() && !endpoint.is_at(packet.to) {
            self.astray = Some(packet.clone());
            return (*number, true);
        }
        if packet.ecn == Ecn::Marked {
            endpoint.connection.on_marked_packet(now, carried);
        } else {
            endpoint.connection.on_packet(now, carried);
        }
        let wakes =
            endpoint.extras.is_some() || endpoint.connection.delivered() >= endpoint.wake_at;
        (*number, wakes)
    }

    /// Takes in a packet with its feedback field, or the message of a router.
    #[cold]
    #[inline(never)]
    pub(crate) fn receive_more(
        &mut self,
        now: Time,
        packet: &Packet<Body<C::Packet>>,
        field: Option<&Field>,
    ) -> (EndpointId, bool) {
        let Body { endpoint: number, packet: carried } = &packet.body;
        if carried.segment().is_some_and(|segment| segment.reported_mss().is_some()) {
            let received = self.receive(now, packet);
            self.share_path(*number);
            return received;
        }
        if let Some(field) = field {
            self.field = *field;
            self.endpoints[number.index()].connection.on_field(now, field);
        }
        self.receive(now, packet)
    }

    /// A message about the path may have reached an endpoint. What it knows now, the other
    /// connections between the same hosts know too.
    fn share_path(&mut self, number: EndpointId) {
        let Endpoint { connection, node, peer_node, .. } = &self.endpoints[number.index()];
        let (ends, path) = ((*node, *peer_node), (node.0, peer_node.0));
        let known = connection.tcp().and_then(tcp::Connection::known_path);
        let Some(known) = known else { return };
        if !self.paths.learn(path, known) {
            return;
        }
        for (place, other) in self.endpoints.iter_mut().enumerate() {
            let is_other = (other.node, other.peer_node) == ends && place != number.index();
            if is_other && let Some(connection) = other.connection.tcp_mut() {
                connection.know_path(known);
            }
        }
    }

    /// Shows the observer a packet that has arrived.
    #[cold]
    #[inline(never)]
    pub(crate) fn show_received(
        &self,
        now: Time,
        packet: &Packet<Body<C::Packet>>,
        observer: &mut Observer<'_>,
    ) {
        let body = &packet.body;
        let endpoint = &self.endpoints[body.endpoint.index()];
        if !endpoint.is_at(packet.to) {
            return;
        }
        let [destination, source] = endpoint.addresses(&body.packet).map(|address| address.0);
        let sender = self.ends.get(endpoint.peer);
        observer(&Observed {
            at: now,
            node: endpoint.node.0,
            from: endpoint.peer_node.0,
            to: endpoint.node.0,
            source,
            destination,
            connection: sender.connection.0,
            by_data_sender: sender.side == Side::Sender,
            content: body.packet.content(),
            is_marked: packet.ecn == Ecn::Marked,
        });
    }

    /// Sends what `endpoint` has to send, and arms its timer.
    #[inline]
    pub(crate) fn flush<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        number: EndpointId,
        fabric: &mut F,
        observer: Option<&mut Observer<'_>>,
    ) {
        let endpoint = &mut self.endpoints[number.index()];
        if endpoint.connection.may_send() {
            if C::MAY_BE_OTHERS && endpoint.has_rate() {
                self.send_at_rates(now, number, fabric, observer);
                return;
            }
            let end = |observer| Witness { observer, end: self.ends.get(number) };
            endpoint.send(now, fabric, observer.map(end));
        }
        self.arm(now, number);
    }

    /// The slow reader of `endpoint` starts on what has arrived, unless it is reading already.
    pub(crate) fn start_reading(&mut self, now: Time, endpoint: EndpointId) {
        let tag = READER | u64::from(endpoint.0);
        let endpoint = &mut self.endpoints[endpoint.index()];
        let Some(reader) = endpoint.extras.as_mut().and_then(|extras| extras.reader.as_mut())
        else {
            return;
        };
        if reader.piece == 0 && endpoint.connection.unread() > 0 {
            reader.piece = endpoint.connection.unread().min(LARGEST_PIECE);
            let nanos = reader.piece * 8 * 1_000_000_000 / reader.rate.bits_per_second();
            self.timers.push(now + Span::from_nanos(nanos), tag);
        }
    }

    /// The slow reader of `endpoint` has read its piece and goes on to the next.
    pub(crate) fn finish_reading(&mut self, now: Time, number: EndpointId) {
        let endpoint = &mut self.endpoints[number.index()];
        if let Some(reader) = endpoint.extras.as_mut().and_then(|extras| extras.reader.as_mut()) {
            endpoint.connection.read(std::mem::take(&mut reader.piece));
        }
        self.start_reading(now, number);
    }

    /// An endpoint that an application has acted on since the last call.
    #[inline]
    pub(crate) fn take_touched(&mut self) -> Option<EndpointId> {
        self.touched.pop()
    }

    /// The connection that an application knows by this number.
    pub(crate) fn connection(&self, endpoint: EndpointId) -> &C {
        &self.endpoints[self.located(endpoint).index()].connection
    }
}
