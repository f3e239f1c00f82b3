//! Delays that differ from packet to packet.
//!
//! [`Jitter::UpTo`] adds a uniform time from none to a bound. [`Jitter::Around`] moves the delay
//! both ways by a [`Distribution`], as netem does with
//! `delay TIME JITTER CORRELATION distribution NAME` (`tabledist` in net/sched/sch_netem.c): a
//! value t of the table moves it by J t / 8192, rounded, and the uniform distribution by -J up to
//! below J. A packet whose delay would be negative has none.
//!
//! Decisions:
//! - Correlation: tc-netem(8) has the next random number depend on the last one. The kernel takes
//!   such a number modulo the size of the table, or modulo 2 J, which keeps the distribution and
//!   leaves no correlation. Here both are as documented: a normal variable z' = r z + sqrt(1 - r²)
//!   e gives each packet its place in the distribution, so the distribution is that of the table,
//!   and r is computed so that two delays in a row have the correlation.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::Span;

use super::distribution::{Distribution, SCALE, mean_between, place};
use super::normal;

/// Random delay of packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Jitter {
    /// A uniform time from none to this one is added; packets keep their order. Zero is no jitter.
    UpTo(Span),
    /// The delay is the mean.
    Around(Variation),
}

/// Jitter around the delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// Unit of the distribution: its standard deviation, or half the width of a uniform one.
    pub variation: Span,
    /// Its shape.
    pub distribution: Distribution,
    /// Correlation of the delays of two packets in a row, from 0 to below 1.
    pub correlation: f64,
    /// True if a packet overtakes those that have a longer delay.
    pub reorder: bool,
}

/// A change of a delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shift {
    later: Span,
    earlier: Span,
}

impl Jitter {
    /// No jitter.
    pub const NONE: Self = Self::UpTo(Span::ZERO);

    /// Returns true if packets have the same delay.
    pub fn is_none(&self) -> bool {
        match self {
            Self::UpTo(most) => *most == Span::ZERO,
            Self::Around(around) => around.variation == Span::ZERO,
        }
    }

    /// Returns true if packets overtake each other by it.
    pub fn reorders(&self) -> bool {
        !self.is_none() && matches!(self, Self::Around(Variation { reorder: true, .. }))
    }

    /// The shortest delay around `delay`.
    pub fn least(&self, delay: Span) -> Span {
        match self {
            Self::UpTo(_) => delay,
            Self::Around(around) => {
                let least = -around.distribution.quantile(0.0) * around.variation.as_secs_f64();
                delay.saturating_sub(Span::from_secs_f64(least.max(0.0)))
            }
        }
    }
}

impl Shift {
    /// The delay as it is.
    pub const NONE: Self = Self { later: Span::ZERO, earlier: Span::ZERO };

    /// The delay `delay` with this change.
    pub fn of(self, delay: Span) -> Span {
        (delay + self.later).saturating_sub(self.earlier)
    }
}

/// Jitter with its own stream of randomness.
#[derive(Clone, Debug)]
pub(super) enum Draws {
    /// Even from none to a bound.
    UpTo(Span, Xoshiro256PlusPlus),
    /// By a distribution.
    Around(Box<Around>),
}

/// Jitter around a delay, at work.
#[derive(Clone, Debug)]
pub(super) struct Around {
    variation: Span,
    table: Option<Arc<[i16]>>,
    /// The normal variable, with its correlation.
    chain: Option<Chain>,
    rng: Xoshiro256PlusPlus,
}

#[derive(Clone, Copy, Debug)]
struct Chain {
    r: f64,
    last: f64,
}

impl Draws {
    /// The draws of `jitter`; nothing for none.
    pub fn new(jitter: &Jitter, rng: impl FnOnce() -> Xoshiro256PlusPlus) -> Option<Self> {
        if jitter.is_none() {
            return None;
        }
        let mut rng = rng();
        Some(match jitter {
            Jitter::UpTo(most) => Self::UpTo(*most, rng),
            Jitter::Around(Variation { variation, distribution, correlation, reorder: _ }) => {
                let table = distribution.table();
                let mean = |from, to| mean_between(table.as_deref(), from, to);
                let chain = (*correlation > 0.0).then(|| {
                    let r = normal::correlation_for(*correlation, mean);
                    Chain { r, last: normal::draw(&mut rng) }
                });
                Self::Around(Box::new(Around { variation: *variation, table, chain, rng }))
            }
        })
    }

