//! Errors of running a scenario on this machine's kernel.

use std::fmt;
use std::io;

use recording::{CaptureError, Recording};
use thiserror::Error;

/// Reasons why a scenario cannot run on this machine's kernel. Each names what is required.
#[derive(Debug, Error)]
pub enum KernelError {
    /// The machine or the user lacks something.
    #[error("the kernel backend needs {0}")]
    Missing(String),
    /// The scenario has settings that a kernel cannot apply.
    #[error("the kernel backend cannot run this scenario:\n{}", Lines(.0))]
    Refused(Vec<Refusal>),
    /// A system call failed that should have worked.
    #[error("cannot {action}: {source}")]
    Failed {
        /// Action that failed.
        action: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The capture could not be written. The rest of the run is not lost.
    #[error("{source}")]
    Capture {
        /// Cause.
        source: CaptureError,
        /// The run without its packets.
        recording: Box<Recording>,
    },
}

/// A setting that a kernel cannot apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where it applies: the name of a flow or host, and the setting.
    pub place: String,
    /// The value in the scenario.
    pub asked: String,
    /// The values that a kernel can apply.
    pub possible: String,
    /// Its key in the scenario, if it has one.
    pub key: Option<Key>,
}

/// A key of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The table that has it.
    pub of: Of,
    /// Its path in the table: `transport.mss`.
    pub path: String,
}

/// A table of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The flow with this number.
    Flow(usize),
    /// The node with this number.
    Node(usize),
    /// The beam with this number.
    Beam(usize),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.place, self.possible, self.asked)
    }
}

struct Lines<'a>(&'a [Refusal]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, refusal) in self.0.iter().enumerate() {
            let end = if number + 1 < self.0.len() { "\n" } else { "" };
            write!(f, "  {refusal}{end}")?;
        }
        Ok(())
    }
}

/// Adds the failed operation to an error of the system.
#[cfg(target_os = "linux")]
pub(crate) trait Doing<T> {
    fn doing(self, action: impl FnOnce() -> String) -> Result<T, KernelError>;
}

#[cfg(target_os = "linux")]
impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, action: impl FnOnce() -> String) -> Result<T, KernelError> {
        self.map_err(|source| KernelError::Failed { action: action(), source: source.into() })
    }
}
