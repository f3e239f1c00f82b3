//! CUBIC: a window that is a cubic function of the time since the last loss.
//!
//! Source: RFC 9438. Equation and section numbers in the comments are its own. The rules
//! of sections 4.1 to 4.8 were read in the text of its draft. The numbers in the tests are
//! computed from the equations.
//!
//! Rules: after a loss at the window W_max, the window climbs quickly back towards W_max,
//! stands almost still around it, and then looks for more with growing steps. How fast depends on
//! time and not on the RTT. On short paths with small windows, where standard TCP would be faster,
//! it takes the window that standard TCP would have (the Reno-friendly region).
//!
//! Slow start is HyStart++ unless `slow_start` says otherwise: section 4.10 has it as what CUBIC
//! should use, the standard one as what it may use.
//!
//! A reduction that proves spurious is undone with all that belongs to it (section 4.9): the curve goes
//! on where it was, and slow start, too.
//!
//! Decisions where the RFC leaves room:
//! - A stage of congestion avoidance begins with its first ACK, not with the loss, so the time in
//!   recovery does not count.
//! - Time does not run from an ACK that finds the window unused to the next (section 4.2). After an
//!   idle period a new stage begins, with the W_max that was known.
//! - When a stage begins above W_max, it begins as after a timeout: K = 0 and W_max = cwnd. This is
//!   so before the first loss and with the smallest windows.
//! - Growth counts the segments acknowledged, so it is the same with delayed ACKs.
//! - The Reno-friendly region never makes the window smaller.

mod linux;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::abe;
use crate::parts::linux::VARIANT;
use crate::parts::slow_start::{self, SlowStart};
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use linux::LinuxCubic;

/// C of equation 1, in segments per second cubed (section 5.1).
const C: f64 = 0.4;
/// beta_cubic of section 4.6: what a loss leaves of the window.
const BETA: f64 = 0.7;
/// alpha_cubic of equation 3: the additive increase that, with beta_cubic, gives the average window
/// of standard TCP.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Section 4.2: the target is at most this much of cwnd.
const HIGHEST_TARGET: f64 = 1.5;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "fast_convergence",
        default: "on",
        allowed: Allowed::OneOf(&["on", "off"]),
        meaning: "Whether a flow that lost below its last W_max takes W_max as lower than its \
                  window, to leave room for new flows (RFC 9438 section 4.7)",
    },
    slow_start::PARAMETER,
    abe::PARAMETER,
    VARIANT,
];

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    fast_convergence: bool,
    abe: bool,
    slow_start: SlowStart,
    /// W_max in segments; zero when there was no loss, or a timeout since.
    w_max: f64,
    /// cwnd_prior: the window in segments before the last reduction.
    prior: f64,
    stage: Option<Stage>,
    /// What the last reduction changed.
    undo: Option<Undo>,
}

/// The state before a reduction (section 4.9).
#[derive(Clone, Debug)]
struct Undo {
    w_max: f64,
    prior: f64,
    stage: Option<Stage>,
    slow_start: SlowStart,
}

/// One stage of congestion avoidance. Windows are in segments.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// t of equation 1.
    elapsed: Span,
    /// Up to when `elapsed` is counted.
    counted_until: Time,
    /// K of equation 2, in seconds.
    k: f64,
    /// W_est of equation 4.
    w_est: f64,
}

impl Stage {
    /// Equation 2.
    fn begin(now: Time, cwnd: f64, w_max: f64) -> Self {
        let k = libm::cbrt((w_max - cwnd) / C);
        Self { elapsed: Span::ZERO, counted_until: now, k, w_est: cwnd }
    }

    fn run_until(&mut self, now: Time) {
        self.elapsed = self.elapsed + now.since(self.counted_until);
        self.counted_until = now;
    }

    /// Equation 1, in segments.
    fn w_cubic(&self, w_max: f64, t: Span) -> f64 {
        let distance = t.as_secs_f64() - self.k;
        C * distance * distance * distance + w_max
    }
}

