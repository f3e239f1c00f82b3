//! Controllers that a kernel has.

use std::path::PathBuf;

use crate::catalogue::Controller;
use crate::encode::Setting;

/// A controller that was loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The controller.
    pub controller: &'static Controller,
    /// Where it is pinned.
    pub folder: PathBuf,
}

/// A controller that is loaded, or was and is still used.
#[derive(Clone, Debug)]
pub struct Use {
    /// The controller.
    pub controller: &'static Controller,
    /// True if new sockets can choose it.
    pub loaded: bool,
    /// Connections in all network namespaces.
    pub sockets: u64,
    /// The network namespaces whose default it is.
    pub default_of: Vec<String>,
    /// Its parameters; empty when it is no longer loaded.
    pub settings: Vec<Setting>,
}
