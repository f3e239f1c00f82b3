//! The receiving half of a connection: what has arrived, in order and above gaps. `acks` decides
//! when it is acknowledged, with the timing of Linux in `quick` and ACKs that a host holds back in
//! `held`, and `window` has the advertised window.

mod acks;
mod held;
mod quick;
mod window;

use units::{Span, Time};

use crate::buffers::ReceiveBuffer;
use crate::config::{AckTiming, Config};
use crate::segment::MAX_SACK_BLOCKS;
use transport::{Range, Reassembly};

use acks::bytes_of_an_ack;
use held::Held;
use quick::Timing;

pub(crate) use acks::Arrived;
pub(crate) use held::Taken;
pub use held::{ReceiveOffload, SackCompression};
pub(crate) use quick::{LONGEST_DELAY, MOST_QUICK, Path, QUICK_AFTER_MARK};

const NOTHING: Range = Range { start: 0, end: 0 };

/// RFC 9293 section 3.7.1.
const SMALLEST_FULL: u64 = 536;

/// The receiving half. Sequence numbers are 64 bits; the SYN is 0 and the first byte is 1.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Payload of a full segment (Eff.snd.MSS of RFC 9293 section 3.7.1).
    mss: u64,
    /// Next number expected (RCV.NXT).
    next: u64,
    /// Bytes that the application has read, plus one.
    read: u64,
    /// Behind the last number that the other end may send (RCV.NXT + RCV.WND). Never moves back.
    right_edge: u64,
    /// The window that was advertised last, while nothing has changed what it depends on.
    advertised: Option<u64>,
    /// Number of the FIN, once it is known; beyond all others until then.
    fin: u64,
    /// Bytes received in order and not acknowledged.
    unacknowledged: u64,
    /// Unacknowledged bytes at which an ACK is sent without delay.
    ack_at_once: u64,
    /// Full-sized segments of an ACK, if the other end has asked for another number (RFC 5690).
    ack_ratio: Option<u8>,
    /// Payload of a full-sized segment of the other end: the largest that has arrived (as Linux,
    /// `tcp_measure_rcv_mss`), at first that of an end that names no MSS.
    full: u64,
    /// An ACK is due at once.
    ack_now: bool,
    /// An ACK is due at this time.
    ack_at: Time,
    /// How long an ACK waits at most.
    ack_delay: Span,
    /// When ACKs are due as in Linux.
    timing: Option<Box<Timing>>,
    /// ACKs that the host holds back, if it does.
    held: Option<Box<Held>>,
    /// Duplicate data since the last ACK; empty if there is none.
    duplicate: Range,
    /// The buffer, if it tunes itself.
    tuned: Option<Box<ReceiveBuffer>>,
    /// Each segment of data is looked at once it is taken in.
    looks_at_segments: bool,
    /// Each ACK that leaves is looked at, too.
    looks_at_acks: bool,
    /// Data above a gap; `None` while there is no gap.
    gaps: Option<Box<Reassembly<MAX_SACK_BLOCKS>>>,
}

impl Receiver {
    pub(crate) fn new(config: &Config, window_limit: u64) -> Self {
        let full = u64::from(config.mss).min(SMALLEST_FULL);
        let tuned = config.receive_tuning;
        let looks_at_acks = config.delayed_ack == AckTiming::Linux
            || config.receive_offload.is_some()
            || config.sack_compression.is_some();
        Self {
            mss: u64::from(config.mss),
            next: 0,
            read: 1,
            right_edge: 1 + config.first_window(config.mss.into()).min(window_limit),
            advertised: None,
            fin: u64::MAX,
            unacknowledged: 0,
            ack_at_once: bytes_of_an_ack(config, None, full),
            ack_ratio: None,
            full,
            ack_now: false,
            ack_at: Time::NEVER,
            ack_delay: config.delayed_ack.longest(),
            timing: (config.delayed_ack == AckTiming::Linux).then(Box::default),
            held: Held::new(config),
            duplicate: NOTHING,
            tuned: tuned.map(|one| Box::new(ReceiveBuffer::new(&one, config.mss.into()))),
            looks_at_segments: tuned.is_some() || looks_at_acks,
            looks_at_acks,
            gaps: None,
        }
    }

    /// The other end's SYN arrived.
    pub(crate) fn syn_received(&mut self) {
        self.next = 1;
        self.advertised = None;
    }

    /// The connection is open: both ends have agreed on segments of `mss` bytes. The SYN of this
    /// end has offered `window`, and later windows are in steps of `1 << shift`.
    pub(crate) fn open(&mut self, now: Time, mss: u64, window: u64, shift: u8) {
        self.mss = mss;
        self.advertised = None;
        self.right_edge = self.right_edge.max(1 + window);
        if let Some(tuned) = &mut self.tuned {
            tuned.open(now, mss, window, shift);
        }
    }

    /// Next number expected.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns true if everything up to and including the FIN has arrived.
    pub(crate) fn finished(&self) -> bool {
        self.next > self.fin
    }

