//! Tunnels in a network: packets that enter and leave, and the messages of a set-up.
//!
//! Between the ends of its tunnel a packet is one of the outer flow: it has the length, the key and
//! the ECN field of an outer packet, and no header of TCP that anyone could read.
//!
//! Decisions:
//! - While a tunnel is set up, each end keeps 128 packets, and discards the oldest first. That is
//!   what WireGuard does (`MAX_STAGED_PACKETS`); for the others it is our choice.
//! - A packet that is longer than the MTU of the tunnel is discarded where it would enter. Only
//!   QUIC sends such packets, as probes for the size of the path.
//! - A message about a packet that is too long for a link outside the tunnel goes back outside it.

use std::collections::VecDeque;

use link::Priority;
use middlebox::{Message, SetUp, SetUpAction};
use network::{Counted, Ecn, NodeId, NodeReport, Packet};
use scenario::model::{Link, Scenario, Tunnel};
use scenario::{Routes, routes};
use units::Time;
use wire::IpVersion;

use crate::nodes::Passing;
use crate::topology::number;

/// Packets that an end keeps while the tunnel is set up.
const MOST_WAITING: usize = 128;

/// A packet before it entered a tunnel, and after it leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Inner {
    tunnel: u16,
    to: NodeId,
    flow: u32,
    bytes: u16,
    priority: Priority,
    ecn: Ecn,
}

/// A message of the set-up of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetUpMessage {
    tunnel: u16,
    message: Message,
}

/// A packet that a node sends on: one of its own if `is_own`, else one that it forwards.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing<B> {
    pub node: NodeId,
    pub packet: Packet<Passing<B>>,
    pub is_own: bool,
}

/// A tunnel with its packets that wait.
#[derive(Clone, Debug)]
struct State<B> {
    tunnel: Tunnel,
    set_up: SetUp,
    /// At each end.
    waiting: [VecDeque<Packet<Passing<B>>>; 2],
    counters: Counters,
}

/// Counters of a tunnel.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    packets: u64,
    inner_bytes: u64,
    outer_bytes: u64,
    set_up_packets: u64,
    discarded_packets: u64,
    too_big_packets: u64,
    /// When both ends could send first, in nanoseconds.
    opened_ns: u64,
}

/// The way of the packets with one key: from and to, and the end at which they enter.
type KnownWay = ((NodeId, NodeId), Option<usize>);

/// Packets with one key.
#[derive(Clone, Copy, Debug, Default)]
struct OfKey {
    tunnel: Option<u16>,
    way: Option<KnownWay>,
}

/// All tunnels of a network.
#[derive(Clone, Debug)]
pub(crate) struct Tunnels<B> {
    states: Vec<State<B>>,
    /// The tunnel of each flow.
    of_flow: Vec<Option<u16>>,
    /// By the key of packets.
    of_key: Vec<OfKey>,
    links: Vec<Link>,
    routes: Option<Routes>,
    ip: IpVersion,
    timer: (Time, usize),
    pub out: Vec<Outgoing<B>>,
}

/// Returns true if a flow has a tunnel.
pub(crate) fn is_in_use(scenario: &Scenario) -> bool {
    !scenario.tunnels.is_empty()
}

