//! Descriptions of allowed values (from the schema) and found values, for messages.

use std::borrow::Cow;

use serde_json::Value as Json;

use crate::shape::{is_tables, required, type_of, words};
use crate::tree::{Tree, Value};

/// The values that `schemas` admit: `a time such as "250ms", or "off", or a table with `segments``.
pub fn expected(schemas: &[&Json]) -> String {
    let described = |wanted: fn(&str) -> bool| {
        let mut parts: Vec<String> = Vec::new();
        for schema in schemas.iter().filter(|s| words(s).is_empty() && wanted(type_of(s))) {
            let part = expected_one(schema);
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    };
    let words: Vec<_> = schemas.iter().flat_map(|schema| words(schema)).collect();
    let mut parts = described(|kind| kind != "object");
    if !words.is_empty() {
        parts.push(list(&quoted(&words), "or"));
    }
    parts.extend(described(|kind| kind == "object"));
    // Alternatives that contain commas themselves are easier to distinguish after another one.
    parts.join(", or ")
}

fn expected_one(schema: &Json) -> String {
    match type_of(schema) {
        "boolean" => "true or false".into(),
        "integer" => format!("a whole number{}", bounds(schema)),
        "number" => format!("a number{}", bounds(schema)),
        "array" => array(schema),
        "object" => match required(schema).collect::<Vec<_>>() {
            keys if keys.is_empty() => "a table".into(),
            keys => format!("a table with {}", list(&code(&keys), "and")),
        },
        _ => string(schema),
    }
}

fn string(schema: &Json) -> String {
    let kind = match schema["x-format"].as_str() {
        Some("date") => "a date and time",
        Some("rate") => "a data rate",
        Some("time") => "a time",
        Some("size") => "a size",
        Some("path") => "a file name",
        Some("name") => return "a name of letters, digits, '-', '_' and '.'".into(),
        _ => return "a text".into(),
    };
    let example = schema["examples"][0].as_str().unwrap_or("");
    format!("{kind} such as {example:?}{}", bounds(schema))
}

fn array(schema: &Json) -> String {
    match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
        (Some(2), Some(2)) => "a list of two names".into(),
        _ if is_tables(schema) => "a list of tables".into(),
        (Some(1), None) => "a list with at least one value".into(),
        (Some(least), None) => format!("a list with at least {least} values"),
        _ => "a list".into(),
    }
}

/// A value without quotes, and a whole number without decimals.
pub fn plain(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(String::new, |number| number.to_string())
        }
        other => other.to_string(),
    }
}

/// ` from 1 to 5`, ` above 0 and at most 1`, or nothing.
pub(crate) fn bounds(schema: &Json) -> String {
    let text = |key: &str| schema.get(key).map(plain);
    let low = text("minimum").or(text("x-minimum"));
    let high = text("maximum").or(text("x-maximum"));
    match (low, text("exclusiveMinimum"), high, text("exclusiveMaximum")) {
        (Some(low), _, Some(high), _) => format!(" from {low} to {high}"),
        (Some(low), _, None, Some(high)) => format!(" from {low} to below {high}"),
        (Some(low), _, None, None) => format!(", at least {low}"),
        (None, Some(low), Some(high), _) => format!(" above {low} and at most {high}"),
        (None, Some(low), None, Some(high)) => format!(" above {low} and below {high}"),
        (None, Some(low), None, None) => format!(" above {low}"),
        (None, None, Some(high), _) => format!(", at most {high}"),
        _ => String::new(),
    }
}

/// Most characters of a text of the user's that a message shows.
const LONGEST_TEXT: usize = 80;

/// A text for a message, cut off after 80 characters.
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// A text in quotation marks, for a message.
pub fn quoted_short(text: &str) -> String {
    format!("{:?}", shortened(text))
}

/// The value that was found.
pub(crate) fn found(tree: &Tree) -> String {
    match &tree.value {
        Value::Bool(bool) => bool.to_string(),
        Value::Integer(integer) => integer.to_string(),
        Value::Float(float) => format!("{float:?}"),
        Value::String(text) => quoted_short(text),
        Value::Date(date) => format!("the date {date}"),
        Value::List(items) => match items.len() {
            0 => "an empty list".into(),
            1 => "a list of one value".into(),
            n => format!("a list of {n} values"),
        },
        Value::Table(entries) => match entries.as_slice() {
            [] => "an empty table".into(),
            entries => {
                let keys: Vec<_> = entries.iter().map(|entry| entry.key.as_str()).collect();
                format!("a table with {}", list(&code(&keys), "and"))
            }
        },
    }
}

/// Names in backquotes.
pub fn code(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

/// Texts in quotation marks.
pub fn quoted(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| format!("{text:?}")).collect()
}

/// `a`, `a or b`, `a, b or c`.
pub fn list(items: &[String], conjunction: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} {conjunction} {last}", most.join(", ")),
    }
}
