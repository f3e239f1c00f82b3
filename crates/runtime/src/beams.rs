//! A network with beams: the terminals behind their gateways.
//!
//! The network below knows the gateways only. A packet for a terminal goes to the gateway, and from
//! there on the forward carrier. A packet from a terminal takes the return channel, and then the
//! links of its gateway. So both engines meet the same beams at the same instants, and a network
//! without beams pays nothing. Filters, routers and compressors of links are those of the network
//! below ([`of_queue`]).
//!
//! Decisions:
//! - At one instant, packets of the network come before those of beams, and these in the order of
//!   the scenario: what the background does, forward, return.
//! - Terminals in the background have no packets. [`background`] says what they have.
//! - A terminal with a split proxy has the user's host behind it. Both have the number of the
//!   terminal, and [`lan`] carries the packets between them.

mod background;
mod lan;
mod of_queue;
mod series;
mod tables;

use beam::forward::Forward;
use beam::returning::Returning;
use beam::{BeamCounts, BeamReport, Offered};
use link::{Purpose, Seed, Trials};
use middlebox::Visible;
use network::{
    Compressor, Counted, Delivery, Fabric, FlowId, NodeId, NodeReport, Packet, PortReport,
    QueueFilter, QueueReport, QueueRouter,
};
use rand_xoshiro::rand_core::Rng;
use recording::TableDefinition;
use scenario::Scenario;
use scenario::model::Beam;
use units::Time;

use crate::mechanisms::middlebox::filter_at;
use crate::topology::number;
use background::Background;
use lan::Lans;
use of_queue::{OfQueue, inside, outside};

pub use series::BeamSampler;
pub use tables::beam_tables;

/// The tables that beams add to recordings.
pub static BEAM_TABLES: [&[TableDefinition]; 2] = [&tables::DEFINITIONS, &series::DEFINITIONS];

/// Keys above are those of packets outside tunnels.
const KEYS_OF_TUNNELS: u32 = u32::MAX / 2;

/// A packet's content with its destination, on its way to the gateway of that terminal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Onward<B> {
    body: B,
    to: NodeId,
}

/// Contents of a packet or train that crosses a beam.
#[derive(Clone, Debug)]
enum Load<P> {
    /// In a box that is never empty: it moves through several queues, and a pointer is moved in its
    /// place.
    Packet(Box<Option<P>>),
    /// Bytes of a terminal in the background.
    Train(background::Train),
}

/// Takes a packet out of its box, which is kept for another one.
fn unboxed<P>(mut boxed: Box<Option<P>>, spare: &mut Vec<Box<Option<P>>>) -> Option<P> {
    let packet = boxed.take();
    spare.push(boxed);
    packet
}

/// The carriers of a beam.
struct Carriers<B> {
    gateway: NodeId,
    /// Number of the first terminal's node.
    first: u16,
    forward: Forward<Load<Packet<B>>>,
    back: Returning<Load<Packet<B>>>,
    background: Option<Background>,
    /// The class of each flow of the scenario; empty without classes.
    of_flows: Vec<u8>,
    /// The class of packets by their key; empty without classes.
    of_keys: Vec<u8>,
    /// The same of packets outside tunnels, whose keys count down from the highest one.
    of_tunnels: Vec<u8>,
    /// The class of all other packets.
    last: u8,
    /// Boxes of packets that have arrived, for those that come.
    spare: Vec<Box<Option<Packet<B>>>>,
}

