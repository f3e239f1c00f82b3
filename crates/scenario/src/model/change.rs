//! Links that change while a run goes on.

use units::{Rate, Span, Time};

use super::Direction;

/// What becomes different in one direction of a link; `None` stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// From when on.
    pub at: Span,
    /// It happens again so long after each time; `None` happens once.
    pub every: Option<Span>,
    /// Serialisation rate.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Option<Span>,
    /// No transmission starts for so long.
    pub outage: Option<Span>,
}

impl Change {
    /// How often it happens before `duration` is over.
    pub fn times(&self, duration: Span) -> u64 {
        let left = duration.saturating_sub(self.at).as_nanos();
        match self.every {
            _ if left == 0 => 0,
            Some(every) => left.div_ceil(every.as_nanos()),
            None => 1,
        }
    }
}

impl Direction {
    /// All that changes before `duration` is over, in the order of time, and at one instant in that of
    /// the file.
    pub fn timeline(&self, duration: Span) -> Vec<(Time, &Change)> {
        let times = |change: &Change| {
            let (at, every) = (Time::ZERO + change.at, change.every.unwrap_or(Span::ZERO));
            (0..change.times(duration)).map(move |n| at + every * n)
        };
        let each = |change| times(change).map(move |at| (at, change));
        let mut all: Vec<_> = self.changes.iter().flat_map(each).collect();
        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// The shortest propagation delay that it may have.
    pub fn least_delay(&self) -> Span {
        let changed = self.changes.iter().filter_map(|change| change.delay);
        changed.fold(self.delay, Span::min)
    }
}
