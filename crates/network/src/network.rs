//! The fast engine.

use std::collections::VecDeque;

use link::{Fate, Link, Priority, PushedOut};
use units::Time;

use crate::agenda::Agenda;
use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::lane::LaneReport;
use crate::routes::{Onward, Routes};
use crate::topology::{LaneSpec, Topology};

/// A lane and the packets on their way through it, in the order in which they arrive.
#[derive(Clone, Debug)]
struct Lane<B> {
    packets: VecDeque<(Time, Packet<B>)>,
    delivered_packets: u64,
    delivered_bytes: u64,
    link: Link,
}

/// A network with one event per packet and hop.
#[derive(Clone, Debug)]
pub struct Network<B> {
    routes: Routes,
    onward: Onward,
    lanes: Vec<Lane<B>>,
    /// For each lane that carries packets, the arrival of the first.
    arrivals: Agenda,
    hops: u64,
}

impl<B> Network<B> {
    /// An empty network.
    pub fn new(topology: Topology) -> Self {
        let (routes, onward) = (Routes::new(&topology), Onward::new(&topology));
        let lanes: Vec<_> = topology.lanes.into_iter().map(Lane::new).collect();
        Self { routes, onward, lanes, arrivals: Agenda::new(), hops: 0 }
    }

    /// Inlined, and with one place in which the packet goes on its way: so that it is written where
    /// it will wait, and nowhere before.
    #[inline(always)]
    fn enter(&mut self, now: Time, number: usize, mut packet: Packet<B>) {
        self.hops += 1;
        let lane = &mut self.lanes[number];
        if lane.link.marks(now) {
            packet.ecn = packet.ecn.marked();
        }
        let at = match lane.link.offer(now, u32::from(packet.bytes), packet.priority) {
            Fate::Arrives(at) => at,
            Fate::PushesOut => {
                let fate = lane.offer_in_place_of_others(now, packet.bytes, packet.priority);
                self.arrivals.change(number, lane.packets.front().map(|(at, _)| *at));
                let Fate::Arrives(at) = fate else { return };
                at
            }
            Fate::Dropped | Fate::Damaged => return,
        };
        lane.packets.push_back((at, packet));
        if lane.packets.len() == 1 {
            self.arrivals.insert(number, at);
        }
    }
}

impl<B> Lane<B> {
    fn new(spec: LaneSpec) -> Self {
        Self { packets: VecDeque::new(), delivered_packets: 0, delivered_bytes: 0, link: spec.link }
    }

    /// Pushes out of the queue what has to make room for a packet, which is then offered again.
    #[cold]
    #[inline(never)]
    fn offer_in_place_of_others(&mut self, now: Time, bytes: u16, priority: Priority) -> Fate {
        let bytes = u32::from(bytes);
        while let Some(out) = self.link.push_out(bytes) {
            self.push_out(out);
        }
        self.link.offer(now, bytes, priority)
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
    #[inline(always)]
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
        match lane.packets.front() {
            Some((next, _)) => self.arrivals.postpone_earliest(*next),
            None => self.arrivals.remove_earliest(),
        }
        match self.onward.next(number, packet.to) {
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
