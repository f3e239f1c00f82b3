//! Vegas of SCPS-TP: the window doubles until a queue grows, and then keeps a few segments waiting.
//!
//! Source: the open reference implementation of SCPS (MITRE and GST), version 1.1.146: `tp_TFVegas`,
//! `tp_xmit_timer` and `tp_TFRetransmit` in `source/tp_timers.c`, the answer to SNACK in
//! `source/tp_process.c`, constants in `source/scpstp.h`. The paper about Vegas was not read. W is cwnd. One
//! segment at a time is timed, and the first ACK of more than that ends the round:
//!
//! - RTT is that of this ACK, and base RTT the smallest of all rounds,
//! - the timed segment saw w segments of the window: W less what is acknowledged behind it, at least one,
//!   and all of W if that is more than W,
//! - backlog = w - w * base RTT / RTT in whole segments. The quotient is rounded down.
//!
//! With this backlog, once in each round:
//!
//! - linear phase: below `alpha` W grows by one segment. Above `beta` it falls by half of what is above
//!   `beta`, and by one segment more,
//! - exponential phase: above `gamma` the linear phase begins, with the W that there is. Otherwise W
//!   doubles at once, in each round or in every other. A round that does not double looks at no backlog.
//!   A window of one segment doubles anyway,
//! - a W of one segment begins the exponential phase,
//! - loss: half of W, at least one segment, and the linear phase. Only once until all that was outstanding
//!   is acknowledged. Base RTT stays as it is in that time,
//! - timeout: one segment, ssthresh = W / 2 but at least two segments, and the exponential phase. After
//!   four in a row base RTT is measured again.
//!
//! The source does this, though it may not be meant: the segment more by which W falls follows from a missing
//! `break`. The line that would forget base RTT after 1000 samples is a comment. ssthresh ends no phase.
//!
//! Left out:
//!
//! - the retransmission of a segment that is old when a duplicate ACK arrives, and what duplicate ACKs add to
//!   the window. SNACK, or the recovery of the transport, replaces them,
//! - the second halving when three duplicate ACKs and no SNACK show a loss,
//! - a duplicate ACK right behind the timed segment, which ends the round too,
//! - base RTT is also measured again when a gateway signals that a link is available. Controllers see
//!   neither these signals nor timeouts on routes with `cause = "corruption"`,
//! - the product of w and base RTT overflows above 8000 segments on a GEO path.
//!
//! Decisions:
//!
//! - The RTT is a sample of the transport. In the source it counts from the youngest acknowledged segment, so
//!   an ACK that fills one of several holes measures the wait for the repair too.
//! - Rounds that end in recovery measure nothing, as in `vegas`: cwnd is the transport's then. In the source
//!   they adjust W.
//! - W grows only if cwnd limits the sender (RFC 7661), and not beyond the receiver's window. In the source the
//!   exponential phase ends with the send buffer, and the linear one has no bound.
//! - After a timeout retransmissions are no rounds. Until all that was outstanding is acknowledged, W grows as
//!   in standard slow start up to ssthresh.
//! - An initial ssthresh ends the exponential phase, as the `sendpipe` of a route does in the source. In the linear
//!   phase ssthresh is at most W, by which the transport knows the phase.
//! - After an idle period the exponential phase begins with the initial window (RFC 5681 section 4.1).

use units::Span;

use crate::controller::Controller;
use crate::controllers::vegas::{self, Vegas};
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

/// Timeouts in a row after which base RTT is measured again.
const TIMEOUTS_TO_FORGET: u32 = 4;

const EVERY_ROUND: &str = "every-round";

const PARAMETERS: &[Parameter] = &[
    Parameter { default: "3", ..vegas::ALPHA },
    Parameter { default: "5", ..vegas::BETA },
    Parameter { default: "4", ..vegas::GAMMA },
    Parameter {
        name: "slow_start",
        default: EVERY_ROUND,
        allowed: Allowed::OneOf(&[EVERY_ROUND, "every-other-round"]),
        meaning: "Round trips in which the exponential phase doubles cwnd",
    },
];

