//! What a run leaves behind: totals of flows and links, series over time, packets.
//!
//! - [`Recording`] is what a bed fills in; [`Recording::to_json`] is the object that scripts read,
//!   [`Recording::digest`] what two equal runs have in common, [`Recording::value_digest`] what is
//!   left of it when names are taken away.
//! - [`Quantity`] is one number of it, for studies.
//! - [`Table`] shows parts of it as Parquet and Arrow.
//! - [`OutputFolder`] keeps it on disk, whole or not at all; [`load()`] takes it back.
//! - [`CaptureWriter`] writes packets for Wireshark.

mod arrow;
mod columns;
mod digest;
mod json;
mod kernel;
mod load;
mod output;
mod parquet;
mod pcapng;
mod quantity;
mod saved;
mod series;
mod tables;
mod totals;
mod value_digest;

pub use kernel::{KernelRecord, RateRecord, SettingRecord};
pub use load::{LoadError, load};
pub use output::{OutputError, OutputFolder};
pub use parquet::ParquetError;
pub use pcapng::{CaptureError, CaptureWriter};
pub use quantity::{Aggregate, Quantity, UnknownAggregate, is_called};
pub use series::{FlowSample, FlowSeries, LinkSample, LinkSeries};
pub use tables::Table;
pub use totals::{FlowRecord, LinkRecord, ObjectRecord, PageRecord, Recording, jain_index};
