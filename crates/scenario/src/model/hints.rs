//! Hints that the path of a flow changes.

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
}

impl HintSource {
    /// Keys that only some sources have.
    const OWN: [&'static str; 3] = ["threshold", "period", "offset"];

    /// Returns true if hints of this source depend on a key of their table.
    pub fn takes(&self, key: &str) -> bool {
        let own: &[&str] = match self {
            Self::Schedule { .. } => &Self::OWN[..1],
            Self::Clock { .. } => &Self::OWN[1..],
        };
        own.contains(&key) || !Self::OWN.contains(&key)
    }
}
