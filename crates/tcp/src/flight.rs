//! Records of single segments in flight: time of the last transmission, and whether the segment was
//! delivered, lost or retransmitted.
//!
//! RACK needs these records (RFC 8985 section 5.2). It detects losses by the time of transmission,
//! so that a retransmission can be lost like any other segment. Segments are sorted, and contiguous
//! but for data that a probe has carried ahead of its turn and that was passed over: it has
//! arrived, and was never sent as a segment. Segments that were sent once are in the order of
//! transmission, and a queue has the retransmissions in their order. Both together give those sent
//! before another one, without a search in the window.
//!
//! All counts are of segments, and one that is not full counts as much as a full one, as in Linux
//! (`tcp_packets_in_flight`). To the outside a segment is as many bytes as a full one, so that a
//! window in bytes has room for a number of segments.

mod segment;

use std::collections::VecDeque;

use units::{Span, Time, shrink_if_empty};

use crate::info::Outstanding;
use transport::{Range, pieces_up_to};

pub(crate) use segment::{Departure, Row, Segment};

/// All segments that are not acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    segments: VecDeque<Segment>,
    /// Bytes of a full segment.
    mss: u64,
    /// Segments that are not acknowledged cumulatively (`packets_out`).
    outstanding: u64,
    /// Segments in the network (`tcp_packets_in_flight`).
    pipe: u64,
    /// Segments that count as lost and have not arrived, retransmitted or not.
    lost: u64,
    /// Segments to retransmit.
    missing: u64,
    /// Retransmitted segments in the network.
    repeating: u64,
    /// No segment below is to be retransmitted.
    cursor: u64,
    /// Segments that were acknowledged selectively.
    sacked: u32,
    /// Number of the first segments that are no longer in the order of transmission by their first
    /// departure: a segment sent later has arrived.
    overtaken: usize,
    /// Retransmissions in the order of sending. What has changed since is passed over.
    departures: VecDeque<Departure>,
    /// Departures before that of a segment that has arrived.
    doubtful: Vec<Departure>,
}

impl Flight {
    /// Nothing is outstanding. A full segment has `mss` bytes.
    pub(crate) fn new(mss: u64) -> Self {
        Self { mss, ..Self::default() }
    }

