//! One end of the outer connection of a tunnel over QUIC with congestion control: packets wait for
//! the window, leave at its pace, are acknowledged, and are found lost.
//!
//! Sources: RFC 9221 section 5 (DATAGRAM frames are acknowledged and limited by the window, and not
//! retransmitted), RFC 9297 section 3.5 (DATAGRAM capsules on a stream: retransmitted, in order),
//! RFC 9000 section 13.2 (ACKs), RFC 9002 (round-trip times, losses, probes, persistent congestion,
//! pacing). The controllers get the events that QUIC gives them ([`Driver`]).
//!
//! Decisions:
//! - Each second packet is acknowledged, at the latest after `max_ack_delay`, which is 25 ms. A
//!   packet that arrives out of order is acknowledged at once. An ACK joins a packet of the other
//!   direction if it fits, and is a packet of its own otherwise. Packets with ACKs alone have no
//!   number here.
//! - A probe timeout sends one packet: the first that waits, else a PING.
//! - The pace is 1.25 windows per smoothed round trip with bursts of ten packets (RFC 9002
//!   section 7.7).
//! - A packet that finds a full buffer is discarded. RFC 9221 section 5 leaves that to the sender.
//! - Capsules are not limited by flow control, and each is in a packet of its own.
//! - The set-up measures no round trip: before the first ACK it is 333 ms (RFC 9002
//!   section 6.2.2).

use std::collections::{BTreeMap, VecDeque};

use quic::Driver;
use transport::{Progress, Range, RangeSet, RtoConfig, RttEstimator};
use units::{Span, Time};

/// `max_ack_delay` (RFC 9000 section 18.2).
const MAX_ACK_DELAY: Span = Span::from_millis(25);
/// Packets without an ACK after which one is sent (RFC 9000 section 13.2.2).
const ACK_THRESHOLD: u32 = 2;
/// `kInitialRtt` (RFC 9002 section 6.2.2).
const INITIAL_RTT: Span = Span::from_millis(333);
/// `kGranularity` (RFC 9002 section 6.1.2).
const GRANULARITY: Span = Span::from_millis(1);
/// `kPacketThreshold` (RFC 9002 section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// `kPersistentCongestionThreshold` (RFC 9002 section 7.6.1).
const PERSISTENT: u64 = 3;
/// Largest exponent of the back-off of probes.
const MOST_DOUBLINGS: u32 = 16;
/// Windows per round trip at which packets leave (RFC 9002 section 7.7).
const PACE: f64 = 1.25;
/// Packets that leave at once, besides the one that is sent.
const BURST: f64 = 9.0;
/// Ranges of an ACK at most; older ones are forgotten (RFC 9000 section 13.2.3).
const MOST_RANGES: usize = 32;
/// Short header with a connection ID of 8 bytes and a packet number of 2, and tag.
const AROUND: u16 = 1 + 8 + 2 + 16;
/// An ACK frame with one range.
const ACK_FRAME: u16 = 9;
/// Gap and length of each further range.
const FURTHER_RANGE: u16 = 4;
/// PING and PADDING: the least that header protection can sample (RFC 9001 section 5.4.2).
const PING: u16 = 2;

/// Settings of an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Headers of IP and UDP, in bytes.
    pub headers: u16,
    /// Length of the longest IP packet outside.
    pub largest: u16,
    /// The largest congestion window in bytes.
    pub max_window: u64,
    /// Bytes of outer packets that may wait.
    pub buffer: u64,
    /// True if lost packets are retransmitted, and all come out in order.
    pub capsules: bool,
}

/// Frames of a packet, apart from its content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frames {
    /// Number of the packet; none if it has an ACK only.
    number: Option<u64>,
    /// Position of its content among all.
    position: u64,
    ack: Option<Ack>,
}

