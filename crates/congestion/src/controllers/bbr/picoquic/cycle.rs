//! The bandwidth of picoquic's BBR, and the cycles of its `ProbeBW`, whose length depends on it.

use units::Time;

use super::{LEAST_SEGMENTS, PicoquicBbr, State};
use crate::parts::picoquic::{LONG_RTT, SATELLITE_RTT};

/// Pacing gains of the phases of `ProbeBW`.
const CYCLE: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25, 0.75];
/// The last phase with which a cycle may begin.
const LAST_START: usize = 5;
/// Phase with which the first cycle of a short path begins, and the one after a policer.
pub(super) const SHORT_START: usize = 2;

/// Largest delivery rates of ten rounds in bytes per second, the current round first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) rounds: [f64; 10],
    pub(super) max: f64,
    /// The bandwidth has grown in this cycle.
    pub(super) grew: bool,
}

impl Rates {
    pub(super) fn take(&mut self, rate: f64, round_began: bool, limited: bool) {
        if !round_began {
            self.rounds[0] = self.rounds[0].max(rate);
            self.grew |= rate > self.max;
        } else if limited && rate <= self.max {
            self.grew = false;
            return;
        } else {
            self.grew |= rate > self.rounds[0];
            self.rounds.rotate_right(1);
            self.rounds[0] = rate;
        }
        self.max = self.rounds.iter().copied().fold(0.0, f64::max);
    }
}

impl PicoquicBbr {
    pub(super) fn begin_phase(&mut self, phase: usize, now: Time) {
        self.ends_phase = false;
        self.state = State::ProbeBw { phase, since: now };
        self.gain = CYCLE[phase];
        let Some(rtt) = self.min_rtt.filter(|_| self.gain > 1.0) else { return };
        // A path with fewer than four segments in its BDP is probed for four.
        let bdp = self.rates.max * rtt.as_secs_f64();
        let least = (LEAST_SEGMENTS * self.window.mss) as f64;
        if bdp > 0.0 && bdp < least {
            self.gain = self.gain.max(least / bdp);
        }
    }

    fn is_phase_over(&self, since: Time, now: Time) -> bool {
        let lasted = self.ends_phase || self.min_rtt.is_some_and(|rtt| now.since(since) > rtt);
        // `pipe` is that after the ACK before.
        lasted
            && if self.gain > 1.0 {
                self.pipe >= self.inflight(self.gain)
            } else {
                self.gain == 1.0 || self.pipe <= self.inflight(1.0)
            }
    }

    pub(super) fn advance_cycle(&mut self, now: Time) {
        let State::ProbeBw { phase, since } = self.state else { return };
        if !self.is_phase_over(since, now) {
            return;
        }
        if phase + 1 < CYCLE.len() {
            self.begin_phase(phase + 1, now);
            return;
        }
        self.cycle_start = if std::mem::take(&mut self.rates.grew) {
            (self.cycle_start + 1).min(LAST_START)
        } else {
            self.cycle_start.saturating_sub(1)
        };
        self.begin_phase(self.cycle_start, now);
    }

    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        self.cycle_start = match self.min_rtt.map(|rtt| rtt.min(SATELLITE_RTT)) {
            Some(rtt) if rtt > LONG_RTT => {
                let start = usize::try_from(rtt.as_nanos() / LONG_RTT.as_nanos());
                start.unwrap_or(LAST_START).min(LAST_START)
            }
            _ => SHORT_START,
        };
        self.rates.grew = true;
        self.begin_phase(self.cycle_start + 1, now);
        self.look_for_policer(now);
    }
}
