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
//! - With congestion control of the outer connection, a packet that leaves the set-up waits for the
//!   window next, in a buffer of its own (`outer`). The packets of the set-up are not part of it.

mod outer;

use std::collections::{BTreeSet, VecDeque};

use link::Priority;
use middlebox::{Message, SetUp, SetUpAction};
use network::{Counted, Ecn, NodeId, NodeReport, Packet};
use quic::Factory;
use scenario::model::{Link, OuterConnection, Scenario, Tunnel};
use scenario::{Routes, routes};
use units::Time;
use wire::IpVersion;

use crate::nodes::Passing;
use crate::topology::number;
use outer::{Departure, Outer};

pub(crate) use outer::Frames;

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

/// A packet that has come out of a tunnel.
type Left<B> = (Time, Packet<Passing<B>>);

/// A tunnel with its packets that wait.
#[derive(Debug)]
struct State<B> {
    tunnel: Tunnel,
    set_up: SetUp,
    /// The ends of the outer connection, if it has congestion control.
    outer: Option<[Outer<Packet<Passing<B>>>; 2]>,
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

impl<B> State<B> {
    /// The earliest timer of the set-up and of the outer connection.
    fn deadline(&self) -> Time
    where
        B: Clone,
    {
        let ends = self.outer.iter().flatten().map(Outer::deadline);
        ends.fold(self.set_up.deadline(), Time::min)
    }
}

/// The ends of the outer connection of a tunnel.
fn connection<T: Clone>(
    ip: IpVersion,
    tunnel: &Tunnel,
    settings: &OuterConnection,
) -> [Outer<T>; 2] {
    let OuterConnection { controller, max_window, buffer, capsules } = settings;
    let factory = Factory::of(controller.clone()).expect("the language refuses all others");
    let headers = ip.header_bytes() + wire::udp::HEADER;
    let largest = tunnel.outer(ip, tunnel.mtu);
    let settings = outer::Settings {
        headers,
        largest,
        max_window: max_window.map_or(u64::MAX, units::Bytes::get),
        buffer: buffer.get(),
        capsules: *capsules,
    };
    [0, 1].map(|_| Outer::new(settings, factory.driver(largest - headers)))
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
#[derive(Debug)]
pub(crate) struct Tunnels<B> {
    states: Vec<State<B>>,
    /// The tunnel of each flow.
    of_flow: Vec<Option<u16>>,
    /// By the key of packets.
    of_key: Vec<OfKey>,
    links: Vec<Link>,
    routes: Option<Routes>,
    ip: IpVersion,
    /// Timers of tunnels with their numbers, and the timer of each tunnel.
    timers: BTreeSet<(Time, usize)>,
    timer_of: Vec<Time>,
    /// Packets that have come out of a tunnel after the one that [`leave`](Self::leave) returned.
    left: VecDeque<Left<B>>,
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
            let outer = tunnel.outer.as_ref();
            let outer = outer.map(|settings| connection(scenario.ip, tunnel, settings));
            State { tunnel: tunnel.clone(), set_up, outer, waiting, counters: Counters::default() }
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
            timers: BTreeSet::new(),
            timer_of: vec![Time::NEVER; scenario.tunnels.len()],
            left: VecDeque::new(),
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

    /// Packets with this key belong to this flow. Returns the keys of the packets outside its
    /// tunnel.
    pub fn identify(&mut self, key: u32, flow: usize) -> Option<[u32; 2]> {
        let tunnel = *self.of_flow.get(flow)?;
        let key = key as usize;
        if self.of_key.len() <= key {
            self.of_key.resize(key + 1, OfKey::default());
        }
        self.of_key[key].tunnel = tunnel;
        tunnel.map(|place| [0, 1].map(|end| self::key(place.into(), end)))
    }

    /// The earliest timer of a tunnel.
    pub fn next_timer(&self) -> Time {
        self.timers.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// When the next of the packets that have come out already goes on; [`Time::NEVER`] for none.
    pub fn next_left(&self) -> Time {
        self.left.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// That packet.
    pub fn take_left(&mut self) -> Option<Left<B>> {
        self.left.pop_front()
    }

    /// The timers of a tunnel may have changed.
    fn look_at_timer(&mut self, place: usize) {
        let at = self.states[place].deadline();
        let before = std::mem::replace(&mut self.timer_of[place], at);
        if before != at {
            self.timers.remove(&(before, place));
            if at != Time::NEVER {
                self.timers.insert((at, place));
            }
        }
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
                let way = (usize::from(ends.0.0), usize::from(ends.1.0));
                let inside = tunnel.inside(self.routes.as_ref()?, &self.links, way);
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
            let packet = self.carried(place, end, packet);
            self.flush(now, place, end);
            return packet;
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

    /// A packet of the outer flow leaves an end; none if it has to wait for the outer connection.
    fn carried(
        &mut self,
        place: usize,
        end: usize,
        packet: Packet<Passing<B>>,
    ) -> Option<Packet<Passing<B>>> {
        let inner = packet.bytes;
        let packet = self.wrapped(place, end, packet);
        let State { outer, counters, .. } = &mut self.states[place];
        if let Some(ends) = outer {
            let bytes = packet.bytes;
            ends[end].push(packet, bytes);
            return None;
        }
        counters.packets += 1;
        counters.inner_bytes += u64::from(inner);
        counters.outer_bytes += u64::from(packet.bytes);
        Some(packet)
    }

    /// Sends what the outer connection of an end lets go.
    fn flush(&mut self, now: Time, place: usize, end: usize) {
        while let Some(ends) = &mut self.states[place].outer
            && let Some(departure) = ends[end].next_packet(now)
        {
            self.depart(place, end, departure);
        }
        self.look_at_timer(place);
    }

    /// A packet of the outer connection leaves.
    fn depart(&mut self, place: usize, end: usize, departure: Departure<Packet<Passing<B>>>) {
        let State { tunnel, counters, .. } = &mut self.states[place];
        let [node, to] = [end, 1 - end].map(|end| NodeId(number(tunnel.ends[end])));
        let Departure { frames, content, bytes, again } = departure;
        counters.outer_bytes += u64::from(bytes);
        let inner = content.as_ref().and_then(|packet| packet.body.inner).filter(|_| !again);
        counters.packets += u64::from(inner.is_some());
        counters.inner_bytes += inner.map_or(0, |inner| u64::from(inner.bytes));
        let is_own = content.as_ref().is_none_or(|packet| packet.body.from == node);
        let mut packet = content.unwrap_or_else(|| Packet {
            body: Passing::of_tunnel(number(place), bytes, node, to),
            flow: key(place, end),
            to,
            bytes,
            priority: Priority::Normal,
            ecn: Ecn::NotCapable,
        });
        packet.bytes = bytes;
        packet.body.frames = Some(Box::new(frames));
        self.out.push(Outgoing { node, packet, is_own });
    }

    /// A packet of the outer flow.
    fn wrapped(
        &mut self,
        place: usize,
        end: usize,
        packet: Packet<Passing<B>>,
    ) -> Packet<Passing<B>> {
        let (ip, key) = (self.ip, key(place, end));
        let tunnel = &self.states[place].tunnel;
        let Packet { mut body, flow, bytes, priority, ecn, .. } = packet;
        let outer = tunnel.outer(ip, bytes);
        body.inner = Some(Inner { tunnel: number(place), to: body.to, flow, bytes, priority, ecn });
        body.to = NodeId(number(tunnel.ends[1 - end]));
        let ecn = if tunnel.settings.copies_ecn() { ecn } else { Ecn::NotCapable };
        let to = body.to;
        Packet { body, flow: key, to, bytes: outer, priority: Priority::Normal, ecn }
    }

    /// A packet has come to a node. If it leaves a tunnel there, it is what it was before, but for
    /// a mark of ECN on its way. None if it has to wait for others before it. Others that it lets
    /// out are those of [`take_left`](Self::take_left).
    pub fn leave(
        &mut self,
        now: Time,
        mut packet: Packet<Passing<B>>,
    ) -> Option<Packet<Passing<B>>> {
        let here = packet.to;
        let Some(inner) = packet.body.inner.filter(|_| packet.body.to == here) else {
            return Some(packet);
        };
        let place = usize::from(inner.tunnel);
        let state = &mut self.states[place];
        let end = usize::from(NodeId(number(state.tunnel.ends[1])) == here);
        if state.set_up.on_arrival(end) {
            self.release(now, place, end);
        }
        let Some(frames) = packet.body.frames.take() else { return Some(unwrapped(packet, inner)) };
        let mut out = self.on_frames(now, (place, end), &frames, Some(packet)).into_iter();
        let first = out.next();
        self.left.extend(out.map(|packet| (now, packet)));
        first
    }

    /// A packet without content has come to an end of the outer connection.
    pub fn on_frames_alone(&mut self, now: Time, here: NodeId, tunnel: u16, frames: &Frames) {
        let place = usize::from(tunnel);
        let end = usize::from(NodeId(number(self.states[place].tunnel.ends[1])) == here);
        self.on_frames(now, (place, end), frames, None);
    }

    /// A packet has come to an end of the outer connection. Returns what comes out.
    fn on_frames(
        &mut self,
        now: Time,
        (place, end): (usize, usize),
        frames: &Frames,
        packet: Option<Packet<Passing<B>>>,
    ) -> Vec<Packet<Passing<B>>> {
        let Some(ends) = &mut self.states[place].outer else { return Vec::new() };
        let out = ends[end].on_packet(now, frames, packet);
        self.flush(now, place, end);
        let inside = out.into_iter().filter_map(|packet| Some((packet.body.inner?, packet)));
        inside.map(|(inner, packet)| unwrapped(packet, inner)).collect()
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
        let Some((_, place)) = self.timers.first().copied() else { return };
        let set_up = &mut self.states[place].set_up;
        if set_up.deadline() <= now {
            let end = set_up.first().unwrap_or(0);
            let flight = set_up.on_deadline(now);
            self.act(now, place, end, SetUpAction::Send(flight));
        }
        for end in [0, 1] {
            if let Some(ends) = &mut self.states[place].outer
                && ends[end].deadline() <= now
            {
                ends[end].on_deadline(now);
                self.flush(now, place, end);
            }
        }
    }

    fn act(&mut self, now: Time, place: usize, end: usize, action: SetUpAction) {
        match action {
            SetUpAction::None => {}
            SetUpAction::Send(flight) => self.send(place, end, flight),
            SetUpAction::Open => self.release(now, place, end),
        }
        self.look_at_timer(place);
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
            if let Some(packet) = self.carried(place, end, packet) {
                self.out.push(Outgoing { node, packet, is_own });
            }
        }
        self.flush(now, place, end);
    }

    /// Counts of each tunnel.
    pub fn reports(&self) -> impl Iterator<Item = NodeReport> {
        let ends = self.states.iter().enumerate().flat_map(|(place, state)| {
            let ends = state.outer.iter().flatten().enumerate();
            ends.map(move |(end, outer)| {
                let place = Counted::TunnelEnd(number(2 * place + end));
                NodeReport { place, counts: outer.counts() }
            })
        });
        let of_tunnels = self.states.iter().enumerate().map(|(place, state)| {
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
        });
        of_tunnels.chain(ends)
    }
}

/// A packet as it was before it entered a tunnel.
fn unwrapped<B>(packet: Packet<Passing<B>>, inner: Inner) -> Packet<Passing<B>> {
    let Packet { mut body, to, ecn, .. } = packet;
    let ecn = if ecn == Ecn::Marked { inner.ecn.marked() } else { inner.ecn };
    (body.inner, body.to) = (None, inner.to);
    let Inner { flow, bytes, priority, .. } = inner;
    Packet { body, flow, to, bytes, priority, ecn }
}

/// The key of the outer packets from an end of a tunnel. Those of connections count from zero.
fn key(place: usize, end: usize) -> u32 {
    // `u32::MAX` is that of messages.
    u32::MAX - 1 - u32::from(number(2 * place + end))
}
