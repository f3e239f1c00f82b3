//! Reads a JSON Schema: its alternatives, types, words and keys.

use std::collections::BTreeSet;

use serde_json::Value as Json;

/// The alternatives of a schema; a schema without any is its own.
pub fn alternatives(schema: &Json) -> Vec<&Json> {
    match schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        Some(options) => options.iter().flat_map(alternatives).collect(),
        None => vec![schema],
    }
}

/// The JSON Schema type of a schema without alternatives.
pub fn type_of(schema: &Json) -> &str {
    schema["type"].as_str().unwrap_or("string")
}

/// The words that a schema without alternatives admits; empty if it admits other values.
pub fn words(schema: &Json) -> Vec<&str> {
    let several = schema["enum"].as_array().into_iter().flatten();
    several.chain(schema.get("const")).filter_map(Json::as_str).collect()
}

/// The keys of a table.
pub fn keys(schema: &Json) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str())
}

/// True if `property` of `table` is a table that repeats keys of `table`: `forward` and `backward`.
pub fn repeats(property: &Json, table: &Json) -> bool {
    let mut own = keys(property).peekable();
    own.peek().is_some() && own.all(|key| table["properties"].get(key).is_some())
}

/// The keys that a table must have.
pub fn required(schema: &Json) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str)
}

/// True if a schema describes a list of tables, `[[like this]]`.
pub fn is_tables(schema: &Json) -> bool {
    type_of(schema) == "array"
        && alternatives(&schema["items"]).iter().all(|item| type_of(item) == "object")
}

/// Paths of all keys below a schema, such as `link.channel.per`. Lists have no index. `LABEL`
/// stands for a name that the user chooses. Tables that repeat keys of their table are left out.
pub fn paths(schema: &Json) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    add_paths(schema, "", &mut all);
    all
}

fn add_paths(schema: &Json, path: &str, all: &mut BTreeSet<String>) {
    for table in alternatives(schema) {
        for (inner, step) in [("items", ""), ("additionalProperties", "LABEL.")] {
            if table[inner].is_object() {
                add_paths(&table[inner], &format!("{path}{step}"), all);
            }
        }
        for key in keys(table) {
            let property = &table["properties"][key];
            let path = format!("{path}{key}");
            if !repeats(property, table) {
                add_paths(property, &format!("{path}."), all);
            }
            all.insert(path);
        }
    }
}
