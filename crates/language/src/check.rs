//! Checks a file against its schema: keys, kinds of value, units, words and limits.
//!
//! The schema is made from the types, so that the check, the editor and the types cannot disagree.
//! `serde` stops at the first error; the check reports all errors with their places.

mod scalar;
mod table;

pub(crate) use table::{nearest_key, one_of};

use serde_json::Value as Json;

use crate::describe;
use crate::error::Problem;
use crate::path::Path;
use crate::shape;
use crate::tree::{Tree, Value};

/// All values and keys in `tree` that `schema` does not admit.
pub fn check(tree: &Tree, schema: &Json) -> Vec<Problem> {
    let mut problems = Vec::new();
    value(tree, schema, &Path::default(), &mut problems);
    problems
}

fn value(tree: &Tree, schema: &Json, path: &Path, problems: &mut Vec<Problem>) {
    let all = shape::alternatives(schema);
    let fitting: Vec<_> = all.iter().copied().filter(|s| admits_kind(s, &tree.value)).collect();
    if fitting.is_empty() {
        problems.push(wrong_kind(tree, &all, path));
        return;
    }
    match &tree.value {
        Value::Table(_) => table::table(tree, &fitting, path, problems),
        Value::List(items) => list(tree, items, fitting[0], path, problems),
        Value::String(text) => problems.extend(scalar::text(text, &all, &fitting, path)),
        Value::Integer(integer) => {
            problems.extend(scalar::number(tree, *integer as f64, fitting[0], path));
        }
        Value::Float(float) => problems.extend(scalar::number(tree, *float, fitting[0], path)),
        Value::Bool(_) | Value::Date(_) => {}
    }
}

/// True if a schema without alternatives admits some value of this kind.
pub(crate) fn admits_kind(schema: &Json, value: &Value) -> bool {
    let kind = shape::type_of(schema);
    match value {
        Value::Bool(_) => kind == "boolean",
        Value::Integer(_) => matches!(kind, "integer" | "number"),
        Value::Float(_) => kind == "number",
        Value::String(_) => kind == "string",
        Value::Date(_) => kind == "string" && schema["x-format"] == "date",
        Value::List(_) => kind == "array",
        Value::Table(_) => kind == "object",
    }
}

fn wrong_kind(tree: &Tree, schemas: &[&Json], path: &Path) -> Problem {
    let problem = Problem::new(path.clone(), describe::expected(schemas), describe::found(tree));
    let wants = |kind: &str| schemas.iter().any(|schema| shape::type_of(schema) == kind);
    match &tree.value {
        Value::Table(_) if wants("array") => {
            problem.because(format!("write it as [[{}]]", path.header()))
        }
        Value::Integer(_) | Value::Float(_) if has_unit(schemas) => {
            problem.because("a quantity is a text with its unit")
        }
        _ => problem,
    }
}

fn has_unit(schemas: &[&Json]) -> bool {
    let format = |schema: &&Json| schema["x-format"].as_str().map(str::to_owned);
    schemas.iter().filter_map(format).any(|f| matches!(f.as_str(), "rate" | "time" | "size"))
}

fn list(tree: &Tree, items: &[Tree], schema: &Json, path: &Path, problems: &mut Vec<Problem>) {
    let few = schema["minItems"].as_u64().is_some_and(|least| (items.len() as u64) < least);
    let many = schema["maxItems"].as_u64().is_some_and(|most| items.len() as u64 > most);
    if few || many {
        let expected = match shape::is_tables(schema) {
            true => format!("at least one [[{path}]]"),
            false => describe::expected(&[schema]),
        };
        problems.push(Problem::new(path.clone(), expected, describe::found(tree)));
    }
    for (i, item) in items.iter().enumerate() {
        value(item, &schema["items"], &path.index(i), problems);
    }
}
