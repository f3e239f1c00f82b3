//! What a run leaves behind: totals of flows and links, series over time, packets.

mod series;
mod totals;

pub use series::{FlowSample, FlowSeries, LinkSample, LinkSeries};
pub use totals::{FlowRecord, LinkRecord, ObjectRecord, PageRecord, Recording, jain_index};
