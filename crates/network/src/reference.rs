//! The reference engine: the same network in a simple form, to check the fast engine.
//!
//! Every packet is in a queue, in transmission or in propagation. Each of these states ends with
//! its own event in one sorted map. So there are two events per packet and hop, and no computed
//! departures. A discipline is the same state machine as in the fast engine; when it is asked, and
//! what becomes of its packets, is found out here (`managed`). So it is with the two ends of ARQ
//! (`repeating`) and of FEC (`coding`).
//!
//! Decisions:
//! - The reference engine checks that a packet leaves when its channel was asked about: a channel
//!   may change while packets wait; only where low priority gives way may a packet leave earlier
//!   than it was asked for.

mod assigned;
mod coding;
mod managed;
mod propagating;
mod repeating;
mod shaping;

use std::collections::{BTreeMap, VecDeque};

use link::{
    Change, Channel, CodedFrame, Counters, Drawn, Frame, Framing, LowPriority, Marker, Policer,
    Priority, Propagation, QueueLimit, Queueing, Serialiser, Settings, Status,
};
use sketch::Sketch;
use units::{Rate, Span, Time};

use assigned::Assigned;
use coding::Coding;
use managed::Managed;
use repeating::{Repeating, WaitingStatus};
use shaping::Shaping;

use crate::compressor::Compressor;
use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::filter::QueueFilter;
use crate::port::{PortReport, QueueReport};
use crate::router::QueueRouter;
use crate::routes::Routes;
use crate::topology::{PortKind, PortSpec, Topology};

/// The order of simultaneous events: first all ends of transmission and of outages, then arrivals
/// by port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    TransmissionEnds,
    /// An outage is over in which packets had to wait.
    Resumes,
    Arrives,
    /// A frame of ARQ or FEC arrives at the far end, or a status frame at its sender, or the
    /// sender's timer expires, or that of the far end.
    FrameArrives,
    StatusArrives,
    TimerExpires,
    HoldExpires,
}

/// Content of a transmission.
#[derive(Clone, Copy, Debug)]
enum Load<B> {
    Packet(Packet<B>),
    Frame(Frame),
    Status(Status),
    Coded(CodedFrame),
}

/// A packet with what is decided when it is accepted.
#[derive(Clone, Copy, Debug)]
struct Accepted<B> {
    load: Load<B>,
    /// Bytes on the link.
    bytes: u32,
    arrived: Time,
    corrupted: bool,
    /// It is corrupted by the trace alone.
    lost: bool,
    /// Decisions about its propagation; none where nothing of it is random.
    drawn: Option<Drawn>,
    /// How long its transmission takes.
    duration: Span,
    /// When it leaves if nothing is pushed out before it: the time for which its channel is asked.
    leaves: Time,
}

impl<B> Accepted<B> {
    fn is_low(&self) -> bool {
        matches!(&self.load, Load::Packet(packet) if packet.priority == Priority::Low)
    }
}

#[derive(Clone, Debug)]
struct SlowLane<B> {
    to: NodeId,
    kind: PortKind,
    rate: Rate,
    delay: Span,
    queue: QueueLimit,
    low_priority: LowPriority,
    framing: Framing,
    /// Bytes that ARQ or FEC add to each packet.
    header: u32,
    /// All changes with their times.
    changes: Vec<(Time, Change)>,
    propagation: Option<Propagation>,
    /// Packets overtake others where the delay falls.
    reorder: bool,
    /// Packets overtake others that have more jitter.
    overtakes: bool,
    /// The delay of the last packet.
    last_delay: Span,
    serialiser: Serialiser,
    channel: Channel,
    marker: Option<Marker>,
    /// A discipline and its packets; `waiting` is empty then.
    managed: Option<Managed<B>>,
    /// The port of the other direction of the link.
    reverse: Option<usize>,
    /// Both ends of ARQ.
    repeating: Option<Repeating>,
    /// Both ends of FEC.
    coding: Option<Coding>,
    /// The terminal of demand assignment.
    assigned: Option<Assigned<B>>,
    /// The shaper, and a packet that waits for its tokens outside of the queue.
    shaping: Option<Shaping<B>>,
    policer: Option<Policer>,
    /// A status frame of the other direction's ARQ that waits.
    status: Option<WaitingStatus>,
    waiting: VecDeque<Accepted<B>>,
    /// Bytes of all that waits.
    waiting_bytes: u64,
    sending: Option<Accepted<B>>,
    started: Time,
    last_end: Time,
    last_arrival: Time,
    /// When corrupted packets arrive, and when the last of them does.
    corrupted: Vec<Time>,
    last_corrupted: Time,
    /// The same for those that the trace has lost.
    lost: Vec<Time>,
    /// When copies arrive.
    copies: Vec<Time>,
    last_lost: Time,
    busy: Span,
    report: PortReport,
    queueing: Queueing,
}

