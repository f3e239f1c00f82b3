//! The next arrivals of all lanes: in a list where there are few, in a tournament where there are
//! many.
//!
//! The list of the agenda is the faster for the handful of lanes of a satellite path, but a lane may
//! have to pass all others in it. A tournament grows with the logarithm of their number.

use units::Time;

use crate::agenda::Agenda;
use crate::tournament::Tournament;

/// Where all lanes are busy, a list is 1.6 times as fast with 400 of them, and 1.6 times as slow with
/// 1,200.
const MANY: usize = 512;

/// When each lane that carries anything delivers next.
#[derive(Clone, Debug)]
pub(crate) enum Arrivals {
    Few(Agenda),
    Many(Tournament),
}

impl Arrivals {
    /// None of so many lanes carries anything.
    pub(crate) fn new(lanes: usize) -> Self {
        if lanes < MANY { Self::Few(Agenda::new()) } else { Self::Many(Tournament::new(lanes)) }
    }

    /// The earliest arrival and its lane, of equals the lowest; never, if none carries anything.
    #[inline]
    pub(crate) fn earliest(&self) -> (Time, u32) {
        match self {
            Self::Few(agenda) => agenda.earliest(),
            Self::Many(tournament) => tournament.earliest(),
        }
    }

    /// A lane carries something again.
    #[inline]
    pub(crate) fn insert(&mut self, lane: usize, at: Time) {
        match self {
            Self::Few(agenda) => agenda.insert(lane, at),
            Self::Many(tournament) => tournament.set(lane, at),
        }
    }

    /// The earliest arrival is over. The next of its lane, if it carries more, is at `next`.
    #[inline]
    pub(crate) fn follow_earliest(&mut self, next: Option<Time>) {
        match self {
            Self::Few(agenda) => agenda.follow_earliest(next),
            Self::Many(tournament) => {
                let (_, lane) = tournament.earliest();
                tournament.set(lane as usize, next.unwrap_or(Time::NEVER));
            }
        }
    }

    /// The next arrival of any lane may have changed.
    #[cold]
    #[inline(never)]
    pub(crate) fn change(&mut self, lane: usize, at: Option<Time>) {
        match self {
            Self::Few(agenda) => agenda.change(lane, at),
            Self::Many(tournament) => tournament.set(lane, at.unwrap_or(Time::NEVER)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_earliest_lane_is_first_and_the_lowest_of_equals(
            lanes in prop::sample::select(vec![11, MANY + 11]),
            changes in prop::collection::vec((0usize..11, 0u64..20, any::<bool>()), 1..100),
        ) {
            let mut arrivals = Arrivals::new(lanes);
            let mut times = [Time::NEVER; 11];
            for (any, nanos, of_earliest) in changes {
                let at = (nanos < 19).then(|| Time::from_nanos(nanos));
                let earliest = arrivals.earliest();
                let of_earliest = of_earliest && earliest.0 != Time::NEVER;
                let lane = if of_earliest { earliest.1 as usize } else { any };
                match at {
                    next if of_earliest => arrivals.follow_earliest(next),
                    Some(at) if times[lane] == Time::NEVER => arrivals.insert(lane, at),
                    _ => arrivals.change(lane, at),
                }
                times[lane] = at.unwrap_or(Time::NEVER);
                let earliest = times.iter().min().copied().unwrap_or(Time::NEVER);
                prop_assert_eq!(arrivals.earliest().0, earliest);
                if earliest != Time::NEVER {
                    let lane = times.iter().position(|time| *time == earliest);
                    prop_assert_eq!(lane, Some(arrivals.earliest().1 as usize));
                }
            }
        }
    }
}
