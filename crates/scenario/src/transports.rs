//! Transport protocols: the list of the crate `transport`, with the parameters of the schema.

use serde::Serialize;
use serde_json::Value as Json;
use transport::{Protocol, ProtocolEntry};

use crate::mechanisms::{MechanismParameter, parameters};
use crate::schema;

/// A transport protocol with everything that `bentpipe transports` shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransportExplanation {
    /// Its name in scenarios: a value of `transport.protocol`.
    pub name: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// The standard that defines it.
    pub source: &'static str,
    /// `published`, `from an implementation` or `reconstructed`.
    pub status: &'static str,
    /// The implementation in which its rules were read, if it was not the source.
    pub implementation: Option<&'static str>,
    /// `stream` if it delivers a stream of bytes, `datagrams` if messages may be lost.
    pub carries: &'static str,
    /// The backends that have it.
    pub backends: Vec<&'static str>,
    /// Its keys in `transport`; those of its own table have its name and a dot before them.
    pub parameters: Vec<MechanismParameter>,
}

/// All transport protocols, in the order of their list.
pub fn transports() -> Vec<TransportExplanation> {
    Protocol::ALL.iter().map(|protocol| explain(protocol.entry())).collect()
}

fn explain(entry: &'static ProtocolEntry) -> TransportExplanation {
    let table = &schema::cached()["properties"]["flow"]["items"]["properties"]["transport"];
    let simulator = Some("simulator");
    TransportExplanation {
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        status: entry.status.name(),
        implementation: entry.status.implementation(),
        carries: if entry.has_stream { "stream" } else { "datagrams" },
        backends: simulator.into_iter().chain(entry.on_kernel.then_some("kernel")).collect(),
        parameters: keys(entry, table),
    }
}

/// The keys that a protocol takes: those of its own table first.
fn keys(entry: &ProtocolEntry, transport: &Json) -> Vec<MechanismParameter> {
    let tables: Vec<_> = Protocol::ALL.iter().filter_map(|one| one.entry().table).collect();
    let own = entry.table.into_iter().flat_map(|table| {
        let named = move |parameter: MechanismParameter| MechanismParameter {
            name: format!("{table}.{}", parameter.name),
            ..parameter
        };
        parameters(&transport["properties"][table]).into_iter().map(named)
    });
    let is_taken = |key: &str| key != "protocol" && !tables.contains(&key) && entry.takes(key);
    let others = parameters(transport).into_iter().filter(|one| is_taken(&one.name));
    own.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use language::shape;

    #[test]
    fn every_protocol_of_the_schema_is_listed_and_every_parameter_has_a_meaning() {
        let schema = schema::cached();
        let flow = &schema["properties"]["flow"]["items"]["properties"];
        let words = shape::words(&flow["transport"]["properties"]["protocol"]);
        let listed = transports();
        assert_eq!(words, listed.iter().map(|one| one.name).collect::<Vec<_>>());
        for transport in listed {
            // Datagrams have no settings.
            let has_parameters = !transport.parameters.is_empty();
            assert_eq!(has_parameters, transport.carries == "stream", "{}", transport.name);
            for parameter in transport.parameters {
                assert!(!parameter.meaning.is_empty(), "{}.{}", transport.name, parameter.name);
            }
        }
    }

    #[test]
    fn keys_of_lists_are_keys_of_the_schema() {
        let schema = schema::cached();
        let transport = &schema["properties"]["flow"]["items"]["properties"]["transport"];
        for protocol in Protocol::ALL {
            let entry = protocol.entry();
            let (transport::TakenKeys::AllBut(keys) | transport::TakenKeys::Only(keys)) =
                entry.keys;
            for key in keys.iter().chain(&entry.table) {
                let property = &transport["properties"][*key];
                assert!(property.is_object(), "{}: {key}", entry.name);
            }
        }
    }
}
