//! The registry of controllers.

use congestion::{Entry, Need};
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
        /// Provenance: `published`, `from an implementation`, `reconstructed` or `experimental`.
        status: &'static str,
        /// The implementation in which its rules were read, if it was not the source.
        implementation: Option<&'static str>,
        /// Loss recovery used when a scenario names none.
        recovery: &'static str,
        /// Routers that it cannot do without, in words.
        needed_routers: Option<&'static str>,
        /// Values of the path that its parameters `rate` (Mbit/s) and `rtt` (ms) need, in words.
        needed_settings: Option<&'static str>,
        /// Its parameters.
        parameters: Vec<Parameter>,
        /// Its other variants, which the parameter `variant` chooses.
        variants: Vec<ControllerVariant>,
    }
}

record! {
    /// Another form of a controller.
    ControllerVariant {
        /// The value of the parameter `variant`.
        variant: &'static str,
        /// Description in one sentence.
        summary: &'static str,
        /// Provenance, as of a controller.
        status: &'static str,
        /// The implementation in which its rules were read, if it was not the source.
        implementation: Option<&'static str>,
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
    let (needed_routers, needed_settings) = match congestion::need(entry.name) {
        Some(Need::Routers(words)) => (Some(words), None),
        Some(Need::Settings(words)) => (None, Some(words)),
        None => (None, None),
    };
    ControllerEntry {
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        status: entry.status.name(),
        implementation: entry.status.implementation(),
        recovery: Recovery::from(entry.repair).name(),
        needed_routers,
        needed_settings,
        parameters: parameters(entry),
        variants: congestion::variants(entry.name).map(describe_variant).collect(),
    }
}

fn describe_variant((variant, entry): (&'static str, &Entry)) -> ControllerVariant {
    ControllerVariant {
        variant,
        summary: entry.summary,
        status: entry.status.name(),
        implementation: entry.status.implementation(),
        parameters: parameters(entry),
    }
}

fn parameters(entry: &Entry) -> Vec<Parameter> {
    let parameter = |parameter: &congestion::Parameter| Parameter {
        name: parameter.name,
        default: parameter.default.to_string(),
        allowed: parameter.allowed.to_string(),
        meaning: parameter.meaning,
    };
    entry.parameters.iter().map(parameter).collect()
}
