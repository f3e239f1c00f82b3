//! The cycle in which the flow probes for bandwidth, yields and cruises (section 5.3.3).

use units::{Span, Time};

use crate::events::LostSegment;
use crate::parts::delivery_model::{Arrival, draw};

use super::model::BETA;
use super::{Bbr3, State};

/// Shortest wait for the next probe, to which up to a second is added (5.3.3.8).
const SHORTEST_WAIT: Span = Span::from_secs(2);
/// Rounds after which a flow probes in any case, to get its share beside Reno (5.3.3.8).
const MOST_ROUNDS: f64 = 63.0;
/// The growth of the long-term bound doubles no more often than this (5.3.3.9).
const MOST_DOUBLINGS: u32 = 30;

/// Meaning of the samples of an ACK (2.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    NoProbe,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Where the flow stands in the cycle (2.14).
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// Samples are of data that was sent to probe.
    is_probe_sample: bool,
    began: Time,
    wait: Span,
    pub(super) rounds_since_up: u64,
    /// The last probe lost too much.
    went_too_high: bool,
    /// The last probe was stopped at the long-term bound.
    was_precautionary: bool,
    /// Bytes that have to be acknowledged before the long-term bound grows by a segment; none
    /// while it does not grow.
    acked_for_growth: Option<u64>,
    acked: u64,
    /// Rounds of growth.
    pub(super) doublings: u32,
}

impl Bbr3 {
    /// Yield until the queue is empty (5.3.3.1).
    pub(super) fn start_down(&mut self, now: Time) {
        self.model.forget_congestion();
        let drawn = draw(now, self.progress.delivered);
        let cycle = &mut self.cycle;
        cycle.acked_for_growth = None;
        // The wall clock takes the draw, and the count of rounds its first bit.
        cycle.rounds_since_up = u64::from(drawn >= 0.5);
        cycle.wait = SHORTEST_WAIT + Span::from_secs_f64(drawn);
        cycle.began = now;
        cycle.ack_phase = AckPhase::ProbeStopping;
        self.progress.begin_round();
        self.state = State::Down;
    }

    /// Fill the pipe before it is overfilled (5.3.3.3).
    fn start_refill(&mut self) {
        self.model.forget_short_term();
        self.cycle.doublings = 0;
        self.cycle.acked = 0;
        self.cycle.was_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.progress.begin_round();
        self.state = State::Refill;
    }

    /// Send faster than the path is known to deliver (5.3.3.5).
    pub(super) fn start_up(&mut self) {
        self.cycle.is_probe_sample = true;
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.progress.begin_round();
        self.state = State::Up;
        self.steepen_growth();
    }

