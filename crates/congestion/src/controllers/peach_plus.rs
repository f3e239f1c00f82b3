//! TCP-Peach+: TCP-Peach whose probes repair as well.
//!
//! Source: I. F. Akyildiz, X. Zhang, J. Fang, "TCP-Peach+: enhancement of TCP-Peach for satellite
//! IP networks", IEEE Communications Letters 6(7), 2002. Jump Start and Quick Recovery take the
//! place of Sudden Start and Rapid Recovery. NIL segments carry unacknowledged data: one that fills
//! a hole at the receiver moves the cumulative acknowledgement, and all of them probe.
//!
//! Reconstructed: only the abstract could be read. The counters are those of TCP-Peach, in
//! `probing`; NIL segments are the oldest data that the receiver has not reported, one after the
//! other and again from the beginning.

use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::parameters::Values;
use crate::parts::probing::{IGNORED, Kind, PROBES_PER_ACK, Probing};
use crate::tcp_policy::Probe;
use crate::window::Settings;

/// Copies of unacknowledged data.
#[derive(Clone, Debug)]
pub struct NilSegments;

impl Kind for NilSegments {
    const PROBE: Probe = Probe::Repeat;
}

/// TCP-Peach+.
pub type PeachPlus = Probing<NilSegments>;

impl Listed for PeachPlus {
    const LISTED: &'static [Entry] = &[Entry {
        name: "peach-plus",
        summary: "TCP-Peach whose low-priority segments carry unacknowledged data",
        source: "Akyildiz, Zhang and Fang, TCP-Peach+, 2002",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: &[PROBES_PER_ACK, IGNORED],
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers that drop low priority first"));

    fn build(settings: &Settings, values: &Values) -> Self {
        Self::new(settings, values, None)
    }
}
