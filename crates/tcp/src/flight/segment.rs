//! A segment in flight: what is known of it.

use transport::Range;
use units::Time;

/// When a segment was sent; of those sent at once, the one that ends first goes first (RFC 8985
/// section 6.2, `RACK_sent_after`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Departure {
    pub(crate) at: Time,
    pub(crate) end: u64,
}

/// A segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Time of the last transmission.
    pub(crate) sent_at: Time,
    /// Segments that it counts for: one, and more for a probe of the path MTU, which is longer.
    pub(super) segments: u16,
    /// It was sent more than once.
    pub(crate) again: bool,
    /// Its first transmission, or whatever followed, counts as lost.
    pub(crate) lost: bool,
    /// A retransmission is in the network.
    pub(super) repeating: bool,
    pub(super) delivered: bool,
    /// It is in the order of transmission, in which RACK looks for losses. What RACK has found to
    /// be lost returns to it with its retransmission only (`tcp_rack_detect_loss` of Linux).
    pub(super) is_listed: bool,
}

impl Segment {
    pub(crate) fn range(&self) -> Range {
        Range { start: self.start, end: self.end }
    }

    pub(crate) fn departure(&self) -> Departure {
        Departure { at: self.sent_at, end: self.end }
    }

    /// A retransmission of it is in the network.
    pub(crate) fn is_repeating(&self) -> bool {
        self.repeating
    }

    /// It was sent once, and is neither known to have arrived nor counted as lost.
    pub(super) fn is_ordinary(&self) -> bool {
        !(self.again | self.lost | self.delivered)
    }

    /// It is to be retransmitted.
    pub(super) fn is_missing(&self) -> bool {
        self.lost && !self.repeating
    }

    /// Its place in the order of transmission is that of its first departure.
    pub(super) fn is_in_turn(&self) -> bool {
        self.is_listed && !self.again && !self.delivered
    }

    /// Segments that it counts for.
    pub(crate) fn segments(&self) -> u64 {
        self.segments.into()
    }

    /// Bytes of it in the network: the original, a retransmission, or both.
    pub(super) fn in_network(&self) -> u64 {
        (u64::from(!self.lost) + u64::from(self.repeating)) * self.segments()
    }
}

/// Segments that arrive with one ACK, in the order of transmission: several that were sent once, or
/// a single one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) first: Segment,
    pub(crate) last: Segment,
    /// Segments that they count for.
    pub(crate) segments: u64,
}

impl Row {
    /// A single segment.
    pub(crate) fn of(segment: &Segment) -> Self {
        Self { first: *segment, last: *segment, segments: segment.segments() }
    }

    /// The segment was sent more than once.
    pub(crate) fn again(&self) -> bool {
        self.last.again
    }
}
