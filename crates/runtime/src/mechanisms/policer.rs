//! Policers: a table of totals, and one of samples, in runs that have one.

use link::PolicerCounters;
use network::PortReport;

use crate::mechanisms::port_counters;

port_counters! {
    "policer" of policer, PolicerCounters in |port: &PortReport| port.counters.policer, |direction| direction.policer.map(|_| "token-bucket");
    totals {
        /// Packets that found their tokens.
        passed_packets,
        /// Bytes on the line of these packets.
        passed_bytes,
        /// Packets dropped because tokens were missing. `dropped_packets` of the links does not
        /// have them.
        dropped_packets,
        /// Bytes on the line of these packets.
        dropped_bytes,
    }
    "policer_series" { passed_packets, passed_bytes, dropped_packets }
}
