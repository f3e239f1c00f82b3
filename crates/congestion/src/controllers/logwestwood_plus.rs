//! LogWestwood+: Westwood+ whose window climbs back along a logarithm.
//!
//! Source: D. Kliazovich, F. Granelli, D. Miorandi, "Logarithmic window increase for TCP Westwood+
//! for improvement in high speed, long distance networks", Computer Networks 52(12), 2008. With
//! Wmax the window at the last loss:
//!
//! - avoidance: W += max((Wmax - W) / (alpha W), 1 / W) segments for each ACK, so the step is the
//!   larger the further Wmax is away, and that of standard TCP near Wmax and beyond it,
//! - loss and timeout: as Westwood+, to the bandwidth that the ACKs show times RTTmin,
//! - slow start is standard.
//!
//! Reconstructed: the text of the paper was not available; the rules are those of secondary
//! descriptions, and alpha = 2 is what the A-LIAD paper says of it. Whether the paper adapts alpha,
//! and what it does beyond Wmax, is not known. A larger alpha climbs more slowly here, and not
//! faster as in A-LIAD. W is the running window, so that with alpha = 2 an ACK for each segment
//! leaves two thirds of the gap in a round trip and not half of it.
//!
//! Decisions: before the first loss there is no Wmax, and avoidance is standard. A timeout sets
//! Wmax too. Before the first sample of the bandwidth a loss halves.

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::bandwidth::{PerRound, Share};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "alpha",
        default: "2",
        allowed: Allowed::Range(1.0, 1000.0),
        meaning: "Divisor of the distance to Wmax: a larger one climbs more slowly",
    },
    Parameter {
        name: "memory",
        default: "0.9",
        allowed: Allowed::Range(0.0, 0.999),
        meaning: "Share of the old bandwidth estimate in the new one, for each round-trip time, as \
                  in Westwood+",
    },
];

/// LogWestwood+.
#[derive(Clone, Debug)]
pub struct LogWestwoodPlus {
    window: Window,
    alpha: f64,
    share: Share<PerRound>,
    /// Window at the last loss in bytes; zero before.
    w_max: u64,
}

impl Listed for LogWestwoodPlus {
    const LISTED: &'static [Entry] = &[Entry {
        name: "logwestwood-plus",
        summary: "Westwood+ with a logarithmic climb to the window of the last loss",
        source: "Kliazovich, Granelli and Miorandi, LogWestwood+, 2008",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            alpha: values.number("alpha"),
            share: Share::new(PerRound::new(values.number("memory"))),
            w_max: 0,
        }
    }
}

impl Controller for LogWestwoodPlus {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.share.on_feedback(feedback, &self.window);
    }

    fn avoid_congestion(&mut self, ack: &Ack) {
        let window = &mut self.window;
        let counted = window.counted(ack.acked).max(window.mss);
        let gap = self.w_max.saturating_sub(window.cwnd) as f64;
        let logarithmic = whole(gap / self.alpha * counted as f64);
        window.grow_by_fraction(logarithmic.max(window.mss * counted));
    }

    /// BWE * RTTmin, at least two segments.
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        self.share.threshold_after(loss, &self.window)
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.w_max = self.window.cwnd;
        self.window.ssthresh = self.threshold_after_loss(loss);
        self.window.cwnd = self.window.ssthresh;
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.w_max = self.window.cwnd;
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        self.window.cwnd = self.window.mss;
    }
}

impl TcpPolicy for LogWestwoodPlus {}

#[cfg(test)]
mod tests {
    use units::{Span, Time};

    use super::*;
    use crate::parameters::Value;
    use crate::parts::bandwidth::samples::acknowledged;

    const MSS: u64 = 1000;