/// An ACK frame.
#[derive(Clone, Debug, PartialEq)]
struct Ack {
    /// Numbers that have arrived, from the lowest.
    ranges: Vec<Range>,
    /// Time since the highest has arrived.
    delay: Span,
}

impl Ack {
    fn bytes(&self) -> u16 {
        // At most `MOST_RANGES`.
        let further = u16::try_from(self.ranges.len()).unwrap_or(u16::MAX).saturating_sub(1);
        ACK_FRAME + FURTHER_RANGE * further
    }
}

/// A packet that leaves.
#[derive(Clone, Debug)]
pub(crate) struct Departure<T> {
    pub frames: Frames,
    /// Content; none for ACKs alone and for PINGs.
    pub content: Option<T>,
    /// Length as an IP packet.
    pub bytes: u16,
    /// True if it was sent before.
    pub again: bool,
}

/// Counters of an end.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    /// Packets that are acknowledged: those with content, and PINGs.
    packets: u64,
    /// Packets with an ACK only.
    acks: u64,
    lost: u64,
    retransmissions: u64,
    probe_timeouts: u64,
    /// Packets that found a full buffer.
    dropped: u64,
    /// The most that has waited, in bytes.
    max_queue: u64,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    content: T,
    position: u64,
    bytes: u16,
    again: bool,
}

/// A packet without an ACK.
#[derive(Clone, Debug)]
struct Sent<T> {
    number: u64,
    at: Time,
    /// Payload of UDP.
    bytes: u64,
    /// To send it again; none if it is not.
    content: Option<Waiting<T>>,
}

/// Packets that have arrived.
#[derive(Debug, Default)]
struct Received {
    numbers: RangeSet,
    /// Numbers below are forgotten.
    floor: u64,
    newest_at: Time,
    unacknowledged: u32,
    /// An ACK must be sent now.
    is_due: bool,
    /// When one must be sent.
    ack_at: Option<Time>,
}

impl Received {
    /// Returns false if the packet has come before.
    fn take_in(&mut self, now: Time, number: u64) -> bool {
        if number < self.floor || self.numbers.contains(number, number + 1) {
            return false;
        }
        let expected = self.numbers.end().unwrap_or(0);
        self.is_due |= number != expected;
        if number >= expected {
            self.newest_at = now;
        }
        self.numbers.insert(number, number + 1, 0);
        while self.numbers.len() > MOST_RANGES {
            self.floor = self.numbers.first().map_or(0, |range| range.end);
            self.numbers.remove_below(self.floor);
        }
        self.unacknowledged += 1;
        self.is_due |= self.unacknowledged >= ACK_THRESHOLD;
        self.ack_at.get_or_insert(now + MAX_ACK_DELAY);
        true
    }

    fn ack(&self, now: Time) -> Option<Ack> {
        let ranges = || self.numbers.iter().collect();
        (self.unacknowledged > 0)
            .then(|| Ack { ranges: ranges(), delay: now.since(self.newest_at) })
    }

    fn on_acknowledged(&mut self) {
        (self.unacknowledged, self.is_due, self.ack_at) = (0, false, None);
    }
}

/// An end with packets of type `T` inside.
#[derive(Debug)]
pub(crate) struct Outer<T> {
    settings: Settings,
    driver: Driver,
    rtt: RttEstimator,
    latest: Span,
    queue: VecDeque<Waiting<T>>,
    queue_bytes: u64,
    /// Position of the next content that comes.
    position: u64,
    sent: VecDeque<Sent<T>>,
    next_number: u64,
    in_flight: u64,
    largest_acknowledged: Option<u64>,
    last_sent: Time,
    /// When the first packet without an ACK counts as lost; [`Time::NEVER`] if that is open.
    loss_at: Time,
    probe_timeouts: u32,
    probes: u32,
    /// When all that has left would have left at the pace.
    paced_until: Time,
    /// Departure of the packet that waits for the pace; [`Time::NEVER`] if none does.
    release_at: Time,
    /// The window or the pace of the controller holds packets back.
    is_limited: bool,
    received: Received,
    /// Content that waits for what is missing before it.
    out_of_order: BTreeMap<u64, T>,
    /// Position of the content that comes out next.
    released: u64,
    counters: Counters,
}

