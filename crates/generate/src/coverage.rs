//! The keys and tables of the schema in a document, and how often each pair of tables was drawn.

use std::collections::{BTreeMap, BTreeSet};

use language::shape::{alternatives, keys, required, type_of};
use serde_json::Value as Json;

use crate::dice::Dice;
use crate::document::other_tables;

/// How often each key, each table and each pair of tables was drawn in a scenario that ran.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// All keys that the schema has, with their path.
    pub keys: BTreeMap<String, u64>,
    /// All tables: the alternatives of a key are tables of their own.
    pub tables: BTreeMap<String, u64>,
    pairs: BTreeMap<(usize, usize), u64>,
    /// Pairs that cannot stand in one scenario.
    impossible: BTreeSet<(usize, usize)>,
}

impl Coverage {
    /// Nothing of `schema` was drawn yet.
    pub fn new(schema: &Json) -> Self {
        let (mut keys, mut tables) = (BTreeSet::new(), BTreeSet::new());
        walk_schema(schema, "", &mut keys, &mut tables);
        let zero = |names: BTreeSet<String>| names.into_iter().map(|name| (name, 0)).collect();
        let tables: BTreeMap<String, u64> = zero(tables);
        let count = tables.len();
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| ((a, b), 0))).collect();
        let names: Vec<_> = tables.keys().collect();
        let mut impossible = BTreeSet::new();
        for (a, first) in names.iter().enumerate() {
            for (b, second) in names.iter().enumerate().skip(a + 1) {
                if excludes(first, second) {
                    impossible.insert((a, b));
                }
            }
        }
        Self { keys: zero(keys), tables, pairs, impossible }
    }

    /// A document with these keys and tables was run.
    pub fn count(&mut self, drawn: &Drawn) {
        for key in &drawn.keys {
            self.keys.entry(key.clone()).and_modify(|count| *count += 1).or_insert(1);
        }
        let numbers: Vec<_> = self.tables.keys().cloned().enumerate().collect();
        let mut present = Vec::new();
        for (number, name) in numbers {
            if drawn.tables.contains(&name) {
                present.push(number);
                *self.tables.entry(name).or_default() += 1;
            }
        }
        for (place, a) in present.iter().enumerate() {
            for b in &present[place + 1..] {
                *self.pairs.entry((*a, *b)).or_default() += 1;
            }
        }
    }

    /// Adds what another coverage of the same schema has counted.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.keys {
            *self.keys.entry(name.clone()).or_default() += count;
        }
        for (name, count) in &other.tables {
            *self.tables.entry(name.clone()).or_default() += count;
        }
        for (pair, count) in &other.pairs {
            *self.pairs.entry(*pair).or_default() += count;
        }
    }

    /// Keys that no scenario had.
    pub fn missing_keys(&self) -> Vec<&str> {
        self.keys.iter().filter(|(_, count)| **count == 0).map(|(name, _)| name.as_str()).collect()
    }

    /// Pairs of tables that no scenario had, of those that one can have.
    pub fn missing_pairs(&self) -> Vec<[&str; 2]> {
        let names: Vec<_> = self.tables.keys().map(String::as_str).collect();
        let missing = self
            .pairs
            .iter()
            .filter(|(pair, count)| **count == 0 && !self.impossible.contains(pair));
        missing.map(|((a, b), _)| [names[*a], names[*b]]).collect()
    }

    /// Number of pairs that a scenario can have.
    pub fn pairs(&self) -> usize {
        self.pairs.len() - self.impossible.len()
    }

    /// All pairs that a scenario can have, shuffled by `seed`.
    pub fn shuffled_pairs(&self, seed: u64) -> Vec<[String; 2]> {
        let names: Vec<_> = self.tables.keys().collect();
        let possible = self.pairs.keys().filter(|pair| !self.impossible.contains(pair));
        let mut pairs: Vec<_> =
            possible.map(|(a, b)| [names[*a].clone(), names[*b].clone()]).collect();
        let mut dice = Dice::new(seed);
        for last in (1..pairs.len()).rev() {
            pairs.swap(last, dice.below(last + 1));
        }
        pairs
    }
}

/// Returns true if no scenario can have both tables.
fn excludes(first: &str, second: &str) -> bool {
    let excludes =
        |first: &str, second: &str| needs_tcp(first, second) || needs_fields(first, second);
    are_alternatives(first, second)
        || are_rules(first, second)
        || excludes(first, second)
        || excludes(second, first)
}

/// Returns true if both tables are rules of a switch, which has one.
fn are_rules(first: &str, second: &str) -> bool {
    first != second && [first, second].iter().all(|name| name.starts_with("switch."))
}

/// Returns true if one table is of routers that read packets and the other of a tunnel that hides
/// these, or of a switch between routes of other lengths.
fn needs_fields(first: &str, second: &str) -> bool {
    (first.starts_with("flow.tunnel(") || first.starts_with("switch"))
        && second.starts_with("link")
        && second.contains("feedback(")
}

