//! A network with middleboxes that see the packets that their nodes forward, with feedback fields
//! that routers treat, with header compression on its links, with links that do not take long
//! packets, with tunnels, and with switches.
//!
//! A packet is sent to the first node on its route that has such a middlebox, a decompressor, a
//! gate (the start of a link with an MTU), an end of a tunnel, or a node that a switch names.
//! What comes out there is sent on in the same way. So the engines know nothing of it, a network
//! without them pays nothing, and both engines meet the same state machines at the same instants.
//!
//! A decompressor comes before the end of a tunnel, and that before the middlebox of its node and
//! before a host. Its feedback is a
//! packet of its own, which takes the other direction of the link.
//!
//! The network below may have beams. The middlebox of a terminal is between the beam and the host
//! behind the terminal, and an end of a tunnel there is that host.
//!
//! Decisions:
//! - At one instant, packets that arrive are handled before timers of middleboxes, and these in the
//!   order of their nodes.
//! - The feedback field is next to the content of a packet here, so packets of other networks have
//!   no room for it. Packets that a middlebox makes have an empty field.
//! - The fabric is behind a vtable: only scenarios with middleboxes pay for it, and the loop of the
//!   simulator is compiled once for both engines.
//! - The simulator's loop is compiled a second time for networks with middleboxes. Functions of the
//!   hot path that had one caller before are `inline(always)`, or all networks would pay 5 % more
//!   instructions.

mod devices;
mod whole;

use std::collections::VecDeque;

use beam::{BeamCounts, BeamReport};
use link::{Priority, Seed, Trials};
use middlebox::{Feedback, Visible};
use network::{
    Compressor, Counted, Delivery, Ecn, Fabric, FlowId, NodeId, NodeReport, Packet, PortReport,
    QueueFilter, QueueReport, QueueRouter,
};
use scenario::Scenario;
use units::Time;
use wire::feedback::Field;

use crate::mechanisms::compression::{self, OnLink, Receiver};
use crate::mechanisms::feedback::{self, Routers, set_routers};
use crate::mechanisms::middlebox::{has_devices, set_filters};
use crate::mechanisms::mtu::{self, Gates};
use crate::stops::{Links, Stops};
use crate::switches::{self, Probe, Switches, Via};
use crate::tunnels::{self, Frames, Inner, Outgoing, SetUpMessage, Tunnels};
use devices::Devices;
use whole::{Whole, message};

/// A packet's content with its destination, on its way to the next middlebox.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Passing<B> {
    content: Content<B>,
    pub(crate) to: NodeId,
    /// Node that has sent it, or that has sent the packet of which a middlebox has made it.
    pub(crate) from: NodeId,
    pub(crate) field: Field,
    /// Addition of a compressor, until the end of its link.
    pub(crate) compressed: Option<OnLink>,
    /// The path of a switch that it is on.
    pub(crate) via: Option<Via>,
    /// The packet outside the tunnel that it is in.
    pub(crate) inner: Option<Inner>,
    /// Frames of the outer connection of a tunnel that has congestion control.
    pub(crate) frames: Option<Box<Frames>>,
}

/// Content of a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content<B> {
    Packet(B),
    /// For the compressor of a port.
    Feedback(u16, Feedback),
    /// For the other end of a tunnel.
    SetUp(SetUpMessage, u16),
    /// For the other end of the outer connection of a tunnel: frames alone, with its length.
    Frames(u16, u16),
    /// For the other router of a switch, with its length.
    Probe(Probe, u16),
}

impl<B> Passing<B> {
    /// A packet with an empty field.
    fn new(body: B, from: NodeId, to: NodeId) -> Self {
        Self::of(Content::Packet(body), from, to)
    }

    fn of(content: Content<B>, from: NodeId, to: NodeId) -> Self {
        let field = Field::default();
        Self { content, to, from, field, compressed: None, via: None, inner: None, frames: None }
    }

    /// A message of the set-up of a tunnel, with its length as an IP packet.
    pub(crate) fn of_set_up(message: SetUpMessage, bytes: u16, from: NodeId, to: NodeId) -> Self {
        Self::of(Content::SetUp(message, bytes), from, to)
    }

    /// A packet of the outer connection of a tunnel without content, with its length as an IP
    /// packet.
    pub(crate) fn of_tunnel(tunnel: u16, bytes: u16, from: NodeId, to: NodeId) -> Self {
        Self::of(Content::Frames(tunnel, bytes), from, to)
    }

