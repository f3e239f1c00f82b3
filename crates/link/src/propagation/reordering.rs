//! Packets that are sent at once, while others take the delay: they overtake those (`reorder` and
//! `gap` of netem).
//!
//! As in netem, the first `gap` - 1 packets after one that was sent at once take the delay. Each
//! one after them is sent at once with the probability. The first packet of a run is the first one
//! after such a packet.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::correlated::{Chance, share};

/// Random reordering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// Probability that a packet after the gap is sent at once.
    pub probability: f64,
    /// Correlation of the random numbers, as in netem's `get_crandom`.
    pub correlation: f64,
    /// Packets of which at most one is sent at once; at least 1.
    pub gap: u32,
}

impl Reordering {
    /// Share of packets that are sent at once in the long run.
    pub fn share(&self) -> f64 {
        let chosen = share(self.probability, self.correlation);
        chosen / (1.0 + f64::from(self.gap - 1) * chosen)
    }
}

/// Reordering at work.
#[derive(Clone, Debug)]
pub(super) struct Overtaking {
    chance: Chance,
    gap: u32,
    /// Packets since the last one that was sent at once.
    counter: u32,
    /// Packets sent at once.
    pub packets: u64,
}

impl Overtaking {
    pub fn new(reordering: &Reordering, rng: Xoshiro256PlusPlus) -> Self {
        let Reordering { probability, correlation, gap } = *reordering;
        Self { chance: Chance::new(probability, correlation, rng), gap, counter: 0, packets: 0 }
    }

    /// Returns true if the next packet is sent at once.
    pub fn is_next(&mut self) -> bool {
        if self.counter + 1 < self.gap || !self.chance.happens() {
            self.counter = self.counter.saturating_add(1);
            return false;
        }
        self.counter = 0;
        self.packets += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    fn at_once(reordering: Reordering, packets: usize) -> Vec<bool> {
        let mut overtaking = Overtaking::new(&reordering, stream(1, Purpose::Propagation, 0));
        let found: Vec<_> = (0..packets).map(|_| overtaking.is_next()).collect();
        assert_eq!(overtaking.packets, found.iter().filter(|at_once| **at_once).count() as u64);
        found
    }

    /// `netem delay 10ms reorder 100% gap 5`: each fifth packet, from the fifth on (tc-netem(8)).
    #[test]
    fn a_certain_reordering_sends_one_packet_of_each_gap_at_once() {
        let found = at_once(Reordering { probability: 1.0, correlation: 0.0, gap: 5 }, 20);
        let places: Vec<_> = (0..20).filter(|place| found[*place]).collect();
        assert_eq!(places, [4, 9, 14, 19]);
    }

    #[test]
    fn the_share_of_a_million_packets_is_the_one_of_the_formula() {
        for (probability, correlation, gap) in
            [(0.25, 0.0, 1), (0.25, 0.5, 1), (0.5, 0.0, 5), (0.5, 0.5, 5)]
        {
            let reordering = Reordering { probability, correlation, gap };
            let found = at_once(reordering, 1_000_000);
            let measured = found.iter().filter(|at_once| **at_once).count() as f64 / 1e6;
            let expected = reordering.share();
            assert!(
                (measured / expected - 1.0).abs() < 0.01,
                "{reordering:?}: {measured}, {expected}"
            );
        }
        assert_eq!(Reordering { probability: 0.25, correlation: 0.0, gap: 1 }.share(), 0.25);
        let one_in_nine = Reordering { probability: 0.2, correlation: 0.0, gap: 5 };
        assert!((one_in_nine.share() - 1.0 / 9.0).abs() < 1e-12);
    }
}
