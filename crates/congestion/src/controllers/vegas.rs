//! Vegas: a window that keeps a few segments waiting in the queues, and no more.
//!
//! Source: L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", IEEE JSAC 13(8), 1995, as ns-2.35 has it (`tcp/tcp-vegas.cc`, read; the paper was
//! not). The backlog and the fine timeout are in `vegas_estimator`. Once per round trip, with the
//! backlog in segments:
//!
//! - slow start: cwnd grows for each ACK in every other round only; when the backlog is above
//!   `gamma`, an eighth of cwnd is given up, and avoidance begins,
//! - avoidance: above `beta` cwnd falls by one segment, below `alpha` it grows by one in the next
//!   round, between the two it stays,
//! - it grows only while at most two segments of it are unused,
//! - a duplicate ACK, or the first ACK after a loss, shows a loss when the first unacknowledged
//!   segment is older than the fine timeout; the duplicate threshold counts as well,
//! - loss: 3/4 of cwnd, 1/2 when the segment had been retransmitted before, two segments when it
//!   was three or less; nothing when cwnd was reduced after the segment was sent,
//! - timeout: cwnd is two segments, ssthresh half.
//!
//! Decisions where ns-2 cannot be followed: a loss while recovery lasts is recovery's, so its fine
//! timeout counts outside of it. After a timeout rounds cannot be told until what was outstanding
//! is acknowledged; until then slow start is the standard one.

mod linux;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::VARIANT;
use crate::parts::vegas_estimator::{Backlog, FineTimeout};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

pub use linux::LinuxVegas;

/// How many ACKs after a loss are looked at for a further one.
const WORRIED: u8 = 2;
/// How much of cwnd, in segments, may be unused while it grows.
const UNUSED: u64 = 2;

pub(crate) const ALPHA: Parameter = Parameter {
    name: "alpha",
    default: "1",
    allowed: Allowed::Range(0.0, 1000.0),
    meaning: "Backlog in segments below which cwnd grows",
};
pub(crate) const BETA: Parameter = Parameter {
    name: "beta",
    default: "3",
    allowed: Allowed::Range(0.0, 1000.0),
    meaning: "Backlog in segments above which cwnd falls; not below alpha",
};
pub(crate) const GAMMA: Parameter = Parameter {
    name: "gamma",
    default: "1",
    allowed: Allowed::Range(0.0, 1000.0),
    meaning: "Backlog in segments above which slow start ends",
};

const PARAMETERS: &[Parameter] = &[ALPHA, BETA, GAMMA, VARIANT];

/// TCP Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: Window,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) gamma: f64,
    /// Segments are spread over the round, so the flight lags behind a window that grows.
    pub(crate) paced: bool,
    backlog: Backlog,
    fine: FineTimeout,
    /// cwnd may grow in this round.
    pub(crate) grows: bool,
    /// The last round of slow start was one with growth.
    grew: bool,
    /// When a loss reduced cwnd.
    reduced: Option<Time>,
    /// The window that the last loss left, without what recovery adds to it.
    left: u64,
    /// Position of the segment that was last retransmitted.
    repaired: Option<u64>,
    /// ACKs that are still to be looked at after a loss.
    worried: u8,
    /// Of the last ACK: position, send time of the segment there, the receiver's window.
    head: (u64, Option<Time>, u64),
}

impl Listed for Vegas {
    const LISTED: &'static [Entry] = &[Entry {
        name: "vegas",
        summary: "Delay-based: keeps the segments that wait in queues between two bounds",
        source: "Brakmo and Peterson, Vegas, 1995, as in ns-2.35",
        status: Status::Implementation("ns-2.35, tcp/tcp-vegas.cc"),
        repair: Repair::SingleLoss,
        parameters: PARAMETERS,
    }];
    const ORDERED: &'static [(&'static str, &'static str)] = &[("alpha", "beta")];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            gamma: values.number("gamma"),
            paced: false,
            backlog: Backlog::default(),
            fine: FineTimeout::default(),
            grows: false,
            grew: true,
            reduced: None,
            left: settings.initial_window,
            repaired: None,
            worried: 0,
            head: (0, None, u64::MAX),
        }
    }
}

impl Vegas {
    /// Takes in what an ACK tells; the backlog in segments when it ends a round.
    pub(crate) fn measure(&mut self, feedback: &Feedback) -> Option<f64> {
        self.head = (feedback.acknowledged, feedback.head_sent, feedback.advertised);
        let backlog = self.backlog.measure(feedback, self.window.mss);
        if let Some(sample) = feedback.round_trip.filter(|rtt| *rtt > Span::ZERO) {
            self.fine.sample(sample);
        }
        backlog
    }