impl<T: Clone> Outer<T> {
    /// An end that has sent nothing yet.
    pub fn new(settings: Settings, driver: Driver) -> Self {
        Self {
            settings,
            driver,
            rtt: RttEstimator::new(&RtoConfig::default()),
            latest: INITIAL_RTT,
            queue: VecDeque::new(),
            queue_bytes: 0,
            position: 0,
            sent: VecDeque::new(),
            next_number: 0,
            in_flight: 0,
            largest_acknowledged: None,
            last_sent: Time::ZERO,
            loss_at: Time::NEVER,
            probe_timeouts: 0,
            probes: 0,
            paced_until: Time::ZERO,
            release_at: Time::NEVER,
            is_limited: false,
            received: Received::default(),
            out_of_order: BTreeMap::new(),
            released: 0,
            counters: Counters::default(),
        }
    }

    /// Content comes whose packet has `bytes`. It waits, or is discarded if too much does.
    pub fn push(&mut self, content: T, bytes: u16) {
        if self.queue_bytes + u64::from(bytes) > self.settings.buffer {
            self.counters.dropped += 1;
            return;
        }
        let position = self.position;
        self.position += 1;
        self.queue_bytes += u64::from(bytes);
        self.counters.max_queue = self.counters.max_queue.max(self.queue_bytes);
        self.queue.push_back(Waiting { content, position, bytes, again: false });
    }

    /// The next packet that leaves now.
    pub fn next_packet(&mut self, now: Time) -> Option<Departure<T>> {
        self.release_at = Time::NEVER;
        let is_probe = self.probes > 0;
        let Some(first) = self.queue.front() else {
            self.is_limited = false;
            return if is_probe { Some(self.depart(now, None)) } else { self.ack_alone(now) };
        };
        let payload = u64::from(first.bytes - self.settings.headers);
        if !is_probe && !self.may_leave(now, payload) {
            return self.ack_alone(now);
        }
        let first = self.queue.pop_front();
        self.queue_bytes -= first.as_ref().map_or(0, |first| u64::from(first.bytes));
        Some(self.depart(now, first))
    }

    /// The window in bytes.
    fn window(&self) -> u64 {
        self.driver.window().min(self.settings.max_window)
    }

    fn may_leave(&mut self, now: Time, payload: u64) -> bool {
        if self.in_flight + payload > self.window() {
            self.is_limited = self.driver.window() <= self.settings.max_window;
            return false;
        }
        let burst = self.at_pace(BURST * f64::from(self.settings.largest));
        if now + burst < self.paced_until {
            self.is_limited = true;
            self.release_at = self.paced_until - burst;
            return false;
        }
        true
    }

    /// Time that these bytes take at the pace.
    fn at_pace(&self, bytes: f64) -> Span {
        let rate = PACE * self.window() as f64 / self.smoothed().as_secs_f64();
        Span::from_secs_f64(bytes / rate)
    }

    fn smoothed(&self) -> Span {
        self.rtt.srtt().unwrap_or(INITIAL_RTT).max(Span::from_nanos(1))
    }

