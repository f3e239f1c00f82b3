//! The bandwidth estimate of Westwood+: one sample for each round-trip time, which ACKs that come
//! in bunches do not disturb, and an exponential average of the samples.
//!
//! Source: see `westwood_plus.rs`. A sample is complete with the first ACK that comes no less than
//! a round-trip time after its start, and is taken over the time up to that ACK. Decisions: the
//! first sample is the first estimate; silence, such as before a timeout, makes one long sample.

use units::{Span, Time};

use super::Estimator;
use crate::events::Feedback;
use crate::window::Window;

/// Average of what arrived in each round-trip time.
#[derive(Clone, Debug)]
pub struct PerRound {
    /// Weight of the old estimate.
    memory: f64,
    rate: Option<f64>,
    /// When the running sample began; none before the first ACK, which only starts the clock: what
    /// it covers was sent before.
    since: Option<Time>,
    /// Bytes in it.
    counted: u64,
}

impl PerRound {
    /// Weight of the old estimate: 0.9 in Westwood+.
    pub fn new(memory: f64) -> Self {
        Self { memory, rate: None, since: None, counted: 0 }
    }

    /// An ACK of `bytes`, and the round-trip time.
    pub fn count(&mut self, now: Time, bytes: u64, rtt: Option<Span>) {
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        self.counted += bytes;
        let length = now.since(since);
        if length > Span::ZERO && rtt.is_some_and(|rtt| length >= rtt) {
            let sample = self.counted as f64 / length.as_secs_f64();
            let average = |old| self.memory * old + (1.0 - self.memory) * sample;
            self.rate = Some(self.rate.map_or(sample, average));
            self.since = Some(now);
            self.counted = 0;
        }
    }
}

impl Estimator for PerRound {
    fn on_ack(&mut self, feedback: &Feedback, delivered: u64, _window: &Window) {
        self.count(feedback.now, delivered, feedback.srtt);
    }

    fn rate_at(&self, _now: Time) -> Option<f64> {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::at;

    const RTT: u64 = 500;

    fn counted(acks: &[(u64, u64)]) -> PerRound {
        let mut estimate = PerRound::new(0.9);
        for &(milliseconds, bytes) in acks {
            estimate.count(at(milliseconds), bytes, Some(Span::from_millis(RTT)));
        }
        estimate
    }

    #[test]
    fn there_is_one_sample_per_round_trip() {
        assert_eq!(counted(&[(0, 1000), (RTT - 1, 10_000)]).rate, None);
        let acks = [(0, 1000), (RTT - 1, 10_000), (RTT, 10_000), (RTT + 1, 10_000)];
        assert_eq!(counted(&acks).rate, Some(40_000.0));
    }

    #[test]
    fn a_new_sample_weighs_a_tenth() {
        let estimate = counted(&[(0, 1000), (RTT, 20_000), (2 * RTT, 30_000)]);
        assert!((estimate.rate.unwrap() - 42_000.0).abs() < 1e-6);
    }

    #[test]
    fn bunches_within_a_round_do_not_matter() {
        let even: Vec<_> = (0..=300).map(|i| (10 * i, 1000)).collect();
        let bunched: Vec<_> = (0..=300).map(|i| (10 * (i - i % 50), 1000)).collect();
        assert!((counted(&even).rate.unwrap() - 100_000.0).abs() < 1e-6);
        assert!((counted(&bunched).rate.unwrap() / 100_000.0 - 1.0).abs() < 0.21);
    }

    #[test]
    fn silence_is_one_long_sample() {
        let estimate = counted(&[(0, 1000), (RTT, 50_000), (5 * RTT, 20_000)]);
        assert!((estimate.rate.unwrap() - 91_000.0).abs() < 1e-6);
    }
}
