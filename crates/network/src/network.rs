//! The fast engine.
//!
//! A lane whose queue is a discipline has a second number in the list of next arrivals, behind those
//! of all lanes: the starts of its transmissions. All other lanes pay nothing for it.

use link::{Direction, Fate, Priority, PushedOut, Queued};
use units::Time;

use crate::arrivals::Arrivals;
use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::held::Held;
use crate::lane::LaneReport;
use crate::ring::Ring;
use crate::routes::{Onward, Routes};
use crate::topology::{LaneSpec, Topology};

/// A lane and the packets on their way through it, in the order in which they arrive.
#[derive(Clone, Debug)]
struct Lane<B> {
    packets: Ring<(Time, Packet<B>)>,
    delivered: Delivered,
    direction: Direction,
    /// Packets in the queue of a discipline.
    held: Held<Packet<B>>,
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
        let services = lanes.iter().filter(|lane| lane.direction.is_scheduled()).count();
        let numbers = lanes.len() * if services > 0 { 2 } else { 1 };
        let arrivals = Arrivals::new(numbers);
        Self { routes, onward, lanes, arrivals, hops: 0 }
    }

    /// Inlined, and with one place in which the packet goes on its way: so that it is written where
    /// it will wait, and nowhere before.
    #[inline(always)]
    fn enter(&mut self, now: Time, number: usize, mut packet: Packet<B>) {
        self.hops += 1;
        let lane = &mut self.lanes[number];
        let at = match lane.direction.offer(now, u32::from(packet.bytes), packet.priority) {
            Fate::Arrives(at) => at,
            Fate::Scheduled => return self.hold(now, number, packet),
            fate => {
                let (bytes, priority) = (packet.bytes, packet.priority);
                let fate = lane.reconsider(now, bytes, priority, fate, |first| {
                    self.arrivals.change(number, first);
                });
                match fate {
                    Fate::Arrives(at) => at,
                    Fate::Marked(at) => {
                        packet.ecn = packet.ecn.marked();
                        at
                    }
                    _ => return,
                }
            }
        };
        lane.packets.push((at, packet));
        if lane.packets.len() == 1 {
            self.arrivals.insert(number, at);
        }
    }

    /// A packet enters the queue of a discipline.
    #[cold]
    #[inline(never)]
    fn hold(&mut self, now: Time, number: usize, packet: Packet<B>) {
        self.serve(now, number);
        let lane = &mut self.lanes[number];
        let Packet { flow, bytes, priority, ecn, .. } = packet;
        let ticket = lane.held.hold(packet);
        let bytes = u32::from(bytes);
        let flow = flow.0;
        lane.direction.enqueue(Queued { ticket, flow, bytes, priority, ecn, since: now });
        self.serve(now, number);
    }

    /// Starts all transmissions of a discipline's lane that start by `now`.
    #[cold]
    #[inline(never)]
    fn serve(&mut self, now: Time, number: usize) {
        let lane = &mut self.lanes[number];
        let was_empty = lane.packets.len() == 0;
        while let Some(served) = lane.direction.serve(now) {
            let packet = lane.held.take(served.packet.ticket);
            if let (Some(packet), Fate::Arrives(at)) = (packet, served.fate) {
                lane.packets.push((at, Packet { ecn: served.packet.ecn, ..packet }));
            }
        }
        while let Some(ticket) = lane.direction.take_dropped() {
            lane.held.take(ticket);
        }
        if was_empty && let Some((at, _)) = lane.packets.first() {
            self.arrivals.insert(number, *at);
        }
        let next = lane.direction.next_service();
        let service = self.lanes.len() + number;
        self.arrivals.change(service, (next != Time::NEVER).then_some(next));
    }

    /// What happens next is no arrival at the end of a lane: a discipline's lane starts a
    /// transmission.
    #[cold]
    #[inline(never)]
    fn start_transmission(&mut self, now: Time, service: usize) {
        if let Some(number) =
            service.checked_sub(self.lanes.len()).filter(|n| *n < self.lanes.len())
        {
            self.serve(now, number);
        }
    }
}

impl<B> Lane<B> {
    fn new(spec: LaneSpec) -> Self {
        Self {
            packets: Ring::new(),
            delivered: Delivered::default(),
            direction: spec.direction,
            held: Held::new(),
        }
    }

    /// A packet does not pass as most do. Where others have to give way, it is offered again;
    /// `moved` gets the next arrival then.
    #[cold]
    #[inline(never)]
    fn reconsider(
        &mut self,
        now: Time,
        bytes: u16,
        priority: Priority,
        fate: Fate,
        moved: impl FnOnce(Option<Time>),
    ) -> Fate {
        if fate != Fate::PushesOut {
            return fate;
        }
        while let Some(out) = self.direction.push_out(u32::from(bytes)) {
            self.push_out(out);
        }
        moved(self.packets.first().map(|(at, _)| *at));
        self.direction.offer_again(now, u32::from(bytes), priority)
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
        let Some(lane) = self.lanes.get_mut(number as usize) else {
            self.start_transmission(at, number as usize);
            return None;
        };
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
        let Some(lane) = self.lanes.get_mut(number as usize) else {
            self.start_transmission(at, number as usize);
            return None;
        };
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
        for number in 0..self.lanes.len() {
            if self.lanes[number].direction.is_scheduled() {
                self.serve(now, number);
            }
        }
        let report = |lane: &mut Lane<B>| {
            let (waiting_packets, waiting_bytes) = lane.direction.waiting(now);
            LaneReport {
                delivered_packets: lane.delivered.packets,
                delivered_bytes: lane.delivered.bytes,
                counters: lane.direction.counters(now),
                busy: lane.direction.busy_until(now),
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
