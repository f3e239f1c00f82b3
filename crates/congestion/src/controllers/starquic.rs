//! StarQUIC: a controller that ignores losses of packets that were sent near a hand-over between
//! satellites.
//!
//! Source: V. Kamel and others, "StarQUIC", LEO-NET 2024; the rules are those of the repository
//! HeroHFM/picoquic_leo (`picoquic/cubic.c`, `bbr.c`, `sat_utils.c`), restated. The paper was not
//! read. A packet is near a hand-over if it was sent at most `margin` before or after it.
//!
//! - CUBIC gets no notification of such a loss: neither a reduction nor a timeout follows from it.
//! - BBRv3 skips the update of its model by an ACK that shows such a loss, and does not see the
//!   loss.
//!
//! In the public code the send time of the lost packet is read and never written, so that its value
//! is zero. The test then compares second 0 of the minute, which is near no hand-over, and nothing
//! is ever ignored. This controller has the send time.
//!
//! Decisions:
//! - picoquic compares seconds 12, 27, 42 and 57 of the minute (UTC). Here hints say when a change
//!   is: those of a clock have these seconds by default (`path_hints.source = "clock"`).
//! - TCP begins a recovery with a loss, and QUIC does not. A recovery whose losses were all sent
//!   near a hand-over leaves the window as it is. With the first other loss in it the reduction
//!   follows, by the flight size of its start.
//! - A timeout is ignored if the first segment that is not acknowledged was last sent near a
//!   hand-over. Then TCP sends all again with the window that it has.
//! - Marks of congestion are not ignored: they have no lost packet.
//! - Samples of the delivery rate count all losses, also those that the wrapper hides from BBRv3.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::any::AnyController;
use crate::controller::Controller as _;
use crate::controllers::bbr3::Bbr3;
use crate::controllers::cubic::Cubic;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Feedback, Loss, LostSegment, Needs, PathChange};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::around::{Around, Hook};
use crate::standard;
use crate::window::{Settings, Window};

/// Changes that are remembered: those of the longest time between sending and a loss.
const REMEMBERED: usize = 16;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "base",
        default: "cubic",
        allowed: Allowed::OneOf(&["cubic", "bbr3"]),
        meaning: "The controller that does not see the losses, with its default parameters",
    },
    Parameter {
        name: "margin",
        default: "0.1",
        allowed: Allowed::Range(0.0, 60.0),
        meaning: "Seconds before and after a change of the path in which a packet must have been \
                  sent, so that its loss is ignored",
    },
];

/// The losses of one ACK, or of a timeout.
#[derive(Clone, Copy, Debug)]
struct Losses {
    now: Time,
    /// All were sent near a change.
    all_near: bool,
}

/// A recovery that leaves the window as it is.
#[derive(Clone, Copy, Debug)]
struct Spared {
    window: Window,
    loss: Loss,
}

/// Losses near hand-overs.
#[derive(Debug)]
pub struct NearChanges {
    margin: Span,
    /// BBRv3 is the base, which answers no loss by itself.
    is_model: bool,
    /// When the path changes, as far as hints say.
    changes: VecDeque<Time>,
    losses: Option<Losses>,
    /// Time of an ACK that shows a loss near a change.
    skipped: Option<Time>,
    /// When the first segment was last sent that is not acknowledged.
    head_sent: Option<Time>,
    spared: Option<Spared>,
    /// The last loss was ignored.
    was_spared: bool,
}

/// StarQUIC.
pub type Starquic = Around<NearChanges>;

impl NearChanges {
    fn is_near(&self, sent_at: Time) -> bool {
        let distance = |change: &Time| sent_at.max(*change).since(sent_at.min(*change));
        self.changes.iter().any(|change| distance(change) <= self.margin)
    }

    /// Returns true if what is found to be lost at this time was sent near a change.
    fn ignores(&self, now: Time) -> bool {
        match self.losses {
            Some(Losses { now: at, all_near }) if at == now => all_near,
            _ => self.head_sent.is_some_and(|sent_at| self.is_near(sent_at)),
        }
    }

    /// The window has again the values from before a recovery that was ignored.
    fn restore(&mut self, inner: &mut AnyController) -> Option<Spared> {
        let spared = self.spared.take()?;
        let window = inner.window_mut();
        window.cwnd = spared.window.cwnd;
        window.ssthresh = spared.window.ssthresh;
        Some(spared)
    }

