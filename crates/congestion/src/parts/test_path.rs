//! A path for tests of controllers that need samples of the delivery rate: one bottleneck with a
//! queue, a fixed delay, segments that are lost by number, and a sender that always has data.
//!
//! A lost segment is found when the third one behind it is acknowledged. What is retransmitted is
//! just the next segment: the controllers do not see the difference.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::controller::Controller;
use crate::events::{Feedback, Loss, LostSegment, RateSample, Sent};
use crate::window::Settings;

pub(crate) const MSS: u64 = 1000;

/// The settings of the controllers under test.
pub(crate) fn settings() -> Settings {
    Settings {
        mss: MSS as u32,
        initial_window: 10 * MSS,
        initial_ssthresh: u64::MAX,
        byte_counting: 1,
    }
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    number: u64,
    sent_at: Time,
    /// When its ACK comes; none when it was lost.
    acked_at: Option<Time>,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    lost: u64,
    in_flight: u64,
}

pub(crate) struct TestPath<C> {
    pub(crate) controller: C,
    pub(crate) now: Time,
    /// Bytes per second of the bottleneck.
    pub(crate) rate: f64,
    pub(crate) rtt: Span,
    /// Bytes that the queue holds.
    pub(crate) buffer: f64,
    /// Returns true if the segment of this number is lost.
    pub(crate) loses: fn(u64) -> bool,
    /// The application has nothing to send.
    pub(crate) silent: bool,
    /// The smoothed RTT is that of the samples, and not `rtt`.
    pub(crate) follows_rtt: bool,
    /// The application limits the rate of all samples.
    pub(crate) app_limited: bool,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) pipe: u64,
    /// Number of the next segment.
    number: u64,
    outstanding: VecDeque<Segment>,
    delivered_at: Time,
    first_sent_at: Time,
    busy_until: Time,
    next_departure: Time,
    recover: Option<u64>,
}

impl<C: Controller> TestPath<C> {
    /// A path whose queue holds all that comes; the handshake has measured the RTT.
    pub(crate) fn new(mut controller: C, rate: f64, rtt: Span) -> Self {
        controller.on_rtt(Time::ZERO + rtt, rtt);
        Self {
            controller,
            now: Time::ZERO + rtt,
            rate,
            rtt,
            buffer: f64::INFINITY,
            loses: |_| false,
            silent: false,
            follows_rtt: false,
            app_limited: false,
            delivered: 0,
            lost: 0,
            pipe: 0,
            number: 0,
            outstanding: VecDeque::new(),
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            busy_until: Time::ZERO,
            next_departure: Time::ZERO,
            recover: None,
        }
    }

    /// Bandwidth-delay product in bytes.
    pub(crate) fn bdp(&self) -> f64 {
        self.rate * self.rtt.as_secs_f64()
    }

    /// Bytes that wait at the bottleneck.
    pub(crate) fn queue(&self) -> f64 {
        self.busy_until.since(self.now).as_secs_f64() * self.rate
    }

    /// Runs for `length` and calls `watch` after each ACK.
    pub(crate) fn run(&mut self, length: Span, mut watch: impl FnMut(&Self)) {
        let end = self.now + length;
        loop {
            let ack = self.outstanding.iter().find_map(|segment| segment.acked_at);
            let departure = self.may_send().then(|| self.next_departure.max(self.now));
            let next = ack.into_iter().chain(departure).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next;
            if departure == Some(next) {
                self.send();
            } else {
                self.acknowledge();
                watch(self);
            }
        }
        self.now = end;
    }

    fn may_send(&self) -> bool {
        !self.silent && self.pipe + MSS <= self.controller.window().cwnd
    }

    fn send(&mut self) {
        if self.pipe == 0 {
            self.first_sent_at = self.now;
            self.delivered_at = self.now;
        }
        let (now, bytes, sent) = (self.now, MSS, (self.number + 1) * MSS);
        self.controller.on_sent(&Sent { now, bytes, again: false, sent, pipe_before: self.pipe });
        if let Some(rate) = self.controller.pacing_rate() {
            self.next_departure = self.now + Span::from_secs_f64(MSS as f64 / rate);
        }
        self.pipe += MSS;
        let dropped = self.queue() + MSS as f64 > self.buffer || (self.loses)(self.number);
        let mut acked_at = None;
        if !dropped {
            self.busy_until =
                self.busy_until.max(self.now) + Span::from_secs_f64(MSS as f64 / self.rate);
            acked_at = Some(self.busy_until + self.rtt);
        }
        self.outstanding.push_back(Segment {
            number: self.number,
            sent_at: self.now,
            acked_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            in_flight: self.pipe,
        });
        self.number += 1;
    }

    fn acknowledge(&mut self) {
        let next = self.outstanding.iter().position(|segment| segment.acked_at.is_some()).unwrap();
        let segment = self.outstanding.remove(next).unwrap();
        self.delivered += MSS;
        self.delivered_at = self.now;
        self.first_sent_at = segment.sent_at;
        self.pipe -= MSS;
        let found_lost = self.find_losses(segment.number);
        let interval =
            segment.sent_at.since(segment.first_sent_at).max(self.now.since(segment.delivered_at));
        let delivered = self.delivered - segment.delivered;
        let round_trip = self.now.since(segment.sent_at);
        self.controller.on_rtt(self.now, round_trip);
        self.controller.on_feedback(&Feedback {
            now: self.now,
            acked: MSS,
            sacked: 0,
            duplicate: false,
            recovering: self.recover.is_some(),
            round_trip: Some(round_trip),
            srtt: Some(if self.follows_rtt { round_trip } else { self.rtt }),
            min_rtt: Some(self.rtt),
            acknowledged: self.delivered,
            sent: self.number * MSS,
            pipe: self.pipe,
            advertised: u64::MAX,
            peer_clock: None,
            head_sent: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            rate: Some(RateSample {
                rate: Some(delivered as f64 / interval.as_secs_f64()),
                delivered: self.delivered,
                prior_delivered: segment.delivered,
                lost: self.lost - segment.lost,
                in_flight_when_sent: segment.in_flight,
                app_limited: self.app_limited,
            }),
        });
        if self.recover.is_some_and(|recover| segment.number >= recover) {
            self.recover = None;
            self.controller.on_recovery_exit(self.now);
        } else if found_lost && self.recover.is_none() {
            self.find_loss();
        }
    }

    /// Recovery begins, whether anything is lost or not.
    pub(crate) fn find_loss(&mut self) {
        self.recover = Some(self.number);
        self.controller.on_loss(&Loss { now: self.now, flight: self.pipe, repeated: false });
    }

    fn find_losses(&mut self, acknowledged: u64) -> bool {
        let mut found = false;
        while let Some(segment) = self
            .outstanding
            .front()
            .filter(|s| s.acked_at.is_none() && s.number + 3 <= acknowledged)
        {
            self.pipe -= MSS;
            self.lost += MSS;
            found = true;
            self.controller.on_segment_lost(&LostSegment {
                now: self.now,
                sent_at: segment.sent_at,
                bytes: MSS,
                in_flight_when_sent: segment.in_flight,
                lost_since_sent: self.lost - segment.lost,
                app_limited: false,
            });
            self.outstanding.pop_front();
        }
        found
    }
}
