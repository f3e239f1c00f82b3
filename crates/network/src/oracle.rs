//! The slow engine: the same network written the obvious way, as the oracle of the fast one.
//!
//! Every packet is in a queue, in transmission, or on its way, and each of these ends with an
//! event of its own in one sorted map: two events per packet and hop, no computed departures.

use std::collections::{BTreeMap, VecDeque};

use link::{Channel, Counters, Limit, LowPriority, Marker, Priority, Serialiser, Settings};
use units::{Span, Time};

use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::lane::LaneReport;
use crate::routes::Routes;
use crate::topology::{LaneKind, Topology};

/// The order of simultaneous events: first all ends of transmission, then arrivals by lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    TransmissionEnds,
    Arrives,
}

/// A packet with what is decided when it is accepted.
#[derive(Clone, Copy, Debug)]
struct Accepted<B> {
    packet: Packet<B>,
    damaged: bool,
    /// How long its transmission takes.
    duration: Span,
    /// When it leaves if nothing is pushed out before it: the time for which its channel is asked.
    leaves: Time,
}

#[derive(Clone, Debug)]
struct SlowLane<B> {
    to: NodeId,
    kind: LaneKind,
    settings: Settings,
    serialiser: Serialiser,
    channel: Channel,
    marker: Option<Marker>,
    waiting: VecDeque<Accepted<B>>,
    sending: Option<Accepted<B>>,
    started: Time,
    last_end: Time,
    busy: Span,
    report: LaneReport,
}

/// A network with two events per packet and hop.
#[derive(Clone, Debug)]
pub struct SlowNetwork<B> {
    routes: Routes,
    lanes: Vec<SlowLane<B>>,
    events: BTreeMap<(Time, Kind, usize, u64), Option<Packet<B>>>,
    sequence: u64,
    hops: u64,
}

impl<B: Copy> SlowNetwork<B> {
    /// An empty network over `topology`, with `channels` in the order of its lanes.
    pub fn new(topology: Topology, channels: Vec<Channel>) -> Self {
        let lanes = topology
            .lanes
            .iter()
            .zip(channels)
            .map(|(lane, channel)| SlowLane {
                to: lane.to,
                kind: lane.kind,
                settings: lane.link.settings().clone(),
                serialiser: Serialiser::new(lane.link.settings().rate),
                channel,
                marker: lane.link.settings().marking.map(Marker::new),
                waiting: VecDeque::new(),
                sending: None,
                started: Time::ZERO,
                last_end: Time::ZERO,
                busy: Span::ZERO,
                report: LaneReport::default(),
            })
            .collect();
        let routes = Routes::new(&topology);
        Self { routes, lanes, events: BTreeMap::new(), sequence: 0, hops: 0 }
    }

    fn schedule(&mut self, at: Time, kind: Kind, lane: usize, packet: Option<Packet<B>>) {
        self.sequence += 1;
        self.events.insert((at, kind, lane, self.sequence), packet);
    }

    fn enter(&mut self, now: Time, number: usize, mut packet: Packet<B>) {
        self.hops += 1;
        let lane = &mut self.lanes[number];
        let waiting = lane.waiting.len() - lane.starting(now);
        if lane.marker.as_mut().is_some_and(|marker| marker.on_arrival(waiting)) {
            packet.ecn = packet.ecn.marked();
        }
        let bytes = u32::from(packet.bytes) + lane.settings.framing;
        if lane.sending.is_some() && !lane.make_room(bytes, packet.priority == Priority::Low) {
            lane.report.counters.dropped_packets += 1;
            return;
        }
        // Decided now and kept, whatever is pushed out before it.
        let duration = if lane.sending.is_none() && now > lane.last_end {
            lane.serialiser.restart(bytes)
        } else {
            lane.serialiser.next(bytes)
        };
        let leaves = lane.idle_at(now) + duration;
        let damaged = lane.channel.damages(leaves, u32::from(packet.bytes));
        let accepted = Accepted { packet, damaged, duration, leaves };
        let counters: &mut Counters = &mut lane.report.counters;
        counters.accepted_packets += 1;
        counters.damaged_packets += u64::from(damaged);
        if lane.sending.is_some() {
            lane.waiting.push_back(accepted);
            let waiting_bytes = lane.bytes_behind(0);
            let counters = &mut lane.report.counters;
            counters.max_waiting_bytes = counters.max_waiting_bytes.max(waiting_bytes);
        } else {
            self.start(now, number, accepted);
        }
    }

    fn start(&mut self, now: Time, number: usize, accepted: Accepted<B>) {
        let lane = &mut self.lanes[number];
        lane.sending = Some(accepted);
        lane.started = now;
        lane.busy = lane.busy + accepted.duration;
        lane.last_end = now + accepted.duration;
        let end = lane.last_end;
        self.schedule(end, Kind::TransmissionEnds, number, None);
    }

