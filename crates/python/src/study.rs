//! The runs of a study: of each only a row of numbers is kept, so that memory does not grow with
//! what was simulated.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use batch::Job;
use prototype::errors::fields;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::Workers;
use crate::errors::study_error;
use crate::run::failed;
use crate::scenario::Scenario;
use crate::values;

/// One number of a recording, for `run_study`. `bentpipe.study.Quantity` reads its name.
#[pyclass(frozen, module = "bentpipe")]
pub struct Quantity {
    inner: batch::Quantity,
}

#[pymethods]
impl Quantity {
    /// `table` and `column` are those of `number_columns`; `run` has what a recording has once.
    #[new]
    #[pyo3(signature = (table, column, *, name = None, direction = None, aggregate = "mean"))]
    fn new(
        table: &str,
        column: &str,
        name: Option<String>,
        direction: Option<String>,
        aggregate: &str,
    ) -> PyResult<Self> {
        let inner = batch::Quantity::named(table, column, name, direction, aggregate);
        inner.map(|inner| Self { inner }).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Its value, None where it is undefined: a flow or link has none, or no page ever came.
    fn of(&self, recording: &crate::recording::Recording) -> Option<f64> {
        self.inner.of(&recording.inner)
    }

    /// True if its column counts things or events, so that a sum of it is a total.
    fn is_counted(&self) -> bool {
        self.inner.is_counted()
    }

    /// True if a scenario has flows, pages, links or mechanisms that it is taken from.
    fn is_in(&self, scenario: &Scenario) -> bool {
        self.inner.is_in(&scenario.inner)
    }

    /// Names that it may have in a scenario: of flows, links, or those with the mechanism.
    fn names_in(&self, scenario: &Scenario) -> Vec<String> {
        self.inner.names_in(&scenario.inner)
    }
}

/// A study whose keys and values are valid, with their places in its file.
#[pyclass(frozen, module = "bentpipe")]
pub struct StudySource {
    inner: scenario::StudySource,
}

#[pymethods]
impl StudySource {
    /// Read a study file; `StudyError` with the place of every error.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        scenario::StudySource::load(path).map(|inner| Self { inner }).map_err(study_error)
    }

    /// Check the keys and values of a study that a program made; `StudyError`.
    #[staticmethod]
    fn build(document: &Bound<'_, PyDict>) -> PyResult<Self> {
        let json = values::table(document, "")?;
        scenario::StudySource::from_json(&json).map(|inner| Self { inner }).map_err(study_error)
    }

    /// The study with its defaults, as plain values in the order of the file.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields(py, self.inner.document())
    }

    /// The text of the file; empty for a study of a program.
    #[getter]
    fn text(&self) -> &str {
        self.inner.text()
    }

    /// The `StudyError` of problems that only the reader of a study can see.
    fn error(&self, problems: Vec<StudyProblem>) -> PyErr {
        study_error(self.inner.report(problems.into_iter().map(Into::into).collect()))
    }
}

/// A `bentpipe.study.problems.StudyProblem`.
#[derive(FromPyObject)]
struct StudyProblem {
    path: Vec<Step>,
    expected: String,
    found: String,
    reason: Option<String>,
    suggestion: Option<String>,
}

#[derive(FromPyObject)]
enum Step {
    Index(usize),
    Key(String),
}

impl From<StudyProblem> for scenario::StudyProblem {
    fn from(problem: StudyProblem) -> Self {
        let StudyProblem { path, expected, found, reason, suggestion } = problem;
        let step = |step| match step {
            Step::Index(index) => scenario::Step::Index(index),
            Step::Key(key) => scenario::Step::Key(key),
        };
        let path = path.into_iter().map(step).collect();
        Self { path, expected, found, reason, suggestion }
    }
}

/// The JSON Schema of study files.
#[pyfunction]
pub fn study_schema() -> String {
    scenario::study_schema().to_string()
}

/// The reference of the keys of a study file in Markdown, a part of `docs/studies.md`.
#[pyfunction]
pub fn study_reference() -> String {
    scenario::study_reference()
}

/// The path of an override with indices after dots.
///
/// `link.0.overhead` for `link[0].overhead`. None if no scenario has such a key.
#[pyfunction]
pub fn dotted_path(path: &str) -> Option<String> {
    scenario::dotted_path(path)
}

/// The group whose terminal a node would be, by its name: `home` of `home-3`.
///
/// None without a number behind the last `-`.
#[pyfunction]
pub fn group_of_terminal(node: &str) -> Option<&str> {
    scenario::group_of_terminal(node)
}

/// The columns that a quantity can be, by table; `run` is what a recording has once.
#[pyfunction]
pub fn number_columns() -> BTreeMap<&'static str, Vec<&'static str>> {
    batch::number_columns()
}

/// The tables of `number_columns` whose rows are directions of links.
#[pyfunction]
pub fn tables_of_directions() -> Vec<&'static str> {
    batch::tables_of_directions()
}

/// The tables of `number_columns` that applications have, such as `call`.
#[pyfunction]
pub fn tables_of_applications() -> Vec<&'static str> {
    batch::tables_of_applications()
}

/// Results that are kept of a run: quantities, wall time, events.
type Kept = (Vec<Option<f64>>, f64, u64);

/// Run jobs, each the number of a scenario and a seed, and keep only numbers of each run.
///
/// `sink` is called in this thread with rows of finished runs as they come, in no particular
/// order: number of the job, quantities, wall time in seconds, events. Series are not recorded.
/// Ctrl-C raises `KeyboardInterrupt`; what was finished has been handed over then.
#[pyfunction]
#[pyo3(signature = (scenarios, jobs, quantities, sink, *, workers = None))]
pub fn run_study(
    py: Python<'_>,
    scenarios: Vec<Py<Scenario>>,
    jobs: Vec<(usize, u64)>,
    quantities: Vec<Py<Quantity>>,
    sink: Py<PyAny>,
    workers: Option<Workers>,
) -> PyResult<()> {
    let scenarios: Vec<_> =
        scenarios.iter().map(|one| batch::totals_only(&one.get().inner)).collect();
    let quantities: Vec<_> = quantities.iter().map(|one| one.get().inner.clone()).collect();
    let jobs = jobs.into_iter().map(|(number, seed)| {
        let scenario = scenarios.get(number).map(Arc::clone);
        scenario.map(|scenario| Job { scenario, seed }).ok_or_else(|| PyIndexError::new_err(number))
    });
    let jobs: Vec<Job> = jobs.collect::<PyResult<_>>()?;
    let keep = |recording: recording::Recording| {
        let values: Vec<_> = quantities.iter().map(|quantity| quantity.of(&recording)).collect();
        (values, recording.wall_s, recording.events)
    };
    // While the sink works the next rows gather, so that fast runs come in batches.
    let hand_over = |rows: Vec<(usize, Kept)>| {
        let handed = Python::attach(|py| {
            if !rows.is_empty() {
                let rows = rows.into_iter();
                let rows: Vec<_> = rows
                    .map(|(job, (values, wall_s, events))| (job, values, wall_s, events))
                    .collect();
                sink.call1(py, (rows,))?;
            }
            py.check_signals()
        });
        handed.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    };
    let workers = workers.map(|Workers(number)| number);
    // No quantity depends on the number of the seed itself.
    failed(py.detach(|| batch::run_each(&jobs, workers, keep, |_, _| {}, hand_over)))
}
