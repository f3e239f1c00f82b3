//! The list of profiles of hosts.

use pyo3::prelude::*;
use scenario::hosts::{HostProfile as Explained, profiles};

use crate::record::record;

record! {
    /// A profile of an operating system that hosts of a flow can have.
    HostProfile {
        /// Name in scenarios: a value of `host`.
        name: &'static str,
        /// Description in one sentence.
        summary: &'static str,
        /// The operating system.
        system: &'static str,
        /// `from its sources`, or `reconstructed` if its buffers or controller have no source.
        status: &'static str,
        /// The backends that can follow it.
        backends: Vec<&'static str>,
        /// Its values, and the keys without a source, which keep their default.
        values: Vec<HostValue>,
        /// Rules of the system that the simulator does not have.
        notes: Vec<&'static str>,
    }
}

record! {
    /// A value of a profile of a host.
    HostValue {
        /// Its key in a flow.
        name: &'static str,
        /// The value in the notation of scenarios.
        value: String,
        /// Where it was found.
        source: &'static str,
        /// `read in its source`, `measured`, `secondary source`, `reconstructed`, `no source`.
        certainty: &'static str,
    }
}

/// All profiles of hosts, in the order of `bentpipe hosts`.
#[pyfunction]
pub fn hosts() -> Vec<HostProfile> {
    profiles().into_iter().map(describe).collect()
}

fn describe(profile: Explained) -> HostProfile {
    let Explained { name, summary, system, status, backends, values, notes } = profile;
    let values = values.into_iter().map(|value| {
        let scenario::hosts::HostValue { name, value, source, certainty } = value;
        HostValue { name, value, source, certainty }
    });
    let (values, notes) = (values.collect(), notes.to_vec());
    HostProfile { name, summary, system, status, backends, values, notes }
}
