//! Random decisions with netem's correlation (`get_crandom` in net/sched/sch_netem.c).
//!
//! Each number of 32 bits is x' = (1 - c) u + c x, with u uniform, and something happens where it
//! is at most the probability P. So x has the mean 1/2 and less spread than a uniform number, and
//! what happens has another share than P: less for P below one half, more for P above. tc-netem(8)
//! says so of losses: the correlation is an approximation. [`share`] is that share in the long run.

use std::f64::consts::SQRT_2;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// The largest number of 32 bits, which is a probability of one.
const ONE: f64 = u32::MAX as f64;
/// Places of the distribution function between 0 and 1.
const PLACES: usize = 4096;
/// Correlation from which on the distribution counts as normal.
const NORMAL: f64 = 0.98;

/// Decisions that are correlated with each other.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    /// The largest number with which it happens; none for never.
    most: Option<u32>,
    /// The correlation in parts of 2^32; zero for none.
    rho: u64,
    last: u32,
    rng: Xoshiro256PlusPlus,
}

impl Chance {
    /// Something that happens where a number with `correlation` is at most `probability`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to the largest number of 32 bits"
    )]
    pub fn new(probability: f64, correlation: f64, mut rng: Xoshiro256PlusPlus) -> Self {
        let rounded = |share: f64| libm::rint(share * ONE) as u32;
        let rho = rounded(correlation);
        let rho = if rho > 0 { u64::from(rho) + 1 } else { 0 };
        let last = upper(rng.next_u64());
        Self { most: Some(rounded(probability)).filter(|most| *most > 0), rho, last, rng }
    }

    /// Decides about the next time. Draws once, whatever the probability is.
    pub fn happens(&mut self) -> bool {
        let drawn = upper(self.rng.next_u64());
        // Without a correlation it is what was drawn.
        let sum = u64::from(drawn) * ((1 << 32) - self.rho) + u64::from(self.last) * self.rho;
        self.last = upper(sum);
        self.most.is_some_and(|most| self.last <= most)
    }
}

fn upper(number: u64) -> u32 {
    (number >> 32) as u32
}

/// Share of decisions with which something happens in the long run: the distribution function at
/// `probability` of numbers with `correlation`.
///
/// The function F solves F(x) = the mean of F((x - (1 - c) u) / c) over uniform u, which is found
/// by iteration on a grid. From [`NORMAL`] on, F is that of the normal distribution with the
/// variance (1 - c) / (1 + c) / 12.
pub fn share(probability: f64, correlation: f64) -> f64 {
    if correlation <= 0.0 || probability <= 0.0 || probability >= 1.0 {
        return probability.clamp(0.0, 1.0);
    }
    if correlation > NORMAL {
        let deviation = libm::sqrt((1.0 - correlation) / (1.0 + correlation) / 12.0);
        return libm::erfc((0.5 - probability) / deviation / SQRT_2) / 2.0;
    }
    let step = 1.0 / PLACES as f64;
    let mut shares: Vec<f64> = (0..=PLACES).map(|place| place as f64 * step).collect();
    loop {
        let integral = Integral::of(&shares, step);
        let at = |x: f64| {
            let (high, low) = (x / correlation, (x - (1.0 - correlation)) / correlation);
            correlation / (1.0 - correlation) * (integral.until(high) - integral.until(low))
        };
        let next: Vec<_> = (0..=PLACES).map(|place| at(place as f64 * step)).collect();
        let moved = shares.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        shares = next;
        if moved < 1e-12 {
            return Integral::of(&shares, step).mean_at(probability);
        }
    }
}

/// The integral of a distribution function that is linear between places of a grid.
struct Integral<'a> {
    shares: &'a [f64],
    sums: Vec<f64>,
    step: f64,
}

impl<'a> Integral<'a> {
    fn of(shares: &'a [f64], step: f64) -> Self {
        let mut sums = vec![0.0; shares.len()];
        for place in 1..shares.len() {
            sums[place] = sums[place - 1] + step * (shares[place - 1] + shares[place]) / 2.0;
        }
        Self { shares, sums, step }
    }

    /// The place before `x`, and how far it is to the next one, from 0 to 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "x is from 0 to 1")]
    fn place(&self, x: f64) -> (usize, f64) {
        let place = ((x / self.step) as usize).min(self.shares.len() - 2);
        (place, x / self.step - place as f64)
    }

