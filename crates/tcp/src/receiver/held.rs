//! ACKs that a host holds back so that one answers several segments: those of segments that arrive
//! together (receive offload), and duplicate ACKs (SACK compression).
//!
//! - Receive offload (GRO of Linux, `dev_gro_receive` and `tcp_gro_receive`; LRO of network cards):
//!   segments of one connection without a gap between them that arrive within a window of time are
//!   given to TCP as one. A batch ends with PSH, FIN, a segment that is not full, another
//!   timestamp, or when it is as long as a packet may be.
//! - SACK compression (`__tcp_ack_snd_check` of Linux): while data waits above a gap, three
//!   duplicate ACKs leave at once. Later ones wait for 5 % of the round trip as the receiver sees
//!   it, or of the smoothed one of its own data if that is less, at most for `delay`, and one ACK
//!   answers all of them. While the round trip is not known, none waits. It leaves earlier for the
//!   45th segment, and for a new block behind two others (`tcp_sack_new_ofo_skb`), which an ACK
//!   might not have room for.
//!
//! Decisions:
//! - TCP takes in each segment of a batch when it arrives, and holds only the ACK until the batch
//!   ends. So the application has data up to `window` too early, and no data is late.
//! - A segment that begins another batch lets the ACK of the batch before leave, and that ACK
//!   covers it too.
//! - Where a new block makes an ACK leave, the ACK reports it. Linux sends the ACK without it, and
//!   another one later.
//! - The kernel's timer of SACK compression may expire up to 100 us late
//!   (`tcp_comp_sack_slack_ns`); here it is exact.

use units::{Bytes, Span, Time};

use super::Receiver;
use crate::buffers::{Arrival, RoundTrip};
use crate::config::Config;

/// Duplicate ACKs that leave at once (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// Blocks behind which a new one is reported at once (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS: usize = 2;

/// Receive offload of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct ReceiveOffload {
    /// Time from the first segment of a batch to its ACK: interrupt moderation of the network card,
    /// or `gro_flush_timeout`. The default is our choice; cards have 20 to 50 us.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1us", "x-maximum" = "100ms")))]
    pub window: Span,
    /// Largest batch (`gro_max_size`), without headers.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1kB", "x-maximum" = "512KiB")))]
    pub size: Bytes,
}

impl Default for ReceiveOffload {
    fn default() -> Self {
        Self { window: Span::from_nanos(50_000), size: Bytes(65_536) }
    }
}

/// SACK compression. The defaults are those of Linux since 4.18.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct SackCompression {
    /// Longest time for which a duplicate ACK waits (`tcp_comp_sack_delay_ns`), if 5 % of the round
    /// trip is not less.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1us", "x-maximum" = "100ms")))]
    pub delay: Span,
    /// Duplicate ACKs that wait at most (`tcp_comp_sack_nr`).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 255)))]
    pub acks: u32,
}

impl Default for SackCompression {
    fn default() -> Self {
        Self { delay: Span::from_millis(1), acks: 44 }
    }
}

/// A segment with data that was taken in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Number of its first byte.
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) timestamp: u32,
    /// It ends what was written, or the stream.
    pub(crate) ends: bool,
    /// Both ends have agreed on SACK.
    pub(crate) sack: bool,
    /// Its echo of a timestamp, which shows a round trip.
    pub(crate) echo: Option<u32>,
    /// Smoothed round trip of this end's data, if it is known.
    pub(crate) srtt: Option<Span>,
}

/// State of both.
#[derive(Clone, Debug)]
pub(super) struct Held {
    offload: Option<ReceiveOffload>,
    compression: Option<SackCompression>,
    /// End of the batch in time; the past if none is open.
    batch_until: Time,
    batch_bytes: u64,
    /// Next number of the batch.
    batch_next: u64,
    timestamp: u32,
    round_trip: RoundTrip,
    /// RCV.NXT of the duplicate ACKs that have left at once, and their number.
    duplicates_of: u64,
    duplicates: u32,
    /// Duplicate ACKs that wait.
    waiting: u32,
    /// First number of the newest block above a gap.
    newest: u64,
    /// Time at which the ACK that is held leaves.
    until: Time,
}

