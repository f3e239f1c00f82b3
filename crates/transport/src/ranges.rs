//! A set of disjoint ranges of sequence numbers: selectively acknowledged data at the sender, and
//! out-of-order data at the receiver.
//!
//! Ranges are sorted and do not touch. Data is mostly added at the upper end and removed at the
//! lower end, which is O(1) with a deque. Other changes cost a binary search over the gaps, not
//! over the window.

use std::collections::VecDeque;

/// Sequence numbers from `start` up to and not including `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First number.
    pub start: u64,
    /// Number after the last.
    pub end: u64,
}

impl Range {
    /// Length of the range.
    #[allow(clippy::len_without_is_empty, reason = "no range of a set is empty")]
    pub fn len(self) -> u64 {
        self.end - self.start
    }
}

/// Numbers added by an insertion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Numbers that were not in the set before.
    pub total: u64,
    /// The part of them below the given boundary.
    pub below: u64,
}

/// Ranges from the upper end that a search looks at one by one.
const NEAR_END: usize = 4;

/// Sorted, disjoint, not touching ranges.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: VecDeque<Range>,
    total: u64,
}

impl RangeSet {
    /// Returns true if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Total length of the ranges.
    #[inline]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The lowest range.
    pub fn first(&self) -> Option<Range> {
        self.ranges.front().copied()
    }

    /// The ranges from the lowest to the highest.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range> {
        self.ranges.iter().copied()
    }

    /// The number after the highest in the set.
    pub fn end(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.end)
    }

    /// The range that contains `number`, or else the lowest one above it. Most searches are below
    /// the first range or above the last one.
    #[inline]
    pub fn at_or_above(&self, number: u64) -> Option<Range> {
        let first = *self.ranges.front()?;
        if first.end > number {
            return Some(first);
        }
        self.above_first(number)
    }

    #[inline(never)]
    fn above_first(&self, number: u64) -> Option<Range> {
        let place = self.up_to(number);
        self.ranges.get(place).copied()
    }

    /// The number of ranges that end at `number` or below. The blocks of an ACK are mostly among
    /// the last ones.
    #[inline]
    fn up_to(&self, number: u64) -> usize {
        let mut place = self.ranges.len();
        for _ in 0..NEAR_END {
            if place == 0 || self.ranges[place - 1].end <= number {
                return place;
            }
            place -= 1;
        }
        self.ranges.partition_point(|range| range.end <= number)
    }

    /// Returns true if all of `start..end`, which is not empty, is in the set. The blocks of an ACK
    /// are mostly among the last ranges.
    #[inline]
    pub fn contains(&self, start: u64, end: u64) -> bool {
        for range in self.ranges.iter().rev().take(NEAR_END) {
            if range.start <= start {
                return end <= range.end;
            }
        }
        self.ranges.len() > NEAR_END
            && self.above_first(start).is_some_and(|range| range.start <= start && end <= range.end)
    }

    /// Adds `start..end` and returns the new part of it, in total and below `boundary`.
    pub fn insert(&mut self, start: u64, end: u64, boundary: u64) -> Added {
        if start >= end {
            return Added::default();
        }
        // In order of arrival most data is above all other, or continues the last range.
        if let Some(last) = self.ranges.back_mut()
            && start >= last.start
        {
            let mut added = Added::default();
            if start > last.end {
                added.count(start, end, boundary);
                self.ranges.push_back(Range { start, end });
            } else {
                added.count(last.end, end, boundary);
                last.end = last.end.max(end);
            }
            self.total += added.total;
            return added;
        }
        let first = self.first_ending_at_or_above(start);
        let mut merged = Range { start, end };
        let mut added = Added::default();
        let mut covered_to = start;
        let mut last = first;
        while let Some(&old) = self.ranges.get(last) {
            if old.start > end {
                break;
            }
            added.count(covered_to, old.start, boundary);
            covered_to = covered_to.max(old.end);
            merged.start = merged.start.min(old.start);
            merged.end = merged.end.max(old.end);
            last += 1;
        }
        added.count(covered_to, end, boundary);
        self.total += added.total;
        self.replace(first, last, merged);
        added
    }

    /// Removes everything below `number` and returns its length.
    pub fn remove_below(&mut self, number: u64) -> u64 {
        let before = self.total;
        while let Some(range) = self.ranges.front_mut() {
            if range.end <= number {
                self.total -= range.len();
                self.ranges.pop_front();
            } else {
                if range.start < number {
                    self.total -= number - range.start;
                    range.start = number;
                }
                break;
            }
        }
        before - self.total
    }

    fn replace(&mut self, first: usize, last: usize, merged: Range) {
        if first == last {
            self.ranges.insert(first, merged);
            return;
        }
        self.ranges[first] = merged;
        if last > first + 1 {
            self.ranges.drain(first + 1..last);
        }
    }

    fn first_ending_at_or_above(&self, number: u64) -> usize {
        number.checked_sub(1).map_or(0, |below| self.up_to(below))
    }
}

impl Added {
    fn count(&mut self, from: u64, to: u64, boundary: u64) {
        self.total += to.saturating_sub(from);
        self.below += to.min(boundary).saturating_sub(from);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_set_holds_what_a_plain_set_of_numbers_holds(
            inserts in prop::collection::vec((0u64..200, 0u64..20, 0u64..220), 1..60),
            cut in 0u64..220,
        ) {
            let mut set = RangeSet::default();
            let mut plain = BTreeSet::new();
            for (start, length, boundary) in inserts {
                let new: Vec<_> =
                    (start..start + length).filter(|number| plain.insert(*number)).collect();
                let added = set.insert(start, start + length, boundary);
                prop_assert_eq!(added.total, new.len() as u64);
                prop_assert_eq!(added.below, new.iter().filter(|n| **n < boundary).count() as u64);
            }
            for start in 0..220 {
                let above = plain.range(start..).next().copied();
                prop_assert_eq!(set.at_or_above(start).map(|range| range.start.max(start)), above);
                let all = (start..start + 3).all(|number| plain.contains(&number));
                prop_assert_eq!(set.contains(start, start + 3), all);
            }
            let removed = set.remove_below(cut);
            let kept: BTreeSet<_> = plain.range(cut..).copied().collect();
            prop_assert_eq!(removed, (plain.len() - kept.len()) as u64);
            prop_assert_eq!(set.total(), kept.len() as u64);
            let held: BTreeSet<_> = set.iter().flat_map(|range| range.start..range.end).collect();
            prop_assert_eq!(held, kept);
            let apart = set.iter().zip(set.iter().skip(1)).all(|(a, b)| a.end < b.start);
            prop_assert!(apart, "ranges touch: {:?}", set);
        }
    }

    #[test]
    fn the_range_at_or_above_a_number_is_found() {
        let mut set = RangeSet::default();
        set.insert(10, 20, 0);
        set.insert(30, 40, 0);
        assert_eq!(set.at_or_above(5), Some(Range { start: 10, end: 20 }));
        assert_eq!(set.at_or_above(15), Some(Range { start: 10, end: 20 }));
        assert_eq!(set.at_or_above(20), Some(Range { start: 30, end: 40 }));
        assert_eq!(set.at_or_above(40), None);
    }
}
