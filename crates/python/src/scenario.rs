//! Scenarios: load, explain, schema.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::engine;
use crate::errors::scenario_error;

/// A scenario in which nothing is left open.
#[pyclass(frozen, module = "bentpipe")]
pub struct Scenario {
    pub inner: Arc<engine::Scenario>,
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file; `sets` are overrides such as `seed=7`.
    #[staticmethod]
    #[pyo3(signature = (path, sets = Vec::new()))]
    fn load(py: Python<'_>, path: PathBuf, sets: Vec<String>) -> PyResult<Self> {
        let loaded = py.detach(|| engine::load(&path, &sets));
        let inner = loaded.map_err(|error| scenario_error(&error))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Every value that will be used, defaults included, with warnings.
    fn explain(&self) -> String {
        engine::explain(&self.inner)
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
        self.inner.duration_s
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {:?}>", self.inner.name)
    }
}

/// The JSON Schema of the scenario language.
#[pyfunction]
pub fn schema() -> String {
    engine::schema()
}
