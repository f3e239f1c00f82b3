//! The fast engine.
//!
//! A port whose queue is a discipline has a second number in the list of next arrivals, behind those
//! of all ports: the starts of its transmissions. They have no event each. What has started since is found
//! when something else happens to the port, and at the latest just before its first packet can arrive, so
//! that many are found at once. A port with ARQ has three more, for the arrivals of
//! its frames, the arrivals of its status frames, and its timer (`repeats`). A port with FEC has the first
//! and the third of them, and one for the timer at the far end (`coding`). All other ports pay nothing
//! for it.
//!
//! Decisions:
//! - No hop is skipped: collapsing uncontended hops would save a third of the events and make
//!   queues at an instant wrong.

mod coding;
mod repeats;

use link::{Content, Counters, Direction, Fate, Part, Priority, PushedOut, Queued, Served};
use units::{Span, Time};
use wire::feedback::Field;

use crate::arrivals::Arrivals;
use crate::compressor::{Compressor, compress};
use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::filter::QueueFilter;
use crate::held::Held;
use crate::port::{PortReport, QueueReport};
use crate::ring::Ring;
use crate::router::QueueRouter;
use crate::routes::{NextHop, Routes};
use crate::topology::{PortKind, PortSpec, Topology};
use coding::Coding;
use repeats::Repeats;

/// A port and the packets on their way through it, in the order in which they arrive.
#[derive(Clone, Debug)]
struct Port<B> {
    packets: Ring<(Time, Packet<B>)>,
    delivered: Delivered,
    direction: Direction,
    /// Packets in the queue of a discipline, those that ARQ may have to repeat, and those that FEC has not
    /// decided about.
    held: Held<Packet<B>>,
    watchers: Option<Box<Watchers<B>>>,
    compressor: Option<Box<dyn Compressor<B>>>,
    reverse: Option<u16>,
    /// When the event of a discipline's transmissions happens; never, if there is none.
    service: Time,
    /// For how long after its start a transmission of a discipline may stay unserved
    /// ([`Direction::patience`]).
    patience: Span,
    /// ARQ, apart from its sender.
    repeats: Option<Box<Repeats>>,
    /// FEC, apart from its encoder.
    coding: Option<Box<Coding>>,
}

/// The state machines that see the packets of a queue: a filter with what it has taken out, and a router.
#[derive(Clone, Debug)]
struct Watchers<B> {
    filter: Option<Box<dyn QueueFilter<B>>>,
    removed: Vec<u32>,
    filtered_packets: u64,
    router: Option<Box<dyn QueueRouter<B>>>,
}

impl<B> Default for Watchers<B> {
    fn default() -> Self {
        Self { filter: None, removed: Vec::new(), filtered_packets: 0, router: None }
    }
}

/// What has come out of a port.
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
    next_hop: NextHop,
    ports: Vec<Port<B>>,
    /// For each port that carries packets, the arrival of the first.
    arrivals: Arrivals,
    hops: u64,
}

impl<B> Network<B> {
    /// An empty network.
    pub fn new(topology: Topology) -> Self {
        let (routes, next_hop) = (Routes::new(&topology), NextHop::new(&topology));
        let ports: Vec<_> = topology.ports.into_iter().map(Port::new).collect();
        let kinds = match &ports {
            ports if ports.iter().any(|port| port.coding.is_some()) => 1 + coding::HOLDS,
            ports if ports.iter().any(|port| port.repeats.is_some()) => 1 + repeats::TIMERS,
            ports if ports.iter().any(|port| port.direction.is_scheduled()) => 2,
            _ => 1,
        };
        let numbers = ports.len() * kinds;
        let arrivals = Arrivals::new(numbers);
        Self { routes, next_hop, ports, arrivals, hops: 0 }
    }

