//! Shapers: a table of totals, and one of samples, in runs that have one.

use link::ShaperCounters;
use network::PortReport;

use crate::mechanisms::port_counters;

port_counters! {
    "shaper" of shaper, ShaperCounters in |port: &PortReport| port.counters.shaper, |direction| direction.shaper.map(|_| "token-bucket");
    totals {
        /// Packets that left.
        sent_packets,
        /// Bytes on the line of these packets.
        sent_bytes,
        /// Packets behind which the bucket had no tokens for another one of the same length: the
        /// shaper limited the rate.
        limited_packets,
    }
    "shaper_series" { sent_packets, sent_bytes, limited_packets }
}