impl<B: Clone> Tunnels<B> {
    /// The tunnels of a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let state = |tunnel: &Tunnel| {
            let settings = &tunnel.settings;
            let set_up = SetUp::new(settings.flights(), settings.is_established());
            let waiting = [VecDeque::new(), VecDeque::new()];
            State { tunnel: tunnel.clone(), set_up, waiting, counters: Counters::default() }
        };
        let of_flow = || scenario.flows.iter().map(|flow| flow.tunnel.map(number)).collect();
        let is_used = is_in_use(scenario);
        Self {
            states: scenario.tunnels.iter().map(state).collect(),
            of_flow: if is_used { of_flow() } else { Vec::new() },
            of_key: Vec::new(),
            links: if is_used { scenario.links.clone() } else { Vec::new() },
            routes: is_used.then(|| routes(scenario)),
            ip: scenario.ip,
            timer: (Time::NEVER, 0),
            out: Vec::new(),
        }
    }

    /// Returns true if no flow has a tunnel.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The nodes at which packets enter and leave.
    pub fn ends(&self) -> Vec<NodeId> {
        let ends = self.states.iter().flat_map(|state| state.tunnel.ends);
        ends.map(|end| NodeId(number(end))).collect()
    }

    /// Packets with this key belong to this flow.
    pub fn identify(&mut self, key: u32, flow: usize) {
        if self.is_empty() {
            return;
        }
        let key = key as usize;
        if self.of_key.len() <= key {
            self.of_key.resize(key + 1, OfKey::default());
        }
        self.of_key[key].tunnel = self.of_flow[flow];
    }

    /// The earliest timer of a set-up.
    pub fn next_timer(&self) -> Time {
        self.timer.0
    }

    /// The tunnel that a packet at `node` enters there, and at which end.
    fn entered(&mut self, node: NodeId, packet: &Packet<Passing<B>>) -> Option<(usize, usize)> {
        if packet.body.inner.is_some() || packet.body.is_message() {
            return None;
        }
        let known = self.of_key.get_mut(packet.flow as usize)?;
        let place = usize::from(known.tunnel?);
        let tunnel = &self.states[place].tunnel;
        let ends = (packet.body.from, packet.body.to);
        let (_, enters) = match known.way {
            Some(way) if way.0 == ends => way,
            _ => {
                let [from, to] = [ends.0, ends.1].map(|node| usize::from(node.0));
                let hops = self.routes.as_ref()?.path(from, to, &self.links);
                let inside = tunnel.inside(&self.links, from, &hops);
                *known.way.insert((ends, inside.map(|inside| inside.enters)))
            }
        };
        let end = enters?;
        (NodeId(number(tunnel.ends[end])) == node).then_some((place, end))
    }

    /// A packet goes on from `node`. Returns it, inside its tunnel if it enters that here. None if
    /// it waits for the set-up, whose messages are in `out` then, or is too long.
    pub fn enter(
        &mut self,
        now: Time,
        node: NodeId,
        packet: Packet<Passing<B>>,
    ) -> Option<Packet<Passing<B>>> {
        let Some((place, end)) = self.entered(node, &packet) else { return Some(packet) };
        let state = &mut self.states[place];
        if packet.bytes > state.tunnel.mtu {
            state.counters.too_big_packets += 1;
            return None;
        }
        if state.set_up.is_open(end) {
            return Some(self.wrapped(place, end, packet));
        }
        let waiting = &mut state.waiting[end];
        waiting.push_back(packet);
        if waiting.len() > MOST_WAITING {
            waiting.pop_front();
            state.counters.discarded_packets += 1;
        }
        let action = state.set_up.on_packet(now, end);
        self.act(now, place, end, action);
        None
    }

    /// A packet of the outer flow.
    fn wrapped(
        &mut self,
        place: usize,
        end: usize,
        packet: Packet<Passing<B>>,
    ) -> Packet<Passing<B>> {
        let (ip, key) = (self.ip, key(place, end));
        let State { tunnel, counters, .. } = &mut self.states[place];
        let Packet { mut body, flow, bytes, priority, ecn, .. } = packet;
        let outer = tunnel.outer(ip, bytes);
        counters.packets += 1;
        counters.inner_bytes += u64::from(bytes);
        counters.outer_bytes += u64::from(outer);
        body.inner = Some(Inner { tunnel: number(place), to: body.to, flow, bytes, priority, ecn });
        body.to = NodeId(number(tunnel.ends[1 - end]));
        let ecn = if tunnel.settings.copies_ecn() { ecn } else { Ecn::NotCapable };
        let to = body.to;
        Packet { body, flow: key, to, bytes: outer, priority: Priority::Normal, ecn }
    }

    /// A packet has come to `node`. If it leaves a tunnel there, it is what it was before, but for
    /// a mark of ECN on its way.
    pub fn leave(&mut self, now: Time, mut packet: Packet<Passing<B>>) -> Packet<Passing<B>> {
        let here = packet.to;
        let Some(inner) = packet.body.inner.filter(|_| packet.body.to == here) else {
            return packet;
        };
        let place = usize::from(inner.tunnel);
        let state = &mut self.states[place];
        let end = usize::from(NodeId(number(state.tunnel.ends[1])) == here);
        if state.set_up.on_arrival(end) {
            self.release(now, place, end);
        }
        packet.body.inner = None;
        packet.body.to = inner.to;
        let ecn = if packet.ecn == Ecn::Marked { inner.ecn.marked() } else { inner.ecn };
        let Inner { flow, bytes, priority, .. } = inner;
        Packet { flow, bytes, priority, ecn, ..packet }
    }

    /// A message of a set-up has arrived.
    pub fn on_message(&mut self, now: Time, here: NodeId, message: SetUpMessage) {
        let place = usize::from(message.tunnel);
        let state = &mut self.states[place];
        let end = usize::from(NodeId(number(state.tunnel.ends[1])) == here);
        let action = state.set_up.on_message(now, message.message);
        let answers = state.set_up.is_open(end) && action != SetUpAction::Open;
        self.act(now, place, end, action);
        if answers {
            self.release(now, place, end);
        }
    }

    /// The time of [`next_timer`](Self::next_timer) has come.
    pub fn on_timer(&mut self, now: Time) {
        let (_, place) = self.timer;
        let set_up = &mut self.states[place].set_up;
        let end = set_up.first().unwrap_or(0);
        let flight = set_up.on_deadline(now);
        self.act(now, place, end, SetUpAction::Send(flight));
    }

    fn act(&mut self, now: Time, place: usize, end: usize, action: SetUpAction) {
        match action {
            SetUpAction::None => {}
            SetUpAction::Send(flight) => self.send(place, end, flight),
            SetUpAction::Open => self.release(now, place, end),
        }
        let timers = self.states.iter().map(|state| state.set_up.deadline());
        let earliest = timers.enumerate().map(|(place, at)| (at, place)).min();
        self.timer = earliest.unwrap_or((Time::NEVER, 0));
    }

    /// An end sends the messages of a flight.
    fn send(&mut self, place: usize, end: usize, flight: u8) {
        let State { tunnel, counters, .. } = &mut self.states[place];
        let flights = tunnel.settings.flights();
        let [node, to] = [end, 1 - end].map(|end| NodeId(number(tunnel.ends[end])));
        for part in 0..flights.bytes[usize::from(flight)].len() {
            let message = Message { flight, part: u8::try_from(part).unwrap_or(u8::MAX) };
            let datagram = flights.payload(message) + wire::udp::HEADER;
            let message = SetUpMessage { tunnel: number(place), message };
            let bytes = self.ip.header_bytes() + datagram;
            counters.set_up_packets += 1;
            let packet = Packet {
                body: Passing::of_set_up(message, bytes, node, to),
                flow: key(place, end),
                to,
                bytes,
                priority: Priority::Normal,
                ecn: Ecn::NotCapable,
            };
            self.out.push(Outgoing { node, packet, is_own: true });
        }
    }

    /// An end may send: the packets that have waited go on.
    fn release(&mut self, now: Time, place: usize, end: usize) {
        let state = &mut self.states[place];
        if state.counters.opened_ns == 0 {
            state.counters.opened_ns = now.as_nanos();
        }
        let node = NodeId(number(state.tunnel.ends[end]));
        for packet in std::mem::take(&mut state.waiting[end]) {
            let is_own = packet.body.from == node;
            let packet = self.wrapped(place, end, packet);
            self.out.push(Outgoing { node, packet, is_own });
        }
    }

    /// Counts of each tunnel.
    pub fn reports(&self) -> impl Iterator<Item = NodeReport> {
        self.states.iter().enumerate().map(|(place, state)| {
            // Without `..`, so that a new counter has to stand in the table.
            let Counters {
                packets,
                inner_bytes,
                outer_bytes,
                set_up_packets,
                discarded_packets,
                too_big_packets,
                opened_ns,
            } = state.counters;
            let counts = vec![
                ("packets", packets),
                ("inner_bytes", inner_bytes),
                ("outer_bytes", outer_bytes),
                ("set_up_packets", set_up_packets),
                ("discarded_packets", discarded_packets),
                ("too_big_packets", too_big_packets),
                ("opened_ns", opened_ns),
            ];
            NodeReport { place: Counted::Tunnel(number(place)), counts }
        })
    }
}

/// The key of the outer packets from an end of a tunnel. Those of connections count from zero.
fn key(place: usize, end: usize) -> u32 {
    // `u32::MAX` is that of messages.
    u32::MAX - 1 - u32::from(number(2 * place + end))
}
