//! The registry of controllers.

use congestion::Entry;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tcp::Recovery;

/// All congestion controllers, in the order of the registry.
#[pyfunction]
pub fn controllers(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    congestion::entries().map(|entry| describe(py, entry)).collect()
}

fn describe<'py>(py: Python<'py>, entry: &Entry) -> PyResult<Bound<'py, PyDict>> {
    let described = PyDict::new(py);
    described.set_item("name", entry.name)?;
    described.set_item("summary", entry.summary)?;
    described.set_item("source", entry.source)?;
    described.set_item("status", entry.status.name())?;
    described.set_item("recovery", Recovery::from(entry.repair).name())?;
    let parameters = entry.parameters.iter().map(|parameter| {
        let row = PyDict::new(py);
        row.set_item("name", parameter.name)?;
        row.set_item("default", parameter.default)?;
        row.set_item("allowed", parameter.allowed.to_string())?;
        row.set_item("meaning", parameter.meaning)?;
        Ok(row)
    });
    described.set_item("parameters", parameters.collect::<PyResult<Vec<_>>>()?)?;
    Ok(described)
}
