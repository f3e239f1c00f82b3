//! New Vegas: Vegas that paces, and that does not crawl after slow start.
//!
//! Source: J. Sing, B. Soh, "TCP New Vegas: Improving the Performance of TCP Vegas over High
//! Latency Links", IEEE NCA 2005. It is not the later algorithm for data centres that Linux calls
//! NV or New Vegas.
//!
//! Reconstructed: only the abstract was read. It names three changes at the sender: packet pacing,
//! packet pairing and rapid window convergence. Without step sizes from the paper they are here:
//!
//! - pacing: cwnd is spread over the smoothed RTT, so that no burst of its own ends slow start,
//! - rapid window convergence: when slow start finds a backlog above `gamma`, the window gives up
//!   what waits beyond `beta` and no eighth; it then grows again by a share of itself in every
//!   other round, at first by `convergence`, and by half of the last share each time that the
//!   backlog is above `beta`. It ends with a backlog between `alpha` and `beta`, or when the share
//!   is less than a segment.
//!
//! Missing: packet pairing, two segments at a time so that a receiver that delays its ACKs answers
//! at once. A pacing rate cannot say that. All else is Vegas.

use units::{Span, Time};

use crate::controller::Controller;
use crate::controllers::vegas::{self, Vegas};
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

const PARAMETERS: &[Parameter] = &[
    vegas::ALPHA,
    vegas::BETA,
    vegas::GAMMA,
    Parameter {
        name: "convergence",
        default: "0.5",
        allowed: Allowed::Range(0.0, 1.0),
        meaning: "Share of the window that the first round after slow start adds; reconstructed",
    },
];

/// TCP New Vegas.
#[derive(Clone, Debug)]
pub struct NewVegas {
    vegas: Vegas,
    first_share: f64,
    /// The share of itself that the window adds in a round, while it converges.
    share: Option<f64>,
    rtt: Option<Span>,
}

impl Listed for NewVegas {
    const LISTED: &'static [Entry] = &[Entry {
        name: "new-vegas",
        summary: "Vegas for long paths: paced, and quick to find its window after slow start",
        source: "Sing and Soh, New Vegas, 2005",
        status: Status::Reconstructed,
        repair: Repair::SingleLoss,
        parameters: PARAMETERS,
    }];
    const ORDERED: &'static [(&'static str, &'static str)] = Vegas::ORDERED;

    fn build(settings: &Settings, values: &Values) -> Self {
        let mut vegas = Vegas::build(settings, values);
        vegas.paced = true;
        Self { vegas, first_share: values.number("convergence"), share: None, rtt: None }
    }
}

impl NewVegas {
    /// The end of a round in slow start or convergence that began without growth.
    fn converge(&mut self, backlog: f64) {
        let starting = self.vegas.window().in_slow_start();
        let enough =
            if starting { backlog > self.vegas.gamma } else { backlog >= self.vegas.alpha };
        if !enough {
            return;
        }
        let excess = backlog - self.vegas.beta;
        let share = match self.share {
            None => Some(self.first_share),
            Some(share) if excess > 0.0 => Some(share / 2.0),
            Some(_) => None,
        };
        let window = self.vegas.window_mut();
        let waiting = whole(excess.max(0.0) * window.mss as f64);
        window.cwnd = window.cwnd.saturating_sub(waiting);
        let worth = window.mss as f64 / window.cwnd.max(1) as f64;
        self.share = share.filter(|share| *share >= worth);
        self.vegas.avoid_from_now_on();
    }
}

impl Controller for NewVegas {
    fn window(&self) -> &Window {
        self.vegas.window()
    }

    fn window_mut(&mut self) -> &mut Window {
        self.vegas.window_mut()
    }

    fn needs(&self) -> Needs {
        Needs { pacing: true, ..self.vegas.needs() }
    }

    fn on_rtt(&mut self, _now: Time, sample: Span) {
        self.rtt.get_or_insert(sample);
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.rtt = feedback.srtt.or(self.rtt);
        let Some(backlog) = self.vegas.measure(feedback) else { return };
        if !self.vegas.window().in_slow_start() && self.share.is_none() {
            self.vegas.adjust(backlog);
        } else if self.vegas.every_other_round() {
            self.converge(backlog);
        }
    }