    /// A probe of a path, with its length as an IP packet.
    pub(crate) fn of_probe(
        probe: Probe,
        bytes: u16,
        (from, to): (NodeId, NodeId),
        via: Via,
    ) -> Self {
        Self { via: Some(via), ..Self::of(Content::Probe(probe, bytes), from, to) }
    }

    /// The destination by which it is routed.
    fn target(&self) -> NodeId {
        self.via.map_or(self.to, |via| via.address)
    }

    /// Returns true if no host has sent it.
    pub(crate) fn is_message(&self) -> bool {
        !matches!(self.content, Content::Packet(_))
    }

    /// The packet, if the nodes on its way can read it.
    fn readable(&self) -> Option<&B> {
        match &self.content {
            Content::Packet(body) if self.inner.is_none() => Some(body),
            _ => None,
        }
    }

    /// For the compressor: the feedback that it carries.
    pub(crate) fn feedback(&self) -> Option<Feedback> {
        match self.content {
            Content::Feedback(_, feedback) => Some(feedback),
            Content::Packet(_) | Content::SetUp(..) | Content::Frames(..) | Content::Probe(..) => {
                None
            }
        }
    }
}

/// Returns true if a scenario needs `Nodes`: a middlebox sees the packets that its node forwards,
/// packets have feedback fields, a link compresses headers or has an MTU, a flow has a tunnel, or
/// the scenario has a switch.
pub fn needs_nodes(scenario: &Scenario) -> bool {
    has_devices(scenario)
        || feedback::is_in_use(scenario)
        || compression::is_in_use(scenario)
        || mtu::is_in_use(scenario)
        || tunnels::is_in_use(scenario)
        || switches::is_in_use(scenario)
}

/// A network with middleboxes at its nodes, feedback fields, header compression on its links, and
/// tunnels.
pub(crate) struct Nodes<B> {
    fabric: Box<dyn Fabric<Passing<B>> + Send>,
    devices: Devices<B>,
    /// The far ends of ports with header compression.
    receivers: Vec<Receiver>,
    /// The starts of ports with an MTU.
    gates: Gates,
    tunnels: Tunnels<B>,
    switches: Switches<B>,
    stops: Stops,
    /// A middlebox is in a terminal of a beam.
    is_in_terminals: bool,
    /// Packets that the middlebox of a terminal has given out for the host behind it.
    for_hosts: VecDeque<(Time, Packet<Passing<B>>)>,
    /// The number of links between nodes; `None` if packets have no feedback field.
    links: Option<Links>,
    /// The field of the packet that was given out last.
    arrived: Field,
}

impl<B: Visible> Nodes<B> {
    /// The network of a scenario with its middleboxes; `fabric` is empty.
    pub fn new(
        scenario: &Scenario,
        mut fabric: Box<dyn Fabric<Passing<B>> + Send>,
        routers: Routers,
        seed: &Seed,
    ) -> Self {
        set_filters(scenario, fabric.as_mut());
        set_routers(routers, fabric.as_mut());
        let devices = Devices::new(scenario);
        let gates = Gates::new(scenario);
        let tunnels = Tunnels::new(scenario);
        let switches = Switches::new(scenario, seed);
        let named = switches::named(scenario);
        let nodes: Vec<_> = devices.nodes().chain(tunnels.ends()).chain(named).collect();
        let stops = Stops::new(scenario, &nodes, &gates);
        let receivers = compression::set_compressors(scenario, fabric.as_mut());
        let links = feedback::is_in_use(scenario).then(|| Links::new(scenario));
        let arrived = Field::default();
        let is_in_terminals = devices.nodes().any(|node| stops.is_terminal(node));
        Self {
            fabric,
            devices,
            receivers,
            gates,
            tunnels,
            switches,
            stops,
            is_in_terminals,
            for_hosts: VecDeque::new(),
            links,
            arrived,
        }
    }

    fn stop(&self, from: NodeId, to: NodeId) -> NodeId {
        self.stops.next(from, to)
    }

