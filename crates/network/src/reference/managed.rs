//! The queue of a discipline in the reference engine: asked for the next packet at each end of a
//! transmission.

use std::collections::BTreeMap;

use link::{AqmCounters, Discipline, FeedbackCounters, Framing, Queued, Queueing};
use units::{Span, Time};

use super::repeating::{Next, Repeating};
use super::{Accepted, Kind, Load, ReferenceNetwork, SlowLane};
use crate::compressor::{Compressor, compress};
use crate::fabric::Packet;
use crate::filter::QueueFilter;
use crate::router::QueueRouter;

/// A discipline, and the packets in its queue by their tickets.
#[derive(Clone, Debug)]
pub(super) struct Managed<B> {
    discipline: Box<dyn Discipline>,
    packets: BTreeMap<u32, Packet<B>>,
    next_ticket: u32,
    counters: AqmCounters,
    /// True if its decisions are those of active queue management.
    is_aqm: bool,
    filter: Option<Box<dyn QueueFilter<B>>>,
    filtered: u64,
    router: Option<Box<dyn QueueRouter<B>>>,
    pub compressor: Option<Box<dyn Compressor<B>>>,
}

impl<B: Clone> Managed<B> {
    pub fn new(discipline: Box<dyn Discipline>, is_aqm: bool) -> Self {
        Self {
            discipline,
            packets: BTreeMap::new(),
            next_ticket: 0,
            counters: AqmCounters::default(),
            is_aqm,
            filter: None,
            filtered: 0,
            router: None,
            compressor: None,
        }
    }

    pub fn set_filter(&mut self, filter: Box<dyn QueueFilter<B>>) {
        self.filter = Some(filter);
    }

    pub fn set_router(&mut self, router: Box<dyn QueueRouter<B>>) {
        self.router = Some(router);
    }

    /// Totals of the router.
    pub fn feedback(&self) -> Option<FeedbackCounters> {
        self.router.as_ref().map(|router| router.counters())
    }

    /// Shows the router the queue.
    fn note_queue(&mut self) {
        let (_, bytes) = self.discipline.waiting();
        if let Some(router) = &mut self.router {
            router.note_queue(bytes);
        }
    }

    /// Packets that the filter has taken out.
    pub fn filtered(&self) -> u64 {
        self.filtered
    }

    /// Takes out the packets that a new one replaces. Returns their number.
    fn filter(&mut self, ticket: u32, packet: &Packet<B>) -> u64 {
        let Some(filter) = &mut self.filter else { return 0 };
        let mut removed = Vec::new();
        filter.join(ticket, packet, &mut removed);
        for ticket in &removed {
            let packet = self.packets.remove(ticket).expect("a packet is removed once");
            let queued = self.discipline.remove(*ticket, packet.flow);
            queued.expect("a filter removes packets that wait");
        }
        self.filtered += removed.len() as u64;
        removed.len() as u64
    }

    /// A packet has left the queue.
    fn left(&mut self, ticket: u32) -> Option<Packet<B>> {
        let packet = self.packets.remove(&ticket)?;
        if let Some(filter) = &mut self.filter {
            filter.leave(ticket, &packet);
        }
        Some(packet)
    }

    /// Packets and bytes that wait.
    pub fn waiting(&self) -> (usize, u64) {
        self.discipline.waiting()
    }

    /// Returns true if the next packet is known before its time.
    pub fn is_fifo(&self) -> bool {
        self.discipline.is_fifo()
    }

    /// Bytes of the next packet on the line, if it is known.
    pub fn next_bytes(&self) -> Option<u32> {
        self.discipline.next_bytes()
    }

    /// Those of active queue management.
    pub fn counters(&self) -> Option<AqmCounters> {
        let decisions = self.discipline.decisions();
        self.is_aqm.then_some(AqmCounters { decisions, ..self.counters })
    }

    /// Takes the packet of a frame that the far end has accepted.
    pub fn take(&mut self, ticket: u32) -> Option<Packet<B>> {
        self.packets.remove(&ticket)
    }

