//! Scenarios: load, build, change, explain, schema.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::{Given, Loaded, NewValue, Override, Packed, Written};

use crate::arguments::Seed;
use crate::errors::{scenario_error, value_error};
use crate::values;

/// A scenario in which nothing is left open.
#[pyclass(frozen, module = "bentpipe")]
pub struct Scenario {
    pub inner: Arc<scenario::Scenario>,
    written: Written,
    given: Given,
}

impl Scenario {
    fn new(Loaded { scenario, written, given }: Loaded) -> Self {
        Self { inner: Arc::new(scenario), written, given }
    }

    /// The scenario as it ran, for its folder, below a line that says where it came from.
    pub fn packed(&self, seed: u64) -> Packed {
        let packed = self.given.packed(&self.inner, seed);
        let origin = self.given.origin().replace(char::is_control, " ");
        let separator = if origin.is_empty() { "" } else { " " };
        let text = format!("# As run: {origin}{separator}--seed {seed}\n{}", packed.text);
        Packed { text, ..packed }
    }
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file; `sets` are overrides such as `flow.0.controller=reno`.
    #[staticmethod]
    #[pyo3(signature = (path, sets = Vec::new()))]
    fn load(path: PathBuf, sets: Vec<String>) -> PyResult<Self> {
        let sets = sets.iter().map(|set| set.parse().map_err(scenario_error));
        let sets: Vec<Override> = sets.collect::<PyResult<_>>()?;
        Loaded::load(&path, &sets).map(Self::new).map_err(scenario_error)
    }

    /// Reads a scenario from a text; errors name it `file`.
    #[staticmethod]
    #[pyo3(signature = (text, *, file = None))]
    fn parse(text: &str, file: Option<PathBuf>) -> PyResult<Self> {
        Loaded::read_text(text, file, &[]).map(Self::new).map_err(scenario_error)
    }

    /// Makes a scenario from values with the names of a scenario file.
    #[staticmethod]
    #[pyo3(signature = (**keys))]
    fn build(py: Python<'_>, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let empty = PyDict::new(py);
        let json = values::table(keys.unwrap_or(&empty), "")?;
        Loaded::from_json(&json, &[]).map(Self::new).map_err(scenario_error)
    }

    /// The same scenario with values changed, each at its path.
    #[pyo3(signature = (changes = None, /, **named))]
    fn with_(
        &self,
        changes: Option<&Bound<'_, PyDict>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut sets = Vec::new();
        for (path, value) in changes.into_iter().flatten() {
            sets.push(change(path.extract()?, &value)?);
        }
        for (name, value) in named.into_iter().flatten() {
            sets.push(change(name.extract::<String>()?.replace("__", "."), &value)?);
        }
        self.given.with(&sets).map(Self::new).map_err(scenario_error)
    }

    /// The scenario as a file that runs to the same recording.
    #[pyo3(signature = (*, seed = None))]
    fn to_toml(&self, seed: Option<Seed>) -> String {
        self.given.to_toml(&self.inner, seed.map_or(self.inner.seed, |Seed(seed)| seed))
    }

    /// Every value that will be used, defaults included, with warnings.
    fn explain(&self) -> String {
        scenario::explain(&self.inner, &self.written).to_string()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.duration.as_secs_f64()
    }

    /// Equal scenarios give equal runs for equal seeds.
    fn __eq__(&self, other: &Self) -> bool {
        self.to_toml(None) == other.to_toml(None)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.to_toml(None).hash(&mut hasher);
        hasher.finish()
    }

    /// For copies and for other processes of this machine: files are named and not carried along.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("parse")?, (slf.get().to_toml(None),)))
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {:?}>", self.inner.name)
    }
}

/// One change of `with_`.
fn change(path: String, value: &Bound<'_, PyAny>) -> PyResult<Override> {
    if value.is_none() {
        return Err(value_error(&path, "a value", "None"));
    }
    let value = NewValue::Program(values::json(value, &path)?);
    Ok(Override { path, value })
}

/// The JSON Schema of the scenario language.
#[pyfunction]
pub fn schema() -> String {
    scenario::schema().to_string()
}

/// The reference of the scenario language in Markdown.
#[pyfunction]
pub fn reference() -> String {
    scenario::reference()
}
