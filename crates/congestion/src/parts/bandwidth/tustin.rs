//! The bandwidth estimate of TCP Westwood: each ACK is a sample, and a low-pass filter smooths
//! them.
//!
//! Source: see `westwood.rs`. A sample is what an ACK delivers over the time since the ACK before
//! it; the filter is [`LowPass`]. Decisions: ACKs that arrive at one instant are one sample with
//! the next. After silence a sample is still taken over the whole time since the last ACK; over
//! the time since the last zero only, it could be as large as chance wants it.

use units::{Span, Time};

use super::Estimator;
use super::low_pass::LowPass;
use crate::events::Feedback;
use crate::window::Window;

/// Filtered rate of the ACKs.
#[derive(Clone, Debug)]
pub struct Tustin {
    tau: Span,
    m: f64,
    /// None before the first ACK, which only starts the clock: what it covers was sent before.
    filter: Option<LowPass>,
    /// When the last sample ended.
    since: Time,
    /// Bytes that have arrived since.
    pending: u64,
}

impl Tustin {
    /// Time constant, and the part of it after which silence counts.
    pub fn new(tau: Span, m: f64) -> Self {
        Self { tau, m, filter: None, since: Time::ZERO, pending: 0 }
    }

    /// An ACK of `bytes`.
    pub fn count(&mut self, now: Time, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let Some(filter) = &mut self.filter else {
            self.filter = Some(LowPass::new(now, self.m));
            self.since = now;
            return;
        };
        self.pending += bytes;
        if now > self.since {
            let sample = self.pending as f64 / now.since(self.since).as_secs_f64();
            filter.feed(now, self.tau, sample);
            self.since = now;
            self.pending = 0;
        }
    }
}

impl Estimator for Tustin {
    fn on_ack(&mut self, feedback: &Feedback, delivered: u64, _window: &Window) {
        self.count(feedback.now, delivered);
    }

    /// With the silence since the last ACK.
    fn rate_at(&self, now: Time) -> Option<f64> {
        self.filter.map(|filter| filter.value_at(now, self.tau))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::at;

    fn tustin() -> Tustin {
        Tustin::new(Span::from_millis(500), 2.0)
    }

    #[test]
    fn a_steady_train_of_acks_gives_its_rate() {
        let mut tustin = tustin();
        for i in 0..1000 {
            tustin.count(at(10 * i), 1000);
        }
        let rate = tustin.rate_at(at(9990)).unwrap();
        assert!((rate - 100_000.0).abs() < 1.0, "{rate}");
    }

    #[test]
    fn a_step_in_the_rate_is_followed_within_the_time_constant() {
        let mut tustin = tustin();
        for i in 0..=1000 {
            tustin.count(at(10 * i), 1000);
        }
        for i in 1..=50 {
            tustin.count(at(10_000 + 10 * i), 3000);
        }
        // One time constant: all but 1/e of the step.
        let rate = tustin.rate_at(at(10_500)).unwrap();
        let expected = 300_000.0 - 200_000.0 * libm::exp(-1.0);
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn acks_of_one_instant_are_one_sample_with_the_next() {
        let mut tustin = tustin();
        tustin.count(at(0), 1000);
        tustin.count(at(100), 1000);
        tustin.count(at(100), 3000);
        tustin.count(at(200), 1000);
        let mut other = self::tustin();
        other.count(at(0), 1000);
        other.count(at(100), 1000);
        other.count(at(200), 4000);
        assert_eq!(tustin.rate_at(at(200)), other.rate_at(at(200)));
    }

    #[test]
    fn silence_lowers_the_rate() {
        let mut tustin = tustin();
        for i in 0..1000 {
            tustin.count(at(10 * i), 1000);
        }
        let rate = tustin.rate_at(at(9990 + 2000)).unwrap();
        assert!((1.0..10_000.0).contains(&rate), "{rate}");
    }

    #[test]
    fn there_is_no_rate_before_the_first_ack() {
        assert_eq!(tustin().rate_at(at(500)), None);
    }
}
