//! Arguments and results of runs on a kernel.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use quic::Logs;
use recording::{ExtraTable, KernelRecord, LinkRecord};

/// Options of a run.
#[derive(Default)]
pub struct Options<'a> {
    /// Called now and then with the share of the time that is over; the run stops, marked as
    /// partial, when it returns `false`.
    pub progress: Option<&'a mut dyn FnMut(f64) -> bool>,
    /// Where the packets go, as pcapng.
    pub capture: Option<&'a mut (dyn Write + Send)>,
    /// Logs of connections of QUIC.
    pub logs: Logs,
    /// The program `bentpipe-proxy`, which scenarios with split proxies need.
    pub proxy: Option<&'a Path>,
}

/// A program and the host that it runs on.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the host; `None` is the one that receives the data of the first flow.
    pub host: Option<String>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// Results of programs that ran across a link.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Exit status of the program.
    pub status: i32,
    /// How well the network was emulated.
    pub kernel: KernelRecord,
    /// Totals of the links.
    pub links: Vec<LinkRecord>,
    /// Totals of mechanisms on the links, as the tables of a recording.
    pub tables: Vec<ExtraTable>,
}
