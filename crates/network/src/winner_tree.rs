//! A winner tree (tournament tree) over the next arrival of each port, or over other times of which
//! each number has one.
//!
//! Every port has one time, so nothing is inserted or removed. A change repeats the comparisons
//! from the leaf to the root. If times are equal, the port with the lower number is first.

use units::Time;

use crate::schedule::{key, parts};

/// The time of each port's next arrival, and the earliest of them.
#[derive(Clone, Debug)]
pub struct WinnerTree {
    /// The keys of a complete binary tree; the root is at 1 and port `n` at `leaves + n`.
    winners: Vec<u128>,
    leaves: usize,
}

impl WinnerTree {
    /// A tree of `ports` ports that carry nothing.
    pub fn new(ports: usize) -> Self {
        let leaves = ports.next_power_of_two();
        Self { winners: vec![key(Time::NEVER, u64::MAX); 2 * leaves], leaves }
    }

    /// The earliest time, and the number that it belongs to; [`Time::NEVER`] if none has a time.
    #[inline]
    pub fn earliest(&self) -> (Time, u64) {
        parts(self.winners[1])
    }

    /// The next arrival of `port` is at `at`; never, if it carries nothing. Returns the earliest
    /// key.
    #[inline]
    pub fn set(&mut self, port: usize, at: Time) -> u128 {
        let mut place = self.leaves + port;
        let mut winner = key(at, port as u64);
        self.winners[place] = winner;
        while place > 1 {
            winner = winner.min(self.winners[place ^ 1]);
            place /= 2;
            self.winners[place] = winner;
        }
        winner
    }
}