    /// The change of the delay of the next packet.
    pub fn draw(&mut self) -> Shift {
        match self {
            Self::UpTo(most, rng) => {
                Shift { later: even(rng.next_u64(), most.as_nanos()), earlier: Span::ZERO }
            }
            Self::Around(around) => around.draw(),
        }
    }
}

impl Around {
    fn draw(&mut self) -> Shift {
        let Self { variation, table, chain, rng } = self;
        let share = match chain {
            None => normal::uniform(rng),
            Some(Chain { r, last }) => {
                *last = *r * *last + libm::sqrt(1.0 - *r * *r) * normal::draw(rng);
                normal::share(*last)
            }
        };
        match table {
            None => {
                let nanos = variation.as_nanos();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "from 0 to twice the variation"
                )]
                let place = (share * 2.0 * nanos as f64) as u64;
                Shift { later: Span::from_nanos(place), earlier: *variation }
            }
            Some(table) => {
                let value = table[place(share, table.len())];
                let product = u128::from(variation.as_nanos()) * u128::from(value.unsigned_abs());
                #[expect(clippy::cast_possible_truncation, reason = "at most four variations")]
                let nanos = ((product + u128::from(SCALE) / 2) / u128::from(SCALE)) as u64;
                match value < 0 {
                    true => Shift { later: Span::ZERO, earlier: Span::from_nanos(nanos) },
                    false => Shift { later: Span::from_nanos(nanos), earlier: Span::ZERO },
                }
            }
        }
    }
}

