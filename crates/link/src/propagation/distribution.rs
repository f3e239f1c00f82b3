//! Distributions of jitter: the tables of netem, and those of files in the format of iproute2.
//!
//! A table has the values of a distribution at equal steps of probability, in 1/8192 of the
//! standard deviation (`NETEM_DIST_SCALE`). netem draws one of the values for each packet and
//! multiplies it (`tabledist` in net/sched/sch_netem.c). The three tables here are made by the
//! definitions of iproute2's netem/normal.c, pareto.c and paretonormal.c. Compared with the files
//! of iproute2 6.1: pareto is the same, and the two others differ from it by one unit in a few
//! hundred of the 4096 places, because iproute2 searches its quantiles in steps.
//!
//! - normal: quantiles of the normal distribution.
//! - pareto: 4/3 (X - 3/2), X having the Pareto distribution of shape 3 from 1 on. It ends at 4
//!   (32767 / 8192), so its mean is -0.033 and its standard deviation 0.820.
//! - paretonormal: a quarter of the normal quantile and three quarters of that of pareto. Its mean
//!   is -0.025 and its standard deviation 0.834.

use std::sync::{Arc, LazyLock};

use super::normal;

/// Units of a table for one standard deviation.
pub(super) const SCALE: u64 = 8192;
/// Places of the tables that are made here.
const PLACES: u16 = 4096;
/// Most values of a table, as in netem (`NETEM_DIST_MAX`).
pub const MOST_VALUES: usize = 16_384;

/// Distribution of jitter.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Evenly between both ends.
    Uniform,
    /// Normal, up to 4 standard deviations.
    Normal,
    /// Pareto of shape 3.
    Pareto,
    /// A quarter normal, three quarters Pareto.
    ParetoNormal,
    /// Values of a file in 1/8192 of the variation, rising or not; not empty.
    Table {
        /// Name of the file as it was written.
        file: String,
        /// The values.
        values: Arc<[i16]>,
    },
}

static NORMAL: LazyLock<Arc<[i16]>> = LazyLock::new(|| table(normal_units));
static PARETO: LazyLock<Arc<[i16]>> = LazyLock::new(|| table(pareto_units));
static PARETO_NORMAL: LazyLock<Arc<[i16]>> =
    LazyLock::new(|| table(|place| (normal_units(place) + 3.0 * pareto_units(place)) / 4.0));

impl Distribution {
    /// Its name in scenarios.
    pub fn name(&self) -> &str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::Pareto => "pareto",
            Self::ParetoNormal => "paretonormal",
            Self::Table { file, .. } => file,
        }
    }

    /// Its table; none for the uniform distribution, which needs none.
    pub(super) fn table(&self) -> Option<Arc<[i16]>> {
        Some(match self {
            Self::Uniform => return None,
            Self::Normal => NORMAL.clone(),
            Self::Pareto => PARETO.clone(),
            Self::ParetoNormal => PARETO_NORMAL.clone(),
            Self::Table { values, .. } => values.clone(),
        })
    }

    /// Mean and standard deviation in variations.
    pub fn moments(&self) -> (f64, f64) {
        let Some(table) = self.table() else { return (0.0, 1.0 / libm::sqrt(3.0)) };
        let number = table.len() as f64;
        let sum = |of: &dyn Fn(f64) -> f64| {
            table.iter().map(|value| of(f64::from(*value) / SCALE as f64)).sum::<f64>() / number
        };
        let mean = sum(&|value| value);
        (mean, libm::sqrt(sum(&|value| (value - mean) * (value - mean))))
    }

    /// The value in variations below which a share of `share` of the values lies, from 0 to 1.
    pub fn quantile(&self, share: f64) -> f64 {
        let Some(table) = self.table() else { return 2.0 * share - 1.0 };
        let mut sorted = table.to_vec();
        sorted.sort_unstable();
        f64::from(sorted[place(share, sorted.len())]) / SCALE as f64
    }

    /// Share of values below `limit`, which is in variations.
    pub fn share_below(&self, limit: f64) -> f64 {
        let Some(table) = self.table() else { return ((limit + 1.0) / 2.0).clamp(0.0, 1.0) };
        let below = table.iter().filter(|value| f64::from(**value) / (SCALE as f64) < limit);
        below.count() as f64 / table.len() as f64
    }
}