    /// Returns the numbers of packets that were dropped and filtered, and whether the packet joined
    /// the queue.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Packet<B>,
        (header, framing): (u32, Framing),
        waits: bool,
    ) -> (u64, u64, bool) {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        if let Some(router) = &mut self.router {
            router.arrive(now, &packet);
        }
        let filtered = self.filter(ticket, &packet);
        let Packet { flow, bytes, priority, ecn, .. } = packet;
        self.packets.insert(ticket, packet);
        let unframed = u32::from(bytes) + header;
        let bytes = framing.bytes(unframed);
        let mut dropped = Vec::new();
        let queued = Queued { ticket, flow, bytes, unframed, priority, ecn, since: now };
        self.discipline.enqueue(queued, waits, &mut dropped);
        self.note_queue();
        (self.forget(&dropped), filtered, !dropped.contains(&ticket))
    }

    /// The next packet to be sent, and the number of those that were dropped.
    pub fn dequeue(&mut self, now: Time, queueing: &mut Queueing) -> (Option<Queued>, u64) {
        let mut dropped = Vec::new();
        let sent = self.discipline.dequeue(now, &mut dropped).map(|mut queued| {
            let delay = now.since(queued.since);
            self.counters.count(delay);
            if delay > Span::ZERO {
                queueing.delay.record(delay.as_nanos());
            }
            let packet = self.packets.get_mut(&queued.ticket).expect("a packet is sent once");
            if let Some(compressor) = &mut self.compressor {
                compress(compressor.as_mut(), now, packet, &mut queued);
            }
            if let Some(filter) = &mut self.filter {
                filter.leave(queued.ticket, packet);
            }
            if let Some(router) = &mut self.router {
                router.depart(now, packet);
            }
            queued
        });
        if sent.is_some() {
            self.note_queue();
        }
        (sent, self.forget(&dropped))
    }

    fn forget(&mut self, dropped: &[u32]) -> u64 {
        for ticket in dropped {
            self.left(*ticket).expect("a packet is dropped once");
        }
        dropped.len() as u64
    }
}

impl<B: Clone> SlowLane<B> {
    /// Takes the next packet out of the queue; `None` if all packets were dropped.
    pub(super) fn dequeue(&mut self, now: Time) -> Option<Queued> {
        let managed = self.managed.as_mut()?;
        let (before, _) = managed.waiting();
        let (queued, dropped) = managed.dequeue(now, &mut self.queueing);
        let left = before - managed.waiting().0;
        if let Some(status) = &mut self.status {
            status.ahead -= status.ahead.min(left);
        }
        self.report.counters.dropped_packets += dropped;
        self.report.counters.accepted_packets -= dropped;
        queued
    }
}

impl<B: Clone> ReferenceNetwork<B> {
    /// A packet enters the queue of a discipline.
    pub(super) fn enter_managed(&mut self, now: Time, number: usize, packet: Packet<B>) {
        let port = &mut self.ports[number];
        let is_silent = port.up_from(now) > now;
        let lengths = (port.header, port.framing);
        let Some(managed) = &mut port.managed else { return };
        let is_closed = port.repeating.as_ref().is_some_and(Repeating::is_closed);
        let is_assigned = port.assigned.is_some();
        let waits = port.sending.is_some() || managed.waiting().0 > 0 || is_silent;
        let framed = lengths.1.bytes(u32::from(packet.bytes) + lengths.0);
        let lacks_tokens = port.shaping.as_mut().is_some_and(|shaping| {
            shaping.holds() || (managed.is_fifo() && shaping.shaper.ready_at(now, framed) > now)
        });
        let waits = waits || is_closed || is_assigned || lacks_tokens;
        let (dropped, filtered, joined) = managed.enqueue(now, packet, lengths, waits);
        let (_, bytes) = managed.waiting();
        let counters = &mut port.report.counters;
        counters.dropped_packets += dropped;
        counters.accepted_packets = counters.accepted_packets + 1 - dropped - filtered;
        if waits {
            counters.max_waiting_bytes = counters.max_waiting_bytes.max(bytes);
        }
        if let Some(lengths) = port.queueing.bytes.as_mut().filter(|_| waits && joined) {
            lengths.record(bytes);
        }
        self.start_next_managed(now, number);
    }

