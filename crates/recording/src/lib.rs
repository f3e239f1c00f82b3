//! What a run leaves behind: totals of flows and links, series over time, packets.
//!
//! - [`Recording`] is what a bed fills in; [`Recording::to_json`] is the object that scripts read,
//!   [`Recording::digest`] what two equal runs have in common, [`Recording::value_digest`] what is
//!   left of it when names are taken away.
//! - [`Table`] shows parts of it as Parquet and Arrow.
//! - [`OutputFolder`] keeps it on disk, whole or not at all; [`load()`] takes it back.
//! - [`CaptureWriter`] writes packets for Wireshark.

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
mod saved;
mod series;
mod tables;
mod totals;
mod value_digest;

pub use columns::{Column, Values};
pub use extra::{Cells, ExtraTable};
pub use kernel::{KernelRecord, RateRecord, SettingRecord};
pub use load::{LoadError, load};
pub use output::{OutputError, OutputFolder};
pub use parquet::ParquetError;
pub use pcapng::{CaptureError, CaptureWriter};
pub use series::{FlowSample, FlowSeries, LinkSample, LinkSeries};
pub use tables::Table;
pub use totals::{
    Backend, FlowRecord, LinkRecord, ObjectRecord, PageRecord, ProtocolRecord, Recording,
    TcpRecord, jain_index,
};
