//! LeoCC: BBR that measures the path again after each reconfiguration of satellites.
//!
//! Source: "LeoCC: Making Internet Congestion Control Robust to LEO Satellite Dynamics", SIGCOMM
//! 2025; the rules are those of its modules for Linux in the repository SpaceNetLab/LeoCC
//! (`leocc/simulation/leocc.c` and `leocc/live_network/leocc.c`), restated. The paper was not read.
//! All that is not said here is BBR, version 1, with its constants.
//!
//! - A hint of a reconfiguration sets a flag. In the cruise (`ProbeBW`) the flag begins `ProbeRTT`.
//!   At its end the smallest RTT is the sample of its last ACK, also if it is larger, the largest
//!   bandwidth is forgotten, and Startup begins. The end of Startup clears the flag.
//! - `ProbeRTT`: half a BDP, at least four segments. Without hints the smallest RTT lasts 20 s.
//! - If the filtered RTT falls by more than 45 ms in `ProbeRTT`, the sample of the bandwidth before
//!   is the one that Startup begins with; otherwise it is zero.
//! - Filters of the RTT, by ACKs, and of the bandwidth, by the best sample of each round in the
//!   cruise: a Kalman filter with both variances 4.
//! - In the cruise, while the filtered RTT is at least `fluctuation` above the smallest and the
//!   flag is not set, the bandwidth is the filtered one, and the probe for more has a gain of 1.05.
//!
//! `leocc` is the variant for simulations, where a clock sets the flag 100 ms before the change: a
//! hint that a change comes. `leocc-live` is that for real networks, where a gap in the answers to
//! pings sets it, after the change: a hint that it has come. There the filtered bandwidth is off by
//! default.
//!
//! Decisions:
//! - Flag, filters and gains belong to a flow. In the modules the clock counts from the last
//!   connection that any flow has opened, and one flow's gain of 1.05 is that of all flows.
//! - A `fluctuation` of 0 turns the filtered bandwidth off in both variants. The module for
//!   simulations would then always use it.
//! - Where the module differs from the description of BBR in [`bbr`](super::bbr), it is followed:
//!   the filters of Linux for the bandwidth and the excess of ACKs, whole variances and gains in
//!   1/256 of the Kalman filters (the gain settles at 153/256), and the order of steps
//!   ([`Rules::AS_MODULE`]).
//! - Until the filtered bandwidth has its first sample, it is zero. The rate is then none, as the
//!   kernel does not pace at a rate of zero, and cwnd falls to the least.
//! - `ProbeRTT` that ends on an ACK without a sample of the RTT keeps the smallest. The module
//!   takes the sample -1 as the largest number.
//! - In Startup the rate never falls, as in BBR: after a reconfiguration the old rate goes on until
//!   samples exceed it.

use units::Span;

use crate::controllers::bbr::{LEAST_SEGMENTS, Machine, Rules};
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{PathChange, PathChangeKind};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::delivery_model::{ThreeBest, TwoPeriods};
use crate::window::{Settings, whole};

/// Gain of the probe for more while the RTT is above the smallest.
const CAREFUL_GAIN: f64 = 21.0 / 20.0;
const USUAL_GAIN: f64 = 1.25;
/// Share of the BDP in `ProbeRTT`.
const PROBE_RTT_GAIN: f64 = 0.5;
/// Fall of the RTT in `ProbeRTT` that shows a new path (`delta_thresh`).
const NEW_PATH: Span = Span::from_millis(45);

const INTERVAL: Parameter = Parameter {
    name: "probe_rtt_interval",
    default: "20",
    allowed: Allowed::Range(1.0, 1e6),
    meaning: "Seconds without a smaller RTT after which the smallest is measured again, with half \
              a BDP in the network",
};
const FLUCTUATION: Parameter = Parameter {
    name: "fluctuation",
    default: "0.01",
    allowed: Allowed::Range(0.0, 10.0),
    meaning: "Seconds by which the filtered RTT must exceed the smallest, so that the bandwidth is \
              the filtered one; 0 always takes the maximum (min_rtt_fluctuation; the authors \
              suggest 0.005 to 0.02)",
};
const LIVE_FLUCTUATION: Parameter = Parameter { default: "0", ..FLUCTUATION };
const HINT: Parameter = Parameter {
    name: "hint",
    default: "coming",
    allowed: Allowed::OneOf(&["coming", "done"]),
    meaning: "The hint that sets the flag: that a change of the path is coming, or that it is done",
};
const LIVE_HINT: Parameter = Parameter { default: "done", ..HINT };

/// A Kalman filter of a constant that drifts: the variances of drift and of measurements are equal.
/// Variances are whole and gains in 1/256, as in the module.
#[derive(Clone, Copy, Debug)]
struct Kalman {
    estimate: f64,
    variance: u32,
}

impl Kalman {
    const DRIFT: u32 = 4;
    const NOISE: u32 = 4;
    const UNIT: u32 = 256;
    const START: Self = Self { estimate: 0.0, variance: 25 };

    fn take(&mut self, measured: f64) {
        let variance = self.variance + Self::DRIFT;
        let gain = variance * Self::UNIT / (variance + Self::NOISE);
        self.estimate += f64::from(gain) / f64::from(Self::UNIT) * (measured - self.estimate);
        self.variance = (Self::UNIT - gain) * variance / Self::UNIT;
    }
}

