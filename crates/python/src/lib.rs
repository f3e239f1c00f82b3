//! The content of the extension module `bentpipe._native`. Each file is one group of Python names
//! and does no more than translate: arguments in, engine called with the interpreter released,
//! result or exception out. The stubs in `python/bentpipe/_native.pyi` say the same for people and
//! checkers.
//!
//! The module itself is in the crate `extension`, because a library for Python cannot be linked
//! into another one: `bentpipe wheel` builds a second module, with the controllers of a user's
//! crate.

mod arguments;
mod arrow;
mod captures;
mod controllers;
mod deploy;
mod errors;
mod hosts;
mod kernel;
mod logs;
mod measured;
mod mechanisms;
mod mixes;
mod names;
mod orbit;
mod output;
mod panics;
mod record;
mod recording;
mod run;
mod scenario;
mod steps;
mod study;
mod totals;
mod traces;
mod transports;
mod values;

use std::sync::OnceLock;

use congestion::NameTaken;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

static VERSION: OnceLock<&'static str> = OnceLock::new();

/// Version of the engine and of the package.
#[pyfunction]
fn version() -> &'static str {
    VERSION.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// How the engine was compiled: `release`, or `debug` which is ten times slower.
#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

/// Registers the controllers of a crate.
pub type Register = fn() -> Result<(), NameTaken>;

/// Adds classes and functions to a module.
macro_rules! add {
    ($module:ident classes $($class:ty),*; functions $($function:path),*,) => {
        $($module.add_class::<$class>()?;)*
        $($module.add_function(wrap_pyfunction!($function, $module)?)?;)*
    };
}

/// Adds all names to the module, and the controllers that other crates register.
///
/// Results keep the version of the wheel, which has to differ if it has other controllers.
///
/// # Errors
/// `ImportError` if a controller has the name of another one.
pub fn define(
    module: &Bound<'_, PyModule>,
    wheel_version: &'static str,
    controllers: &[Register],
) -> PyResult<()> {
    if VERSION.set(wheel_version).is_ok() {
        for register in controllers {
            register().map_err(|taken| PyImportError::new_err(taken.to_string()))?;
        }
    }
    panics::become_exceptions(module.py())?;
    add_records(module)?;
    add_all(module)
}

/// Adds the classes and the functions.
fn add_all(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add! {
        module
        classes
        arrow::ArrowTable,
        output::OutputFolder,
        prototype::Ack,
        prototype::Controller,
        prototype::Feedback,
        prototype::Loss,
        steps::Lockstep,
        prototype::LostSegment,
        prototype::Needs,
        prototype::PartialAck,
        prototype::PathChange,
        prototype::RateSample,
        prototype::Sent,
        prototype::Settings,
        steps::StepDifference,
        steps::StepState,
        prototype::Window,
        recording::Recording,
        scenario::Scenario,
        study::Quantity,
        study::StudySource;
        functions
        version,
        build_profile,
        captures::capture_graphs,
        captures::node_of_address,
        captures::read_capture,
        controllers::controllers,
        deploy::kernel_controllers,
        deploy::kernel_likeness,
        deploy::kernel_load,
        deploy::kernel_missing,
        deploy::kernel_set,
        deploy::kernel_status,
        deploy::kernel_unload,
        kernel::kernel_settings,
        kernel::run_on_kernel,
        kernel::shell,
        kernel::unset_for_programs,
        hosts::hosts,
        mixes::mixes,
        mechanisms::mechanisms,
        names::near_names,
        orbit::constellations,
        orbit::orbit,
        orbit::orbit_columns,
        orbit::orbit_reference,
        orbit::orbit_schema,
        record_stubs,
        measured::replay_cwnd,
        panics::_panic,
        steps::lockstep,
        run::run,
        run::run_many,
        scenario::names_a_file,
        scenario::reference,
        scenario::scenario_files,
        scenario::schema,
        study::number_columns,
        study::tables_of_applications,
        study::tables_of_directions,
        study::dotted_path,
        study::group_of_terminal,
        study::run_study,
        study::study_reference,
        study::study_schema,
        traces::read_trace,
        transports::transports,
    }
    Ok(())
}

/// Classes that [`record::record!`] and [`record::class!`] declare.
macro_rules! records {
    ($($class:ty),+ $(,)?) => {
        fn add_records(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_class::<$class>()?;)+
            totals::add_transports(module)
        }

        /// Name, docstring and attributes of each class of results, for the stubs.
        ///
        /// An attribute has a name, a type and a docstring.
        #[pyfunction]
        fn record_stubs() -> Vec<record::Stub> {
            let mut stubs = vec![$(<$class>::stub(),)+];
            stubs.extend(totals::transport_stubs());
            stubs
        }
    };
}

records! {
    captures::Capture,
    captures::CapturedConnection,
    captures::CapturedData,
    captures::CaptureGraph,
    controllers::ControllerEntry,
    controllers::ControllerVariant,
    controllers::Parameter,
    deploy::KernelController,
    deploy::KernelLikeness,
    deploy::KernelParameter,
    deploy::KernelUse,
    hosts::HostProfile,
    hosts::HostValue,
    mixes::Mix,
    measured::CwndEpoch,
    measured::CwndReplay,
    mechanisms::Mechanism,
    mechanisms::MechanismSetting,
    orbit::Constellation,
    orbit::OrbitGap,
    orbit::OrbitHandover,
    orbit::OrbitSeries,
    scenario::Hop,
    scenario::Signal,
    totals::Flow,
    totals::KernelQuality,
    totals::KernelSetting,
    totals::Link,
    totals::LinkRate,
    totals::Page,
    totals::PageObject,
    traces::TraceRows,
    transports::Transport,
}