    /// A packet that is acknowledged leaves, with content or a PING, and an ACK if there is room.
    fn depart(&mut self, now: Time, first: Option<Waiting<T>>) -> Departure<T> {
        let Settings { headers, largest, capsules, .. } = self.settings;
        let bytes = first.as_ref().map_or(headers + AROUND + PING, |first| first.bytes);
        let ack = self.received.ack(now).filter(|ack| bytes + ack.bytes() <= largest);
        let bytes = bytes + ack.as_ref().map_or(0, Ack::bytes);
        if ack.is_some() {
            self.received.on_acknowledged();
        }
        let number = self.next_number;
        self.next_number += 1;
        let payload = u64::from(bytes - headers);
        let kept = first.clone().filter(|_| capsules);
        self.sent.push_back(Sent { number, at: now, bytes: payload, content: kept });
        self.driver.on_sent(now, payload);
        self.in_flight += payload;
        self.last_sent = now;
        self.probes = self.probes.saturating_sub(1);
        self.paced_until = self.paced_until.max(now) + self.at_pace(payload as f64);
        self.counters.packets += 1;
        let position = first.as_ref().map_or(0, |first| first.position);
        let again = first.as_ref().is_some_and(|first| first.again);
        self.counters.retransmissions += u64::from(again);
        let frames = Frames { number: Some(number), position, ack };
        Departure { frames, content: first.map(|first| first.content), bytes, again }
    }

    fn ack_alone(&mut self, now: Time) -> Option<Departure<T>> {
        let ack = self.received.ack(now).filter(|_| self.received.is_due)?;
        self.received.on_acknowledged();
        self.counters.acks += 1;
        let bytes = self.settings.headers + AROUND + ack.bytes();
        let frames = Frames { number: None, position: 0, ack: Some(ack) };
        Some(Departure { frames, content: None, bytes, again: false })
    }

    /// A packet has arrived. Returns what comes out of the tunnel.
    pub fn on_packet(&mut self, now: Time, frames: &Frames, content: Option<T>) -> Vec<T> {
        if let Some(ack) = &frames.ack {
            self.on_ack(now, ack);
        }
        let is_new = frames.number.is_some_and(|number| self.received.take_in(now, number));
        let Some(content) = content.filter(|_| is_new) else { return Vec::new() };
        if !self.settings.capsules {
            return vec![content];
        }
        // What was retransmitted although it had arrived is here twice.
        if frames.position >= self.released {
            self.out_of_order.insert(frames.position, content);
        }
        let mut out = Vec::new();
        while let Some(content) = self.out_of_order.remove(&self.released) {
            self.released += 1;
            out.push(content);
        }
        out
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let Some(largest) = ack.ranges.last().map(|range| range.end - 1) else { return };
        let mut newest = None;
        for range in &ack.ranges {
            let place = self.sent.partition_point(|sent| sent.number < range.start);
            while self.sent.get(place).is_some_and(|sent| sent.number < range.end)
                && let Some(sent) = self.sent.remove(place)
            {
                self.driver.on_ack(now, sent.at, sent.bytes);
                self.in_flight -= sent.bytes;
                newest = Some((sent.number, sent.at));
            }
        }
        let Some((number, sent_at)) = newest else { return };
        if number == largest {
            self.measure(now.since(sent_at), ack.delay);
        }
        self.largest_acknowledged = self.largest_acknowledged.max(Some(number));
        self.driver.on_end_acks(now, self.in_flight, !self.is_limited);
        self.probe_timeouts = 0;
        self.detect_losses(now);
    }

    /// A round-trip time, without the delay of the ACK unless it would be less than the smallest
    /// (RFC 9002 section 5.3).
    fn measure(&mut self, sample: Span, delay: Span) {
        self.latest = sample;
        let delay = delay.min(MAX_ACK_DELAY);
        let least = self.rtt.min().map_or(sample, |min| min.min(sample)) + delay;
        let adjusted = if sample >= least { sample - delay } else { sample };
        let progress = Progress { per_round: 1, acknowledged: 0, sent: 0 };
        self.rtt.sample(&RtoConfig::default(), adjusted, progress);
    }

