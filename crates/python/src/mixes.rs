//! The list of mixes.

use pyo3::prelude::*;
use scenario::mix::MIXES;

use crate::record::record;

record! {
    /// A mix: the applications of a household or an office.
    Mix {
        /// Name in scenarios: a value of `preset` of a `[[mix]]`.
        name: &'static str,
        /// Description in one sentence.
        summary: &'static str,
        /// Where its applications and numbers are from.
        source: &'static str,
        /// How certain they are: `read in its source`, or `reconstructed`.
        certainty: &'static str,
        /// Names of its parts.
        parts: Vec<String>,
        /// Its flows in TOML, without `from` and `to`.
        flows: &'static str,
    }
}

/// All mixes, in the order of `bentpipe mixes`.
#[pyfunction]
pub fn mixes() -> Vec<Mix> {
    let entry = |one: &scenario::mix::Mix| Mix {
        name: one.name,
        summary: one.summary,
        source: one.source,
        certainty: one.certainty.name(),
        parts: one.parts(),
        flows: one.flows,
    };
    MIXES.iter().map(entry).collect()
}