    /// Sends on what the middlebox of a node has given out. At a terminal, the host behind it sends
    /// and receives.
    fn send_on(&mut self, now: Time, place: usize, out: Vec<Whole<B>>) {
        let node = self.devices.node(place);
        let is_terminal = self.stops.is_terminal(node);
        for Whole(packet) in out {
            match is_terminal {
                false => self.pass_on(now, node, packet),
                true if packet.body.to == node => self.for_hosts.push_back((now, packet)),
                true => self.take_link(now, Outgoing { node, packet, is_own: true }),
            }
        }
    }

    /// The middlebox of a terminal, which sees what passes between the beam and the host behind it.
    /// A terminal with a split proxy has none.
    fn device_before(&self, terminal: NodeId, body: &Passing<B>) -> Option<usize> {
        if !self.stops.is_terminal(terminal) || body.is_message() {
            return None;
        }
        self.devices.at(terminal)
    }

    /// A node forwards a packet towards its destination, unless the next link does not take it.
    fn pass_on(&mut self, now: Time, node: NodeId, packet: Packet<Passing<B>>) {
        self.go_on(now, Outgoing { node, packet, is_own: false });
    }

    /// A packet leaves a node, in its tunnel if that begins there.
    fn go_on(&mut self, now: Time, outgoing: Outgoing<B>) {
        if self.tunnels.is_empty() {
            return match self.is_in_terminals {
                true => self.leave(now, outgoing),
                false => self.take_link(now, outgoing),
            };
        }
        let Outgoing { node, packet, is_own } = outgoing;
        if let Some(packet) = self.tunnels.enter(now, node, packet) {
            self.leave(now, Outgoing { node, packet, is_own });
        }
        self.empty_tunnels(now);
    }

    /// A packet leaves a node, or the host behind a terminal.
    fn leave(&mut self, now: Time, outgoing: Outgoing<B>) {
        match self.device_before(outgoing.node, &outgoing.packet.body) {
            None => self.take_link(now, outgoing),
            Some(place) => {
                let out = self.devices.on_packet(now, place, Whole(outgoing.packet));
                self.send_on(now, place, out);
            }
        }
    }

    /// Sends what the ends of tunnels have given out.
    fn empty_tunnels(&mut self, now: Time) {
        for outgoing in std::mem::take(&mut self.tunnels.out) {
            self.leave(now, outgoing);
        }
    }

    /// A packet takes the next link, unless that does not take it.
    fn take_link(&mut self, now: Time, Outgoing { node, mut packet, is_own }: Outgoing<B>) {
        if !self.switches.is_empty() {
            self.switches.lead(node, &mut packet);
        }
        if !self.admits(now, node, &packet) {
            return;
        }
        let to = self.stop(node, packet.body.target());
        let packet = Packet { to, ..packet };
        if is_own {
            self.fabric.send(now, node, packet);
        } else {
            self.fabric.forward(now, node, packet);
        }
    }

    /// Returns true if the next link takes a packet. If it is too long, its sender gets a message.
    fn admits(&mut self, now: Time, node: NodeId, packet: &Packet<Passing<B>>) -> bool {
        let Some(gate) = self.gates.closed_to(node, packet.body.target(), packet.bytes) else {
            return true;
        };
        let mtu = gate.mtu();
        if let Some(router) = gate.answers()
            && let Some(mut message) = message(packet, router, mtu)
        {
            gate.count_message();
            self.switches.lead(node, &mut message);
            let to = self.stop(node, message.body.target());
            self.fabric.send(now, node, Packet { to, ..message });
        }
        false
    }

    /// A packet has come to the end of a link with header compression. Returns it if its header
    /// could be restored.
    fn restore(&mut self, now: Time, mut packet: Packet<Passing<B>>) -> Option<Packet<Passing<B>>> {
        let Some(on_link) = packet.body.compressed.take() else { return Some(packet) };
        let receiver = self.receivers.iter_mut().find(|one| one.port == on_link.port)?;
        let restored = receiver.decompressor.restore(now, &on_link.coded);
        if let Some(feedback) = restored.feedback {
            let content = Content::Feedback(receiver.port, feedback);
            let body = Passing::of(content, receiver.from, receiver.from);
            let message = Packet {
                body,
                // A flow of its own.
                flow: u32::MAX,
                to: receiver.from,
                bytes: Feedback::BYTES,
                priority: Priority::Normal,
                ecn: Ecn::NotCapable,
            };
            self.fabric.send_through(now, usize::from(receiver.reverse), message);
        }
        packet.bytes = on_link.bytes;
        restored.is_restored.then_some(packet)
    }

