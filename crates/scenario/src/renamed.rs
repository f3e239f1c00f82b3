//! Old names of keys, which are accepted with a warning for one release.
//!
//! The field of a key says its old name (`x-renamed-from` in `document`), so the table of renames is
//! the schema: a file, an override and a program are read by it, and [`renames`] lists it.

use std::fmt::{self, Write};

use serde::Serialize;
use serde_json::Value as Json;

use crate::error::{Place, Problem};
use crate::overrides;
use crate::path::Path;
use crate::schema;
use crate::shape;
use crate::tree::{Entry, Origin, Tree, Value};

/// A key that has another name since this release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Rename {
    /// The path with the old name: `link.framing`. Lists have no index, as in a heading.
    pub old: String,
    /// The path with the new name.
    pub new: String,
}

/// An old name of a key that was found in a scenario, and read as the new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OldName {
    /// Where it was written.
    #[serde(flatten)]
    pub place: Place,
    /// Where it is in the scenario, with its new name: `link[0].overhead`.
    pub path: String,
    /// The name that was written: `framing`.
    pub old: String,
    /// The name that it has now: `overhead`.
    pub new: String,
}

impl fmt::Display for OldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.sentence())
    }
}

impl OldName {
    /// The message without its place.
    pub(crate) fn sentence(&self) -> String {
        let Self { path, old, new, .. } = self;
        format!(
            "{path}: `{old}` is now called `{new}`; the next release will not accept the old name"
        )
    }
}

/// An old name before it is known where in the file that is.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub origin: Origin,
    /// Where, with the new name.
    pub path: Path,
    pub old: String,
    pub new: String,
}

/// All renames of the language. Those of a link also hold in `forward` and `backward`.
pub fn renames() -> Vec<Rename> {
    let mut all = Vec::new();
    list(schema::cached(), &Path::default(), &mut all);
    all.sort();
    all.dedup();
    all
}

fn list(schema: &Json, path: &Path, all: &mut Vec<Rename>) {
    for option in shape::alternatives(schema) {
        if shape::type_of(option) == "array" {
            list(&option["items"], path, all);
        }
        for key in shape::keys(option) {
            let property = &option["properties"][key];
            if shape::repeats(property, option) {
                continue;
            }
            let new = path.key(key);
            if let Some(old) = old_name(property) {
                all.push(Rename { old: path.key(old).to_string(), new: new.to_string() });
            }
            list(property, &new, all);
        }
    }
}

/// The renames as the table of `docs/migration.md`.
pub fn renames_table() -> String {
    let mut table = String::from("| old key | new key |\n|---|---|\n");
    for Rename { old, new } in renames() {
        let _ = writeln!(table, "| `{old}` | `{new}` |");
    }
    table
}

fn old_name(property: &Json) -> Option<&str> {
    property["x-renamed-from"].as_str()
}

/// The present name of `key` in a table that may be any of `tables`, if `key` is an old name.
pub(crate) fn present_name<'a>(key: &str, tables: &[&'a Json]) -> Option<&'a str> {
    if tables.iter().any(|table| table["properties"].get(key).is_some()) {
        return None;
    }
    let renamed = |table: &&'a Json| {
        shape::keys(table).find(|new| old_name(&table["properties"][*new]) == Some(key))
    };
    tables.iter().find_map(renamed)
}

/// The path of an override with the present names of its keys, and with indices after dots:
/// `link.0.overhead` for `link[0].framing`. `None` if no scenario has such a key.
pub fn present_path(path: &str) -> Option<String> {
    let (steps, schemas) = walk(path);
    (!schemas.is_empty()).then(|| steps.join("."))
}

/// The present names of the steps of an override's path, and the schemas of its value.
pub(crate) fn walk(path: &str) -> (Vec<String>, Vec<&'static Json>) {
    let mut schemas = vec![schema::cached()];
    let mut steps = overrides::steps(path);
    for step in &mut steps {
        let options: Vec<_> = schemas.into_iter().flat_map(shape::alternatives).collect();
        if let Some(new) = present_name(step, &options) {
            *step = new.to_owned();
        }
        let inner = |option: &&'static Json| match shape::type_of(option) {
            "array" => option.get("items"),
            _ => option["properties"].get(&*step),
        };
        schemas = options.iter().filter_map(inner).collect();
    }
    (steps, schemas)
}

/// Gives each key of `tree` that has an old name its present one.
pub(crate) fn modernise(tree: &mut Tree, schema: &Json) -> (Vec<Found>, Vec<Problem>) {
    let mut all = (Vec::new(), Vec::new());
    value(tree, schema, &Path::default(), &mut all);
    all
}

fn value(tree: &mut Tree, schema: &Json, path: &Path, all: &mut (Vec<Found>, Vec<Problem>)) {
    let options = shape::alternatives(schema);
    match &mut tree.value {
        Value::List(items) => {
            let Some(list) = options.iter().find(|s| shape::type_of(s) == "array") else {
                return;
            };
            for (i, item) in items.iter_mut().enumerate() {
                value(item, &list["items"], &path.index(i), all);
            }
        }
        Value::Table(entries) => {
            let tables: Vec<_> =
                options.into_iter().filter(|s| shape::type_of(s) == "object").collect();
            for number in 0..entries.len() {
                table_entry(entries, number, &tables, path, all);
            }
        }
        _ => {}
    }
}

fn table_entry(
    entries: &mut [Entry],
    number: usize,
    tables: &[&Json],
    path: &Path,
    all: &mut (Vec<Found>, Vec<Problem>),
) {
    let (found, problems) = &mut *all;
    if let Some(new) = present_name(&entries[number].key, tables) {
        let old = entries[number].key.clone();
        if entries.iter().any(|entry| entry.key == new) {
            let expected = format!("one of `{old}` and `{new}`");
            let problem = Problem::new(path.key(&old), expected, "both");
            let problem = problem.because(format!("`{old}` is the old name of `{new}`"));
            problems.push(problem.at(entries[number].origin.clone()));
            return;
        }
        let origin = entries[number].origin.clone();
        found.push(Found { origin, path: path.key(new), old, new: new.to_owned() });
        entries[number].key = new.to_owned();
    }
    let Entry { key, tree, .. } = &mut entries[number];
    let path = path.key(key);
    if let Some(property) = tables.iter().find_map(|table| table["properties"].get(&*key)) {
        value(tree, property, &path, all);
    }
}
