//! Values of Python as values of a scenario.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Value as Json};

use crate::errors::value_error;

const EXPECTED: &str = "a number, a text, a list or a dictionary";

/// No scenario has values in values that often; one that holds itself has them without end.
const DEEPEST: usize = 32;

/// A table with its keys. What is None is left to its default.
pub fn table(dict: &Bound<'_, PyDict>, path: &str) -> PyResult<Json> {
    table_within(dict, path, DEEPEST)
}

fn table_within(dict: &Bound<'_, PyDict>, path: &str, depth: usize) -> PyResult<Json> {
    let mut table = Map::new();
    for (key, value) in dict {
        let key: String = key
            .extract()
            .map_err(|_| value_error(path, "keys that are texts", &key.to_string()))?;
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if !value.is_none() {
            table.insert(key, json_within(&value, &inner, depth)?);
        }
    }
    Ok(Json::Object(table))
}

/// A value; errors say that it stands at `path`.
pub fn json(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Json> {
    json_within(value, path, DEEPEST)
}

fn json_within(value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Json> {
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.into());
    }
    if value.is_instance_of::<PyInt>() {
        let signed = value.extract::<i64>().map(Json::from);
        let integer = signed.or_else(|_| value.extract::<u64>().map(Json::from));
        return integer.map_err(|_| value_error(path, "an integer of 64 bits", &value.to_string()));
    }
    if value.is_instance_of::<PyFloat>() {
        let number = serde_json::Number::from_f64(value.extract()?);
        let number = number.ok_or_else(|| value_error(path, "a finite number", &value.to_string()));
        return Ok(number?.into());
    }
    if value.is_instance_of::<PyString>() {
        let text = value.extract::<String>();
        let text = text.map_err(|_| value_error(path, "a text of Unicode", &shown(value)));
        return Ok(text?.into());
    }
    let Some(depth) = depth.checked_sub(1) else {
        let first = path.split(['.', '[']).next().unwrap_or(path);
        let expected = format!("values at most {DEEPEST} deep");
        return Err(value_error(first, &expected, "more: it may hold itself"));
    };
    if let Ok(dict) = value.cast::<PyDict>() {
        return table_within(dict, path, depth);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.enumerate();
        return items
            .map(|(i, item)| json_within(&item?, &format!("{path}[{i}]"), depth))
            .collect();
    }
    // Scalars of NumPy and Polars know the value of Python that they are.
    if value.hasattr("item")? && value.getattr("ndim").is_ok_and(|ndim| ndim.eq(0).unwrap_or(false))
    {
        return json_within(&value.call_method0("item")?, path, depth);
    }
    match value.extract::<PathBuf>() {
        Ok(file) => Ok(file.to_string_lossy().into_owned().into()),
        Err(_) => Err(value_error(path, EXPECTED, &shown(value))),
    }
}

/// A value as Python writes it.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "what cannot be shown".to_owned(), |text| text.to_string())
}