impl Listed for Cubic {
    const LISTED: &'static [Entry] = &[Entry {
        name: "cubic",
        summary: "Window as a cubic function of the time since the last loss",
        source: "RFC 9438",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            fast_convergence: values.word("fast_convergence") == "on",
            abe: abe::is_on(values),
            slow_start: SlowStart::named(values.word(slow_start::PARAMETER.name)),
            w_max: 0.0,
            prior: 0.0,
            stage: None,
            undo: None,
        }
    }
}

impl Cubic {
    fn remember(&mut self) {
        self.undo = Some(Undo {
            w_max: self.w_max,
            prior: self.prior,
            stage: self.stage,
            slow_start: self.slow_start.clone(),
        });
    }

    fn segments(&self) -> f64 {
        self.window.cwnd as f64 / self.window.mss as f64
    }
}

impl Controller for Cubic {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        self.slow_start.needs()
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.slow_start.on_feedback(feedback, &mut self.window);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            self.slow_start.on_unused_window();
            if let Some(stage) = &mut self.stage {
                stage.counted_until = ack.now;
            }
        } else if self.window.in_slow_start() {
            self.slow_start.grow(ack, &mut self.window);
        } else {
            self.avoid_congestion(ack);
        }
    }

    /// Sections 4.2 to 4.5.
    fn avoid_congestion(&mut self, ack: &Ack) {
        let cwnd = self.segments();
        let mut stage = self.stage.unwrap_or_else(|| {
            self.w_max = self.w_max.max(cwnd);
            Stage::begin(ack.now, cwnd, self.w_max)
        });
        stage.run_until(ack.now);

        let acked = ack.acked.min(self.window.cwnd);
        let alpha = if stage.w_est >= self.prior { 1.0 } else { ALPHA };
        stage.w_est += alpha * acked as f64 / self.window.cwnd as f64;
        self.stage = Some(stage);

        if stage.w_cubic(self.w_max, stage.elapsed) < stage.w_est {
            let reno = whole(stage.w_est * self.window.mss as f64);
            let growth = reno.saturating_sub(self.window.cwnd);
            self.window.grow_by_fraction(growth * self.window.cwnd);
        } else {
            let rtt = ack.srtt.unwrap_or(Span::ZERO);
            let target =
                stage.w_cubic(self.w_max, stage.elapsed + rtt).clamp(cwnd, HIGHEST_TARGET * cwnd);
            let per_window = (target - cwnd) * self.window.mss as f64;
            self.window.grow_by_fraction(whole(per_window * acked as f64));
        }
    }

    /// Section 4.6: beta_cubic of the flight size, at least two segments.
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        whole(BETA * loss.flight as f64).max(2 * self.window.mss)
    }

    /// Sections 4.6 and 4.7; with ABE a mark leaves more of the flight size, and all else is the same.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        let before = self.window.cwnd;
        standard::on_congestion_mark(self, loss);
        if self.abe {
            let ssthresh = abe::threshold(loss, &self.window, abe::CUBIC).min(before);
            self.window.ssthresh = ssthresh;
            self.window.cwnd = ssthresh;
        }
    }

    /// Sections 4.6 and 4.7.
    fn on_loss(&mut self, loss: &Loss) {
        self.remember();
        self.slow_start.on_loss();
        let cwnd = self.segments();
        let converge = self.fast_convergence && cwnd < self.w_max;
        self.w_max = if converge { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.stage = None;
        let ssthresh = self.threshold_after_loss(loss);
        self.window.ssthresh = ssthresh;
        self.window.cwnd = ssthresh;
    }

    /// Section 4.8: as standard TCP, with beta_cubic. W_max is forgotten, so that the next stage
    /// begins with K = 0 and W_max = cwnd.
    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.remember();
            self.prior = self.segments();
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        self.slow_start.on_timeout();
        self.w_max = 0.0;
        self.stage = None;
        self.window.cwnd = self.window.mss;
    }

    /// Section 4.9.
    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        standard::on_spurious_loss(self, cwnd, ssthresh);
        if let Some(undo) = self.undo.take() {
            self.w_max = undo.w_max;
            self.prior = undo.prior;
            self.stage = undo.stage;
            self.slow_start = undo.slow_start;
        }
    }

    fn on_idle(&mut self) {
        self.stage = None;
        self.window.cwnd = self.window.cwnd.min(self.window.initial);
    }
}