    /// A full segment has `mss` bytes from now on.
    pub(crate) fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
    }

    /// `range` is sent for the first time, with `bytes` of data. Returns the bytes that it counts
    /// for.
    pub(crate) fn on_new(&mut self, now: Time, range: Range, bytes: u64) -> u64 {
        let Range { start, end } = range;
        let segments = if bytes <= self.mss { 1 } else { bytes.div_ceil(self.mss) };
        let segment = Segment {
            start,
            end,
            sent_at: now,
            segments: u16::try_from(segments).unwrap_or(u16::MAX),
            again: false,
            lost: false,
            repeating: false,
            delivered: false,
            is_listed: true,
        };
        self.outstanding += segment.segments();
        self.pipe += segment.segments();
        self.segments.push_back(segment);
        segment.segments() * self.mss
    }

    /// The segment that ends with `range` is retransmitted. Retransmissions are in
    /// the order of [`next_missing`](Self::next_missing). Returns the bytes that it counts for.
    pub(crate) fn on_again(&mut self, now: Time, range: Range) -> u64 {
        let Some(index) = self.holding(range.end) else { return self.mss };
        let segment = &mut self.segments[index];
        let counted = segment.segments() * self.mss;
        if segment.delivered {
            return counted;
        }
        if segment.is_missing() {
            self.missing -= segment.segments();
            self.cursor = segment.end;
        }
        self.pipe -= segment.in_network();
        if !segment.repeating {
            self.repeating += segment.segments();
        }
        segment.sent_at = now;
        segment.again = true;
        segment.repeating = true;
        segment.is_listed = true;
        self.pipe += segment.in_network();
        let departure = segment.departure();
        self.note_departure(departure);
        counted
    }

    /// The last segment is retransmitted as a probe. The copy does not count as in flight.
    pub(crate) fn on_probe(&mut self, now: Time) {
        if let Some(segment) = self.segments.back_mut().filter(|segment| !segment.delivered) {
            segment.sent_at = now;
            segment.again = true;
            segment.is_listed = true;
            let departure = segment.departure();
            self.note_departure(departure);
        }
    }

    #[inline]
    fn note_departure(&mut self, departure: Departure) {
        if self.departures.back().is_none_or(|last| *last <= departure) {
            self.departures.push_back(departure);
        } else {
            self.insert_departure(departure);
        }
    }

    /// Inserts a departure before those that sort after it. A retransmission may leave together
    /// with a segment that ends later, and be noted after it.
    #[cold]
    #[inline(never)]
    fn insert_departure(&mut self, departure: Departure) {
        let later = self.departures.iter().rev().take_while(|other| **other > departure).count();
        self.departures.insert(self.departures.len() - later, departure);
    }

    /// `news` of a SACK block is news. Calls `tell` for each segment that the block covers and that
    /// has arrived now, as it was before.
    pub(crate) fn on_sacked(&mut self, block: Range, news: Range, mut tell: impl FnMut(&Segment)) {
        let mut index = self.up_to(news.start);
        while let Some(segment) = self.segments.get(index).copied()
            && segment.end <= block.end
            && segment.start < news.end
        {
            if segment.start >= block.start && !segment.delivered {
                tell(&segment);
                self.forget(&segment);
                self.segments[index].delivered = true;
                self.sacked += 1;
            }
            index += 1;
        }
    }

    /// Everything up to `una` is acknowledged. Calls `tell` for the segments of it that were not
    /// known to have arrived. Returns true if one of them was sent more than once.
    pub(crate) fn on_acknowledged(&mut self, una: u64, mut tell: impl FnMut(&Row)) -> bool {
        let before = self.segments.len();
        let mut any_again = false;
        loop {
            let row = match self.take_ordinary(una) {
                Some(row) => row,
                None => match self.take_other(una) {
                    Some(segment) => {
                        any_again |= segment.again;
                        if segment.delivered {
                            continue;
                        }
                        Row::of(&segment)
                    }
                    None => break,
                },
            };
            tell(&row);
        }
        self.overtaken = self.overtaken.saturating_sub(before - self.segments.len());
        if self.segments.is_empty() {
            // All that left is acknowledged.
            self.departures.clear();
            shrink_if_empty(&mut self.departures);
            shrink_if_empty(&mut self.segments);
        }
        self.cut_off_below(una);
        any_again
    }

    /// Takes the first segments up to `una`, as far as they were sent once and arrive as expected.
    fn take_ordinary(&mut self, una: u64) -> Option<Row> {
        let is_next = |segment: &&Segment| segment.end <= una && segment.is_ordinary();
        let first = *self.segments.front().filter(is_next)?;
        let mut row = Row::of(&first);
        self.segments.pop_front();
        while let Some(segment) = self.segments.front().filter(is_next) {
            row.last = *segment;
            row.segments += segment.segments();
            self.segments.pop_front();
        }
        self.outstanding -= row.segments;
        self.pipe -= row.segments;
        Some(row)
    }

    /// Takes the first segment up to `una`, whatever it is.
    fn take_other(&mut self, una: u64) -> Option<Segment> {
        let segment = *self.segments.front().filter(|segment| segment.end <= una)?;
        self.segments.pop_front();
        self.outstanding -= segment.segments();
        if segment.delivered {
            self.sacked -= 1;
        } else {
            self.forget(&segment);
        }
        Some(segment)
    }

    /// The receiver has taken a part of the first segment, which counts as before.
    fn cut_off_below(&mut self, una: u64) {
        if let Some(segment) = self.segments.front_mut() {
            segment.start = segment.start.max(una);
        }
    }

    /// Counts all segments from the start.
    fn count_all(&mut self) {
        (self.outstanding, self.pipe) = (0, 0);
        (self.lost, self.missing, self.repeating) = (0, 0, 0);
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            self.outstanding += segment.segments();
            self.count(&segment);
        }
    }

    fn count(&mut self, segment: &Segment) {
        if segment.delivered {
            return;
        }
        let segments = segment.segments();
        self.pipe += segment.in_network();
        self.lost += if segment.lost { segments } else { 0 };
        self.missing += if segment.is_missing() { segments } else { 0 };
        self.repeating += if segment.repeating { segments } else { 0 };
    }

    fn forget(&mut self, segment: &Segment) {
        if segment.delivered {
            return;
        }
        let segments = segment.segments();
        self.pipe -= segment.in_network();
        self.lost -= if segment.lost { segments } else { 0 };
        self.missing -= if segment.is_missing() { segments } else { 0 };
        self.repeating -= if segment.repeating { segments } else { 0 };
    }

    /// Declares lost what was sent before `latest`, which has arrived, and more than `patience` ago
    /// (RFC 8985 section 6.2, `RACK_detect_loss`). Calls `tell` for each, as it was before. Returns
    /// when the last of what was sent before it will be lost too, if it does not arrive.
    pub(crate) fn find_losses(
        &mut self,
        now: Time,
        latest: Departure,
        patience: Span,
        mut tell: impl FnMut(&Segment),
    ) -> Option<Time> {
        self.doubt_before(latest);
        if self.doubtful.is_empty() {
            return None;
        }
        let mut wait = None;
        let mut doubtful = std::mem::take(&mut self.doubtful);
        doubtful.retain(|departure| {
            let Some(index) = self.listed(*departure) else { return false };
            if self.segments[index].is_missing() {
                return true;
            }
            let due = departure.at + patience;
            if due > now {
                wait = wait.max(Some(due));
                return true;
            }
            tell(&self.segments[index]);
            self.lose(index);
            self.segments[index].is_listed = false;
            false
        });
        self.doubtful = doubtful;
        wait
    }

    /// Returns true if nothing that is outstanding was sent before `latest`, which has arrived, as
    /// mostly: only first transmissions are outstanding, and the first of them is later.
    #[inline]
    pub(crate) fn follows(&self, latest: Departure) -> bool {
        let is_later = |first: &Segment| first.is_in_turn() && first.departure() >= latest;
        self.overtaken == 0
            && self.departures.is_empty()
            && self.doubtful.is_empty()
            && self.segments.front().is_none_or(is_later)
    }

    /// Returns true if something that was sent before `latest`, which has arrived, may be lost.
    pub(crate) fn is_doubtful(&mut self, latest: Departure) -> bool {
        self.doubt_before(latest);
        !self.doubtful.is_empty()
    }

    /// All that was sent before `latest` is doubtful, in the order of sending.
    #[inline]
    fn doubt_before(&mut self, latest: Departure) {
        loop {
            let again = self.departures.front().copied().filter(|again| *again < latest);
            let first = self.segments.get(self.overtaken);
            if first.is_some_and(|segment| !segment.is_in_turn()) {
                self.overtaken += 1;
            } else if let Some(segment) = first
                && segment.departure() < again.unwrap_or(latest)
            {
                self.doubtful.push(segment.departure());
                self.overtaken += 1;
            } else if let Some(again) = again {
                self.doubtful.push(again);
                self.departures.pop_front();
            } else {
                return;
            }
        }
    }

    /// A retransmission timeout: the first segment is lost, and all that was sent `patience` ago or
    /// earlier (RFC 8985 section 6.3). Calls `tell` for each that was not lost before.
    pub(crate) fn on_timeout(&mut self, now: Time, patience: Span, mut tell: impl FnMut(Range)) {
        let head = self.head().map(|head| head.start);
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            let overdue = segment.sent_at + patience <= now || head == Some(segment.start);
            if overdue && !segment.delivered && !segment.is_missing() {
                tell(segment.range());
                self.lose(index);
            }
        }
    }

    /// The first segment is lost.
    pub(crate) fn lose_head(&mut self, mut tell: impl FnMut(Range)) {
        let head = self.segments.iter().position(|segment| !segment.delivered);
        if let Some(index) = head.filter(|index| !self.segments[*index].is_missing()) {
            tell(self.segments[index].range());
            self.lose(index);
        }
    }

    /// Segments of more than `mss` bytes are lost. Calls `tell` for each that was not lost before.
    pub(crate) fn lose_longer(&mut self, mss: u64, mut tell: impl FnMut(Range)) {
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            if segment.range().len() > mss && !segment.delivered && !segment.is_missing() {
                tell(segment.range());
                self.lose(index);
            }
        }
    }

    /// Segments have at most `mss` bytes now. Segments to retransmit are joined before they are
    /// cut: in Linux they are parts of larger packets, which segmentation offload cuts.
    pub(crate) fn recut(&mut self, mss: u64) {
        let mut cut: VecDeque<Segment> = VecDeque::with_capacity(self.segments.len());
        for segment in std::mem::take(&mut self.segments) {
            if segment.delivered || !(segment.is_missing() || segment.range().len() > mss) {
                cut.push_back(segment);
                continue;
            }
            let joins = |before: &Segment| {
                // What lies between two segments has arrived.
                segment.start == before.end
                    && segment.is_missing()
                    && before.is_missing()
                    && !before.delivered
                    && before.again == segment.again
            };
            let before = cut.back().copied().filter(joins);
            let mut start = segment.start;
            if let Some(before) = before {
                cut.pop_back();
                start = before.start;
            }
            while start < segment.end {
                let end = segment.end.min(start + mss);
                cut.push_back(Segment { start, end, segments: 1, ..segment });
                start = end;
            }
        }
        self.segments = cut;
        self.count_all();
        // Those in the network have other ends. What stands there for a segment that is no more is
        // passed over.
        let listed = self.segments.iter().filter(|one| !one.delivered && one.is_listed);
        self.departures = listed.map(Segment::departure).collect();
        self.departures.make_contiguous().sort_unstable();
        self.overtaken = self.segments.len();
        self.doubtful.clear();
    }

    fn lose(&mut self, index: usize) {
        let segment = self.segments[index];
        self.forget(&segment);
        let lost = Segment { lost: true, repeating: false, ..segment };
        self.segments[index] = lost;
        self.count(&lost);
        self.cursor = self.cursor.min(lost.start);
    }

    /// Nothing was lost after all.
    pub(crate) fn find_all(&mut self) {
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            if segment.lost && !segment.delivered {
                self.forget(&segment);
                let found = Segment { lost: false, ..segment };
                self.segments[index] = found;
                self.count(&found);
            }
        }
    }

    /// Where the segment stands that was sent at `departure`, if no later one has replaced it, it
    /// has not arrived, and RACK has not found it to be lost.
    fn listed(&self, departure: Departure) -> Option<usize> {
        let index = self.holding(departure.end)?;
        let segment = &self.segments[index];
        let current = segment.departure() == departure && segment.is_listed;
        (current && !segment.delivered).then_some(index)
    }

    /// The segment that ends at `end`.
    fn holding(&self, end: u64) -> Option<usize> {
        let index = self.up_to(end.checked_sub(1)?);
        self.segments.get(index).is_some_and(|segment| segment.end == end).then_some(index)
    }

    /// The number of segments that end at `number` or below.
    fn up_to(&self, number: u64) -> usize {
        pieces_up_to(&self.segments, number, |segment| segment.end)
    }

    /// Bytes in the network, with each segment counted as a full one: sent, neither lost nor
    /// sacked, or retransmitted and not sacked.
    pub(crate) fn pipe(&self) -> u64 {
        self.pipe * self.mss
    }

    /// Bytes that are not acknowledged cumulatively, counted likewise.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.outstanding * self.mss
    }

    /// Returns true if any segment counts as lost.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Segments that were acknowledged selectively.
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// State of these segments.
    pub(crate) fn outstanding(&self) -> Outstanding {
        Outstanding {
            sacked: u64::from(self.sacked) * self.mss,
            lost: self.lost * self.mss,
            retransmitted: self.repeating(),
        }
    }

    /// Retransmitted bytes in the network, with each segment counted as a full one.
    pub(crate) fn repeating(&self) -> u64 {
        self.repeating * self.mss
    }

    /// True if the first segment was retransmitted, or any copy is in flight
    /// (`tcp_any_retrans_done`).
    pub(crate) fn has_copies(&self) -> bool {
        self.repeating > 0 || self.segments.front().is_some_and(|segment| segment.again)
    }

    /// When the first segment that is not acknowledged was sent last.
    pub(crate) fn first_sent_at(&self) -> Option<Time> {
        self.segments.front().map(|segment| segment.sent_at)
    }

    /// Bytes of `range` that were sent more than once, with each segment counted as a full one, and
    /// where the first segment of these starts that has arrived.
    pub(crate) fn copies_within(&self, range: Range) -> (u64, Option<u64>) {
        let first = self.up_to(range.start);
        let within = self.segments.range(first..).take_while(|segment| segment.start < range.end);
        let copies = within.filter(|segment| segment.again);
        let segments: u64 = copies.clone().map(Segment::segments).sum();
        (
            segments * self.mss,
            copies.clone().find(|segment| segment.delivered).map(|segment| segment.start),
        )
    }

    /// The first segment that has not arrived.
    pub(crate) fn head(&self) -> Option<&Segment> {
        self.segments.iter().find(|segment| !segment.delivered)
    }

    /// The last segment.
    pub(crate) fn last(&self) -> Option<&Segment> {
        self.segments.back()
    }

    /// Returns true if it is a single segment.
    pub(crate) fn is_single(&self) -> bool {
        self.segments.len() == 1
    }

    /// The next segment to retransmit.
    pub(crate) fn next_missing(&self) -> Option<Range> {
        self.next_missing_segment().map(Segment::range)
    }

    /// Likewise with what is known of it.
    pub(crate) fn next_missing_segment(&self) -> Option<&Segment> {
        if self.missing == 0 {
            return None;
        }
        let first = self.up_to(self.cursor);
        let missing = |segment: &&Segment| segment.is_missing() && !segment.delivered;
        self.segments.range(first..).find(missing)
    }
}