/// Vegas of SCPS-TP.
#[derive(Clone, Debug)]
pub struct ScpsVegas {
    window: Window,
    alpha: f64,
    beta: f64,
    gamma: f64,
    doubles_each_round: bool,
    /// Where the exponential phase ends.
    most: u64,
    is_linear: bool,
    /// The phase before the last reduction.
    was_linear: bool,
    /// Where the timed segment ends.
    timed: Option<u64>,
    base_rtt: Option<Span>,
    /// Timeouts since the last ACK of new data.
    timeouts: u32,
    /// cwnd in the last round that did not double it.
    noted: Option<u64>,
    /// cwnd after this ACK, if cwnd limits the sender.
    goal: u64,
    /// Recovery runs, or what follows a timeout.
    is_recovering: bool,
}

impl Listed for ScpsVegas {
    const LISTED: &'static [Entry] = &[Entry {
        name: "scps-vegas",
        summary: "Vegas of SCPS-TP: doubles until a queue grows, then keeps it between two bounds",
        source: "SCPS-TP (CCSDS 714.0-B), as in the reference implementation of MITRE and GST",
        status: Status::Implementation("SCPS 1.1.146, source/tp_timers.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];
    const ORDERED: &'static [(&'static str, &'static str)] = Vegas::ORDERED;

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            gamma: values.number("gamma"),
            doubles_each_round: values.word("slow_start") == EVERY_ROUND,
            most: settings.initial_ssthresh,
            is_linear: false,
            was_linear: false,
            timed: None,
            base_rtt: None,
            timeouts: 0,
            noted: None,
            goal: 0,
            is_recovering: false,
        }
    }
}

impl ScpsVegas {
    /// The backlog in segments, if an ACK of new data ends a round. When no segment is timed, the first that this ACK
    /// acknowledges was.
    fn measure(&mut self, feedback: &Feedback) -> Option<f64> {
        let Window { cwnd, mss, .. } = self.window;
        let &Feedback { acked, acknowledged, sent, .. } = feedback;
        let end = *self.timed.get_or_insert((acknowledged + mss).saturating_sub(acked));
        let behind = acknowledged.checked_sub(end).filter(|behind| *behind > 0)?;
        if feedback.recovering {
            self.timed = Some(sent + mss);
            return None;
        }
        let rtt = feedback.round_trip.filter(|rtt| *rtt > Span::ZERO)?;
        self.timed = Some(sent + mss);
        let base = self.base_rtt.map_or(rtt, |base| base.min(rtt));
        self.base_rtt = Some(base);
        let seen = cwnd.checked_sub(behind).unwrap_or(cwnd) / mss;
        let seen = seen.max(1);
        let product = u128::from(seen) * u128::from(base.as_nanos());
        let without_queue = product / u128::from(rtt.as_nanos());
        Some((u128::from(seen) - without_queue) as f64)
    }

    /// The end of a round in the linear phase.
    fn adjust(&mut self, backlog: f64) {
        let Window { cwnd, mss, .. } = self.window;
        if backlog < self.alpha {
            self.goal = cwnd + mss;
        } else if backlog > self.beta {
            let half_of_excess = whole((backlog - self.beta) * mss as f64 / 2.0);
            self.window.cwnd = cwnd.saturating_sub(half_of_excess + mss).max(mss);
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        }
        if self.window.cwnd.max(self.goal) <= mss {
            self.is_linear = false;
        }
    }

    /// The end of a round in the exponential phase.
    fn double(&mut self, backlog: f64) {
        let Window { cwnd, mss, .. } = self.window;
        if !self.doubles_each_round && self.noted != Some(cwnd) {
            self.noted = Some(cwnd);
        } else if backlog > self.gamma {
            self.begin_linear_phase(cwnd);
        } else {
            self.goal = cwnd.saturating_mul(2);
        }
        if cwnd <= mss {
            self.goal = 2 * mss;
        }
        if self.goal > self.most {
            self.goal = self.most.max(cwnd);
            self.begin_linear_phase(cwnd);
        }
    }

