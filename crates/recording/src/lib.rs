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

mod digest;
mod json;
mod load;
mod output;
mod pcapng;
mod series;
mod sums;
mod tables;
mod totals;

pub use load::{LoadError, load};
pub use output::{OutputError, OutputFolder, TraceFiles};
pub use pcapng::{CaptureError, CaptureWriter};
pub use series::{FlowSample, FlowSeries, LinkSample, LinkSeries};
pub use tables::Table;
pub use tables::column::{Column, Values};
pub use tables::extra::{
    CellType, Cells, ColumnDefinition, ExtraTable, Kind, Role, Rows, TableDefinition,
};
pub use tables::parquet::ParquetError;
pub use tables::texts::{TextColumn, Texts};
pub use totals::flow::{FlowFigures, FlowRecord, SharedFigures};
pub use totals::kernel::{KernelRecord, RateRecord, SettingRecord};
pub use totals::link::LinkRecord;
pub use totals::page::{ObjectRecord, PageRecord};
pub use totals::record::{Cell, Field, FieldInfo, Record};
pub use totals::transport::*;
pub use totals::{Backend, Recording, jain_index};