    fn grow(&mut self, ack: &Ack) {
        let Some(share) = self.share else { return self.vegas.grow(ack) };
        if self.vegas.grows && self.vegas.uses_its_window(ack) {
            let window = self.vegas.window_mut();
            window.cwnd += whole(share * window.counted(ack.acked) as f64);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.share = None;
        self.vegas.on_loss(loss);
    }

    fn on_congestion_mark(&mut self, loss: &Loss) {
        self.share = None;
        self.vegas.on_congestion_mark(loss);
    }

    fn on_recovery_exit(&mut self, now: Time) {
        self.vegas.on_recovery_exit(now);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        self.share = None;
        self.vegas.on_timeout(loss);
    }

    /// cwnd in each smoothed RTT.
    fn pacing_rate(&self) -> Option<f64> {
        let rtt = self.rtt.filter(|rtt| *rtt > Span::ZERO)?;
        Some(self.window().cwnd as f64 / rtt.as_secs_f64())
    }
}

impl TcpPolicy for NewVegas {
    fn finds_loss(&mut self, feedback: &Feedback) -> bool {
        self.vegas.finds_loss(feedback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::ack;
    use crate::parts::vegas_estimator::tests::{MSS, feedback};

    fn new_vegas(segments: u64) -> NewVegas {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: segments * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        NewVegas::build(&settings, &Values::defaults(PARAMETERS))
    }

    fn cwnd(new_vegas: &NewVegas) -> u64 {
        new_vegas.window().cwnd / MSS
    }

    #[test]
    fn the_window_is_spread_over_the_round_trip() {
        let mut new_vegas = new_vegas(10);
        assert!(new_vegas.needs().pacing);
        assert_eq!(new_vegas.pacing_rate(), None);
        new_vegas.on_rtt(Time::ZERO, Span::from_millis(400));
        assert_eq!(new_vegas.pacing_rate(), Some(25_000.0));
        new_vegas.on_feedback(&feedback(0, 0, 10, 500));
        assert_eq!(new_vegas.pacing_rate(), Some(20_000.0));
    }

    #[test]
    fn slow_start_ends_without_what_waits_beyond_beta() {
        let mut new_vegas = new_vegas(100);
        new_vegas.converge(1.0);
        assert!(new_vegas.window().in_slow_start());
        new_vegas.converge(13.0);
        assert_eq!((cwnd(&new_vegas), new_vegas.share), (90, Some(0.5)));
        assert!(!new_vegas.window().in_slow_start());
    }

    #[test]
    fn the_window_then_grows_by_a_share_that_halves_with_each_backlog_above_beta() {
        let mut new_vegas = new_vegas(100);
        new_vegas.converge(3.0);
        new_vegas.vegas.every_other_round();
        new_vegas.vegas.every_other_round();
        new_vegas.converge(0.0);
        new_vegas.grow(&ack(MSS));
        assert_eq!(new_vegas.window().cwnd, 100 * MSS + MSS / 2);
        new_vegas.converge(4.0);
        assert_eq!(new_vegas.share, Some(0.25));
        new_vegas.grow(&ack(MSS));
        assert_eq!(new_vegas.window().cwnd, 99 * MSS + MSS / 2, "a round without growth");
    }

    #[test]
    fn a_backlog_between_alpha_and_beta_ends_the_convergence() {
        let mut new_vegas = new_vegas(100);
        new_vegas.converge(3.0);
        new_vegas.converge(2.0);
        assert_eq!((cwnd(&new_vegas), new_vegas.share), (100, None));
    }

    #[test]
    fn a_share_of_less_than_a_segment_ends_it_too() {
        let mut new_vegas = new_vegas(10);
        new_vegas.converge(3.0);
        for share in [Some(0.25), Some(0.125), None] {
            new_vegas.converge(3.1);
            assert_eq!(new_vegas.share, share);
        }
    }

    #[test]
    fn it_finds_a_pipe_of_any_size_within_a_few_rounds() {
        for pipe in [20.0, 77.0, 400.0, 1000.0, 90_000.0] {
            let mut new_vegas = new_vegas(2);
            let mut rounds = 0;
            while new_vegas.window().in_slow_start() || new_vegas.share.is_some() {
                let backlog = (new_vegas.window().cwnd as f64 / MSS as f64 - pipe).max(0.0);
                if new_vegas.vegas.every_other_round() {
                    new_vegas.converge(backlog.round());
                }
                for _ in 0..cwnd(&new_vegas) {
                    new_vegas.grow(&ack(MSS));
                }
                rounds += 1;
                assert!(rounds < 60, "{pipe}");
            }
            let backlog = new_vegas.window().cwnd as f64 / MSS as f64 - pipe;
            assert!((0.0..=4.0).contains(&backlog), "{pipe}: {backlog}");
        }
    }

    #[test]
    fn a_loss_and_a_timeout_end_the_convergence() {
        let loss = Loss { now: Time::ZERO, flight: 0, repeated: false };
        let mut lost = new_vegas(100);
        lost.converge(3.0);
        lost.on_loss(&loss);
        assert_eq!((cwnd(&lost), lost.share), (75, None));
        let mut timed_out = new_vegas(100);
        timed_out.converge(3.0);
        timed_out.on_timeout(&loss);
        assert_eq!((cwnd(&timed_out), timed_out.share), (2, None));
    }
}
