//! Sender: packets, retransmissions, and what STAT and USTAT change (Q.2110: VT(A), VT(S), VT(MS)).
//!
//! No timer runs on data, and no RTT estimate finds a loss. Each packet knows the last POLL before
//! its last transmission. A STAT shows that a packet is lost if it was sent before the POLL that
//! the STAT answers. A USTAT shows it for packets that were sent once.

use std::collections::VecDeque;

use congestion::AnyController;
use transport::{Counters, Estimator, Limit, RangeSet, RtoConfig, RttEstimator};
use units::{Span, Time};

use crate::config::Config;
use crate::control::{Controlled, Report};
use crate::pdu::header_of_data;
use crate::polls::Polls;
use crate::probing::{Cause, Probing, Step};

mod report;

pub(crate) use report::Status;

/// The RTT is smoothed like that of TCP. Nothing but recordings, controllers and probing uses it.
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
    /// VT(PS) when it was sent last.
    poll: u64,
    payload: u16,
    fate: Fate,
}

/// A data packet to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) number: u64,
    pub(crate) payload: u16,
    pub(crate) ends: bool,
    /// N(PS), if it is also a POLL.
    pub(crate) poll: Option<u64>,
}

/// Sender of one end.
#[derive(Debug)]
pub(crate) struct Sender {
    mss: u64,
    /// Length of the stream so far, and the part of it that is in packets.
    written: u64,
    packed: u64,
    closing: bool,
    /// Number of the packet that ends the stream, once it was sent.
    end: Option<u64>,
    /// VT(A), VT(S) and VT(MS).
    acknowledged: u64,
    next: u64,
    limit: u64,
    /// The packets from VT(A) up to VT(S).
    records: VecDeque<Record>,
    /// Numbers of lost packets, and of packets that have arrived above a gap.
    lost: RangeSet,
    /// Packets below were sent when the last loss was found, which is repaired when all of them are
    /// acknowledged.
    repaired_at: u64,
    arrived: RangeSet,
    /// Bytes of the stream that are acknowledged in order, and that are in the network.
    acknowledged_bytes: u64,
    flight: u64,
    control: Controlled,
    pub(crate) polls: Polls,
    probing: Option<Box<Probing>>,
    /// Multiple of the minimum RTT above which a probe shows congestion.
    congested_from: f64,
    rtt: RttEstimator,
    counters: Counters,
}