impl<B> Carriers<B> {
    fn new(scenario: &Scenario, beam: &Beam, (seed, place): (&Seed, u64)) -> Self {
        let flows = scenario.flows.len();
        let members = beam.members();
        let groups: Vec<_> = members.iter().map(|member| member.group).collect();
        let random = seed.stream(Purpose::Access, place);
        // Numbers from the end on are not those of ports.
        let hashes = seed.stream(Purpose::Queue, u64::MAX - place).next_u64();
        let last = beam.classes.len() - 1;
        let last = u8::try_from(last).unwrap_or(u8::MAX);
        let class = |flow| beam.class_of_flows.get(&flow).copied().unwrap_or(last);
        let of_flows = if last == 0 { Vec::new() } else { (0..flows).map(class).collect() };
        Self {
            gateway: NodeId(number(beam.gateway)),
            first: number(beam.terminals.start),
            forward: Forward::new(beam.forward.clone(), &beam.signals(), &members, hashes),
            back: Returning::new(beam.back.clone(), &groups, random),
            background: Background::new(scenario, &beam.background, seed),
            of_flows,
            of_keys: Vec::new(),
            of_tunnels: Vec::new(),
            last,
            spare: Vec::new(),
        }
    }

    /// Packets with a key belong to a flow.
    fn identify(&mut self, key: u32, flow: FlowId) {
        let Some(&class) = self.of_flows.get(flow.0 as usize) else { return };
        let (classes, key) = match key > KEYS_OF_TUNNELS {
            true => (&mut self.of_tunnels, u32::MAX - key),
            false => (&mut self.of_keys, key),
        };
        let key = key as usize;
        if classes.len() <= key {
            classes.resize(key + 1, self.last);
        }
        classes[key] = class;
    }

    /// The class of packets with a key.
    #[inline]
    fn class_of(&self, key: u32) -> u8 {
        let known = self.of_keys.get(key as usize);
        // No packet in a tunnel has the key of a connection.
        let known = known.or_else(|| self.of_tunnels.get((u32::MAX - key) as usize));
        known.copied().unwrap_or(self.last)
    }

    /// A packet for a terminal, or of one.
    fn offered(&mut self, terminal: u16, packet: Packet<B>) -> Offered<Load<Packet<B>>> {
        let Packet { flow, bytes, ecn, .. } = packet;
        let class = self.class_of(flow);
        let (terminal, bytes) = (u32::from(terminal - self.first), bytes.into());
        let mut boxed = self.spare.pop().unwrap_or_default();
        *boxed = Some(packet);
        Offered { terminal, class, flow, bytes, packets: 1, ecn, packet: Load::Packet(boxed) }
    }

    fn next_event(&self) -> Time {
        let next = self.forward.next_event().min(self.back.next_event());
        self.background.as_ref().map_or(next, |background| next.min(background.next_event()))
    }
}

/// A network with beams.
pub struct Beams<B> {
    fabric: Box<dyn Fabric<Onward<B>> + Send>,
    beams: Vec<Carriers<B>>,
    /// Number of the first terminal's node, and the beam of each.
    first: u16,
    of_terminals: Vec<u16>,
    /// The networks behind terminals. Their number is the one after those of the beams.
    lans: Lans<B>,
    /// The next event of a beam, and its number.
    next: (Time, usize),
    hops: u64,
}

