//! The schedule of the engine: a 4-ary min-heap over (time, tag).
//!
//! Implicit d-ary heaps are hard to beat while the schedule is small, and it is: one entry per
//! link and per armed timer. Four children share a cache line. Ties are broken by the tag and not
//! by the order of insertion, so that the order of events does not depend on who scheduled first.

use units::Time;

/// A min-heap of (time, tag).
#[derive(Clone, Debug)]
pub struct Schedule {
    keys: Vec<u128>,
    /// The time of the earliest entry, which is asked for more often than it changes.
    next_time: Time,
}

const ARITY: usize = 4;

/// Both as one number, in the order of time and then of tags.
pub(crate) fn key(at: Time, tag: u64) -> u128 {
    u128::from(at.as_nanos()) << 64 | u128::from(tag)
}

/// The time and the tag of a key.
#[expect(clippy::cast_possible_truncation, reason = "the upper and the lower half")]
pub(crate) fn parts(key: u128) -> (Time, u64) {
    (Time::from_nanos((key >> 64) as u64), key as u64)
}

impl Default for Schedule {
    fn default() -> Self {
        Self { keys: Vec::new(), next_time: Time::NEVER }
    }
}

impl Schedule {
    /// An empty schedule.
    pub fn new() -> Self {
        Self::default()
    }

    /// The earliest entry.
    #[inline]
    pub fn peek(&self) -> Option<(Time, u64)> {
        self.keys.first().copied().map(parts)
    }

    /// The time of the earliest entry, or never.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next_time
    }

    /// Adds an entry.
    pub fn push(&mut self, at: Time, tag: u64) {
        self.keys.push(key(at, tag));
        self.sift_up(self.keys.len() - 1);
        self.note_next();
    }

    /// Removes the earliest entry.
    pub fn pop(&mut self) -> Option<(Time, u64)> {
        let top = *self.keys.first()?;
        let last = self.keys.pop()?;
        if let Some(root) = self.keys.first_mut() {
            *root = last;
            self.sift_down();
        }
        self.note_next();
        Some(parts(top))
    }

    /// Moves the earliest entry to a later time; cheaper than removing it and adding it again.
    #[inline]
    pub fn postpone_top(&mut self, at: Time) {
        if let Some(root) = self.keys.first_mut() {
            let (_, tag) = parts(*root);
            *root = key(at, tag);
            self.sift_down();
            self.note_next();
        }
    }

    fn note_next(&mut self) {
        self.next_time = self.peek().map_or(Time::NEVER, |(at, _)| at);
    }

    fn sift_up(&mut self, mut child: usize) {
        while child > 0 {
            let parent = (child - 1) / ARITY;
            if self.keys[parent] <= self.keys[child] {
                break;
            }
            self.keys.swap(parent, child);
            child = parent;
        }
    }

    #[inline]
    fn sift_down(&mut self) {
        let mut parent = 0;
        let moving = self.keys[0];
        loop {
            let first = parent * ARITY + 1;
            let last = (first + ARITY).min(self.keys.len());
            if first >= last {
                break;
            }
            let mut least = first;
            for child in first + 1..last {
                if self.keys[child] < self.keys[least] {
                    least = child;
                }
            }
            if moving <= self.keys[least] {
                break;
            }
            self.keys[parent] = self.keys[least];
            parent = least;
        }
        self.keys[parent] = moving;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Operation {
        Push(u64),
        Pop,
        Postpone(u64),
    }

    fn operations() -> impl Strategy<Value = Vec<Operation>> {
        let operation = prop_oneof![
            2 => (0u64..1000).prop_map(Operation::Push),
            1 => Just(Operation::Pop),
            2 => (0u64..1000).prop_map(Operation::Postpone),
        ];
        prop::collection::vec(operation, 1..200)
    }

    proptest! {
        #[test]
        fn the_schedule_gives_the_order_of_a_sorted_set(operations in operations()) {
            let mut schedule = Schedule::new();
            let mut twin = BTreeSet::new();
            for (tag, operation) in operations.into_iter().enumerate() {
                match operation {
                    Operation::Push(nanos) => {
                        schedule.push(Time::from_nanos(nanos), tag as u64);
                        twin.insert((Time::from_nanos(nanos), tag as u64));
                    }
                    Operation::Pop => prop_assert_eq!(schedule.pop(), twin.pop_first()),
                    Operation::Postpone(nanos) => {
                        if let Some((at, tag)) = twin.pop_first() {
                            let later = at + units::Span::from_nanos(nanos);
                            twin.insert((later, tag));
                            schedule.postpone_top(later);
                        }
                    }
                }
                prop_assert_eq!(schedule.peek(), twin.first().copied());
                let next = twin.first().map_or(Time::NEVER, |(at, _)| *at);
                prop_assert_eq!(schedule.next_time(), next);
            }
        }
    }
}
