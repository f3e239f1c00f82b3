//! Prague: a scalable controller for routers that mark early, with low latency (L4S).
//!
//! Sources: `net/ipv4/tcp_prague.c` of the L4S team's Linux (testing branch of 2024) and
//! draft-briscoe-iccrg-prague-congestion-control, which describes it. The rules were read in the
//! implementation.
//!
//! - Data is sent with ECT(1), and the receiver counts marks (RFC 9768). Segments are paced: cwnd
//!   in an RTT, twice that in slow start far below ssthresh.
//! - alpha is the share of marked data as in DCTCP (`parts/marked_share`). It begins with 0 and is
//!   updated from the first mark on, which halves the window.
//! - Mark: cwnd = (1 - alpha / 2) cwnd. Growth: only by data that arrived without a mark, also in
//!   the round trip of a reduction, one segment in an RTT.
//! - RTT independence: `rounds` round trips after slow start, flows with an RTT below `target`
//!   behave as if it were theirs. Growth in an RTT is (RTT / target)^2 segments, and alpha is
//!   updated and the window reduced at most once in `target`.
//! - Loss and timeout: half, as Reno, also in the window of a mark.
//! - Fallback: if the other end does not count marks, data is sent with ECT(0) and a mark halves
//!   the window, as in Reno.
//!
//! Left out:
//! - The other mode of the implementation, for windows below four segments, which controls a rate
//!   and the segment size. cwnd is never below two segments.
//! - Detection of routers that mark as RFC 3168 says (appendix of the draft; off in the
//!   implementation).
//!
//! Decisions:
//! - A mark that comes within `target` of a reduction is not answered, and the next one after it
//!   is. In the implementation the kernel's state CWR follows each mark and lasts a round trip, so
//!   that with an RTT of 20 ms reductions are 40 ms apart and not 25.
//! - The window falls at once and not by one segment for each ACK.

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::events::{Ack, Ecn, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::marked_share::{GAIN, MarkedShare};
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

/// The smallest window in segments.
const LEAST: u64 = 2;
/// Bytes per second below which the rate does not fall.
const LEAST_RATE: f64 = 12_500.0;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "target",
        default: "0.025",
        allowed: Allowed::Range(0.0, 0.1),
        meaning: "RTT in seconds that flows with a smaller RTT behave as if they had; 0 for none",
    },
    Parameter {
        name: "rounds",
        default: "4",
        allowed: Allowed::Range(0.0, 10_000.0),
        meaning: "Round trips after slow start until the RTT independence begins",
    },
];

/// Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    window: Window,
    share: MarkedShare,
    /// Both ends count marks.
    scalable: bool,
    saw_mark: bool,
    target: Span,
    /// Round trips until the RTT independence begins.
    rounds_left: f64,
    /// A round trip ends when this is acknowledged.
    round_end: u64,
    updated: Time,
    reduced: Time,
    srtt: Option<Span>,
    flight: u64,
}

impl Listed for Prague {
    const LISTED: &'static [Entry] = &[Entry {
        name: "prague",
        summary: "Low latency: small reductions by the share of marks, ECT(1) and paced segments",
        source: "draft-briscoe-iccrg-prague-congestion-control-04",
        status: Status::Implementation("L4STeam/linux, net/ipv4/tcp_prague.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers with ECN marking for low latency"));

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            share: MarkedShare::new(0.0, GAIN),
            scalable: true,
            saw_mark: false,
            target: Span::from_secs_f64(values.number("target")),
            rounds_left: values.number("rounds"),
            round_end: 0,
            updated: Time::ZERO,
            reduced: Time::ZERO,
            srtt: None,
            flight: 0,
        }
    }
}

impl Prague {
    /// Returns true if a flow behaves as if its RTT were `target`.
    fn is_independent(&self) -> bool {
        let is_short = self.srtt.is_some_and(|srtt| srtt < self.target);
        is_short && self.rounds_left <= 0.0 && !self.window.in_slow_start()
    }

    /// Returns true if so much time has passed since `then` that the same may be done again.
    fn may_again(&self, now: Time, then: Time) -> bool {
        !self.is_independent() || now.since(then) >= self.target
    }

    /// Segments that a round trip adds.
    fn per_round_trip(&self) -> f64 {
        let Some(srtt) = self.srtt.filter(|_| self.is_independent()) else { return 1.0 };
        let ratio = srtt.as_secs_f64() / self.target.as_secs_f64();
        ratio * ratio
    }

