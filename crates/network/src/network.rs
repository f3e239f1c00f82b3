//! The fast engine.

use std::collections::VecDeque;

use link::{Fate, Link, PushedOut};
use units::Time;

use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::lane::LaneReport;
use crate::routes::Routes;
use crate::topology::{LaneKind, LaneSpec, Topology};
use crate::tournament::Tournament;

/// A lane and the packets on their way through it, in the order in which they arrive.
#[derive(Clone, Debug)]
struct Lane<B> {
    to: NodeId,
    kind: LaneKind,
    packets: VecDeque<(Time, Packet<B>)>,
    delivered_packets: u64,
    delivered_bytes: u64,
    link: Link,
}

/// A network with one event per packet and hop.
#[derive(Clone, Debug)]
pub struct Network<B> {
    routes: Routes,
    lanes: Vec<Lane<B>>,
    /// For each lane, the arrival of its first packet.
    arrivals: Tournament,
    hops: u64,
}

impl<B> Network<B> {
    /// An empty network.
    pub fn new(topology: Topology) -> Self {
        let routes = Routes::new(&topology);
        let lanes: Vec<_> = topology.lanes.into_iter().map(Lane::new).collect();
        let arrivals = Tournament::new(lanes.len());
        Self { routes, lanes, arrivals, hops: 0 }
    }

    #[inline]
    fn enter(&mut self, now: Time, number: usize, mut packet: Packet<B>) {
        self.hops += 1;
        let lane = &mut self.lanes[number];
        if lane.link.marks(now) {
            packet.ecn = packet.ecn.marked();
        }
        // Here and not only inside `offer`, so that the fate of most packets stays in registers.
        if lane.link.is_changing() {
            return self.enter_changing(now, number, packet);
        }
        match lane.link.offer(now, u32::from(packet.bytes), packet.priority) {
            Fate::Arrives(at) => self.carry(number, at, packet),
            Fate::PushesOut => self.enter_in_place_of_others(now, number, packet),
            Fate::Dropped | Fate::Damaged => {}
        }
    }

    /// A packet is on its way through a lane.
    #[inline(always)]
    fn carry(&mut self, number: usize, at: Time, packet: Packet<B>) {
        let lane = &mut self.lanes[number];
        lane.packets.push_back((at, packet));
        if lane.packets.len() == 1 {
            self.arrivals.set(number, at);
        }
    }

    /// The links that change push nothing out.
    #[cold]
    #[inline(never)]
    fn enter_changing(&mut self, now: Time, number: usize, packet: Packet<B>) {
        let link = &mut self.lanes[number].link;
        if let Fate::Arrives(at) = link.offer(now, u32::from(packet.bytes), packet.priority) {
            self.carry(number, at, packet);
        }
    }

    /// Pushes out of a queue what has to make room for a packet, which then enters.
    #[cold]
    #[inline(never)]
    fn enter_in_place_of_others(&mut self, now: Time, number: usize, packet: Packet<B>) {
        let lane = &mut self.lanes[number];
        let bytes = u32::from(packet.bytes);
        while let Some(out) = lane.link.push_out(bytes) {
            lane.push_out(out);
        }
        if let Fate::Arrives(at) = lane.link.offer(now, bytes, packet.priority) {
            lane.packets.push_back((at, packet));
        }
        let first = lane.packets.front().map_or(Time::NEVER, |(at, _)| *at);
        self.arrivals.set(number, first);
    }
}

impl<B> Lane<B> {
    fn new(spec: LaneSpec) -> Self {
        Self {
            to: spec.to,
            kind: spec.kind,
            packets: VecDeque::new(),
            delivered_packets: 0,
            delivered_bytes: 0,
            link: spec.link,
        }
    }

    /// A packet was pushed out of the queue: those behind it arrive earlier.
    fn push_out(&mut self, out: PushedOut) {
        let behind = self.packets.len() - out.behind;
        for (at, _) in self.packets.range_mut(behind..) {
            *at = *at - out.earlier;
        }
        if out.intact {
            self.packets.remove(behind - 1);
        }
    }
}

impl<B> Fabric<B> for Network<B> {
    #[inline]
    fn send(&mut self, now: Time, from: NodeId, packet: Packet<B>) {
        let lane = self.routes.out(from, packet.to);
        self.enter(now, lane, packet);
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.arrivals.earliest().0
    }

    #[inline]
    fn advance(&mut self) -> Option<Delivery<B>> {
        let (at, number) = self.arrivals.earliest();
        let number = number as usize;
        let lane = &mut self.lanes[number];
        let (_, packet) = lane.packets.pop_front()?;
        lane.delivered_packets += 1;
        lane.delivered_bytes += u64::from(packet.bytes);
        let (kind, node) = (lane.kind, lane.to);
        let next = lane.packets.front().map_or(Time::NEVER, |(at, _)| *at);
        self.arrivals.set(number, next);
        match self.routes.next(kind, node, packet.to) {
            Some(next) => {
                self.enter(at, next, packet);
                None
            }
            None => Some(Delivery { at, packet }),
        }
    }

    fn report(&mut self, now: Time) -> Vec<LaneReport> {
        let report = |lane: &mut Lane<B>| {
            let (waiting_packets, waiting_bytes) = lane.link.waiting(now);
            LaneReport {
                delivered_packets: lane.delivered_packets,
                delivered_bytes: lane.delivered_bytes,
                counters: *lane.link.counters(),
                busy: lane.link.busy_until(now),
                waiting_packets,
                waiting_bytes,
            }
        };
        self.lanes.iter_mut().map(report).collect()
    }

    fn hops(&self) -> u64 {
        self.hops
    }
}