/// A network with two events per packet and hop.
#[derive(Clone, Debug)]
pub struct ReferenceNetwork<B> {
    routes: Routes,
    ports: Vec<SlowLane<B>>,
    events: BTreeMap<(Time, Kind, usize, u64), Option<Load<B>>>,
    sequence: u64,
    hops: u64,
}

impl<B: Clone> ReferenceNetwork<B> {
    /// An empty network over `topology`.
    pub fn new(topology: Topology) -> Self {
        let ports = topology.ports.iter().map(SlowLane::new).collect();
        let routes = Routes::new(&topology);
        Self { routes, ports, events: BTreeMap::new(), sequence: 0, hops: 0 }
    }

    fn schedule(&mut self, at: Time, kind: Kind, port: usize, load: Option<Load<B>>) {
        self.sequence += 1;
        self.events.insert((at, kind, port, self.sequence), load);
    }

    fn enter(&mut self, now: Time, number: usize, mut packet: Packet<B>) {
        self.hops += 1;
        let policer = &mut self.ports[number].policer;
        if policer.as_mut().is_some_and(|policer| !policer.passes(now, packet.bytes.into())) {
            return;
        }
        if self.ports[number].managed.is_some() {
            return self.enter_managed(now, number, packet);
        }
        let port = &mut self.ports[number];
        let waiting = port.waiting.len() - port.starting(now);
        if port.marker.as_mut().is_some_and(|marker| marker.on_arrival(waiting)) {
            packet.ecn = packet.ecn.marked();
        }
        let bytes = port.framing.bytes(u32::from(packet.bytes));
        if port.is_busy(now) && !port.make_room(bytes, packet.priority == Priority::Low) {
            port.report.counters.dropped_packets += 1;
            return;
        }
        // Decided now and kept, whatever is pushed out before it.
        let before = port.last_leaves(now);
        let starts = port.up_from(before.max(now));
        port.serialiser.set_rate(port.rate_at(starts));
        let duration = if starts > before {
            port.serialiser.restart(bytes)
        } else {
            port.serialiser.next(bytes)
        };
        let leaves = starts + duration;
        let corrupted = port.channel.corrupts(leaves, u32::from(packet.bytes));
        let (drawn, lost) = port.draw(leaves, corrupted);
        let (load, arrived, corrupted) = (Load::Packet(packet), now, corrupted || lost);
        let accepted = Accepted { load, bytes, arrived, corrupted, lost, drawn, duration, leaves };
        let counters: &mut Counters = &mut port.report.counters;
        counters.accepted_packets += 1;
        if port.is_busy(now) {
            port.waiting.push_back(accepted);
            port.waiting_bytes += u64::from(bytes);
            let counters = &mut port.report.counters;
            counters.max_waiting_bytes = counters.max_waiting_bytes.max(port.waiting_bytes);
            if let Some(lengths) = &mut port.queueing.bytes {
                lengths.record(port.waiting_bytes);
            }
            if port.sending.is_none() && port.waiting.len() == 1 {
                self.schedule(starts, Kind::Resumes, number, None);
            }
        } else {
            self.start(now, number, accepted);
        }
    }

    /// Starts the transmission of what has waited longest, or waits for the end of an outage.
    fn start_next(&mut self, now: Time, number: usize) {
        if self.ports[number].managed.is_some() {
            return self.start_next_managed(now, number);
        }
        let port = &mut self.ports[number];
        let starts = port.up_from(now);
        if starts > now {
            if !port.waiting.is_empty() {
                self.schedule(starts, Kind::Resumes, number, None);
            }
        } else if let Some(next) = port.waiting.pop_front() {
            port.waiting_bytes -= u64::from(next.bytes);
            port.queueing.delay.record(now.since(next.arrived).as_nanos());
            self.start(now, number, next);
        }
    }

