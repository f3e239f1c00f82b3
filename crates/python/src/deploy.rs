//! Controllers in the running kernel.

use deploy::{Controller, Setting};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::kernel_error;

/// The controllers that the running Linux kernel can be given.
#[pyfunction]
pub fn kernel_controllers(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    deploy::CONTROLLERS.iter().map(|controller| describe(py, controller)).collect()
}

fn describe<'py>(py: Python<'py>, controller: &Controller) -> PyResult<Bound<'py, PyDict>> {
    let entry = controller.entry();
    let described = PyDict::new(py);
    described.set_item("name", controller.name)?;
    described.set_item("kernel_name", controller.kernel_name)?;
    described.set_item("summary", entry.summary)?;
    described.set_item("source", entry.source)?;
    let names = controller.parameters().map(|(parameter, _)| parameter.name);
    described.set_item("parameters", names.collect::<Vec<_>>())?;
    Ok(described)
}

/// Linux's own controllers beside the definitions that they are, or could be taken for.
#[pyfunction]
pub fn kernel_likeness(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |row: &deploy::OfLinux| {
        let described = PyDict::new(py);
        described.set_item("definition", row.definition)?;
        described.set_item("kernel_name", row.kernel_name)?;
        described.set_item("likeness", row.likeness.name())?;
        described.set_item("differs", row.differs)?;
        Ok(described)
    };
    deploy::OF_LINUX.iter().map(row).collect()
}

/// What this machine lacks to load them, each with what to do; empty when nothing.
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
pub fn kernel_set<'py>(
    py: Python<'py>,
    name: &str,
    sets: Vec<String>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let controller = deploy::find(name).map_err(kernel_error)?;
    let settings = py.detach(|| deploy::set(controller, &sets)).map_err(kernel_error)?;
    rows(py, &settings)
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
pub fn kernel_status(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let uses = py.detach(deploy::status).map_err(kernel_error)?;
    let row = |found: &deploy::Use| {
        let row = PyDict::new(py);
        row.set_item("name", found.controller.name)?;
        row.set_item("kernel_name", found.controller.kernel_name)?;
        row.set_item("loaded", found.loaded)?;
        row.set_item("sockets", found.sockets)?;
        row.set_item("default_of", found.default_of.clone())?;
        row.set_item("parameters", rows(py, &found.settings)?)?;
        Ok(row)
    };
    uses.iter().map(row).collect()
}

fn rows<'py>(py: Python<'py>, settings: &[Setting]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let row = |setting: &Setting| {
        let row = PyDict::new(py);
        row.set_item("name", setting.name)?;
        row.set_item("value", &setting.value)?;
        row.set_item("default", setting.default)?;
        Ok(row)
    };
    settings.iter().map(row).collect()
}