    fn transmission_ends(&mut self, now: Time, number: usize) {
        let lane = &mut self.lanes[number];
        let delay = lane.settings.delay;
        let sent = lane.sending.take().expect("a transmission that ends was started");
        let gives_way = lane.settings.low_priority == LowPriority::PushOut;
        assert!(gives_way || sent.leaves == now, "the channel was asked for another time");
        let next = lane.waiting.pop_front();
        if !sent.damaged {
            self.schedule(now + delay, Kind::Arrives, number, Some(sent.packet));
        }
        if let Some(next) = next {
            self.start(now, number, next);
        }
    }
}

impl<B: Copy> SlowLane<B> {
    /// Bytes that wait, without the first `skipped` packets.
    fn bytes_behind(&self, skipped: usize) -> u64 {
        let framing = u64::from(self.settings.framing);
        let behind = self.waiting.iter().skip(skipped);
        behind.map(|waiting| u64::from(waiting.packet.bytes) + framing).sum()
    }

    /// When everything accepted so far will have left.
    fn idle_at(&self, now: Time) -> Time {
        let sending = if self.sending.is_some() { self.last_end } else { now };
        self.waiting.iter().fold(sending, |end, waiting| end + waiting.duration)
    }

    /// Whether a packet that has to wait finds room, be it that others give way.
    fn make_room(&mut self, bytes: u32, low: bool) -> bool {
        let (packets, waiting_bytes) = (self.waiting.len(), self.bytes_behind(0));
        let refused = match self.settings.limit {
            Limit::Bytes(_) => waiting_bytes > LowPriority::REFUSES_ABOVE_BYTES,
            _ => packets > LowPriority::REFUSES_ABOVE_PACKETS,
        };
        if low && self.settings.low_priority == LowPriority::Refuse && refused {
            return false;
        }
        let before = self.waiting.clone();
        while !self.has_room(bytes) {
            let gives_way = !low && self.settings.low_priority == LowPriority::PushOut;
            let last =
                self.waiting.iter().rposition(|waiting| waiting.packet.priority == Priority::Low);
            match last {
                Some(last) if gives_way => self.waiting.remove(last),
                _ => {
                    self.waiting = before;
                    return false;
                }
            };
        }
        let damaged = |waiting: &VecDeque<Accepted<B>>| {
            waiting.iter().filter(|waiting| waiting.damaged).count() as u64
        };
        let counters = &mut self.report.counters;
        counters.accepted_packets -= (before.len() - self.waiting.len()) as u64;
        counters.dropped_packets += (before.len() - self.waiting.len()) as u64;
        counters.damaged_packets -= damaged(&before) - damaged(&self.waiting);
        true
    }

    fn has_room(&self, bytes: u32) -> bool {
        match self.settings.limit {
            Limit::Packets(limit) => self.waiting.len() < limit as usize,
            Limit::Bytes(limit) => self.bytes_behind(0) + u64::from(bytes) <= limit,
            Limit::Unlimited => true,
        }
    }

    /// Packets that start at `now`, an instant whose events have not happened yet: none or one.
    fn starting(&self, now: Time) -> usize {
        usize::from(self.sending.is_some() && self.last_end <= now).min(self.waiting.len())
    }
}

impl<B: Copy> Fabric<B> for SlowNetwork<B> {
    fn send(&mut self, now: Time, from: NodeId, packet: Packet<B>) {
        let lane = self.routes.out(from, packet.to);
        self.enter(now, lane, packet);
    }

    fn next_event(&self) -> Time {
        self.events.keys().next().map_or(Time::NEVER, |key| key.0)
    }

    fn advance(&mut self) -> Option<Delivery<B>> {
        let ((at, kind, lane, _), packet) = self.events.pop_first()?;
        if kind == Kind::TransmissionEnds {
            self.transmission_ends(at, lane);
            return None;
        }
        let packet = packet?;
        let lane = &mut self.lanes[lane];
        lane.report.delivered_packets += 1;
        lane.report.delivered_bytes += u64::from(packet.bytes);
        match self.routes.next(lane.kind, lane.to, packet.to) {
            Some(next) => {
                self.enter(at, next, packet);
                None
            }
            None => Some(Delivery { at, packet }),
        }
    }

    fn report(&mut self, now: Time) -> Vec<LaneReport> {
        let report = |lane: &SlowLane<B>| LaneReport {
            busy: match lane.sending {
                Some(_) => lane.busy.saturating_sub(lane.last_end.since(now)),
                None => lane.busy,
            },
            waiting_packets: lane.waiting.len() - lane.starting(now),
            waiting_bytes: lane.bytes_behind(lane.starting(now)),
            ..lane.report
        };
        self.lanes.iter().map(report).collect()
    }

    fn hops(&self) -> u64 {
        self.hops
    }
}