/// Returns true if one table is of another protocol, or of calls, which are datagrams, and the
/// other of what knows packets of TCP only.
fn needs_tcp(first: &str, second: &str) -> bool {
    let reads_tcp = second.starts_with("node.middlebox(")
        || second.starts_with("link") && second.contains("header_compression(")
        || second.starts_with("link") && second.ends_with(".mtu");
    let is_other = first.starts_with("flow.traffic(call)")
        || other_tables().any(|name| first == format!("flow.transport.{name}"));
    reads_tcp && is_other
}

/// Returns true if two tables are alternatives of a key that a scenario has only once.
fn are_alternatives(first: &str, second: &str) -> bool {
    let root = |name: &str| {
        !name.starts_with("link") && !name.starts_with("flow") && !name.starts_with("node")
    };
    let stem = |name: &str| name.split('(').next().unwrap_or_default().to_owned();
    root(first) && stem(first) == stem(second) && first != second
}

/// Calls with the paths of all keys and tables of a schema.
fn walk_schema(
    schema: &Json,
    path: &str,
    keys_found: &mut BTreeSet<String>,
    tables: &mut BTreeSet<String>,
) {
    let options = alternatives(schema);
    for option in &options {
        match type_of(option) {
            "object" => {
                let path = label(option, &options, path);
                tables.insert(path.clone());
                for key in keys(option) {
                    let inner = join(&path, key);
                    if has_own_tests(&inner) {
                        continue;
                    }
                    keys_found.insert(inner.clone());
                    if is_repeated(&inner) {
                        continue;
                    }
                    walk_schema(&option["properties"][key], &inner, keys_found, tables);
                }
            }
            "array" => walk_schema(&option["items"], path, keys_found, tables),
            _ => {}
        }
    }
}

/// Returns true if the tables of a key are those of another one: a proxy takes the controllers of
/// flows, and their settings of SCPS-TP and QUIC. Orbits are files of their own.
fn is_repeated(path: &str) -> bool {
    let of_flows = [".controller", ".scps", ".quic"];
    is_orbit(path)
        || path.starts_with("node.proxy.") && of_flows.iter().any(|key| path.ends_with(key))
}

/// Returns true for a path over satellites, which is the same one in all documents.
pub(crate) fn is_orbit(path: &str) -> bool {
    path.ends_with(".orbit")
}

/// Returns true for beams and mixes, which have tests of their own: many terminals and many flows
/// would take the time of all other keys. The flows of mixes are drawn as such. Files of switches
/// have tests of their own too.
pub(crate) fn has_own_tests(path: &str) -> bool {
    matches!(path, "beam" | "mix" | "switch.file")
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The path of a table, with a word that distinguishes it from the other alternatives of its key.
pub(crate) fn label(option: &Json, options: &[&Json], path: &str) -> String {
    let tables = options.iter().filter(|option| type_of(option) == "object").count();
    if tables < 2 {
        return path.to_owned();
    }
    let name = option["properties"]["name"]["const"].as_str();
    let own = name.or_else(|| required(option).next()).unwrap_or("table");
    format!("{path}({own})")
}

/// A document, and what of the schema stands in it.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The scenario as a program would write it.
    pub json: Json,
    /// Paths of its keys.
    pub keys: BTreeSet<String>,
    /// Paths of its tables.
    pub tables: BTreeSet<String>,
}

impl Drawn {
    /// Keys and tables in `json`, which may have been drawn or written.
    pub fn of(json: Json, schema: &Json) -> Self {
        let mut drawn = Self { json: Json::Null, keys: BTreeSet::new(), tables: BTreeSet::new() };
        drawn.visit(&json, schema, "");
        drawn.json = json;
        drawn
    }

    fn visit(&mut self, value: &Json, schema: &Json, path: &str) {
        let options = alternatives(schema);
        match value {
            Json::Object(table) => {
                let fits = |option: &&&Json| {
                    type_of(option) == "object"
                        && table.keys().all(|key| option["properties"].get(key).is_some())
                        && required(option).all(|key| table.contains_key(key))
                        && option["properties"]["name"]
                            .get("const")
                            .is_none_or(|name| table.get("name") == Some(name))
                };
                let Some(option) = options.iter().find(fits) else { return };
                let path = label(option, &options, path);
                self.tables.insert(path.clone());
                for (key, value) in table {
                    let inner = join(&path, key);
                    self.keys.insert(inner.clone());
                    if is_repeated(&inner) {
                        continue;
                    }
                    self.visit(value, &option["properties"][key], &inner);
                }
            }
            Json::Array(items) => {
                let list = options.iter().find(|option| type_of(option) == "array");
                for item in items {
                    list.iter().for_each(|list| self.visit(item, &list["items"], path));
                }
            }
            _ => {}
        }
    }
}
