//! The exceptions of `bentpipe.errors` that controllers raise, and those for arguments.

use pyo3::exceptions::PyValueError;
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

import_exception!(bentpipe.errors, ControllerError);
import_exception!(bentpipe.errors, InputError);

/// The arguments of `bentpipe.errors.InputError`.
pub type InputArguments = (String, Option<String>, Option<usize>, Vec<Py<PyAny>>);

/// The exception that `new` makes, with everything that is wrong; file and line are those of the
/// first error.
pub fn input_error(errors: &scenario::ScenarioErrors, new: fn(InputArguments) -> PyErr) -> PyErr {
    Python::attach(|py| match problems(py, errors) {
        Ok(problems) => {
            let place = errors.0.first().map(|error| error.place.clone()).unwrap_or_default();
            let file = place.file.map(|file| file.display().to_string());
            new((errors.to_string(), file, place.line, problems))
        }
        Err(error) => error,
    })
}

/// Each error as a `bentpipe.errors.Problem`.
fn problems(py: Python<'_>, errors: &scenario::ScenarioErrors) -> PyResult<Vec<Py<PyAny>>> {
    let problem = |error: &scenario::ScenarioError| {
        let fields = fields(py, error)?;
        fields.set_item("message", error.to_string())?;
        let class = py.import("bentpipe.errors")?.getattr("Problem")?;
        Ok(class.call((), Some(&fields))?.unbind())
    };
    errors.0.iter().map(problem).collect()
}

/// An argument of a function that is a number which cannot be right.
pub fn number_error(name: &str, expected: &str, found: f64) -> PyErr {
    let error = scenario::ScenarioError::of_value(name, expected, &found.to_string());
    input_error(&error.into(), InputError::new_err)
}

/// The fields of data of the engine, as keywords for the class of Python that mirrors it.
pub fn fields<'py>(py: Python<'py>, data: &impl Serialize) -> PyResult<Bound<'py, PyDict>> {
    let text = serde_json::to_string(data).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.cast_into::<PyDict>()?)
}