    fn start(&mut self, now: Time, number: usize, accepted: Accepted<B>) {
        let port = &mut self.ports[number];
        port.started = now;
        port.busy = port.busy + accepted.duration;
        port.last_end = now + accepted.duration;
        port.sending = Some(accepted);
        let end = port.last_end;
        self.schedule(end, Kind::TransmissionEnds, number, None);
    }

    fn transmission_ends(&mut self, now: Time, number: usize) {
        let port = &mut self.ports[number];
        let sent = port.sending.take().expect("a transmission that ends was started");
        let gives_way = port.low_priority == LowPriority::PushOut;
        assert!(gives_way || sent.leaves == now, "the channel was asked for another time");
        self.propagate(now, number, sent);
        self.start_next(now, number);
    }
}

impl<B: Clone> SlowLane<B> {
    fn new(port: &PortSpec) -> Self {
        let direction = &port.direction;
        // Without `..`, so that a new key has to be considered here.
        let &Settings {
            rate,
            delay,
            queue,
            low_priority,
            ecn_marking,
            framing,
            shaper,
            policer,
            // The direction has a discipline for it.
            aqm: _,
            arq,
            fec,
            // The discipline's router is set later.
            feedback: _,
            demand,
            // The direction gives them as far as they have come.
            ref jitter,
            channel: _,
            trace: _,
            timeline: _,
            reordering: _,
            duplication: _,
            slots: _,
            reorder,
        } = direction.settings();
        Self {
            to: port.to,
            kind: port.kind,
            rate,
            delay,
            queue,
            low_priority,
            framing,
            header: direction.settings().header(),
            changes: direction.changes().into_iter().flatten().collect(),
            propagation: direction.propagation().cloned(),
            reorder,
            overtakes: jitter.reorders(),
            last_delay: Span::ZERO,
            serialiser: Serialiser::new(rate),
            channel: direction.channel().clone(),
            marker: ecn_marking.map(Marker::new),
            managed: direction
                .discipline()
                .map(|discipline| Managed::new(discipline, direction.is_managed())),
            reverse: port.reverse.map(usize::from),
            repeating: arq.map(Repeating::new),
            coding: fec.map(Coding::new),
            assigned: demand.map(Assigned::new),
            shaping: shaper.map(Shaping::new),
            policer: policer.map(|policer| Policer::new(policer, framing)),
            status: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            sending: None,
            started: Time::ZERO,
            last_end: Time::ZERO,
            last_arrival: Time::ZERO,
            corrupted: Vec::new(),
            last_corrupted: Time::ZERO,
            lost: Vec::new(),
            copies: Vec::new(),
            last_lost: Time::ZERO,
            busy: Span::ZERO,
            report: PortReport::default(),
            queueing: Queueing {
                delay: Sketch::new(),
                bytes: (direction.changes().is_some() || direction.is_scheduled())
                    .then(Sketch::new),
            },
        }
    }

    /// Bytes that wait, without the first `skipped` packets, counted anew.
    fn bytes_behind(&self, skipped: usize) -> u64 {
        self.waiting.iter().skip(skipped).map(|waiting| u64::from(waiting.bytes)).sum()
    }

    /// When the last packet accepted so far will have left, or has.
    fn last_leaves(&self, now: Time) -> Time {
        if self.low_priority != LowPriority::PushOut {
            // Nothing is pushed out before it; the end of each transmission is checked.
            return self.waiting.back().map_or(self.last_end, |last| last.leaves);
        }
        // Packets that wait before nothing wait for the end of an outage.
        let is_silent = self.sending.is_none() && !self.waiting.is_empty();
        let first = if is_silent { now } else { self.last_end };
        self.waiting.iter().fold(first, |end, waiting| self.up_from(end) + waiting.duration)
    }

    /// The first time from `time` on that is in no outage.
    fn up_from(&self, time: Time) -> Time {
        let over = |(at, change): &(Time, Change)| *at + change.outage.unwrap_or(Span::ZERO);
        let lasts = |change: &&(Time, Change)| change.0 <= time && time < over(change);
        self.changes.iter().find(lasts).map_or(time, |change| self.up_from(over(change)))
    }