    /// Bytes that the application has read.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.read - 1
    }

    /// Bytes that wait for the application.
    #[inline]
    pub(crate) fn unread(&self) -> u64 {
        self.in_order() - self.delivered()
    }

    /// Bytes received in order.
    #[inline]
    fn in_order(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.finished()))
    }

    /// The next data arrived, and all of it lies in the window. There is memory for it.
    #[inline]
    pub(crate) fn on_next_data(&mut self, now: Time, config: &Config, length: u64) {
        if self.gaps.is_some() || self.fin != u64::MAX {
            self.on_data(now, config, self.next, length, false);
            return;
        }
        self.next += length;
        self.advertised = None;
        if config.reads_at_once {
            self.read = self.next;
        }
        self.count_for_ack(now, config, length);
    }

    /// Likewise, where a buffer that tunes itself may have no memory for it.
    #[inline]
    pub(crate) fn on_next_data_if_it_fits(&mut self, now: Time, config: &Config, length: u64) {
        if self.tuned.as_ref().is_some_and(|tuned| tuned.is_full()) {
            self.on_data(now, config, self.next, length, false);
        } else {
            self.on_next_data(now, config, length);
        }
    }

    /// Data arrived: `length` bytes at `start`, then a FIN or not.
    #[inline(never)]
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        config: &Config,
        start: u64,
        length: u64,
        fin: bool,
    ) {
        let reached = start + length;
        if self.tuned.as_mut().is_some_and(|tuned| !tuned.admits(length)) {
            self.ack_now = true;
            return;
        }
        // There is one end of the stream, and nothing has arrived behind it.
        if fin && reached <= self.right_edge && self.fin == u64::MAX && reached >= self.highest() {
            self.fin = reached;
        }
        // What lies beyond the window or behind the FIN is no data.
        let last = reached.min(self.right_edge).min(self.fin);
        let end = last + u64::from(fin && reached == self.fin);
        if end <= self.next || start >= end {
            // Old data, or data beyond the window: say again what is expected (RFC 9293 section
            // 3.10.7.4).
            self.ack_now = true;
            self.note_duplicate(start, end);
            if start < self.next {
                self.hurry_acks(MOST_QUICK);
            }
        } else if start <= self.next {
            self.note_duplicate(start, self.next);
            self.on_data_in_order(now, config, end);
        } else {
            self.on_data_above_a_gap(start, end);
        }
    }

    /// Data below the next number expected has arrived for the second time.
    pub(crate) fn note_duplicate(&mut self, start: u64, end: u64) {
        let end = end.min(self.next);
        if start < end {
            self.duplicate = Range { start, end };
        }
    }

    #[inline]
    fn on_data_in_order(&mut self, now: Time, config: &Config, end: u64) {
        let length = end - self.next;
        self.next = end;
        self.advertised = None;
        if self.gaps.is_some() {
            self.close_gap();
        }
        if config.reads_at_once {
            self.read = 1 + self.in_order();
        }
        self.count_for_ack(now, config, length);
        self.ack_now |= self.finished();
    }

    /// A segment that fills a gap, all of it or a part, is acknowledged at once (RFC 5681 section
    /// 4.2).
    fn close_gap(&mut self) {
        self.ack_now = true;
        if let Some(gaps) = &mut self.gaps {
            self.next = gaps.advance(self.next);
            if gaps.is_empty() {
                self.gaps = None;
            }
        }
    }

    /// Data above a gap is acknowledged at once: a duplicate ACK (RFC 5681 section 4.2).
    fn on_data_above_a_gap(&mut self, start: u64, end: u64) {
        self.ack_now = true;
        let gaps = self.gaps.get_or_insert_default();
        if let Some(twice) = gaps.overlap(start, end) {
            self.duplicate = twice;
        }
        gaps.insert(start, end);
    }

    /// Behind the highest number that has arrived.
    pub(crate) fn highest(&self) -> u64 {
        self.gaps.as_ref().and_then(|gaps| gaps.end()).unwrap_or(0).max(self.next)
    }

    /// Bytes that have arrived above a gap.
    pub(crate) fn bytes_out_of_order(&self) -> u64 {
        self.gaps.as_ref().map_or(0, |gaps| gaps.bytes())
    }

    /// Gives up the first gap: counts it as received and records it for the application, which has
    /// read everything before. Returns the gap.
    pub(crate) fn pass_hole(&mut self, config: &Config) -> Option<Range> {
        let end = self.queued().next()?.start;
        let hole = Range { start: self.next, end };
        self.next = end;
        self.advertised = None;
        self.close_gap();
        self.read = if config.reads_at_once { 1 + self.in_order() } else { end };
        Some(hole)
    }

    /// Returns true if data has arrived for the second time since the last ACK.
    #[inline]
    pub(crate) fn has_duplicate(&self) -> bool {
        self.duplicate.start < self.duplicate.end
    }

    /// Data that arrived for the second time since the last ACK, to be reported once (RFC 2883
    /// section 4).
    pub(crate) fn take_duplicate(&mut self) -> Option<Range> {
        let duplicate = std::mem::replace(&mut self.duplicate, NOTHING);
        (duplicate.start < duplicate.end).then_some(duplicate)
    }

    /// The ranges for SACK blocks, the most important first.
    pub(crate) fn sack_ranges(&self) -> impl Iterator<Item = Range> {
        self.gaps.as_ref().map_or(&[][..], |gaps| gaps.reported()).iter().copied()
    }

    /// Ranges that have arrived above a gap, in ascending order.
    pub(crate) fn queued(&self) -> impl Iterator<Item = Range> {
        self.gaps.iter().flat_map(|gaps| gaps.ranges())
    }

    #[inline]
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps.is_some()
    }
}

/// For tests: what has to hold between the numbers of a receiver.
#[cfg(test)]
impl Receiver {
    pub(crate) fn recount(&self, config: &Config) {
        assert!(self.read <= self.next.max(1), "{} read of {}", self.read, self.next);
        assert!(self.next <= self.right_edge.saturating_add(1), "beyond the window");
        assert!(self.fin >= self.next.saturating_sub(1), "a FIN below {}", self.next);
        assert!(self.unread() <= config.receive_buffer.get(), "{} unread", self.unread());
        for range in self.sack_ranges() {
            assert!(self.next < range.start && range.end <= self.right_edge + 1, "{range:?}");
        }
        assert_eq!(self.has_gaps(), self.sack_ranges().next().is_some());
    }
}

#[cfg(test)]
mod tests;
