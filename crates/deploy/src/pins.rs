//! Loading and unloading. A loaded controller is a folder of the BPF file system: `link`, with
//! which the kernel has it, and `parameters`, its map.
//!
//! Decisions:
//! - Pins and not a daemon: a controller outlives the command that loaded it; `unload` removes the
//!   pin, connections keep it.
//! - Any process may choose a loaded controller (`TCP_CONG_NON_RESTRICTED`): the server that tries
//!   it needs not be root, and only such a one can be the default of a namespace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject};

use crate::catalogue::{CONTROLLERS, Controller};
use crate::encode::{Setting, changes, decoded, encoded};
use crate::error::Error;
use crate::loaded::{Loaded, Use};
use crate::namespaces::{self, Namespace};
use crate::{default, machine, sockets, verifier};

/// The folder in the BPF file system.
const FOLDER: &str = "bentpipe";
/// The section of a program that its parameters are in, and so the name of its map.
const PARAMETERS: &str = ".data.parameters";
/// How long the kernel may take to let go of a controller, in steps.
const PATIENCE: u32 = 100;
const STEP: Duration = Duration::from_millis(50);

fn folder_of(controller: &Controller) -> Result<PathBuf, Error> {
    Ok(machine::pins()?.join(FOLDER).join(controller.name))
}

/// Loads a controller with `sets` such as `beta=2`; as the default of a namespace when
/// `default_of` is given, where no name means that of this process. One that is loaded already can
/// be made the default.
///
/// # Errors
/// When a parameter cannot be as asked for, when the machine lacks something, when it is loaded
/// already, and when the kernel refuses.
pub fn load(
    controller: &'static Controller,
    sets: &[String],
    default_of: Option<Option<&str>>,
) -> Result<Loaded, Error> {
    let parameters = encoded(controller, sets)?;
    machine::require()?;
    let namespace = default_of.map(Namespace::named).transpose()?;
    let name = controller.kernel_name;
    let folder = folder_of(controller)?;
    let only_default = folder.exists() && namespace.is_some() && sets.is_empty();
    if folder.exists() && !only_default {
        return Err(Error::Input(format!(
            "{name} is loaded already; `bentpipe kernel set` changes its parameters, `bentpipe \
             kernel unload` removes it"
        )));
    }
    if !only_default {
        if machine::is_available(name) {
            return Err(Error::Input(format!("the kernel has another controller called {name}")));
        }
        pin(controller, &parameters, &folder)?;
    }
    if let Some(namespace) = namespace {
        default::set(&namespace, name)?;
    }
    Ok(Loaded { controller, folder })
}

/// A half that is pinned goes again.
fn pin(controller: &Controller, parameters: &[u64], folder: &Path) -> Result<(), Error> {
    let refused = |reason: String| Error::refused(controller.kernel_name, reason);
    let object = controller.object().unwrap_or_default();
    let mut object = verifier::listening(|| {
        let mut open = ObjectBuilder::default().open_memory(object)?;
        write_parameters(&mut open, parameters)?;
        open.load()
    })
    .map_err(refused)?;
    fs::create_dir_all(folder).map_err(|error| refused(error.to_string()))?;
    verifier::listening(|| register(&mut object, folder)).map_err(|reason| {
        let _ = remove(folder);
        refused(reason)
    })
}

fn write_parameters(open: &mut OpenObject, parameters: &[u64]) -> libbpf_rs::Result<()> {
    let bytes: Vec<u8> = parameters.iter().flat_map(|number| number.to_ne_bytes()).collect();
    let map = open.maps_mut().find(|map| map.name() == PARAMETERS);
    map.map_or(Ok(()), |mut map| map.set_initial_value(&bytes))
}

/// The parameters first: with the link the controller can be chosen.
fn register(object: &mut Object, folder: &Path) -> libbpf_rs::Result<()> {
    for mut map in object.maps_mut().filter(|map| map.name() == PARAMETERS) {
        map.pin(folder.join("parameters"))?;
    }
    for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        map.attach_struct_ops()?.pin(folder.join("link"))?;
    }
    Ok(())
}

