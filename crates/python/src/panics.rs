//! Panics of the engine as ordinary exceptions.
//!
//! A panic is a defect of Bentpipe. PyO3 raises it as `PanicException`, which derives from
//! `BaseException`: `except Exception` lets it pass, and notebooks and clusters end. Its base
//! becomes `bentpipe.errors.EngineError`, so that this holds for every function, method and
//! attribute of the module, also for those to come. The standard library prints panics on stderr.
//! The exception has the same text and place, so nothing is printed unless `RUST_BACKTRACE` is
//! `full`.

use std::panic;
use std::sync::{Mutex, PoisonError};

use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// File and line of the last panic of any thread.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Prepares the module.
pub fn become_exceptions(py: Python<'_>) -> PyResult<()> {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line()));
        *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|asked| asked == "full") {
            usual(panic);
        }
    }));
    let base = py.import("bentpipe.errors")?.getattr("EngineError")?;
    py.get_type::<PanicException>().setattr("__bases__", PyTuple::new(py, [base])?)
}

/// Panics with the message, for tests. Without one, returns the place of the last panic.
#[pyfunction]
#[pyo3(signature = (message = None))]
pub fn _panic(message: Option<String>) -> Option<String> {
    if let Some(message) = message {
        panic!("{message}");
    }
    PLACE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
