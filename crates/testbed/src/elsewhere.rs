//! Systems other than Linux: no scenario runs on their kernel.

use std::path::Path;

use recording::{Recording, SettingRecord};
use scenario::Scenario;

use crate::error::{KernelError, Refusal};
use crate::options::{Options, Program, Ran};

fn refused<T>() -> Result<T, KernelError> {
    Err(KernelError::Missing("Linux; this system runs scenarios in the simulator only".to_owned()))
}

/// Checks that this machine can run scenarios on its kernel.
///
/// # Errors
/// The machine has no Linux kernel, as for all functions of this module.
pub fn available() -> Result<(), KernelError> {
    refused()
}

/// Verdicts on the settings of a scenario.
///
/// # Errors
/// See [`available`].
pub fn explain(_scenario: &Scenario) -> Result<(Vec<SettingRecord>, Vec<Refusal>), KernelError> {
    refused()
}

/// Runs a scenario.
///
/// # Errors
/// See [`available`].
pub fn run(
    _scenario: &Scenario,
    _seed: u64,
    _options: Options<'_>,
) -> Result<Recording, KernelError> {
    refused()
}

/// Settings of flows that programs do not get.
///
/// # Errors
/// See [`available`].
pub fn unset_for_programs(_scenario: &Scenario) -> Result<Vec<String>, KernelError> {
    refused()
}

/// Runs a program on a host of a scenario.
///
/// # Errors
/// See [`available`].
pub fn shell_through(
    _scenario: &Scenario,
    _seed: u64,
    _program: &Program,
    _servers: &[Program],
    _proxy: Option<&Path>,
) -> Result<Ran, KernelError> {
    refused()
}
