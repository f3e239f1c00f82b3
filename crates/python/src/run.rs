//! Runs, one or many, with the interpreter released, Ctrl-C heard and progress told.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use simulator::{Capture, Controllers, Observed, Options, Progress};

use crate::arguments::{Progress as Call, Seed, Workers};
use crate::errors::{interrupted, output_error};
use crate::output::OutputFolder;
use crate::prototype::Prototypes;
use crate::recording::Recording;
use crate::scenario::Scenario;

/// How often the waiting thread looks for Ctrl-C while others work.
pub const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Run a scenario in the simulator.
///
/// `progress` is called now and then with the fraction that is done. The packets are written into
/// `capture`, whose `save` completes them; `OutputError` when they cannot be written. Ctrl-C raises
/// `Interrupted` with the partial recording.
///
/// `controllers` gives flows, by name, controllers in Python: classes, or what makes controllers
/// when it is called. The name of an entry with `count` stands for all its copies, `*` for every
/// flow that is not named. What they raise ends the run; `ControllerError` when they do what no
/// controller may, or there is no such flow. The recording calls them `python:` and their class.
#[pyfunction]
#[pyo3(signature = (scenario, *, seed = None, progress = None, capture = None, controllers = None))]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seed: Option<Seed>,
    progress: Option<Call>,
    capture: Option<&OutputFolder>,
    controllers: Option<&Bound<'_, PyMapping>>,
) -> PyResult<Recording> {
    let scenario = &scenario.inner;
    let seed = seed.map_or(scenario.seed, |Seed(seed)| seed);
    let prototypes =
        controllers.map(|given| Prototypes::new(given, &scenario.flows)).transpose()?;
    let sink = capture.map(OutputFolder::capture).transpose()?;
    let capture = sink.map(|sink| Capture::new(sink, scenario.ip)).transpose();
    let mut capture = capture.map_err(output_error)?;
    let mut raised = None;
    let finished = py.detach(|| {
        let mut heard = |now: &Progress| {
            raised =
                Python::attach(|py| heard(py, progress.as_ref().map(|Call(call)| call), now)).err();
            raised.is_none()
        };
        let controllers = prototypes.as_ref().map(|prototypes| prototypes as &dyn Controllers);
        let mut options = Options { progress: Some(&mut heard), observer: None, controllers };
        let captures = capture.is_some();
        let mut observe = |packet: &Observed<'_>| {
            capture.iter_mut().for_each(|capture| capture.observe(packet));
        };
        if captures {
            options.observer = Some(&mut observe);
        }
        timed(scenario, seed, options)
    });
    capture.map_or(Ok(()), Capture::finish).map_err(output_error)?;
    let recording = Recording::new(finished);
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
    let jobs: Vec<_> = jobs
        .iter()
        .map(|(scenario, seed)| {
            let scenario = &scenario.get().inner;
            (Arc::clone(scenario), seed.map_or(scenario.seed, |Seed(seed)| seed))
        })
        .collect();
    let workers = threads(workers, jobs.len());
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let mut finished: Vec<Option<Recording>> = jobs.iter().map(|_| None).collect();
    let waited = py.detach(|| {
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for _ in 0..workers {
                let (jobs, next, stop, send) = (&jobs, &next, &stop, send.clone());
                scope.spawn(move || work(jobs, next, stop, &send, |recording| recording));
            }
            drop(send);
            let outcome =
                collect(&receive, &mut finished, progress.as_ref().map(|Call(call)| call));
            stop.store(true, Ordering::Relaxed);
            outcome
        })
    });
    match waited {
        Ok(()) => Ok(finished.into_iter().flatten().collect()),
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(interrupted(finished)),
        Err(error) => Err(error),
    }
}

/// How many threads `jobs` get: as asked for, or one for each core.
pub fn threads(asked: Option<Workers>, jobs: usize) -> usize {
    let workers =
        asked.map(|Workers(number)| number).or_else(|| thread::available_parallelism().ok());
    workers.map_or(1, NonZeroUsize::get).min(jobs)
}

/// Runs the next job that nobody has taken until there is none or all shall stop, and sends what
/// `keep` makes of its recording. A job that is stopped on its way is not sent: of many runs only
/// whole ones are of use.
pub fn work<T>(
    jobs: &[(Arc<scenario::Scenario>, u64)],
    next: &AtomicUsize,
    stop: &AtomicBool,
    finished: &Sender<(usize, T)>,
    keep: impl Fn(recording::Recording) -> T,
) {
    let mut going = |_: &Progress| !stop.load(Ordering::Relaxed);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some((scenario, seed)) = jobs.get(number) else { return };
        let options = Options { progress: Some(&mut going), ..Options::default() };
        let recording = timed(scenario, *seed, options);
        // Nobody receives any more once all shall stop.
        if recording.partial || finished.send((number, keep(recording))).is_err() {
            return;
        }
    }
}

/// Takes in recordings until no worker is left, or until Ctrl-C or the callback raises.
fn collect(
    receive: &Receiver<(usize, recording::Recording)>,
    finished: &mut [Option<Recording>],
    progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let mut done = 0;
    loop {
        match receive.recv_timeout(SIGNAL_INTERVAL) {
            Ok((number, recording)) => {
                finished[number] = Some(Recording::new(recording));
                done += 1;
                Python::attach(|py| {
                    py.check_signals()?;
                    progress.map_or(Ok(()), |callback| callback.call1(py, (done,)).map(drop))
                })?;
            }
            Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Passes signals and progress on to Python.
fn heard(py: Python<'_>, callback: Option<&Py<PyAny>>, progress: &Progress) -> PyResult<()> {
    py.check_signals()?;
    let Some(callback) = callback else { return Ok(()) };
    let elapsed = progress.now.as_secs_f64() / progress.duration.as_secs_f64();
    callback.call1(py, (progress.transferred.unwrap_or(elapsed),)).map(drop)
}

/// Runs and takes the wall time, which the engine itself must not read.
#[expect(clippy::disallowed_methods, reason = "wall time of a run, told to its user")]
fn timed<'a>(
    scenario: &'a scenario::Scenario,
    seed: u64,
    options: Options<'a>,
) -> recording::Recording {
    let start = Instant::now();
    let mut recording = simulator::run(scenario, seed, options);
    recording.wall_s = start.elapsed().as_secs_f64();
    recording
}
