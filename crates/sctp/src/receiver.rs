//! Receiver: which TSNs have arrived, when a SACK is due, and the window (RFC 9260 sections 6.2 and
//! 6.7).
//!
//! A SACK is due for every second packet, after a delay for a single one, and at once while there
//! is a gap, when one is filled, for duplicates, and if the sender requests it. Data that no space
//! is left for is dropped, unless it fills the first gap: the window has counted it. Data that has
//! arrived is never taken back.

use transport::{RangeSet, Space};
use units::{Span, Time};

use crate::chunk::{Data, Flags, Sack};
use crate::config::Config;
use crate::inbound::Inbound;

/// Largest distance that a gap block can name.
const FARTHEST: u64 = u16::MAX as u64;

/// Receiver of one end.
#[derive(Debug)]
pub(crate) struct Receiver {
    mss: u64,
    buffer: u64,
    reads_at_once: bool,
    frequency: u32,
    delay: Span,
    /// Next TSN in order.
    next: u64,
    /// TSNs that have arrived above a gap.
    above: RangeSet,
    duplicates: Vec<u32>,
    duplicates_total: u64,
    pub(crate) inbound: Inbound,
    delivered: u64,
    unread: u64,
    /// The window of the last SACK, less what has arrived since.
    advertised: u64,
    /// Packets with data since the last SACK.
    packets: u32,
    is_due: bool,
    /// When the delayed SACK is due.
    timer: Time,
    /// The path of the last packet with data, to which the SACK is sent (section 6.4).
    path: u8,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let buffer = config.receive_buffer.get();
        Self {
            mss: u64::from(config.mss),
            buffer,
            reads_at_once: config.reads_at_once,
            frequency: config.sack_frequency,
            delay: config.sack_delay,
            next: 0,
            above: RangeSet::default(),
            duplicates: Vec::new(),
            duplicates_total: 0,
            inbound: Inbound::default(),
            delivered: 0,
            unread: 0,
            advertised: buffer,
            packets: 0,
            is_due: false,
            timer: Time::NEVER,
            path: 0,
        }
    }

    /// Next TSN in order.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(crate) fn unread(&self) -> u64 {
        self.unread
    }

    /// DATA chunks that have arrived before.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates_total
    }

    pub(crate) fn path(&self) -> u8 {
        self.path
    }

    /// A SACK is due.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// A SACK is due or delayed.
    #[inline]
    pub(crate) fn has_report(&self) -> bool {
        self.is_due || self.timer < Time::NEVER
    }

    pub(crate) fn request(&mut self) {
        self.is_due = true;
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.timer
    }

    pub(crate) fn on_deadline(&mut self, now: Time) {
        if self.timer <= now {
            self.timer = Time::NEVER;
            self.is_due = true;
        }
    }

    /// The association is over.
    pub(crate) fn stop(&mut self) {
        self.timer = Time::NEVER;
        self.is_due = false;
    }

    /// Space for payload.
    fn window(&self) -> u64 {
        self.buffer.saturating_sub(self.unread + self.inbound.held())
    }

    /// The window as it is on the wire.
    pub(crate) fn wire_window(&self) -> u32 {
        u32::try_from(self.window()).unwrap_or(u32::MAX)
    }

    /// A DATA chunk.
    #[inline]
    pub(crate) fn on_data(&mut self, space: Space, data: &Data) {
        let Some(tsn) = space.unwrap(data.tsn, self.next) else {
            self.on_duplicate(data.tsn);
            return;
        };
        if tsn < self.next || self.has_arrived(tsn) {
            self.on_duplicate(data.tsn);
            return;
        }
        let payload = u64::from(data.payload);
        if !self.takes(tsn, payload) || !self.inbound.has_stream(data.stream) {
            // The other end has to know the window.
            self.is_due = true;
            return;
        }
        if tsn == self.next && self.above.is_empty() {
            self.next += 1;
        } else {
            self.on_gap(tsn);
        }
        self.is_due |= data.flags.contains(Flags::IMMEDIATE);
        self.advertised = self.advertised.saturating_sub(payload);
        let bytes = self.inbound.on_data(tsn, data);
        if self.reads_at_once {
            self.delivered += bytes;
        } else {
            self.unread += bytes;
        }
    }

    #[inline]
    fn has_arrived(&self, tsn: u64) -> bool {
        !self.above.is_empty()
            && self.above.at_or_above(tsn).is_some_and(|range| range.start <= tsn)
    }

    /// Returns true if there is space.
    #[inline]
    fn takes(&self, tsn: u64, payload: u64) -> bool {
        let fills_gap = tsn == self.next && !self.above.is_empty();
        tsn - self.next < FARTHEST && (payload <= self.window() || fills_gap)
    }

    #[cold]
    fn on_duplicate(&mut self, tsn: u32) {
        self.is_due = true;
        self.duplicates_total += 1;
        self.duplicates.push(tsn);
    }

    #[cold]
    fn on_gap(&mut self, tsn: u64) {
        self.is_due = true;
        self.above.insert(tsn, tsn + 1, 0);
        if let Some(range) = self.above.first().filter(|range| range.start == self.next) {
            self.next = range.end;
            self.above.remove_below(range.end);
        }
    }

    /// All chunks of a packet with data were taken.
    #[inline]
    pub(crate) fn on_data_packet(&mut self, now: Time, path: u8) {
        self.path = path;
        self.packets += 1;
        if self.is_due || self.packets >= self.frequency || self.delay == Span::ZERO {
            self.is_due = true;
        } else if self.timer == Time::NEVER {
            self.timer = now + self.delay;
        }
    }

    /// The application reads. The other end is informed if the window was small and has grown
    /// (RFC 1122 section 4.2.3.3).
    pub(crate) fn read(&mut self, bytes: u64) {
        let bytes = bytes.min(self.unread);
        self.unread -= bytes;
        self.delivered += bytes;
        let growth = self.window().saturating_sub(self.advertised);
        self.is_due |= growth >= (2 * self.mss).min(self.buffer / 2).max(1);
    }

    /// The SACK, of which at most `bytes` bytes fit.
    #[inline]
    pub(crate) fn take_sack(&mut self, space: Space, bytes: u16) -> Sack {
        self.is_due = false;
        self.timer = Time::NEVER;
        self.packets = 0;
        self.advertised = self.window();
        let (gaps, duplicates) = if self.above.is_empty() && self.duplicates.is_empty() {
            (Vec::new(), Vec::new())
        } else {
            self.lists(bytes)
        };
        // The number before `next`, which wraps before the first one.
        let cumulative = space.wrap(self.next).wrapping_sub(1);
        Sack { cumulative, window: self.wire_window(), gaps, duplicates }
    }

    /// Gap blocks, the lowest first, and duplicates in the space that is left.
    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "no farther than `FARTHEST`")]
    fn lists(&mut self, bytes: u16) -> (Vec<[u16; 2]>, Vec<u32>) {
        let capacity = Sack::capacity(bytes);
        let base = self.next.wrapping_sub(1);
        let block = |range: transport::Range| {
            [range.start, range.end - 1].map(|tsn| tsn.wrapping_sub(base) as u16)
        };
        let gaps: Vec<_> = self.above.iter().take(capacity).map(block).collect();
        let mut duplicates = std::mem::take(&mut self.duplicates);
        duplicates.truncate(capacity - gaps.len());
        (gaps, duplicates)
    }
}
