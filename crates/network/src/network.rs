//! The fast engine.
//!
//! A port has an event for the arrival of the first packet on its way. A port whose queue is a
//! discipline has another one for the starts of its transmissions. They have no event each. What
//! has started since is found when something else happens to the port, and at the latest just
//! before its first packet can arrive, so that many are found at once. A port with a link layer
//! (`link_layer`: ARQ or FEC) has up to four more. All other ports pay nothing for it. Where all
//! packets of a port go on to one other port, they have no event between both (`passing`).

mod arq;
mod events;
mod fec;
mod link_layer;
mod passing;
mod port;

use link::{Content, Fate, Part, Queued, Trials};
use units::{Span, Time};
use wire::feedback::Field;

use crate::arrivals::Arrivals;
use crate::compressor::Compressor;
use crate::fabric::{Advance, Delivery, Fabric, NodeId, Packet};
use crate::filter::QueueFilter;
use crate::port::{PortReport, QueueReport};
use crate::router::QueueRouter;
use crate::routes::{NextHop, Routes};
use crate::topology::{PortKind, Topology};
use events::{EventNumbers, PortEvent};
use link_layer::LinkLayer;
use port::Port;

/// A network with at most one event per packet and hop.
#[derive(Clone, Debug)]
pub struct Network<B> {
    routes: Routes,
    next_hop: NextHop,
    ports: Vec<Port<B>>,
    numbers: EventNumbers,
    /// The next event of each kind and port.
    arrivals: Arrivals,
    /// Packets that have entered a port and have not passed to it.
    hops: u64,
}

impl<B: Clone> Network<B> {
    /// An empty network.
    pub fn new(topology: Topology) -> Self {
        let (routes, next_hop) = (Routes::new(&topology), NextHop::new(&topology));
        let ports: Vec<_> = topology.ports.into_iter().map(Port::new).collect();
        let numbers = EventNumbers::new(ports.len());
        let last = ports.iter().map(Port::last_event).max().unwrap_or(PortEvent::Arrival);
        let up_to_last = numbers.up_to(last);
        let arrivals = Arrivals::new(up_to_last, up_to_last);
        Self { routes, next_hop, ports, numbers, arrivals, hops: 0 }
    }

    #[inline(always)]
    fn enter(&mut self, now: Time, number: usize, packet: Packet<B>) {
        self.hops += 1;
        let Packet { bytes, priority, .. } = packet;
        let (port, number, fate) = passing::offer(&mut self.ports, now, number, bytes, priority);
        if let Fate::Arrives(at) = fate {
            port.packets.push((at, packet));
            if port.packets.len() == 1 {
                self.arrivals.insert(number, at);
            }
        } else {
            self.enter_otherwise(now, number, packet, fate);
        }
    }

    /// The first packet that has come out of port `number` enters port `next`: it is copied from
    /// where it was to where it will wait, and to nowhere between.
    #[inline(always)]
    fn pass_first(&mut self, now: Time, number: usize, next: usize)
    where
        B: Copy,
    {
        let Some((_, packet)) = self.ports[number].packets.first() else { return };
        let Packet { bytes, priority, .. } = *packet;
        self.hops += 1;
        let (_, next, fate) = passing::offer(&mut self.ports, now, next, bytes, priority);
        let Ok([from, to]) = self.ports.get_disjoint_mut([number, next]) else {
            unreachable!("a link does not lead to its own start")
        };
        let Some((_, packet)) = from.packets.first() else { return };
        if let Fate::Arrives(at) = fate {
            to.packets.push_with(|| (at, *packet));
            from.packets.forget_first();
            if to.packets.len() == 1 {
                self.arrivals.insert(next, at);
            }
        } else {
            let packet = *packet;
            from.packets.forget_first();
            self.enter_otherwise(now, next, packet, fate);
        }
    }

    /// A packet was offered to a port and does not simply arrive.
    #[inline(never)]
    fn enter_otherwise(&mut self, now: Time, number: usize, mut packet: Packet<B>, fate: Fate) {
        if fate == Fate::Scheduled {
            return self.hold(now, number, packet);
        }
        let port = &mut self.ports[number];
        let fate = port.reconsider(now, packet.bytes, packet.priority, fate, |first| {
            self.arrivals.change(number, first);
        });
        let at = match fate {
            Fate::Arrives(at) => at,
            Fate::Marked(at) => {
                packet.ecn = packet.ecn.marked();
                at
            }
            _ => return,
        };
        port.packets.push((at, packet));
        if port.packets.len() == 1 {
            self.arrivals.insert(number, at);
        }
    }