    fn end_round(&mut self, feedback: &Feedback) {
        let begun = self.round_end > 0;
        self.round_end = feedback.sent;
        if begun && !self.window.in_slow_start() {
            self.rounds_left -= 1.0;
        }
    }

    /// Growth by what arrived without a mark.
    fn grow_by_unmarked(&mut self, acked: u64) {
        if self.window.in_slow_start() {
            let counted = self.window.counted(acked);
            self.window.cwnd += counted;
            return;
        }
        let added = self.per_round_trip() * (acked * self.window.mss) as f64;
        self.window.grow_by_fraction(crate::window::whole(added));
    }
}

impl Controller for Prague {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, pacing: true, marks: Ecn::LowLatency, ..Needs::default() }
    }

    fn on_ecn(&mut self, agreed: Ecn) {
        self.scalable = agreed.is_accurate();
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.srtt = feedback.srtt;
        self.flight = feedback.pipe;
        self.share.count(feedback);
        if feedback.acknowledged > self.round_end {
            self.end_round(feedback);
        }
        if !self.share.is_due(feedback) || !self.may_again(feedback.now, self.updated) {
            return;
        }
        if self.saw_mark {
            self.share.update(feedback);
        } else {
            self.share.skip(feedback);
        }
        self.updated = feedback.now;
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.cwnd_limited {
            self.grow_by_unmarked(ack.acked);
        }
    }

    fn answers_mark(&self, now: Time) -> bool {
        !self.scalable || self.may_again(now, self.reduced)
    }

    fn on_congestion_mark(&mut self, loss: &Loss) {
        let first = !std::mem::replace(&mut self.saw_mark, true);
        self.reduced = loss.now;
        if first || !self.scalable {
            standard::on_congestion_mark(self, loss);
        } else {
            self.window.cwnd = self.share.reduced(&self.window);
            self.window.ssthresh = self.window.cwnd;
        }
    }

    fn on_loss_after_mark(&mut self, loss: &Loss) {
        standard::on_loss(self, loss);
    }

    fn pacing_rate(&self) -> Option<f64> {
        let srtt = self.srtt?.as_secs_f64();
        let rate = self.window.cwnd.max(self.flight).max(LEAST * self.window.mss) as f64 / srtt;
        let far_below = self.window.cwnd < self.window.ssthresh / 2;
        Some(if far_below { 2.0 * rate } else { rate }.max(LEAST_RATE))
    }
}

impl TcpPolicy for Prague {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::{ack, loss};
    use crate::parts::bandwidth::samples::acknowledged;
    use crate::parts::linux::samples::MSS;