    /// Returns true if this round of slow start is one with growth, and so one that looks at the
    /// backlog.
    pub(crate) fn every_other_round(&mut self) -> bool {
        self.grew = !self.grew;
        self.grows = self.grew;
        self.grew
    }

    /// The end of a round of slow start.
    fn end_slow_start(&mut self, backlog: f64) {
        if self.every_other_round() && backlog > self.gamma {
            self.window.cwnd -= self.window.cwnd / 8;
            self.avoid_from_now_on();
        }
    }

    /// Slow start is over, with the window that there is.
    pub(crate) fn avoid_from_now_on(&mut self) {
        let least = 2 * self.window.mss;
        self.window.cwnd = self.window.cwnd.max(least);
        self.window.ssthresh = least;
        self.grows = false;
    }

    /// The end of a round of congestion avoidance.
    pub(crate) fn adjust(&mut self, backlog: f64) {
        self.grows = backlog < self.alpha;
        if backlog > self.beta {
            let least = 2 * self.window.mss;
            self.window.cwnd = self.window.cwnd.saturating_sub(self.window.mss).max(least);
        }
    }

    /// Returns true if the window is used, so that it may grow.
    pub(crate) fn uses_its_window(&self, ack: &Ack) -> bool {
        let used = ack.flight + self.window.mss;
        let nearly = self.window.cwnd <= used + UNUSED * self.window.mss;
        ack.cwnd_limited && (self.paced || nearly)
    }

    /// Reduces the window for a loss found at `now`.
    fn reduce(&mut self, now: Time) {
        let before = self.window.cwnd;
        self.left = self.window_after_loss();
        if self.left != before {
            self.reduced = Some(now);
        }
        self.window.cwnd = self.left;
        self.window.ssthresh = 2 * self.window.mss;
        self.grows = false;
    }

    /// cwnd after a loss of the first unacknowledged segment.
    fn window_after_loss(&self) -> u64 {
        let (position, sent, advertised) = self.head;
        let cwnd = self.window.cwnd.min(advertised);
        if self.reduced.is_some_and(|reduced| sent.is_some_and(|sent| sent <= reduced)) {
            self.window.cwnd
        } else if cwnd <= 3 * self.window.mss {
            2 * self.window.mss
        } else if self.repaired == Some(position) {
            cwnd / 2
        } else {
            cwnd - cwnd / 4
        }
    }
}

impl Controller for Vegas {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, records: true, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        if let Some(backlog) = self.measure(feedback) {
            if self.window.in_slow_start() {
                self.end_slow_start(backlog);
            } else {
                self.adjust(backlog);
            }
        }
    }

    fn grow(&mut self, ack: &Ack) {
        if !self.grows || !self.uses_its_window(ack) {
            return;
        }
        if self.window.in_slow_start() {
            self.slow_start(ack);
            self.grows = self.window.in_slow_start();
        } else {
            self.avoid_congestion(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss.now);
        self.fine.back_off(self.repaired == Some(self.head.0));
        self.repaired = Some(self.head.0);
        self.worried = WORRIED;
    }

    /// The window of a loss. No segment is sent again, and so no timeout backs off.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        self.reduce(loss.now);
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.window.cwnd = self.left;
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        self.window.cwnd = 2 * self.window.mss;
        self.left = self.window.cwnd;
        self.reduced = Some(loss.now);
        self.repaired = Some(self.head.0);
        self.worried = 0;
        self.grows = true;
    }
}

