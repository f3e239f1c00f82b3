//! Systems other than Linux: they have the catalogue of controllers, and nothing to load them into.

use crate::catalogue::Controller;
use crate::encode::{Setting, changes, encoded};
use crate::error::Error;
use crate::loaded::{Loaded, Use};

/// The requirements that this machine lacks to load controllers.
pub fn missing() -> Vec<String> {
    vec!["a Linux kernel".to_owned()]
}

fn refused<T>() -> Result<T, Error> {
    Err(Error::lacking(&missing()))
}

/// Loads a controller.
///
/// # Errors
/// Those of wrong parameters; else that this system has no Linux kernel.
pub fn load(
    controller: &'static Controller,
    sets: &[String],
    _default_of: Option<Option<&str>>,
) -> Result<Loaded, Error> {
    encoded(controller, sets)?;
    refused()
}

/// Changes parameters of a loaded controller.
///
/// # Errors
/// Those of wrong parameters; else that this system has no Linux kernel.
pub fn set(controller: &'static Controller, sets: &[String]) -> Result<Vec<Setting>, Error> {
    changes(controller, sets)?;
    refused()
}

/// Unloads a controller.
///
/// # Errors
/// This system has no Linux kernel.
pub fn unload(_controller: &'static Controller) -> Result<u64, Error> {
    refused()
}

/// The controllers that are loaded.
///
/// # Errors
/// This system has no Linux kernel.
pub fn status() -> Result<Vec<Use>, Error> {
    refused()
}
