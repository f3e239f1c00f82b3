//! A policer before the queue of a direction: a packet that finds no tokens is dropped, and nothing
//! waits.
//!
//! Decisions:
//! - It comes before the queue, as on the input of a router: a packet that the queue drops has
//!   taken its tokens.
//! - It counts bytes on the line, framing included, as the queue and the shaper do.

use units::Time;

use crate::framing::Framing;
use crate::mechanism::{Mechanism, Provenance};
use crate::tokens::{Buckets, TokenBucket};

/// The policer.
pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "policer",
    key: "link.policer",
    kind: "token bucket",
    source: "RFC 2697, 1999, and RFC 2698, 1999 (token buckets as meters); tc-police(8) (rate, burst, peakrate, with the action drop)",
    status: Provenance::FromImplementation,
    hurts: "TCP, where the burst is below a bandwidth-delay product: all packets of a window that find no tokens are lost at once, and no queue holds the link busy meanwhile.",
};

/// Totals of a policer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicerCounters {
    /// Packets that found their tokens.
    pub passed_packets: u64,
    /// Bytes on the line of these packets.
    pub passed_bytes: u64,
    /// Packets dropped because tokens were missing.
    pub dropped_packets: u64,
    /// Bytes on the line of these packets.
    pub dropped_bytes: u64,
}

/// A policer at work.
#[derive(Clone, Debug)]
pub struct Policer {
    buckets: Buckets,
    framing: Framing,
    counters: PolicerCounters,
}

impl Policer {
    /// A policer with full buckets.
    pub fn new(settings: TokenBucket, framing: Framing) -> Self {
        Self { buckets: Buckets::new(settings), framing, counters: PolicerCounters::default() }
    }

    /// A packet of `bytes` arrives. Returns true if it passes.
    pub fn passes(&mut self, now: Time, bytes: u32) -> bool {
        let bytes = self.framing.bytes(bytes);
        let passes = self.buckets.ready_at(now, bytes) == now;
        let counters = &mut self.counters;
        let (packets, total) = match passes {
            true => (&mut counters.passed_packets, &mut counters.passed_bytes),
            false => (&mut counters.dropped_packets, &mut counters.dropped_bytes),
        };
        *packets += 1;
        *total += u64::from(bytes);
        if passes {
            self.buckets.take(now, bytes);
        }
        passes
    }

    /// Totals.
    pub fn counters(&self) -> PolicerCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, Rate, Span};

    use super::*;

    /// tc-police(8): a packet conforms if the bucket has tokens for all of it, and takes none
    /// otherwise.
    #[test]
    fn a_packet_without_tokens_is_dropped_and_takes_none() {
        let rate = Rate::from_bits_per_second(8_000_000);
        let mut policer = Policer::new(TokenBucket::new(rate, Bytes(2000)), Framing::default());
        let at = |micros: u64| Time::ZERO + Span::from_nanos(1000 * micros);
        assert!(policer.passes(at(0), 1500));
        assert!(!policer.passes(at(0), 1500));
        assert!(
            policer.passes(at(0), 500),
            "500 bytes are left, which the packet before has not taken"
        );
        assert!(!policer.passes(at(999), 1000));
        assert!(policer.passes(at(1000), 1000));
        let PolicerCounters { passed_packets, passed_bytes, dropped_packets, dropped_bytes } =
            policer.counters();
        assert_eq!((passed_packets, passed_bytes), (3, 3000));
        assert_eq!((dropped_packets, dropped_bytes), (2, 2500));
    }
}
