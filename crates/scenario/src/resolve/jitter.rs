//! Jitter of directions, with the distributions that it reads.

use link::{Distribution, Jitter, Variation};
use units::Span;

use language::error::Problem;

use super::channels::{Channels, unreadable};
use super::sides::{Sides, report};
use crate::distribution;
use crate::document::{self, DistributionName, JitterDistribution};
use crate::given::located;

/// The jitter of a direction. A file that cannot be read is a problem, and counts as uniform.
pub(super) fn resolve(
    sides: &Sides<'_>,
    side: usize,
    files: &Channels<'_>,
    problems: &mut Vec<Problem>,
) -> Jitter {
    let around = match sides.value(side, |one| &one.jitter) {
        None => return Jitter::UpTo(Span::ZERO),
        Some(document::Jitter::UpTo(most)) => return Jitter::UpTo(*most),
        Some(document::Jitter::Around(around)) => around,
    };
    let distribution = match &around.distribution {
        JitterDistribution::Name(DistributionName::Uniform) => Distribution::Uniform,
        JitterDistribution::Name(DistributionName::Normal) => Distribution::Normal,
        JitterDistribution::Name(DistributionName::Pareto) => Distribution::Pareto,
        JitterDistribution::Name(DistributionName::ParetoNormal) => Distribution::ParetoNormal,
        JitterDistribution::File(table) => {
            let place = sides.place(side, "jitter", |one| &one.jitter);
            let path = place.key("distribution").key("file");
            let name = &table.file.0;
            let file = located(files.tree.nearest(&path), files.directory, name);
            match distribution::read(&file) {
                Ok(values) => Distribution::Table { file: name.clone(), values: values.into() },
                Err(fault) => {
                    report(Some(*unreadable(*fault, &file, &path)), problems);
                    Distribution::Uniform
                }
            }
        }
    };
    let &document::Around { variation, correlation, reorder, .. } = &**around;
    Jitter::Around(Variation { variation, distribution, correlation, reorder })
}
