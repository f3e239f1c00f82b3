//! Logs of connections, beyond their counters.

use std::io;
use std::sync::Arc;

use rustls::KeyLog;
use thiserror::Error;

use crate::trace::Traces;

/// Why a log is not complete.
#[derive(Debug, Error)]
pub enum LogError {
    /// The secrets.
    #[error("cannot write the key log: {0}")]
    Keys(io::Error),
    /// The events.
    #[error("cannot write the qlog of a connection: {0}")]
    Traces(io::Error),
}

/// Logs of all connections of a run.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// TLS secrets, for programs that decrypt captures.
    pub keys: Option<Arc<dyn KeyLog>>,
    /// Events, as qlog.
    pub traces: Option<Arc<Traces>>,
}