fn remove(folder: &Path) -> std::io::Result<()> {
    for pin in ["link", "parameters"] {
        match fs::remove_file(folder.join(pin)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir(folder)
}

/// Changes parameters of a loaded controller while connections use it. Gives all of them.
///
/// # Errors
/// As [`load`], and when it is not loaded.
pub fn set(controller: &'static Controller, sets: &[String]) -> Result<Vec<Setting>, Error> {
    let changes = changes(controller, sets)?;
    machine::require()?;
    let folder = loaded_folder(controller)?;
    let refused = |reason: String| Error::refused(controller.kernel_name, reason);
    verifier::listening(|| {
        let map = MapHandle::from_pinned_path(folder.join("parameters"))?;
        let mut bytes = map.lookup(&KEY, MapFlags::ANY)?.unwrap_or_default();
        for (position, number) in &changes {
            bytes[8 * position..8 * position + 8].copy_from_slice(&number.to_ne_bytes());
        }
        map.update(&KEY, &bytes, MapFlags::ANY)
    })
    .map_err(refused)?;
    settings(controller, &folder)
}

/// The only element of a map of parameters.
const KEY: [u8; 4] = [0; 4];

fn settings(controller: &Controller, folder: &Path) -> Result<Vec<Setting>, Error> {
    Ok(decoded(controller, &map(controller, folder)?))
}

/// The map of a loaded controller.
///
/// # Errors
/// When it is not loaded, and when the kernel refuses.
pub fn loaded_map(controller: &Controller) -> Result<Vec<u64>, Error> {
    map(controller, &loaded_folder(controller)?)
}

fn map(controller: &Controller, folder: &Path) -> Result<Vec<u64>, Error> {
    let bytes = verifier::listening(|| {
        MapHandle::from_pinned_path(folder.join("parameters"))?.lookup(&KEY, MapFlags::ANY)
    })
    .map_err(|reason| Error::refused(controller.kernel_name, reason))?;
    let bytes = bytes.unwrap_or_default();
    let numbers = bytes.chunks_exact(8).map(|chunk| {
        u64::from_ne_bytes([
            chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
        ])
    });
    Ok(numbers.collect())
}

fn loaded_folder(controller: &Controller) -> Result<PathBuf, Error> {
    let name = controller.kernel_name;
    if !machine::has_pins() || !folder_of(controller)?.exists() {
        return Err(Error::Input(format!("{name} is not loaded; see `bentpipe kernel status`")));
    }
    folder_of(controller)
}

/// Unloads a controller: no new socket can choose it, and namespaces that have it as their default
/// get back what they had. Connections that use it keep it until they end; gives their number.
///
/// # Errors
/// When it is not loaded, when the machine lacks something, and when the kernel does not let it go.
pub fn unload(controller: &'static Controller) -> Result<u64, Error> {
    machine::require()?;
    let folder = loaded_folder(controller)?;
    let name = controller.kernel_name;
    default::put_back(name)?;
    remove(&folder).map_err(|error| Error::refused(folder.display(), error))?;
    // The last one to go takes the folder along; others may still be in it.
    let _ = folder.parent().map(fs::remove_dir);
    for _ in 0..PATIENCE {
        if !machine::is_available(name) {
            return Ok(connections()?.remove(name).unwrap_or(0));
        }
        sleep(STEP);
    }
    Err(Error::Kernel(format!("{name} is unpinned, but a process still uses it")))
}

/// Connections of all network namespaces by the kernel's name of their controller.
fn connections() -> Result<BTreeMap<String, u64>, Error> {
    let mut total = BTreeMap::new();
    for namespace in namespaces::all() {
        // A namespace may end meanwhile, and its connections with it.
        for (name, count) in namespace.run(sockets::count).unwrap_or_default() {
            *total.entry(name).or_default() += count;
        }
    }
    Ok(total)
}

/// The controllers that are loaded, and those that were and are still used.
///
/// # Errors
/// When the machine lacks something, and when the kernel refuses.
pub fn status() -> Result<Vec<Use>, Error> {
    machine::require()?;
    let connections = connections()?;
    let mut found = Vec::new();
    for controller in CONTROLLERS {
        let name = controller.kernel_name;
        let loaded = machine::has_pins() && folder_of(controller)?.join("link").exists();
        let sockets = connections.get(name).copied().unwrap_or(0);
        if !loaded && sockets == 0 {
            continue;
        }
        let settings =
            if loaded { settings(controller, &folder_of(controller)?)? } else { Vec::new() };
        let default_of = default::of(name).into_iter().map(|namespace| namespace.name).collect();
        found.push(Use { controller, loaded, sockets, default_of, settings });
    }
    Ok(found)
}
