//! The Gilbert-Elliott model (Gilbert, Capacity of a burst-noise channel, Bell System Technical
//! Journal, 1960; Elliott, 1963), with one step per packet.
//!
//! In the good state no packet is lost. In the bad state a packet is lost with a fixed probability.
//! The state may change after each packet.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use super::threshold;

/// A chain, described by its means in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Share of packets that are lost.
    pub mean_loss: f64,
    /// Mean number of packets in a stay in the bad state; at least 1.
    pub mean_burst: f64,
    /// Probability that a packet in the bad state is lost.
    pub loss_in_burst: f64,
}

impl Bursts {
    /// Share of packets in the bad state.
    fn bad_share(&self) -> f64 {
        self.mean_loss / self.loss_in_burst
    }

    /// Mean number of packets between two bursts: as many bursts begin as end, so that the two
    /// means are in the ratio of the two shares.
    pub fn mean_gap(&self) -> f64 {
        self.mean_burst * (1.0 - self.bad_share()) / self.bad_share()
    }

    /// The largest mean loss of any chain with these bursts: one good packet between two of them.
    pub fn largest_mean_loss(&self) -> f64 {
        self.loss_in_burst * self.mean_burst / (1.0 + self.mean_burst)
    }
}

/// A chain at work.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    bad: bool,
    enters: u64,
    leaves: u64,
    loses: u64,
}

impl Chain {
    /// A chain that has been at work for ever.
    pub fn new(bursts: &Bursts, rng: &mut Xoshiro256PlusPlus) -> Self {
        Self {
            bad: rng.next_u64() < threshold(bursts.bad_share()),
            enters: threshold(1.0 / bursts.mean_gap()),
            leaves: threshold(1.0 / bursts.mean_burst),
            loses: threshold(bursts.loss_in_burst),
        }
    }

    /// Whether the next packet is lost. Two draws, whatever happens.
    #[inline(never)]
    pub fn loses(&mut self, rng: &mut Xoshiro256PlusPlus) -> bool {
        let (loss, change) = (rng.next_u64(), rng.next_u64());
        let lost = self.bad && loss < self.loses;
        self.bad ^= change < if self.bad { self.leaves } else { self.enters };
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    const PACKETS: usize = 1_000_000;

    fn losses(bursts: Bursts, packets: usize) -> Vec<bool> {
        let mut rng = stream(1, Purpose::Channel, 0);
        let mut chain = Chain::new(&bursts, &mut rng);
        (0..packets).map(|_| chain.loses(&mut rng)).collect()
    }

    /// The number of lost packets is nearly normal; neighbours are correlated, which multiplies
    /// its variance by (1 + c) / (1 - c), c = 1 - p - r.
    #[test]
    fn the_long_run_has_the_mean_loss_that_was_asked_for() {
        for (mean_loss, mean_burst, loss_in_burst) in
            [(0.01, 5.0, 1.0), (0.1, 1.0, 1.0), (0.2, 50.0, 0.5), (0.5, 2.0, 1.0), (0.0, 3.0, 1.0)]
        {
            let lost = losses(Bursts { mean_loss, mean_burst, loss_in_burst }, PACKETS);
            let measured = lost.iter().filter(|lost| **lost).count() as f64 / PACKETS as f64;
            let variance = mean_loss * (1.0 - mean_loss) * 2.0 * mean_burst / PACKETS as f64;
            let off = (measured - mean_loss).abs();
            assert!(off <= 5.0 * variance.sqrt(), "{measured} instead of {mean_loss}");
        }
    }

    #[test]
    fn bursts_have_the_mean_length_that_was_asked_for() {
        for mean_burst in [1.0, 2.5, 8.0, 40.0] {
            let bursts = Bursts { mean_loss: 0.05, mean_burst, loss_in_burst: 1.0 };
            let lost = losses(bursts, PACKETS);
            let runs: Vec<_> = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).collect();
            let mean = runs.iter().map(|run| run.len()).sum::<usize>() as f64 / runs.len() as f64;
            // Geometric: its standard deviation is below its mean.
            let margin = 5.0 * mean_burst / (runs.len() as f64).sqrt();
            assert!((mean - mean_burst).abs() < margin, "{mean} instead of {mean_burst}");
        }
    }

    #[test]
    fn the_largest_mean_loss_is_bursts_with_single_packets_between() {
        let bursts = Bursts { mean_loss: 0.0, mean_burst: 4.0, loss_in_burst: 1.0 };
        let bursts = Bursts { mean_loss: bursts.largest_mean_loss(), ..bursts };
        let lost = losses(bursts, 10_000);
        assert!(lost.windows(2).all(|pair| pair[0] || pair[1]));
    }
}
