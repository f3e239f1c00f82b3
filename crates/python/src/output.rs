//! Where recordings are saved.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use recording::TraceFiles;

use crate::errors::output_error;
use crate::recording::Recording;
use crate::scenario::Scenario;

/// A folder for recordings, made and known to be writable before the run that fills it.
///
/// Raises `OutputError` when it cannot be written, or holds foreign files and not `force`. It takes
/// one recording; when none is saved, nothing is left behind.
#[pyclass(frozen, module = "bentpipe")]
pub struct OutputFolder {
    /// Until a recording is saved; dropped unused, it leaves nothing behind.
    inner: Mutex<Option<recording::OutputFolder>>,
}

impl OutputFolder {
    /// Begins the capture that the folder will hold once a recording is saved.
    pub fn capture(&self) -> PyResult<BufWriter<File>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.as_mut().ok_or_else(already_saved)?.capture().map_err(output_error)
    }

    /// Begins the key log that the folder will hold once a recording is saved.
    pub fn key_log(&self) -> PyResult<BufWriter<File>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.as_mut().ok_or_else(already_saved)?.key_log().map_err(output_error)
    }

    /// Where the traces grow that the folder will hold once a recording is saved.
    pub fn traces(&self) -> PyResult<TraceFiles> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(inner.as_ref().ok_or_else(already_saved)?.traces())
    }
}

#[pymethods]
impl OutputFolder {
    /// Makes the folder; `force` takes even one with foreign files in it.
    #[new]
    #[pyo3(signature = (path, *, force = false))]
    fn new(path: PathBuf, force: bool) -> PyResult<Self> {
        let inner = recording::OutputFolder::create(path, force).map_err(output_error)?;
        Ok(Self { inner: Mutex::new(Some(inner)) })
    }

    /// Write a recording and the scenario that it came from; `OutputError` when it fails.
    fn save(&self, py: Python<'_>, recording: &Recording, scenario: &Scenario) -> PyResult<()> {
        let recording = &*recording.inner;
        let packed = scenario.packed(recording.seed);
        let folder = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
        let folder = folder.ok_or_else(already_saved)?;
        py.detach(|| folder.save(recording, &packed.text, &packed.files)).map_err(output_error)
    }
}

fn already_saved() -> PyErr {
    PyValueError::new_err("a recording was saved into this folder already")
}