    fn rate_at(&self, time: Time) -> Rate {
        let past = self.changes.iter().rev().filter(|(at, _)| *at <= time);
        past.filter_map(|(_, change)| change.rate).next().unwrap_or(self.rate)
    }

    fn delay_at(&self, time: Time) -> Span {
        let past = self.changes.iter().rev().filter(|(at, _)| *at <= time);
        past.filter_map(|(_, change)| change.delay).next().unwrap_or(self.delay)
    }

    fn loss_at(&self, time: Time) -> f64 {
        let past = self.changes.iter().rev().filter(|(at, _)| *at <= time);
        past.filter_map(|(_, change)| change.loss).next().unwrap_or(0.0)
    }

    /// Returns true if a packet that comes now has to wait.
    fn is_busy(&self, now: Time) -> bool {
        self.sending.is_some() || !self.waiting.is_empty() || self.up_from(now) > now
    }

    /// Returns true if a packet that has to wait finds room, be it that others give way.
    fn make_room(&mut self, bytes: u32, low: bool) -> bool {
        let (packets, waiting_bytes) = (self.waiting.len(), self.waiting_bytes);
        let refused = match self.queue {
            QueueLimit::Bytes(_) => waiting_bytes > LowPriority::REFUSES_ABOVE_BYTES,
            _ => packets > LowPriority::REFUSES_ABOVE_PACKETS,
        };
        if low && self.low_priority == LowPriority::Refuse && refused {
            return false;
        }
        if self.fits(bytes, packets, waiting_bytes) {
            return true;
        }
        if low || self.low_priority != LowPriority::PushOut {
            return false;
        }
        let (mut left, mut left_bytes) = (self.waiting.clone(), self.waiting_bytes);
        let mut pushed_out = 0;
        while !self.fits(bytes, left.len(), left_bytes) {
            let last = left.iter().rposition(Accepted::is_low);
            let Some(waiting) = last.and_then(|last| left.remove(last)) else { return false };
            left_bytes -= u64::from(waiting.bytes);
            pushed_out += 1;
        }
        (self.waiting, self.waiting_bytes) = (left, left_bytes);
        let counters = &mut self.report.counters;
        counters.accepted_packets -= pushed_out;
        counters.dropped_packets += pushed_out;
        true
    }

    /// Returns true if there is room for `bytes` behind `packets` packets and `waiting_bytes`
    /// bytes.
    fn fits(&self, bytes: u32, packets: usize, waiting_bytes: u64) -> bool {
        match self.queue {
            QueueLimit::Packets(limit) => packets < limit as usize,
            QueueLimit::Bytes(limit) => waiting_bytes + u64::from(bytes) <= limit,
            QueueLimit::Unlimited => true,
        }
    }

    /// Packets that start at `now`, an instant whose events have not happened yet: none or one.
    fn starting(&self, now: Time) -> usize {
        let is_free = self.sending.is_none() || self.last_end <= now;
        usize::from(is_free && self.up_from(now) == now).min(self.waiting.len())
    }
}

