//! Where recordings are saved.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::engine;
use crate::errors::output_error;
use crate::recording::Recording;
use crate::scenario::Scenario;

/// A folder that is known to be writable before the run that fills it.
#[pyclass(frozen, module = "bentpipe")]
pub struct OutputFolder {
    inner: engine::OutputFolder,
}

#[pymethods]
impl OutputFolder {
    /// Makes the folder; `force` allows to write over an earlier recording.
    #[new]
    #[pyo3(signature = (path, *, force = false))]
    fn new(path: PathBuf, force: bool) -> PyResult<Self> {
        let inner = engine::OutputFolder::create(&path, force).map_err(|e| output_error(&e))?;
        Ok(Self { inner })
    }

    /// Writes a recording and the scenario that it came from.
    fn save(&self, py: Python<'_>, recording: &Recording, scenario: &Scenario) -> PyResult<()> {
        let (recording, scenario) = (&recording.inner, &scenario.inner);
        py.detach(|| self.inner.save(recording, &scenario.text)).map_err(|e| output_error(&e))
    }
}
