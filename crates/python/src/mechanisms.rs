//! Mechanisms on the path.

use pyo3::prelude::*;
use scenario::{MechanismExplanation, MechanismParameter};

use crate::record::record;

record! {
    /// A mechanism that a scenario can put on the path.
    Mechanism {
        /// Name in scenarios.
        name: &'static str,
        /// The key of a scenario that takes it.
        key: &'static str,
        /// Kind of mechanism.
        kind: &'static str,
        /// Description in one or two sentences.
        summary: String,
        /// The paper or RFC that defines it.
        source: &'static str,
        /// Provenance: `published`, `from an implementation` or `reconstructed`.
        status: &'static str,
        /// When it does more harm than good.
        hurts: &'static str,
        /// Its parameters.
        parameters: Vec<MechanismSetting>,
    }
}

record! {
    /// A parameter of a mechanism or of a transport protocol.
    MechanismSetting {
        /// Name in scenarios.
        name: String,
        /// Default value.
        default: String,
        /// Allowed values.
        allowed: String,
        /// Meaning, with unit and source.
        meaning: String,
    }
}

/// All mechanisms that a scenario can put on the path, in the order of `bentpipe path`.
#[pyfunction]
pub fn mechanisms() -> Vec<Mechanism> {
    scenario::mechanisms().into_iter().map(describe).collect()
}

impl From<MechanismParameter> for MechanismSetting {
    fn from(parameter: MechanismParameter) -> Self {
        let MechanismParameter { name, default, allowed, meaning } = parameter;
        Self { name, default, allowed, meaning }
    }
}

fn describe(mechanism: MechanismExplanation) -> Mechanism {
    let MechanismExplanation { name, key, kind, summary, source, status, hurts, parameters } =
        mechanism;
    let parameters = parameters.into_iter().map(MechanismSetting::from).collect();
    Mechanism { name, key, kind, summary, source, status, hurts, parameters }
}
