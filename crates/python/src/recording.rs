//! Recordings, handed to Python as the JSON object that `--json` prints.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::engine;

/// A dictionary of the named columns of a series.
macro_rules! columns {
    ($py:expr, $series:expr, { $($column:ident),+ }) => {{
        let columns = PyDict::new($py);
        $(columns.set_item(stringify!($column), &$series.$column)?;)+
        Ok(columns)
    }};
}

/// What one run left behind.
#[pyclass(frozen, module = "bentpipe")]
pub struct Recording {
    pub inner: engine::Recording,
    object: PyOnceLock<Py<PyDict>>,
}

impl Recording {
    pub fn new(inner: engine::Recording) -> Self {
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
    /// The recording as one JSON object.
    fn to_json(&self) -> String {
        engine::to_json(&self.inner)
    }

    /// The recording as a dictionary with the same names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.object(py)?.copy()
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

    /// The series of the flows: column name -> values, one row for each flow and instant.
    #[getter]
    fn flow_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let series = &self.inner.flow_series;
        columns!(py, series, {
            flow, t_s, cwnd_bytes, ssthresh_bytes, srtt_ms, rto_ms, flight_bytes, delivered_bytes,
            sent_bytes, retransmitted
        })
    }

    /// The series of the links: column name -> values, one row for each direction and instant.
    #[getter]
    fn link_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let series = &self.inner.link_series;
        columns!(py, series, {
            link, t_s, queue_packets, queue_bytes, utilisation, dropped_packets, corrupted_packets
        })
    }

    fn __repr__(&self) -> String {
        format!("<Recording of {:?}, seed {}>", self.inner.scenario, self.inner.seed)
    }
}
