//! Records of the segments in flight, and the round-trip time that each ACK measures with them.
//!
//! Records are contiguous and sorted: added at the upper end, removed at the lower end, and found
//! by binary search. What a record holds besides, `S`, is nothing where only round trips are
//! measured.

use std::collections::VecDeque;

use units::{Span, Time, shrink_if_empty};

use crate::pieces::pieces_up_to;
use crate::ranges::Range;

/// Records without samples of the delivery rate.
pub type RoundTrips = Records<()>;

/// A segment from the end of the record before it to `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<S> {
    pub(crate) end: u64,
    pub(crate) sent_at: Time,
    pub(crate) stamp: S,
    pub(crate) delivered: bool,
    pub(crate) lost: bool,
    /// It was sent more than once.
    pub(crate) again: bool,
}

impl<S> Record<S> {
    /// It was sent once and is not known to have arrived.
    fn is_new(&self) -> bool {
        !self.delivered && !self.again
    }
}

/// Records of all that is outstanding.
#[derive(Clone, Debug)]
pub struct Records<S> {
    queue: VecDeque<Record<S>>,
    round_trip: RoundTrip,
}

/// RTT sample of the ACK being processed.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrip {
    /// When the youngest segment was sent that it delivers and that was sent once.
    sent_at: Option<Time>,
    /// It acknowledges cumulatively what was sent twice: which copy it answers is unknown, and so
    /// is why it comes now.
    ambiguous: bool,
}

impl RoundTrip {
    fn take_in<S>(&mut self, record: &Record<S>) {
        if record.is_new() && self.sent_at.is_none_or(|at| at < record.sent_at) {
            self.sent_at = Some(record.sent_at);
        }
    }
}

impl<S> Default for Records<S> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), round_trip: RoundTrip::default() }
    }
}

impl<S: Copy> Records<S> {
    /// New data up to `end` is sent.
    #[inline]
    pub fn on_new(&mut self, now: Time, end: u64, stamp: S) {
        self.queue.push_back(Record {
            end,
            sent_at: now,
            stamp,
            delivered: false,
            lost: false,
            again: false,
        });
    }

    /// `range` is retransmitted. Everything up to `una` is acknowledged.
    #[inline(never)]
    pub fn on_again(&mut self, now: Time, range: Range, una: u64, stamp: S) {
        self.split(una, range.start);
        self.split(una, range.end);
        for record in self.overlapping(range).filter(|record| !record.delivered) {
            record.sent_at = now;
            record.stamp = stamp;
            record.lost = false;
            record.again = true;
        }
    }

    /// `range` was acknowledged selectively for the first time.
    pub fn on_sacked(&mut self, range: Range) {
        self.sacked(range, |_| ());
    }

    /// Everything up to `una` was acknowledged.
    #[inline]
    pub fn on_acknowledged(&mut self, una: u64) {
        self.acknowledged(una, |_| ());
    }

    /// Likewise [`on_sacked`](Self::on_sacked). Calls `tell` for each record that is delivered now.
    pub(crate) fn sacked(&mut self, range: Range, mut tell: impl FnMut(&Record<S>)) {
        let mut round_trip = self.round_trip;
        for record in self.overlapping(range).filter(|record| record.end <= range.end) {
            round_trip.take_in(record);
            if !std::mem::replace(&mut record.delivered, true) {
                tell(record);
            }
        }
        self.round_trip = round_trip;
    }

    /// Likewise [`on_acknowledged`](Self::on_acknowledged). Calls `tell` for each record that is
    /// delivered now.
    #[inline]
    pub(crate) fn acknowledged(&mut self, una: u64, mut tell: impl FnMut(&Record<S>)) {
        let Self { queue, round_trip } = self;
        while let Some(record) = queue.front()
            && record.end <= una
        {
            round_trip.ambiguous |= record.again;
            round_trip.take_in(record);
            if !record.delivered {
                tell(record);
            }
            queue.pop_front();
        }
        shrink_if_empty(queue);
    }

    /// Segments below `una` are given up: they count neither as delivered nor as lost.
    pub fn forget(&mut self, una: u64) {
        while self.queue.front().is_some_and(|record| record.end <= una) {
            self.queue.pop_front();
        }
    }

    /// Gives back the memory of records that are no longer there.
    pub fn shrink(&mut self) {
        self.queue.shrink_to_fit();
    }

    /// The round-trip time that the ACK just processed has measured: since the youngest segment was
    /// sent that it delivers, if that was sent once. An ACK that also acknowledges cumulatively
    /// what was sent twice measures none, as in Linux (`tcp_clean_rtx_queue`).
    #[inline]
    pub fn take_round_trip(&mut self, now: Time) -> Option<Span> {
        let RoundTrip { sent_at, ambiguous } = std::mem::take(&mut self.round_trip);
        sent_at.filter(|_| !ambiguous).map(|sent| now.since(sent))
    }

    /// Time at which the first unacknowledged segment was last sent.
    pub(crate) fn head_sent(&self) -> Option<Time> {
        self.queue.front().map(|record| record.sent_at)
    }

    /// The records that share a byte with `range`.
    pub(crate) fn overlapping(&mut self, range: Range) -> impl Iterator<Item = &mut Record<S>> {
        let first = pieces_up_to(&self.queue, range.start, |record| record.end);
        let mut start_inside = true;
        self.queue.range_mut(first..).take_while(move |record| {
            let inside = start_inside;
            start_inside = record.end < range.end;
            inside
        })
    }

    /// Makes two records of the one that `position` is inside of. Segments that were sent before
    /// the path narrowed are retransmitted in parts, and only a part that is has a new stamp.
    fn split(&mut self, una: u64, position: u64) {
        let index = pieces_up_to(&self.queue, position, |record| record.end);
        let start = index.checked_sub(1).map_or(una, |before| self.queue[before].end);
        if start < position
            && let Some(record) = self.queue.get(index).copied()
        {
            self.queue.insert(index, Record { end: position, ..record });
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}
