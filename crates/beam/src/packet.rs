//! Packets that wait at a gateway or at a terminal, and what is counted of them.

use sketch::{Sketch, Summary};
use units::{Span, Time};

/// The number of a terminal in its beam.
pub type TerminalId = u32;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<P> {
    pub terminal: TerminalId,
    pub bytes: u32,
    pub since: Time,
    pub packet: P,
}

/// A packet that has crossed the beam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived<P> {
    /// When.
    pub at: Time,
    /// The terminal that it is for, or that has sent it.
    pub terminal: TerminalId,
    /// The packet.
    pub packet: P,
}

/// Totals of a terminal in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalCounters {
    /// Packets sent.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets that found the queue full.
    pub dropped: u64,
    /// Packets that were sent and did not arrive, because the signal was too weak.
    pub lost: u64,
    /// Sum of the times from the arrival of a packet at the queue to the end of its transmission.
    pub delay: Span,
    /// The longest of these times.
    pub max_delay: Span,
}

impl TerminalCounters {
    /// Counts a packet whose transmission ends.
    pub(crate) fn sent(&mut self, bytes: u32, delay: Span) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.delay = self.delay + delay;
        self.max_delay = self.max_delay.max(delay);
    }
}

/// Times of packets of a group from the arrival at the queue to the end of the transmission.
#[derive(Clone, Debug, Default)]
pub struct Delays(Sketch);

impl Delays {
    pub(crate) fn record(&mut self, delay: Span) {
        self.0.record(delay.as_nanos());
    }

    /// Their distribution in milliseconds; `None` without a packet.
    pub fn summary(&self) -> Option<Summary> {
        Some(self.0.summary(0)?.per(1e6))
    }
}
