//! Texts and numbers.

use std::str::FromStr;

use serde_json::Value as Json;
use units::{Bytes, Rate, Span, UnitError};

use crate::describe;
use crate::error::Problem;
use crate::path::Path;
use crate::shape;
use crate::suggest;
use crate::tree::{Tree, Value};

/// The problem of `text`, if none of the `fitting` schemas admits it. `all` are the alternatives,
/// with those of other kinds.
pub(super) fn text(text: &str, all: &[&Json], fitting: &[&Json], path: &Path) -> Option<Problem> {
    let mut reason = None;
    for schema in fitting {
        match admits(schema, text) {
            Ok(()) => return None,
            Err(why) => reason = reason.or(why),
        }
    }
    let words = fitting.iter().flat_map(|schema| shape::words(schema));
    let word = suggest::nearest(text, words);
    let formats = fitting.iter().filter_map(|schema| schema["x-format"].as_str());
    let suggestion = word.or_else(|| formats.into_iter().find_map(|f| suggest::quantity(f, text)));
    let problem = Problem::new(path.clone(), describe::expected(all), describe::quoted_short(text));
    Some(Problem { reason, ..problem.suggest(suggestion) })
}

/// Checks that `schema` admits `text`. The error has a reason if the description of the schema does
/// not give it.
fn admits(schema: &Json, text: &str) -> Result<(), Option<String>> {
    let words = shape::words(schema);
    if !words.is_empty() {
        return if words.contains(&text) { Ok(()) } else { Err(None) };
    }
    match schema["x-format"].as_str() {
        Some("rate") if text.parse() == Ok(Rate::default()) => Err(Some("it is zero".into())),
        Some("rate") => bounded::<Rate>(schema, text),
        Some("time") => bounded::<Span>(schema, text),
        Some("size") => bounded::<Bytes>(schema, text),
        Some("name") => name(schema, text),
        _ => Ok(()),
    }
}

/// A quantity between `x-minimum` and `x-maximum`.
fn bounded<T>(schema: &Json, text: &str) -> Result<(), Option<String>>
where
    T: FromStr<Err = UnitError> + PartialOrd + Default,
{
    let value: T = text.parse().map_err(|error: UnitError| Some(error.reason))?;
    let bound = |key: &str| schema[key].as_str().and_then(|text| text.parse::<T>().ok());
    if bound("x-minimum").is_some_and(|least| value < least) {
        let zero = value == T::default();
        return Err(Some(if zero { "it is zero" } else { "it is too small" }.into()));
    }
    if bound("x-maximum").is_some_and(|most| value > most) {
        return Err(Some("it is too large".into()));
    }
    Ok(())
}

fn name(schema: &Json, text: &str) -> Result<(), Option<String>> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let longest = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
    if text.is_empty() {
        Err(Some("it is empty".into()))
    } else if text.chars().count() as u64 > longest {
        Err(Some(format!("it is longer than {longest} characters")))
    } else if let Some(c) = text.chars().find(|c| !allowed(*c)) {
        Err(Some(format!("{c:?} cannot stand in a file name")))
    } else if text.starts_with('.') {
        Err(Some("it begins with a dot".into()))
    } else {
        Ok(())
    }
}

/// The problem of a number, if it is outside the bounds of `schema`.
pub(super) fn number(tree: &Tree, number: f64, schema: &Json, path: &Path) -> Option<Problem> {
    let bound = |key: &str| schema[key].as_f64();
    let largest = match schema["format"].as_str() {
        Some("uint32") => Some(u64::from(u32::MAX)),
        Some("uint64") => Some(u64::MAX),
        _ => None,
    };
    let is_above = |largest: u64| match tree.value {
        Value::Integer(integer) => integer > largest.into(),
        _ => number > largest as f64,
    };
    let too_large = largest.filter(|largest| is_above(*largest));
    let inside = number.is_finite()
        && too_large.is_none()
        && bound("minimum").is_none_or(|least| number >= least)
        && bound("exclusiveMinimum").is_none_or(|least| number > least)
        && bound("maximum").is_none_or(|most| number <= most)
        && bound("exclusiveMaximum").is_none_or(|most| number < most);
    let problem =
        || Problem::new(path.clone(), describe::expected(&[schema]), describe::found(tree));
    match too_large {
        _ if inside => None,
        Some(largest) => Some(problem().because(format!("the largest is {largest}"))),
        None => Some(problem()),
    }
}
