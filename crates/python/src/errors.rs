//! The exceptions of `bentpipe.errors`, made from the errors of the engine.

use std::path::Path;

pub use prototype::errors::{ControllerError, InputError, input_error};
use pyo3::import_exception;
use pyo3::prelude::*;

use crate::recording::Recording;
use crate::values::shown;

import_exception!(bentpipe.errors, CaptureError);
import_exception!(bentpipe.errors, Interrupted);
import_exception!(bentpipe.errors, KernelError);
import_exception!(bentpipe.errors, OrbitError);
import_exception!(bentpipe.errors, OutputError);
import_exception!(bentpipe.errors, RecordingError);
import_exception!(bentpipe.errors, ScenarioError);
import_exception!(bentpipe.errors, StudyError);
import_exception!(bentpipe.errors, TraceError);

/// Everything that is wrong with a scenario; file and line are those of the first error.
pub fn scenario_error(errors: scenario::ScenarioErrors) -> PyErr {
    input_error(&errors, ScenarioError::new_err)
}

/// Everything that is wrong with a study.
pub fn study_error(errors: scenario::ScenarioErrors) -> PyErr {
    input_error(&errors, StudyError::new_err)
}

/// Everything that is wrong with a file of `bentpipe orbit`.
pub fn orbit_error(errors: scenario::ScenarioErrors) -> PyErr {
    input_error(&errors, OrbitError::new_err)
}

/// A file that has no trace, with the line.
pub fn trace_error(errors: scenario::ScenarioErrors) -> PyErr {
    input_error(&errors, TraceError::new_err)
}

/// A measured connection that a controller cannot be driven with.
pub fn replay_error(message: &str) -> PyErr {
    ControllerError::new_err(message.to_owned())
}

/// A folder that cannot be taken for a recording.
pub fn recording_error(error: recording::LoadError) -> PyErr {
    let file = error.path.display().to_string();
    RecordingError::new_err((error.to_string(), file, error.line))
}

/// A file from which no connection can be read.
pub fn unread_capture(path: &Path, error: &capture::CaptureError) -> PyErr {
    let file = path.display().to_string();
    let message = match error {
        capture::CaptureError::Io(cause) => {
            let cause = cause.to_string();
            let cause = cause.split(" (os error").next().unwrap_or_default();
            format!("cannot read {file}: {cause}")
        }
        _ => format!("{file}: {error}"),
    };
    CaptureError::new_err((message, file))
}

/// A value that no scenario can have, at a path of the scenario.
pub fn value_error(path: &str, expected: &str, found: &str) -> PyErr {
    scenario_error(scenario::ScenarioError::of_value(path, expected, found).into())
}

/// An argument of a function that cannot be right.
pub fn argument_error(name: &str, expected: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let error = scenario::ScenarioError::of_value(name, expected, &shown(found));
    input_error(&error.into(), InputError::new_err)
}

/// An output folder that cannot be used.
pub fn output_error(error: impl std::error::Error) -> PyErr {
    OutputError::new_err(error.to_string())
}

/// A capture that cannot be written; the exception has the recording of the run.
pub fn capture_error(py: Python<'_>, error: impl std::error::Error, recording: Recording) -> PyErr {
    let raised = output_error(error);
    match Py::new(py, recording).and_then(|it| raised.value(py).setattr("recording", it)) {
        Ok(()) => raised,
        Err(error) => error,
    }
}

/// The error for settings that the running kernel cannot have.
pub fn kernel_error(error: impl std::error::Error) -> PyErr {
    KernelError::new_err(error.to_string())
}

/// Ctrl-C, with what was completed until then: one entry for each job.
pub fn interrupted(recordings: Vec<Option<Recording>>) -> PyErr {
    Interrupted::new_err((recordings,))
}
