//! Hints that the path of a flow changes.

use congestion::{DetectionRule, Detector};
use units::Span;

/// Hints to the sender of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathHints {
    /// The times of changes, and what else depends on the source.
    pub source: HintSource,
    /// Time from the first hint about a change to the time at which the source takes it to be.
    pub lead: Span,
    /// How much later than the change the source takes it to be.
    pub late: Span,
    /// How much earlier than the change the source takes it to be.
    pub early: Span,
    /// Bound of the random error of each time, in both directions.
    pub error: Span,
    /// Share of the changes about which there is no hint.
    pub missed: f64,
}

/// Source of the hints of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintSource {
    /// Changes of the delay on the path.
    Schedule {
        /// The least step of the one-way delay of a link.
        threshold: Span,
    },
    /// A clock.
    Clock {
        /// The first change after the start of the run.
        first: Span,
        /// Time between two changes.
        period: Span,
    },
    /// The sender's own measurements.
    Detector {
        /// Its rule.
        detector: Detector,
        /// As of a schedule, for the changes that detections are compared with.
        threshold: Span,
    },
}

/// Keys that only some sources have.
const ANNOUNCED: &[&str] = &["lead", "late", "early", "error", "missed"];
const SCHEDULE: &[&str] = &["threshold"];
const CLOCK: &[&str] = &["period", "offset"];
const DETECTOR: &[&str] = &["rule", "settle", "threshold"];
const GAP: &[&str] = &["gap"];
const STEP: &[&str] = &["step", "window"];

impl HintSource {
    /// Returns true if hints of this source depend on a key of their table.
    pub fn takes(&self, key: &str) -> bool {
        let own = match self {
            Self::Schedule { .. } => [ANNOUNCED, SCHEDULE],
            Self::Clock { .. } => [ANNOUNCED, CLOCK],
            Self::Detector { detector, .. } => match detector.rule {
                DetectionRule::Gap { .. } => [DETECTOR, GAP],
                DetectionRule::Step { .. } => [DETECTOR, STEP],
            },
        };
        key == "source" || own.into_iter().flatten().any(|one| *one == key)
    }
}