    /// A packet in a tunnel has come to a node. Returns it if it goes on now.
    fn come_out(&mut self, at: Time, packet: Packet<Passing<B>>) -> Option<Packet<Passing<B>>> {
        let left = self.tunnels.leave(at, packet);
        self.empty_tunnels(at);
        left
    }

    /// A packet has come to a node, outside of a tunnel that ends there. Returns it if it is for
    /// the host.
    fn arrive(&mut self, at: Time, packet: Packet<Passing<B>>) -> Option<Delivery<B>> {
        let here = packet.to;
        if self.stops.is_at(here, packet.body.to) {
            return self.deliver(at, packet);
        }
        let Some(place) = self.devices.at(here) else {
            self.pass_on(at, here, packet);
            return None;
        };
        let out = self.devices.on_packet(at, place, Whole(packet));
        self.send_on(at, place, out);
        None
    }

    /// A packet is at its destination. Inline, for it has one caller. Returns it if it is for
    /// the host.
    #[inline(always)]
    fn deliver(&mut self, at: Time, packet: Packet<Passing<B>>) -> Option<Delivery<B>> {
        let here = packet.to;
        match &packet.body.content {
            Content::Feedback(port, _) => {
                self.fabric.compressor_feedback(at, (*port).into(), &packet);
                return None;
            }
            Content::SetUp(message, _) => {
                self.tunnels.on_message(at, here, *message);
                self.empty_tunnels(at);
                return None;
            }
            Content::Frames(tunnel, _) => {
                if let Some(frames) = &packet.body.frames {
                    self.tunnels.on_frames_alone(at, here, *tunnel, frames);
                    self.empty_tunnels(at);
                }
                return None;
            }
            Content::Probe(probe, _) => {
                self.switches.on_probe(at, *probe);
                return None;
            }
            Content::Packet(_) => {}
        }
        let Packet { body, flow, bytes, priority, ecn, .. } = packet;
        let Passing { content, to, field, .. } = body;
        let Content::Packet(body) = content else { return None };
        self.arrived = field;
        Some(Delivery { at, packet: Packet { body, flow, to, bytes, priority, ecn } })
    }
}

impl<B: Visible> Fabric<B> for Nodes<B> {
    fn send(&mut self, now: Time, from: NodeId, packet: Packet<B>) {
        self.send_with(now, from, packet, Field::default());
    }

    fn has_fields(&self) -> bool {
        self.links.is_some()
    }

    fn has_more_for_hosts(&self) -> bool {
        self.has_fields() || !self.gates.is_empty()
    }

    fn send_with(&mut self, now: Time, from: NodeId, packet: Packet<B>, mut field: Field) {
        let Packet { body, flow, to, bytes, priority, ecn } = packet;
        if let (Some(request), Some(links)) = (&mut field.request, &self.links) {
            request.links = links.between(from, to);
        }
        let body = Passing { field, ..Passing::new(body, from, to) };
        let packet = Packet { body, flow, to, bytes, priority, ecn };
        self.go_on(now, Outgoing { node: from, packet, is_own: true });
    }

    fn identify(&mut self, key: u32, flow: FlowId) {
        let outside = self.tunnels.identify(key, flow.0 as usize);
        for key in [key].into_iter().chain(outside.into_iter().flatten()) {
            self.fabric.identify(key, flow);
        }
    }

    fn forward(&mut self, now: Time, at: NodeId, packet: Packet<B>) {
        let Packet { body, flow, to, bytes, priority, ecn } = packet;
        let body = Passing::new(body, at, to);
        self.pass_on(now, at, Packet { body, flow, to, bytes, priority, ecn });
    }

    fn arrived_field(&self) -> Field {
        self.arrived
    }

    fn route(&mut self, _: usize, _: Box<dyn QueueRouter<B>>) {
        unreachable!("the routers of a scenario are set by `new`");
    }

    fn filter(&mut self, _: usize, _: Box<dyn QueueFilter<B>>) {
        unreachable!("the filters of a scenario are set by `new`");
    }

    fn set_compressor(&mut self, _: usize, _: Box<dyn Compressor<B>>) {
        unreachable!("the compressors of a scenario are set by `new`");
    }

