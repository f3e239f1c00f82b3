//! The far end of a direction, which receives corrupted packets and counts them.

use std::collections::VecDeque;

use units::{Span, Time};

/// Packets that do not arrive intact, or those of them that a trace has lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct FarEnd {
    /// Arrival times of those on their way.
    coming: VecDeque<Time>,
    /// When the last of them arrives.
    last: Time,
    /// Those that have arrived.
    pub(crate) packets: u64,
}

impl FarEnd {
    /// One will arrive at `at`, not before those that came earlier.
    #[inline(never)]
    pub(crate) fn expect(&mut self, now: Time, at: Time) -> Time {
        self.count_until(now);
        self.last = self.last.max(at);
        self.coming.push_back(self.last);
        self.last
    }

    /// Counts those that have arrived by `now`.
    pub(crate) fn count_until(&mut self, now: Time) {
        while self.coming.front().is_some_and(|at| *at <= now) {
            self.coming.pop_front();
            self.packets += 1;
        }
    }

    /// When the first of those on their way arrives that arrives at `from` or later;
    /// [`Time::NEVER`] if none does.
    pub(crate) fn next(&self, from: Time) -> Time {
        self.coming.iter().copied().find(|at| *at >= from).unwrap_or(Time::NEVER)
    }

    /// A packet was pushed out: the last `behind` of them arrive earlier, and if the packet
    /// itself was one of them, it does not.
    pub(crate) fn gain(&mut self, earlier: Span, behind: usize, without: bool) {
        let first = self.coming.len() - behind;
        self.coming.range_mut(first..).for_each(|at| *at = *at - earlier);
        if without {
            self.coming.remove(first - 1);
        }
        self.last = self.coming.back().copied().unwrap_or(Time::ZERO);
    }
}