    /// Starts the next transmission of a discipline, or waits for the end of an outage.
    pub(super) fn start_next_managed(&mut self, now: Time, number: usize) {
        if self.ports[number].sending.is_some() {
            return;
        }
        if self.ports[number].assigned.is_some() {
            return self.serve_terminal(now, number);
        }
        while let Some(next) = self.ports[number].next() {
            let starts = self.ports[number].up_from(now);
            if starts > now {
                self.schedule(starts, Kind::Resumes, number, None);
                return;
            }
            if let Some(ready) = self.ports[number].lacks_tokens_until(now) {
                self.schedule(ready, Kind::Resumes, number, None);
                return;
            }
            let taken = match self.ports[number].shaping.is_some() {
                true => self.take_shaped(now, number),
                false => self.take_next(now, number, next),
            };
            let Some((load, unframed)) = taken else { continue };
            let port = &mut self.ports[number];
            let bytes = port.framing.bytes(unframed);
            let rate = port.rate_at(now);
            port.serialiser.set_rate(rate);
            let duration = if now > port.last_end {
                port.serialiser.restart(bytes)
            } else {
                port.serialiser.next(bytes)
            };
            let leaves = now + duration;
            let corrupted = port.channel.corrupts(leaves, unframed);
            let (drawn, lost) = port.draw(leaves, corrupted);
            let (arrived, corrupted) = (now, corrupted || lost);
            let accepted =
                Accepted { load, bytes, arrived, corrupted, lost, drawn, duration, leaves };
            let load = accepted.load.clone();
            self.start(now, number, accepted);
            if let Load::Coded(frame) = &load {
                self.coded_leaves(now, number, frame, corrupted);
            }
            return self.set_timer(now, number, &load, leaves, corrupted);
        }
    }

    /// Takes what is sent next, with its bytes without framing; `None` if all packets were dropped.
    fn take_next(&mut self, now: Time, number: usize, next: Next) -> Option<(Load<B>, u32)> {
        let port = &mut self.ports[number];
        match next {
            Next::Status => self.take_status(number),
            Next::Repeat => {
                let (frame, bytes) = port.repeating.as_mut()?.sender.repeat()?;
                Some((Load::Frame(frame), bytes))
            }
            Next::Parity => {
                let (frame, bytes) = port.coding.as_mut()?.encoder.parity()?;
                Some((Load::Coded(frame), bytes))
            }
            Next::Packet => {
                let queued = port.dequeue(now)?;
                let managed = port.managed.as_mut()?;
                let load = match (&mut port.repeating, &mut port.coding) {
                    (Some(repeating), _) => Load::Frame(repeating.sender.send(&queued)),
                    (None, Some(coding)) => Load::Coded(coding.encoder.send(now, &queued)),
                    (None, None) => {
                        let packet = managed.take(queued.ticket).expect("a packet is sent once");
                        Load::Packet(Packet { ecn: queued.ecn, ..packet })
                    }
                };
                Some((load, queued.unframed))
            }
        }
    }

    /// Takes the next packet for slots of demand assignment, unless all were dropped.
    pub(super) fn take_assigned(&mut self, now: Time, number: usize) -> Option<(Load<B>, Queued)> {
        let port = &mut self.ports[number];
        let queued = port.dequeue(now)?;
        let packet = port.managed.as_mut()?.take(queued.ticket).expect("a packet is sent once");
        Some((Load::Packet(Packet { ecn: queued.ecn, ..packet }), queued))
    }

    /// Starts what starts at `now` in the queues of disciplines, an instant whose events have not
    /// happened yet.
    pub(super) fn serve_managed(&mut self, now: Time) {
        let until = (now, Kind::Arrives, 0, 0);
        let due = self.events.range(..until).map(|(key, _)| *key);
        let due: Vec<_> = due.filter(|key| self.ports[key.2].managed.is_some()).collect();
        for key in due {
            self.events.remove(&key);
            match key.1 {
                Kind::TransmissionEnds => self.transmission_ends(now, key.2),
                Kind::Resumes => self.start_next_managed(now, key.2),
                _ => {}
            }
        }
    }
}
