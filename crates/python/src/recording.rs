//! Recordings: totals as the JSON object that `--json` prints, tables for data frames.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};
use recording::Table;

use crate::errors::output_error;

/// What one run left behind.
#[pyclass(frozen, module = "bentpipe")]
pub struct Recording {
    pub inner: recording::Recording,
    object: PyOnceLock<Py<PyDict>>,
}

impl Recording {
    pub fn new(inner: recording::Recording) -> Self {
        Self { inner, object: PyOnceLock::new() }
    }

    fn object<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        let object = self.object.get_or_try_init(py, || {
            let parsed = py.import("json")?.call_method1("loads", (self.to_json(),))?;
            Ok::<_, PyErr>(parsed.cast_into::<PyDict>()?.unbind())
        })?;
        Ok(object.bind(py))
    }

    fn item<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.as_any().get_item(name)
    }
}

#[pymethods]
impl Recording {
    /// The totals as one JSON object.
    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    /// The totals as a dictionary with the same names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.object(py)?.copy()
    }

    /// Hash of all that is reproducible.
    fn digest(&self) -> String {
        self.inner.digest()
    }

    /// A table as a data frame of Polars.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let table = Table::ALL.into_iter().find(|table| table.name() == name);
        let table = table.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let mut parquet = Vec::new();
        py.detach(|| table.write_parquet(&self.inner, &mut parquet)).map_err(output_error)?;
        py.import("polars")?.call_method1("read_parquet", (PyBytes::new(py, &parquet),))
    }

    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item(py, "flows")
    }

    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item(py, "links")
    }

    #[getter]
    fn scenario(&self) -> &str {
        &self.inner.scenario
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    #[getter]
    fn wall_s(&self) -> f64 {
        self.inner.wall_s
    }

    #[getter]
    fn simulated_s(&self) -> f64 {
        self.inner.simulated_s
    }

    #[getter]
    fn events(&self) -> u64 {
        self.inner.events
    }

    #[getter]
    fn partial(&self) -> bool {
        self.inner.partial
    }

    #[getter]
    fn jain_index(&self) -> Option<f64> {
        self.inner.jain_index
    }

    fn __repr__(&self) -> String {
        format!("<Recording of {:?}, seed {}>", self.inner.scenario, self.inner.seed)
    }
}
