//! Connections of captures.

use std::path::{Path, PathBuf};

use capture::{CaptureRecord, ConnectionRecord, DirectionRecord, Graph, Request};
use pyo3::prelude::*;

use crate::arguments::Progress;
use crate::errors::unread_capture;
use crate::record::{class, record};

capture::direction_record!(class { CapturedData; });
capture::connection_record!(class { CapturedConnection; });
capture::capture_record!(class { Capture; });

record! {
    /// Points of the figures of one direction of data.
    ///
    /// Times are in s since the first packet of the capture, and bytes count from 0. Vertical lines
    /// are a time, a first byte and an end. Points are a time and a value.
    CaptureGraph {
        /// Segments with new data.
        sent: Vec<(f64, i64, i64)>,
        /// Retransmissions, and other segments with data that was captured before.
        again: Vec<(f64, i64, i64)>,
        /// SACK blocks.
        sacks: Vec<(f64, i64, i64)>,
        /// Acknowledged bytes.
        acked: Vec<(f64, f64)>,
        /// End of the advertised window; empty if its scale is unknown.
        edge: Vec<(f64, f64)>,
        /// RTTs from data to its ACK in ms.
        rtt: Vec<(f64, f64)>,
        /// Data in flight in bytes.
        flight: Vec<(f64, f64)>,
        /// Advertised window in bytes; empty if its scale is unknown.
        window: Vec<(f64, f64)>,
        /// True if the lines of short intervals were joined.
        reduced: bool,
    }
}

/// The number of the node of a scenario with this IP address. None if none can have it.
#[pyfunction]
pub fn node_of_address(address: &str) -> Option<u16> {
    runtime::node(address.parse().ok()?)
}

/// Read the TCP connections of a capture in pcapng or pcap, which may be compressed with gzip.
///
/// `progress` is called now and then with the fraction that is done. Of a capture that is cut, the
/// results end where it is cut, and `warnings` has the packet.
///
/// `CaptureError` if the file cannot be read, is no capture, or has no packets of TCP.
#[pyfunction]
#[pyo3(signature = (path, *, progress = None))]
pub fn read_capture(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Progress>,
) -> PyResult<Capture> {
    let mut callback = Callback::new(&path, progress);
    let read = py.detach(|| capture::read(&path, |bytes| callback.call(bytes)));
    callback.end()?;
    read.map(|record| Capture::from(&record)).map_err(|error| unread_capture(&path, &error))
}

/// Read a capture again, for the points of the figures of chosen connections.
///
/// A request has the number of a connection, True for data to the server or False for data to the
/// client, and the times in s between which points are collected.
#[pyfunction]
#[pyo3(signature = (path, requests, *, progress = None))]
pub fn capture_graphs(
    py: Python<'_>,
    path: PathBuf,
    requests: Vec<(u64, bool, f64, f64)>,
    progress: Option<Progress>,
) -> PyResult<Vec<CaptureGraph>> {
    let request =
        |(connection, to_server, from_s, to_s)| Request { connection, to_server, from_s, to_s };
    let requests: Vec<Request> = requests.into_iter().map(request).collect();
    let mut callback = Callback::new(&path, progress);
    let read = py.detach(|| capture::graphs(&path, &requests, |bytes| callback.call(bytes)));
    callback.end()?;
    let graphs = read.map_err(|error| unread_capture(&path, &error))?;
    Ok(graphs.into_iter().map(CaptureGraph::from).collect())
}

impl From<Graph> for CaptureGraph {
    fn from(graph: Graph) -> Self {
        let Graph { sent, again, sacks, acked, edge, rtt, flight, window, reduced } = graph;
        Self { sent, again, sacks, acked, edge, rtt, flight, window, reduced }
    }
}

/// Passes signals and progress on to Python.
struct Callback {
    progress: Option<Progress>,
    bytes: f64,
    raised: Option<PyErr>,
}

impl Callback {
    fn new(path: &Path, progress: Option<Progress>) -> Self {
        let bytes = path.metadata().map_or(1.0, |file| file.len().max(1) as f64);
        Self { progress, bytes, raised: None }
    }

    /// Returns false to stop.
    fn call(&mut self, bytes: u64) -> bool {
        let done = (bytes as f64 / self.bytes).min(1.0);
        let called = Python::attach(|py| {
            py.check_signals()?;
            let Some(Progress(progress)) = &self.progress else { return Ok(()) };
            progress.call1(py, (done,)).map(drop)
        });
        self.raised = called.err();
        self.raised.is_none()
    }

    fn end(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
