//! Recordings of runs: totals of flows and links, series over time, packets.
//!
//! - [`Recording`] is filled in by a backend. [`Recording::to_json`] is the object for scripts,
//!   [`Recording::digest`] is equal for equal runs.
//! - [`Table`] gives parts of it as Parquet and Arrow.
//! - [`OutputFolder`] saves it on disk, completely or not at all. [`load()`] reads it and finds
//!   damage.
//! - [`CaptureWriter`] writes packets for Wireshark.

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod arrow;
mod columns;
mod digest;
mod extra;
mod json;
mod kernel;
mod load;
mod output;
mod parquet;
mod pcapng;
mod protocols;
mod record;
mod saved;
mod series;
mod sums;
mod tables;
mod texts;
mod totals;

pub use columns::{Column, Values};
pub use extra::{CellType, Cells, ExtraTable, Kind, Rows, TableDefinition};
pub use kernel::{KernelRecord, RateRecord, SettingRecord};
pub use load::{LoadError, load};
pub use output::{OutputError, OutputFolder, TraceFiles};
pub use parquet::ParquetError;
pub use pcapng::{CaptureError, CaptureWriter};
pub use protocols::*;
pub use record::{Cell, Field, FieldInfo, Record};
pub use series::{FlowSample, FlowSeries, LinkSample, LinkSeries};
pub use tables::Table;
pub use texts::{TextColumn, Texts};
pub use totals::{
    Backend, FlowFigures, FlowRecord, LinkRecord, ObjectRecord, PageRecord, Recording,
    SharedFigures, jain_index,
};
