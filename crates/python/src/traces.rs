//! Files with traces.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use scenario::trace::{Content, Form, read};
use units::{Rate, Span};

use crate::errors::trace_error;
use crate::record::record;

record! {
    /// The changes of a file with a trace, as a link of a scenario has them.
    ///
    /// A column has one value for each change, which holds until the next value of the column.
    TraceRows {
        /// Column: time since the start.
        t_s: Vec<f64>,
        /// Column: rate in bit/s.
        rate_bps: Vec<Option<u64>>,
        /// Column: one-way delay.
        delay_ms: Vec<Option<f64>>,
        /// Column: probability that a packet is lost.
        loss_ratio: Vec<Option<f64>>,
        /// Column: time in which no packet passes.
        outage_s: Vec<Option<f64>>,
        /// Time from the start to the end.
        lasts_s: f64,
        /// True if the rates are those that a flow has achieved.
        achieved: bool,
        /// How the file was read.
        notes: Vec<String>,
    }
}

/// Read a file with a trace, as the key `trace` of a link does; `TraceError` with the line.
///
/// `form` is `columns`, `deliveries` or `delays`. `names` are the columns of a log of another
/// program, as the key `columns` has them.
#[pyfunction]
#[pyo3(signature = (file, form, names = BTreeMap::new()))]
pub fn read_trace(
    py: Python<'_>,
    file: PathBuf,
    form: &str,
    names: BTreeMap<String, String>,
) -> PyResult<TraceRows> {
    let form = match form {
        "deliveries" => Form::Deliveries,
        "delays" => Form::Delays,
        _ => Form::Columns(names),
    };
    let content = py.detach(|| read(&file, &form)).map_err(trace_error)?;
    let Content { changes, lasts, achieved, notes } = content;
    macro_rules! column {
        ($change:ident => $value:expr) => {
            changes.iter().map(|$change| $value).collect()
        };
    }
    Ok(TraceRows {
        t_s: column!(one => one.at.as_secs_f64()),
        rate_bps: column!(one => one.rate.map(Rate::bits_per_second)),
        delay_ms: column!(one => one.delay.map(Span::as_millis_f64)),
        loss_ratio: column!(one => one.loss),
        outage_s: column!(one => one.outage.map(Span::as_secs_f64)),
        lasts_s: lasts.as_secs_f64(),
        achieved,
        notes,
    })
}