    /// RFC 9002 section 6.1: lost are packets that were sent before an acknowledged one, by number
    /// or by time.
    fn detect_losses(&mut self, now: Time) {
        self.loss_at = Time::NEVER;
        let Some(largest) = self.largest_acknowledged else { return };
        let longest = self.latest.max(self.smoothed());
        let delay = Span::from_nanos(longest.as_nanos() / 8 * 9).max(GRANULARITY);
        let mut lost = Vec::new();
        while let Some(first) = self.sent.front().filter(|first| first.number < largest) {
            if first.number + PACKET_THRESHOLD > largest && first.at + delay > now {
                self.loss_at = first.at + delay;
                break;
            }
            lost.extend(self.sent.pop_front());
        }
        let Some(youngest) = lost.last().map(|sent| sent.at) else { return };
        let bytes = lost.iter().map(|sent| sent.bytes).sum();
        self.in_flight -= bytes;
        self.counters.lost += lost.len() as u64;
        let is_persistent = self.is_persistent(&lost);
        self.driver.on_congestion_event(now, youngest, is_persistent, bytes);
        for waiting in lost.into_iter().rev().filter_map(|sent| sent.content) {
            self.queue_bytes += u64::from(waiting.bytes);
            self.queue.push_front(Waiting { again: true, ..waiting });
        }
    }

    /// RFC 9002 section 7.6: no packet of a long time has arrived.
    fn is_persistent(&self, lost: &[Sent<T>]) -> bool {
        let duration = self.probe_timeout().times(PERSISTENT);
        let mut first = 0;
        let runs = (0..lost.len()).map(|last| {
            if last > 0 && lost[last].number != lost[last - 1].number + 1 {
                first = last;
            }
            lost[last].at.since(lost[first].at)
        });
        self.rtt.srtt().is_some() && runs.max().is_some_and(|longest| longest > duration)
    }

    /// RFC 9002 section 6.2.1, without back-off.
    fn probe_timeout(&self) -> Span {
        let variation = match self.rtt.srtt() {
            Some(_) => self.rtt.rttvar(),
            None => Span::from_nanos(INITIAL_RTT.as_nanos() / 2),
        };
        self.smoothed() + variation.times(4).max(GRANULARITY) + MAX_ACK_DELAY
    }

    /// When a probe is sent, or a packet is lost by time.
    fn recovery_at(&self) -> Time {
        if self.loss_at != Time::NEVER {
            return self.loss_at;
        }
        if self.sent.is_empty() {
            return Time::NEVER;
        }
        self.last_sent + self.probe_timeout().doubled(self.probe_timeouts.min(MOST_DOUBLINGS))
    }

    /// Time at which [`on_deadline`](Self::on_deadline) is due; [`Time::NEVER`] for none.
    pub fn deadline(&self) -> Time {
        let ack = self.received.ack_at.unwrap_or(Time::NEVER);
        ack.min(self.recovery_at()).min(self.release_at)
    }

    /// The deadline has come. [`next_packet`](Self::next_packet) has what follows.
    pub fn on_deadline(&mut self, now: Time) {
        self.received.is_due |= self.received.ack_at.is_some_and(|at| at <= now);
        if self.recovery_at() > now {
            return;
        }
        if self.loss_at <= now {
            return self.detect_losses(now);
        }
        self.probe_timeouts += 1;
        self.probes = 1;
        self.counters.probe_timeouts += 1;
    }

    /// Its counters and its state. The smoothed round-trip time is zero before the first ACK.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        // Without `..`, so that a new counter has to stand in the table.
        let Counters { packets, acks, lost, retransmissions, probe_timeouts, dropped, max_queue } =
            self.counters;
        vec![
            ("packets", packets),
            ("acks", acks),
            ("lost", lost),
            ("retransmissions", retransmissions),
            ("probe_timeouts", probe_timeouts),
            ("dropped", dropped),
            ("max_queue", max_queue),
            ("window", self.window()),
            ("in_flight", self.in_flight),
            ("queue", self.queue_bytes),
            ("srtt_ns", self.rtt.srtt().unwrap_or_default().as_nanos()),
        ]
    }
}

#[cfg(test)]
mod tests;
