//! Arguments of functions whose types alone do not make them valid.

use std::num::NonZeroUsize;

use pyo3::prelude::*;

use crate::errors::argument_error;

/// A seed.
#[derive(Clone, Copy)]
pub struct Seed(pub u64);

impl<'py> FromPyObject<'_, 'py> for Seed {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let expected = format!("a whole number from 0 to {}", u64::MAX);
        value.extract().map(Self).map_err(|_| argument_error("seed", &expected, &value))
    }
}

/// A number of threads.
#[derive(Clone, Copy)]
pub struct Workers(pub NonZeroUsize);

impl<'py> FromPyObject<'_, 'py> for Workers {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let expected = "a whole number of threads from 1";
        value.extract().map(Self).map_err(|_| argument_error("workers", expected, &value))
    }
}

/// Function that is called now and then with the part that is done.
pub struct Progress(pub Py<PyAny>);

impl<'py> FromPyObject<'_, 'py> for Progress {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if !value.is_callable() {
            return Err(argument_error("progress", "something that can be called", &value));
        }
        Ok(Self(value.to_owned().unbind()))
    }
}
