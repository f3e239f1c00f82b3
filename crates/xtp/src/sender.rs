//! Sender: data, retransmissions, and what limits them: the window, RATE and BURST.
//!
//! Data is retransmitted in the packets in which it was sent first. No timer runs on it.

mod report;

use std::collections::VecDeque;

use transport::{Counters, Estimator, Limit, RangeSet, RtoConfig, RttEstimator};
use units::{Span, Time};

use crate::config::{Config, Retransmission};
use crate::packet::{HEADER, Traffic, first_segments, spans_within};
use crate::rate::Gate;
use crate::requests::{Requests, Timing};

pub(crate) use report::Status;

/// The RTT is smoothed like that of TCP.
const SMOOTHING: RtoConfig = RtoConfig {
    estimator: Estimator::Rfc6298,
    initial: Span::from_secs(1),
    min: Span::ZERO,
    max: Span::from_secs(60),
    granularity: Span::from_nanos(1),
    alpha: 0.125,
    beta: 0.25,
    k: 4.0,
};

/// The shortest WTIMER and interval of requests that follow from the RTT.
const SHORTEST: Span = Span::from_millis(10);

/// State of a packet that is not acknowledged in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// In the network, as far as is known.
    Sent,
    /// In the network for the second time, or more.
    Repeated,
    /// Waits for its retransmission.
    Lost,
    /// Has arrived above a gap.
    Arrived,
}

/// A packet that is not acknowledged in order.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// SEQ.
    start: u64,
    /// The last request before it was sent last.
    sync: u64,
    payload: u16,
    /// It had a request when it was sent last.
    asked: bool,
    fate: Fate,
}

/// A packet that may leave.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    number: u64,
    seq: u64,
    payload: u16,
    /// A request was lost with it.
    lost_request: bool,
}

/// A data packet to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) seq: u64,
    pub(crate) payload: u16,
    /// The stream ends behind it.
    pub(crate) ends: bool,
    /// It has SREQ.
    pub(crate) requests: bool,
}

/// Sender of one end.
#[derive(Debug)]
pub(crate) struct Sender {
    mss: u64,
    /// Bytes of a data packet in addition to its payload.
    overhead: u64,
    /// Spans that the largest packet of the other end has.
    most_spans: usize,
    goes_back: bool,
    /// Length of the stream so far.
    written: u64,
    closing: bool,
    /// The end of the stream was sent (WCLOSE), and the other end has all of it (RCLOSE).
    closed: bool,
    finished: bool,
    /// Everything below is acknowledged in order, and was sent.
    acknowledged: u64,
    next: u64,
    /// The end of the window, and whether the other end has granted it.
    alloc: u64,
    is_granted: bool,
    /// The other end knows the connection, and answers requests.
    is_open: bool,
    /// Payload of the first FIRST, once it was sent.
    opening: Option<u16>,
    /// Packets that are not acknowledged in order, and the number of the first.
    records: VecDeque<Record>,
    first: u64,
    /// Numbers of lost packets.
    lost: RangeSet,
    /// Data below was sent when the last loss was found, which is repaired when all of it is
    /// acknowledged.
    repaired_at: u64,
    /// Bytes that have arrived above gaps.
    arrived: RangeSet,
    flight: u64,
    /// Data has been sent since the last request.
    has_unasked: bool,
    gate: Gate,
    pub(crate) requests: Requests,
    rtt: RttEstimator,
    counters: Counters,
}

