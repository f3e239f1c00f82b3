//! The smallest RTT, and the pauses in which it is measured (section 5.3.4).

use units::{Span, Time};

use crate::parts::delivery_model::Arrival;

use super::probe_bw::AckPhase;
use super::{Bbr3, State};

/// `ProbeRTTCwndGain`: share of the BDP that stays in the network (2.16.2).
pub(super) const CWND_GAIN: f64 = 0.5;
/// `ProbeRTTDuration` (2.16.2).
const LENGTH: Span = Span::from_millis(200);
/// `MinRTTFilterLen` (2.16.1).
const FILTER: Span = Span::from_secs(10);

/// Two filters: the short one says when to measure, the long one is the RTT of the model.
#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    interval: Span,
    smallest: Option<(Span, Time)>,
    recent: Option<(Span, Time)>,
    /// No smaller RTT came for as long as the interval.
    expired: bool,
    measuring: Option<Measuring>,
}

/// No more than half the BDP is in the network, until the time and until a round is over.
#[derive(Clone, Copy, Debug)]
struct Measuring {
    until: Time,
    round_over: bool,
}

impl MinRtt {
    /// Measures again after `interval` without a smaller one.
    pub(super) fn every(interval: Span) -> Self {
        Self { interval, smallest: None, recent: None, expired: false, measuring: None }
    }

    pub(super) fn smallest(&self) -> Option<Span> {
        self.smallest.map(|(rtt, _)| rtt)
    }

    pub(super) fn take(&mut self, now: Time, sample: Option<Span>) {
        self.expired = self.recent.is_some_and(|(_, at)| now > at + self.interval);
        if let Some(rtt) = sample
            && (self.expired || self.recent.is_none_or(|(least, _)| rtt < least))
        {
            self.recent = Some((rtt, now));
        }
        let Some(recent) = self.recent else { return };
        let replace = |(rtt, at): (Span, Time)| recent.0 < rtt || now > at + FILTER;
        if self.smallest.is_none_or(replace) {
            self.smallest = Some(recent);
        }
    }
}

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, arrival: &Arrival) {
        self.min_rtt.take(arrival.now, arrival.round_trip);
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        (CWND_GAIN * self.bdp()).max(self.least_cwnd())
    }

    /// 5.3.4.3.
    pub(super) fn check_probe_rtt(&mut self, arrival: &Arrival) {
        if self.min_rtt.expired && !self.restarting && self.state != State::ProbeRtt {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.min_rtt.measuring = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.progress.begin_round();
        }
        self.restarting = false;
        if self.state == State::ProbeRtt {
            self.measure(arrival);
        }
    }

    fn measure(&mut self, arrival: &Arrival) {
        self.progress.hold_back(arrival.pipe);
        if let Some(measuring) = &mut self.min_rtt.measuring {
            measuring.round_over |= self.progress.round_began;
            if measuring.round_over {
                self.leave_probe_rtt_in_time(arrival.now);
            }
        } else if arrival.pipe as f64 <= self.probe_rtt_cwnd() {
            let until = arrival.now + LENGTH;
            self.min_rtt.measuring = Some(Measuring { until, round_over: false });
            self.progress.begin_round();
        }
    }

    /// Nothing has to be drained after it: the cycle goes on with CRUISE (5.3.4.4).
    pub(super) fn leave_probe_rtt_in_time(&mut self, now: Time) {
        if self.min_rtt.measuring.is_none_or(|measuring| now <= measuring.until) {
            return;
        }
        self.min_rtt.recent = self.min_rtt.recent.map(|(rtt, _)| (rtt, now));
        self.restore_cwnd();
        self.model.forget_short_term();
        if self.full_pipe.reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
