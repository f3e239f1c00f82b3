//! Scenarios on the kernel of this machine: runs, and programs across their links.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use testbed::{Options, Program};

use crate::arguments::{Progress as Call, Seed};
use crate::errors::{KernelError, capture_error, interrupted, kernel_error};
use crate::logs::QuicLogs;
use crate::output::OutputFolder;
use crate::recording::Recording;
use crate::scenario::Scenario;
use crate::totals::{KernelQuality, KernelSetting};

/// Error message for `controllers`.
const NO_PYTHON: &str = "controllers: those in Python run in the simulator only; the kernel takes \
                         what `bentpipe kernel list` names";

/// The program of `bentpipe proxy`, if the scenario has a split proxy.
fn proxy_of(py: Python<'_>, scenario: &Scenario) -> PyResult<Option<PathBuf>> {
    if scenario.inner.nodes.iter().all(|node| node.proxy.is_none()) {
        return Ok(None);
    }
    let program = py.import("bentpipe.proxy")?.call_method0("program");
    Ok(Some(program?.extract()?))
}

/// The error with the places in the file of what it refuses.
fn placed(scenario: &Scenario, error: testbed::KernelError) -> PyErr {
    let testbed::KernelError::Refused(refusals) = error else { return kernel_error(error) };
    let refusals = refusals.into_iter().map(|refusal| placed_in_file(scenario, refusal)).collect();
    kernel_error(testbed::KernelError::Refused(refusals))
}

/// A refusal with its place in the file.
fn placed_in_file(scenario: &Scenario, mut refusal: testbed::Refusal) -> testbed::Refusal {
    let place = refusal.key.as_ref().map(|key| scenario.place_of(key));
    refusal.place.insert_str(0, &place.unwrap_or_default());
    refusal
}

/// Verdicts of this machine's kernel on each setting of a scenario. Nothing is set up.
///
/// Returns the settings that a run would apply or approximate, for each kind of flow and for each
/// side of a gateway, and a sentence for each one that it would refuse. Raises `KernelError` if the
/// system does not say which controllers the kernel has.
#[pyfunction]
pub fn kernel_settings(scenario: &Scenario) -> PyResult<(Vec<KernelSetting>, Vec<String>)> {
    let (settings, refusals) = testbed::explain(&scenario.inner).map_err(kernel_error)?;
    let refused = refusals.into_iter().map(|refusal| placed_in_file(scenario, refusal).to_string());
    Ok((settings.iter().map(KernelSetting::from).collect(), refused.collect()))
}

/// Run a scenario on the TCP of this machine's kernel, in real time.
///
/// Arguments as for `run`. `KernelError` says what the machine lacks, or what of the scenario a
/// kernel cannot do: it takes no `controllers` in Python. How well the network was emulated stands
/// in the recording under `kernel`.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, seed = None, progress = None, capture = None, controllers = None, keylog = None, qlog = None
))]
#[expect(clippy::too_many_arguments, reason = "most are given by name")]
pub fn run_on_kernel(
    py: Python<'_>,
    scenario: &Scenario,
    seed: Option<Seed>,
    progress: Option<Call>,
    capture: Option<&OutputFolder>,
    controllers: Option<&Bound<'_, PyMapping>>,
    keylog: Option<&OutputFolder>,
    qlog: Option<&OutputFolder>,
) -> PyResult<Recording> {
    if controllers.is_some() {
        return Err(KernelError::new_err(NO_PYTHON));
    }
    let proxy = proxy_of(py, scenario)?;
    let loaded = scenario;
    let scenario = &loaded.inner;
    let seed = seed.map_or(scenario.seed, |Seed(seed)| seed);
    let logs = QuicLogs::begin(scenario, keylog, qlog)?;
    let mut sink = capture.map(OutputFolder::capture).transpose()?;
    let mut raised = None;
    let finished = py.detach(|| {
        let mut heard = |share: f64| {
            raised = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |Call(call)| call.call1(py, (share,)).map(drop))
            })
            .err();
            raised.is_none()
        };
        let capture = sink.as_mut().map(|sink| sink as &mut (dyn Write + Send));
        testbed::run(
            scenario,
            seed,
            Options {
                progress: Some(&mut heard),
                capture,
                logs: logs.of_connections(),
                proxy: proxy.as_deref(),
            },
        )
    });
    let recording = match finished {
        Err(testbed::KernelError::Capture { source, recording }) => {
            return Err(capture_error(py, source, Recording::finished(*recording)));
        }
        finished => Recording::finished(finished.map_err(|error| placed(loaded, error))?),
    };
    if let Err(error) = logs.finish() {
        return Err(capture_error(py, error, recording));
    }
    match raised {
        None => Ok(recording),
        Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
            Err(interrupted(vec![Some(recording)]))
        }
        Some(error) => Err(error),
    }
}

/// Settings of the flows of a scenario that programs of `shell` do not get, in words.
///
/// Sysctls and routes are those of the scenario. Options of sockets are the choice of each program,
/// and a machine may restrict controllers. Raises `KernelError` as `shell`.
#[pyfunction]
pub fn unset_for_programs(scenario: &Scenario) -> PyResult<Vec<String>> {
    testbed::unset_for_programs(&scenario.inner).map_err(|error| placed(scenario, error))
}

/// Run a program on a host of a scenario, by default the one that receives the first flow.
///
/// The ends of all flows are reached by name. `servers` are hosts and programs that run meanwhile
/// and are killed when it ends. Returns its exit status and how well the network was
/// emulated. Raises `KernelError` as `run_on_kernel`.
#[pyfunction]
#[pyo3(signature = (scenario, command, *, host = None, servers = Vec::new(), seed = None))]
pub fn shell(
    py: Python<'_>,
    scenario: &Scenario,
    command: Vec<OsString>,
    host: Option<String>,
    servers: Vec<(String, Vec<OsString>)>,
    seed: Option<Seed>,
) -> PyResult<(i32, KernelQuality)> {
    let proxy = proxy_of(py, scenario)?;
    let loaded = scenario;
    let scenario = &loaded.inner;
    let seed = seed.map_or(scenario.seed, |Seed(seed)| seed);
    let program = Program { host, command };
    let servers: Vec<_> =
        servers.into_iter().map(|(host, command)| Program { host: Some(host), command }).collect();
    let ran = py
        .detach(|| testbed::shell_through(scenario, seed, &program, &servers, proxy.as_deref()))
        .map_err(|error| placed(loaded, error))?;
    py.check_signals()?;
    Ok((ran.status, KernelQuality::from(&ran.kernel)))
}
