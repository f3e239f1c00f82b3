//! The extension module `bentpipe._native` of the wheel: the bindings and the built-in controllers.
//!
//! `bentpipe wheel` builds another one, which has a user's controllers too.

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    python::define(module, env!("CARGO_PKG_VERSION"), &[])
}
