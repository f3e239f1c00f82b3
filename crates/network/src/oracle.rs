//! The slow engine: the same network written the obvious way, as the oracle of the fast one.
//!
//! Every packet is in a queue, in transmission, or on its way, and each of these ends with an
//! event of its own in one sorted map: two events per packet and hop, no computed departures.

use std::collections::{BTreeMap, VecDeque};

use link::{Channel, Counters, Limit, Marker, Serialiser, Settings};
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

#[derive(Clone, Debug)]
struct SlowLane<B> {
    to: NodeId,
    kind: LaneKind,
    settings: Settings,
    serialiser: Serialiser,
    channel: Channel,
    marker: Option<Marker>,
    waiting: VecDeque<Packet<B>>,
    sending: Option<Packet<B>>,
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
        let waiting_bytes = lane.bytes_behind(0);
        let full = match lane.settings.limit {
            Limit::Packets(limit) => lane.waiting.len() >= limit as usize,
            Limit::Bytes(limit) => waiting_bytes + u64::from(bytes) > limit,
            Limit::Unlimited => false,
        };
        let counters: &mut Counters = &mut lane.report.counters;
        if lane.sending.is_some() && full {
            counters.dropped_packets += 1;
            return;
        }
        counters.accepted_packets += 1;
        if lane.sending.is_some() {
            counters.max_waiting_bytes =
                counters.max_waiting_bytes.max(waiting_bytes + u64::from(bytes));
            lane.waiting.push_back(packet);
        } else {
            self.start(now, number, packet);
        }
    }

    fn start(&mut self, now: Time, number: usize, packet: Packet<B>) {
        let lane = &mut self.lanes[number];
        let bytes = u32::from(packet.bytes) + lane.settings.framing;
        let duration = if now > lane.last_end {
            lane.serialiser.restart(bytes)
        } else {
            lane.serialiser.next(bytes)
        };
        lane.sending = Some(packet);
        lane.started = now;
        lane.busy = lane.busy + duration;
        lane.last_end = now + duration;
        let end = lane.last_end;
        self.schedule(end, Kind::TransmissionEnds, number, None);
    }

    fn transmission_ends(&mut self, now: Time, number: usize) {
        let lane = &mut self.lanes[number];
        let delay = lane.settings.delay;
        let packet = lane.sending.take().expect("a transmission that ends was started");
        let next = lane.waiting.pop_front();
        if lane.channel.damages(now, u32::from(packet.bytes)) {
            lane.report.counters.damaged_packets += 1;
        } else {
            self.schedule(now + delay, Kind::Arrives, number, Some(packet));
        }
        if let Some(packet) = next {
            self.start(now, number, packet);
        }
    }
}

impl<B> SlowLane<B> {
    /// Bytes that wait, without the first `skipped` packets.
    fn bytes_behind(&self, skipped: usize) -> u64 {
        let framing = u64::from(self.settings.framing);
        let behind = self.waiting.iter().skip(skipped);
        behind.map(|packet| u64::from(packet.bytes) + framing).sum()
    }

    /// How many of the packets that were accepted and have not left yet the channel will damage.
    /// The fast engine decides about a packet when it is accepted, and counts it then.
    fn doomed(&self) -> u64 {
        let (mut channel, mut serialiser) = (self.channel.clone(), self.serialiser.clone());
        let mut damages =
            |at, packet: &Packet<B>| u64::from(channel.damages(at, u32::from(packet.bytes)));
        let mut left = self.last_end;
        let mut doomed = self.sending.as_ref().map_or(0, |packet| damages(left, packet));
        for packet in &self.waiting {
            left += serialiser.next(u32::from(packet.bytes) + self.settings.framing);
            doomed += damages(left, packet);
        }
        doomed
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
            counters: Counters {
                damaged_packets: lane.report.counters.damaged_packets + lane.doomed(),
                ..lane.report.counters
            },
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
