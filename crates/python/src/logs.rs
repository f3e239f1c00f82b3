//! Logs of QUIC that a run writes into its folder.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use pyo3::prelude::*;
use quic::{KeyLogWriter, LogError, Logs, Sink, Traces};
use scenario::Scenario;
use scenario::model::Flow;

use crate::errors::value_error;
use crate::output::OutputFolder;

/// The logs of a run, none by default.
#[derive(Default)]
pub struct QuicLogs {
    keys: Option<Arc<KeyLogWriter<BufWriter<File>>>>,
    traces: Option<Arc<Traces>>,
}

impl QuicLogs {
    /// Begins the logs that have a folder. They are refused if no flow would write into them.
    pub fn begin(
        scenario: &Scenario,
        keylog: Option<&OutputFolder>,
        qlog: Option<&OutputFolder>,
    ) -> PyResult<Self> {
        let has_quic = scenario.flows.iter().any(Flow::has_quic);
        for (name, folder) in [("keylog", keylog), ("qlog", qlog)] {
            if folder.is_some() && !has_quic {
                let expected = "a scenario with a flow or a gateway whose protocol is \"quic\"";
                return Err(value_error(name, expected, "one without"));
            }
        }
        let keys = keylog.map(OutputFolder::key_log).transpose()?;
        let files = qlog.map(OutputFolder::traces).transpose()?;
        let traces = files.map(|files| {
            Traces::new(move |name| files.begin(name).map(|file| Box::new(file) as Sink))
        });
        Ok(Self {
            keys: keys.map(|sink| Arc::new(KeyLogWriter::new(sink))),
            traces: traces.map(Arc::new),
        })
    }

    /// The logs of connections.
    pub fn of_connections(&self) -> Logs {
        let keys = self.keys.clone();
        Logs { keys: keys.map(|keys| keys as _), traces: self.traces.clone() }
    }

    /// Completes the logs after the run.
    pub fn finish(&self) -> Result<(), LogError> {
        self.keys.as_ref().map_or(Ok(()), |keys| keys.finish())?;
        self.traces.as_ref().map_or(Ok(()), |traces| traces.finish())
    }
}
