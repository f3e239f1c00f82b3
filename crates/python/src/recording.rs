//! Recordings: totals as the JSON object that `--json` prints, tables for data frames.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::PyClass;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use recording::Table;

use crate::arrow::ArrowTable;
use crate::errors::recording_error;
use crate::totals::{Flow, KernelQuality, Link};
use crate::version;

/// Results of one run.
#[pyclass(frozen, module = "bentpipe")]
pub struct Recording {
    /// Shared with the data frames that look into its series.
    pub inner: Arc<recording::Recording>,
    flows: PyOnceLock<Py<PyList>>,
    links: PyOnceLock<Py<PyList>>,
}

impl Recording {
    /// The recording of a run that has ended, with the version of the wheel.
    pub fn finished(mut inner: recording::Recording) -> Self {
        version().clone_into(&mut inner.version);
        Self::new(inner)
    }

    fn new(inner: recording::Recording) -> Self {
        Self { inner: Arc::new(inner), flows: PyOnceLock::new(), links: PyOnceLock::new() }
    }
}

#[pymethods]
impl Recording {
    /// Read back the folder of `OutputFolder.save`; `RecordingError` when it is none.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| recording::load(path)).map(Self::new).map_err(recording_error)
    }

    /// One JSON object: what `bentpipe run --json` prints.
    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    /// The same as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// SHA-256 of totals and series without wall time and version: equal runs have one.
    fn digest(&self) -> String {
        self.inner.digest()
    }

    /// The same table for any library that takes Arrow streams.
    fn arrow(&self, py: Python<'_>, name: &str) -> PyResult<ArrowTable> {
        let missing =
            || format!("there is no table {name:?}; there are {}", self.names().join(", "));
        let table = Table::find(name, &self.inner);
        let table = table.ok_or_else(|| PyKeyError::new_err(missing()))?;
        Ok(ArrowTable { batch: py.detach(|| table.batch(&self.inner)) })
    }

    /// A table as a data frame; `KeyError` when there is none of that name.
    ///
    /// The tables are those of the Parquet files, listed by `names`: `flows`, `links`, `pages`,
    /// `objects`, `flow_series` and `link_series` (with rows if the scenario records series), and
    /// extra tables of middleboxes and events. Numbers of series are not copied: the frame looks
    /// into the recording, and keeps it alive.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        py.import("polars")?.call_method1("DataFrame", (self.arrow(py, name)?,))
    }

    /// Names of the tables.
    #[getter]
    fn names(&self) -> Vec<String> {
        let name = |table: Table| table.name(&self.inner).to_owned();
        Table::all(&self.inner).map(name).collect()
    }

    /// Totals of each flow, in the order of the scenario.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyList>> {
        let made = || listed(py, self.inner.flows.iter().map(Flow::from));
        Ok(self.flows.get_or_try_init(py, made)?.bind(py))
    }

    /// Totals of each direction of each link.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyList>> {
        let made = || listed(py, self.inner.links.iter().map(Link::from));
        Ok(self.links.get_or_try_init(py, made)?.bind(py))
    }

    /// How well the testbed emulated the network (docs/kernel.md); None from the simulator.
    #[getter]
    fn kernel(&self) -> Option<KernelQuality> {
        self.inner.kernel.as_ref().map(KernelQuality::from)
    }

    /// Name of the scenario.
    #[getter]
    fn scenario(&self) -> &str {
        &self.inner.scenario
    }

    /// `simulator` or `kernel`.
    #[getter]
    fn backend(&self) -> &str {
        self.inner.backend.name()
    }

    /// Version of Bentpipe that made it.
    #[getter]
    fn version(&self) -> &str {
        &self.inner.version
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// Wall time of the run in seconds, or of the run that it is a copy of.
    #[getter]
    fn wall_s(&self) -> f64 {
        self.inner.wall_s
    }

    /// Simulated time in seconds.
    #[getter]
    fn simulated_s(&self) -> f64 {
        self.inner.simulated_s
    }

    /// Number of events: packet arrivals and timers.
    #[getter]
    fn events(&self) -> u64 {
        self.inner.events
    }

    /// Returns true if the run was interrupted before its end.
    #[getter]
    fn partial(&self) -> bool {
        self.inner.partial
    }

    /// Jain's fairness index over the goodput of all flows.
    #[getter]
    fn jain_index(&self) -> Option<f64> {
        self.inner.jain_index
    }

    fn __repr__(&self) -> String {
        format!("<Recording of {:?}, seed {}>", self.inner.scenario, self.inner.seed)
    }
}

/// A list of objects, made once and shared.
fn listed<T: PyClass + Into<PyClassInitializer<T>>>(
    py: Python<'_>,
    objects: impl Iterator<Item = T>,
) -> PyResult<Py<PyList>> {
    let objects: Vec<Py<T>> = objects.map(|object| Py::new(py, object)).collect::<PyResult<_>>()?;
    Ok(PyList::new(py, objects)?.unbind())
}