/// A time from none to `most` nanoseconds.
fn even(random: u64, most: u64) -> Span {
    let values = u128::from(most) + 1;
    // The high half of the product is even but for one part in 2^64 of the values.
    Span::from_nanos(((u128::from(random) * values) >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    const PACKETS: usize = 1_000_000;

    fn draws(jitter: &Jitter) -> Draws {
        Draws::new(jitter, || stream(1, Purpose::Propagation, 0)).unwrap()
    }

    fn later(draws: &mut Draws) -> Span {
        draws.draw().of(Span::ZERO)
    }

    #[test]
    fn jitter_up_to_a_bound_is_even_from_nothing_to_the_most() {
        let most = Span::from_millis(10);
        let mut jitter = draws(&Jitter::UpTo(most));
        let mut tenths = [0u32; 10];
        for _ in 0..100_000 {
            let drawn = later(&mut jitter);
            assert!(drawn <= most);
            tenths[(drawn.as_nanos() / 1_000_001) as usize] += 1;
        }
        // Five standard deviations of a count around 10,000.
        assert!(tenths.iter().all(|count| count.abs_diff(10_000) < 475), "{tenths:?}");
    }

    #[test]
    fn the_least_jitter_is_drawn_too() {
        let mut jitter = draws(&Jitter::UpTo(Span::from_nanos(1)));
        let drawn: Vec<_> = (0..64).map(|_| later(&mut jitter).as_nanos()).collect();
        assert!(drawn.contains(&0) && drawn.contains(&1) && drawn.iter().all(|nanos| *nanos < 2));
    }

    /// Delays of packets around 100 ms with a variation of 10 ms, in variations.
    fn around(distribution: Distribution, correlation: f64) -> Vec<f64> {
        let variation = Span::from_millis(10);
        let around = Variation { variation, distribution, correlation, reorder: false };
        let mut draws = draws(&Jitter::Around(around));
        let delay = Span::from_millis(100);
        let shift = |drawn: Shift| drawn.of(delay).as_secs_f64() - delay.as_secs_f64();
        (0..PACKETS).map(|_| shift(draws.draw()) / variation.as_secs_f64()).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (mean, (variance / values.len() as f64).sqrt())
    }

    fn autocorrelation(values: &[f64]) -> f64 {
        let (mean, deviation) = moments(values);
        let product = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
        product.sum::<f64>() / (values.len() - 1) as f64 / deviation.powi(2)
    }

    fn all() -> [Distribution; 5] {
        let file = "two.dist".to_owned();
        [
            Distribution::Uniform,
            Distribution::Normal,
            Distribution::Pareto,
            Distribution::ParetoNormal,
            Distribution::Table { file, values: [-8192, -8192, 0, 4096].into() },
        ]
    }

    /// Mean, standard deviation and quantiles of a million packets are those of the table, with and
    /// without correlation.
    #[test]
    fn a_million_delays_have_the_mean_and_the_quantiles_of_the_distribution() {
        for distribution in all() {
            for correlation in [0.0, 0.25] {
                let mut values = around(distribution.clone(), correlation);
                let (mean, deviation) = distribution.moments();
                let (found_mean, found_deviation) = moments(&values);
                // The mean delay is ten variations, and 1 % of a variation is 0.1 % of it.
                assert!((found_mean - mean).abs() < 0.01, "{distribution:?}: mean {found_mean}");
                assert!((found_deviation / deviation - 1.0).abs() < 0.01, "{distribution:?}");
                values.sort_by(f64::total_cmp);
                // Not at a step of the table of four values.
                for share in [0.01, 0.1, 0.4, 0.6, 0.9, 0.99] {
                    let expected = distribution.quantile(share);
                    let found = values[(share * PACKETS as f64) as usize];
                    let off = (found - expected).abs();
                    assert!(
                        off < 0.01 * expected.abs().max(1.0),
                        "{distribution:?}, {share}: {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn two_delays_in_a_row_have_the_correlation_that_was_given() {
        for correlation in [0.25, 0.9] {
            for distribution in all() {
                let found = autocorrelation(&around(distribution.clone(), correlation));
                let off = (found / correlation - 1.0).abs();
                // The standard deviation of the estimate is above 1 % of 0.25 where the tail is
                // heavy.
                assert!(off < 0.012, "{distribution:?}: {found} for {correlation}");
            }
        }
        let independent = autocorrelation(&around(Distribution::Normal, 0.0));
        assert!(independent.abs() < 0.005, "{independent}");
    }

    /// `tabledist`: the value of the table times the variation, with halves rounded away from zero.
    #[test]
    fn values_of_the_table_are_multiplied_and_rounded_as_in_netem() {
        let values = [-8192, -4096, 3, -3, 32_767].into();
        let distribution = Distribution::Table { file: "five.dist".to_owned(), values };
        let variation = Span::from_nanos(12_287);
        let around = Variation { variation, distribution, correlation: 0.0, reorder: false };
        let mut draws = draws(&Jitter::Around(around));
        let delay = Span::from_nanos(1_000_000);
        let mut found: Vec<_> = (0..200).map(|_| draws.draw().of(delay).as_nanos()).collect();
        found.sort_unstable();
        found.dedup();
        // 12287 (4096 / 8192) = 6143.5, 12287 (3 / 8192) = 4.4996, 12287 (32767 / 8192) = 49146.5.
        assert_eq!(found, [987_713, 993_856, 999_996, 1_000_004, 1_049_147]);
    }

    #[test]
    fn a_delay_that_would_be_negative_is_none() {
        let variation = Span::from_millis(10);
        let distribution = Distribution::Normal;
        let around = Variation { variation, distribution, correlation: 0.0, reorder: false };
        let mut draws = draws(&Jitter::Around(around));
        let delays: Vec<_> = (0..1000).map(|_| draws.draw().of(variation)).collect();
        // One in 6.3 is below one standard deviation.
        let none = delays.iter().filter(|delay| **delay == Span::ZERO).count();
        assert!((100..220).contains(&none), "{none}");
    }

    #[test]
    fn the_least_delay_is_that_of_the_lowest_value() {
        let variation = Span::from_millis(10);
        let around = |distribution| {
            let reorder = false;
            Jitter::Around(Variation { variation, distribution, correlation: 0.0, reorder })
        };
        let delay = Span::from_millis(50);
        assert_eq!(around(Distribution::Uniform).least(delay), Span::from_millis(40));
        assert_eq!(around(Distribution::Normal).least(delay), Span::from_millis(10));
        assert_eq!(Jitter::UpTo(variation).least(delay), delay);
        assert_eq!(around(Distribution::Normal).least(variation), Span::ZERO);
    }
}