/// The rules in which LeoCC differs from BBR. Rates are in bytes per second, times in seconds.
#[derive(Clone, Debug)]
pub struct Reconfiguration {
    /// The hint that sets the flag.
    sign: PathChangeKind,
    /// `None`: the bandwidth is always the maximum.
    fluctuation: Option<f64>,
    /// The path is about to change, or has changed, and was not measured again.
    flag: bool,
    rtt: Kalman,
    bandwidth: Kalman,
    /// The largest sample of the present round.
    best_of_round: f64,
    last_rate: f64,
    /// Bandwidth with which Startup begins after a reconfiguration.
    new_path: f64,
    /// The RTT is above the smallest.
    is_careful: bool,
}

impl Rules for Reconfiguration {
    type Bandwidth = ThreeBest;
    type Excess = TwoPeriods;

    const ACTS_ON_HINTS: bool = true;
    const AS_MODULE: bool = true;

    fn on_path_change(&mut self, change: &PathChange) {
        self.flag |= change.kind == self.sign;
    }

    fn on_round(&mut self, is_probing_bandwidth: bool) {
        let best = std::mem::take(&mut self.best_of_round);
        if is_probing_bandwidth {
            self.bandwidth.take(best);
        }
    }

    fn on_rate(&mut self, rate: f64, round_trip: Option<Span>, is_measuring: bool) {
        self.best_of_round = self.best_of_round.max(rate);
        let falls = |rtt: Span| self.rtt.estimate > (rtt + NEW_PATH).as_secs_f64();
        if is_measuring && round_trip.is_some_and(falls) {
            self.new_path = self.last_rate;
        }
        self.last_rate = rate;
    }

    fn on_full_pipe(&mut self) {
        self.new_path = 0.0;
        self.flag = false;
    }

    fn after_model(
        &mut self,
        round_trip: Option<Span>,
        min_rtt: Option<Span>,
        is_probing_bandwidth: bool,
    ) {
        if let Some(rtt) = round_trip.filter(|rtt| *rtt > Span::ZERO) {
            self.rtt.take(rtt.as_secs_f64());
        }
        self.is_careful = is_probing_bandwidth
            && !self.flag
            && self.fluctuation.zip(min_rtt).is_some_and(|(fluctuation, min_rtt)| {
                self.rtt.estimate >= min_rtt.as_secs_f64() + fluctuation
            });
    }

    fn bandwidth(&self, max: f64) -> f64 {
        if self.is_careful { self.bandwidth.estimate } else { max }
    }

    fn probe_gain(&self) -> f64 {
        if self.is_careful { CAREFUL_GAIN } else { USUAL_GAIN }
    }

    fn probe_rtt_cwnd(&self, bdp: f64, mss: u64) -> u64 {
        (whole(PROBE_RTT_GAIN * bdp).div_ceil(mss) * mss).max(LEAST_SEGMENTS * mss)
    }

    fn is_probe_rtt_due(&self, expired: bool, is_probing_bandwidth: bool) -> bool {
        is_probing_bandwidth && (expired || self.flag)
    }

    fn measured_rtt(&self, round_trip: Option<Span>) -> Option<Span> {
        round_trip
    }

    fn bandwidth_of_new_path(&self) -> Option<f64> {
        self.flag.then_some(self.new_path)
    }
}

/// LeoCC.
pub type LeoCc = Machine<Reconfiguration>;

impl Listed for LeoCc {
    const LISTED: &'static [Entry] = &[
        Entry {
            name: "leocc",
            summary: "BBR that measures the path again after each hint that it is about to change",
            source: "LeoCC, SIGCOMM 2025 (leocc/simulation)",
            status: Status::Implementation("SpaceNetLab/LeoCC 867e673, leocc/simulation/leocc.c"),
            repair: Repair::SelectiveAcks,
            parameters: &[INTERVAL, FLUCTUATION, HINT],
        },
        Entry {
            name: "leocc-live",
            summary: "BBR that measures the path again after each hint that it has changed",
            source: "LeoCC, SIGCOMM 2025 (leocc/live_network)",
            status: Status::Implementation("SpaceNetLab/LeoCC 867e673, leocc/live_network/leocc.c"),
            repair: Repair::SelectiveAcks,
            parameters: &[INTERVAL, LIVE_FLUCTUATION, LIVE_HINT],
        },
    ];

    fn build(settings: &Settings, values: &Values) -> Self {
        let fluctuation = values.number(FLUCTUATION.name);
        let kinds = [PathChangeKind::Coming, PathChangeKind::Done];
        let word = values.word(HINT.name);
        let sign = kinds.into_iter().find(|kind| kind.name() == word);
        let rules = Reconfiguration {
            sign: sign.unwrap_or(PathChangeKind::Coming),
            fluctuation: (fluctuation > 0.0).then_some(fluctuation),
            flag: false,
            rtt: Kalman::START,
            bandwidth: Kalman::START,
            best_of_round: 0.0,
            last_rate: 0.0,
            new_path: 0.0,
            is_careful: false,
        };
        Self::new(settings, Span::from_secs_f64(values.number(INTERVAL.name)), rules)
    }
}

#[cfg(test)]
mod tests;