    fn controller(alpha: f64, cwnd: u64) -> LogWestwoodPlus {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd * MSS,
            initial_ssthresh: 2 * MSS,
            byte_counting: 1,
        };
        let mut values = Values::defaults(PARAMETERS);
        values.set("logwestwood-plus", "alpha", Value::Number(alpha)).unwrap();
        LogWestwoodPlus::build(&settings, &values)
    }

    fn climbing(alpha: f64, cwnd: u64, w_max: u64) -> LogWestwoodPlus {
        LogWestwoodPlus { w_max: w_max * MSS, ..controller(alpha, cwnd) }
    }

    /// An ACK for each segment of the window.
    fn one_round(controller: &mut LogWestwoodPlus) {
        for _ in 0..controller.window.cwnd / MSS {
            controller.on_ack(&Ack {
                now: Time::ZERO,
                acked: MSS,
                flight: 0,
                advertised: u64::MAX,
                srtt: Some(Span::from_secs(1)),
                min_rtt: Some(Span::from_secs(1)),
                cwnd_limited: true,
            });
        }
    }

    /// 100 segments in a second, with an RTT of half a second.
    fn measured(controller: &mut LogWestwoodPlus) {
        for i in 0..=100 {
            controller.on_feedback(&Feedback {
                srtt: Some(Span::from_millis(500)),
                min_rtt: Some(Span::from_millis(500)),
                ..acknowledged(10 * i, MSS)
            });
        }
    }

    fn loss(repeated: bool) -> Loss {
        Loss { now: Time::ZERO, flight: 80 * MSS, repeated }
    }

    fn segments(controller: &LogWestwoodPlus) -> f64 {
        controller.window.cwnd as f64 / MSS as f64
    }

    #[test]
    fn far_below_wmax_an_ack_adds_the_distance_over_alpha_windows() {
        let mut controller = climbing(2.0, 100, 300);
        controller.on_ack(&Ack {
            now: Time::ZERO,
            acked: MSS,
            flight: 0,
            advertised: u64::MAX,
            srtt: None,
            min_rtt: None,
            cwnd_limited: true,
        });
        assert_eq!(controller.window.cwnd, 101 * MSS);
    }

    #[test]
    fn a_round_trip_leaves_two_thirds_of_the_gap() {
        let mut controller = climbing(2.0, 350, 700);
        one_round(&mut controller);
        let left = (700.0 - segments(&controller)) / 350.0;
        assert!((left - 0.655).abs() < 2e-3, "{left}");
    }

    #[test]
    fn a_larger_alpha_climbs_more_slowly() {
        let mut fast = climbing(2.0, 350, 700);
        let mut slow = climbing(4.0, 350, 700);
        one_round(&mut fast);
        one_round(&mut slow);
        assert!(segments(&slow) < segments(&fast));
    }

    #[test]
    fn near_wmax_and_beyond_it_growth_is_standard() {
        for w_max in [0, 90, 100, 101] {
            let mut controller = climbing(2.0, 100, w_max);
            one_round(&mut controller);
            let grown = segments(&controller) - 100.0;
            assert!((0.99..=1.0).contains(&grown), "{grown} with Wmax {w_max}");
        }
    }

    #[test]
    fn a_loss_goes_to_the_bandwidth_times_the_smallest_rtt_and_remembers_the_window() {
        let mut controller = controller(2.0, 80);
        measured(&mut controller);
        controller.on_loss(&loss(false));
        assert_eq!(controller.window.cwnd, 50 * MSS);
        assert_eq!(controller.window.ssthresh, 50 * MSS);
        assert_eq!(controller.w_max, 80 * MSS);
    }

    #[test]
    fn a_loss_before_the_first_sample_leaves_half_the_flight() {
        let mut controller = controller(2.0, 80);
        controller.on_loss(&loss(false));
        assert_eq!(controller.window.cwnd, 40 * MSS);
    }

    #[test]
    fn a_timeout_sends_one_segment_and_a_repeated_one_changes_nothing_else() {
        let mut controller = controller(2.0, 80);
        measured(&mut controller);
        controller.on_timeout(&loss(false));
        assert_eq!((controller.window.cwnd, controller.window.ssthresh), (MSS, 50 * MSS));
        for _ in 0..10 {
            controller.on_timeout(&loss(true));
        }
        assert_eq!((controller.window.cwnd, controller.window.ssthresh), (MSS, 50 * MSS));
        assert_eq!(controller.w_max, 80 * MSS);
    }

    #[test]
    fn a_window_of_a_hundred_thousand_segments_does_not_overflow() {
        let mut controller = climbing(1.0, 1000, 100_000);
        for _ in 0..20 {
            one_round(&mut controller);
        }
        assert!((99_000.0..=100_100.0).contains(&segments(&controller)));
    }
}
