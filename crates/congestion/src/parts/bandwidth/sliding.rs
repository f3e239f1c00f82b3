//! The bandwidth estimate of TCP-Jersey: a window that slides over the time of one round trip.
//!
//! Source: K. Xu, Y. Tian, N. Ansari, "TCP-Jersey for wireless IP communications", IEEE Journal on
//! Selected Areas in Communications 22(4), 2004. With L_n the data that an ACK acknowledges,
//!
//! R_n = (T_w R_(n-1) + L_n) / ((t_n - t_(n-1)) + T_w), where T_w = K RTT and K = 1.
//!
//! Read in a port to ns-3, not in the paper. That port collects L_n over a whole round trip and
//! divides by the gap between two ACKs; here both belong to the same interval. Starts from zero.

use units::{Span, Time};

use super::{Clock, Estimator};
use crate::events::Feedback;
use crate::window::Window;

/// Rate over the last round trip.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sliding {
    rate: Option<f64>,
    /// When the last ACK came. The first only starts the clock: what it covers was sent before.
    since: Option<Time>,
}

impl Sliding {
    /// An ACK of `bytes`, and T_w.
    pub(crate) fn count(&mut self, now: Time, bytes: u64, window: Span) {
        if let Some(since) = self.since.replace(now)
            && window > Span::ZERO
        {
            let window = window.as_secs_f64();
            let old = self.rate.unwrap_or(0.0);
            let length = now.since(since).as_secs_f64() + window;
            self.rate = Some((window * old + bytes as f64) / length);
        }
    }

    /// Bytes per second; none before the second ACK.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
    }
}

/// The same as an estimator: the window is K round-trip times, and a clock times the ACKs.
#[derive(Clone, Debug)]
pub struct SlidingRate<C> {
    sliding: Sliding,
    clock: C,
    round_trips: f64,
}

impl<C: Clock> SlidingRate<C> {
    /// Looks back over `round_trips`, the K of the paper.
    pub fn new(round_trips: f64) -> Self {
        Self { sliding: Sliding::default(), clock: C::default(), round_trips }
    }
}

impl<C: Clock> Estimator for SlidingRate<C> {
    fn on_ack(&mut self, feedback: &Feedback, delivered: u64, _window: &Window) {
        let now = self.clock.read(feedback);
        if let Some(rtt) = feedback.srtt {
            let window = Span::from_secs_f64(self.round_trips * rtt.as_secs_f64());
            self.sliding.count(now, delivered, window);
        }
    }

    fn rate_at(&self, _now: Time) -> Option<f64> {
        self.sliding.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::at;

    const RTT: Span = Span::from_millis(500);

    #[test]
    fn the_old_rate_counts_as_if_it_had_lasted_the_window() {
        let mut sliding = Sliding::default();
        sliding.count(at(0), 1000, RTT);
        assert_eq!(sliding.rate(), None);
        sliding.count(at(100), 6000, RTT);
        assert!((sliding.rate().unwrap() - 10_000.0).abs() < 1e-9);
        sliding.count(at(600), 3000, RTT);
        assert!((sliding.rate().unwrap() - 8_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_steady_train_of_acks_gives_its_rate() {
        let mut sliding = Sliding::default();
        for i in 0..1000 {
            sliding.count(at(3 * i), 1500, RTT);
        }
        assert!((sliding.rate().unwrap() / 500_000.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn acks_of_one_instant_add_up() {
        let mut sliding = Sliding::default();
        sliding.count(at(0), 1000, RTT);
        sliding.count(at(0), 1000, RTT);
        sliding.count(at(0), 1000, RTT);
        assert!((sliding.rate().unwrap() - 4_000.0).abs() < 1e-9);
    }
}
