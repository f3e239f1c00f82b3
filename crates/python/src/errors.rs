//! The exceptions of `bentpipe.errors`, made from the errors of the engine.

use pyo3::import_exception;
use pyo3::prelude::*;

use crate::engine;
use crate::recording::Recording;

import_exception!(bentpipe.errors, Interrupted);
import_exception!(bentpipe.errors, OutputError);
import_exception!(bentpipe.errors, ScenarioError);

/// A scenario that cannot be right, with its file and line.
pub fn scenario_error(error: &engine::LoadError) -> PyErr {
    ScenarioError::new_err((error.message.clone(), error.file.clone(), error.line))
}

/// An output folder that cannot be used.
pub fn output_error(error: &engine::OutputError) -> PyErr {
    OutputError::new_err(error.to_string())
}

/// Ctrl-C, with what was completed until then: one entry for each job.
pub fn interrupted(recordings: Vec<Option<Recording>>) -> PyErr {
    Interrupted::new_err((recordings,))
}
