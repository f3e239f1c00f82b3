//! Documents that the language refuses: redrawn where it was found, and in the end left out.
//! Reduction of documents.

use std::collections::BTreeMap;

use language::shape::alternatives;
use scenario::Loaded;
use serde_json::Value as Json;

use crate::coverage::join;
use crate::dice::Dice;
use crate::document::redrawn;

/// Loads a document. What the language refuses is drawn again, and left out if it is refused again;
/// `None` if nothing helps.
pub fn repaired(mut json: Json, schema: &Json, dice: &mut Dice) -> Option<(Json, Loaded)> {
    let mut tried: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..60 {
        let errors = match Loaded::from_json(&json, &[]) {
            Ok(loaded) => return Some((json, loaded)),
            Err(errors) => errors,
        };
        let mut mended: Vec<String> = Vec::new();
        for error in &errors.0 {
            // What another repair has changed is judged at the next loading.
            if mended.iter().any(|path| error.path.starts_with(path.as_str())) {
                continue;
            }
            if mend(&mut json, &error.path, schema, &mut tried, dice)? == Mended::Elsewhere {
                break;
            }
            mended.push(error.path.clone());
        }
    }
    None
}

#[derive(PartialEq, Eq)]
enum Mended {
    /// Nothing but what stood at the path was changed.
    Here,
    /// Other paths may mean something else now: an item of a list has gone, or an outer table.
    Elsewhere,
}

/// Draws what stands at `path` again, or leaves it out. `None` if nothing can be left out.
fn mend(
    json: &mut Json,
    path: &str,
    schema: &Json,
    tried: &mut BTreeMap<String, u32>,
    dice: &mut Dice,
) -> Option<Mended> {
    let steps = steps(path);
    let times = tried.entry(path.to_owned()).or_default();
    *times += 1;
    if *times < 3 && redraw(json, schema, &steps, dice) {
        return Some(Mended::Here);
    }
    if leave_out(json, &steps) {
        let is_item = matches!(steps.last(), Some(Step::Index(_)));
        return Some(if is_item { Mended::Elsewhere } else { Mended::Here });
    }
    // A value that is missing is refused at its own path, which is not there: its table goes.
    (1..steps.len()).rev().find(|end| leave_out(json, &steps[..*end]))?;
    Some(Mended::Elsewhere)
}

/// A key or a number of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The steps of a path as errors have it: `link[0].forward.queue`.
fn steps(path: &str) -> Vec<Step> {
    let parts = path.split(['.', '[']).filter(|part| !part.is_empty());
    let step = |part: &str| match part.strip_suffix(']') {
        Some(index) => index.parse().map_or(Step::Key(part.into()), Step::Index),
        None => Step::Key(part.into()),
    };
    parts.map(step).collect()
}

fn find<'a>(json: &'a mut Json, steps: &[Step]) -> Option<&'a mut Json> {
    steps.iter().try_fold(json, |value, step| match step {
        Step::Key(key) => value.get_mut(key.as_str()),
        Step::Index(index) => value.get_mut(*index),
    })
}

/// The schema of what stands at a path.
fn schema_at<'a>(schema: &'a Json, json: &Json, steps: &[Step]) -> Option<&'a Json> {
    let Some((step, rest)) = steps.split_first() else { return Some(schema) };
    let inner = |option: &'a Json| match step {
        Step::Key(key) => schema_at(option["properties"].get(key)?, json.get(key.as_str())?, rest),
        Step::Index(index) => schema_at(option.get("items")?, json.get(*index)?, rest),
    };
    alternatives(schema).into_iter().find_map(inner)
}

/// Draws a scalar again. Returns whether there was one.
fn redraw(json: &mut Json, schema: &Json, steps: &[Step], dice: &mut Dice) -> bool {
    let Some(inner) = schema_at(schema, json, steps) else { return false };
    let path: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
        .collect();
    let Some(value) = find(json, steps) else { return false };
    if value.is_object() || value.is_array() {
        return false;
    }
    *value = redrawn(inner, &path.join("."), dice);
    true
}

/// Removes what stands at a path. Returns whether there was something.
pub(crate) fn leave_out_at(json: &mut Json, path: &str) -> bool {
    leave_out(json, &steps(path))
}

fn leave_out(json: &mut Json, path: &[Step]) -> bool {
    let Some((last, before)) = path.split_last() else { return false };
    let Some(outer) = find(json, before) else { return false };
    match (last, outer) {
        (Step::Key(key), Json::Object(table)) => table.remove(key).is_some(),
        (Step::Index(index), Json::Array(items)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}

/// The paths of everything in a document, the outermost first: what a reduction may leave out.
pub fn paths(json: &Json) -> Vec<String> {
    fn visit(value: &Json, path: &str, found: &mut Vec<String>) {
        match value {
            Json::Object(table) => {
                for (key, inner) in table {
                    found.push(join(path, key));
                    visit(inner, &join(path, key), found);
                }
            }
            Json::Array(items) => {
                for (index, inner) in items.iter().enumerate().rev() {
                    let path = format!("{path}[{index}]");
                    found.push(path.clone());
                    visit(inner, &path, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    visit(json, "", &mut found);
    found.sort_by_key(|path| path.matches(['.', '[']).count());
    found
}

/// The document without what stands at `path`.
pub fn without(json: &Json, path: &str) -> Option<Json> {
    let mut less = json.clone();
    leave_out_at(&mut less, path).then_some(less)
}
