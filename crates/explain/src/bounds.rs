//! Bounds that hold in every run: the most that links carry, and the shortest times on the way.
//!
//! Figures show links as they are at the start. Events, modems and traces change rates and delays
//! while a run goes on, a token bucket lets a burst pass first, and a switch chooses other links.
//! A warning that says "cannot", "at most" or "at least" therefore uses these bounds. Where a
//! bound is not known, it is infinite, and such a warning is left out.
//!
//! Acknowledgements bound nothing here: they are cumulative, so data passes although many of them
//! are lost (RFC 3449 section 2).

use std::collections::BTreeSet;

use congestion::Value;
use scenario::model::{Direction, Flow, Middlebox, Scenario, Traffic, Way as Ends};
use scenario::{Hop, Routes};
use units::{Span, Time};

use super::places::{Graph, Packets, Way};

/// Changes of a timeline that are looked at. Behind them counts the highest rate.
const MOST_CHANGES: usize = 100_000;

/// Bounds of a flow, or of one of its legs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Payload rate in bit/s that all places on the way of the data carry at most: the mean from
    /// the start of the flow to its end.
    pub capacity_bps: f64,
    /// The same of the bottleneck alone.
    pub bottleneck_bps: f64,
    /// Rate of IP packets in bit/s that the bottleneck has at most at any time.
    pub most_bps: f64,
    /// Payload rate in bit/s that the window allows, with the shortest round trip.
    pub window_bps: f64,
    /// Bytes of payload of a whole window, of all connections.
    pub window_bytes: f64,
    /// The shortest round trip, in milliseconds.
    pub least_rtt_ms: f64,
    /// The shorter one of the way of the data and that of the ACKs, in milliseconds.
    pub least_way_ms: f64,
    /// Bytes of payload that may still arrive after the flow has stopped: a window of all its
    /// connections. Zero if it goes on until the run ends.
    pub in_flight_bytes: f64,
    /// Seconds from the start of the flow to its end, or to the end of the run.
    pub seconds: f64,
}

impl Bounds {
    /// The payload rate that nothing here rules out, in bit/s: a mean over the time of the flow.
    pub(crate) fn goodput_bps(&self) -> f64 {
        self.capacity_bps.min(self.window_bps)
    }

    /// Bytes of payload that arrive at most, from the node with the data to the other one. The
    /// first window needs no answer.
    pub fn bytes(&self) -> f64 {
        let of_window = self.window_bytes + self.window_bps / 8.0 * self.seconds;
        let sent = (self.capacity_bps / 8.0 * self.seconds).min(of_window);
        sent + self.in_flight_bytes
    }

    /// The bounds of data that passes all of these legs, whose packets may have other lengths.
    pub(crate) fn of_legs(self, legs: impl Iterator<Item = Self>) -> Self {
        let nothing = Self {
            capacity_bps: f64::INFINITY,
            bottleneck_bps: f64::INFINITY,
            window_bps: f64::INFINITY,
            window_bytes: 0.0,
            in_flight_bytes: 0.0,
            ..self
        };
        legs.fold(nothing, |all, leg| Self {
            capacity_bps: all.capacity_bps.min(leg.capacity_bps),
            window_bps: all.window_bps.min(leg.window_bps),
            // Each leg may have a window under way.
            window_bytes: all.window_bytes + leg.window_bytes,
            in_flight_bytes: all.in_flight_bytes + leg.in_flight_bytes,
            ..all
        })
    }
}

/// The time in which a flow may send. A stop cuts transfers; other applications may go on until the
/// run ends, such as a browser that loads a page to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    from: Time,
    to: Time,
}

impl Active {
    pub fn of(scenario: &Scenario, flow: &Flow) -> Self {
        let from = Time::ZERO + flow.start;
        let is_transfer = matches!(flow.traffic, Traffic::Download { .. } | Traffic::Bulk { .. });
        let stop = flow.stop.filter(|_| is_transfer && flow.sessions.is_none());
        let to = stop.unwrap_or(scenario.duration).min(scenario.duration);
        Self { from, to: (Time::ZERO + to).max(from) }
    }

    pub fn seconds(self) -> f64 {
        self.to.since(self.from).as_secs_f64()
    }
}

/// The most that a direction of a link carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    /// Bits per second on the line, as a mean over the time of a flow.
    pub mean_bps: f64,
    /// Bits per second on the line at any time.
    pub peak_bps: f64,
}

impl Most {
    /// Of a direction in `active`; a packet has `packet` bytes on the line, its share of parity
    /// included, of which `parity` bytes may still be missing at the end.
    pub fn of(
        scenario: &Scenario,
        direction: &Direction,
        active: Active,
        [packet, parity]: [f64; 2],
    ) -> Self {
        let peak_bps = peak(direction);
        let seconds = active.seconds();
        if seconds == 0.0 {
            return Self { mean_bps: peak_bps, peak_bps };
        }
        let at_known_times = scenario.phase == Span::ZERO && direction.trace.phase == Span::ZERO;
        let is_known = at_known_times && direction.channel.rates().is_none();
        let line = match is_known {
            true => line_bits(direction, active, packet * 8.0).min(peak_bps * seconds),
            false => peak_bps * seconds,
        };
        let assigned = direction.demand.map_or(f64::INFINITY, |demand| {
            let share = match demand.vbdc {
                true => 1.0,
                false => demand.unrequested_slots() / f64::from(demand.slots),
            };
            // Slots of the frame that has begun may still come.
            peak_bps * (share * seconds + demand.frame.as_secs_f64())
        });
        let buckets = [direction.shaper, direction.policer].into_iter().flatten();
        let bits = buckets.fold(line.min(assigned), |bits, bucket| {
            let tokens = bucket.rate.bits_per_second() as f64 * seconds;
            bits.min(tokens + bucket.burst.get() as f64 * 8.0)
        });
        let parity = if bits > 0.0 { parity * 8.0 } else { 0.0 };
        Self { mean_bps: (bits + parity) / seconds, peak_bps }
    }
}

