//! HighSpeed TCP: standard TCP whose increase and decrease depend on the window.
//!
//! Source: RFC 3649 section 5 (the response function) and section 7 (increase and decrease that
//! lead to it); Appendix B tabulates both for the default parameters. The comments name the
//! sections; w is the window in segments.
//!
//! Rules: up to `low_window` segments it is standard TCP. Above it the window grows by a(w)
//! segments for each window of ACKs and a loss takes the share b(w) of it, so that w = `low_window`
//! at a loss rate of `low_p` and w = `high_window` at `high_p`, on a straight line in log w over
//! log p between them. Slow start and the timeout are those of standard TCP.
//!
//! Decisions: the equations themselves are used. The RFC rounds 1 / S to 1.2 and its
//! factor to 0.078 before it computes the table, which makes a(w) there 1 to 2.5 % smaller. a(w) is
//! never less than one segment, and b(w) never less than `high_decrease`: beyond `high_window` the
//! line for b, which the last rows of the table still follow, would become negative. As in RFC
//! 5681, what a loss reduces is the flight size. Equations and table were read in implementations
//! that name the RFC as their source; the section numbers are from memory.

mod linux;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Loss};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::VARIANT;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use linux::LinuxHighSpeed;

/// Section 7: b(`low_window`), the decrease of standard TCP.
const LOW_DECREASE: f64 = 0.5;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "low_window",
        default: "38",
        allowed: Allowed::Range(2.0, 1e3),
        meaning: "Low_Window (W): segments up to which it is standard TCP (RFC 3649 section 5)",
    },
    Parameter {
        name: "low_p",
        default: "1e-3",
        allowed: Allowed::Range(1e-4, 1.0),
        meaning: "Low_P (P): loss rate at which the window is low_window (RFC 3649 section 5)",
    },
    Parameter {
        name: "high_window",
        default: "83000",
        allowed: Allowed::Range(2e3, 1e9),
        meaning: "High_Window (W_1): segments of the window at a loss rate of high_p (RFC 3649 \
                  section 5)",
    },
    Parameter {
        name: "high_p",
        default: "1e-7",
        allowed: Allowed::Range(1e-15, 5e-5),
        meaning: "High_P (P_1): loss rate at which the window is high_window (RFC 3649 section 5)",
    },
    Parameter {
        name: "high_decrease",
        default: "0.1",
        allowed: Allowed::Range(0.01, 0.5),
        meaning: "High_Decrease (B): share of the window that a loss takes at high_window and above \
                  (RFC 3649 section 7)",
    },
    VARIANT,
];

/// HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    window: Window,
    low_window: f64,
    low_p: f64,
    high_decrease: f64,
    /// ln W_1 - ln W.
    log_windows: f64,
    /// 1 / S = (ln P_1 - ln P) / (ln W_1 - ln W), the slope of log p over log w.
    slope: f64,
}

impl Listed for HighSpeed {
    const LISTED: &'static [Entry] = &[Entry {
        name: "highspeed",
        summary: "Above 38 segments the window grows faster and a loss takes less, the larger it is",
        source: "RFC 3649",
        status: Status::Implementation("Linux 6.12, net/ipv4/tcp_highspeed.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let low_window = values.number("low_window");
        let low_p = values.number("low_p");
        let log_windows = libm::log(values.number("high_window") / low_window);
        Self {
            window: Window::new(settings),
            low_window,
            low_p,
            high_decrease: values.number("high_decrease"),
            log_windows,
            slope: libm::log(values.number("high_p") / low_p) / log_windows,
        }
    }
}

/// Section 7: the a that a decrease of b needs for the window to be w at a loss rate of p.
fn increase_for(w: f64, p: f64, b: f64) -> f64 {
    w * w * p * 2.0 * b / (2.0 - b)
}

impl HighSpeed {
    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / self.window.mss as f64
    }

    /// p(w), section 5: the loss rate at which the response function is w.
    fn loss_rate(&self, w: f64) -> f64 {
        self.low_p * libm::exp(self.slope * libm::log(w / self.low_window))
    }

    /// b(w), section 7: the share of the window that a loss takes.
    fn decrease(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return LOW_DECREASE;
        }
        let part = libm::log(w / self.low_window) / self.log_windows;
        LOW_DECREASE + (self.high_decrease - LOW_DECREASE) * part.min(1.0)
    }

    /// a(w), section 7: segments by which the window grows in one round trip.
    fn increase(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        increase_for(w, self.loss_rate(w), self.decrease(w)).max(1.0)
    }
}

impl Controller for HighSpeed {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    /// a(w) / w segments for each ACK (section 7).
    fn avoid_congestion(&mut self, ack: &Ack) {
        let increase = self.increase(self.segments(self.window.cwnd));
        let window = &mut self.window;
        let standard = window.mss * window.counted(ack.acked).max(window.mss);
        window.grow_by_fraction(whole(increase * standard as f64));
    }

    /// (1 - b(w)) w (section 7).
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        let left = 1.0 - self.decrease(self.segments(loss.flight));
        whole(left * loss.flight as f64).max(2 * self.window.mss)
    }

    /// The timeout of RFC 5681: half of the flight size, whatever b(w) is.
    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window.ssthresh = self.window.half(loss.flight);
        }
        self.window.cwnd = self.window.mss;
    }
}

impl TcpPolicy for HighSpeed {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::{ack, loss};

    const MSS: u64 = 1000;