/// For tests: all that is counted while segments come and go, from scratch.
#[cfg(test)]
impl Flight {
    /// `passed` are the ranges that were passed over.
    pub(crate) fn recount(&self, una: u64, max: u64, passed: &transport::RangeSet) {
        let mut fresh = Self::default();
        let mut end = una;
        let has_passed = |start, end| {
            start == end || passed.iter().any(|one| one.start <= start && end <= one.end)
        };
        for segment in &self.segments {
            let follows = end <= segment.start && has_passed(end, segment.start);
            assert!(follows && segment.start < segment.end, "{segment:?} after {end}");
            end = segment.end;
            fresh.outstanding += segment.segments();
            fresh.count(segment);
            fresh.sacked += u32::from(segment.delivered);
            let waits = segment.is_missing() && !segment.delivered;
            assert!(!waits || segment.end > self.cursor, "passed over {segment:?}");
        }
        assert!(self.segments.is_empty() || has_passed(end, max), "{end} and {max}");
        let counted = |one: &Self| {
            (one.outstanding, one.pipe, one.lost, one.missing, one.repeating, one.sacked)
        };
        let names = "outstanding, pipe, lost, missing, repeating, sacked";
        assert_eq!(counted(self), counted(&fresh), "{names}");
    }
}

#[cfg(test)]
mod tests;
