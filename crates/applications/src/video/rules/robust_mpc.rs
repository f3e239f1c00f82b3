//! Robust MPC: the best plan of the next five segments at a careful estimate of the throughput. X.
//! Yin et al., "A control-theoretic approach for dynamic adaptive video streaming over HTTP",
//! SIGCOMM 2015, section 5.3, with the constants of Pensieve (`mpc.py`).
//!
//! Reconstructed: of plans with the same reward the one with lower bit rates first is taken.

use std::collections::VecDeque;

use super::super::player::STALL_COST;
use super::{Choice, Download, Fetch, Rules, View};

/// Segments of a plan.
const HORIZON: usize = 5;
/// Downloads that the estimate looks at.
const PAST: usize = 5;

/// The rule.
#[derive(Clone, Debug, Default)]
pub(in crate::video) struct RobustMpc {
    /// Throughputs in kbit/s with the latency of the request, the newest last.
    rates: VecDeque<f64>,
    /// Relative errors of the estimates.
    errors: VecDeque<f64>,
    estimate: Option<f64>,
    last_quality: usize,
}

/// The newest values, at most [`PAST`].
fn remember(values: &mut VecDeque<f64>, value: f64) {
    values.push_back(value);
    if values.len() > PAST {
        values.pop_front();
    }
}

/// A plan as far as it goes.
#[derive(Clone, Copy)]
struct Plan {
    level: f64,
    last: usize,
    reward: f64,
}

impl RobustMpc {
    /// The best reward of plans that continue `plan` with `left` segments.
    fn best(view: &View<'_>, rate: f64, segment: usize, left: usize, plan: Plan) -> (f64, usize) {
        if left == 0 {
            return (plan.reward, plan.last);
        }
        let mut best = (f64::NEG_INFINITY, 0);
        for (quality, bitrate) in view.movie.bitrates.iter().enumerate() {
            let time = view.movie.sizes[segment][quality] / rate;
            let stall = (time - plan.level).max(0.0);
            let change = (bitrate - view.movie.bitrates[plan.last]).abs();
            let next = Plan {
                level: (plan.level - time).max(0.0) + view.movie.segment_ms,
                last: quality,
                reward: plan.reward + (bitrate - change - STALL_COST * stall) / 1e3,
            };
            let (reward, _) = Self::best(view, rate, segment + 1, left - 1, next);
            if reward > best.0 {
                best = (reward, quality);
            }
        }
        best
    }
}

impl Rules for RobustMpc {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let harmonic =
            self.rates.len() as f64 / self.rates.iter().map(|rate| 1.0 / rate).sum::<f64>();
        let error = self.errors.iter().copied().fold(0.0, f64::max);
        self.estimate = Some(harmonic);
        let left = HORIZON.min(view.movie.sizes.len() - view.segment);
        let plan = Plan { level: view.level, last: self.last_quality, reward: 0.0 };
        let rate = harmonic / (1.0 + error);
        Choice::now(Self::best(view, rate, view.segment, left, plan).1)
    }

    fn on_download(&mut self, _view: &View<'_>, fetch: &Fetch, download: &Download) {
        let rate = download.bits / download.time;
        if let Some(estimate) = self.estimate {
            remember(&mut self.errors, (estimate - rate).abs() / rate);
        }
        remember(&mut self.rates, rate);
        self.last_quality = fetch.quality;
    }
}