/// The highest rate of a line in bit/s.
pub(crate) fn peak(direction: &Direction) -> f64 {
    let changed = direction.changes().filter_map(|change| change.rate);
    changed.fold(direction.rate, Ord::max).bits_per_second() as f64
}

/// Bits that a line carries at most in `active`, if its changes are at known times. With each
/// change a packet of `packet` bits may go on at the rate of before.
fn line_bits(direction: &Direction, active: Active, packet: f64) -> f64 {
    let Active { from, to } = active;
    let timeline = direction.trace.timeline.with(&direction.timeline);
    let mut rate = direction.rate.bits_per_second() as f64;
    let (mut last, mut silent_until) = (from, Time::ZERO);
    let mut bits = 0.0;
    let sent = |rate: f64, from: Time, to: Time| rate * to.max(from).since(from).as_secs_f64();
    for (number, (happens, change)) in timeline.until(to).enumerate() {
        let at = happens.max(from);
        bits += sent(rate, silent_until.max(last), at);
        last = at;
        if number >= MOST_CHANGES {
            return bits + sent(peak(direction), last, to);
        }
        if at > from && (change.rate.is_some() || change.outage.is_some()) {
            bits += packet;
        }
        rate = change.rate.map_or(rate, |rate| rate.bits_per_second() as f64);
        silent_until = silent_until.max(happens + change.outage.unwrap_or(Span::ZERO));
    }
    bits + sent(rate, silent_until.max(last), to)
}

/// The shortest propagation delay of hops, in seconds.
pub(crate) fn least_delay(scenario: &Scenario, hops: &[Hop]) -> f64 {
    let delays = hops.iter().map(|hop| hop.direction(&scenario.links).least_delay());
    delays.map(Span::as_secs_f64).sum()
}

/// The bounds of a flow with these packets of data and ACKs on `ways`. Full packets have `payload`
/// bits of data, and the windows of all its connections `window` bits.
pub(crate) fn of(
    graph: Graph<'_>,
    routes: &Routes,
    (flow, ways): (&Flow, [Ends; 2]),
    packets: [&Packets<'_>; 2],
    [payload, window]: [f64; 2],
) -> Bounds {
    let scenario = graph.scenario;
    // Packets that a router forwards the other way only make it slower.
    let along = |way: usize, ends: Ends, hops: &[Hop]| {
        Way::new(graph, (ends, hops), packets[way], (&[], 0.0))
    };
    // The routes over switches and on other paths of the flow.
    let all = [0, 1].map(|way| {
        let mut ends: BTreeSet<_> = flow.all_ways().map(|ways| ways[way]).collect();
        ends.insert(ways[way]);
        let routes = ends.into_iter().flat_map(|ends| {
            let all = scenario.routes_of(routes, ends).into_iter();
            all.map(move |hops| (ends, hops))
        });
        routes.map(|(ends, hops)| along(way, ends, &hops)).collect::<Vec<_>>()
    });
    let of_way = |way: &Way, which: usize| payload / way.least_time[which];
    let [data, acks] = &all;
    let (capacity_bps, bottleneck_bps, most_bps) = match &**data {
        [only] => {
            let [mean, peak] = only.slowest.least_time.map(|time| payload / time);
            (of_way(only, 0), mean, peak * packets[0].bytes * 8.0 / payload)
        }
        // A flow may use several at once.
        several => (several.iter().map(|way| of_way(way, 1)).sum(), f64::INFINITY, f64::INFINITY),
    };
    // A small packet is faster than a full one.
    let writes = flow.traffic.writes().is_some() && flow.protocol().entry().has_stream;
    let serialised = if writes { 0.0 } else { 1.0 };
    let least = |ways: &[Way]| {
        let times = ways.iter().map(|way| way.least_delay[0] + serialised * way.least_delay[1]);
        times.fold(f64::INFINITY, f64::min)
    };
    let [there, back] = [least(data), least(acks)];
    let stops = flow.stop.is_some_and(|stop| stop < scenario.duration);
    let is_free = sends_beyond_window(flow) || is_spoofed(scenario, routes, flow);
    Bounds {
        capacity_bps,
        bottleneck_bps,
        most_bps,
        window_bps: if is_free { f64::INFINITY } else { window / (there + back) },
        window_bytes: window / 8.0,
        in_flight_bytes: if stops { window / 8.0 } else { 0.0 },
        least_rtt_ms: (there + back) * 1e3,
        least_way_ms: there.min(back) * 1e3,
        seconds: graph.active.seconds(),
    }
}

/// Returns true if the controller sends beyond the advertised window: its parameter `rwnd` is how
/// far it trusts that window.
pub(crate) fn sends_beyond_window(flow: &Flow) -> bool {
    let mut values = flow.controller.values().iter();
    values.any(|(parameter, value)| {
        parameter.name == "rwnd" && !matches!(value, Value::Word(word) if word == "off")
    })
}

/// Returns true if a middlebox acknowledges data in the name of the receiver, so that the round
/// trip of the sender is shorter than the path.
fn is_spoofed(scenario: &Scenario, routes: &Routes, flow: &Flow) -> bool {
    let nodes = flow.all_ways().flatten();
    let mut nodes = nodes.flat_map(|(from, to)| routes.nodes(from, to, &scenario.links));
    nodes.any(|node| matches!(scenario.nodes[node].middlebox, Some(Middlebox::SpoofingProxy(_))))
}