    /// From 0 to `x`. The function is zero below 0 and one above 1.
    fn until(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        if x >= 1.0 {
            return self.sums[self.sums.len() - 1] + (x - 1.0);
        }
        let (place, part) = self.place(x);
        let [low, high] = [self.shares[place], self.shares[place + 1]];
        self.sums[place] + self.step * part * (low + (high - low) * part / 2.0)
    }

    /// The function at `x`.
    fn mean_at(&self, x: f64) -> f64 {
        let (place, part) = self.place(x);
        self.shares[place] * (1.0 - part) + self.shares[place + 1] * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    const DECISIONS: usize = 1_000_000;

    fn chance(probability: f64, correlation: f64) -> Chance {
        Chance::new(probability, correlation, stream(1, Purpose::Propagation, 0))
    }

    fn measured(probability: f64, correlation: f64) -> f64 {
        let mut chance = chance(probability, correlation);
        (0..DECISIONS).filter(|_| chance.happens()).count() as f64 / DECISIONS as f64
    }

    /// Of a million decisions, as many as [`share`] says.
    #[test]
    fn the_share_is_the_distribution_function_of_the_numbers() {
        for (probability, correlation) in [
            (0.02, 0.0),
            (0.1, 0.25),
            (0.2, 0.5),
            (0.25, 0.5),
            (0.4, 0.9),
            (0.75, 0.25),
            (0.45, 0.99),
        ] {
            let (found, expected) =
                (measured(probability, correlation), share(probability, correlation));
            // Five standard deviations of a count whose neighbours are correlated.
            let factor = (1.0 + correlation) / (1.0 - correlation);
            let margin = 5.0 * (expected * (1.0 - expected) * factor / DECISIONS as f64).sqrt();
            assert!(
                (found - expected).abs() < margin,
                "{probability}, {correlation}: {found} {expected}"
            );
        }
    }

    /// Known points: half of the numbers are below one half, and for c = 1/2 the numbers are
    /// uniform in sums of halves: x = sum of u / 2^k, whose share below 1/2 of the first term alone
    /// has a closed form at small x.
    #[test]
    fn shares_have_the_symmetry_of_the_numbers_and_are_below_a_small_probability() {
        for correlation in [0.1, 0.25, 0.5, 0.9, 0.99] {
            assert!((share(0.5, correlation) - 0.5).abs() < 1e-6, "{correlation}");
            let both = share(0.1, correlation) + share(0.9, correlation);
            assert!((both - 1.0).abs() < 1e-6, "{correlation}: {both}");
            assert!(share(0.1, correlation) < 0.1);
        }
        assert_eq!(share(0.3, 0.0), 0.3);
        // tc-netem's example, loss 0.3% 25%: far fewer than 0.3 %.
        assert!(share(0.003, 0.25) < 1e-5, "{}", share(0.003, 0.25));
    }

    /// Numbers as `get_crandom` makes them from what was drawn: those of the formula, and a
    /// correlation of c.
    #[test]
    fn numbers_are_those_of_the_formula_and_have_the_correlation() {
        let mut chance = chance(0.5, 0.25);
        let mut rng = chance.rng.clone();
        let (mut last, rho) = (f64::from(chance.last), (0.25 * ONE).round() + 1.0);
        let mut numbers = Vec::new();
        for _ in 0..DECISIONS {
            let drawn = f64::from((rng.next_u64() >> 32) as u32);
            last = ((drawn * (2f64.powi(32) - rho) + last * rho) / 2f64.powi(32)).floor();
            let happens = chance.happens();
            assert!((f64::from(chance.last) - last).abs() <= 1.0);
            assert_eq!(happens, f64::from(chance.last) <= (0.5 * ONE).round());
            last = f64::from(chance.last);
            numbers.push(last / ONE);
        }
        let mean = numbers.iter().sum::<f64>() / DECISIONS as f64;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / DECISIONS as f64;
        let product = numbers.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
        let found = product.sum::<f64>() / DECISIONS as f64 / variance;
        assert!((mean - 0.5).abs() < 0.002, "{mean}");
        assert!((found / 0.25 - 1.0).abs() < 0.01, "{found}");
        assert!((variance * 12.0 / 0.6 - 1.0).abs() < 0.01, "{variance}");
    }

    #[test]
    fn what_is_certain_happens_always_and_what_is_impossible_never() {
        for correlation in [0.0, 0.5] {
            assert_eq!([0.0, 1.0].map(|certain| measured(certain, correlation)), [0.0, 1.0]);
        }
    }
}