    fn begin_linear_phase(&mut self, cwnd: u64) {
        self.is_linear = true;
        self.window.ssthresh = cwnd;
    }
}

impl Controller for ScpsVegas {
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
        self.is_recovering = feedback.recovering;
        self.goal = 0;
        if feedback.acked == 0 {
            return;
        }
        if std::mem::take(&mut self.timeouts) >= TIMEOUTS_TO_FORGET {
            self.base_rtt = None;
        }
        let Some(backlog) = self.measure(feedback) else { return };
        if self.is_linear {
            self.adjust(backlog);
        } else {
            self.double(backlog);
        }
        self.goal = self.goal.min(feedback.advertised);
    }

    fn grow(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        if self.is_recovering && !self.is_linear && self.window.in_slow_start() {
            self.slow_start(ack);
        }
        self.window.cwnd = self.window.cwnd.max(self.goal);
    }

    fn on_loss(&mut self, _loss: &Loss) {
        let Window { cwnd, mss, .. } = self.window;
        self.was_linear = self.is_linear;
        self.goal = 0;
        self.window.cwnd = (cwnd / 2).max(mss);
        self.begin_linear_phase(self.window.cwnd);
        if self.window.cwnd <= mss {
            self.is_linear = false;
        }
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.was_linear = self.is_linear;
            self.window.ssthresh = self.window.half(self.window.cwnd);
        }
        self.window.cwnd = self.window.mss;
        self.is_linear = false;
        self.timed = None;
        self.goal = 0;
        self.timeouts += 1;
    }

    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        standard::on_spurious_loss(self, cwnd, ssthresh);
        self.is_linear = self.was_linear;
    }

    fn on_idle(&mut self) {
        let before = self.window.cwnd;
        standard::on_idle(self);
        if self.window.cwnd < before {
            self.is_linear = false;
        }
    }
}

impl TcpPolicy for ScpsVegas {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::{ack, loss};
    use crate::parameters::Value;
    use crate::parts::vegas_estimator::tests::{MSS, feedback};

    /// Base RTT in milliseconds.
    const BASE: u64 = 500;