impl TcpPolicy for Cubic {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::loss;
    use crate::parameters::Value;
    use crate::parts::vegas_estimator::tests::feedback;

    const MSS: u64 = 1000;
    const RTT: Span = Span::from_millis(100);

    fn cubic_with(fast_convergence: &str, segments: u64) -> Cubic {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let mut values = Values::defaults(PARAMETERS);
        values.set("cubic", "fast_convergence", Value::Word(fast_convergence.into())).unwrap();
        let mut cubic = Cubic::build(&settings, &values);
        cubic.window.cwnd = segments * MSS;
        cubic
    }

    fn cubic(segments: u64) -> Cubic {
        cubic_with("on", segments)
    }

    fn ack(now: Time, rtt: Span) -> Ack {
        Ack {
            now,
            acked: MSS,
            flight: 0,
            advertised: u64::MAX,
            srtt: Some(rtt),
            min_rtt: Some(rtt),
            cwnd_limited: true,
        }
    }

    /// ACKs a window's worth of segments, evenly over each RTT, up to `end`.
    fn run(cubic: &mut Cubic, from: Time, end: Time, rtt: Span) -> Time {
        let mut now = from;
        while now < end {
            cubic.on_ack(&ack(now, rtt));
            now += Span::from_nanos(rtt.as_nanos() * MSS / cubic.window.cwnd);
        }
        now
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn with_abe_a_mark_leaves_85_percent_and_w_max_is_the_window() {
        for (word, mark) in [("off", 700), ("on", 850)] {
            let mut values = Values::defaults(PARAMETERS);
            values.set("cubic", "abe", Value::Word(word.into())).unwrap();
            let mut cubic = cubic(1000);
            cubic.abe = abe::is_on(&values);
            cubic.on_congestion_mark(&loss(1000 * MSS));
            assert_eq!((cubic.window.cwnd, cubic.window.ssthresh), (mark * MSS, mark * MSS));
            assert!((cubic.w_max - 1000.0).abs() < 1e-9);
            cubic.window.cwnd = 1000 * MSS;
            cubic.on_loss(&loss(1000 * MSS));
            assert_eq!(cubic.window.cwnd, 700 * MSS);
        }
    }

    #[test]
    fn a_spurious_loss_puts_the_curve_back() {
        let mut cubic = cubic(1000);
        cubic.on_loss(&loss(1000 * MSS));
        let now = run(&mut cubic, Time::ZERO, at(6000), RTT);
        let mut undisturbed = cubic.clone();
        let before = cubic.window;
        cubic.on_loss(&loss(before.cwnd));
        cubic.on_recovery_exit(now);
        cubic.on_spurious_loss(before.cwnd, before.ssthresh);
        for cubic in [&mut cubic, &mut undisturbed] {
            run(cubic, now, at(16_000), RTT);
        }
        assert_eq!(cubic.window, undisturbed.window);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_of_the_flight_size() {
        let mut cubic = cubic(1000);
        cubic.on_loss(&loss(900 * MSS));
        assert_eq!((cubic.window.cwnd, cubic.window.ssthresh), (630 * MSS, 630 * MSS));
        cubic.on_loss(&loss(2 * MSS));
        assert_eq!(cubic.window.cwnd, 2 * MSS);
    }

    #[test]
    fn k_is_the_cube_root_of_what_was_lost_over_c() {
        // (1000 - 700) / 0.4 = 750; its cube root is 9.0856.
        assert!((Stage::begin(Time::ZERO, 700.0, 1000.0).k - 9.085_603).abs() < 1e-6);
        // (40 - 14.4) / 0.4 = 64.
        assert!((Stage::begin(Time::ZERO, 14.4, 40.0).k - 4.0).abs() < 1e-12);
    }

    #[test]
    fn the_curve_starts_at_the_reduced_window_and_is_w_max_after_k_seconds() {
        let stage = Stage::begin(Time::ZERO, 14.4, 40.0);
        assert!((stage.w_cubic(40.0, Span::ZERO) - 14.4).abs() < 1e-9);
        assert!((stage.w_cubic(40.0, Span::from_secs(4)) - 40.0).abs() < 1e-9);
        assert!((stage.w_cubic(40.0, Span::from_secs(9)) - 90.0).abs() < 1e-9);
    }

    #[test]
    fn the_window_reaches_w_max_after_k_and_is_concave_before_and_convex_after() {
        let mut cubic = cubic(1000);
        cubic.on_loss(&loss(1000 * MSS));
        let mut now = Time::ZERO;
        let mut windows = vec![cubic.segments()];
        for second in 1..=18 {
            now = run(&mut cubic, now, at(1000 * second), RTT);
            windows.push(cubic.segments());
        }
        let growth: Vec<f64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(growth[..8].windows(2).all(|pair| pair[1] < pair[0]), "{growth:?}");
        assert!(growth[10..].windows(2).all(|pair| pair[1] > pair[0]), "{growth:?}");
        assert!((windows[9] - 1000.0).abs() < 1.0, "{windows:?}");
        // 0.4 * (18 - 9.0856)^3 = 283.4
        assert!((windows[18] - 1283.4).abs() < 5.0, "{windows:?}");
    }

    #[test]
    fn the_curve_is_one_of_time_and_not_of_round_trips() {
        let after_six_seconds = |rtt| {
            let mut cubic = cubic(2000);
            cubic.on_loss(&loss(2000 * MSS));
            run(&mut cubic, Time::ZERO, at(6000), rtt);
            cubic.segments()
        };
        let (terrestrial, satellite) =
            (after_six_seconds(Span::from_millis(100)), after_six_seconds(Span::from_millis(600)));
        assert!((terrestrial / satellite - 1.0).abs() < 0.01, "{terrestrial} {satellite}");
    }

    #[test]
    fn at_a_small_rtt_the_window_is_that_of_standard_tcp() {
        // K is (6 / 0.4)^(1/3) = 2.5 s: the curve would take 2.5 s for 6 segments. W_est takes 11
        // round trips of 10 ms, 3 * 0.3 / 1.7 = 0.529 segments in each.
        let mut cubic = cubic(20);
        cubic.on_loss(&loss(20 * MSS));
        let mut grown = Vec::new();
        let mut now = Time::ZERO;
        for _ in 0..8 {
            let before = cubic.segments();
            let end = now + Span::from_millis(10);
            now = run(&mut cubic, now, end, Span::from_millis(10));
            grown.push(cubic.segments() - before);
        }
        assert!(grown.iter().all(|g| (0.48..0.58).contains(g)), "{grown:?}");
    }

    #[test]
    fn above_the_window_before_the_loss_standard_tcp_adds_one_segment_for_each_window() {
        let mut cubic = cubic(20);
        cubic.on_loss(&loss(20 * MSS));
        let now = run(&mut cubic, Time::ZERO, at(150), Span::from_millis(10));
        assert!(cubic.segments() > 20.5, "{}", cubic.segments());
        let before = cubic.segments();
        run(&mut cubic, now, now + Span::from_millis(10), Span::from_millis(10));
        let grown = cubic.segments() - before;
        assert!((0.93..1.07).contains(&grown), "{grown}");
    }

    #[test]
    fn the_window_grows_by_no_more_than_half_in_one_window_of_acks() {
        let mut cubic = cubic(10_000);
        cubic.on_loss(&loss(100 * MSS));
        let before = cubic.window.cwnd;
        cubic.on_ack(&ack(Time::ZERO, RTT));
        let long = Time::ZERO + Span::from_secs(100);
        cubic.on_ack(&Ack { acked: before, ..ack(long, RTT) });
        assert!(cubic.window.cwnd <= before * 3 / 2 + MSS, "{}", cubic.window.cwnd);
        assert!(cubic.window.cwnd >= before * 3 / 2 - MSS, "{}", cubic.window.cwnd);
    }

    #[test]
    fn fast_convergence_lowers_w_max_of_a_flow_that_lost_below_the_last_one() {
        for (parameter, expected) in [("on", 680.0), ("off", 800.0)] {
            let mut cubic = cubic_with(parameter, 1000);
            cubic.on_loss(&loss(1000 * MSS));
            assert!((cubic.w_max - 1000.0).abs() < 1e-9);
            cubic.window.cwnd = 800 * MSS;
            cubic.on_loss(&loss(800 * MSS));
            assert!((cubic.w_max - expected).abs() < 1e-9, "{parameter}: {}", cubic.w_max);
        }
    }

    #[test]
    fn after_a_timeout_the_first_stage_is_convex_from_its_start() {
        let mut cubic = cubic(2000);
        cubic.on_loss(&loss(2000 * MSS));
        cubic.on_timeout(&loss(1000 * MSS));
        assert!((cubic.prior - 1400.0).abs() < 1e-12, "{}", cubic.prior);
        assert_eq!((cubic.window.cwnd, cubic.window.ssthresh), (MSS, 700 * MSS));
        cubic.on_timeout(&Loss { repeated: true, ..loss(MSS) });
        assert_eq!(cubic.window.ssthresh, 700 * MSS);
        cubic.window.cwnd = 700 * MSS;
        cubic.on_ack(&ack(at(5000), RTT));
        let stage = cubic.stage.unwrap();
        assert!(stage.k.abs() < 1e-12);
        assert!((cubic.w_max - 700.0).abs() < 1e-12);
        run(&mut cubic, at(5000), at(15_000), RTT);
        // 700 + 0.4 * 10^3
        assert!((cubic.segments() - 1100.0).abs() < 15.0, "{}", cubic.segments());
    }

    #[test]
    fn time_in_which_the_window_is_not_used_does_not_count() {
        let mut cubic = cubic(1000);
        cubic.on_loss(&loss(1000 * MSS));
        cubic.on_ack(&ack(at(0), RTT));
        cubic.on_ack(&ack(at(100), RTT));
        cubic.on_ack(&Ack { cwnd_limited: false, ..ack(at(60_000), RTT) });
        cubic.on_ack(&ack(at(60_050), RTT));
        assert_eq!(cubic.stage.unwrap().elapsed, Span::from_millis(150));
    }

    #[test]
    fn after_an_idle_period_a_new_stage_climbs_to_the_old_w_max() {
        let mut cubic = cubic(1000);
        cubic.on_loss(&loss(1000 * MSS));
        cubic.on_ack(&ack(at(0), RTT));
        cubic.on_idle();
        assert_eq!(cubic.window.cwnd, 10 * MSS);
        cubic.window.cwnd = 700 * MSS;
        cubic.on_ack(&ack(at(90_000), RTT));
        let stage = cubic.stage.unwrap();
        assert_eq!(stage.elapsed, Span::ZERO);
        assert!((stage.k - 9.085_603).abs() < 1e-6, "{}", stage.k);
    }

    #[test]
    fn each_loss_begins_a_new_stage() {
        let mut cubic = cubic(1000);
        cubic.on_loss(&loss(1000 * MSS));
        run(&mut cubic, at(0), at(3000), RTT);
        cubic.on_loss(&loss(900 * MSS));
        cubic.on_ack(&ack(at(4000), RTT));
        assert_eq!(cubic.stage.unwrap().elapsed, Span::ZERO);
    }

    #[test]
    fn growth_of_less_than_a_byte_for_an_ack_is_not_lost() {
        let mut cubic = cubic(1_000_000);
        cubic.on_loss(&loss(1_000_000 * MSS));
        let before = cubic.window.cwnd;
        cubic.stage =
            Some(Stage { k: 1.0, w_est: 0.0, ..Stage::begin(at(0), 700_000.0, 1_000_000.0) });
        cubic.w_max = 700_000.4;
        for _ in 0..10_000 {
            cubic.on_ack(&ack(at(0), RTT));
        }
        assert!(cubic.window.cwnd > before, "nothing in 10000 ACKs");
    }

    /// The average window over sixteen losses, each 1 / p segments after the last.
    fn average_window(p: f64, rtt: Span) -> f64 {
        let mut cubic = cubic_with("off", 40);
        cubic.on_loss(&loss(40 * MSS));
        let (mut now, mut measured_from) = (Time::ZERO, Time::ZERO);
        for losses in 0..32 {
            if losses == 16 {
                measured_from = now;
            }
            for _ in 0..(1.0 / p) as u64 {
                cubic.on_ack(&ack(now, rtt));
                now += Span::from_nanos(rtt.as_nanos() * MSS / cubic.window.cwnd);
            }
            cubic.on_loss(&Loss { flight: cubic.window.cwnd, ..loss(0) });
        }
        16.0 / p * rtt.as_secs_f64() / now.since(measured_from).as_secs_f64()
    }

    #[test]
    fn where_standard_tcp_is_faster_the_average_window_is_that_of_the_tables_of_section_5_1() {
        for (p, published) in [(1e-3, 38.0), (1e-4, 120.0), (1e-5, 379.0)] {
            let average = average_window(p, Span::from_millis(10));
            assert!((average / published - 1.0).abs() < 0.05, "p = {p}: {average}");
        }
    }

    #[test]
    fn elsewhere_the_curve_is_back_at_w_max_with_the_loss_rate_of_the_tables() {
        // The tables assume that each loss comes where the curve is flat. The average over the
        // concave part is (3 + beta) / 4 of W_max.
        for (p, published) in [(1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0)] {
            let rtt = Span::from_millis(100);
            let w_max = published * 4.0 / 3.7;
            let mut cubic = cubic_with("off", 0);
            cubic.window.cwnd = (w_max * MSS as f64) as u64;
            cubic.on_loss(&Loss { flight: cubic.window.cwnd, ..loss(0) });
            let (mut now, mut segments) = (Time::ZERO, 0);
            while cubic.stage.is_none_or(|stage| stage.elapsed.as_secs_f64() < stage.k) {
                cubic.on_ack(&ack(now, rtt));
                now += Span::from_nanos(rtt.as_nanos() * MSS / cubic.window.cwnd);
                segments += 1;
            }
            let error = f64::from(segments) * p - 1.0;
            assert!(error.abs() < 0.01, "p = {p}: {segments} segments");
        }
    }

    #[test]
    fn slow_start_that_ends_without_a_loss_is_followed_by_the_convex_curve() {
        let mut cubic = cubic(100);
        assert!(cubic.needs().feedback);
        for round in 0..7 {
            for i in 1..=20 {
                let acknowledged = 20 * round + i;
                let rtt = if round == 0 { 100 } else { 200 };
                cubic.on_feedback(&feedback(0, acknowledged, acknowledged + 20, rtt));
            }
        }
        assert_eq!(cubic.window.ssthresh, 100 * MSS);
        cubic.on_ack(&ack(at(0), RTT));
        assert!(cubic.stage.unwrap().k.abs() < 1e-12);
        assert!((cubic.w_max - 100.0).abs() < 1e-12);
    }

    #[test]
    fn a_loss_ends_what_looks_for_the_end_of_slow_start() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("cubic", "slow_start", Value::Word("standard".into())).unwrap();
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        assert!(!Cubic::build(&settings, &values).needs().feedback);
        let mut cubic = cubic(100);
        cubic.on_loss(&loss(100 * MSS));
        cubic.on_timeout(&loss(70 * MSS));
        cubic.on_ack(&Ack { acked: 8 * MSS, ..ack(at(0), RTT) });
        assert_eq!(cubic.window.cwnd, 2 * MSS, "standard growth after a timeout");
    }
}
