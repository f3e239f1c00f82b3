//! Forward error correction: a table of totals, and one of samples, in runs that have it.

use link::FecCounters;
use network::PortReport;

use crate::mechanisms::port_counters;

port_counters! {
    "fec" of fec, FecCounters in |port: &PortReport| port.counters.fec, |direction| direction.fec.map(|fec| fec.name());
    totals {
        /// Data packets sent.
        data_packets,
        /// Parity packets sent.
        parity_packets,
        /// Data and parity packets that the channel corrupted.
        corrupted_packets,
        /// Blocks that were closed.
        blocks,
        /// Blocks that the timer closed before they were full.
        short_blocks,
        /// Packets that were rebuilt.
        repaired_packets,
        /// Packets that could not be rebuilt.
        lost_packets,
        /// Packets that waited at the far end for a missing one.
        held_packets,
    }
    "fec_series" { parity_packets, repaired_packets, lost_packets, held_packets }
}
