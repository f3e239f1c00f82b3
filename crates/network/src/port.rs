//! Totals of a port.

use units::Span;

use link::Counters;

/// Totals of an output port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortReport {
    /// Delivered packets.
    pub delivered_packets: u64,
    /// Delivered bytes, without overhead.
    pub delivered_bytes: u64,
    /// Dropped and corrupted packets, and the maximum queue.
    pub counters: Counters,
    /// Time spent transmitting.
    pub busy: Span,
    /// Packets that wait.
    pub waiting_packets: usize,
    /// Bytes that wait.
    pub waiting_bytes: u64,
}