/// The mean of the values between two places from 0 to 1, in units of `table`; of the places
/// themselves without one.
pub(super) fn mean_between(table: Option<&[i16]>, from: f64, to: f64) -> f64 {
    let Some(table) = table else { return (from + to) / 2.0 };
    let (first, last) = (place(from, table.len()), place(to, table.len()));
    let values = &table[first..last.max(first + 1)];
    values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64
}

/// The place of `share`, from 0 to 1, among `places` places.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share is from 0 to 1"
)]
pub(super) fn place(share: f64, places: usize) -> usize {
    ((share * places as f64) as usize).min(places - 1)
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to the type")]
fn table(value: impl Fn(u16) -> f64) -> Arc<[i16]> {
    let clamped = |place| value(place).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
    (0..PLACES).map(clamped).collect()
}

/// The normal quantile of a place: that of the middle of the first of its four cells of iproute2.
fn normal_units(place: u16) -> f64 {
    let share = (4.0 * f64::from(place) + 0.5) / (4.0 * f64::from(PLACES));
    libm::rint(normal::quantile(share) * SCALE as f64)
}

fn pareto_units(place: u16) -> f64 {
    let left = f64::from(PLACES - place) / f64::from(PLACES);
    let value = (libm::pow(left, -1.0 / 3.0) - 1.5) * 4.0 / 3.0 * SCALE as f64;
    libm::rint(value.min(i16::MAX.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first, middle and last values of the files of iproute2, within the unit by which its
    /// search may be off.
    #[test]
    fn the_tables_are_those_of_iproute2() {
        let known: [(Distribution, [i16; 4], [i16; 4]); 3] = [
            (Distribution::Normal, [-32768, -28307, -26871, -25967], [25450, 26164, 27159, 28858]),
            (Distribution::Pareto, [-5461, -5460, -5460, -5459], [32767; 4]),
            (
                Distribution::ParetoNormal,
                [-12305, -11171, -10812, -10586],
                [30937, 31116, 31365, 31789],
            ),
        ];
        for (distribution, first, last) in known {
            let table = distribution.table().unwrap();
            assert_eq!(table.len(), 4096);
            for (found, known) in table.iter().zip(first).chain(table[4092..].iter().zip(last)) {
                assert!(found.abs_diff(known) <= 1, "{distribution:?}: {found} and {known}");
            }
            assert!(table.is_sorted());
        }
    }

    /// Means and standard deviations of the files of iproute2 6.1, within half a unit of a table.
    #[test]
    fn moments_are_those_of_the_files_of_iproute2() {
        let known = [
            (Distribution::Normal, -0.00078, 1.00005),
            (Distribution::Pareto, -0.03349, 0.81968),
            (Distribution::ParetoNormal, -0.02530, 0.83394),
            (Distribution::Uniform, 0.0, 0.57735),
        ];
        for (distribution, mean, deviation) in known {
            let (found_mean, found_deviation) = distribution.moments();
            assert!((found_mean - mean).abs() < 5e-5, "{distribution:?}: mean {found_mean}");
            assert!(
                (found_deviation - deviation).abs() < 5e-5,
                "{distribution:?}: {found_deviation}"
            );
        }
    }

    #[test]
    fn quantiles_and_shares_are_each_others_inverse() {
        for distribution in [Distribution::Uniform, Distribution::Normal, Distribution::Pareto] {
            for share in [0.1, 0.5, 0.9] {
                let found = distribution.share_below(distribution.quantile(share));
                assert!((found - share).abs() < 1e-3, "{distribution:?}: {found} for {share}");
            }
        }
        assert!((Distribution::Normal.quantile(0.975) - 1.96).abs() < 0.01);
    }
}
