//! The registry of controllers.

use congestion::Entry;
use pyo3::prelude::*;
use tcp::Recovery;

use crate::record::record;

record! {
    /// A congestion controller of the registry.
    ControllerEntry {
        /// Name in scenarios.
        name: &'static str,
        /// Description in one sentence.
        summary: &'static str,
        /// The paper or RFC that defines it.
        source: &'static str,
        /// Provenance: `published` or `reconstructed`.
        status: &'static str,
        /// Loss recovery used when a scenario names none.
        recovery: &'static str,
        /// Its parameters.
        parameters: Vec<Parameter>,
    }
}

record! {
    /// A parameter of a controller.
    Parameter {
        /// Name in scenarios.
        name: &'static str,
        /// Default value.
        default: String,
        /// Allowed values.
        allowed: String,
        /// Meaning, with unit and source.
        meaning: &'static str,
    }
}

/// All congestion controllers, in the order of the registry.
#[pyfunction]
pub fn controllers() -> Vec<ControllerEntry> {
    congestion::entries().map(describe).collect()
}

fn describe(entry: &Entry) -> ControllerEntry {
    let parameters = entry.parameters.iter().map(|parameter| Parameter {
        name: parameter.name,
        default: parameter.default.to_string(),
        allowed: parameter.allowed.to_string(),
        meaning: parameter.meaning,
    });
    ControllerEntry {
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        status: entry.status.name(),
        recovery: Recovery::from(entry.repair).name(),
        parameters: parameters.collect(),
    }
}