impl Sender {
    pub(crate) fn new(config: &Config) -> Self {
        let mss = u64::from(config.mss);
        Self {
            mss,
            overhead: u64::from(HEADER) + u64::from(config.ip_header),
            most_spans: spans_within(config.mss),
            goes_back: config.retransmission == Retransmission::GoBackN,
            written: 0,
            closing: false,
            closed: false,
            finished: false,
            acknowledged: 0,
            next: 0,
            alloc: (u64::from(config.initial_window) * mss).min(config.receive_buffer.get()),
            is_granted: false,
            is_open: false,
            opening: None,
            records: VecDeque::new(),
            first: 0,
            lost: RangeSet::default(),
            repaired_at: 0,
            arrived: RangeSet::default(),
            flight: 0,
            has_unasked: false,
            gate: Gate::new(config.bytes_per_second(), config.burst_bytes()),
            requests: Requests::new(),
            rtt: RttEstimator::new(&SMOOTHING),
            counters: Counters::default(),
        }
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    pub(crate) fn withdraw(&mut self) -> u64 {
        self.written = self.next;
        self.written
    }

    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The next byte.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The window behind what is acknowledged.
    pub(crate) fn credit(&self) -> u64 {
        self.alloc.saturating_sub(self.acknowledged)
    }

    pub(crate) fn flight(&self) -> u64 {
        self.flight
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The other end has the stream with its end.
    pub(crate) fn finished(&self) -> bool {
        self.finished
    }

    /// The end of the stream was sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    fn has_new(&self) -> bool {
        self.next < self.written
    }

    /// The stream ends, and no data is left that would carry WCLOSE.
    pub(crate) fn must_close(&self) -> bool {
        self.closing && !self.closed && !self.has_new()
    }

    /// WCLOSE leaves.
    pub(crate) fn on_close(&mut self) {
        self.closed = true;
    }

    /// Something is not acknowledged, or was never sent.
    fn is_busy(&self) -> bool {
        self.acknowledged < self.next || self.has_new() || (self.closed && !self.finished)
    }

    #[inline]
    pub(crate) fn may_send(&self) -> bool {
        self.requests.is_due() || !self.lost.is_empty() || self.has_new() || self.must_close()
    }

    /// The window keeps data back, and nothing is outstanding that an answer would acknowledge.
    pub(crate) fn is_blocked(&self) -> bool {
        self.has_new() && self.acknowledged == self.next && self.alloc <= self.next
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.requests.deadline().min(self.gate.deadline()).min(self.request_deadline())
    }

    /// When a request is due without data. Data that the rate keeps back will have it.
    #[inline]
    fn request_deadline(&self) -> Time {
        let waits = self.is_open
            && self.requests.permits_data()
            && (self.has_unasked || (!self.requests.has_open() && self.is_busy()))
            && self.gate.deadline() == Time::NEVER
            && !self.requests.is_due();
        if waits { self.requests.next_due() } else { Time::NEVER }
    }

    /// The rate or the time of requests has come.
    pub(crate) fn on_deadline(&mut self, now: Time) {
        if self.gate.deadline() <= now {
            self.gate.release();
        }
        if self.request_deadline() <= now {
            self.requests.request();
        }
    }

    /// WTIMER.
    pub(crate) fn wtimer(&self, config: &Config) -> Span {
        self.rtt.srtt().map_or(config.wtimer, |srtt| srtt.doubled(1).max(SHORTEST))
    }

    fn timing(&self, config: &Config) -> Timing {
        let interval = config
            .request_interval
            .unwrap_or_else(|| self.rtt.srtt().map_or(config.wtimer, |srtt| srtt.max(SHORTEST)));
        let longest = config.ctimer.max(interval);
        Timing { wtimer: self.wtimer(config), interval, longest, timeout: config.ctimeout }
    }

    /// The connection is over: nothing is sent any more.
    pub(crate) fn stop(&mut self) {
        self.is_open = false;
        self.requests.stop();
        self.gate.release();
        self.lost = RangeSet::default();
        self.has_unasked = false;
        self.closing = false;
        self.written = self.next;
    }

    /// The other end knows the connection.
    pub(crate) fn begin(&mut self, now: Time, config: &Config) {
        self.is_open = true;
        self.requests.begin(now, config);
        if self.has_unasked {
            self.requests.request();
        }
    }

    /// The other end takes no more than `traffic` has.
    pub(crate) fn restrict(&mut self, config: &Config, traffic: &Traffic) {
        self.gate.restrict(traffic, config.full_packet());
    }

    /// A FIRST leaves, with data if some is written. The first of them decides how much. Returns
    /// its payload.
    pub(crate) fn open(&mut self, now: Time, config: &Config) -> u16 {
        let segments = u64::from(first_segments(config.ip_header));
        let sync = self.requests.sent();
        let payload = match self.opening {
            Some(payload) => {
                if let Some(record) = self.records.front_mut().filter(|_| payload > 0) {
                    record.sync = sync;
                    self.counters.retransmissions += 1;
                    self.count(payload);
                }
                payload
            }
            None => {
                let room = self.mss.saturating_sub(segments).min(self.alloc);
                let payload = self.written.min(room);
                if payload > 0 { self.pack(payload) } else { 0 }
            }
        };
        self.opening = Some(payload);
        self.closed |= self.opening_ends();
        self.gate.on_sent(now, u64::from(payload) + segments + self.overhead);
        self.ask(now, config);
        payload
    }

    /// Returns true if the stream ends with the data of the FIRST.
    pub(crate) fn opening_ends(&self) -> bool {
        self.closing && self.opening.is_some_and(|payload| u64::from(payload) == self.written)
    }

    /// The next data packet, if the window and the rate let one out.
    #[inline]
    pub(crate) fn next_data(&mut self, now: Time, config: &Config) -> Option<Data> {
        if !self.requests.permits_data() {
            return None;
        }
        let Chosen { number, seq, payload, lost_request } =
            if self.lost.is_empty() { self.next_new(now)? } else { self.next_lost(now)? };
        let end = seq + u64::from(payload);
        self.gate.on_sent(now, u64::from(payload) + self.overhead);
        let ends = self.closing && end == self.written;
        let is_last = ends && !self.closed;
        self.closed |= ends;
        self.has_unasked = true;
        let requests = self.is_open && (is_last || lost_request || self.requests.wants(now));
        if requests {
            if lost_request {
                self.requests.forget_wtimer();
            }
            self.record_mut(number).asked = true;
            self.ask(now, config);
        }
        Some(Data { seq, payload, ends, requests })
    }

    /// A request leaves.
    pub(crate) fn ask(&mut self, now: Time, config: &Config) {
        let timing = self.timing(config);
        self.has_unasked = false;
        self.requests.on_request(now, self.next, timing);
    }

    #[inline]
    fn next_new(&mut self, now: Time) -> Option<Chosen> {
        if !self.has_new() {
            return None;
        }
        let mut payload = (self.written - self.next).min(self.mss);
        if self.next + payload > self.alloc {
            // Half a window is worth a packet only if nothing else is outstanding.
            payload = self.alloc.saturating_sub(self.next);
            if payload == 0 || self.flight > 0 {
                return None;
            }
        }
        if self.gate.holds(now, payload + self.overhead) {
            return None;
        }
        let (number, seq) = (self.first + self.records.len() as u64, self.next);
        Some(Chosen { number, seq, payload: self.pack(payload), lost_request: false })
    }

    /// A new packet of `payload` bytes, at most the MSS.
    #[expect(clippy::cast_possible_truncation, reason = "a packet has at most 65535 bytes")]
    fn pack(&mut self, payload: u64) -> u16 {
        let (start, bytes) = (self.next, payload as u16);
        self.next += payload;
        let sync = self.requests.sent();
        self.records.push_back(Record {
            start,
            sync,
            payload: bytes,
            asked: false,
            fate: Fate::Sent,
        });
        self.flight += payload;
        self.count(bytes);
        bytes
    }

    /// The lowest lost packet, if it is within the window; else new data.
    #[cold]
    fn next_lost(&mut self, now: Time) -> Option<Chosen> {
        let number = loop {
            let Some(range) = self.lost.first() else { return self.next_new(now) };
            // It may have arrived since.
            if range.start >= self.first && self.record(range.start).fate == Fate::Lost {
                break range.start;
            }
            self.lost.remove_below(range.start + 1);
        };
        let Record { start, payload, asked, .. } = *self.record(number);
        let bytes = u64::from(payload);
        if start + bytes > self.alloc || self.gate.holds(now, bytes + self.overhead) {
            return None;
        }
        self.lost.remove_below(number + 1);
        let sync = self.requests.sent();
        *self.record_mut(number) =
            Record { start, sync, payload, asked: false, fate: Fate::Repeated };
        self.flight += bytes;
        self.count(payload);
        self.counters.retransmissions += 1;
        Some(Chosen { number, seq: start, payload, lost_request: asked })
    }

    /// The limit that holds the open connection back. There is no congestion window and no send
    /// buffer.
    pub(crate) fn limit(&self) -> Limit {
        if self.acknowledged >= self.written {
            return if self.written == 0 { Limit::Uncounted } else { Limit::Idle };
        }
        // A synchronising handshake asks what has arrived after a request without an answer.
        if !self.requests.permits_data() || self.acknowledged < self.repaired_at {
            return Limit::Recovery;
        }
        let payload = (self.written - self.next).min(self.mss);
        if payload == 0 {
            Limit::Application
        } else if self.alloc.saturating_sub(self.next) >= payload
            && self.gate.deadline() < Time::NEVER
        {
            Limit::Pacing
        } else {
            Limit::ReceiveWindow
        }
    }

    fn count(&mut self, payload: u16) {
        self.counters.segments += 1;
        self.counters.bytes += u64::from(payload);
    }

    #[expect(clippy::cast_possible_truncation, reason = "as many packets as are in memory")]
    fn record(&self, number: u64) -> &Record {
        &self.records[(number - self.first) as usize]
    }

    #[expect(clippy::cast_possible_truncation, reason = "as many packets as are in memory")]
    fn record_mut(&mut self, number: u64) -> &mut Record {
        &mut self.records[(number - self.first) as usize]
    }
}