    fn prague(cwnd: u64, ssthresh: u64, values: &[(&str, f64)]) -> Prague {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd * MSS,
            initial_ssthresh: ssthresh.saturating_mul(MSS),
            byte_counting: 1,
        };
        let mut defaults = Values::defaults(PARAMETERS);
        for (name, value) in values {
            defaults.set("prague", name, crate::parameters::Value::Number(*value)).unwrap();
        }
        Prague::build(&settings, &defaults)
    }

    /// A sender in congestion avoidance with a round trip of `rtt` milliseconds.
    struct Path {
        prague: Prague,
        now: Time,
        position: u64,
        rtt: u64,
    }

    impl Path {
        fn new(segments: u64, rtt: u64) -> Self {
            let prague = prague(segments, segments, &[]);
            Self { prague, now: Time::ZERO, position: 0, rtt }
        }

        /// A round trip in which the first `marked` segments of the window were marked.
        fn round(&mut self, marked: u64) {
            let segments = self.prague.window.cwnd / MSS;
            for segment in 0..segments {
                self.now += Span::from_nanos(self.rtt * 1_000_000 / segments);
                self.position += MSS;
                let marked_bytes = if segment < marked { MSS } else { 0 };
                self.prague.on_feedback(&Feedback {
                    now: self.now,
                    srtt: Some(Span::from_millis(self.rtt)),
                    acknowledged: self.position,
                    sent: self.position + segments * MSS,
                    marked: marked_bytes > 0,
                    marked_bytes,
                    ..acknowledged(0, MSS)
                });
                let now = self.now;
                if segment == 0 && marked > 0 && self.prague.answers_mark(now) {
                    self.prague.on_congestion_mark(&Loss { now, ..loss(segments * MSS) });
                }
                if marked_bytes == 0 {
                    self.prague.on_ack(&ack(MSS));
                }
            }
        }

        fn segments(&self) -> f64 {
            self.prague.window.cwnd as f64 / MSS as f64
        }
    }

    #[test]
    fn the_first_mark_halves_and_later_ones_take_half_of_the_share() {
        let mut path = Path::new(100, 50);
        path.round(1);
        assert!((50.0..52.5).contains(&path.segments()), "{}", path.segments());
        for _ in 0..100 {
            path.prague.window.cwnd = 100 * MSS;
            path.round(10);
        }
        let alpha = path.prague.share.alpha();
        assert!((alpha - 0.1).abs() < 0.01, "{alpha}");
        path.prague.window.cwnd = 100 * MSS;
        path.prague.on_congestion_mark(&Loss { now: path.now, ..loss(100 * MSS) });
        assert!((path.segments() - 95.0).abs() < 1.0, "{}", path.segments());
    }

    #[test]
    fn alpha_waits_for_the_first_mark_and_then_begins_with_zero() {
        let mut path = Path::new(100, 50);
        path.round(0);
        assert_eq!(path.prague.share.alpha(), 0.0);
        path.round(1);
        path.round(0);
        assert!(path.prague.share.alpha() < 0.01);
    }

    /// Growth in an RTT: one segment from 25 ms on, and (RTT / 25 ms)^2 below.
    #[test]
    fn below_the_target_growth_falls_with_the_square_of_the_rtt() {
        for (rtt, expected) in [(50, 1.0), (25, 1.0), (20, 0.64), (10, 0.16), (5, 0.04)] {
            let mut path = Path::new(1000, rtt);
            for _ in 0..6 {
                path.round(0);
            }
            let before = path.segments();
            path.round(0);
            let grown = path.segments() - before;
            assert!((grown - expected).abs() < 0.02, "{grown} with {rtt} ms");
        }
    }

    #[test]
    fn the_rtt_independence_begins_after_four_rounds() {
        let mut path = Path::new(1000, 5);
        let mut grown = Vec::new();
        for _ in 0..8 {
            let before = path.segments();
            path.round(0);
            grown.push(path.segments() - before > 0.5);
        }
        // The first ACK ends no round.
        assert_eq!(grown, [true, true, true, true, false, false, false, false]);
    }

    /// With an RTT of 5 ms, one reduction in 25 ms and not five.
    #[test]
    fn below_the_target_the_window_is_reduced_once_in_the_target() {
        let mut path = Path::new(1000, 5);
        for _ in 0..40 {
            path.round(100);
        }
        let mut reductions = 0;
        for _ in 0..50 {
            let before = path.segments();
            path.round(100);
            reductions += u32::from(path.segments() < before - 1.0);
        }
        assert!((9..=10).contains(&reductions), "{reductions} in 250 ms");
    }

    #[test]
    fn without_counted_marks_each_mark_halves() {
        let mut prague = prague(100, 100, &[]);
        prague.on_ecn(Ecn::Classic);
        for expected in [50, 25] {
            let flight = prague.window.cwnd;
            prague.on_congestion_mark(&loss(flight));
            assert_eq!(prague.window.cwnd, expected * MSS);
        }
    }

    #[test]
    fn a_loss_halves() {
        let mut path = Path::new(100, 50);
        path.round(1);
        path.prague.window.cwnd = 80 * MSS;
        path.prague.on_loss(&loss(80 * MSS));
        assert_eq!(path.segments(), 40.0);
    }

    #[test]
    fn segments_leave_at_the_rate_of_the_window_and_at_twice_that_at_the_start() {
        let mut path = Path::new(100, 50);
        assert_eq!(path.prague.pacing_rate(), None);
        path.round(0);
        path.prague.flight = 0;
        path.prague.window.cwnd = 100 * MSS;
        path.prague.window.ssthresh = 100 * MSS;
        assert_eq!(path.prague.pacing_rate(), Some(2_000_000.0));
        path.prague.window.ssthresh = u64::MAX;
        assert_eq!(path.prague.pacing_rate(), Some(4_000_000.0));
    }

    #[test]
    fn a_target_of_zero_is_no_independence() {
        let mut path = Path::new(100, 5);
        path.prague = prague(100, 100, &[("target", 0.0), ("rounds", 0.0)]);
        let before = path.segments();
        path.round(0);
        assert!(path.segments() - before > 0.9);
    }
}