    fn note(&mut self, lost: &LostSegment, is_near: bool) {
        let same = self.losses.filter(|losses| losses.now == lost.now);
        let all_near = is_near && same.is_none_or(|losses| losses.all_near);
        self.losses = Some(Losses { now: lost.now, all_near });
    }
}

impl Hook for NearChanges {
    fn needs(&self, inner: Needs) -> Needs {
        inner.or(Needs { feedback: true, records: true, path_changes: true, ..Needs::default() })
    }

    fn on_path_change(&mut self, _inner: &mut AnyController, change: &PathChange) {
        if !self.changes.contains(&change.at) {
            self.changes.push_back(change.at);
            if self.changes.len() > REMEMBERED {
                self.changes.pop_front();
            }
        }
    }

    fn on_segment_lost(&mut self, inner: &mut AnyController, lost: &LostSegment) {
        let is_near = self.is_near(lost.sent_at);
        self.note(lost, is_near);
        if self.is_model {
            if is_near {
                self.skipped = Some(lost.now);
            } else {
                inner.on_segment_lost(lost);
            }
            return;
        }
        inner.on_segment_lost(lost);
        if !is_near && let Some(spared) = self.restore(inner) {
            self.was_spared = false;
            inner.on_loss(&Loss { now: lost.now, ..spared.loss });
        }
    }

    fn on_feedback(&mut self, inner: &mut AnyController, feedback: &Feedback) {
        self.head_sent = feedback.head_sent;
        if self.skipped != Some(feedback.now) {
            inner.on_feedback(feedback);
        }
    }

    fn on_loss(&mut self, inner: &mut AnyController, loss: &Loss) {
        self.was_spared = !self.is_model && self.ignores(loss.now);
        if !self.was_spared {
            self.spared = None;
            inner.on_loss(loss);
            return;
        }
        let window = inner.window_mut();
        self.spared = Some(Spared { window: *window, loss: *loss });
        // Recovery sends as much as the window before it allows.
        window.ssthresh = window.cwnd;
    }

    fn on_recovery_exit(&mut self, inner: &mut AnyController, now: Time) {
        if self.restore(inner).is_none() {
            inner.on_recovery_exit(now);
        }
    }

    fn on_timeout(&mut self, inner: &mut AnyController, loss: &Loss) {
        self.restore(inner);
        self.was_spared = !self.is_model && !loss.repeated && self.ignores(loss.now);
        if !self.was_spared {
            inner.on_timeout(loss);
        }
    }

    fn on_spurious_loss(&mut self, inner: &mut AnyController, cwnd: u64, ssthresh: u64) {
        if self.was_spared {
            standard::on_spurious_loss(inner, cwnd, ssthresh);
        } else {
            inner.on_spurious_loss(cwnd, ssthresh);
        }
    }
}