    /// A packet enters the queue of a discipline.
    #[inline(always)]
    fn hold(&mut self, now: Time, number: usize, packet: Packet<B>) {
        self.catch_up(now, number);
        let port = &mut self.ports[number];
        let Packet { flow, bytes, priority, ecn, .. } = packet;
        let ticket = port.held.hold(packet);
        let bytes = u32::from(bytes);
        let queued = Queued { ticket, flow, bytes, unframed: bytes, priority, ecn, since: now };
        if port.watchers.is_some() {
            port.enqueue_watched(queued);
        } else {
            port.direction.enqueue(queued);
        }
        if port.link_layer.is_some() {
            self.watch_window(now, number);
        }
        self.follow_change(now, number);
    }

    /// Starts the transmissions of a discipline's port that start by `now`, if nothing has changed
    /// since it was served last.
    fn catch_up(&mut self, now: Time, number: usize) {
        if self.ports[number].direction.next_service() <= now {
            self.serve(now, number);
        }
    }

    /// Something has changed at a discipline's port, which had been served until `now`.
    #[inline(always)]
    fn follow_change(&mut self, now: Time, number: usize) {
        let port = &mut self.ports[number];
        if port.direction.next_service() <= now {
            return self.serve(now, number);
        }
        port.forget_dropped();
        self.plan_service(number);
    }

    /// Starts all transmissions of a discipline's port that start by `now`.
    #[inline(never)]
    fn serve(&mut self, now: Time, number: usize) {
        let port = &mut self.ports[number];
        let was_empty = port.packets.len() == 0;
        if port.direction.sends_packets_only() && port.is_unobserved() {
            while let Some((queued, arrival)) = port.direction.serve_packet(now) {
                if let (Some(packet), Some(at)) = (port.held.take(queued.ticket), arrival) {
                    port.packets.push((at, Packet { ecn: queued.ecn, ..packet }));
                }
            }
        } else {
            self.serve_frames(now, number);
            if self.ports[number].direction.next_service() <= now {
                self.serve_all(now, number);
            }
        }
        let port = &mut self.ports[number];
        port.forget_dropped();
        if was_empty && let Some((at, _)) = port.packets.first() {
            self.arrivals.insert(number, *at);
        } else if port.overtakes {
            self.arrivals.change(number, port.packets.first().map(|(at, _)| *at));
        }
        self.plan_service(number);
    }

    /// The same for all that a discipline's port may send.
    fn serve_all(&mut self, now: Time, number: usize) {
        while let Some(served) = self.ports[number].next_served(now) {
            let arrival = match served.fate {
                Fate::Arrives(at) => Some(at),
                _ => None,
            };
            match served.content {
                Content::Packet(queued) => {
                    let port = &mut self.ports[number];
                    if let (Some(packet), Some(at)) = (port.send(now, queued.ticket), arrival) {
                        port.propagate(at, Packet { ecn: queued.ecn, ..packet });
                    }
                }
                Content::Frame(frame) => {
                    self.ports[number].leave(now, frame.ticket);
                    self.frame_leaves(number, frame, arrival);
                }
                Content::Begins(ticket) => self.ports[number].leave(now, ticket),
                Content::Ends(queued) => {
                    let port = &mut self.ports[number];
                    if let (Some(packet), Some(at)) = (port.held.take(queued.ticket), arrival) {
                        port.propagate(at, Packet { ecn: queued.ecn, ..packet });
                    }
                }
                Content::Repeat(frame) => self.frame_leaves(number, frame, arrival),
                Content::Status => self.status_leaves(number, arrival),
                Content::Coded(frame) => {
                    if let Part::Data { ticket, .. } = frame.part {
                        self.ports[number].leave(now, ticket);
                    }
                    self.coded_leaves(number, frame, arrival);
                }
            }
        }
    }

    /// Enters the event of a port's transmissions, unless it is already there. It stays where it is
    /// if the next transmission moves to a later time. Only a port without slack, for which it
    /// would come too often, moves it.
    #[inline]
    fn plan_service(&mut self, number: usize) {
        let event = self.numbers.of(PortEvent::Service, number);
        let port = &mut self.ports[number];
        let next = port.direction.next_service();
        if port.service == Time::NEVER && next != Time::NEVER {
            port.service = next + port.service_slack;
            self.arrivals.insert(event, port.service);
        } else if port.service_slack == Span::ZERO && port.service != next {
            port.service = next;
            self.arrivals.change(event, (next != Time::NEVER).then_some(next));
        }
    }