impl TcpPolicy for Vegas {
    fn finds_loss(&mut self, feedback: &Feedback) -> bool {
        let looked_at = feedback.duplicate || (feedback.acked > 0 && self.worried > 0);
        if feedback.acked > 0 {
            self.worried = self.worried.saturating_sub(1);
        }
        let expired = looked_at && self.fine.expired(feedback);
        if !feedback.duplicate && !expired {
            self.worried = 0;
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Value;
    use crate::parts::vegas_estimator::tests::{MSS, feedback};

    fn vegas_with(settings: &[(&str, f64)]) -> Vegas {
        let mut values = Values::defaults(PARAMETERS);
        for (name, value) in settings {
            values.set("vegas", name, Value::Number(*value)).unwrap();
        }
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 2 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        Vegas::build(&settings, &values)
    }

    /// In congestion avoidance with a window of `segments`.
    fn avoiding(segments: u64) -> Vegas {
        let mut vegas = vegas_with(&[]);
        vegas.window.cwnd = segments * MSS;
        vegas.window.ssthresh = 2 * MSS;
        vegas
    }

    fn ack(vegas: &Vegas) -> Ack {
        Ack {
            now: Time::ZERO,
            acked: MSS,
            flight: vegas.window.cwnd - MSS,
            advertised: u64::MAX,
            srtt: None,
            min_rtt: None,
            cwnd_limited: true,
        }
    }

    /// One round trip of 500 ms and `waiting` segments in the queue, with an ACK for each segment.
    fn round(vegas: &mut Vegas, sent: u64, waiting: u64) -> u64 {
        let window = vegas.window.cwnd / MSS;
        let rtt = 500 * window / (window - waiting);
        for i in 1..=window {
            let acknowledged = sent - window + i;
            let so_far = acknowledged + vegas.window.cwnd / MSS - 1;
            vegas.on_feedback(&feedback(0, acknowledged, so_far, rtt));
            vegas.on_ack(&ack(vegas));
        }
        sent + vegas.window.cwnd / MSS
    }

    fn lost(vegas: &mut Vegas, head_sent: u64, now: u64) {
        let position = vegas.head.0 / MSS;
        let head_sent = Some(Time::from_nanos(head_sent * 1_000_000));
        let duplicate = Feedback {
            acked: 0,
            duplicate: true,
            round_trip: None,
            head_sent,
            ..feedback(now, position, position + 10, 500)
        };
        vegas.on_feedback(&duplicate);
        vegas.on_loss(&Loss { now: duplicate.now, flight: 0, repeated: false });
    }

    #[test]
    fn slow_start_doubles_the_window_in_every_other_round() {
        let mut vegas = vegas_with(&[]);
        let mut sent = 2;
        let mut windows = Vec::new();
        for _ in 0..7 {
            sent = round(&mut vegas, sent, 0);
            windows.push(vegas.window.cwnd / MSS);
        }
        assert_eq!(windows, [2, 4, 4, 8, 8, 16, 16]);
    }

    #[test]
    fn a_backlog_above_gamma_ends_slow_start_and_gives_an_eighth_up() {
        let mut vegas = vegas_with(&[]);
        vegas.window.cwnd = 80 * MSS;
        vegas.end_slow_start(5.0);
        assert!(vegas.window.in_slow_start(), "rounds without growth look at nothing");
        vegas.end_slow_start(1.0);
        assert!(vegas.window.in_slow_start() && vegas.grows);
        vegas.end_slow_start(5.0);
        vegas.end_slow_start(2.0);
        assert_eq!((vegas.window.cwnd, vegas.window.ssthresh), (70 * MSS, 2 * MSS));
        assert!(!vegas.grows);
    }

    #[test]
    fn below_alpha_the_window_grows_by_one_segment_in_a_round() {
        let mut vegas = avoiding(40);
        let sent = round(&mut vegas, 40, 0);
        let before = vegas.window.cwnd;
        round(&mut vegas, sent, 0);
        let grown = vegas.window.cwnd - before;
        assert!((MSS * 9 / 10..=MSS * 11 / 10).contains(&grown), "{grown}");
    }

    #[test]
    fn between_alpha_and_beta_the_window_stays() {
        for backlog in [1.0, 2.0, 3.0] {
            let mut vegas = avoiding(40);
            vegas.adjust(backlog);
            vegas.on_ack(&ack(&vegas));
            assert_eq!(vegas.window.cwnd, 40 * MSS, "{backlog}");
        }
    }

    #[test]
    fn above_beta_the_window_falls_by_one_segment_but_not_below_two() {
        let mut vegas = avoiding(40);
        vegas.adjust(4.0);
        assert_eq!(vegas.window.cwnd, 39 * MSS);
        let mut vegas = avoiding(2);
        vegas.adjust(4.0);
        assert_eq!(vegas.window.cwnd, 2 * MSS);
    }

    #[test]
    fn the_window_settles_with_a_backlog_between_alpha_and_beta() {
        // A pipe of 50 segments: what is above it waits.
        let mut vegas = avoiding(30);
        let mut sent = 30;
        for _ in 0..60 {
            let waiting = (vegas.window.cwnd / MSS).saturating_sub(50);
            sent = round(&mut vegas, sent, waiting);
        }
        let waiting = vegas.window.cwnd / MSS - 50;
        assert!((1..=3).contains(&waiting), "{waiting}");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut vegas = avoiding(40);
        vegas.adjust(0.0);
        let used = ack(&vegas);
        vegas.on_ack(&Ack { flight: 36 * MSS, ..used });
        assert_eq!(vegas.window.cwnd, 40 * MSS);
        vegas.on_ack(&Ack { flight: 37 * MSS, ..used });
        assert!(vegas.window.cwnd > 40 * MSS);
    }

    #[test]
    fn a_loss_takes_a_quarter_and_another_of_the_same_segment_half() {
        let mut vegas = avoiding(40);
        lost(&mut vegas, 0, 600);
        assert_eq!(vegas.window.cwnd, 30 * MSS);
        lost(&mut vegas, 700, 1300);
        assert_eq!(vegas.window.cwnd, 15 * MSS);
    }

    #[test]
    fn a_segment_sent_before_the_last_reduction_reduces_nothing() {
        let mut vegas = avoiding(40);
        lost(&mut vegas, 0, 600);
        vegas.head.0 += MSS;
        lost(&mut vegas, 300, 900);
        assert_eq!(vegas.window.cwnd, 30 * MSS);
        lost(&mut vegas, 601, 1200);
        assert_eq!(vegas.window.cwnd, 15 * MSS);
    }

    #[test]
    fn three_segments_or_less_become_two() {
        let mut vegas = avoiding(3);
        lost(&mut vegas, 0, 600);
        assert_eq!(vegas.window.cwnd, 2 * MSS);
    }

    #[test]
    fn recovery_gives_back_the_window_that_the_loss_left() {
        let mut vegas = avoiding(40);
        lost(&mut vegas, 0, 600);
        vegas.window_mut().cwnd += 25 * MSS;
        vegas.on_recovery_exit(Time::ZERO);
        assert_eq!(vegas.window.cwnd, 30 * MSS);
    }

    #[test]
    fn the_first_duplicate_shows_a_loss_when_the_segment_is_older_than_the_fine_timeout() {
        let mut vegas = avoiding(40);
        vegas.on_feedback(&feedback(0, 0, 40, 800));
        let duplicate = |now| Feedback {
            acked: 0,
            duplicate: true,
            head_sent: Some(Time::ZERO),
            ..feedback(now, 0, 40, 800)
        };
        assert!(!vegas.finds_loss(&duplicate(1168)));
        assert!(vegas.finds_loss(&duplicate(1169)));
        let new = Feedback { acked: MSS, duplicate: false, ..duplicate(1169) };
        assert!(!vegas.finds_loss(&new), "only duplicates are looked at");
    }

    #[test]
    fn two_acks_after_a_loss_are_looked_at_as_long_as_they_show_one() {
        let old = |now| Feedback {
            head_sent: Some(Time::ZERO),
            round_trip: None,
            ..feedback(now, 1, 40, 800)
        };
        let mut vegas = avoiding(40);
        vegas.on_feedback(&feedback(0, 0, 40, 800));
        lost(&mut vegas, 0, 1200);
        assert!(vegas.finds_loss(&old(2000)));
        assert!(vegas.finds_loss(&old(2000)));
        assert!(!vegas.finds_loss(&old(2000)));
        lost(&mut vegas, 0, 2000);
        assert!(!vegas.finds_loss(&old(100)));
        assert!(!vegas.finds_loss(&old(9000)));
    }

    #[test]
    fn a_timeout_leaves_two_segments_and_standard_slow_start() {
        let mut vegas = avoiding(40);
        let timeout = Loss { now: Time::ZERO, flight: 40 * MSS, repeated: false };
        vegas.on_timeout(&timeout);
        assert_eq!((vegas.window.cwnd, vegas.window.ssthresh), (2 * MSS, 20 * MSS));
        vegas.on_timeout(&Loss { flight: MSS, repeated: true, ..timeout });
        assert_eq!((vegas.window.cwnd, vegas.window.ssthresh), (2 * MSS, 20 * MSS));
        for _ in 0..4 {
            vegas.on_feedback(&Feedback { recovering: true, ..feedback(0, 1, 40, 500) });
            vegas.on_ack(&ack(&vegas));
        }
        assert_eq!(vegas.window.cwnd, 6 * MSS);
    }

    #[test]
    fn a_window_of_100_000_segments_and_an_rtt_of_a_second_are_followed() {
        let mut vegas = avoiding(100_000);
        vegas.on_feedback(&feedback(0, 0, 100_000, 1000));
        vegas.on_feedback(&feedback(1000, 100_001, 200_000, 1000));
        assert!(vegas.grows);
        vegas.on_feedback(&feedback(2000, 200_001, 300_000, 1001));
        vegas.on_feedback(&feedback(3001, 300_001, 400_000, 1001));
        assert_eq!(vegas.window.cwnd, 99_999 * MSS);
    }

    /// The clock stood still: such a sample would let the next duplicate expire the timer.
    #[test]
    fn a_round_trip_of_no_time_is_no_sample_of_the_timeout() {
        let mut vegas = avoiding(40);
        vegas.on_feedback(&feedback(0, 0, 40, 0));
        vegas.on_feedback(&feedback(500, 1, 41, 500));
        let duplicate =
            |now: u64| Feedback { head_sent: Some(Time::ZERO), ..feedback(now, 1, 41, 500) };
        // 17/16 of the RTT and twice a deviation of a quarter less a quarter.
        assert!(!vegas.fine.expired(&duplicate(720)));
        assert!(vegas.fine.expired(&duplicate(740)));
    }
}