impl<B: Visible + 'static> Beams<B> {
    /// The network of a scenario with its beams, in a run with `seed`; `fabric` is empty.
    pub fn new(
        scenario: &Scenario,
        seed: &Seed,
        fabric: Box<dyn Fabric<Onward<B>> + Send>,
    ) -> Self {
        let beams = scenario.beams.iter().zip(0..);
        let beams: Vec<_> =
            beams.map(|(beam, place)| Carriers::new(scenario, beam, (seed, place))).collect();
        let of_terminals = scenario.beams.iter().enumerate();
        let of_terminals = of_terminals
            .flat_map(|(beam, settings)| settings.terminals.clone().map(move |_| number(beam)))
            .collect();
        let (next, first) = ((Time::NEVER, 0), number(scenario.linked_nodes()));
        let lans = Lans::default();
        let mut all = Self { fabric, beams, first, of_terminals, lans, next, hops: 0 };
        all.set_filters(scenario);
        // A background begins by itself.
        all.plan();
        all
    }

    /// Sets the filters of the queues of terminals.
    fn set_filters(&mut self, scenario: &Scenario) {
        for (beam, settings) in self.beams.iter_mut().zip(&scenario.beams) {
            for (terminal, node) in (0..).zip(settings.terminals.clone()) {
                if let Some(filter) = filter_at(scenario, node) {
                    beam.back.set_filter(terminal, Box::new(OfQueue(filter)));
                }
            }
        }
    }

    /// The beam of a node, if it is a terminal.
    #[inline]
    fn beam_of(&self, node: NodeId) -> Option<usize> {
        let terminal = node.0.checked_sub(self.first)?;
        self.of_terminals.get(usize::from(terminal)).map(|beam| usize::from(*beam))
    }

    /// A packet at a node that links join goes on towards its destination.
    #[inline]
    fn pass_on(&mut self, now: Time, node: NodeId, packet: Packet<B>) {
        let at = match self.beam_of(packet.to) {
            Some(beam) if self.beams[beam].gateway == node => {
                return self.enter(now, beam, packet);
            }
            Some(beam) => self.beams[beam].gateway,
            None => packet.to,
        };
        self.fabric.forward(now, node, outside(packet, at));
    }

    /// A packet goes on the forward carrier.
    fn enter(&mut self, now: Time, beam: usize, packet: Packet<B>) {
        self.hops += 1;
        let carriers = &mut self.beams[beam];
        let offered = carriers.offered(packet.to.0, packet);
        carriers.forward.offer(now, offered);
        self.replan(beam);
    }

    /// A packet has joined one of a beam's queues: only the events of this beam may have changed.
    fn replan(&mut self, beam: usize) {
        let event = (self.beams[beam].next_event(), beam);
        if event <= self.next {
            self.next = event;
        } else if self.next.1 == beam {
            self.plan();
        }
    }

    /// Something has changed in a beam.
    fn plan(&mut self) {
        let mut next = (self.lans.next_event(), self.beams.len());
        for (number, beam) in self.beams.iter().enumerate() {
            next = next.min((beam.next_event(), number));
        }
        self.next = next;
    }

    /// Lets the next thing happen in a beam.
    fn advance_beam(&mut self) -> Option<Delivery<B>> {
        let (now, number) = self.next;
        let Some(carriers) = self.beams.get_mut(number) else {
            let packet = self.lans.advance();
            self.plan();
            return packet.map(|packet| Delivery { at: now, packet });
        };
        let gateway = carriers.gateway;
        let Carriers { forward, back, background, spare, .. } = carriers;
        if let Some(background) = background.as_mut().filter(|one| one.next_event() == now) {
            background.advance((forward, back));
            self.plan();
            return None;
        }
        if forward.next_event() == now {
            let arrived = forward.advance();
            let delivery = match arrived.map(|one| (one.at, one.ecn, one.packet)) {
                Some((at, ecn, Load::Packet(boxed))) => {
                    let packet = unboxed(boxed, spare);
                    packet.map(|packet| Delivery { at, packet: Packet { ecn, ..packet } })
                }
                Some((at, _, Load::Train(train))) => {
                    if let Some(background) = background {
                        background.on_terminal(at, train, back);
                    }
                    None
                }
                None => None,
            };
            self.plan();
            return delivery;
        }
        let packet = match back.advance().map(|one| one.packet) {
            Some(Load::Packet(boxed)) => unboxed(boxed, spare),
            Some(Load::Train(train)) => {
                if let Some(background) = background {
                    background.on_gateway(now, train);
                }
                None
            }
            None => None,
        };
        self.plan();
        let packet = packet?;
        if packet.to == gateway {
            return Some(Delivery { at: now, packet });
        }
        self.pass_on(now, gateway, packet);
        None
    }
}

