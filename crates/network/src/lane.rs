//! Totals of a lane.

use units::Span;

use link::Counters;

/// What a lane did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneReport {
    /// Packets that came out.
    pub delivered_packets: u64,
    /// Bytes that came out, framing excluded.
    pub delivered_bytes: u64,
    /// Packets dropped and damaged, and the longest queue.
    pub counters: Counters,
    /// Time spent sending.
    pub busy: Span,
    /// Packets that wait.
    pub waiting_packets: usize,
    /// Bytes that wait.
    pub waiting_bytes: u64,
}
