//! Normal variables: their distribution, and the correlation that they need so that values drawn by
//! them have a correlation that is given.

use std::f64::consts::{PI, SQRT_2};

use rand_xoshiro::Xoshiro256PlusPlus;

pub(super) use crate::stream::uniform;

/// Cells in which the values of a distribution count as equal to their mean.
const CELLS: u32 = 512;
/// Terms of the series of Hermite polynomials.
const TERMS: usize = 60;

/// Distribution function of the standard normal distribution.
pub(super) fn share(value: f64) -> f64 {
    libm::erfc(-value / SQRT_2) / 2.0
}

/// Its inverse, by bisection: it is used before a run only.
pub(super) fn quantile(wanted: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if share(middle) < wanted { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// A number of the standard normal distribution (Box and Muller, A note on the generation of random
/// normal deviates, Annals of Mathematical Statistics, 1958).
pub(super) fn draw(rng: &mut Xoshiro256PlusPlus) -> f64 {
    // In (0, 1], so that the logarithm is finite.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(rng)));
    radius * libm::cos(2.0 * PI * uniform(rng))
}

/// The correlation of two normal variables with which the values at their places in a distribution
/// have `correlation`. `mean_between` is the mean of the distribution between two places from 0
/// to 1.
///
/// In normalised Hermite polynomials h, a function g of a normal variable is the sum of c_k h_k,
/// and two variables with correlation r give E[g g'] as the sum of c_k² r^k (Mehler's formula).
pub(super) fn correlation_for(correlation: f64, mean_between: impl Fn(f64, f64) -> f64) -> f64 {
    let edge = |cell: u32| f64::from(cell) / f64::from(CELLS);
    let means: Vec<_> = (0..CELLS).map(|cell| mean_between(edge(cell), edge(cell + 1))).collect();
    let mut squares = [0.0; TERMS];
    for (cell, pair) in (1..).zip(means.windows(2)) {
        let at = quantile(edge(cell));
        let density = libm::exp(-at * at / 2.0) / libm::sqrt(2.0 * PI);
        // Between two edges, h_k times the density integrates to the fall of h_(k-1) times the
        // density over sqrt(k).
        let (mut before, mut hermite) = (0.0, 1.0);
        for (term, sum) in (1_u32..).zip(&mut squares) {
            let order = f64::from(term);
            *sum += (pair[1] - pair[0]) * hermite * density / libm::sqrt(order);
            let next = (at * hermite - libm::sqrt(order - 1.0) * before) / libm::sqrt(order);
            (before, hermite) = (hermite, next);
        }
    }
    squares.iter_mut().for_each(|sum| *sum *= *sum);
    let mean = means.iter().sum::<f64>() / f64::from(CELLS);
    let variance = means.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>();
    let variance = variance / f64::from(CELLS);
    // What the series leaves out counts as its next term.
    let rest = (variance - squares.iter().sum::<f64>()).max(0.0);
    let found =
        |r: f64| squares.iter().rev().fold(rest, |sum, square| sum * r + square) * r / variance;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if found(middle) < correlation { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_inverse_of_a_share() {
        for wanted in [1e-4, 0.025, 0.5, 0.9] {
            assert!((share(quantile(wanted)) - wanted).abs() < 1e-10);
        }
        assert!((quantile(0.975) - 1.959_963_985).abs() < 1e-8);
    }

    /// Of uniform variables, the correlation is 6 / pi asin(r / 2) (Pearson, 1907); of normal ones,
    /// it is r.
    #[test]
    fn correlations_are_those_of_closed_forms() {
        for correlation in [0.1, 0.5, 0.9] {
            let of_uniform = correlation_for(correlation, |from, to| (from + to) / 2.0);
            let expected = 2.0 * libm::sin(PI * correlation / 6.0);
            assert!((of_uniform - expected).abs() < 1e-4, "{of_uniform}, {expected}");
            // The integral of the quantile between two shares is the fall of the density.
            let density = |at: f64| match at > 0.0 && at < 1.0 {
                true => libm::exp(-quantile(at).powi(2) / 2.0) / libm::sqrt(2.0 * PI),
                false => 0.0,
            };
            let mean = |from, to| (density(from) - density(to)) / (to - from);
            let of_normal = correlation_for(correlation, mean);
            assert!((of_normal - correlation).abs() < 2e-3, "{of_normal}");
        }
    }
}
