//! Utility of an interval (`pcc_utility_manager.cpp`).
//!
//! - Allegro: (A s(L) d - B) / T in bytes per millisecond, with bytes acknowledged A and lost B,
//!   the time of sending T and the lost share L. s = 1 - 1 / (1 + e^(-1000 (L - 0.05))), and d is
//!   the same sigmoid of the RTT, -200 (1 - r), with the ratio r of the smoothed RTT before to that
//!   after. r counts as 1 within the tolerance.
//! - Vivace: x^0.9 - 900 g x - 11.35 L x with the rate x in Mbit/s, as it was sent, and the
//!   gradient g of the RTT, at least 0. It is the slope of the RTT over the number of the packet,
//!   by the time that 1500 bytes take. At the start it counts from one millisecond in the time of
//!   sending on.
//! - g counts where it exceeds the error of its own line (`rtt_gradient_error`), or where the RTTs
//!   of six intervals have a trend that lies two deviations away from the usual one.

use std::collections::VecDeque;

use super::{Interval, single};

/// In bytes.
const PACKET: i64 = 1500;
/// Intervals whose RTTs have a trend.
const HISTORY: usize = 6;
const LOSS_TOLERANCE: f32 = 0.05;
const LOSS_COEFFICIENT: f32 = -1000.0;
const RTT_COEFFICIENT: f32 = -200.0;
const RATE_EXPONENT: f32 = 0.9;
const LOSS_WEIGHT: f32 = 11.35;
const DELAY_WEIGHT: f32 = 900.0;
/// Weight of a new trend in the usual one.
const TREND_WEIGHT: f32 = 0.1;
/// The usual trend begins again with a trend that is smaller than the smallest by this factor.
const SMALLER: f32 = 100.0;
/// Least trend in microseconds for each interval.
const LEAST_TREND: f64 = 0.000_001;
const DEVIATIONS: f32 = 2.0;
/// Tolerances of the RTT above which the interval is one of the start.
const STARTING: f64 = 50.0;

/// The utility functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Utility {
    Allegro,
    Vivace,
}

/// The usual trend.
#[derive(Clone, Copy, Debug)]
struct Trend {
    average: f32,
    deviation: f32,
    smallest: f32,
    last: f32,
}

/// Slope and mean of a line through points.
fn line(points: impl Iterator<Item = (f32, f32)> + Clone) -> [f32; 4] {
    let (mut x_mean, mut y_mean, mut count) = (0.0f32, 0.0f32, 0.0f32);
    for (x, y) in points.clone() {
        x_mean += x;
        y_mean += y;
        count += 1.0;
    }
    x_mean /= count;
    y_mean /= count;
    let (mut squares, mut products) = (0.0f32, 0.0f32);
    for (x, y) in points {
        squares += (x - x_mean) * (x - x_mean);
        products += (x - x_mean) * (y - y_mean);
    }
    [products / squares, x_mean, y_mean, count]
}

/// The sigmoid of a number whose exponential is this.
fn sigmoid(exponential: f64) -> f32 {
    single(1.0 - 1.0 / (1.0 + exponential))
}

/// State over all intervals.
#[derive(Clone, Debug)]
pub(super) struct Utilities {
    utility: Utility,
    /// Mean RTTs of the last intervals in microseconds.
    history: VecDeque<f32>,
    trend: Option<Trend>,
}

impl Utilities {
    pub(super) const fn new(utility: Utility) -> Self {
        Self { utility, history: VecDeque::new(), trend: None }
    }

    pub(super) fn of(&mut self, interval: &Interval) -> f32 {
        let transfer = interval.rate.transfer(PACKET);
        let duration = (interval.sent_at[1] - interval.sent_at[0] + transfer) as f32;
        let loss = interval.lost as f32 / interval.sent as f32;
        let inflation = self.inflation(interval, transfer);
        match self.utility {
            Utility::Allegro => allegro(interval, duration, loss),
            Utility::Vivace => {
                let rate = interval.sent as f32 * 8.0 / duration;
                let starts = f64::from(interval.tolerance) > STARTING;
                let is_small = f64::from(inflation.abs()) < 1000.0 / f64::from(duration);
                let inflation = if starts && is_small { 0.0 } else { inflation.max(0.0) };
                let gain = single(libm::pow(f64::from(rate), f64::from(RATE_EXPONENT)));
                gain - DELAY_WEIGHT * inflation * rate - LOSS_WEIGHT * loss * rate
            }
        }
    }

    /// The gradient of the RTT; 0 where it is noise.
    fn inflation(&mut self, interval: &Interval, transfer: i64) -> f32 {
        let points = interval.round_trips.iter().map(|(number, rtt)| (*number as f32, *rtt as f32));
        let [slope, x_mean, y_mean, count] = line(points.clone());
        let gradient = slope / transfer as f32;
        // The program has here the gradient in time, and numbers of packets.
        let cut = y_mean - gradient * x_mean;
        let mut error = 0.0f32;
        for (number, rtt) in points {
            let away = f64::from(rtt - (number * gradient + cut));
            error = single(f64::from(error) + away * away);
        }
        let error = libm::sqrtf(error / count) / y_mean;
        let mut is_tolerable = error >= gradient.abs();
        self.history.push_back(y_mean);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
        if self.history.len() == HISTORY && self.is_unusual() {
            is_tolerable = false;
        }
        if is_tolerable { 0.0 } else { gradient }
    }

    /// Returns true if the RTT rises over several intervals more than usual.
    fn is_unusual(&mut self) -> bool {
        let points = self.history.iter().enumerate().map(|(at, rtt)| (at as f32, *rtt));
        let [slope, ..] = line(points);
        let size = slope.abs();
        let known = self.trend.filter(|trend| {
            f64::from(trend.smallest) >= LEAST_TREND && size >= trend.smallest / SMALLER
        });
        let Some(mut trend) = known else {
            self.trend = Some(Trend { average: 0.0, deviation: size, smallest: size, last: slope });
            return false;
        };
        let high = trend.average + DEVIATIONS * trend.deviation;
        let low = trend.average - DEVIATIONS * trend.deviation;
        let is_outside = slope < low || slope > high;
        if !is_outside {
            let old = 1.0 - TREND_WEIGHT;
            trend.deviation = trend.deviation * old + (slope - trend.last).abs() * TREND_WEIGHT;
            trend.average = trend.average * old + slope * TREND_WEIGHT;
            trend.last = slope;
        }
        trend.smallest = trend.smallest.min(size);
        self.trend = Some(trend);
        is_outside && slope > 0.0
    }
}

fn allegro(interval: &Interval, duration: f32, loss: f32) -> f32 {
    let tolerance = f64::from(interval.tolerance);
    let ratio = interval.rtt[0] as f32 / interval.rtt[1] as f32;
    let is_same = f64::from(ratio) > 1.0 - tolerance && f64::from(ratio) < 1.0 + tolerance;
    let ratio = if is_same { 1.0 } else { ratio };
    let delay = sigmoid(libm::exp(f64::from(RTT_COEFFICIENT) * (1.0 - f64::from(ratio))));
    let exponential = single(libm::exp(f64::from(LOSS_COEFFICIENT * (loss - LOSS_TOLERANCE))));
    let losses = sigmoid(f64::from(exponential));
    let gain = interval.acked as f32 / duration * losses * delay;
    let cost = interval.lost as f32 / duration;
    single(f64::from(gain - cost) * 1000.0)
}
