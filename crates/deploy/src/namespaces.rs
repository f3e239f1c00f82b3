//! The network namespaces of the machine. A controller is the whole kernel's; sockets and defaults
//! are each namespace's own.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::error::Error;

/// Where `ip netns` has its names.
const NAMED: &str = "/run/netns";

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// Identifies it while it exists.
    pub(crate) id: u64,
    path: PathBuf,
    /// Its name for people.
    pub(crate) name: String,
}

impl Namespace {
    fn at(path: PathBuf, name: String) -> Option<Self> {
        let id = path.metadata().ok()?.ino();
        Some(Self { id, path, name })
    }

    /// The one called `name` by `ip netns`; without a name that of this process.
    pub(crate) fn named(name: Option<&str>) -> Result<Self, Error> {
        let Some(name) = name else {
            let own = PathBuf::from("/proc/self/ns/net");
            return Self::at(own, "this one".to_owned())
                .ok_or_else(|| Error::Machine("/proc is not mounted".to_owned()));
        };
        Self::at(Path::new(NAMED).join(name), name.to_owned()).ok_or_else(|| {
            let known = entries(NAMED);
            Error::Input(format!(
                "there is no network namespace {name:?} in {NAMED}; {}",
                crate::error::nearest(name, known.iter().map(String::as_str))
            ))
        })
    }

    /// Runs `work` inside, on a thread of its own.
    pub(crate) fn run<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let file =
            File::open(&self.path).map_err(|error| Error::refused(self.path.display(), error))?;
        let inside = move || {
            setns(file, CloneFlags::CLONE_NEWNET)
                .map_err(|error| Error::refused("the network namespace", error))?;
            work()
        };
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|_| Err(Error::Machine("a thread has ended".to_owned())))
    }
}

fn entries(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// All that have a name or a process.
pub(crate) fn all() -> Vec<Namespace> {
    let named = entries(NAMED).into_iter().map(|name| (Path::new(NAMED).join(&name), name));
    let own = std::iter::once((PathBuf::from("/proc/self/ns/net"), "this one".to_owned()));
    let processes = entries("/proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|pid| (PathBuf::from(format!("/proc/{pid}/ns/net")), format!("of process {pid}")));
    let mut found = BTreeMap::new();
    for (path, name) in own.chain(named).chain(processes) {
        if let Some(namespace) = Namespace::at(path, name) {
            found.entry(namespace.id).or_insert(namespace);
        }
    }
    found.into_values().collect()
}
