//! Mechanisms on the path: what each crate says of its own, with the parameters of the schema.

use language::describe;
use language::shape::{self, type_of};
use link::Mechanism;
use middlebox::Preset;
use serde::Serialize;
use serde_json::Value as Json;

use crate::schema;

/// A mechanism with everything that `bentpipe path` shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MechanismExplanation {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The key of a scenario that takes it.
    pub key: &'static str,
    /// The kind of the mechanism.
    pub kind: &'static str,
    /// Description in one sentence.
    pub summary: String,
    /// The paper or RFC that defines it.
    pub source: &'static str,
    /// `published`, `from an implementation` or `reconstructed`.
    pub status: &'static str,
    /// When it does more harm than good.
    pub hurts: &'static str,
    /// Its parameters.
    pub parameters: Vec<MechanismParameter>,
}

/// A parameter of a mechanism, or of a transport.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MechanismParameter {
    /// Name in scenarios.
    pub name: String,
    /// Default value.
    pub default: String,
    /// Allowed values.
    pub allowed: String,
    /// Meaning, with unit and source.
    pub meaning: String,
}

/// All mechanisms. A crate with others adds its list here.
fn listed() -> impl Iterator<Item = &'static Mechanism> {
    let lists = [link::mechanisms(), middlebox::mechanisms()];
    lists.into_iter().flatten()
}

/// All mechanisms on the path, in the order of their lists.
pub fn mechanisms() -> Vec<MechanismExplanation> {
    listed().map(explain).collect()
}

fn explain(mechanism: &Mechanism) -> MechanismExplanation {
    let &Mechanism { name, key, kind, source, status, hurts } = mechanism;
    let table = table(name, key);
    // All presets have the keys of one table, which does not describe them.
    let preset: Option<Preset> = serde_json::from_value(name.into()).ok();
    let of_table = || table["description"].as_str().unwrap_or_default();
    MechanismExplanation {
        name,
        key,
        kind,
        summary: preset.map_or_else(of_table, Preset::summary).to_owned(),
        source,
        status: status.name(),
        hurts,
        parameters: parameters(table),
    }
}

/// True if the key of a mechanism takes no other. Its table has no `name` then.
fn is_alone(name: &str, key: &str) -> bool {
    key.rsplit('.').next() == Some(name)
}

/// The schema of the table of a mechanism.
fn table(name: &str, key: &str) -> &'static Json {
    let root = schema::cached();
    let inner = |schema: &'static Json, key: &str| {
        let options = shape::alternatives(schema)
            .into_iter()
            .map(|option| if type_of(option) == "array" { &option["items"] } else { option });
        options.map(|option| &option["properties"][key]).find(|found| !found.is_null())
    };
    let found = key.split('.').try_fold(root, inner);
    let options = found.map(shape::alternatives).unwrap_or_default();
    let named = |option: &&Json| match is_alone(name, key) {
        true => type_of(option) == "object",
        false if option["properties"].get("preset").is_some() => true,
        false => option["properties"]["name"]["const"] == name,
    };
    options.into_iter().find(named).unwrap_or(&Json::Null)
}

/// The keys of the table of a mechanism or transport, but for its name.
pub(crate) fn parameters(table: &Json) -> Vec<MechanismParameter> {
    let names = shape::keys(table).filter(|key| !matches!(*key, "name" | "preset"));
    let parameter = |name: &str| {
        let property = &table["properties"][name];
        let default = &property["default"];
        MechanismParameter {
            name: name.to_owned(),
            default: match default {
                // A table of keys that have their own defaults.
                Json::Null | Json::Object(_) => "none".into(),
                default => describe::plain(default),
            },
            allowed: describe::expected(&shape::alternatives(property)),
            meaning: property["description"].as_str().unwrap_or_default().to_owned(),
        }
    };
    names.map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_mechanism_has_a_summary_and_parameters_with_meaning_in_the_schema() {
        for mechanism in mechanisms() {
            let name = mechanism.name;
            assert!(mechanism.summary.ends_with('.'), "{name}: {}", mechanism.summary);
            assert!(!mechanism.parameters.is_empty(), "{name}");
            for parameter in mechanism.parameters {
                assert!(!parameter.meaning.is_empty(), "{name}.{}", parameter.name);
            }
        }
    }

    #[test]
    fn each_preset_has_a_summary_of_its_own() {
        let of_proxies = listed().filter(|one| one.key == "node.proxy");
        let presets: Vec<_> = of_proxies.map(explain).collect();
        assert!(presets.len() > 1);
        let summaries: BTreeSet<_> = presets.iter().map(|one| &one.summary).collect();
        assert_eq!(summaries.len(), presets.len(), "{summaries:?}");
        for preset in &presets {
            let table = table(preset.name, preset.key);
            assert_ne!(preset.summary, table["description"].as_str().unwrap());
        }
    }

    #[test]
    fn every_name_that_a_key_takes_is_a_mechanism() {
        let tables = &schema::cached()["properties"];
        for (table, name) in [
            ("link", "aqm"),
            ("link", "arq"),
            ("link", "fec"),
            ("link", "feedback"),
            ("link", "demand"),
            ("link", "header_compression"),
            ("node", "middlebox"),
        ] {
            let key = &tables[table]["items"]["properties"][name];
            let words = shape::alternatives(key).into_iter().flat_map(shape::words);
            let words: Vec<_> = words.collect();
            let path = format!("{table}.{name}");
            let mut expected = vec!["none"];
            expected.extend(listed().filter(|one| one.key == path).map(|one| one.name));
            assert_eq!(words, expected);
        }
        let channel = &tables["link"]["items"]["properties"]["channel"];
        let modems = shape::alternatives(channel).into_iter().find_map(|option| {
            let modem = &option["properties"]["modem"];
            (!modem.is_null()).then(|| shape::alternatives(modem))
        });
        let words: Vec<_> = modems.into_iter().flatten().flat_map(shape::words).collect();
        let of_modem = |one: &&Mechanism| one.key == "link.channel.modem";
        assert_eq!(words, listed().filter(of_modem).map(|one| one.name).collect::<Vec<_>>());
    }
}
