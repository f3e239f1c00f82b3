//! Controllers in the running kernel.

use deploy::{Controller, Setting};
use pyo3::prelude::*;

use crate::errors::kernel_error;
use crate::record::record;

record! {
    /// A controller that the running kernel can load.
    KernelController {
        /// Name of the definition in the simulator.
        name: &'static str,
        /// Name in the kernel: what sockets choose.
        kernel_name: &'static str,
        /// Description in one sentence.
        summary: &'static str,
        /// The paper or RFC that defines it.
        source: &'static str,
        /// Names of its parameters.
        parameters: Vec<&'static str>,
    }
}

record! {
    /// Linux's own controller for a definition.
    KernelLikeness {
        /// Name of the definition in the simulator.
        definition: &'static str,
        /// Name in the kernel.
        kernel_name: &'static str,
        /// `same`, a `variant` or a `different` algorithm.
        likeness: &'static str,
        /// Differences of Linux.
        differs: &'static str,
    }
}

record! {
    /// A parameter of a loaded controller.
    KernelParameter {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// True if this is its default.
        default: bool,
    }
}

record! {
    /// A controller that is loaded, or that connections still use.
    KernelUse {
        /// Name here.
        name: &'static str,
        /// Name in the kernel.
        kernel_name: &'static str,
        /// True if new sockets can choose it.
        loaded: bool,
        /// Connections in all network namespaces.
        sockets: u64,
        /// Network namespaces whose default it is.
        default_of: Vec<String>,
        /// Its parameters; empty when it is no longer loaded.
        parameters: Vec<KernelParameter>,
    }
}

/// The controllers that the running Linux kernel can be given.
#[pyfunction]
pub fn kernel_controllers() -> Vec<KernelController> {
    deploy::CONTROLLERS.iter().map(describe).collect()
}

fn describe(controller: &Controller) -> KernelController {
    let entry = controller.entry();
    KernelController {
        name: controller.name,
        kernel_name: controller.kernel_name,
        summary: entry.summary,
        source: entry.source,
        parameters: controller.parameters().map(|(parameter, _)| parameter.name).collect(),
    }
}

/// Linux's own controllers with the definitions that they are, or could be taken for.
#[pyfunction]
pub fn kernel_likeness() -> Vec<KernelLikeness> {
    let row = |row: &deploy::OfLinux| KernelLikeness {
        definition: row.definition,
        kernel_name: row.kernel_name,
        likeness: row.likeness.name(),
        differs: row.differs,
    };
    deploy::OF_LINUX.iter().map(row).collect()
}

/// Things that this machine lacks to load them, each with a remedy; may be empty.
#[pyfunction]
pub fn kernel_missing() -> Vec<String> {
    deploy::missing()
}

/// Load a controller with parameters as `"beta=2"`; gives the folder that it is pinned in.
///
/// It stays when this process ends. With `default`, new sockets of the network namespace (as
/// `ip netns` names it, by default this one) use it; a loaded one can be made the default.
/// `KernelError` when it cannot be as asked for, or the machine or the kernel does not let it.
#[pyfunction]
#[pyo3(signature = (name, sets = Vec::new(), *, default = false, namespace = None))]
pub fn kernel_load(
    py: Python<'_>,
    name: &str,
    sets: Vec<String>,
    default: bool,
    namespace: Option<&str>,
) -> PyResult<String> {
    let controller = deploy::find(name).map_err(kernel_error)?;
    let default_of = default.then_some(namespace);
    let loaded = py.detach(|| deploy::load(controller, &sets, default_of));
    Ok(loaded.map_err(kernel_error)?.folder.display().to_string())
}

/// Change parameters of a loaded controller; connections that use it see them at once.
#[pyfunction]
pub fn kernel_set(py: Python<'_>, name: &str, sets: Vec<String>) -> PyResult<Vec<KernelParameter>> {
    let controller = deploy::find(name).map_err(kernel_error)?;
    let settings = py.detach(|| deploy::set(controller, &sets)).map_err(kernel_error)?;
    Ok(rows(&settings))
}

/// Unload a controller; gives the number of connections that keep it until they end.
///
/// Network namespaces that have it as their default get back what they had.
#[pyfunction]
pub fn kernel_unload(py: Python<'_>, name: &str) -> PyResult<u64> {
    let controller = deploy::find(name).map_err(kernel_error)?;
    py.detach(|| deploy::unload(controller)).map_err(kernel_error)
}

/// The controllers that are loaded, and those that were and are still used.
#[pyfunction]
pub fn kernel_status(py: Python<'_>) -> PyResult<Vec<KernelUse>> {
    let uses = py.detach(deploy::status).map_err(kernel_error)?;
    let row = |found: &deploy::Use| KernelUse {
        name: found.controller.name,
        kernel_name: found.controller.kernel_name,
        loaded: found.loaded,
        sockets: found.sockets,
        default_of: found.default_of.clone(),
        parameters: rows(&found.settings),
    };
    Ok(uses.iter().map(row).collect())
}

fn rows(settings: &[Setting]) -> Vec<KernelParameter> {
    let row = |setting: &Setting| KernelParameter {
        name: setting.name,
        value: setting.value.clone(),
        default: setting.default,
    };
    settings.iter().map(row).collect()
}
