//! The next arrivals of all ports: a list for few ports, a winner tree for many.
//!
//! The list is faster for the few ports of a satellite path, but a port may have to pass all others
//! in it. The cost of a winner tree grows with the logarithm of their number.

use units::Time;

use crate::event_list::{EventList, NOTHING};
use crate::schedule::{key, parts};
use crate::winner_tree::WinnerTree;

/// If all ports are busy, a list is 1.6 times as fast with 400 of them, and 1.6 times as slow with
/// 1,200.
const MANY: usize = 512;

/// The next arrival of each port with packets in flight. The earliest is asked for most often, and
/// is the same in both.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    /// The key of the earliest.
    earliest: u128,
    /// The keys of the others, if there are few ports.
    few: EventList,
    /// The keys of all, if there are many.
    many: Option<Box<WinnerTree>>,
}

impl Arrivals {
    /// `ports` ports that carry nothing, of which at most `busy` carry anything at a time.
    pub(crate) fn new(ports: usize, busy: usize) -> Self {
        let many = (busy >= MANY).then(|| Box::new(WinnerTree::new(ports)));
        Self { earliest: NOTHING, few: EventList::new(), many }
    }

    /// The earliest arrival and its port, of equals the lowest; never, if none carries anything.
    #[inline]
    pub(crate) fn earliest(&self) -> (Time, u32) {
        let (at, port) = parts(self.earliest);
        #[expect(clippy::cast_possible_truncation, reason = "no port, or one of 32 bits")]
        let port = port as u32;
        (at, port)
    }

    /// A port carries something again.
    #[inline]
    pub(crate) fn insert(&mut self, port: usize, at: Time) {
        self.earliest = match &mut self.many {
            None => self.few.insert(self.earliest, key(at, port as u64)),
            Some(tree) => tree.set(port, at),
        };
    }

    /// A port carries something again, and its arrival is before all others.
    #[inline]
    pub(crate) fn insert_first(&mut self, port: usize, at: Time) {
        debug_assert!(key(at, port as u64) < self.earliest, "others are before it");
        self.earliest = match &mut self.many {
            None => self.few.insert_first(self.earliest, key(at, port as u64)),
            Some(tree) => tree.set(port, at),
        };
    }

    /// The earliest arrival is over. The next of its port, if it carries more, is at `next`.
    #[inline(always)]
    pub(crate) fn follow_earliest(&mut self, next: Option<Time>) {
        let (_, port) = self.earliest();
        self.earliest = match (&mut self.many, next) {
            (None, Some(at)) => self.few.exchange(key(at, port.into())),
            (None, None) => self.few.take(),
            (Some(tree), next) => tree.set(port as usize, next.unwrap_or(Time::NEVER)),
        };
    }

    /// The next arrival of any port may have changed.
    #[cold]
    #[inline(never)]
    pub(crate) fn change(&mut self, port: usize, at: Option<Time>) {
        let (_, earliest) = self.earliest();
        self.earliest = match &mut self.many {
            None if earliest as usize == port => self.few.take(),
            None => {
                self.few.remove(port);
                self.earliest
            }
            Some(tree) => tree.set(port, Time::NEVER),
        };
        if let Some(at) = at {
            self.insert(port, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_earliest_port_is_first_and_the_lowest_of_equals(
            ports in prop::sample::select(vec![11, MANY + 11]),
            changes in prop::collection::vec((0usize..11, 0u64..20, any::<bool>()), 1..100),
        ) {
            let mut arrivals = Arrivals::new(ports, ports);
            let mut times = [Time::NEVER; 11];
            for (any, nanos, of_earliest) in changes {
                let at = (nanos < 19).then(|| Time::from_nanos(nanos));
                let earliest = arrivals.earliest();
                let of_earliest = of_earliest && earliest.0 != Time::NEVER;
                let port = if of_earliest { earliest.1 as usize } else { any };
                match at {
                    next if of_earliest => arrivals.follow_earliest(next),
                    Some(at) if times[port] == Time::NEVER => arrivals.insert(port, at),
                    _ => arrivals.change(port, at),
                }
                times[port] = at.unwrap_or(Time::NEVER);
                let earliest = times.iter().min().copied().unwrap_or(Time::NEVER);
                prop_assert_eq!(arrivals.earliest().0, earliest);
                if earliest != Time::NEVER {
                    let port = times.iter().position(|time| *time == earliest);
                    prop_assert_eq!(port, Some(arrivals.earliest().1 as usize));
                }
            }
        }
    }
}
