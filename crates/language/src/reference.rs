//! The reference of a file's keys in Markdown, made from its schema.

use std::fmt::Write;

use serde_json::Value as Json;

use crate::describe;
use crate::shape;

/// True if the tables of a key, which is inside the table at the path, are described elsewhere.
pub type Elsewhere = fn(path: &str, key: &str) -> bool;

/// The keys of a file in tables under `heading`, then those of the tables inside. Headings have
/// `level` and more. Tables that several keys have are written once, for the key with the shortest
/// path.
pub fn sections(schema: &Json, heading: &str, level: usize, elsewhere: Elsewhere) -> String {
    let first =
        Section { path: String::new(), heading: heading.into(), tables: vec![schema], level };
    let mut all = Vec::new();
    walk(first.clone(), elsewhere, &mut |section| {
        all.push(section.clone());
        true
    });
    let mut text = String::new();
    walk(first, elsewhere, &mut |section| {
        let alike = all.iter().filter(|other| section.is_like(other));
        let chosen = alike.min_by_key(|other| other.path.matches('.').count());
        let other = chosen.filter(|chosen| chosen.heading != section.heading);
        section.write(&mut text, other);
        other.is_none()
    });
    text
}

/// Deepest level of headings in Markdown.
const DEEPEST: usize = 6;

/// The alternative tables of a key.
#[derive(Clone)]
struct Section<'a> {
    path: String,
    heading: String,
    tables: Vec<&'a Json>,
    level: usize,
}

/// Visits a section, and those of the tables inside it if `visit` returns true.
fn walk<'a>(
    section: Section<'a>,
    elsewhere: Elsewhere,
    visit: &mut impl FnMut(&Section<'a>) -> bool,
) {
    if !visit(&section) {
        return;
    }
    let inside: Vec<_> =
        section.keys().flat_map(|(table, key)| section.inner(key, table, elsewhere)).collect();
    inside.into_iter().for_each(|inner| walk(inner, elsewhere, visit));
}

impl<'a> Section<'a> {
    /// The keys with their tables. A key that alternatives share is that of the first of them.
    fn keys(&self) -> impl Iterator<Item = (&'a Json, &'a str)> {
        let known = |before: &[&Json], table: &Json, key: &str| {
            before.iter().any(|other| other["properties"].get(key) == table["properties"].get(key))
        };
        let tables = self.tables.iter().enumerate();
        tables.flat_map(move |(number, table)| {
            let before = &self.tables[..number];
            shape::keys(table)
                .filter(move |key| !known(before, table, key))
                .map(|key| (*table, key))
        })
    }

    /// True if both have the same keys with the same values.
    fn is_like(&self, other: &Self) -> bool {
        let alike = |(one, other): (&&Json, &&Json)| {
            ["properties", "required"].iter().all(|part| one[part] == other[part])
        };
        self.tables.len() == other.tables.len() && self.tables.iter().zip(&other.tables).all(alike)
    }

    /// Writes the section, or where its keys are if that is in another one.
    fn write(&self, text: &mut String, other: Option<&Self>) {
        let _ = write!(text, "\n{} {}\n\n", "#".repeat(self.level.min(DEEPEST)), self.heading);
        if let [only] = self.tables[..]
            && let Some(description) = only["description"].as_str()
        {
            let _ = write!(text, "{description}\n\n");
        }
        if let Some(Self { heading, .. }) = other {
            let _ = writeln!(text, "The keys are those of [{heading}](#{}).", anchor(heading));
            return;
        }
        text.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
        for (table, key) in self.keys() {
            let is_needed = |all: &&Json| shape::required(all).any(|name| name == key);
            row(text, table, key, !self.tables.iter().all(is_needed));
        }
    }

    /// The sections of a key that holds tables.
    fn inner(&self, key: &str, table: &'a Json, elsewhere: Elsewhere) -> Vec<Self> {
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
        if tables.is_empty() || shape::repeats(property, table) || elsewhere(&self.path, key) {
            return Vec::new();
        }
        let name = if named_tables.is_object() { format!("{key}.LABEL") } else { key.to_owned() };
        let path = if self.path.is_empty() { name } else { format!("{}.{name}", self.path) };
        let level = self.level + 1;
        let named = |table: &&Json| table["properties"]["name"].get("const").is_some();
        if tables.iter().all(named) {
            let section = |table: &'a Json| {
                let name = table["properties"]["name"]["const"].as_str().unwrap_or("");
                let heading = format!("`{path}`: {name}");
                Self { path: path.clone(), heading, tables: vec![table], level }
            };
            return tables.into_iter().map(section).collect();
        }
        let heading = if is_list { format!("`[[{path}]]`") } else { format!("`{path}`") };
        vec![Self { path, heading, tables, level }]
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(properties: &Json) -> Json {
        json!({ "type": "object", "properties": properties })
    }

    #[test]
    fn equal_tables_are_written_once_under_the_shortest_path() {
        let number = json!({ "type": "integer", "description": "A number." });
        let inner = table(&json!({ "depth": number }));
        let shared = table(&json!({ "inner": inner, "number": number }));
        let deep = table(&json!({ "shared": shared, "own": table(&json!({ "other": number })) }));
        let schema = table(&json!({ "a": deep, "shared": shared }));
        let page = sections(&schema, "File", 1, |_, _| false);
        assert_eq!(page.matches("The keys are those of [`shared`](#shared).").count(), 1, "{page}");
        assert_eq!(page.matches("`shared.inner`").count(), 1, "{page}");
        assert_eq!(page.matches("`a.shared.inner`").count(), 0, "{page}");
        assert!(page.contains("### `a.own`"), "{page}");
    }
}
