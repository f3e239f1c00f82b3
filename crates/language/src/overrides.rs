//! Overrides: `--set link.1.forward.rate=1Mbit/s`, and the same from a program.

use std::str::FromStr;

use serde_json::Value as Json;

use crate::check::{admits_kind, nearest_key, one_of};
use crate::describe;
use crate::entry_names::{self, EntryNames};
use crate::error::{Error, Errors, Place, Problem};
use crate::path::Path;
use crate::shape;
use crate::tree::{Entry, Origin, Tree, Value};
use crate::write;

/// A value that replaces one of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The path: `flow.0.controller`, `flow[0].controller`, `flow.*.transport.mss`, or with the
    /// name of an entry `flow.download.controller`.
    pub path: String,
    /// The new value.
    pub value: NewValue,
}

/// The value of an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewValue {
    /// TOML or a bare text, as typed on a command line.
    Typed(String),
    /// A value of a program, in which `1` and `"1"` are different.
    Program(Json),
}

impl FromStr for Override {
    type Err = Errors;

    /// Reads `PATH=VALUE`.
    fn from_str(text: &str) -> Result<Self, Errors> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                let value = NewValue::Typed(value.trim().to_owned());
                Ok(Self { path: path.trim().to_owned(), value })
            }
            _ => Err(Error {
                place: Place { set: Some(format!("--set {text}")), ..Place::default() },
                path: String::new(),
                expected: "PATH=VALUE such as flow.0.controller=reno".into(),
                found: describe::quoted_short(text),
                reason: None,
                suggestion: None,
            }
            .into()),
        }
    }
}

impl std::fmt::Display for Override {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.value {
            NewValue::Typed(value) => write!(f, "{}={value}", self.path),
            NewValue::Program(json) => {
                write!(f, "{}={}", self.path, write::inline(&Tree::from_json(json)))
            }
        }
    }
}

impl Override {
    /// The name in messages: as written on a command line or by a program.
    pub(crate) fn label(&self) -> String {
        match self.value {
            NewValue::Typed(_) => format!("--set {self}"),
            NewValue::Program(_) => format!("with {self}"),
        }
    }

    /// The value as TOML. A value that is not TOML is a text, so texts need no second quotation
    /// marks.
    fn tree(&self, origin: &Origin) -> Tree {
        let typed = match &self.value {
            NewValue::Typed(typed) => typed,
            NewValue::Program(json) => return Tree::from_json(json).written_by(origin),
        };
        let parsed = Tree::parse(&format!("value = {typed}")).ok();
        let single = parsed.and_then(|tree| match tree.value {
            Value::Table(mut entries) if entries.len() == 1 => entries.pop(),
            _ => None,
        });
        let text = || Tree { value: Value::String(typed.clone()), origin: origin.clone() };
        single.map_or_else(text, |entry| entry.tree.written_by(origin))
    }
}

/// The steps of a path; both `link.1` and `link[1]` are an index.
pub fn steps(path: &str) -> Vec<String> {
    let dotted = path.replace('[', ".").replace(']', "");
    dotted.split('.').map(|step| step.trim().to_owned()).collect()
}

impl Tree {
    /// The same values, written by `origin`.
    fn written_by(self, origin: &Origin) -> Self {
        let value = match self.value {
            Value::List(items) => {
                Value::List(items.into_iter().map(|item| item.written_by(origin)).collect())
            }
            Value::Table(entries) => Value::Table(
                entries
                    .into_iter()
                    .map(|entry| Entry {
                        origin: origin.clone(),
                        tree: entry.tree.written_by(origin),
                        ..entry
                    })
                    .collect(),
            ),
            other => other,
        };
        Self { value, origin: origin.clone() }
    }
}

/// Writes `overrides` into `tree`, in their order. Their numbers count from `first`. `names_of` has
/// the names of entries that paths may use. Returns the problems of paths; [`check`](crate::check)
/// finds those of values.
pub fn apply(
    tree: &mut Tree,
    schema: &Json,
    overrides: &[Override],
    first: usize,
    names_of: EntryNames,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, one) in (first..).zip(overrides) {
        let origin = Origin::Set(number);
        let steps = steps(&one.path);
        let raw = match &one.value {
            NewValue::Typed(typed) => Some(typed.as_str()),
            NewValue::Program(_) => None,
        };
        let setting = Setting { origin: &origin, value: one.tree(&origin), raw, names_of };
        if let Err(problem) = setting.write(tree, schema, &steps, &Path::default()) {
            problems.push(problem.at(origin));
        }
    }
    problems
}

struct Setting<'a> {
    origin: &'a Origin,
    value: Tree,
    /// The text as typed on a command line, if any.
    raw: Option<&'a str>,
    names_of: EntryNames,
}

