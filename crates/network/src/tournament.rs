//! Which lane delivers next: a tournament over one time per lane.
//!
//! Every lane has one time, so nothing is ever inserted or removed: a change replays the matches
//! from its leaf to the root, and only the rival of each is looked up. For the handful of lanes of
//! a satellite path that is two or three matches. Ties go to the lane with the lower number.

use units::Time;

use crate::schedule::{key, parts};

/// The time of each lane's next arrival, and the earliest of them.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// The keys of a complete binary tree; the root is at 1 and lane `n` at `leaves + n`.
    winners: Vec<u128>,
    leaves: usize,
}

impl Tournament {
    /// A tournament of `lanes` lanes that carry nothing.
    pub fn new(lanes: usize) -> Self {
        let leaves = lanes.next_power_of_two();
        Self { winners: vec![key(Time::NEVER, u64::MAX); 2 * leaves], leaves }
    }

    /// The earliest arrival and its lane.
    #[inline]
    pub fn earliest(&self) -> (Time, u32) {
        let (at, lane) = parts(self.winners[1]);
        (at, lane as u32)
    }

    /// The next arrival of `lane` is at `at`; never, if it carries nothing.
    #[inline]
    pub fn set(&mut self, lane: usize, at: Time) {
        let mut place = self.leaves + lane;
        let mut winner = key(at, lane as u64);
        self.winners[place] = winner;
        while place > 1 {
            winner = winner.min(self.winners[place ^ 1]);
            place /= 2;
            self.winners[place] = winner;
        }
    }
}
