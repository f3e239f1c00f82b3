//! A tree as TOML, laid out as people write it: a heading for each table at the top, and a line for
//! each of its keys.
//!
//! A writer of its own, because a seed may be larger than the integers that TOML promises. Other
//! writers refuse them; [`Tree::parse`] reads them.

use crate::tree::{Entry, Tree, Value};

/// A whole document; `tree` is a table.
pub fn document(tree: &Tree) -> String {
    let Value::Table(entries) = &tree.value else { return String::new() };
    let (tables, plain): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| is_section(&entry.tree));
    let mut text = lines(plain);
    for entry in tables {
        let name = key(&entry.key);
        match &entry.tree.value {
            Value::List(items) => {
                items.iter().for_each(|item| section(&mut text, &format!("[[{name}]]"), item));
            }
            _ => section(&mut text, &format!("[{name}]"), &entry.tree),
        }
    }
    text
}

/// True if a value at the top has a heading of its own.
fn is_section(tree: &Tree) -> bool {
    match &tree.value {
        Value::List(items) => {
            !items.is_empty() && items.iter().all(|item| matches!(item.value, Value::Table(_)))
        }
        Value::Table(_) => true,
        _ => false,
    }
}

fn section(text: &mut String, heading: &str, table: &Tree) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(heading);
    text.push('\n');
    if let Value::Table(entries) = &table.value {
        text.push_str(&lines(entries));
    }
}

fn lines<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> String {
    let line = |entry: &Entry| format!("{} = {}\n", key(&entry.key), inline(&entry.tree));
    entries.into_iter().map(line).collect()
}

/// A value on one line.
pub fn inline(tree: &Tree) -> String {
    match &tree.value {
        Value::Bool(bool) => bool.to_string(),
        Value::Integer(integer) => integer.to_string(),
        // The shortest digits that are read back as the same number, with a point or an exponent.
        Value::Float(float) => format!("{float:?}").to_lowercase(),
        Value::String(text) => string(text),
        Value::Date(date) => date.clone(),
        Value::List(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Table(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Table(entries) => {
            let pair = |entry: &Entry| format!("{} = {}", key(&entry.key), inline(&entry.tree));
            format!("{{ {} }}", entries.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

fn key(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(plain) { key.to_owned() } else { string(key) }
}

/// A text between quotes.
pub fn string(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value as Json;

    #[test]
    fn a_document_is_laid_out_as_people_write_it() {
        let text = concat!(
            "name = \"geo\"\nseed = 18446744073709551615\n\n",
            "[[link]]\nbetween = [\"a\", \"b\"]\nchannel = { per = 1e-7 }\n\n",
            "[[link]]\n\"odd key\" = {}\n\n",
            "[record]\nevents = true\n",
        );
        assert_eq!(document(&Tree::parse(text).unwrap()), text);
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            any::<f64>().prop_filter("JSON has it", |f| f.is_finite()).prop_map(Json::from),
            any::<String>().prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
                prop::collection::hash_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            values in prop::collection::hash_map(any::<String>(), any_json(), 0..5)
        ) {
            let json = Json::Object(values.into_iter().collect());
            let text = document(&Tree::from_json(&json));
            prop_assert_eq!(Tree::parse(&text).unwrap().to_json(), json, "{}", text);
        }
    }
}