impl Sender {
    pub(crate) fn new(config: &Config, controller: AnyController) -> Self {
        Self {
            mss: u64::from(config.mss),
            written: 0,
            packed: 0,
            closing: false,
            end: None,
            acknowledged: 0,
            next: 0,
            limit: 0,
            records: VecDeque::new(),
            lost: RangeSet::default(),
            repaired_at: 0,
            arrived: RangeSet::default(),
            acknowledged_bytes: 0,
            flight: 0,
            control: Controlled::new(config, controller),
            polls: Polls::new(),
            probing: config.probing.then(Box::default),
            congested_from: config.probe_inflation,
            rtt: RttEstimator::new(&SMOOTHING),
            counters: Counters::default(),
        }
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    pub(crate) fn withdraw(&mut self) -> u64 {
        self.written = self.packed;
        self.written
    }

    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged_bytes
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// VT(S).
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The credit behind VT(A) in bytes.
    pub(crate) fn credit(&self) -> u64 {
        self.limit.saturating_sub(self.acknowledged) * self.mss
    }

    pub(crate) fn flight(&self) -> u64 {
        self.flight
    }

    pub(crate) fn control(&self) -> &Controlled {
        &self.control
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) fn probing(&self) -> Option<&Probing> {
        self.probing.as_deref()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The stream has arrived with its end.
    pub(crate) fn finished(&self) -> bool {
        self.end.is_some_and(|end| end < self.acknowledged)
    }

    /// Data, or the end of the stream, was never sent.
    fn has_new(&self) -> bool {
        self.packed < self.written || (self.closing && self.end.is_none())
    }

    /// Data is waiting or unacknowledged.
    fn is_busy(&self) -> bool {
        self.acknowledged < self.next || self.has_new()
    }

    #[inline]
    pub(crate) fn may_send(&self) -> bool {
        self.polls.is_due() || !self.lost.is_empty() || self.has_new()
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        let probing = self.probing.as_ref().map_or(Time::NEVER, |probing| probing.deadline());
        self.polls.deadline().min(self.control.deadline()).min(probing)
    }

    /// The deadline has come. Returns true if the other end does not answer.
    pub(crate) fn on_deadline(&mut self, now: Time) -> bool {
        if self.control.deadline() <= now {
            self.control.release();
        }
        let patience = self.patience();
        if let Some(probing) = &mut self.probing
            && probing.on_deadline(now, patience)
        {
            self.polls.request();
        }
        self.polls.on_deadline(now)
    }

    /// The connection is open. The other end takes the packets below `limit`.
    pub(crate) fn begin(&mut self, now: Time, config: &Config, limit: u64) {
        self.limit = limit;
        self.polls.rest(now, config);
    }

    /// The connection is over: nothing is sent any more.
    pub(crate) fn stop(&mut self) {
        self.polls.stop();
        self.control.release();
        self.probing.iter_mut().for_each(|probing| probing.stop());
        self.lost = RangeSet::default();
        self.closing = false;
        self.written = self.packed;
    }

    /// The first packet of the stream goes with the BGN, before there is a credit. Returns its
    /// payload.
    pub(crate) fn opening_data(&mut self) -> u16 {
        if self.packed < self.written { self.pack().payload } else { 0 }
    }

    /// The BGN is repeated. Returns the payload that it had.
    pub(crate) fn opening_data_again(&mut self) -> u16 {
        let payload = self.records.front().map_or(0, |record| record.payload);
        self.count(payload);
        self.counters.retransmissions += u64::from(payload > 0);
        payload
    }

    /// Returns true if the packet of the BGN ends the stream.
    pub(crate) fn opening_ends(&self) -> bool {
        self.end == Some(0)
    }

    /// The next data packet, if the windows and the rate let one out.
    #[inline]
    pub(crate) fn next_data(&mut self, now: Time, config: &Config) -> Option<Data> {
        if self.probing.as_ref().is_some_and(|probing| probing.suspends()) {
            return None;
        }
        let mut data =
            if self.lost.is_empty() { self.next_new(now)? } else { self.next_lost(now)? };
        let is_new = data.number + 1 == self.next;
        let is_last = data.ends;
        if self.polls.on_data(now, config) || is_last {
            if is_new {
                data.poll = Some(self.polls.on_poll(now, config));
            } else {
                // N(S) of the POLL would not be the number behind the packet's.
                self.polls.request();
            }
        }
        self.control.on_sent(now, header_of_data(data.poll.is_some()) + data.payload);
        Some(data)
    }

    fn next_new(&mut self, now: Time) -> Option<Data> {
        if !self.has_new() || self.next >= self.limit {
            return None;
        }
        let payload = (self.written - self.packed).min(self.mss);
        if !self.control.admits(self.flight, payload) || self.control.holds(now) {
            return None;
        }
        Some(self.pack())
    }

    fn pack(&mut self) -> Data {
        #[expect(clippy::cast_possible_truncation, reason = "a packet has at most 65535 bytes")]
        let payload = (self.written - self.packed).min(self.mss) as u16;
        let (number, poll) = (self.next, self.polls.sent());
        self.packed += u64::from(payload);
        self.next += 1;
        let ends = self.closing && self.packed == self.written;
        if ends {
            self.end = Some(number);
        }
        self.records.push_back(Record { poll, payload, fate: Fate::Sent });
        self.flight += u64::from(payload);
        self.count(payload);
        Data { number, payload, ends, poll: None }
    }

    /// The lowest lost packet.
    #[cold]
    fn next_lost(&mut self, now: Time) -> Option<Data> {
        let number = loop {
            let number = self.lost.first()?.start;
            // It may have arrived since.
            if self.record(number).fate == Fate::Lost {
                break number;
            }
            self.lost.remove_below(number + 1);
            if self.lost.is_empty() {
                return self.next_new(now);
            }
        };
        let payload = self.record(number).payload;
        if !self.control.admits(self.flight, u64::from(payload)) || self.control.holds(now) {
            return None;
        }
        self.lost.remove_below(number + 1);
        let poll = self.polls.sent();
        *self.record_mut(number) = Record { poll, payload, fate: Fate::Repeated };
        self.flight += u64::from(payload);
        self.count(payload);
        self.counters.retransmissions += u64::from(payload > 0);
        Some(Data { number, payload, ends: self.end == Some(number), poll: None })
    }

    /// The limit that holds the open connection back. There is no send buffer.
    pub(crate) fn limit(&self) -> Limit {
        if self.acknowledged_bytes >= self.written {
            return if self.written == 0 { Limit::Uncounted } else { Limit::Idle };
        }
        let is_suspended = self.probing.as_ref().is_some_and(|probing| probing.suspends());
        if is_suspended || self.acknowledged < self.repaired_at {
            return Limit::Recovery;
        }
        let payload = (self.written - self.packed).min(self.mss);
        if payload == 0 {
            return Limit::Application;
        }
        let credit = self.limit.saturating_sub(self.next) * self.mss;
        let room = self.control.window().saturating_sub(self.flight);
        if room >= payload && credit >= payload && self.is_held() {
            return Limit::Pacing;
        }
        if room <= credit { Limit::CongestionWindow } else { Limit::ReceiveWindow }
    }

    /// The packet that only ends the stream carries no data.
    fn count(&mut self, payload: u16) {
        self.counters.segments += u64::from(payload > 0);
        self.counters.bytes += u64::from(payload);
    }

    #[expect(clippy::cast_possible_truncation, reason = "a window has at most 65535 packets")]
    fn record(&self, number: u64) -> &Record {
        &self.records[(number - self.acknowledged) as usize]
    }

    #[expect(clippy::cast_possible_truncation, reason = "a window has at most 65535 packets")]
    fn record_mut(&mut self, number: u64) -> &mut Record {
        &mut self.records[(number - self.acknowledged) as usize]
    }

    /// Number of a POLL that is to be sent: it is due, or data waits and none is unanswered.
    pub(crate) fn next_poll(&mut self, now: Time, config: &Config) -> Option<u64> {
        let waits = self.has_new() || !self.lost.is_empty();
        if waits && self.polls.may_ask(config) && !self.is_held() {
            self.polls.request();
        }
        if !self.polls.is_due() {
            return None;
        }
        if self.is_busy() {
            self.polls.wake();
        }
        Some(self.polls.on_poll(now, config))
    }

    /// Only the rate keeps data back.
    fn is_held(&self) -> bool {
        self.control.deadline() < Time::NEVER
    }

    /// The time after which a probe has no answer.
    fn patience(&self) -> Span {
        self.rtt.srtt().map_or(SMOOTHING.initial, |srtt| srtt.doubled(1))
    }
}