impl Held {
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        let (offload, compression) = (config.receive_offload, config.sack_compression);
        (offload.is_some() || compression.is_some()).then(|| {
            Box::new(Self {
                offload,
                compression,
                batch_until: Time::ZERO,
                batch_bytes: 0,
                batch_next: 0,
                timestamp: 0,
                round_trip: RoundTrip::default(),
                duplicates_of: 0,
                duplicates: 0,
                waiting: 0,
                newest: 0,
                until: Time::NEVER,
            })
        })
    }

    /// An ACK has been sent.
    pub(super) fn clear(&mut self) {
        self.waiting = 0;
        self.until = Time::NEVER;
    }

    /// Time at which the ACK that is held leaves.
    pub(super) fn until(&self) -> Time {
        self.until
    }

    /// A segment arrives. Returns true if it belongs to a batch that is open, and notes the batch
    /// that it is part of.
    fn joins(&mut self, now: Time, taken: &Taken, full: u64) -> bool {
        let Some(ReceiveOffload { window, size }) = self.offload else { return false };
        let joins = now < self.batch_until
            && taken.start == self.batch_next
            && taken.timestamp == self.timestamp
            && self.batch_bytes + taken.length <= size.get();
        if !joins {
            self.batch_until = now + window;
            self.batch_bytes = 0;
            self.timestamp = taken.timestamp;
        }
        self.batch_bytes += taken.length;
        self.batch_next = taken.start + taken.length;
        if taken.ends || taken.length < full || self.batch_bytes + full > size.get() {
            self.batch_until = Time::ZERO;
        }
        joins
    }

    /// A duplicate ACK is due at `now`. Returns the time until which it waits, if it does.
    fn compress(
        &mut self,
        now: Time,
        next: u64,
        srtt: Option<Span>,
        blocks: (u64, usize),
    ) -> Option<Time> {
        let SackCompression { delay, acks } = self.compression?;
        let (newest, blocks) = blocks;
        let is_new = std::mem::replace(&mut self.newest, newest) != newest;
        if self.duplicates_of != next {
            (self.duplicates_of, self.duplicates) = (next, 0);
        }
        if self.waiting >= acks || (self.waiting > 0 && is_new && blocks > BLOCKS) {
            return None;
        }
        if self.duplicates < AT_ONCE {
            self.duplicates += 1;
            return None;
        }
        let until = match self.waiting {
            0 => {
                let rtt = self.round_trip.known()?.min(srtt.unwrap_or(Span::MAX));
                now + delay.min(Span::from_nanos(rtt.as_nanos() / 20))
            }
            _ => self.until,
        };
        self.waiting += 1;
        Some(until)
    }
}

impl Receiver {
    /// A segment has been taken in, and its ACK is due at once or not: holds it back where the host
    /// does. `expected` was the next number before.
    pub(crate) fn hold_back(&mut self, now: Time, taken: &Taken, expected: u64) {
        let (next, full, edge) = (self.next, self.full, self.right_edge);
        let is_quick = self.timing.as_ref().is_some_and(|timing| timing.is_quick());
        let mut ranges = self.sack_ranges();
        let newest = ranges.next().map(|range| range.start);
        let blocks = newest.map(|start| (start, 1 + ranges.count()));
        let Some(held) = &mut self.held else { return };
        let arrival =
            Arrival { length: taken.length, received: next, echo: taken.echo, next, edge };
        held.round_trip.measure(now, &arrival, full);
        let joins = held.joins(now, taken, full);
        if !self.ack_now {
            return;
        }
        let is_duplicate = next == expected && taken.start > expected && taken.sack;
        let until = match blocks {
            // The rest of a batch whose duplicate ACK waits.
            Some(_) if is_duplicate && joins && held.waiting > 0 => Some(held.until),
            Some(blocks) if is_duplicate && !joins && !is_quick => {
                held.compress(now, next, taken.srtt, blocks)
            }
            _ => None,
        };
        let until = until.or_else(|| {
            let is_open = held.batch_until > now;
            is_open.then(|| held.until.min(held.batch_until))
        });
        if let Some(until) = until {
            held.until = until;
            self.ack_now = false;
            self.ack_at = self.ack_at.min(until);
        }
    }
}

#[cfg(test)]
mod tests;
