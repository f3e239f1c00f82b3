//! The fast engine.

use link::{Fate, Link, Priority, PushedOut};
use units::Time;

use crate::agenda::Agenda;
use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::lane::LaneReport;
use crate::ring::Ring;
use crate::routes::{Onward, Routes};
use crate::topology::{LaneSpec, Topology};

/// A lane and the packets on their way through it, in the order in which they arrive.
#[derive(Clone, Debug)]
struct Lane<B> {
    packets: Ring<(Time, Packet<B>)>,
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

    /// The first packet of a lane is about to leave it. Returns the next lane on its way, which is
    /// none at its destination.
    #[inline(always)]
    fn leave(&mut self, number: usize) -> Option<Option<usize>> {
        let lane = &mut self.lanes[number];
        let (_, packet) = lane.packets.first()?;
        lane.delivered_packets += 1;
        lane.delivered_bytes += u64::from(packet.bytes);
        match lane.packets.second() {
            Some((next, _)) => self.arrivals.postpone_earliest(*next),
            None => self.arrivals.remove_earliest(),
        }
        Some(self.onward.next(number, packet.to))
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
                self.arrivals.change(number, lane.packets.first().map(|(at, _)| *at));
                let Fate::Arrives(at) = fate else { return };
                at
            }
            Fate::Dropped | Fate::Damaged => return,
        };
        lane.packets.push((at, packet));
        if lane.packets.len() == 1 {
            self.arrivals.insert(number, at);
        }
    }
}

impl<B> Lane<B> {
    fn new(spec: LaneSpec) -> Self {
        Self { packets: Ring::new(), delivered_packets: 0, delivered_bytes: 0, link: spec.link }
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
        self.packets.change_from(behind, |(at, _)| *at = *at - out.earlier);
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
        let next = self.leave(number as usize)?;
        let (_, packet) = self.lanes[number as usize].packets.take_first()?;
        if let Some(next) = next {
            self.enter(at, next, packet);
            return None;
        }
        Some(Delivery { at, packet })
    }

    #[inline]
    fn advance_and_look<R>(&mut self, look: impl FnOnce(Time, &Packet<B>) -> R) -> Option<R>
    where
        B: Copy,
    {
        let (at, number) = self.arrivals.earliest();
        let next = self.leave(number as usize)?;
        let packets = &mut self.lanes[number as usize].packets;
        let (_, packet) = packets.first()?;
        if let Some(next) = next {
            let packet = *packet;
            packets.forget_first();
            self.enter(at, next, packet);
            return None;
        }
        let seen = look(at, packet);
        packets.forget_first();
        Some(seen)
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
