//! BIC: a binary search for the window that the path carries.
//!
//! Source: L. Xu, K. Harfoush and I. Rhee, "Binary increase congestion control (BIC) for fast
//! long-distance networks", IEEE INFOCOM 2004.
//!
//! Rules: the last loss was at the window W_max, so the window that fits lies between what the
//! loss left and W_max. In each RTT the window goes half of the way to W_max, by no more than S_max
//! (additive increase) and no less than S_min segments. Beyond W_max it looks for a new maximum,
//! with steps as long as its distance from W_max, in the same bounds.
//!
//! Reconstructed: the paper's own text was not read. The rules are those that secondary sources and
//! implementations agree on; the constants are those quoted for the paper, unconfirmed, and so all
//! of them are parameters. Implementations differ from them: they are known to use beta = 0.2,
//! S_max = 16 and a quarter of the way instead of half. Decided here:
//! - A step is chosen once for each window of ACKs, so the distance to W_max halves in an RTT.
//! - A loss reduces cwnd and not the flight size, by half when cwnd is below `low_window`, where
//!   growth is that of standard TCP, too.
//! - Before the first loss, and after a timeout, which forgets W_max, the steps are S_max.
//! - A timeout leaves half of the flight size as ssthresh (RFC 5681).

mod linux;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Loss};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::VARIANT;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use linux::LinuxBic;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "beta",
        default: "0.125",
        allowed: Allowed::Range(0.01, 0.99),
        meaning: "Share of the window by which a loss reduces it",
    },
    Parameter {
        name: "s_max",
        default: "32",
        allowed: Allowed::Range(0.01, 1e6),
        meaning: "Longest step in segments per RTT",
    },
    Parameter {
        name: "s_min",
        default: "0.01",
        allowed: Allowed::Range(1e-6, 1e6),
        meaning: "Shortest step in segments per RTT; at most s_max",
    },
    Parameter {
        name: "low_window",
        default: "14",
        allowed: Allowed::Range(0.0, 1e6),
        meaning: "Window in segments below which growth and reduction are those of standard TCP",
    },
    Parameter {
        name: "fast_convergence",
        default: "on",
        allowed: Allowed::OneOf(&["on", "off"]),
        meaning: "Whether a flow that lost below its last W_max takes W_max as lower than its \
                  window, to leave room for new flows",
    },
    VARIANT,
];

/// BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    window: Window,
    beta: f64,
    s_max: f64,
    s_min: f64,
    low_window: f64,
    fast_convergence: bool,
    /// W_max in segments; zero when there was no loss, or a timeout since.
    w_max: f64,
    /// The step of this round trip, in segments.
    step: f64,
    /// Bytes to be acknowledged until the next step is chosen.
    round_left: u64,
}

impl Listed for Bic {
    const LISTED: &'static [Entry] = &[Entry {
        name: "bic",
        summary: "Binary search for the window of the last loss, with bounded steps",
        source: "Xu, Harfoush and Rhee, BIC, IEEE INFOCOM 2004",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];
    const ORDERED: &'static [(&'static str, &'static str)] = &[("s_min", "s_max")];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            beta: values.number("beta"),
            s_max: values.number("s_max"),
            s_min: values.number("s_min"),
            low_window: values.number("low_window"),
            fast_convergence: values.word("fast_convergence") == "on",
            w_max: 0.0,
            step: 0.0,
            round_left: 0,
        }
    }
}

impl Bic {
    fn segments(&self) -> f64 {
        self.window.cwnd as f64 / self.window.mss as f64
    }

    /// Growth per RTT from a window of `cwnd` segments.
    fn step_from(&self, cwnd: f64) -> f64 {
        if cwnd < self.low_window {
            return 1.0;
        }
        let distance = self.w_max - cwnd;
        let step = if distance > 0.0 { distance / 2.0 } else { -distance };
        step.max(self.s_min).min(self.s_max)
    }
}

impl Controller for Bic {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn avoid_congestion(&mut self, ack: &Ack) {
        if self.round_left == 0 {
            self.step = self.step_from(self.segments());
            self.round_left = self.window.cwnd;
        }
        let acked = ack.acked.min(self.window.cwnd);
        self.round_left = self.round_left.saturating_sub(acked);
        let per_window = self.step * self.window.mss as f64;
        self.window.grow_by_fraction(whole(per_window * acked as f64));
    }

    fn on_loss(&mut self, loss: &Loss) {
        let cwnd = self.segments();
        let converge = self.fast_convergence && cwnd < self.w_max;
        self.w_max = if converge { cwnd * (2.0 - self.beta) / 2.0 } else { cwnd };
        self.round_left = 0;
        let ssthresh = self.threshold_after_loss(loss);
        self.window.ssthresh = ssthresh;
        self.window.cwnd = ssthresh;
    }

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        let kept = if self.segments() < self.low_window { 0.5 } else { 1.0 - self.beta };
        whole(kept * self.window.cwnd as f64).max(2 * self.window.mss)
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window.ssthresh = self.window.half(loss.flight);
        }
        self.w_max = 0.0;
        self.round_left = 0;
        self.window.cwnd = self.window.mss;
    }

    fn on_idle(&mut self) {
        self.round_left = 0;
        self.window.cwnd = self.window.cwnd.min(self.window.initial);
    }
}

