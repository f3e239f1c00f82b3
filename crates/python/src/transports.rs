//! The list of transport protocols.

use pyo3::prelude::*;
use scenario::TransportExplanation;

use crate::mechanisms::MechanismSetting;
use crate::record::record;

record! {
    /// A transport protocol that a flow can have.
    Transport {
        /// Name in scenarios: a value of `transport.protocol`.
        name: &'static str,
        /// Description in one sentence.
        summary: &'static str,
        /// The standard that defines it.
        source: &'static str,
        /// Provenance: `published`, `from an implementation` or `reconstructed`.
        status: &'static str,
        /// The implementation in which its rules were read, if it was not the source.
        implementation: Option<&'static str>,
        /// `stream` if it delivers a stream of bytes, `datagrams` if messages may be lost.
        carries: &'static str,
        /// The backends that have it.
        backends: Vec<&'static str>,
        /// Its keys in `transport`.
        parameters: Vec<MechanismSetting>,
    }
}

/// All transport protocols, in the order of `bentpipe transports`.
#[pyfunction]
pub fn transports() -> Vec<Transport> {
    scenario::transports().into_iter().map(describe).collect()
}

fn describe(transport: TransportExplanation) -> Transport {
    let TransportExplanation {
        name,
        summary,
        source,
        status,
        implementation,
        carries,
        backends,
        parameters,
    } = transport;
    let parameters = parameters.into_iter().map(MechanismSetting::from).collect();
    Transport { name, summary, source, status, implementation, carries, backends, parameters }
}
