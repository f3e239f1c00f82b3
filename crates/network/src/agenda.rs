//! Which lane delivers next: the lanes that carry anything, in the order of their next arrivals.
//!
//! A sorted list and no tree: a lane moves back by a place or two, because all take turns. Whether
//! it does is a branch that repeats itself and is foreseen, so that the next event begins while this
//! one is still going on; a tree of minima, though shorter, would have to be waited for. Ties go to
//! the lane with the lower number.

use units::Time;

use crate::schedule::{key, parts};

/// The next arrival of each lane that carries anything.
#[derive(Clone, Debug)]
pub struct Agenda {
    earliest: u128,
    /// The keys of all others, the earliest last.
    others: Vec<u128>,
}

const NOTHING: u128 = u128::MAX;

impl Agenda {
    /// No lane carries anything.
    pub fn new() -> Self {
        Self { earliest: NOTHING, others: Vec::new() }
    }

    /// The earliest arrival and its lane; never, if no lane carries anything.
    #[inline]
    pub fn earliest(&self) -> (Time, u32) {
        let (at, lane) = parts(self.earliest);
        (at, lane as u32)
    }

    /// A lane carries something again.
    #[inline]
    pub fn insert(&mut self, lane: usize, at: Time) {
        let new = key(at, lane as u64);
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

    /// The earliest arrival is over. The next of its lane, if it carries more, is at `next`.
    #[inline]
    pub fn follow_earliest(&mut self, next: Option<Time>) {
        match next {
            Some(at) => self.postpone_earliest(at),
            None => self.remove_earliest(),
        }
    }

    /// The lane of the earliest arrival carries nothing behind it.
    #[inline]
    fn remove_earliest(&mut self) {
        self.earliest = self.others.pop().unwrap_or(NOTHING);
    }

    /// The next arrival of the lane of the earliest one.
    #[inline]
    fn postpone_earliest(&mut self, at: Time) {
        let (_, lane) = parts(self.earliest);
        let postponed = key(at, lane);
        match self.others.last() {
            Some(next) if *next < postponed => {
                self.earliest = *next;
                self.settle(postponed);
            }
            _ => self.earliest = postponed,
        }
    }

    /// The next arrival of any lane that carries something may have changed.
    #[cold]
    #[inline(never)]
    pub fn change(&mut self, lane: usize, at: Option<Time>) {
        if self.earliest().1 as usize == lane {
            self.remove_earliest();
        } else {
            self.others.retain(|other| parts(*other).1 != lane as u64);
        }
        if let Some(at) = at {
            self.insert(lane, at);
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
