//! The reference of a file's keys in Markdown, made from its schema.

use std::fmt::Write;

use serde_json::Value as Json;

use crate::describe;
use crate::shape;

/// True if the tables of a key, which is inside the table at the path, are described elsewhere.
pub type Elsewhere = fn(path: &str, key: &str) -> bool;

/// The keys of a file in tables under `heading`, then those of the tables inside. Headings have
/// `level` and more.
pub fn sections(schema: &Json, heading: &str, level: usize, elsewhere: Elsewhere) -> String {
    let mut page = Page { text: String::new(), elsewhere, written: Vec::new() };
    page.section("", heading, &[schema], level);
    page.text
}

/// Deepest level of headings in Markdown.
const DEEPEST: usize = 6;

struct Page<'a> {
    text: String,
    elsewhere: Elsewhere,
    /// Tables with a section, and its heading.
    written: Vec<(Vec<&'a Json>, String)>,
}

impl<'a> Page<'a> {
    /// The tables `alternatives` at `path`, then the tables inside them. Tables that another
    /// section has are not written again.
    fn section(&mut self, path: &str, heading: &str, alternatives: &[&'a Json], level: usize) {
        let _ = write!(self.text, "\n{} {heading}\n\n", "#".repeat(level.min(DEEPEST)));
        if let [only] = alternatives
            && let Some(description) = only["description"].as_str()
        {
            let _ = write!(self.text, "{description}\n\n");
        }
        let mut sections = self.written.iter();
        if let Some((_, same)) = sections.find(|(tables, _)| are_alike(tables, alternatives)) {
            let _ = writeln!(self.text, "The keys are those of [{same}](#{}).", anchor(same));
            return;
        }
        self.written.push((alternatives.to_vec(), heading.to_owned()));
        self.text.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
        // A key that alternatives share is written once, with the first of them.
        let known = |before: &[&Json], table: &Json, key: &str| {
            before.iter().any(|other| other["properties"].get(key) == table["properties"].get(key))
        };
        for (number, table) in alternatives.iter().enumerate() {
            for key in shape::keys(table).filter(|key| !known(&alternatives[..number], table, key))
            {
                let shared = alternatives.iter().all(|all| shape::required(all).any(|k| k == key));
                row(&mut self.text, table, key, !shared);
            }
        }
        for (number, table) in alternatives.iter().enumerate() {
            for key in shape::keys(table).filter(|key| !known(&alternatives[..number], table, key))
            {
                self.inner(path, key, table, level);
            }
        }
    }

    /// The section of a key that holds tables.
    fn inner(&mut self, path: &str, key: &str, table: &'a Json, level: usize) {
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
        // A list of tables may be one of several alternatives.
        let in_lists = |option| match shape::is_tables(option) {
            true => shape::alternatives(&option["items"]),
            false => vec![option],
        };
        let tables: Vec<_> = options.into_iter().flat_map(in_lists).filter(with_keys).collect();
        if tables.is_empty() || shape::repeats(property, table) || (self.elsewhere)(path, key) {
            return;
        }
        let name = if named_tables.is_object() { format!("{key}.LABEL") } else { key.to_owned() };
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        let named = |table: &&Json| table["properties"]["name"].get("const").is_some();
        if tables.iter().all(named) {
            for table in tables {
                let name = table["properties"]["name"]["const"].as_str().unwrap_or("");
                self.section(&path, &format!("`{path}`: {name}"), &[table], level + 1);
            }
            return;
        }
        let heading = if is_list { format!("`[[{path}]]`") } else { format!("`{path}`") };
        self.section(&path, &heading, &tables, level + 1);
    }
}

/// True if both have the same keys with the same values.
fn are_alike(first: &[&Json], second: &[&Json]) -> bool {
    let alike = |(one, other): (&&Json, &&Json)| {
        ["properties", "required"].iter().all(|part| one[part] == other[part])
    };
    first.len() == second.len() && first.iter().zip(second).all(alike)
}

/// The anchor of a heading in a page of Markdown.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn row(text: &mut String, table: &Json, key: &str, is_choice: bool) {
    let property = &table["properties"][key];
    let required = shape::required(table).any(|name| name == key);
    let default = match &property["default"] {
        _ if required && is_choice => "one of these".into(),
        _ if required => "required".into(),
        Json::Null => String::new(),
        // In the section of the table.
        Json::Object(_) if is_table(property) => String::new(),
        default => format!("`{}`", toml(default)),
    };
    let expected = describe::expected(&shape::alternatives(property));
    let meaning = property["description"].as_str().unwrap_or("");
    let cell = |text: &str| text.replace('|', "\\|");
    let _ = writeln!(text, "| `{key}` | {} | {default} | {} |", cell(&expected), cell(meaning));
}

/// True if a property is a table, without alternatives.
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
