//! The reference of the language in Markdown, made from its schema.

use std::fmt::Write;

use serde_json::Value as Json;

use crate::describe;
use crate::schema;
use crate::shape;

/// The reference of the scenario language in Markdown, for `docs/scenario.md`.
pub fn reference() -> String {
    let schema = schema::cached();
    let mut text = String::from(HEAD);
    section(&mut text, "", "The file", &[schema], 2);
    text
}

/// The keys of a file, with headings from `level`.
pub(crate) fn sections(schema: &Json, level: usize) -> String {
    let mut text = String::new();
    section(&mut text, "", "Keys of the file", &[schema], level);
    text
}

const HEAD: &str = "\
# The scenario language

<!-- Made from the types in `crates/scenario/src/document`; do not edit. -->

A scenario is a TOML file. Quantities are texts with their unit: rates in `bit/s`, `kbit/s`,
`Mbit/s`, `Gbit/s` (or `B/s`, `kB/s`, `MB/s`, `GB/s`), times in `ns`, `us`, `ms`, `s`, `min`, `h`,
sizes in `B`, `kB`, `MB`, `GB` (powers of 1000) and `KiB`, `MiB`, `GiB` (powers of 1024).

Any value can be replaced on the command line with `--set PATH=VALUE`. A path is written as below,
with an index from 0 for the tables in double brackets: `link.1.forward.rate=1Mbit/s`,
`flow.0.controller=reno`; `flow.*.transport.mss=1400` sets it for all flows. A node or flow can be
given by its name, and a link by its two nodes: `node.gateway.proxy=none`, `flow.download.controller=reno`,
`link.hub-ship.rate=1Mbit/s`. A number is always an index. A name with a dot cannot be written in a path.

`bentpipe explain FILE` shows every value of a scenario and marks the defaults.

`bentpipe schema` prints the JSON Schema of this page. Editors with TOML support check and complete a
file that names it in the first line: after `bentpipe schema > scenario.schema.json` that line is
`#:schema ./scenario.schema.json`. The same goes for study files and `bentpipe schema study`.
";

/// The tables `alternatives` at `path`, then the tables inside them.
fn section(text: &mut String, path: &str, heading: &str, alternatives: &[&Json], level: usize) {
    let _ = write!(text, "\n{} {heading}\n\n", "#".repeat(level));
    if let [only] = alternatives
        && let Some(description) = only["description"].as_str()
    {
        let _ = write!(text, "{description}\n\n");
    }
    text.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
    // What alternatives share is written once, with the first of them that has it.
    let known = |before: &[&Json], table: &Json, key: &str| {
        before.iter().any(|other| other["properties"].get(key) == table["properties"].get(key))
    };
    for (number, table) in alternatives.iter().enumerate() {
        for key in shape::keys(table).filter(|key| !known(&alternatives[..number], table, key)) {
            let shared = alternatives.iter().all(|all| shape::required(all).any(|k| k == key));
            row(text, table, key, !shared);
        }
    }
    for (number, table) in alternatives.iter().enumerate() {
        for key in shape::keys(table).filter(|key| !known(&alternatives[..number], table, key)) {
            inner(text, path, key, table, level);
        }
    }
}

fn row(text: &mut String, table: &Json, key: &str, is_choice: bool) {
    let property = &table["properties"][key];
    let required = shape::required(table).any(|name| name == key);
    let default = match &property["default"] {
        _ if required && is_choice => "one of these".into(),
        _ if required => "required".into(),
        Json::Null => String::new(),
        // Spelt out in the section of the table.
        Json::Object(_) if is_table(property) => String::new(),
        default => format!("`{}`", toml(default)),
    };
    let expected = describe::expected(&shape::alternatives(property));
    let meaning = property["description"].as_str().unwrap_or("");
    let cell = |text: &str| text.replace('|', "\\|");
    let _ = writeln!(text, "| `{key}` | {} | {default} | {} |", cell(&expected), cell(meaning));
}

/// Whether a property is one table and nothing else.
fn is_table(property: &Json) -> bool {
    property["type"] == "object"
}

/// A default as it would be written.
fn toml(json: &Json) -> String {
    match json {
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key} = {}", toml(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Json::String(text) => format!("{text:?}"),
        other => describe::plain(other),
    }
}

/// The section of a key that holds tables.
fn inner(text: &mut String, path: &str, key: &str, table: &Json, level: usize) {
    let property = &table["properties"][key];
    let is_list = shape::is_tables(property);
    let named_tables = &property["additionalProperties"];
    let options = shape::alternatives(match named_tables {
        Json::Object(_) => named_tables,
        _ if is_list => &property["items"],
        _ => property,
    });
    let with_keys =
        |table: &&Json| shape::type_of(table) == "object" && shape::keys(table).count() > 0;
    let tables: Vec<_> = options.into_iter().filter(with_keys).collect();
    // Controllers are written once, with those of flows.
    let is_known = key == "controller" && path != "flow";
    if tables.is_empty() || shape::repeats(property, table) || is_known {
        return;
    }
    let name = if named_tables.is_object() { format!("{key}.LABEL") } else { key.to_owned() };
    let path = if path.is_empty() { name } else { format!("{path}.{name}") };
    let named = |table: &&Json| table["properties"]["name"].get("const").is_some();
    if tables.iter().all(named) {
        for table in tables {
            let name = table["properties"]["name"]["const"].as_str().unwrap_or("");
            section(text, &path, &format!("`{path}`: {name}"), &[table], level + 1);
        }
        return;
    }
    let heading = if is_list { format!("`[[{path}]]`") } else { format!("`{path}`") };
    section(text, &path, &heading, &tables, level + 1);
}