impl Setting<'_> {
    fn write(
        &self,
        tree: &mut Tree,
        schema: &Json,
        steps: &[String],
        path: &Path,
    ) -> Result<(), Box<Problem>> {
        let options = shape::alternatives(schema);
        let Some((step, rest)) = steps.split_first() else {
            *tree = self.fitting(&options);
            return Ok(());
        };
        if !options.iter().any(|s| matches!(shape::type_of(s), "object" | "array")) {
            let expected = format!("`{path}` without a further key");
            let problem = Problem::new(path.key(step), expected, format!("`{step}`"));
            return Err(problem.because(format!("it is {}", describe::expected(&options))).into());
        }
        open_name(tree, &options, self.origin);
        match &mut tree.value {
            Value::List(items) => {
                for index in self.indices(step, items, path)? {
                    self.write(&mut items[index], &schema["items"], rest, &path.index(index))?;
                }
                Ok(())
            }
            Value::Table(entries) => {
                let tables = tables_of(&options, entries);
                let property = property(&tables, step, path)?;
                let place = entries.iter().position(|entry| entry.key == *step);
                let place = place.unwrap_or_else(|| {
                    entries.push(self.empty(step, property));
                    entries.len() - 1
                });
                entries[place].origin = self.origin.clone();
                self.write(&mut entries[place].tree, property, rest, &path.key(step))
            }
            _ => {
                let expected = format!("`{path}` without a further key");
                Err(Problem::new(path.key(step), expected, format!("`{step}`"))
                    .because(format!("it is {}", describe::found(tree)))
                    .into())
            }
        }
    }

    /// The indices of the elements that `step` means: an index, `*`, or the name of one of them.
    fn indices(&self, step: &str, items: &[Tree], path: &Path) -> Result<Vec<usize>, Box<Problem>> {
        if step == "*" {
            return Ok((0..items.len()).collect());
        }
        match step.parse::<usize>() {
            Ok(index) if index < items.len() => Ok(vec![index]),
            Ok(index) => {
                let expected = match items.len() {
                    0 => "no index".to_owned(),
                    1 => "the index 0".to_owned(),
                    length => format!("an index from 0 to {}", length - 1),
                };
                let problem = Problem::new(path.index(index), expected, index.to_string());
                let reason = format!("`{path}` has {} entries, numbered from 0", items.len());
                Err(problem.because(reason).into())
            }
            Err(_) => entry_names::find(step, items, path, self.names_of).map(|index| vec![index]),
        }
    }

    /// The value, or its text if `options` admit only a text: a node may be called `1`.
    fn fitting(&self, options: &[&Json]) -> Tree {
        let Some(raw) = self.raw else { return self.value.clone() };
        let text = Value::String(raw.to_owned());
        let as_it_is = options.iter().any(|schema| admits_kind(schema, &self.value.value));
        let as_text = options.iter().any(|schema| admits_kind(schema, &text));
        match &self.value.value {
            Value::List(_) | Value::Table(_) => self.value.clone(),
            _ if !as_it_is && as_text => Tree { value: text, origin: self.origin.clone() },
            _ => self.value.clone(),
        }
    }

    /// An entry without content, for a key that the file does not have.
    fn empty(&self, key: &str, schema: &Json) -> Entry {
        let is_list =
            shape::alternatives(schema).iter().all(|option| shape::type_of(option) == "array");
        let value = if is_list { Value::List(Vec::new()) } else { Value::Table(Vec::new()) };
        let tree = Tree { value, origin: self.origin.clone() };
        Entry { key: key.to_owned(), origin: self.origin.clone(), tree }
    }
}

/// A name may stand for a table with that name (`controller = "adalr"`); a path that leads into it
/// means the table.
fn open_name(tree: &mut Tree, options: &[&Json], origin: &Origin) {
    let Value::String(_) = &tree.value else { return };
    if options.iter().any(|option| shape::required(option).eq(["name"])) {
        let name = tree.clone();
        let entry = Entry { key: "name".into(), origin: origin.clone(), tree: name };
        tree.value = Value::Table(vec![entry]);
    }
}

/// The kinds of table that `entries` can still become. Several controllers have a parameter of the
/// same name; the `name` of the table selects one of them.
fn tables_of<'a>(options: &[&'a Json], entries: &[Entry]) -> Vec<&'a Json> {
    let tables: Vec<_> =
        options.iter().filter(|s| shape::type_of(s) == "object").copied().collect();
    let agrees = |table: &&&Json| {
        entries.iter().all(|entry| {
            match (&table["properties"][&entry.key]["const"], &entry.tree.value) {
                (Json::String(only), Value::String(text)) => only == text,
                _ => true,
            }
        })
    };
    let agreeing: Vec<_> = tables.iter().filter(agrees).copied().collect();
    if agreeing.is_empty() { tables } else { agreeing }
}

/// The schema of `key` in a table that may be any of `tables`.
fn property<'a>(tables: &[&'a Json], key: &str, path: &Path) -> Result<&'a Json, Box<Problem>> {
    if let Some(found) = tables.iter().find_map(|table| table["properties"].get(key)) {
        return Ok(found);
    }
    let mut keys: Vec<_> = tables.iter().flat_map(|table| shape::keys(table)).collect();
    let mut seen = Vec::new();
    keys.retain(|key| !seen.contains(key) && (seen.push(*key), true).1);
    let near = tables.iter().find_map(|table| nearest_key(key, table));
    let expected = one_of(&keys, near.is_some(), path, tables.first().unwrap_or(&&Json::Null));
    Err(Problem::new(path.key(key), expected, "an unknown key").suggest(near).into())
}
