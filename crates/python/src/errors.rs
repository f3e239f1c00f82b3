//! The exceptions of `bentpipe.errors`, made from the errors of the engine.

use pyo3::import_exception;
use pyo3::prelude::*;

use crate::recording::Recording;
use crate::values::shown;

import_exception!(bentpipe.errors, ControllerError);
import_exception!(bentpipe.errors, InputError);
import_exception!(bentpipe.errors, Interrupted);
import_exception!(bentpipe.errors, KernelError);
import_exception!(bentpipe.errors, OutputError);
import_exception!(bentpipe.errors, RecordingError);
import_exception!(bentpipe.errors, ScenarioError);

/// Everything that is wrong with a scenario; file and line are those of the first error.
pub fn scenario_error(errors: scenario::ScenarioErrors) -> PyErr {
    let first = errors.0.first();
    let file = first.and_then(|error| error.file.clone());
    let line = first.and_then(|error| error.line);
    ScenarioError::new_err((errors.to_string(), file.map(|f| f.display().to_string()), line))
}

/// A folder that cannot be taken for a recording.
pub fn recording_error(error: recording::LoadError) -> PyErr {
    let file = error.path.display().to_string();
    RecordingError::new_err((error.to_string(), file, error.line))
}

/// A value that no scenario can have, at a path of the scenario.
pub fn value_error(path: &str, expected: &str, found: &str) -> PyErr {
    ScenarioError::new_err(format!("{path}: expected {expected}, found {found}"))
}

/// An argument of a function that cannot be right.
pub fn argument_error(name: &str, expected: &str, found: &Bound<'_, PyAny>) -> PyErr {
    InputError::new_err(format!("{name}: expected {expected}, found {}", shown(found)))
}

/// An output folder that cannot be used.
pub fn output_error(error: impl std::error::Error) -> PyErr {
    OutputError::new_err(error.to_string())
}

/// What the running kernel cannot be given, or not like this.
pub fn kernel_error(error: impl std::error::Error) -> PyErr {
    KernelError::new_err(error.to_string())
}

/// Ctrl-C, with what was completed until then: one entry for each job.
pub fn interrupted(recordings: Vec<Option<Recording>>) -> PyErr {
    Interrupted::new_err((recordings,))
}
