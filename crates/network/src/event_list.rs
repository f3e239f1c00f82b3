//! The event list: ports with packets in flight, in the order of their next arrivals.
//!
//! It is a sorted list, not a tree. A port moves back by only one or two places, because ports take
//! turns. The branch is predicted well, so that the processor starts the next event while this one
//! is still running. A tree has fewer steps, but each depends on the previous one. If times are
//! equal, the port with the lower number is first.

use crate::schedule::parts;

/// The next arrivals of all ports that carry anything but one: the earliest, which the caller has.
#[derive(Clone, Debug)]
pub(crate) struct EventList {
    /// Their keys, the earliest last.
    others: Vec<u128>,
}

/// The key of no arrival.
pub(crate) const NOTHING: u128 = u128::MAX;

impl EventList {
    pub(crate) fn new() -> Self {
        Self { others: Vec::new() }
    }

    /// Adds `new`. Returns the earlier of it and `earliest`.
    #[inline]
    pub(crate) fn insert(&mut self, earliest: u128, new: u128) -> u128 {
        if new > earliest {
            self.others.push(new);
            self.settle(new);
            return earliest;
        }
        self.insert_first(earliest, new)
    }

    /// The same where `new` is earlier.
    #[inline]
    pub(crate) fn insert_first(&mut self, earliest: u128, new: u128) -> u128 {
        // Where nothing was, nothing joins the others.
        if earliest != NOTHING {
            self.others.push(earliest);
        }
        new
    }

    /// Takes out the earliest.
    #[inline]
    pub(crate) fn take(&mut self) -> u128 {
        self.others.pop().unwrap_or(NOTHING)
    }

    /// Adds `new` and takes out the earliest.
    #[inline]
    pub(crate) fn exchange(&mut self, new: u128) -> u128 {
        match self.others.last() {
            Some(&earliest) if earliest < new => {
                self.settle(new);
                earliest
            }
            _ => new,
        }
    }

    /// Takes out the key of a port, if it is there.
    pub(crate) fn remove(&mut self, port: usize) {
        self.others.retain(|other| parts(*other).1 != port as u64);
    }

    /// Puts `key` in its place; the last of the others is to be overwritten.
    #[inline]
    fn settle(&mut self, key: u128) {
        let mut free = self.others.len() - 1;
        while free > 0 && self.others[free - 1] < key {
            self.others[free] = self.others[free - 1];
            free -= 1;
        }
        self.others[free] = key;
    }
}
