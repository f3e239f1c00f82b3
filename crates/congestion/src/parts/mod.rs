//! Parts that several algorithms share.

pub(crate) mod abe;
pub(crate) mod around;
pub(crate) mod bandwidth;
pub(crate) mod delivery_model;
pub(crate) mod explicit_rate;
pub(crate) mod hoe;
pub(crate) mod linux;
pub(crate) mod marked_share;
pub(crate) mod monitor_intervals;
pub(crate) mod one_way_delay;
pub(crate) mod pcc_program;
pub(crate) mod picoquic;
pub(crate) mod probing;
pub(crate) mod recent;
pub(crate) mod slow_start;
pub(crate) mod spike;
#[cfg(test)]
pub(crate) mod test_path;
pub(crate) mod vegas_estimator;
