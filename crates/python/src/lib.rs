//! The extension module `bentpipe._native`. Each file is one group of Python names and does no
//! more than translate: arguments in, engine called with the interpreter released, result or
//! exception out. The stubs in `python/bentpipe/_native.pyi` say the same for people and checkers.

mod arguments;
mod arrow;
mod controllers;
mod deploy;
mod errors;
mod kernel;
mod mechanisms;
mod output;
mod panics;
mod prototype;
mod record;
mod recording;
mod run;
mod scenario;
mod study;
mod totals;
mod values;

use pyo3::prelude::*;

/// Version of the engine and of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// How the engine was compiled: `release`, or `debug` which is ten times slower.
#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::panics::become_exceptions(module.py())
    }

    #[pymodule_export]
    use super::{
        arrow::ArrowTable, build_profile, controllers::ControllerEntry,
        controllers::ControllerVariant, controllers::Parameter, controllers::controllers,
        deploy::KernelController, deploy::KernelLikeness, deploy::KernelParameter,
        deploy::KernelUse, deploy::kernel_controllers, deploy::kernel_likeness,
        deploy::kernel_load, deploy::kernel_missing, deploy::kernel_set, deploy::kernel_status,
        deploy::kernel_unload, kernel::run_on_kernel, kernel::shell, mechanisms::Mechanism,
        mechanisms::MechanismSetting, mechanisms::mechanisms, output::OutputFolder, panics::_panic,
        prototype::Ack, prototype::Controller, prototype::Feedback, prototype::Loss,
        prototype::LostSegment, prototype::Needs, prototype::PartialAck, prototype::RateSample,
        prototype::Sent, prototype::Settings, prototype::Window, recording::Recording, run::run,
        run::run_many, scenario::Hop, scenario::Scenario, scenario::Signal, scenario::names_a_file,
        scenario::reference, scenario::scenario_files, scenario::schema, study::Quantity,
        study::StudySource, study::number_columns, study::present_path, study::run_study,
        study::study_reference, study::study_schema, totals::Flow, totals::KernelQuality,
        totals::KernelSetting, totals::Link, totals::LinkRate, totals::Page, totals::PageObject,
        totals::TcpTotals, version,
    };
}