    fn compressor_feedback(&mut self, _: Time, _: usize, _: &Packet<B>) {
        unreachable!("a compressor of a scenario gets its feedback in `advance`");
    }

    fn compressor_counts(&self, port: usize) -> Vec<(&'static str, u64)> {
        self.fabric.compressor_counts(port)
    }

    fn send_through(&mut self, now: Time, port: usize, packet: Packet<B>) {
        let Packet { body, flow, to, bytes, priority, ecn } = packet;
        // No host has sent it, so no message says that it is too long.
        let body = Passing::new(body, to, to);
        self.fabric.send_through(now, port, Packet { body, flow, to, bytes, priority, ecn });
    }

    fn next_event(&self) -> Time {
        let of_tunnels = self.tunnels.next_timer().min(self.tunnels.next_left());
        let of_hosts = self.for_hosts.front().map_or(Time::NEVER, |(at, _)| *at);
        let of_others = of_tunnels.min(self.switches.next_timer()).min(of_hosts);
        self.fabric.next_event().min(self.devices.next_timer()).min(of_others)
    }

    fn advance(&mut self) -> Option<Delivery<B>> {
        if let Some((at, packet)) = self.for_hosts.pop_front() {
            let packet = match packet.body.inner {
                Some(_) => self.come_out(at, packet)?,
                None => packet,
            };
            return self.arrive(at, packet);
        }
        if let Some((at, packet)) = self.tunnels.take_left() {
            return self.arrive(at, packet);
        }
        let (timer, set_up) = (self.devices.next_timer(), self.tunnels.next_timer());
        let switch = self.switches.next_timer();
        if switch < set_up.min(timer).min(self.fabric.next_event()) {
            self.switches.on_timer(switch);
            for outgoing in std::mem::take(&mut self.switches.out) {
                self.take_link(switch, outgoing);
            }
            return None;
        }
        if set_up < timer.min(self.fabric.next_event()) {
            self.tunnels.on_timer(set_up);
            self.empty_tunnels(set_up);
            return None;
        }
        if timer < self.fabric.next_event() {
            if let Some((place, out)) = self.devices.on_timer(timer) {
                self.send_on(timer, place, out);
            }
            return None;
        }
        let Delivery { at, packet } = self.fabric.advance()?;
        let mut packet = self.restore(at, packet)?;
        if let Some(via) = packet.body.via
            && (packet.to == via.address || packet.to == via.node)
        {
            (packet.to, packet.body.via) = (via.node, None);
        }
        if self.is_in_terminals
            && let Some(place) = self.device_before(packet.to, &packet.body)
        {
            let out = self.devices.on_packet(at, place, Whole(packet));
            self.send_on(at, place, out);
            return None;
        }
        if packet.body.inner.is_some() {
            packet = self.come_out(at, packet)?;
        }
        self.arrive(at, packet)
    }

    fn report(&mut self, now: Time) -> Vec<PortReport> {
        self.fabric.report(now)
    }

    fn trials(&self) -> Option<Vec<(u64, Trials)>> {
        self.fabric.trials()
    }

    fn next_corrupted(&self, port: usize, from: Time) -> Time {
        self.fabric.next_corrupted(port, from)
    }

    fn queue_reports(&mut self, now: Time) -> Vec<QueueReport> {
        self.fabric.queue_reports(now)
    }

    fn node_reports(&mut self) -> Vec<NodeReport> {
        let of_link = |receiver: &Receiver| {
            let mut counts = self.fabric.compressor_counts(receiver.port.into());
            counts.extend(receiver.counts());
            NodeReport { place: Counted::Port(receiver.port), counts }
        };
        let of_links = self.receivers.iter().map(of_link);
        let of_nodes = self.devices.reports().chain(of_links).chain(self.gates.reports());
        let of_nodes = of_nodes.chain(self.tunnels.reports()).chain(self.switches.reports());
        let of_nodes: Vec<_> = of_nodes.collect();
        of_nodes.into_iter().chain(self.fabric.node_reports()).collect()
    }

    fn beam_reports(&mut self, now: Time) -> Vec<BeamReport> {
        self.fabric.beam_reports(now)
    }

    fn beam_counts(&mut self, now: Time) -> Vec<BeamCounts> {
        self.fabric.beam_counts(now)
    }

    fn hops(&self) -> u64 {
        self.fabric.hops()
    }
}
