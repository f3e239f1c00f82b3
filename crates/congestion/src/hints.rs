//! Hints about the path of a connection, in the order of their times.
//!
//! A source of hints knows its times before a run: those of a scenario's changes, or of a clock.
//! They are passed on before the first event that is not earlier, so that no transport needs a
//! timer for them, and QUIC, which has no hints, carries them too. Between two events a controller
//! could change nothing.

use std::sync::Arc;

use units::Time;

use crate::any::AnyController;
use crate::controller::Controller;
use crate::events::PathChange;
use crate::parts::around::{Around, Hook};

/// The hints of a sender during a run, in the order of their times. Copies share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathHints(Arc<[PathChange]>);

impl PathHints {
    /// All of them.
    pub fn changes(&self) -> &[PathChange] {
        &self.0
    }
}

impl FromIterator<PathChange> for PathHints {
    /// Changes at the same time are passed on in the order of the iterator.
    fn from_iter<I: IntoIterator<Item = PathChange>>(changes: I) -> Self {
        let mut changes: Vec<_> = changes.into_iter().collect();
        changes.sort_by_key(|change| change.now);
        Self(changes.into())
    }
}

/// A controller that gets hints.
#[derive(Clone, Debug)]
pub(crate) struct Hinted {
    hints: PathHints,
    /// The number of the next; `None` before the first event.
    next: Option<usize>,
}

impl Hinted {
    pub(crate) fn around(controller: AnyController, hints: PathHints) -> AnyController {
        AnyController::External(Box::new(Around::new(controller, Self { hints, next: None })))
    }
}

impl Hook for Hinted {
    fn before(&mut self, inner: &mut AnyController, now: Time) {
        let hints = self.hints.changes();
        let next =
            self.next.get_or_insert_with(|| hints.partition_point(|change| change.now < now));
        while let Some(change) = hints.get(*next).filter(|change| change.now <= now) {
            *next += 1;
            inner.on_path_change(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::events::{Needs, PathChangeKind, samples};
    use crate::tcp_policy::TcpPolicy;
    use crate::window::{Settings, Window};

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    /// Notes hints and ACKs in its window: a hint as its phase in tens, an ACK adds one.
    #[derive(Debug)]
    struct Notes(Window);

    impl Controller for Notes {
        fn window(&self) -> &Window {
            &self.0
        }
        fn window_mut(&mut self) -> &mut Window {
            &mut self.0
        }
        fn needs(&self) -> Needs {
            Needs { path_changes: true, ..Needs::default() }
        }
        fn on_path_change(&mut self, change: &PathChange) {
            self.0.cwnd = 100 * self.0.cwnd + 10 * change.phase;
        }
        fn on_ack(&mut self, _ack: &crate::Ack) {
            self.0.cwnd += 1;
        }
    }

    impl TcpPolicy for Notes {}

    fn hinted() -> AnyController {
        let settings =
            Settings { mss: 1, initial_window: 0, initial_ssthresh: 0, byte_counting: 1 };
        let change = |milliseconds, phase| PathChange {
            now: at(milliseconds),
            kind: PathChangeKind::Coming,
            at: at(milliseconds),
            phase,
        };
        let hints = [change(300, 3), change(100, 1), change(200, 2)].into_iter().collect();
        let notes = AnyController::External(Box::new(Notes(Window::new(&settings))));
        Hinted::around(notes, hints)
    }

    fn ack(controller: &mut AnyController, milliseconds: u64) -> u64 {
        controller.on_ack(&crate::Ack { now: at(milliseconds), ..samples::ack(1) });
        controller.window().cwnd
    }

    #[test]
    fn hints_come_before_the_first_event_that_is_not_earlier() {
        let mut controller = hinted();
        assert_eq!(ack(&mut controller, 50), 1);
        assert_eq!(ack(&mut controller, 99), 2);
        assert_eq!(ack(&mut controller, 100), 211, "phase 1, then the ACK");
        assert_eq!(ack(&mut controller, 400), 2_112_031, "phases 2 and 3");
        assert_eq!(ack(&mut controller, 500), 2_112_032);
    }

    #[test]
    fn a_connection_that_begins_later_gets_only_hints_from_then_on() {
        let mut controller = hinted();
        assert_eq!(ack(&mut controller, 250), 1);
        assert_eq!(ack(&mut controller, 300), 131);
    }
}
