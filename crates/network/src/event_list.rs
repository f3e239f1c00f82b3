//! The event list: ports with packets in flight, in the order of their next arrivals.
//!
//! It is a sorted list, not a tree. A port moves back by only one or two places, because ports take
//! turns. The branch is predicted well, so that the processor starts the next event while this one
//! is still running. A tree has fewer steps, but each depends on the previous one. If times are
//! equal, the port with the lower number is first.

use units::Time;

use crate::schedule::{key, parts};

/// The next arrival of each port that carries anything.
#[derive(Clone, Debug)]
pub struct EventList {
    earliest: u128,
    /// The keys of all others, the earliest last.
    others: Vec<u128>,
}

const NOTHING: u128 = u128::MAX;

impl EventList {
    /// No port carries anything.
    pub fn new() -> Self {
        Self { earliest: NOTHING, others: Vec::new() }
    }

    /// The earliest arrival and its port; never, if no port carries anything.
    #[inline]
    pub fn earliest(&self) -> (Time, u32) {
        let (at, port) = parts(self.earliest);
        #[expect(clippy::cast_possible_truncation, reason = "no port, or one of 32 bits")]
        let port = port as u32;
        (at, port)
    }

    /// A port carries something again.
    #[inline]
    pub fn insert(&mut self, port: usize, at: Time) {
        let new = key(at, port as u64);
        if new < self.earliest {
            // Where nothing was, nothing joins the others.
            if self.earliest().0 != Time::NEVER {
                self.others.push(self.earliest);
            }
            self.earliest = new;
        } else {
            self.others.push(new);
            self.settle(new);
        }
    }

    /// The earliest arrival is over. The next of its port, if it carries more, is at `next`.
    #[inline]
    pub fn follow_earliest(&mut self, next: Option<Time>) {
        match next {
            Some(at) => self.postpone_earliest(at),
            None => self.remove_earliest(),
        }
    }

    /// The port of the earliest arrival carries nothing behind it.
    #[inline]
    fn remove_earliest(&mut self) {
        self.earliest = self.others.pop().unwrap_or(NOTHING);
    }

    /// The next arrival of the port of the earliest one.
    #[inline]
    fn postpone_earliest(&mut self, at: Time) {
        let (_, port) = parts(self.earliest);
        let postponed = key(at, port);
        match self.others.last() {
            Some(next) if *next < postponed => {
                self.earliest = *next;
                self.settle(postponed);
            }
            _ => self.earliest = postponed,
        }
    }

    /// The next arrival of any port that carries something may have changed.
    #[cold]
    #[inline(never)]
    pub fn change(&mut self, port: usize, at: Option<Time>) {
        if self.earliest().1 as usize == port {
            self.remove_earliest();
        } else {
            self.others.retain(|other| parts(*other).1 != port as u64);
        }
        if let Some(at) = at {
            self.insert(port, at);
        }
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
