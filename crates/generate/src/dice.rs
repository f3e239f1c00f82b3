//! Random numbers of a document.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Random numbers of a document.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Those of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `sides`, which is not zero.
    pub fn below(&mut self, sides: usize) -> usize {
        let drawn = self.0.next_u64() as u128 * sides as u128;
        (drawn >> 64) as usize
    }

    /// Uniform from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with `probability`.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Between two positive numbers, all magnitudes alike. Round numbers on purpose every other
    /// time: they make events coincide.
    pub(crate) fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        let drawn = low * (high / low).powf(self.unit());
        let scale = 10f64.powf(drawn.log10().floor());
        let round = (drawn / scale).round() * scale;
        if self.chance(0.5) && (low..=high).contains(&round) { round } else { drawn }
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
