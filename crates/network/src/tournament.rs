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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_winner_is_the_earliest_lane_and_the_lowest_of_equals(
            changes in prop::collection::vec((0usize..11, 0u64..20), 1..100),
        ) {
            let mut tournament = Tournament::new(11);
            let mut times = [Time::NEVER; 11];
            for (lane, nanos) in changes {
                times[lane] = if nanos == 19 { Time::NEVER } else { Time::from_nanos(nanos) };
                tournament.set(lane, times[lane]);
                let earliest = times.iter().min().copied().unwrap_or(Time::NEVER);
                prop_assert_eq!(tournament.earliest().0, earliest);
                if earliest != Time::NEVER {
                    let lane = times.iter().position(|time| *time == earliest);
                    prop_assert_eq!(lane, Some(tournament.earliest().1 as usize));
                }
            }
        }
    }
}