    /// The event of the transmissions of port `number` happens. The next one may start later.
    fn service_expires(&mut self, now: Time, number: usize) {
        self.arrivals.follow_earliest(None);
        self.ports[number].service = Time::NEVER;
        self.catch_up(now, number);
        self.plan_service(number);
    }

    /// The next event is no arrival at the end of a port.
    #[inline(never)]
    fn advance_otherwise(&mut self, now: Time, number: usize) {
        let Some((event, port)) = self.numbers.event(number) else {
            return; // Nothing happens any more.
        };
        match event {
            PortEvent::Arrival => {}
            PortEvent::Service => self.service_expires(now, port),
            PortEvent::Frame => match self.ports[port].link_layer.as_deref() {
                Some(LinkLayer::Arq(_)) => self.frame_arrives(now, port),
                Some(LinkLayer::Fec(_)) => self.coded_arrives(now, port),
                None => {}
            },
            PortEvent::Status => self.status_arrives(now, port),
            PortEvent::Timer => self.timer_expires(now, port),
            PortEvent::Hold => self.hold_expires(now, port),
        }
    }

    /// The event of the timer of port `number` happens. The timer itself may have moved on.
    fn timer_expires(&mut self, now: Time, number: usize) {
        self.arrivals.follow_earliest(None);
        if let Some(timer) = self.ports[number].timer() {
            *timer = Time::NEVER;
        }
        self.catch_up(now, number);
        self.ports[number].take_clean_statuses(|at| at <= now);
        if self.ports[number].direction.deadline() <= now {
            self.ports[number].direction.on_timer(now);
            self.follow_change(now, number);
            self.await_status(number);
        }
        self.arm(number);
    }

    /// Enters the timer of port `number`, unless its event is already there: it only moves to later
    /// times.
    fn arm(&mut self, number: usize) {
        let port = &mut self.ports[number];
        if port.timer().is_none_or(|timer| *timer != Time::NEVER) {
            return;
        }
        let deadline = port.direction.deadline();
        if let Some(timer) = port.timer()
            && deadline != Time::NEVER
        {
            *timer = deadline;
            self.arrivals.insert(self.numbers.of(PortEvent::Timer, number), deadline);
        }
    }
}

impl<B: Clone> Fabric<B> for Network<B> {
    fn send(&mut self, now: Time, from: NodeId, packet: Packet<B>) {
        let port = self.routes.out(from, packet.to);
        debug_assert!(!self.is_passed_to(port), "hosts are where they are expected");
        self.enter(now, port, packet);
    }

    /// Not inlined: the endpoint that sends needs the registers for its own state.
    #[inline(never)]
    fn send_copy(&mut self, now: Time, from: NodeId, packet: &Packet<B>)
    where
        B: Copy,
    {
        let port = self.routes.out(from, packet.to);
        debug_assert!(!self.is_passed_to(port), "hosts are where they are expected");
        self.enter(now, port, *packet);
    }

    fn forward(&mut self, now: Time, at: NodeId, packet: Packet<B>) {
        if let Some(port) = self.routes.next(PortKind::Link, at, packet.to) {
            self.enter(now, port, packet);
        }
    }

    fn filter(&mut self, port: usize, filter: Box<dyn QueueFilter<B>>) {
        self.ports[port].watchers.get_or_insert_default().filter = Some(filter);
        self.ports[port].service_slack = Span::ZERO;
    }

    fn route(&mut self, port: usize, router: Box<dyn QueueRouter<B>>) {
        self.ports[port].watchers.get_or_insert_default().router = Some(router);
        self.ports[port].service_slack = Span::ZERO;
    }

    fn set_compressor(&mut self, port: usize, compressor: Box<dyn Compressor<B>>) {
        self.ports[port].compressor = Some(compressor);
        self.ports[port].service_slack = Span::ZERO;
    }

    fn compressor_feedback(&mut self, now: Time, port: usize, message: &Packet<B>) {
        self.catch_up(now, port);
        if let Some(compressor) = &mut self.ports[port].compressor {
            compressor.on_feedback(message);
        }
    }

    fn compressor_counts(&self, port: usize) -> Vec<(&'static str, u64)> {
        self.ports[port].compressor.as_ref().map_or_else(Vec::new, |one| one.counts())
    }