impl<B: Clone> Fabric<B> for ReferenceNetwork<B> {
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
        let managed = self.ports[port].managed.as_mut();
        managed.expect("a filter needs a queue that can remove").set_filter(filter);
    }

    fn route(&mut self, port: usize, router: Box<dyn QueueRouter<B>>) {
        let managed = self.ports[port].managed.as_mut();
        managed.expect("a router needs a queue that decides at dequeue").set_router(router);
    }

    fn set_compressor(&mut self, port: usize, compressor: Box<dyn Compressor<B>>) {
        let managed = self.ports[port].managed.as_mut();
        managed.expect("a compressor needs a queue that decides at dequeue").compressor =
            Some(compressor);
    }

    fn compressor_feedback(&mut self, _: Time, port: usize, message: &Packet<B>) {
        let managed = self.ports[port].managed.as_mut();
        if let Some(compressor) = managed.and_then(|managed| managed.compressor.as_mut()) {
            compressor.on_feedback(message);
        }
    }

    fn compressor_counts(&self, port: usize) -> Vec<(&'static str, u64)> {
        let compressor = self.ports[port].managed.as_ref().and_then(|one| one.compressor.as_ref());
        compressor.map_or_else(Vec::new, |one| one.counts())
    }

    fn send_through(&mut self, now: Time, port: usize, packet: Packet<B>) {
        self.enter(now, port, packet);
    }

    fn next_event(&self) -> Time {
        self.events.keys().next().map_or(Time::NEVER, |key| key.0)
    }

    fn advance(&mut self) -> Option<Delivery<B>> {
        let ((at, kind, port, _), load) = self.events.pop_first()?;
        let packet = match (kind, load) {
            (Kind::Arrives, Some(Load::Packet(packet))) => packet,
            (kind, load) => {
                match (kind, load) {
                    (Kind::TransmissionEnds, _) => self.transmission_ends(at, port),
                    (Kind::Resumes, _) => self.start_next(at, port),
                    (_, Some(Load::Frame(frame))) => self.frame_arrives(at, port, &frame),
                    (_, Some(Load::Status(status))) => self.status_arrives(at, port, &status),
                    (_, Some(Load::Coded(frame))) => self.coded_arrives(at, port, &frame),
                    (Kind::HoldExpires, _) => self.hold_expires(at, port),
                    _ => self.timer_expires(at, port),
                }
                return None;
            }
        };
        let port = &mut self.ports[port];
        port.report.delivered_packets += 1;
        port.report.delivered_bytes += u64::from(packet.bytes);
        match self.routes.next(port.kind, port.to, packet.to) {
            Some(next) => {
                self.enter(at, next, packet);
                None
            }
            None => Some(Delivery { at, packet }),
        }
    }

    fn report(&mut self, now: Time) -> Vec<PortReport> {
        self.serve_managed(now);
        let until = |times: &[Time]| times.iter().filter(|at| **at <= now).count() as u64;
        let report = |(number, port): (usize, &SlowLane<B>)| {
            let waits = port.waiting.len() - port.starting(now);
            let of_fifo = (waits, port.bytes_behind(port.starting(now)));
            let managed = port.managed.as_ref();
            let (waiting_packets, waiting_bytes) = managed.map_or(of_fifo, Managed::waiting);
            PortReport {
                busy: match (&port.sending, &port.assigned) {
                    (None, None) => port.busy,
                    _ => port.busy.saturating_sub(port.last_end.since(now)),
                },
                waiting_packets,
                waiting_bytes,
                filtered_packets: managed.map_or(0, Managed::filtered),
                feedback: managed.and_then(Managed::feedback),
                counters: Counters {
                    corrupted_packets: until(&port.corrupted),
                    lost_packets: until(&port.lost),
                    aqm: managed.and_then(Managed::counters),
                    arq: port
                        .repeating
                        .as_ref()
                        .map(|repeating| repeating.counters(self.statuses_at(now, number))),
                    fec: port.coding.as_ref().map(Coding::counters),
                    demand: port.assigned.as_ref().map(|assigned| {
                        let waiting = managed.map_or(0, |managed| managed.waiting().1);
                        assigned.terminal.counters(now, waiting)
                    }),
                    impairments: port.impairments(until(&port.copies)),
                    shaper: port.shaping.as_ref().map(|shaping| shaping.shaper.counters()),
                    policer: port.policer.as_ref().map(Policer::counters),
                    ..port.report.counters
                },
                ..port.report
            }
        };
        self.ports.iter().enumerate().map(report).collect()
    }

    fn next_corrupted(&self, port: usize, from: Time) -> Time {
        let corrupted = &self.ports[port].corrupted;
        let place = corrupted.partition_point(|at| *at < from);
        corrupted.get(place).copied().unwrap_or(Time::NEVER)
    }

    fn queue_reports(&mut self, now: Time) -> Vec<QueueReport> {
        let reports = self.report(now);
        let queue_report = |(port, report): (&SlowLane<B>, &PortReport)| {
            let mut queueing = port.queueing.clone();
            for packet in port.waiting.iter().take(port.starting(now)) {
                queueing.delay.record(now.since(packet.arrived).as_nanos());
            }
            QueueReport::new(queueing, port.rate, report)
        };
        self.ports.iter().zip(&reports).map(queue_report).collect()
    }

    fn hops(&self) -> u64 {
        self.hops
    }
}
