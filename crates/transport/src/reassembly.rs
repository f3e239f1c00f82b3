//! Reassembly: data that arrived out of order, and its ranges to report.

use crate::ranges::{Range, RangeSet};

/// Data that waits for a gap to be filled, of which `N` ranges at most are reported. Most receivers
/// have none, so it is made when needed.
#[derive(Clone, Debug)]
pub struct Reassembly<const N: usize> {
    waiting: RangeSet,
    /// Ranges of `waiting` for the SACK blocks of the next ACK, the one reported last first (RFC
    /// 2018 section 4). Their bounds are kept up to date, so that an ACK needs no search.
    recent: [Range; N],
    recent_count: usize,
}

impl<const N: usize> Default for Reassembly<N> {
    fn default() -> Self {
        Self {
            waiting: RangeSet::default(),
            recent: [Range { start: 0, end: 0 }; N],
            recent_count: 0,
        }
    }
}

impl<const N: usize> Reassembly<N> {
    /// `start..end` has arrived above a gap.
    pub fn insert(&mut self, start: u64, end: u64) {
        self.waiting.insert(start, end, 0);
        if let Some(range) = self.waiting.at_or_above(start) {
            self.forget_recent(|recent| range.start <= recent.start && recent.end <= range.end);
            self.recent.copy_within(..N - 1, 1);
            self.recent[0] = range;
            self.recent_count = (self.recent_count + 1).min(N);
        }
    }

    /// The first part of `start..end` that has arrived before, if any has.
    pub fn overlap(&self, start: u64, end: u64) -> Option<Range> {
        let range = self.waiting.at_or_above(start).filter(|range| range.start < end)?;
        Some(Range { start: range.start.max(start), end: range.end.min(end) })
    }

    /// The number behind the highest that waits.
    pub fn end(&self) -> Option<u64> {
        self.waiting.end()
    }

    /// Everything up to `next` has arrived in order. Returns how far the order reaches with what
    /// has waited.
    pub fn advance(&mut self, next: u64) -> u64 {
        let mut reached = next;
        // A segment may cover all of one range and touch the one behind it.
        while let Some(range) = self.waiting.first().filter(|range| range.start <= reached) {
            reached = reached.max(range.end);
            self.waiting.remove_below(reached);
        }
        self.forget_recent(|recent| recent.start < reached);
        if self.recent_count == 0
            && let Some(range) = self.waiting.first()
        {
            // What was reported last is gone, but not all that waits.
            self.recent[0] = range;
            self.recent_count = 1;
        }
        reached
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.waiting.total()
    }

    /// All that waits, in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = Range> {
        self.waiting.iter()
    }

    /// Returns true if no data waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The ranges to report: first the one that the latest segment went into, then those reported
    /// before (RFC 2018 section 4).
    pub fn reported(&self) -> &[Range] {
        &self.recent[..self.recent_count]
    }

    fn forget_recent(&mut self, forget: impl Fn(Range) -> bool) {
        let mut kept = 0;
        for i in 0..self.recent_count {
            if !forget(self.recent[i]) {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.recent_count = kept;
    }
}