    fn vegas_with(initial_ssthresh: u64, parameters: &[(&str, Value)]) -> ScpsVegas {
        let mut values = Values::defaults(PARAMETERS);
        for (name, value) in parameters {
            values.set("scps-vegas", name, value.clone()).unwrap();
        }
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh,
            byte_counting: 1,
        };
        ScpsVegas::build(&settings, &values)
    }

    /// The first round has measured the base RTT, and cwnd is `segments` segments.
    fn starting_with(segments: u64, parameters: &[(&str, Value)]) -> ScpsVegas {
        let mut vegas = vegas_with(u64::MAX, parameters);
        vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, 2, 20, BASE) });
        vegas.window.cwnd = segments * MSS;
        vegas.noted = None;
        vegas
    }

    fn starting(segments: u64) -> ScpsVegas {
        starting_with(segments, &[])
    }

    /// In the linear phase.
    fn linear(segments: u64) -> ScpsVegas {
        let mut vegas = starting(segments);
        vegas.begin_linear_phase(segments * MSS);
        vegas
    }

    /// An ACK of `behind` segments behind the timed one, with this RTT.
    fn end_round(vegas: &mut ScpsVegas, behind: u64, rtt: u64) {
        let acknowledged = vegas.timed.unwrap() / MSS + behind;
        let sent = acknowledged + 20;
        vegas.on_feedback(&feedback(0, acknowledged, sent, rtt));
        vegas.on_ack(&ack(MSS));
    }

    /// A round with the backlog that the timed segment and those before it have with this RTT.
    fn round(vegas: &mut ScpsVegas, rtt: u64) -> u64 {
        end_round(vegas, 1, rtt);
        vegas.window.cwnd
    }

    #[test]
    fn the_first_round_ends_with_more_than_the_first_segment() {
        let mut vegas = vegas_with(u64::MAX, &[]);
        vegas.on_feedback(&feedback(0, 1, 11, BASE));
        vegas.on_ack(&ack(MSS));
        assert_eq!(vegas.window.cwnd, 10 * MSS);
        vegas.on_feedback(&feedback(0, 2, 12, BASE));
        vegas.on_ack(&ack(MSS));
        assert_eq!(vegas.window.cwnd, 20 * MSS);
    }

    #[test]
    fn the_next_round_ends_with_more_than_the_first_segment_that_is_sent_in_it() {
        let mut vegas = vegas_with(u64::MAX, &[]);
        let mut acknowledge = |segments, sent| {
            vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, segments, sent, BASE) });
            vegas.on_ack(&ack(2 * MSS));
            vegas.window.cwnd / MSS
        };
        assert_eq!(acknowledge(2, 10), 20);
        assert_eq!(acknowledge(10, 22), 20);
        assert_eq!(acknowledge(11, 31), 20, "the timed segment alone");
        assert_eq!(acknowledge(12, 32), 40);
    }

    #[test]
    fn a_round_waits_for_an_ack_with_a_sample() {
        let mut vegas = linear(41);
        let without = Feedback { round_trip: None, ..feedback(0, 30, 60, BASE) };
        vegas.on_feedback(&without);
        vegas.on_ack(&ack(MSS));
        assert_eq!(vegas.window.cwnd, 41 * MSS);
        assert_eq!(round(&mut vegas, BASE), 42 * MSS);
    }

    #[test]
    fn a_duplicate_ack_ends_no_round() {
        let mut vegas = linear(41);
        let duplicate = Feedback { acked: 0, duplicate: true, ..feedback(0, 30, 60, BASE) };
        vegas.on_feedback(&duplicate);
        vegas.on_ack(&ack(MSS));
        assert_eq!(vegas.window.cwnd, 41 * MSS);
    }

    #[test]
    fn below_alpha_the_window_grows_by_a_segment() {
        // 40 segments of the window less 500/520 of them: 38.46, and so 2 in the queue.
        assert_eq!(round(&mut linear(41), 520), 42 * MSS);
    }

    #[test]
    fn from_alpha_to_beta_the_window_stays() {
        // 3 and 5 of 40 in the queue.
        for rtt in [540, 571] {
            assert_eq!(round(&mut linear(41), rtt), 41 * MSS);
        }
    }

    #[test]
    fn above_beta_the_window_falls_by_half_of_the_excess_and_a_segment() {
        // 6 and 8 of 40 in the queue.
        for (rtt, left) in [(572, 39_500), (625, 38_500)] {
            assert_eq!(round(&mut linear(41), rtt), left);
        }
    }

    #[test]
    fn what_is_acknowledged_behind_the_timed_segment_is_no_part_of_its_window() {
        // A fifth of 30 segments waits, of one segment, and of all 40 again.
        for (behind, left) in [(10, 38_500), (39, 41_000), (40, 41_000), (41, 37_500)] {
            let mut vegas = linear(40);
            end_round(&mut vegas, behind, 625);
            assert_eq!(vegas.window.cwnd, left, "{behind}");
        }
    }

    /// One of one waits, and that is not below an alpha of one.
    #[test]
    fn the_timed_segment_saw_at_least_one() {
        let mut vegas = linear(40);
        vegas.alpha = 1.0;
        end_round(&mut vegas, 40, 625);
        assert_eq!(vegas.window.cwnd, 40 * MSS);
    }

    #[test]
    fn a_window_that_falls_is_not_in_slow_start() {
        let mut vegas = linear(41);
        round(&mut vegas, 625);
        assert!(!vegas.window.in_slow_start());
    }

    #[test]
    fn a_window_of_a_segment_that_grows_stays_in_the_linear_phase() {
        let mut vegas = linear(1);
        assert_eq!(round(&mut vegas, BASE), 2 * MSS);
        assert!(vegas.is_linear);
    }

    #[test]
    fn a_window_of_a_segment_begins_the_exponential_phase() {
        let mut vegas = linear(2);
        (vegas.alpha, vegas.beta) = (0.0, 0.5);
        assert_eq!(round(&mut vegas, 100_000), MSS);
        assert!(!vegas.is_linear);
    }

    #[test]
    fn a_window_that_cannot_hold_more_than_beta_does_not_fall() {
        let mut vegas = linear(8);
        // Whatever is seen waits: 7 of 8, and 5 of 6.
        let windows: Vec<_> = (0..3).map(|_| round(&mut vegas, 100_000) / MSS).collect();
        assert_eq!(windows, [6, 6, 6]);
    }

    #[test]
    fn up_to_gamma_the_window_doubles_at_once() {
        // 4 of 40 in the queue.
        let mut vegas = starting(41);
        assert_eq!(round(&mut vegas, 555), 82 * MSS);
        assert!(!vegas.is_linear);
    }

    #[test]
    fn above_gamma_the_linear_phase_begins_with_the_whole_window() {
        // 5 of 40 in the queue.
        let mut vegas = starting(41);
        assert_eq!(round(&mut vegas, 571), 41 * MSS);
        assert!(vegas.is_linear && !vegas.window.in_slow_start());
        assert_eq!(round(&mut vegas, BASE), 42 * MSS);
    }

    fn every_other_round() -> [(&'static str, Value); 1] {
        [("slow_start", Value::Word("every-other-round".to_owned()))]
    }

    #[test]
    fn the_window_doubles_in_every_other_round_if_chosen() {
        let mut vegas = starting_with(10, &every_other_round());
        let windows: Vec<_> = (0..5).map(|_| round(&mut vegas, BASE) / MSS).collect();
        assert_eq!(windows, [10, 20, 20, 40, 40]);
    }

    #[test]
    fn a_round_without_growth_looks_at_no_backlog() {
        let mut vegas = starting_with(41, &every_other_round());
        round(&mut vegas, 5000);
        assert!(!vegas.is_linear);
        round(&mut vegas, 5000);
        assert!(vegas.is_linear);
    }

    #[test]
    fn a_window_of_one_segment_doubles_in_any_round() {
        let mut vegas = starting_with(1, &every_other_round());
        assert_eq!(round(&mut vegas, BASE), 2 * MSS);
        assert_eq!(round(&mut vegas, BASE), 2 * MSS);
        assert_eq!(round(&mut vegas, BASE), 4 * MSS);
    }

    #[test]
    fn an_initial_ssthresh_ends_the_exponential_phase() {
        let mut vegas = vegas_with(30 * MSS, &[]);
        vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, 2, 20, BASE) });
        vegas.on_ack(&ack(MSS));
        let windows: Vec<_> = (0..3).map(|_| round(&mut vegas, BASE) / MSS).collect();
        assert_eq!(windows, [30, 31, 32]);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        for mut vegas in [linear(41), starting(41)] {
            vegas.on_feedback(&feedback(0, 30, 60, BASE));
            vegas.on_ack(&Ack { cwnd_limited: false, ..ack(MSS) });
            assert_eq!(vegas.window.cwnd, 41 * MSS);
            vegas.on_feedback(&feedback(0, 31, 61, BASE));
            vegas.on_ack(&ack(MSS));
            assert_eq!(vegas.window.cwnd, 41 * MSS, "growth of another ACK");
        }
    }

    #[test]
    fn the_window_does_not_grow_beyond_that_of_the_receiver() {
        for (mut vegas, expected) in [(starting(30), [40, 40]), (linear(39), [40, 40])] {
            for expected in expected {
                let end = vegas.timed.unwrap() / MSS;
                let feedback = feedback(0, end + 1, end + 21, BASE);
                vegas.on_feedback(&Feedback { advertised: 40 * MSS, ..feedback });
                vegas.on_ack(&ack(MSS));
                assert_eq!(vegas.window.cwnd, expected * MSS);
            }
            assert_eq!(round(&mut vegas, BASE) > 41 * MSS, !vegas.is_linear, "the phase stays");
        }
    }

    #[test]
    fn the_window_settles_with_a_backlog_between_alpha_and_beta() {
        // A path of 50 segments: what is above it waits, and the RTT grows with it.
        let mut vegas = starting(10);
        let mut windows = Vec::new();
        for _ in 0..40 {
            let rtt = BASE.max(BASE * vegas.window.cwnd / (50 * MSS));
            windows.push(round(&mut vegas, rtt) / MSS);
        }
        assert_eq!(windows[..3], [20, 40, 80], "twice the path is not above it in its first round");
        let waiting = windows[39] - 50;
        assert!((3..=5).contains(&waiting), "{windows:?}");
    }

    #[test]
    fn the_base_rtt_is_the_smallest_of_the_connection() {
        let mut vegas = linear(41);
        for _ in 0..3000 {
            round(&mut vegas, 560);
        }
        // 450 ms once, then 5 of 40 again.
        let kept = vegas.window.cwnd;
        round(&mut vegas, 450);
        assert_eq!(vegas.window.cwnd, kept + MSS);
        assert_eq!(vegas.base_rtt, Some(Span::from_millis(450)));
        vegas.window.cwnd = 41 * MSS;
        // 8 of 40 wait now.
        assert_eq!(round(&mut vegas, 560), 38_500);
    }

    #[test]
    fn a_loss_halves_the_window_and_begins_the_linear_phase() {
        let mut vegas = starting(41);
        vegas.on_loss(&loss(30 * MSS));
        vegas.on_recovery_exit(units::Time::ZERO);
        assert_eq!(vegas.window.cwnd, 20_500);
        assert!(vegas.is_linear && !vegas.window.in_slow_start());
        assert_eq!(round(&mut vegas, BASE), 21_500);
    }

    #[test]
    fn a_loss_that_leaves_a_segment_begins_the_exponential_phase() {
        for segments in [1, 2] {
            let mut vegas = linear(segments);
            vegas.on_loss(&loss(MSS));
            assert_eq!((vegas.window.cwnd, vegas.is_linear), (MSS, false));
        }
    }

    #[test]
    fn a_round_that_ends_in_recovery_measures_nothing() {
        let mut vegas = linear(41);
        vegas.on_loss(&loss(41 * MSS));
        let end = vegas.timed.unwrap() / MSS;
        for (acknowledged, rtt) in [(end + 5, 300), (end + 30, 5000)] {
            let recovering = feedback(0, acknowledged, acknowledged + 20, rtt);
            vegas.on_feedback(&Feedback { recovering: true, ..recovering });
        }
        assert_eq!((vegas.window.cwnd, vegas.base_rtt), (20_500, Some(Span::from_millis(BASE))));
        // The segment is timed that was sent then.
        assert_eq!(vegas.timed, Some((end + 30 + 20 + 1) * MSS));
    }

    #[test]
    fn a_mark_takes_back_the_growth_of_its_ack() {
        let mut vegas = starting(40);
        vegas.on_feedback(&feedback(0, 30, 60, BASE));
        vegas.on_congestion_mark(&loss(40 * MSS));
        vegas.on_ack(&ack(MSS));
        assert_eq!(vegas.window.cwnd, 20 * MSS);
    }

    #[test]
    fn a_timeout_leaves_a_segment_and_half_the_window_as_ssthresh() {
        let mut vegas = linear(41);
        vegas.on_timeout(&loss(10 * MSS));
        assert_eq!((vegas.window.cwnd, vegas.window.ssthresh), (MSS, 20_500));
        vegas.on_timeout(&Loss { repeated: true, ..loss(MSS) });
        assert_eq!((vegas.window.cwnd, vegas.window.ssthresh), (MSS, 20_500));
        assert!(!vegas.is_linear);
        let mut vegas = linear(3);
        vegas.on_timeout(&loss(MSS));
        assert_eq!(vegas.window.ssthresh, 2 * MSS);
    }

    #[test]
    fn a_timeout_takes_back_the_growth_of_the_last_ack_and_times_another_segment() {
        let mut vegas = starting(41);
        vegas.on_feedback(&feedback(0, 30, 60, BASE));
        vegas.on_timeout(&loss(30 * MSS));
        vegas.on_ack(&ack(MSS));
        assert_eq!((vegas.window.cwnd, vegas.timed), (MSS, None));
    }

    #[test]
    fn the_exponential_phase_goes_on_beyond_ssthresh() {
        let mut vegas = linear(8);
        vegas.on_timeout(&loss(8 * MSS));
        vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, 40, 60, BASE) });
        vegas.on_ack(&ack(2 * MSS));
        let windows: Vec<_> = (0..4).map(|_| round(&mut vegas, BASE) / MSS).collect();
        assert_eq!(windows, [4, 8, 16, 32]);
    }

    #[test]
    fn while_a_timeout_is_repaired_slow_start_goes_up_to_ssthresh() {
        let mut vegas = linear(8);
        vegas.on_timeout(&loss(8 * MSS));
        for acknowledged in 0..20 {
            let repairing = feedback(0, acknowledged, 60, BASE);
            vegas.on_feedback(&Feedback { recovering: true, ..repairing });
            vegas.on_ack(&ack(MSS));
            assert_eq!(vegas.window.cwnd, (2 + acknowledged).min(4) * MSS);
        }
    }

    #[test]
    fn after_four_timeouts_in_a_row_the_base_rtt_is_measured_again() {
        for timeouts in [3, 4] {
            let mut vegas = linear(41);
            for _ in 0..timeouts {
                vegas.on_timeout(&loss(MSS));
            }
            vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, 40, 60, 900) });
            let expected = if timeouts == 4 { 900 } else { BASE };
            assert_eq!(vegas.base_rtt, Some(Span::from_millis(expected)));
        }
    }

    #[test]
    fn timeouts_with_an_ack_between_them_are_not_in_a_row() {
        let mut vegas = linear(41);
        for _ in 0..8 {
            vegas.on_timeout(&loss(MSS));
            vegas.on_feedback(&feedback(0, 40, 60, 900));
        }
        assert_eq!(vegas.base_rtt, Some(Span::from_millis(BASE)));
    }

    #[test]
    fn after_a_spurious_loss_window_and_phase_are_what_they_were() {
        for (vegas, is_linear) in [(starting(41), false), (linear(41), true)] {
            for is_timeout in [false, true] {
                let mut vegas = vegas.clone();
                let before = vegas.window;
                if is_timeout {
                    vegas.on_timeout(&loss(41 * MSS));
                    vegas.on_timeout(&Loss { repeated: true, ..loss(MSS) });
                } else {
                    vegas.on_loss(&loss(41 * MSS));
                }
                vegas.on_spurious_loss(before.cwnd, before.ssthresh);
                assert_eq!((vegas.window.cwnd, vegas.is_linear), (41 * MSS, is_linear));
            }
        }
    }

    #[test]
    fn an_idle_period_leaves_the_initial_window_in_the_exponential_phase() {
        let mut vegas = linear(41);
        vegas.on_idle();
        assert_eq!(vegas.window.cwnd, 10 * MSS);
        assert_eq!(round(&mut vegas, BASE), 20 * MSS);
        let mut vegas = linear(8);
        vegas.on_idle();
        assert_eq!(round(&mut vegas, BASE), 9 * MSS, "a window below the initial one stays");
    }

    #[test]
    fn a_window_of_100_000_segments_and_an_rtt_of_a_minute_are_followed() {
        let mut vegas = linear(100_001);
        vegas.base_rtt = None;
        assert_eq!(round(&mut vegas, 60_000), 100_002 * MSS);
        // 100 001 segments less 100 001 / 1.001: 100.
        assert_eq!(round(&mut vegas, 60_060), 100_002 * MSS - 95 * MSS / 2 - MSS);
    }

    #[test]
    fn a_round_trip_of_no_time_is_no_sample() {
        let mut vegas = linear(41);
        assert_eq!(round(&mut vegas, 0), 41 * MSS);
        assert_eq!(vegas.base_rtt, Some(Span::from_millis(BASE)));
    }
}
