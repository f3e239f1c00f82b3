//! Series over time, in long form: one row for each flow or link and time. Columns are vectors, so
//! that they become Arrow arrays without a copy.

use std::borrow::Cow;

use parquet::errors::ParquetError as Error;

use crate::tables::column::{Cell, Column};
use crate::tables::saved::Saved;

/// Declares a series and its row: the struct of a row, and vectors of its fields as columns.
macro_rules! series {
    ($(#[$doc:meta])* $series:ident of $sample:ident {
        $($(#[$about:meta])* $field:ident: $type:ty),+ $(,)?
    }) => {
        #[doc = concat!("One row of [`", stringify!($series), "`].")]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $sample { $($(#[$about])* pub $field: $type,)+ }

        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $series { $(#[allow(missing_docs)] pub $field: Vec<$type>,)+ }

        impl $series {
            /// Appends a row.
            pub fn push(&mut self, sample: $sample) {
                $(self.$field.push(sample.$field);)+
            }

            /// Number of rows.
            pub fn len(&self) -> usize {
                self.t_s.len()
            }

            /// Returns true if nothing was recorded.
            pub fn is_empty(&self) -> bool {
                self.t_s.is_empty()
            }

            /// The columns, borrowed.
            pub(crate) fn columns(&self) -> Vec<Column<'_>> {
                vec![$(Cell::column(stringify!($field), Cow::Borrowed(&self.$field[..])),)+]
            }

            /// The columns as they were saved.
            pub(crate) fn read(saved: &Saved<'_>) -> Result<Self, Error> {
                Ok(Self { $($field: saved.column(stringify!($field))?,)+ })
            }
        }
    };
}

series! {
    /// Series of the senders. Columns as in [`FlowSample`].
    FlowSeries of FlowSample {
        /// Number of the flow.
        flow: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Congestion window in bytes.
        cwnd_bytes: u64,
        /// Slow start threshold in bytes; `u64::MAX` before it was set.
        ssthresh_bytes: u64,
        /// Smoothed RTT in milliseconds; NaN before the first sample.
        srtt_ms: f64,
        /// Retransmission timeout in milliseconds.
        rto_ms: f64,
        /// Flight size in bytes.
        flight_bytes: u64,
        /// Bytes handed to the receiving application since the start.
        delivered_bytes: u64,
        /// Bytes of TCP payload sent since the start, with retransmissions and the data of probes.
        sent_bytes: u64,
        /// Segments retransmitted since the start.
        retransmitted: u64,
        /// Probes of unused capacity sent since the start.
        probes_sent: u64,
        /// Bits per second handed to the receiving application since the row before; NaN in a first
        /// row.
        goodput_bps: f64,
        /// Bits per second of TCP payload sent since the row before, as `sent_bytes` counts it; NaN
        /// in a first row.
        throughput_bps: f64,
    }
}

series! {
    /// Series of the links. Columns as in [`LinkSample`].
    LinkSeries of LinkSample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Packets that wait.
        queue_packets: u32,
        /// Bytes that wait.
        queue_bytes: u64,
        /// Fraction of the time since the previous sample during which the link was sending.
        utilisation: f64,
        /// Packets dropped since the start.
        dropped_packets: u64,
        /// Packets corrupted since the start.
        corrupted_packets: u64,
    }
}

impl FlowSample {
    /// With the rates since `last`, the flow's row before.
    #[must_use]
    pub fn with_rates_since(self, last: &Self) -> Self {
        let elapsed = self.t_s - last.t_s;
        let rate = |now: u64, before: u64| (now - before) as f64 * 8.0 / elapsed;
        Self {
            goodput_bps: rate(self.delivered_bytes, last.delivered_bytes),
            throughput_bps: rate(self.sent_bytes, last.sent_bytes),
            ..self
        }
    }
}
