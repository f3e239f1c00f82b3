//! Names that a wrong one probably stands for.

use pyo3::prelude::*;

/// The ones of `known` that `name` probably stands for, at most four; none if all are far.
///
/// Names that begin with `name` or contain it come before slips. Names that are equally near are
/// all listed.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python")]
pub fn near_names(name: &str, known: Vec<String>) -> Vec<String> {
    let found = language::near::near(name, known.iter().map(String::as_str));
    found.into_iter().map(str::to_owned).collect()
}
