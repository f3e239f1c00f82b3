//! A shaper between the queue of a direction and its line: a packet waits until its tokens are
//! there. The line sends it at its own rate then, so that a full bucket leaves as a burst.
//!
//! Decisions:
//! - Tokens are taken at the start of a transmission. A packet starts when the line is free and the
//!   bucket has tokens for all of it, as in tbf of Linux.
//! - A queue whose next packet is known holds it until then, and its limit counts it. CoDel,
//!   FQ-CoDel and DualPI2 choose a packet as soon as the line is free. It waits for its tokens
//!   outside of their queue, as in Linux, and their queue delay ends when it is chosen.

use units::Time;

use crate::mechanism::{Mechanism, Provenance};
use crate::tokens::{Buckets, TokenBucket};

/// The shaper.
pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "shaper",
    key: "link.shaper",
    kind: "token bucket",
    source: "tc-tbf(8) (rate, burst, peakrate); Turner, IEEE Communications Magazine 24(10), 1986 (the leaky bucket as a meter)",
    status: Provenance::FromImplementation,
    hurts: "A burst that the line behind it or the next queue cannot hold: a flow fills the bucket in its pauses and sends it at once.",
};

/// Totals of a shaper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaperCounters {
    /// Packets that left.
    pub sent_packets: u64,
    /// Bytes on the line of these packets.
    pub sent_bytes: u64,
    /// Packets behind which the bucket had no tokens for another one of the same length: the shaper
    /// and not the line limits the rate.
    pub limited_packets: u64,
}

/// A shaper at work.
#[derive(Clone, Debug)]
pub struct Shaper {
    buckets: Buckets,
    counters: ShaperCounters,
}

impl Shaper {
    /// A shaper with full buckets.
    pub fn new(settings: TokenBucket) -> Self {
        Self { buckets: Buckets::new(settings), counters: ShaperCounters::default() }
    }

    /// When a packet of `bytes` on the line may start that can start at `now` without a shaper.
    pub fn ready_at(&mut self, now: Time, bytes: u32) -> Time {
        self.buckets.ready_at(now, bytes)
    }

    /// A packet of `bytes` on the line starts at `now`. Its tokens must be there.
    pub fn take(&mut self, now: Time, bytes: u32) {
        self.buckets.take(now, bytes);
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += u64::from(bytes);
        self.counters.limited_packets += u64::from(self.buckets.ready_at(now, bytes) > now);
    }

    /// Totals.
    pub fn counters(&self) -> ShaperCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, Rate, Span};

    use super::*;

    #[test]
    fn packets_are_limited_while_the_bucket_is_short_of_another_one() {
        let rate = Rate::from_bits_per_second(8_000_000);
        let mut shaper = Shaper::new(TokenBucket::new(rate, Bytes(3000)));
        let at = |micros: u64| Time::ZERO + Span::from_nanos(1000 * micros);
        for micros in [0, 0, 1500, 9000] {
            assert_eq!(shaper.ready_at(at(micros), 1500), at(micros));
            shaper.take(at(micros), 1500);
        }
        let ShaperCounters { sent_packets, sent_bytes, limited_packets } = shaper.counters();
        assert_eq!((sent_packets, sent_bytes, limited_packets), (4, 6000, 2));
    }
}