impl Listed for Starquic {
    const LISTED: &'static [Entry] = &[Entry {
        name: "starquic",
        summary: "CUBIC or BBRv3 that ignores losses of packets sent near a hand-over, by hints",
        source: "Kamel et al., StarQUIC, 2024",
        status: Status::Implementation("HeroHFM/picoquic_leo 774c78e, picoquic"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let is_model = values.word("base") == "bbr3";
        let inner = if is_model {
            let defaults = Values::defaults(Bbr3::LISTED[0].parameters);
            AnyController::Bbr3(Box::new(Bbr3::build(settings, &defaults)))
        } else {
            let defaults = Values::defaults(Cubic::LISTED[0].parameters);
            AnyController::Cubic(Box::new(Cubic::build(settings, &defaults)))
        };
        let hook = NearChanges {
            margin: Span::from_secs_f64(values.number("margin")),
            is_model,
            changes: VecDeque::new(),
            losses: None,
            skipped: None,
            head_sent: None,
            spared: None,
            was_spared: false,
        };
        Around::new(inner, hook)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::events::PathChangeKind;
    use crate::parameters::Value;
    use crate::parts::test_path::{TestPath, settings};

    const MSS: u64 = 1000;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    fn starquic(base: &str) -> Starquic {
        let mut values = Values::defaults(PARAMETERS);
        values.set("starquic", "base", Value::Word(base.to_owned())).unwrap();
        Starquic::build(&settings(), &values)
    }

    /// With a window of 100 segments, and a change at 12 s.
    fn hinted() -> Starquic {
        let mut starquic = starquic("cubic");
        starquic.window_mut().cwnd = 100 * MSS;
        let (kind, phase) = (PathChangeKind::Coming, 1);
        starquic.on_path_change(&PathChange { now: at(11_900), kind, at: at(12_000), phase });
        starquic
    }

    /// A loss at 12.2 s of segments that were sent at these times.
    fn lose(starquic: &mut Starquic, sent: &[u64]) {
        for milliseconds in sent {
            starquic.on_segment_lost(&LostSegment {
                now: at(12_200),
                sent_at: at(*milliseconds),
                bytes: MSS,
                in_flight_when_sent: 100 * MSS,
                lost_since_sent: MSS,
                app_limited: false,
            });
        }
        starquic.on_loss(&Loss { now: at(12_200), flight: 100 * MSS, repeated: false });
    }

    fn cwnd(starquic: &Starquic) -> u64 {
        starquic.window().cwnd / MSS
    }

    #[test]
    fn losses_of_what_was_sent_near_a_change_leave_the_window_alone() {
        for (sent, left) in [
            (&[11_900, 12_000, 12_100][..], 100),
            (&[11_899], 70),
            (&[12_101], 70),
            (&[12_000, 12_101], 70),
            (&[12_101, 12_000], 70),
        ] {
            let mut starquic = hinted();
            let before = *starquic.window();
            lose(&mut starquic, sent);
            starquic.on_recovery_exit(at(12_300));
            assert_eq!(cwnd(&starquic), left, "{sent:?}");
            if left == 100 {
                assert_eq!(starquic.window().ssthresh, before.ssthresh);
            }
        }
    }

    #[test]
    fn another_loss_in_a_recovery_that_was_ignored_reduces_the_window() {
        let mut starquic = hinted();
        lose(&mut starquic, &[12_000]);
        assert_eq!(cwnd(&starquic), 100);
        assert_eq!(starquic.window().ssthresh, 100 * MSS, "as far as recovery reduces the window");
        starquic.on_segment_lost(&LostSegment {
            now: at(12_250),
            sent_at: at(12_150),
            bytes: MSS,
            in_flight_when_sent: 100 * MSS,
            lost_since_sent: MSS,
            app_limited: false,
        });
        assert_eq!(cwnd(&starquic), 70);
        starquic.on_recovery_exit(at(12_300));
        assert_eq!(cwnd(&starquic), 70);
    }

    #[test]
    fn a_timeout_of_what_was_sent_near_a_change_is_ignored_once() {
        let mut starquic = hinted();
        starquic.hook_mut().head_sent = Some(at(12_050));
        let loss = Loss { now: at(13_000), flight: 100 * MSS, repeated: false };
        starquic.on_timeout(&loss);
        assert_eq!(cwnd(&starquic), 100);
        starquic.on_timeout(&Loss { repeated: true, ..loss });
        assert_eq!(cwnd(&starquic), 1);
        let mut starquic = hinted();
        starquic.hook_mut().head_sent = Some(at(12_500));
        starquic.on_timeout(&loss);
        assert_eq!(cwnd(&starquic), 1);
    }

    /// A reduction that was made is undone by CUBIC, and one that was ignored is none.
    #[test]
    fn what_was_ignored_undoes_no_earlier_reduction() {
        let mut starquic = hinted();
        starquic.on_loss(&Loss { now: at(1000), flight: 100 * MSS, repeated: false });
        starquic.on_recovery_exit(at(1100));
        assert_eq!(cwnd(&starquic), 70);
        let before = *starquic.window();
        lose(&mut starquic, &[12_000]);
        starquic.on_recovery_exit(at(12_300));
        starquic.on_spurious_loss(before.cwnd, before.ssthresh);
        assert_eq!((cwnd(&starquic), starquic.window().ssthresh), (70, before.ssthresh));
    }

    /// One segment in 20 is lost for a second around 12 s: beyond the loss threshold of BBRv3.
    #[test]
    fn the_model_of_bbr3_does_not_see_losses_near_a_change() {
        let bandwidth = |hinted: bool| {
            let mut path = TestPath::new(starquic("bbr3"), 1e6, Span::from_millis(50));
            path.run(at(11_900).since(path.now), |_| ());
            if hinted {
                let (kind, phase) = (PathChangeKind::Coming, 1);
                let change = PathChange { now: at(11_900), kind, at: at(12_000), phase };
                path.controller.on_path_change(&change);
            }
            path.loses = |number| number % 7 == 0;
            path.run(Span::from_millis(200), |_| ());
            path.loses = |_| false;
            path.run(Span::from_millis(60), |_| ());
            let window = path.controller.window().cwnd;
            window as f64 / path.bdp()
        };
        let (seen, ignored) = (bandwidth(false), bandwidth(true));
        assert!(ignored > 1.2 * seen, "{ignored} {seen}");
    }
}