    /// Inlined, and with one place in which the packet goes on its way: so that it is written where
    /// it will wait, and nowhere before.
    #[inline(always)]
    fn enter(&mut self, now: Time, number: usize, mut packet: Packet<B>) {
        self.hops += 1;
        let port = &mut self.ports[number];
        let at = match port.direction.offer(now, u32::from(packet.bytes), packet.priority) {
            Fate::Arrives(at) => at,
            Fate::Scheduled => return self.hold(now, number, packet),
            fate => {
                let (bytes, priority) = (packet.bytes, packet.priority);
                let fate = port.reconsider(now, bytes, priority, fate, |first| {
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
        port.packets.push((at, packet));
        if port.packets.len() == 1 {
            self.arrivals.insert(number, at);
        }
    }

    /// A packet enters the queue of a discipline.
    #[inline(never)]
    fn hold(&mut self, now: Time, number: usize, packet: Packet<B>) {
        self.catch_up(now, number);
        let port = &mut self.ports[number];
        let Packet { flow, bytes, priority, ecn, .. } = packet;
        let ticket = port.held.hold(packet);
        let bytes = u32::from(bytes);
        let queued = Queued { ticket, flow, bytes, priority, ecn, since: now };
        if port.watchers.is_some() {
            port.enqueue_watched(queued);
        } else {
            port.direction.enqueue(queued);
        }
        if port.repeats.is_some() {
            self.watch_window(now, number);
        }
        self.follow_change(now, number);
    }

    /// Starts the transmissions of a discipline's port that start by `now`, if nothing has changed since it
    /// was served last.
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
        } else if port.direction.settings().reorder {
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

    /// Enters the event of a port's transmissions, unless it is already there. It stays where it is if the
    /// next transmission moves to a later time. Only a port without patience, for which it would come too
    /// often, moves it.
    #[inline]
    fn plan_service(&mut self, number: usize) {
        let (ports, port) = (self.ports.len(), &mut self.ports[number]);
        let next = port.direction.next_service();
        if port.service == Time::NEVER && next != Time::NEVER {
            port.service = next + port.patience;
            self.arrivals.insert(ports + number, port.service);
        } else if port.patience == Span::ZERO && port.service != next {
            port.service = next;
            self.arrivals.change(ports + number, (next != Time::NEVER).then_some(next));
        }
    }

    /// The event of the transmissions of port `number` happens. The next one may start later.
    fn service_expires(&mut self, now: Time, number: usize) {
        self.arrivals.follow_earliest(None);
        self.ports[number].service = Time::NEVER;
        self.catch_up(now, number);
        self.plan_service(number);
    }

    /// What happens next is no arrival at the end of a port.
    #[inline(never)]
    fn advance_otherwise(&mut self, now: Time, event: usize) {
        let ports = self.ports.len();
        match event.checked_div(ports) {
            Some(1) => self.service_expires(now, event % ports),
            Some(repeats::FRAMES) if self.ports[event % ports].coding.is_some() => {
                self.coded_arrives(now, event % ports);
            }
            Some(repeats::FRAMES) => self.frame_arrives(now, event % ports),
            Some(repeats::STATUSES) => self.status_arrives(now, event % ports),
            Some(repeats::TIMERS) => self.timer_expires(now, event % ports),
            Some(coding::HOLDS) => self.hold_expires(now, event % ports),
            // Nothing happens any more.
            _ => {}
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
            self.arrivals.insert(repeats::TIMERS * self.ports.len() + number, deadline);
        }
    }
}

impl<B> Port<B> {
    fn new(spec: PortSpec) -> Self {
        Self {
            packets: Ring::new(),
            delivered: Delivered::default(),
            held: Held::new(),
            watchers: None,
            compressor: None,
            repeats: Repeats::of(&spec),
            coding: Coding::of(&spec),
            reverse: spec.reverse,
            service: Time::NEVER,
            patience: spec.direction.patience(),
            direction: spec.direction,
        }
    }

    /// When the event of the timer of ARQ or FEC happens.
    fn timer(&mut self) -> Option<&mut Time> {
        match (&mut self.repeats, &mut self.coding) {
            (Some(repeats), _) => Some(&mut repeats.timer),
            (None, coding) => coding.as_mut().map(|coding| &mut coding.timer),
        }
    }

    /// Whether nothing looks at the packets that leave the queue.
    #[inline]
    fn is_unobserved(&self) -> bool {
        self.watchers.is_none() && self.compressor.is_none()
    }

    /// A packet goes on its way. It overtakes those that arrive later.
    fn propagate(&mut self, at: Time, packet: Packet<B>) {
        self.packets.push((at, packet));
        if self.direction.settings().reorder {
            self.packets.move_last(|(before, _), (at, _)| before > at);
        }
    }

    fn router(&self) -> Option<&dyn QueueRouter<B>> {
        self.watchers.as_ref()?.router.as_deref()
    }

    /// Totals of the direction, those of the far end included.
    fn counters(&mut self, now: Time) -> Counters {
        let counters = self.direction.counters(now);
        let (repeats, coding) = (self.repeats.as_ref(), self.coding.as_ref());
        let arq = counters.arq.and_then(|arq| Some(repeats?.counters(now, arq)));
        let fec = counters.fec.and_then(|fec| Some(coding?.decoder().counters(fec)));
        Counters { arq, fec, ..counters }
    }

    /// Starts the next transmission, if it starts by `now`.
    fn next_served(&mut self, now: Time) -> Option<Served> {
        let Self { direction, held, compressor, .. } = self;
        let Some(compressor) = compressor else { return direction.serve(now) };
        direction.serve_with(now, |start, queued| {
            if let Some(packet) = held.get_mut(queued.ticket) {
                compress(compressor.as_mut(), start, packet, queued);
            }
        })
    }

    /// A packet joins a queue that is watched.
    #[cold]
    #[inline(never)]
    fn enqueue_watched(&mut self, queued: Queued) {
        let (Some(watchers), Some(packet)) = (&mut self.watchers, self.held.get(queued.ticket))
        else {
            return;
        };
        if let Some(router) = &mut watchers.router {
            router.arrive(queued.since, packet);
        }
        if let Some(filter) = &mut watchers.filter {
            filter.join(queued.ticket, packet, &mut watchers.removed);
        }
        while let Some(removed) = watchers.removed.pop() {
            let Some(Packet { flow, .. }) = self.held.take(removed) else { continue };
            let was_there = self.direction.remove(removed, flow);
            debug_assert!(was_there, "a filter removes packets that wait");
            watchers.filtered_packets += 1;
        }
        self.direction.enqueue(queued);
        self.note_queue(queued.since);
    }

    /// Shows the router the queue.
    fn note_queue(&mut self, now: Time) {
        let (_, bytes) = self.direction.waiting(now);
        if let Some(Watchers { router: Some(router), .. }) = self.watchers.as_deref_mut() {
            router.note_queue(bytes);
        }
    }

    /// The transmission of a packet starts, which stays held.
    fn leave(&mut self, now: Time, ticket: u32) {
        if self.watchers.is_some() {
            self.leave_watched(now, ticket);
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_watched(&mut self, now: Time, ticket: u32) {
        let (Some(watchers), Some(packet)) = (&mut self.watchers, self.held.get_mut(ticket)) else {
            return;
        };
        if let Some(filter) = &mut watchers.filter {
            filter.leave(ticket, packet);
        }
        if let Some(router) = &mut watchers.router {
            router.depart(now, packet);
            self.note_queue(now);
        }
    }

    /// The transmission of a packet starts, which goes on its way.
    fn send(&mut self, now: Time, ticket: u32) -> Option<Packet<B>> {
        self.leave(now, ticket);
        self.held.take(ticket)
    }

    /// The queue has dropped packets.
    #[inline]
    fn forget_dropped(&mut self) {
        while let Some(ticket) = self.direction.take_dropped() {
            self.forget(ticket);
        }
    }

    /// The queue has dropped a packet.
    fn forget(&mut self, ticket: u32) {
        let packet = self.held.take(ticket);
        if let (Some(watchers), Some(packet)) = (&mut self.watchers, packet)
            && let Some(filter) = &mut watchers.filter
        {
            filter.leave(ticket, &packet);
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
        let port = self.routes.out(from, packet.to);
        self.enter(now, port, packet);
    }

    fn forward(&mut self, now: Time, at: NodeId, packet: Packet<B>) {
        if let Some(port) = self.routes.next(PortKind::Link, at, packet.to) {
            self.enter(now, port, packet);
        }
    }

    fn filter(&mut self, port: usize, filter: Box<dyn QueueFilter<B>>) {
        self.ports[port].watchers.get_or_insert_default().filter = Some(filter);
        self.ports[port].patience = Span::ZERO;
    }

    fn route(&mut self, port: usize, router: Box<dyn QueueRouter<B>>) {
        self.ports[port].watchers.get_or_insert_default().router = Some(router);
        self.ports[port].patience = Span::ZERO;
    }

    fn set_compressor(&mut self, port: usize, compressor: Box<dyn Compressor<B>>) {
        self.ports[port].compressor = Some(compressor);
        self.ports[port].patience = Span::ZERO;
    }

    fn compressor_feedback(&mut self, now: Time, port: usize, message: &Packet<B>) {
        self.catch_up(now, port);
        if let Some(compressor) = &mut self.ports[port].compressor {
            compressor.on_feedback(message);
        }
    }

    fn compressor(&mut self, port: usize) -> Option<&mut dyn Compressor<B>> {
        match &mut self.ports[port].compressor {
            Some(compressor) => Some(compressor.as_mut()),
            None => None,
        }
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
        port.delivered.count(&packet);
        self.arrivals.follow_earliest(port.packets.first().map(|(at, _)| *at));
        match self.next_hop.next(number as usize, packet.to) {
            Some(next) => {
                self.enter(at, next, packet);
                None
            }
            None => Some(Delivery { at, packet }),
        }
    }

    #[inline]
    fn advance_and_look<R>(&mut self, look: impl FnOnce(Time, &Packet<B>, &Field) -> R) -> Option<R>
    where
        B: Copy,
    {
        let (at, number) = self.arrivals.earliest();
        let Some(port) = self.ports.get_mut(number as usize) else {
            self.advance_otherwise(at, number as usize);
            return None;
        };
        let (_, packet) = port.packets.first()?;
        port.delivered.count(packet);
        self.arrivals.follow_earliest(port.packets.second().map(|(at, _)| *at));
        if let Some(next) = self.next_hop.next(number as usize, packet.to) {
            let packet = *packet;
            port.packets.forget_first();
            self.enter(at, next, packet);
            return None;
        }
        let seen = look(at, packet, &Field::default());
        port.packets.forget_first();
        Some(seen)
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
        self.ports.iter_mut().map(report).collect()
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

    fn hops(&self) -> u64 {
        self.hops
    }
}