    /// The machine of `ProbeBW` (5.3.3.9).
    pub(super) fn update_cycle(&mut self, arrival: &Arrival) {
        if !self.full_pipe.reached || self.adapt_long_term_model(arrival) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(arrival.now) => {
                self.start_refill();
            }
            State::Down if self.is_time_to_cruise(arrival.pipe) => self.state = State::Cruise,
            State::Refill if self.progress.round_began => {
                self.full_pipe.search(arrival.sample.rate.unwrap_or(0.0));
                self.start_up();
            }
            State::Up if self.is_time_to_go_down(arrival) => {
                self.cycle.went_too_high = false;
                self.start_down(arrival.now);
            }
            _ => {}
        }
    }

    /// 5.3.3.8.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let segments = self.target_inflight() / self.window.mss as f64;
        now > self.cycle.began + self.cycle.wait
            || self.cycle.rounds_since_up as f64 >= segments.min(MOST_ROUNDS)
    }

    fn is_time_to_cruise(&self, pipe: u64) -> bool {
        let pipe = pipe as f64;
        let rtt = self.min_rtt.smallest().map_or(0.0, Span::as_secs_f64);
        // The BDP of the bandwidth without its short-term bound.
        let bdp = (self.model.max_bandwidth() * rtt).max(self.inflight(0.0, 0.0));
        pipe <= self.inflight_with_headroom() && pipe <= bdp
    }

    /// The rate stands still, or the probe has reached a bound that was too much before (5.3.3.7).
    fn is_time_to_go_down(&mut self, arrival: &Arrival) -> bool {
        let reached = (arrival.pipe_before() + self.window.mss) as f64 > self.model.inflight_long;
        if self.cycle.went_too_high && reached {
            self.cycle.was_precautionary = true;
            return true;
        }
        if self.uses_the_long_term_bound() {
            self.full_pipe.search(arrival.sample.rate.unwrap_or(0.0));
            return false;
        }
        self.full_pipe.now
    }

    fn uses_the_long_term_bound(&self) -> bool {
        self.is_cwnd_limited() && self.window.cwnd as f64 >= self.model.inflight_long.floor()
    }

    /// Tracks which samples a probe has led to, and raises the long-term bound while the losses
    /// allow it. Returns whether it has changed the state (5.3.3.9).
    fn adapt_long_term_model(&mut self, arrival: &Arrival) -> bool {
        let round_began = self.progress.round_began;
        if self.cycle.ack_phase == AckPhase::ProbeStarting && round_began {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && round_began {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::NoProbe;
            if self.state.is_probe_bw() {
                if !arrival.limited {
                    self.model.begin_cycle();
                }
                if self.cycle.was_precautionary && !self.cycle.went_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        let sample = &arrival.sample;
        if self.loses_too_much(sample.lost, sample.in_flight_when_sent)
            || self.model.inflight_long.is_infinite()
        {
            return false;
        }
        let sent = sample.in_flight_when_sent as f64;
        self.model.inflight_long = self.model.inflight_long.max(sent);
        if self.state == State::Up {
            self.raise_inflight(arrival.acked);
        }
        false
    }

    /// The long-term bound grows by a segment, then two, then four for each round (5.3.3.5).
    pub(super) fn raise_inflight(&mut self, acked: u64) {
        if !self.uses_the_long_term_bound() {
            return;
        }
        if let Some(needed) = self.cycle.acked_for_growth {
            self.cycle.acked += acked;
            let segments = self.cycle.acked / needed;
            self.cycle.acked -= segments * needed;
            self.model.inflight_long += (segments * self.window.mss) as f64;
        }
        if self.progress.round_began {
            self.steepen_growth();
        }
    }

    pub(super) fn steepen_growth(&mut self) {
        let segments = 1 << self.cycle.doublings;
        self.cycle.doublings = (self.cycle.doublings + 1).min(MOST_DOUBLINGS);
        self.cycle.acked_for_growth = Some((self.window.cwnd / segments).max(self.window.mss));
    }

    /// A segment of a probe was lost: was it one too many (5.5.10.2)?
    pub(super) fn check_probe(&mut self, lost: &LostSegment) {
        if self.cycle.is_probe_sample
            && self.loses_too_much(lost.lost_since_sent, lost.in_flight_when_sent)
        {
            self.leave_too_high(lost);
        }
    }

    /// The long-term bound is what was in flight, but not less than 0.7 of the target; a probe in
    /// progress ends (5.5.10.2).
    fn leave_too_high(&mut self, lost: &LostSegment) {
        self.cycle.went_too_high = true;
        self.cycle.is_probe_sample = false;
        if !lost.app_limited {
            let in_flight = self.inflight_at_loss(lost);
            self.model.inflight_long = in_flight.max(self.target_inflight() * BETA);
        }
        if self.state == State::Up {
            self.start_down(lost.now);
        }
    }

    /// Bytes in flight when, inside this segment, the losses crossed the threshold (5.5.10.2).
    fn inflight_at_loss(&self, lost: &LostSegment) -> f64 {
        let in_flight_before = (lost.in_flight_when_sent - lost.bytes) as f64;
        let lost_before = (lost.lost_since_sent - lost.bytes) as f64;
        let share = self.loss_threshold;
        let prefix = (share * in_flight_before - lost_before) / (1.0 - share);
        in_flight_before + prefix
    }
}