impl TcpPolicy for Bic {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::{ack, loss};
    use crate::parameters::Value;

    const MSS: u64 = 1000;

    fn bic_with(fast_convergence: &str, segments: u64) -> Bic {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: 14 * MSS,
            byte_counting: 1,
        };
        let mut values = Values::defaults(PARAMETERS);
        values.set("bic", "fast_convergence", Value::Word(fast_convergence.into())).unwrap();
        let mut bic = Bic::build(&settings, &values);
        bic.window.cwnd = segments * MSS;
        bic
    }

    fn bic(segments: u64) -> Bic {
        bic_with("on", segments)
    }

    /// ACKs one window and returns the growth in segments.
    fn round_trip(bic: &mut Bic) -> f64 {
        let before = bic.segments();
        let mut left = bic.window.cwnd;
        while left > 0 {
            let acked = left.min(MSS);
            left -= acked;
            bic.on_ack(&ack(acked));
        }
        bic.segments() - before
    }

    fn assert_near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn a_loss_takes_an_eighth_of_the_window() {
        let mut bic = bic(1000);
        bic.on_loss(&loss(400 * MSS));
        assert_eq!((bic.window.cwnd, bic.window.ssthresh), (875 * MSS, 875 * MSS));
        assert_near(bic.w_max, 1000.0, 1e-9);
    }

    #[test]
    fn far_below_w_max_the_window_grows_by_s_max_in_each_round_trip() {
        let mut bic = bic(1000);
        bic.on_loss(&loss(1000 * MSS));
        // Half of the 125 segments to W_max is more than 32.
        assert_near(round_trip(&mut bic), 32.0, 0.8);
    }

    #[test]
    fn near_w_max_each_round_trip_halves_the_distance() {
        let mut bic = bic(100);
        bic.on_loss(&loss(100 * MSS));
        bic.window.cwnd = 92 * MSS;
        for gap in [4.0, 2.0, 1.0, 0.5] {
            round_trip(&mut bic);
            assert_near(100.0 - bic.segments(), gap, 0.2);
        }
    }

    #[test]
    fn at_w_max_the_step_is_s_min_and_beyond_it_the_distance_up_to_s_max() {
        let mut bic = bic(100);
        bic.on_loss(&loss(100 * MSS));
        for (window, step) in
            [(99.99, 0.01), (100.0, 0.01), (101.0, 1.0), (120.0, 20.0), (200.0, 32.0)]
        {
            assert_near(bic.step_from(window), step, 1e-9);
        }
    }

    #[test]
    fn beyond_w_max_the_distance_doubles_in_each_round_trip() {
        let mut bic = bic(100);
        bic.on_loss(&loss(100 * MSS));
        bic.window.cwnd = 101 * MSS;
        for distance in [2.0, 4.0, 8.0] {
            round_trip(&mut bic);
            assert_near(bic.segments() - 100.0, distance, 0.5);
        }
    }

    #[test]
    fn below_fourteen_segments_it_is_standard_tcp() {
        let mut bic = bic(13);
        bic.window.ssthresh = 2 * MSS;
        bic.w_max = 1000.0;
        assert_near(round_trip(&mut bic), 1.0, 0.1);
        bic.window.cwnd = 12 * MSS;
        bic.on_loss(&loss(12 * MSS));
        assert_eq!(bic.window.cwnd, 6 * MSS);
        bic.window.cwnd = 3 * MSS;
        bic.on_loss(&loss(3 * MSS));
        assert_eq!(bic.window.cwnd, 2 * MSS);
    }

    #[test]
    fn fast_convergence_lowers_w_max_of_a_flow_that_lost_below_the_last_one() {
        for (parameter, expected) in [("on", 750.0), ("off", 800.0)] {
            let mut bic = bic_with(parameter, 1000);
            bic.on_loss(&loss(1000 * MSS));
            bic.window.cwnd = 800 * MSS;
            bic.on_loss(&loss(800 * MSS));
            assert_near(bic.w_max, expected, 1e-9);
        }
    }

    #[test]
    fn a_loss_at_the_last_w_max_keeps_it() {
        let mut bic = bic_with("on", 1000);
        bic.on_loss(&loss(1000 * MSS));
        bic.window.cwnd = 1000 * MSS;
        bic.on_loss(&loss(1000 * MSS));
        assert_near(bic.w_max, 1000.0, 1e-9);
    }

    #[test]
    fn a_timeout_halves_the_flight_size_and_forgets_w_max() {
        let mut bic = bic(1000);
        bic.on_loss(&loss(1000 * MSS));
        bic.on_timeout(&loss(800 * MSS));
        assert_eq!((bic.window.cwnd, bic.window.ssthresh), (MSS, 400 * MSS));
        bic.on_timeout(&Loss { repeated: true, ..loss(MSS) });
        assert_eq!(bic.window.ssthresh, 400 * MSS);
        // 5 if the 1000 segments of W_max were remembered.
        bic.window.cwnd = 990 * MSS;
        assert_near(round_trip(&mut bic), 32.0, 2.0);
    }

    #[test]
    fn a_loss_begins_a_new_round_with_a_new_step() {
        let mut bic = bic(1000);
        bic.round_left = 1000 * MSS;
        bic.step = 0.01;
        bic.on_loss(&loss(1000 * MSS));
        assert_near(round_trip(&mut bic), 32.0, 0.8);
    }
}
