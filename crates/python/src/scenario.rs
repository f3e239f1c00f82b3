//! Scenarios: load, explain, schema.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use scenario::{Loaded, Override, Written};

use crate::errors::scenario_error;

/// A scenario in which nothing is left open.
#[pyclass(frozen, module = "bentpipe")]
pub struct Scenario {
    pub inner: Arc<scenario::Scenario>,
    written: Written,
    text: String,
    sets: Vec<Override>,
}

impl Scenario {
    /// The file's text, below a line that says what was laid over it.
    pub fn text_as_run(&self, seed: u64) -> String {
        let sets: String = self.sets.iter().map(|set| format!(" --set '{set}'")).collect();
        format!("# Run with --seed {seed}{sets}\n{}", self.text)
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
        let Loaded { scenario, written } = Loaded::load(&path, &sets).map_err(scenario_error)?;
        let text = std::fs::read_to_string(&path)?;
        Ok(Self { inner: Arc::new(scenario), written, text, sets })
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

    fn __repr__(&self) -> String {
        format!("<Scenario {:?}>", self.inner.name)
    }
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