    /// Rows of RFC 3649 Appendix B up to the high window: w, a(w), b(w).
    const APPENDIX_B: [(f64, f64, f64); 13] = [
        (118.0, 2.0, 0.44),
        (221.0, 3.0, 0.41),
        (347.0, 4.0, 0.38),
        (495.0, 5.0, 0.37),
        (663.0, 6.0, 0.35),
        (851.0, 7.0, 0.34),
        (1058.0, 8.0, 0.33),
        (1529.0, 10.0, 0.31),
        (5036.0, 20.0, 0.25),
        (10661.0, 30.0, 0.21),
        (30975.0, 50.0, 0.15),
        (53677.0, 62.0, 0.12),
        (79517.0, 70.0, 0.10),
    ];

    fn highspeed(cwnd: u64) -> HighSpeed {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 2 * MSS,
            initial_ssthresh: 2 * MSS,
            byte_counting: 1,
        };
        let mut highspeed = HighSpeed::build(&settings, &Values::defaults(PARAMETERS));
        highspeed.window.cwnd = cwnd;
        highspeed
    }

    #[test]
    fn the_decrease_is_the_one_of_appendix_b_to_its_two_digits() {
        let highspeed = highspeed(MSS);
        for (w, _, b) in APPENDIX_B {
            let computed = highspeed.decrease(w);
            assert!((computed - b).abs() < 0.0055, "b({w}) = {computed}, in the table {b}");
        }
    }

    /// 0.078 stands for anything from 0.0775 to 0.0785: 0.64 % to either side.
    #[test]
    fn the_increase_is_the_one_of_appendix_b_when_p_is_rounded_as_there() {
        let highspeed = highspeed(MSS);
        for (w, a, _) in APPENDIX_B {
            let rounded = 0.078 / libm::pow(w, 1.2);
            let computed = increase_for(w, rounded, highspeed.decrease(w)) / a;
            assert!((computed - 1.0).abs() < 0.0064, "a({w}) is {computed} times the table's {a}");
        }
    }

    /// The factor is up to 0.64 % off, and w to the power of 1.2 instead of 1.1979 takes 0.8 % at
    /// 38 segments and 2.4 % at 79517.
    #[test]
    fn the_increase_is_larger_than_in_appendix_b_by_what_is_rounded_there() {
        let highspeed = highspeed(MSS);
        for (w, a, _) in APPENDIX_B {
            let computed = highspeed.increase(w) / a;
            assert!(
                (1.008..1.031).contains(&computed),
                "a({w}) is {computed} times the table's {a}"
            );
        }
    }

    #[test]
    fn the_response_function_goes_through_both_of_its_points() {
        let highspeed = highspeed(MSS);
        assert!((highspeed.loss_rate(38.0) / 1e-3 - 1.0).abs() < 1e-9);
        assert!((highspeed.loss_rate(83_000.0) / 1e-7 - 1.0).abs() < 1e-9);
        assert!((1.0 / highspeed.slope + 0.8348).abs() < 1e-4);
    }

    #[test]
    fn up_to_38_segments_it_is_standard_tcp() {
        let mut highspeed = highspeed(38 * MSS);
        highspeed.on_ack(&ack(MSS));
        assert_eq!(highspeed.window.cwnd, 38 * MSS + MSS / 38);
        for segments in [20, 38] {
            highspeed.on_loss(&loss(segments * MSS));
            assert_eq!(highspeed.window.cwnd, segments / 2 * MSS);
        }
    }

    #[test]
    fn the_increase_is_never_smaller_than_that_of_standard_tcp() {
        let highspeed = highspeed(MSS);
        assert!((highspeed.increase(38.001) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_window_of_acks_adds_a_of_w_segments() {
        let mut highspeed = highspeed(1058 * MSS);
        let expected = highspeed.increase(1058.0) * MSS as f64;
        for _ in 0..1058 {
            highspeed.on_ack(&ack(MSS));
        }
        let grown = (highspeed.window.cwnd - 1058 * MSS) as f64;
        assert!((grown - expected).abs() < 0.01 * expected, "{grown} bytes, not {expected}");
    }

    #[test]
    fn a_loss_takes_a_tenth_of_the_high_window_and_of_any_larger_one() {
        for segments in [83_000, 1_000_000, 1_000_000_000] {
            let mut highspeed = highspeed(segments * MSS);
            highspeed.on_loss(&loss(segments * MSS));
            let expected = segments * MSS / 10 * 9;
            assert!(highspeed.window.cwnd.abs_diff(expected) <= 1, "{}", highspeed.window.cwnd);
            assert_eq!(highspeed.window.ssthresh, highspeed.window.cwnd);
        }
    }

    #[test]
    fn a_timeout_halves_as_standard_tcp_does() {
        let mut highspeed = highspeed(83_000 * MSS);
        highspeed.on_timeout(&loss(83_000 * MSS));
        assert_eq!((highspeed.window.cwnd, highspeed.window.ssthresh), (MSS, 41_500 * MSS));
        highspeed.on_timeout(&Loss { repeated: true, ..loss(MSS) });
        assert_eq!(highspeed.window.ssthresh, 41_500 * MSS);
    }

    #[test]
    fn the_window_stays_at_two_segments_or_more() {
        let mut highspeed = highspeed(3 * MSS);
        highspeed.on_loss(&loss(3 * MSS));
        assert_eq!(highspeed.window.cwnd, 2 * MSS);
    }
}