impl<B: Visible + 'static> Fabric<B> for Beams<B> {
    fn send(&mut self, now: Time, from: NodeId, packet: Packet<B>) {
        if let Some(beam) = self.beam_of(from) {
            self.hops += 1;
            if packet.to == from {
                self.lans.send(now, packet);
                return self.plan();
            }
            let carriers = &mut self.beams[beam];
            let offered = carriers.offered(from.0, packet);
            carriers.back.offer(now, offered);
            return self.replan(beam);
        }
        let at = match self.beam_of(packet.to) {
            Some(beam) if self.beams[beam].gateway == from => {
                return self.enter(now, beam, packet);
            }
            Some(beam) => self.beams[beam].gateway,
            None => packet.to,
        };
        self.fabric.send(now, from, outside(packet, at));
    }

    fn forward(&mut self, now: Time, at: NodeId, packet: Packet<B>) {
        if self.beam_of(at).is_some() {
            return self.send(now, at, packet);
        }
        self.pass_on(now, at, packet);
    }

    fn filter(&mut self, port: usize, filter: Box<dyn QueueFilter<B>>) {
        self.fabric.filter(port, Box::new(OfQueue(filter)));
    }

    fn route(&mut self, port: usize, router: Box<dyn QueueRouter<B>>) {
        self.fabric.route(port, Box::new(OfQueue(router)));
    }

    fn set_compressor(&mut self, port: usize, compressor: Box<dyn Compressor<B>>) {
        self.fabric.set_compressor(port, Box::new(OfQueue(compressor)));
    }

    fn compressor_feedback(&mut self, now: Time, port: usize, message: &Packet<B>) {
        let message = message.clone();
        let at = message.to;
        self.fabric.compressor_feedback(now, port, &outside(message, at));
    }

    fn compressor_counts(&self, port: usize) -> Vec<(&'static str, u64)> {
        self.fabric.compressor_counts(port)
    }

    fn send_through(&mut self, now: Time, port: usize, packet: Packet<B>) {
        let at = packet.to;
        self.fabric.send_through(now, port, outside(packet, at));
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.fabric.next_event().min(self.next.0)
    }

    #[inline]
    fn advance(&mut self) -> Option<Delivery<B>> {
        if self.next.0 < self.fabric.next_event() {
            return self.advance_beam();
        }
        let Delivery { at, packet } = self.fabric.advance()?;
        let here = packet.to;
        let packet = inside(packet);
        match self.beam_of(packet.to) {
            Some(beam) if here == self.beams[beam].gateway => {
                self.enter(at, beam, packet);
                None
            }
            _ => Some(Delivery { at, packet }),
        }
    }

    fn trials(&self) -> Option<Vec<(u64, Trials)>> {
        self.fabric.trials()
    }

    fn next_corrupted(&self, port: usize, from: Time) -> Time {
        self.fabric.next_corrupted(port, from)
    }

    fn report(&mut self, now: Time) -> Vec<PortReport> {
        self.fabric.report(now)
    }

    fn queue_reports(&mut self, now: Time) -> Vec<QueueReport> {
        self.fabric.queue_reports(now)
    }

    fn node_reports(&mut self) -> Vec<NodeReport> {
        let of_terminals = self.beams.iter().flat_map(|beam| {
            let nodes = (beam.first..).map(NodeId);
            nodes.zip(beam.back.filtered()).filter_map(|(node, filtered)| {
                let counts = vec![("filtered", filtered?)];
                Some(NodeReport { place: Counted::Node(node), counts })
            })
        });
        self.fabric.node_reports().into_iter().chain(of_terminals).collect()
    }

    fn identify(&mut self, key: u32, flow: FlowId) {
        self.beams.iter_mut().for_each(|beam| beam.identify(key, flow));
    }

    fn beam_reports(&mut self, now: Time) -> Vec<BeamReport> {
        let report = |one: &Carriers<B>| BeamReport {
            background: one.background.iter().flat_map(Background::reports).cloned().collect(),
            ..BeamReport::of(now, &one.forward, &one.back)
        };
        self.beams.iter().map(report).collect()
    }

    fn beam_counts(&mut self, now: Time) -> Vec<BeamCounts> {
        self.beams.iter().map(|one| BeamCounts::of(now, &one.forward, &one.back)).collect()
    }

    fn hops(&self) -> u64 {
        self.hops + self.fabric.hops()
    }
}
