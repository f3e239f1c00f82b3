//! A comparison, and the places where the two disagree.

use congestion::{Controller as _, Specification};

use super::{LARGEST_WINDOW, MSS, Replay};
use crate::connection::Library;
use crate::events::Event;

/// Which controllers are compared, and how.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The controller of `crates/congestion`.
    pub definition: Specification,
    /// Where the one in C comes from.
    pub library: Library,
    /// Its name there.
    pub name: String,
    /// Its parameters, in the order of its map.
    pub parameters: Vec<u64>,
    /// The definition takes an ACK across ssthresh as one, and not in two parts.
    pub whole: bool,
    /// ssthresh means the same in both.
    pub thresholds: bool,
    /// The connection is one of the kernel's TCP: a handshake measures a round-trip time before the
    /// controllers begin, a loss reduces cwnd and not the flight size, and before a pause all that
    /// was sent is acknowledged.
    pub as_kernel: bool,
    /// Segments beyond which windows are not compared.
    pub largest: u64,
    /// Segments by which windows may differ.
    pub bound: u64,
    /// The same from the first undo on: the kernel restores whole segments, and what the definition
    /// knows of parts of one may be lost.
    pub bound_after_undo: u64,
    /// The definition gets hints as the clock of LeoCC's module gives them, on paced paths.
    pub clock: bool,
}

/// Where the two disagree.
#[derive(Clone, Copy, Debug)]
pub struct Disagreement {
    /// `cwnd`, `ssthresh` or `pacing rate`.
    pub what: &'static str,
    /// Its value by definition, in segments; a rate in bytes per second.
    pub defined: f64,
    /// Its value in C, in the same unit.
    pub in_c: u32,
    /// Number of the event after which they differ.
    pub index: usize,
    /// The event.
    pub event: Event,
    /// Bytes decided whether a phase of A-LIAD was over.
    pub bytes_at_a_goal: bool,
}

impl std::fmt::Display for Disagreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, defined, in_c, index, event, .. } = self;
        write!(f, "{what} {defined:.2}, in C {in_c}, at event {index}, {event}")
    }
}

/// Agreement over one sequence.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Comparisons of windows.
    pub steps: u64,
    /// Of those, the ones with the same number of whole segments.
    pub same: u64,
    /// Largest difference in segments, with parts of segments where both know them.
    pub difference: f64,
    /// The first that was too large. What follows it was not replayed.
    pub disagreement: Option<Disagreement>,
}

impl Replay<'_> {
    /// Both in whole segments, as the kernel has them.
    pub(super) fn compare(&mut self) {
        let defined = self.definition.window().cwnd;
        let kernel = self.kernel.cwnd();
        self.note_bytes_at_a_goal();
        self.judge("cwnd", defined, kernel);
        self.journal.cwnd(kernel);
        self.outcome.steps += 1;
        self.outcome.same += u64::from(u64::from(kernel) == defined / MSS);
        let exactly = (self.kernel.exact_cwnd() - defined as f64 / MSS as f64).abs();
        self.outcome.difference = self.outcome.difference.max(exactly);
    }

    /// A phase of A-LIAD ends when the window comes within a segment of its goal, and freezes the
    /// window of that ACK for the round trip. alpha is a fixed-point number in C: where the windows
    /// differ by a byte or two and only one of them is within that segment, the next phase begins
    /// an ACK later in the other, and what follows differs by what an ACK adds.
    fn note_bytes_at_a_goal(&mut self) {
        let defined = self.definition.window().cwnd;
        let kernel = (self.kernel.exact_cwnd() * MSS as f64).round() as u64;
        let reached = |goal: u64, window: u64| goal.saturating_sub(window) < MSS;
        let goals = [self.w_max, self.definition.window().ssthresh];
        let parted = goals.iter().any(|goal| reached(*goal, defined) != reached(*goal, kernel));
        self.bytes_at_a_goal |= parted && defined.abs_diff(kernel) <= 2;
    }

    pub(super) fn compare_thresholds(&mut self) {
        if self.comparison.thresholds {
            let kernel = self.kernel.ssthresh();
            self.judge("ssthresh", self.definition.window().ssthresh, kernel);
            self.journal.ssthresh(kernel);
        }
    }

    fn judge(&mut self, what: &'static str, defined: u64, kernel: u32) {
        let infinite = LARGEST_WINDOW * MSS;
        if defined > infinite && u64::from(kernel) > LARGEST_WINDOW / 2 {
            return;
        }
        let Comparison { bound, bound_after_undo, .. } = *self.comparison;
        let bound = if self.undone { bound_after_undo } else { bound };
        if u64::from(kernel).abs_diff(defined / MSS) > bound {
            let (index, event) = self.position;
            self.outcome.disagreement.get_or_insert(Disagreement {
                what,
                defined: defined as f64 / MSS as f64,
                in_c: kernel,
                index,
                event,
                bytes_at_a_goal: self.bytes_at_a_goal,
            });
        }
    }
}
