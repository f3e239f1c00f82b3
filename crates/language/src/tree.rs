//! The content of a file as a tree of values with their places.

use std::ops::Range;

use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::path::{Path, Step};

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The file, from the first of these bytes to before the second.
    File(usize, usize),
    /// The override of this number.
    Set(usize),
    /// A program, which has no text.
    Program,
}

impl From<Range<usize>> for Origin {
    fn from(span: Range<usize>) -> Self {
        Self::File(span.start, span.end)
    }
}

/// A value with its origin.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The value.
    pub value: Value,
    /// Its origin.
    pub origin: Origin,
}

/// The values of TOML.
#[derive(Clone, Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number; larger ones than TOML promises are `i128::MAX`.
    Integer(i128),
    /// A number with a point or an exponent.
    Float(f64),
    /// A text.
    String(String),
    /// A date or time, as it is written.
    Date(String),
    /// A list, or tables in double brackets.
    List(Vec<Tree>),
    /// A table, in the order of the file.
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The origin of the key.
    pub origin: Origin,
    /// The value.
    pub tree: Tree,
}

impl Tree {
    /// Reads TOML.
    ///
    /// # Errors
    /// If `text` is not valid TOML.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let table = DeTable::parse(text)?;
        let origin = table.span().into();
        Ok(Self { value: from_table(table.into_inner()), origin })
    }

    /// The tree of a value that a program made.
    pub fn from_json(json: &Json) -> Self {
        let value = match json {
            Json::Null => Value::Table(Vec::new()),
            Json::Bool(bool) => Value::Bool(*bool),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(integer), _) => Value::Integer(integer.into()),
                (_, Some(integer)) => Value::Integer(integer.into()),
                _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(string) => Value::String(string.clone()),
            Json::Array(items) => Value::List(items.iter().map(Self::from_json).collect()),
            Json::Object(object) => {
                // A null is an absent key.
                let present = object.iter().filter(|(_, value)| !value.is_null());
                Value::Table(present.map(|(key, value)| Entry::program(key, value)).collect())
            }
        };
        Self { value, origin: Origin::Program }
    }

    /// The same values without their origins. Dates become strings.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Bool(bool) => (*bool).into(),
            Value::Integer(integer) => match (i64::try_from(*integer), u64::try_from(*integer)) {
                (Ok(integer), _) => integer.into(),
                (_, Ok(integer)) => integer.into(),
                _ => Json::Null,
            },
            Value::Float(float) => (*float).into(),
            Value::String(text) | Value::Date(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Table(entries) => Json::Object(
                entries.iter().map(|e| (e.key.clone(), e.tree.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// The value at `key` of a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.tree)
    }

    /// The entry at `key` of a table.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The value at `path`.
    pub fn at(&self, path: &Path) -> Option<&Self> {
        path.0.iter().try_fold(self, |tree, step| tree.step(step))
    }

    /// The deepest written value on the way to `path`.
    pub fn nearest(&self, path: &Path) -> &Self {
        let mut tree = self;
        for step in &path.0 {
            match tree.step(step) {
                Some(next) => tree = next,
                None => break,
            }
        }
        tree
    }

    fn step(&self, step: &Step) -> Option<&Self> {
        match (step, &self.value) {
            (Step::Key(key), _) => self.get(key),
            (Step::Index(index), Value::List(items)) => items.get(*index),
            _ => None,
        }
    }
}

impl Entry {
    fn program(key: &str, value: &Json) -> Self {
        Self { key: key.to_owned(), origin: Origin::Program, tree: Tree::from_json(value) }
    }
}

fn from_spanned(value: Spanned<DeValue<'_>>) -> Tree {
    let origin = value.span().into();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(integer) => {
            // TOML promises 64 bits only; no schema admits an integer of more than 128.
            let parsed = i128::from_str_radix(integer.as_str(), integer.radix());
            Value::Integer(parsed.unwrap_or(i128::MAX))
        }
        DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(bool) => Value::Bool(bool),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(items.into_iter().map(from_spanned).collect()),
        DeValue::Table(table) => from_table(table),
    };
    Tree { value, origin }
}

/// The entries in the order of the file, which is the order of errors.
fn from_table(table: DeTable<'_>) -> Value {
    let mut entries: Vec<_> = table
        .into_iter()
        .map(|(key, value)| Entry {
            origin: key.span().into(),
            key: key.into_inner().into_owned(),
            tree: from_spanned(value),
        })
        .collect();
    entries.sort_by(|a, b| a.origin.cmp(&b.origin));
    Value::Table(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_remember_where_they_stand() {
        let text = "seed = 7\n[[link]]\nforward.rate = \"2Mbit/s\"\n";
        let tree = Tree::parse(text).unwrap();
        let at = |path: Path| match tree.at(&path).unwrap().origin {
            Origin::File(start, end) => &text[start..end],
            _ => panic!("not from the file"),
        };
        assert_eq!(at(Path::default().key("seed")), "7");
        assert_eq!(at(Path::entry("link", 0).key("forward").key("rate")), "\"2Mbit/s\"");
        assert_eq!(at(Path::entry("link", 0)), "[[link]]");
    }

    #[test]
    fn a_null_of_json_is_an_absent_key() {
        let tree = Tree::from_json(&serde_json::json!({ "name": null, "seed": u64::MAX }));
        assert!(tree.get("name").is_none());
        assert_eq!(tree.to_json()["seed"], u64::MAX);
    }
}
