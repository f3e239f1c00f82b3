//! The model of the path: bandwidth, aggregation, and the bounds that losses set (section 5.5).
//!
//! Rates are in bytes per second and volumes in bytes; a bound that is not set is infinite.

use crate::parts::delivery_model::{Aggregation, Arrival, WindowedMax, ends_round};

use super::{Bbr3, State};

/// `Beta` (2.8): what a round with losses leaves of a bound at least.
pub(super) const BETA: f64 = 0.7;
/// `Headroom` (2.8): share of the long-term bound that is left to others.
const HEADROOM: f64 = 0.15;
/// Length of the bandwidth filter in cycles of `ProbeBW` (2.11).
const CYCLES: u64 = 2;
/// Length of the filter of aggregation in rounds, in Startup and after it (2.12).
const EXCESS_ROUNDS: [u64; 2] = [1, 10];

/// The state before the losses of a round (5.5.11).
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    state: State,
    bandwidth_short: f64,
    inflight_short: f64,
    inflight_long: f64,
}

/// Model of the path (2.9 to 2.12).
#[derive(Clone, Debug)]
pub(super) struct Model {
    max_bandwidth: WindowedMax,
    /// Cycles of `ProbeBW`, the time of that filter.
    cycles: u64,
    bandwidth_short: f64,
    pub(super) inflight_long: f64,
    pub(super) inflight_short: f64,
    /// The largest rate and volume delivered in this round.
    bandwidth_latest: f64,
    pub(super) inflight_latest: f64,
    /// Where the round ends in which losses are collected.
    loss_round_end: u64,
    /// The last ACK ended one.
    pub(super) loss_round_began: bool,
    lost_in_round: bool,
    pub(super) aggregation: Aggregation,
    /// Largest recent excess of ACKs.
    pub(super) excess: f64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            max_bandwidth: WindowedMax::default(),
            cycles: 0,
            bandwidth_short: f64::INFINITY,
            inflight_long: f64::INFINITY,
            inflight_short: f64::INFINITY,
            bandwidth_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_end: 0,
            loss_round_began: false,
            lost_in_round: false,
            aggregation: Aggregation::default(),
            excess: 0.0,
        }
    }
}

impl Model {
    /// The largest delivery rate of this cycle and the last, in bytes per second.
    pub(super) fn max_bandwidth(&self) -> f64 {
        self.max_bandwidth.max()
    }

    /// The largest delivery rate within the short-term bound, in bytes per second.
    pub(super) fn bandwidth(&self) -> f64 {
        self.max_bandwidth().min(self.bandwidth_short)
    }

    /// Begins a cycle of the filter of the largest delivery rate (section 5.5.6).
    pub(super) fn begin_cycle(&mut self) {
        self.cycles += 1;
    }

    /// The next probe finds out what the losses meant (5.3.3.3).
    pub(super) fn forget_short_term(&mut self) {
        self.bandwidth_short = f64::INFINITY;
        self.inflight_short = f64::INFINITY;
    }

    pub(super) fn forget_congestion(&mut self) {
        self.lost_in_round = false;
        self.bandwidth_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    /// At the end of the processing of an ACK (5.5.10.3).
    pub(super) fn advance_latest(&mut self, arrival: &Arrival) {
        if self.loss_round_began {
            self.bandwidth_latest = arrival.sample.rate.unwrap_or(0.0);
            self.inflight_latest = delivered(arrival);
        }
    }
}

/// Bytes delivered while the segment of the sample was on its way.
fn delivered(arrival: &Arrival) -> f64 {
    (arrival.sample.delivered - arrival.sample.prior_delivered) as f64
}

impl Bbr3 {
    /// The first loss of a round begins the round at whose end the bounds follow (5.5.10.2).
    pub(super) fn note_loss(&mut self) {
        if !self.model.lost_in_round {
            self.model.loss_round_end = self.progress.delivered;
            self.undo = Some(Undo {
                state: self.state,
                bandwidth_short: self.model.bandwidth_short,
                inflight_short: self.model.inflight_short,
                inflight_long: self.model.inflight_long,
            });
        }
        self.model.lost_in_round = true;
    }

    /// The last losses were none: bounds and state are what they were before (5.5.11).
    pub(super) fn undo_losses(&mut self) {
        self.model.lost_in_round = false;
        self.full_pipe.begin_again();
        let Some(undo) = self.undo.take() else { return };
        let model = &mut self.model;
        model.bandwidth_short = model.bandwidth_short.max(undo.bandwidth_short);
        model.inflight_short = model.inflight_short.max(undo.inflight_short);
        model.inflight_long = model.inflight_long.max(undo.inflight_long);
        if self.state != State::ProbeRtt && self.state != undo.state {
            match undo.state {
                State::Startup => self.state = State::Startup,
                State::Up => self.start_up(),
                _ => {}
            }
        }
    }

    /// 5.5.10.3.
    pub(super) fn update_latest_delivery(&mut self, arrival: &Arrival) {
        let model = &mut self.model;
        let sample = &arrival.sample;
        model.bandwidth_latest = model.bandwidth_latest.max(sample.rate.unwrap_or(0.0));
        model.inflight_latest = model.inflight_latest.max(delivered(arrival));
        model.loss_round_began = ends_round(sample, model.loss_round_end);
        if model.loss_round_began {
            model.loss_round_end = sample.delivered;
        }
    }

    /// The bandwidth (5.5.5) and, at the end of a round, the short-term bounds (5.5.10.3).
    pub(super) fn update_congestion(&mut self, arrival: &Arrival) {
        let model = &mut self.model;
        if let Some(rate) = arrival.sample.rate
            && (!arrival.limited || rate >= model.max_bandwidth())
        {
            model.max_bandwidth.take(model.cycles, rate, CYCLES);
        }
        if model.loss_round_began {
            if model.lost_in_round && !self.state.is_probing() {
                self.lower_short_term_bounds();
            }
            self.model.lost_in_round = false;
        }
    }

    pub(super) fn lower_short_term_bounds(&mut self) {
        let cwnd = self.window.cwnd as f64;
        let model = &mut self.model;
        let bandwidth = model.bandwidth_short;
        let bandwidth = if bandwidth.is_finite() { bandwidth } else { model.max_bandwidth() };
        let inflight = model.inflight_short;
        let inflight = if inflight.is_finite() { inflight } else { cwnd };
        model.bandwidth_short = model.bandwidth_latest.max(BETA * bandwidth);
        model.inflight_short = model.inflight_latest.max(BETA * inflight);
    }

    /// 5.5.9.
    pub(super) fn update_excess(&mut self, arrival: &Arrival) {
        let rounds = EXCESS_ROUNDS[usize::from(self.full_pipe.reached)];
        let (cwnd, round) = (self.window.cwnd, self.progress.round);
        let bandwidth = self.model.bandwidth();
        self.model.excess = self.model.aggregation.take(arrival, bandwidth, cwnd, round, rounds);
    }

    /// Our BDP, unless losses have cut cwnd (5.3.3.8).
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.window.cwnd as f64)
    }

    /// The long-term bound less 15 %, and at least a segment, for others (5.3.3.9).
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let long = self.model.inflight_long;
        if long.is_infinite() {
            return long;
        }
        let headroom = (HEADROOM * long).max(self.window.mss as f64);
        (long - headroom).max(self.least_cwnd())
    }
}