    fn send_through(&mut self, now: Time, port: usize, packet: Packet<B>) {
        self.enter(now, port, packet);
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.arrivals.earliest().0
    }

    #[inline]
    fn advance(&mut self) -> Option<Delivery<B>> {
        let (at, number) = self.arrivals.earliest();
        let Some(port) = self.ports.get_mut(number as usize) else {
            self.advance_otherwise(at, number as usize);
            return None;
        };
        let (_, packet) = port.packets.take_first()?;
        port.delivered.count(packet.bytes);
        self.arrivals.follow_earliest(port.packets.first().map(|(at, _)| *at));
        match self.next_hop.next(number as usize, packet.to) {
            Some(next) => {
                self.enter(at, next, packet);
                None
            }
            None => Some(Delivery { at, packet }),
        }
    }

    /// A packet that passes a node enters the next port here, without a return to the caller.
    #[inline]
    fn advance_and_look<R>(
        &mut self,
        until: Time,
        look: impl FnOnce(Time, &Packet<B>, &Field) -> R,
    ) -> Advance<R>
    where
        B: Copy,
    {
        let mut events = 0;
        loop {
            let (at, event) = self.arrivals.earliest();
            let number = event as usize;
            if let Some(port) = self.ports.get_mut(number) {
                let Some((_, packet)) = port.packets.first() else {
                    return Advance { at, events, seen: None, port: u32::MAX };
                };
                events += 1;
                port.delivered.count(packet.bytes);
                self.arrivals.follow_earliest(port.packets.second().map(|(at, _)| *at));
                let next = if port.is_last { None } else { self.next_hop.next(number, packet.to) };
                let Some(next) = next else {
                    let seen = look(at, packet, &Field::default());
                    port.packets.forget_first();
                    return Advance { at, events, seen: Some(seen), port: event };
                };
                self.pass_first(at, number, next);
            } else {
                events += 1;
                self.advance_otherwise(at, number);
            }
            if self.next_event() > until {
                return Advance { at, events, seen: None, port: u32::MAX };
            }
        }
    }

    fn report(&mut self, now: Time) -> Vec<PortReport> {
        for number in 0..self.ports.len() {
            if self.ports[number].direction.is_scheduled() {
                self.serve(now, number);
            }
        }
        let report = |port: &mut Port<B>| {
            let (waiting_packets, waiting_bytes) = port.direction.waiting(now);
            PortReport {
                delivered_packets: port.delivered.packets,
                delivered_bytes: port.delivered.bytes,
                counters: port.counters(now),
                busy: port.direction.busy_until(now),
                waiting_packets,
                waiting_bytes,
                filtered_packets: port.watchers.as_ref().map_or(0, |all| all.filtered_packets),
                feedback: port.router().map(QueueRouter::counters),
            }
        };
        let mut reports: Vec<_> = self.ports.iter_mut().map(report).collect();
        for (number, to_come) in self.to_come() {
            reports[number].delivered_packets -= to_come.packets;
            reports[number].delivered_bytes -= to_come.bytes;
        }
        reports
    }

    fn trials(&self) -> Option<Vec<(u64, Trials)>> {
        let numbered = (0..).zip(&self.ports);
        Some(numbered.filter_map(|(n, port)| Some((n, port.direction.trials()?))).collect())
    }

    fn next_corrupted(&self, port: usize, from: Time) -> Time {
        self.ports[port].direction.next_corrupted(from)
    }

    fn queue_reports(&mut self, now: Time) -> Vec<QueueReport> {
        let reports = self.report(now);
        let ports = self.ports.iter_mut().zip(&reports);
        let queue_report = |(port, report): (&mut Port<B>, &PortReport)| {
            let rate = port.direction.settings().rate;
            QueueReport::new(port.direction.queueing(now), rate, report)
        };
        ports.map(queue_report).collect()
    }

    fn expect_only(&mut self, ways: &[[NodeId; 2]]) {
        self.find_passing(ways);
    }

    fn settle(&mut self, until: Time, before: u32) {
        self.count_passed(until, before);
    }

    fn settled(&self) -> u64 {
        let passed = self
            .to_come()
            .map(|(number, to_come)| self.ports[number].delivered.packets - to_come.packets);
        passed.sum()
    }

    fn hops(&self) -> u64 {
        self.hops + self.settled()
    }
}
