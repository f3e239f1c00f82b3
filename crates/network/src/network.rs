//! The fast engine.

use link::{Fate, Link, Priority, PushedOut};
use units::Time;

use crate::arrivals::Arrivals;
use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::lane::LaneReport;
use crate::ring::Ring;
use crate::routes::{Onward, Routes};
use crate::topology::{LaneSpec, Topology};

/// A lane and the packets on their way through it, in the order in which they arrive.
#[derive(Clone, Debug)]
struct Lane<B> {
    packets: Ring<(Time, Packet<B>)>,
    delivered: Delivered,
    link: Link,
}

/// What has come out of a lane.
#[derive(Clone, Copy, Debug, Default)]
struct Delivered {
    packets: u64,
    bytes: u64,
}

impl Delivered {
    #[inline]
    fn count<B>(&mut self, packet: &Packet<B>) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
    }
}

/// A network with one event per packet and hop.
#[derive(Clone, Debug)]
pub struct Network<B> {
    routes: Routes,
    onward: Onward,
    lanes: Vec<Lane<B>>,
    /// For each lane that carries packets, the arrival of the first.
    arrivals: Arrivals,
    hops: u64,
}

impl<B> Network<B> {
    /// An empty network.
    pub fn new(topology: Topology) -> Self {
        let (routes, onward) = (Routes::new(&topology), Onward::new(&topology));
        let lanes: Vec<_> = topology.lanes.into_iter().map(Lane::new).collect();
        let arrivals = Arrivals::new(lanes.len());
        Self { routes, onward, lanes, arrivals, hops: 0 }
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
            fate => {
                let at = lane.reconsider(now, packet.bytes, packet.priority, fate);
                if fate == Fate::PushesOut {
                    self.arrivals.change(number, lane.packets.first().map(|(at, _)| *at));
                }
                let Some(at) = at else { return };
                at
            }
        };
        lane.packets.push((at, packet));
        if lane.packets.len() == 1 {
            self.arrivals.insert(number, at);
        }
    }
}

impl<B> Lane<B> {
    fn new(spec: LaneSpec) -> Self {
        Self { packets: Ring::new(), delivered: Delivered::default(), link: spec.link }
    }

    /// A packet does not pass as most do. Where others have to give way, it is offered again.
    #[cold]
    #[inline(never)]
    fn reconsider(
        &mut self,
        now: Time,
        bytes: u16,
        priority: Priority,
        fate: Fate,
    ) -> Option<Time> {
        if fate != Fate::PushesOut {
            return None;
        }
        while let Some(out) = self.link.push_out(u32::from(bytes)) {
            self.push_out(out);
        }
        match self.link.offer(now, u32::from(bytes), priority) {
            Fate::Arrives(at) => Some(at),
            _ => None,
        }
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
        let lane = &mut self.lanes[number as usize];
        let (_, packet) = lane.packets.take_first()?;
        lane.delivered.count(&packet);
        self.arrivals.follow_earliest(lane.packets.first().map(|(at, _)| *at));
        match self.onward.next(number as usize, packet.to) {
            Some(next) => {
                self.enter(at, next, packet);
                None
            }
            None => Some(Delivery { at, packet }),
        }
    }

    #[inline]
    fn advance_and_look<R>(&mut self, look: impl FnOnce(Time, &Packet<B>) -> R) -> Option<R>
    where
        B: Copy,
    {
        let (at, number) = self.arrivals.earliest();
        let lane = &mut self.lanes[number as usize];
        let (_, packet) = lane.packets.first()?;
        lane.delivered.count(packet);
        self.arrivals.follow_earliest(lane.packets.second().map(|(at, _)| *at));
        if let Some(next) = self.onward.next(number as usize, packet.to) {
            let packet = *packet;
            lane.packets.forget_first();
            self.enter(at, next, packet);
            return None;
        }
        let seen = look(at, packet);
        lane.packets.forget_first();
        Some(seen)
    }

    fn report(&mut self, now: Time) -> Vec<LaneReport> {
        let report = |lane: &mut Lane<B>| {
            let (waiting_packets, waiting_bytes) = lane.link.waiting(now);
            LaneReport {
                delivered_packets: lane.delivered.packets,
                delivered_bytes: lane.delivered.bytes,
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
