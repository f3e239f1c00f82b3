//! Runs, one or many, with the interpreter released, Ctrl-C handled and progress reported.

use std::ops::ControlFlow;
use std::sync::Arc;

use batch::Job;
use prototype::Prototypes;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use simulator::{Capture, Controllers, Observed, Options, Progress};

use crate::arguments::{Progress as Call, Seed, Workers};
use crate::errors::{capture_error, interrupted, output_error};
use crate::logs::QuicLogs;
use crate::output::OutputFolder;
use crate::recording::Recording;
use crate::scenario::Scenario;

/// Run a scenario in the simulator.
///
/// `progress` is called now and then with the fraction that is done. The packets are written into
/// `capture`, whose `save` completes them. TLS secrets of connections of QUIC go into `keylog`, and
/// their events into `qlog`. `OutputError` when they cannot be written, which has the `recording`
/// of the run. Ctrl-C raises `Interrupted` with the partial recording.
///
/// `controllers` gives flows, by name, controllers in Python: classes, or what makes controllers
/// when it is called. The name of an entry with `count` stands for all its copies, `*` for every
/// flow that is not named. What they raise ends the run; `ControllerError` when they do what no
/// controller may, or there is no such flow. The recording calls them `python:` and their class.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, seed = None, progress = None, capture = None, controllers = None, keylog = None, qlog = None
))]
#[expect(clippy::too_many_arguments, reason = "most are given by name")]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seed: Option<Seed>,
    progress: Option<Call>,
    capture: Option<&OutputFolder>,
    controllers: Option<&Bound<'_, PyMapping>>,
    keylog: Option<&OutputFolder>,
    qlog: Option<&OutputFolder>,
) -> PyResult<Recording> {
    let scenario = &scenario.inner;
    let seed = seed.map_or(scenario.seed, |Seed(seed)| seed);
    let prototypes =
        controllers.map(|given| Prototypes::new(given, &scenario.flows)).transpose()?;
    let logs = QuicLogs::begin(scenario, keylog, qlog)?;
    let sink = capture.map(OutputFolder::capture).transpose()?;
    let capture = sink.map(|sink| Capture::new(sink, scenario)).transpose();
    let mut capture = capture.map_err(output_error)?;
    let mut raised = None;
    let finished = py.detach(|| {
        let mut heard = |now: &Progress| {
            raised =
                Python::attach(|py| heard(py, progress.as_ref().map(|Call(call)| call), now)).err();
            raised.is_none()
        };
        let controllers = prototypes.as_ref().map(|prototypes| prototypes as &dyn Controllers);
        let mut options = Options {
            progress: Some(&mut heard),
            observer: None,
            controllers,
            logs: logs.of_connections(),
        };
        let captures = capture.is_some();
        let mut observe = |packet: &Observed<'_>| {
            capture.iter_mut().for_each(|capture| capture.observe(packet));
        };
        if captures {
            options.observer = Some(&mut observe);
        }
        batch::run(scenario, seed, options)
    });
    let recording = Recording::finished(finished);
    if let Err(error) = capture.map_or(Ok(()), Capture::finish) {
        return Err(capture_error(py, error, recording));
    }
    if let Err(error) = logs.finish() {
        return Err(capture_error(py, error, recording));
    }
    match raised.or_else(|| prototypes.and_then(|prototypes| prototypes.take_error())) {
        None => Ok(recording),
        Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
            Err(interrupted(vec![Some(recording)]))
        }
        Some(error) => Err(error),
    }
}

/// Run jobs of scenario and seed on `workers` threads, by default one for each core.
///
/// The recordings come in the order of the jobs and do not depend on `workers`. `progress` is
/// called with the number of finished jobs. Ctrl-C raises `Interrupted`.
#[pyfunction]
#[pyo3(signature = (jobs, *, workers = None, progress = None))]
pub fn run_many(
    py: Python<'_>,
    jobs: Vec<(Py<Scenario>, Option<Seed>)>,
    workers: Option<Workers>,
    progress: Option<Call>,
) -> PyResult<Vec<Recording>> {
    let jobs: Vec<Job> = jobs
        .iter()
        .map(|(scenario, seed)| {
            let scenario = Arc::clone(&scenario.get().inner);
            let seed = seed.map_or(scenario.seed, |Seed(seed)| seed);
            Job { scenario, seed }
        })
        .collect();
    let mut finished: Vec<Option<Recording>> = jobs.iter().map(|_| None).collect();
    let mut done = 0;
    let take = |results: Vec<(usize, recording::Recording)>| {
        let taken = Python::attach(|py| {
            for (number, recording) in results {
                finished[number] = Some(Recording::finished(recording));
                done += 1;
                py.check_signals()?;
                if let Some(Call(progress)) = &progress {
                    progress.call1(py, (done,))?;
                }
            }
            py.check_signals()
        });
        taken.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    };
    let workers = workers.map(|Workers(number)| number);
    let ran =
        py.detach(|| batch::run_each(&jobs, workers, |it| it, |it, seed| it.seed = seed, take));
    match failed(ran) {
        Ok(()) => Ok(finished.into_iter().flatten().collect()),
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(interrupted(finished)),
        Err(error) => Err(error),
    }
}

/// The exception that cancelled a batch.
pub fn failed(ran: ControlFlow<PyErr>) -> PyResult<()> {
    match ran {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Passes signals and progress on to Python.
fn heard(py: Python<'_>, callback: Option<&Py<PyAny>>, progress: &Progress) -> PyResult<()> {
    py.check_signals()?;
    let Some(callback) = callback else { return Ok(()) };
    let elapsed = progress.now.as_secs_f64() / progress.duration.as_secs_f64();
    callback.call1(py, (progress.transferred.unwrap_or(elapsed),)).map(drop)
}
