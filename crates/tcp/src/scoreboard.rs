//! The scoreboard of the sender: lost data and data in the network (RFC 6675 section 4).
//!
//! It has ranges of sequence numbers, not segments. An ACK costs a binary search over the gaps, and
//! no cost grows with the window. Without SACK the set of ranges is empty, and the scoreboard has
//! only the data that a timeout declared lost. The same rules then give go-back-N.
//!
//! Decisions:
//! - Data that a probe has brought ahead is passed over, and is no sign of a loss: it was sent
//!   before the data below it; the scoreboard keeps it apart from what SACK says of later data.
//! - The scoreboard holds ranges, not segments: an ACK costs a search over gaps, whatever the
//!   window; a timeout without SACK is the same rules with no ranges.
//! - SACK information survives a timeout. RFC 2018 sections 5 and 5.1 ignore it then, because a
//!   receiver may renege (section 8). Ours never does.

use crate::flight::{Flight, Segment};
use crate::info::Outstanding;
use transport::{Range, RangeSet};

/// Ranges of selectively acknowledged, lost and retransmitted data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: RangeSet,
    /// Everything below and not sacked is lost (the function `IsLost`).
    lost_below: u64,
    /// Everything below and not sacked was sent again (HighRxt).
    retransmitted_below: u64,
    /// Sacked bytes below `retransmitted_below`.
    sacked_retransmitted: u64,
    /// Sacked data that a probe has brought ahead of its turn. It was sent before the data
    /// below it, and so does not tell that anything is lost.
    early: Option<Box<RangeSet>>,
    /// Each segment by itself, for a recovery that finds losses by time; what is lost and what is
    /// in the network is then asked there.
    flight: Option<Box<Flight>>,
}

impl Scoreboard {
    /// An empty scoreboard, which knows each segment by itself.
    pub(crate) fn by_segment(mss: u64) -> Self {
        let flight = Some(Box::new(Flight::new(mss)));
        // Beyond all that will ever be sent: no short cut leads past the segments.
        Self { flight, lost_below: u64::MAX, ..Self::default() }
    }

    /// Each segment by itself.
    pub(crate) fn flight(&self) -> Option<&Flight> {
        self.flight.as_deref()
    }

    pub(crate) fn flight_mut(&mut self) -> Option<&mut Flight> {
        self.flight.as_deref_mut()
    }

    /// A SACK block is about to be taken in. Calls `tell` for each segment that arrives with it.
    pub(crate) fn sack_segments(&mut self, block: Range, mut tell: impl FnMut(&Segment)) {
        let Some(mut flight) = self.flight.take() else { return };
        for news in self.holes(block.start, block.end) {
            flight.on_sacked(block, news, &mut tell);
        }
        self.flight = Some(flight);
    }

    /// Data up to `una` is acknowledged (HighACK).
    #[inline]
    pub(crate) fn acknowledge(&mut self, una: u64) {
        if self.retransmitted_below < una {
            self.retransmitted_below = una;
            self.sacked_retransmitted = 0;
            if !self.sacked.is_empty() {
                self.forget_below(una);
            }
        } else if !self.sacked.is_empty() {
            self.sacked_retransmitted -= self.forget_below(una);
        }
    }

    /// Returns how many sacked bytes lay below.
    fn forget_below(&mut self, una: u64) -> u64 {
        if let Some(early) = &mut self.early {
            early.remove_below(una);
        }
        self.sacked.remove_below(una)
    }

    /// Takes in a SACK block and says how many bytes of it were news.
    pub(crate) fn sack(&mut self, start: u64, end: u64) -> u64 {
        let added = self.sacked.insert(start, end, self.retransmitted_below);
        self.sacked_retransmitted += added.below;
        added.total
    }

    /// Returns true if all of `range` is sacked.
    #[inline]
    pub(crate) fn has_sacked(&self, range: Range) -> bool {
        self.sacked.contains(range.start, range.end)
    }

    /// `range`, which is sacked, came ahead of its turn.
    pub(crate) fn came_early(&mut self, range: Range) {
        self.early.get_or_insert_default().insert(range.start, range.end, 0);
    }

    /// Bytes that came ahead of their turn and are not acknowledged.
    pub(crate) fn early(&self) -> u64 {
        self.early.as_ref().map_or(0, |early| early.total())
    }

    /// Moves the limit of what counts as lost: data below `duplicate_threshold` separate sacked
    /// ranges, or below more than `(duplicate_threshold - 1) * mss` sacked bytes.
    pub(crate) fn find_losses(&mut self, duplicate_threshold: u32, mss: u64) {
        let enough_bytes = u64::from(duplicate_threshold - 1) * mss;
        let (mut ranges, mut bytes) = (0, 0);
        for range in self.sacked.iter().rev() {
            let later = range.len() - self.early_within(range);
            ranges += u32::from(later > 0);
            bytes += later;
            if ranges >= duplicate_threshold || bytes > enough_bytes {
                self.lost_below = self.lost_below.max(range.start);
                break;
            }
        }
    }

    /// Everything below and not sacked is lost.
    pub(crate) fn lost_below(&self) -> u64 {
        self.lost_below
    }

    /// Ranges from `from` up to `to` that are not sacked.
    pub(crate) fn holes(&self, from: u64, to: u64) -> impl Iterator<Item = Range> {
        let mut start = from;
        std::iter::from_fn(move || {
            while start < to {
                let Some(range) = self.sacked.at_or_above(start).filter(|r| r.start < to) else {
                    return Some(Range { start: std::mem::replace(&mut start, to), end: to });
                };
                let hole = Range { start, end: range.start };
                start = range.end;
                if hole.start < hole.end {
                    return Some(hole);
                }
            }
            None
        })
    }

    /// A timeout: everything outstanding and not sacked is lost and has to be sent again. What
    /// the receiver said it holds is kept; a receiver of this project never reneges, as RFC
    /// 2018 section 8 allows.
    pub(crate) fn lose_everything(&mut self, una: u64, max: u64) {
        self.lost_below = max;
        self.retransmitted_below = una;
        self.sacked_retransmitted = 0;
    }

    /// Recovery begins: nothing has been sent again yet.
    pub(crate) fn begin_recovery(&mut self, una: u64) {
        self.retransmitted_below = una;
        self.sacked_retransmitted = 0;
    }

    /// Returns true if the first unacknowledged byte counts as lost.
    pub(crate) fn head_is_lost(&self, una: u64) -> bool {
        self.lost_below > una
    }

    /// Bytes that are thought to be in the network (the function `SetPipe`): sent, not lost and not
    /// sacked, or retransmitted and not sacked. Where each segment is known by itself, it counts as
    /// a full one.
    #[inline(always)]
    pub(crate) fn pipe(&self, una: u64, max: u64) -> u64 {
        if self.sacked.is_empty() && self.lost_below <= una && self.retransmitted_below <= una {
            return max - una;
        }
        self.pipe_with_gaps(una, max)
    }

    /// State of the bytes between `una` and `max`.
    pub(crate) fn outstanding(&self, una: u64, max: u64) -> Outstanding {
        if let Some(flight) = &self.flight {
            return flight.outstanding();
        }
        let holes = |below: u64| self.holes(una, below.min(max)).map(Range::len).sum();
        Outstanding {
            sacked: self.sacked.total(),
            lost: holes(self.lost_below),
            retransmitted: holes(self.retransmitted_below),
        }
    }

    /// Kept apart, so that nothing of it burdens those who lose nothing.
    #[inline(never)]
    fn pipe_with_gaps(&self, una: u64, max: u64) -> u64 {
        if let Some(flight) = &self.flight {
            return flight.pipe();
        }
        let lost_below = self.lost_below.max(una);
        let not_lost = (max - lost_below) - self.sacked_from(lost_below);
        let sent_again = self.retransmitted_below.max(una) - una - self.sacked_retransmitted;
        not_lost + sent_again
    }

    /// The next lost data that was not sent again (`NextSeg` rule 1), at most `mss` bytes.
    #[inline]
    pub(crate) fn next_lost(&self, una: u64, mss: u64) -> Option<Range> {
        let lost_below = self.lost_below;
        if self.retransmitted_below.max(una) >= lost_below {
            return None;
        }
        if let Some(flight) = &self.flight {
            return flight.next_missing();
        }
        self.next_hole(una, lost_below, mss)
    }

    /// The next data below the highest sacked byte that was not sent again, lost or not
    /// (`NextSeg` rule 3), at most `mss` bytes.
    pub(crate) fn next_unacknowledged(&self, una: u64, mss: u64) -> Option<Range> {
        self.next_hole(una, self.sacked.end()?, mss)
    }

    /// The last data of the window that is not sacked (`NextSeg` rule 4), at most `mss` bytes.
    pub(crate) fn last_unacknowledged(&self, una: u64, max: u64, mss: u64) -> Option<Range> {
        let mut end = max;
        let mut start = una;
        for range in self.sacked.iter().rev() {
            if range.end >= end {
                end = range.start;
            } else {
                start = range.end;
                break;
            }
        }
        (start < end).then(|| Range { start: start.max(end.saturating_sub(mss)), end })
    }

    /// `range` was sent again.
    pub(crate) fn retransmitted(&mut self, range: Range) {
        if range.end > self.retransmitted_below && self.flight.is_none() {
            self.sacked_retransmitted += self.sacked_between(self.retransmitted_below, range.end);
            self.retransmitted_below = range.end;
        }
    }

    /// Sacked bytes.
    #[cfg(test)]
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked.total()
    }

    fn early_within(&self, range: Range) -> u64 {
        let early = self.early.iter().flat_map(|early| early.iter());
        early.map(|e| e.end.min(range.end).saturating_sub(e.start.max(range.start))).sum()
    }

    fn next_hole(&self, una: u64, below: u64, mss: u64) -> Option<Range> {
        let mut start = self.retransmitted_below.max(una);
        let mut end = below;
        if let Some(range) = self.sacked.at_or_above(start) {
            if range.start <= start {
                start = range.end;
                end = self.sacked.at_or_above(start).map_or(below, |next| next.start.min(below));
            } else {
                end = range.start.min(below);
            }
        }
        (start < end).then(|| Range { start, end: end.min(start + mss) })
    }

    /// Sacked bytes at and above `from`, which only a few ranges hold.
    fn sacked_from(&self, from: u64) -> u64 {
        let above = self.sacked.iter().rev().take_while(|range| range.end > from);
        above.map(|range| range.end - range.start.max(from)).sum()
    }

    /// Sacked bytes between two points that lie near each other.
    fn sacked_between(&self, from: u64, to: u64) -> u64 {
        let (mut bytes, mut start) = (0, from);
        while let Some(range) = self.sacked.at_or_above(start).filter(|range| range.start < to) {
            bytes += range.end.min(to) - range.start.max(from);
            start = range.end;
        }
        bytes
    }
}

/// For tests: all that is counted while ACKs come in, from scratch.
#[cfg(test)]
impl Scoreboard {
    pub(crate) fn recount(&self, una: u64, max: u64) {
        let mut total = 0;
        for range in self.sacked.iter() {
            assert!(una < range.end && range.end <= max, "{range:?} outside of {una}..{max}");
            total += range.len();
        }
        assert_eq!(self.sacked.total(), total);
        if let Some(flight) = &self.flight {
            flight.recount(una, max, self.early.as_deref().unwrap_or(&RangeSet::default()));
            return;
        }
        let below = |to: u64| {
            let ends = self
                .sacked
                .iter()
                .map(|range| range.end.min(to).saturating_sub(range.start.max(una).min(to)));
            ends.sum::<u64>()
        };
        let retransmitted = self.retransmitted_below.max(una);
        assert_eq!(self.sacked_retransmitted, below(self.retransmitted_below), "sacked and again");
        let lost_below = self.lost_below.clamp(una, max);
        let above = (max - lost_below) - (below(max) - below(lost_below));
        let again = (retransmitted - una) - below(retransmitted);
        assert_eq!(self.pipe(una, max), above + again, "pipe");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Bytes 0 to 20,000 are outstanding.
    fn pipe(board: &Scoreboard) -> u64 {
        board.pipe(0, 20 * MSS)
    }

    fn sack(board: &mut Scoreboard, segments: std::ops::Range<u64>) {
        board.sack(segments.start * MSS, segments.end * MSS);
        board.find_losses(3, MSS);
    }

    #[test]
    fn everything_outstanding_is_in_the_pipe_at_first() {
        assert_eq!(pipe(&Scoreboard::default()), 20 * MSS);
    }

    #[test]
    fn two_segments_above_a_hole_are_no_loss_and_three_are() {
        let mut board = Scoreboard::default();
        sack(&mut board, 1..3);
        assert!(!board.head_is_lost(0));
        sack(&mut board, 3..4);
        assert!(board.head_is_lost(0));
    }

    #[test]
    fn three_separate_blocks_above_a_hole_are_a_loss_however_small() {
        let mut board = Scoreboard::default();
        for start in [2000, 4000, 6000] {
            board.sack(start, start + 10);
        }
        board.find_losses(3, MSS);
        assert_eq!(board.next_lost(0, MSS), Some(Range { start: 0, end: 1000 }));
        assert!(board.lost_below == 2000);
    }

    #[test]
    fn lost_bytes_leave_the_pipe_and_come_back_when_they_are_sent_again() {
        let mut board = Scoreboard::default();
        sack(&mut board, 2..6);
        assert_eq!(pipe(&board), 14 * MSS);
        let hole = board.next_lost(0, MSS).unwrap();
        board.retransmitted(hole);
        assert_eq!(pipe(&board), 15 * MSS);
    }

    #[test]
    fn holes_are_sent_again_one_after_the_other() {
        let mut board = Scoreboard::default();
        sack(&mut board, 1..2);
        sack(&mut board, 4..5);
        sack(&mut board, 6..9);
        let mut sent = Vec::new();
        while let Some(range) = board.next_lost(0, MSS) {
            sent.push(range.start / MSS);
            board.retransmitted(range);
        }
        assert_eq!(sent, [0, 2, 3, 5]);
        // Eleven segments above the last sacked one, and four that were sent again.
        assert_eq!(pipe(&board), 15 * MSS);
    }

    #[test]
    fn a_retransmission_that_is_sacked_leaves_the_pipe() {
        let mut board = Scoreboard::default();
        sack(&mut board, 1..2);
        sack(&mut board, 3..6);
        while let Some(range) = board.next_lost(0, MSS) {
            board.retransmitted(range);
        }
        let before = pipe(&board);
        sack(&mut board, 2..3);
        assert_eq!(pipe(&board), before - MSS);
    }

    #[test]
    fn an_acknowledgement_forgets_what_lies_below() {
        let mut board = Scoreboard::default();
        sack(&mut board, 1..2);
        sack(&mut board, 3..6);
        while let Some(range) = board.next_lost(0, MSS) {
            board.retransmitted(range);
        }
        board.acknowledge(2 * MSS);
        assert_eq!(board.pipe(2 * MSS, 20 * MSS), 15 * MSS);
        assert_eq!(board.sacked(), 3 * MSS);
        board.acknowledge(6 * MSS);
        assert_eq!(board.pipe(6 * MSS, 20 * MSS), 14 * MSS);
    }

    #[test]
    fn after_a_timeout_only_what_the_receiver_lacks_is_sent_again() {
        let mut board = Scoreboard::default();
        sack(&mut board, 5..15);
        board.lose_everything(0, 20 * MSS);
        assert_eq!(pipe(&board), 0);
        let mut sent = Vec::new();
        while let Some(range) = board.next_lost(0, MSS) {
            sent.push(range.start / MSS);
            board.retransmitted(range);
        }
        assert_eq!(sent, [0, 1, 2, 3, 4, 15, 16, 17, 18, 19]);
        assert_eq!(pipe(&board), 10 * MSS);
    }

    #[test]
    fn data_that_came_ahead_of_its_turn_is_no_sign_of_a_loss() {
        let mut board = Scoreboard::default();
        board.came_early(Range { start: 10 * MSS, end: 15 * MSS });
        sack(&mut board, 10..15);
        sack(&mut board, 16..18);
        assert!(!board.head_is_lost(0));
        assert_eq!(pipe(&board), 13 * MSS);
        sack(&mut board, 15..16);
        assert!(board.head_is_lost(0));
        board.acknowledge(12 * MSS);
        assert_eq!(board.early(), 3 * MSS);
    }

    #[test]
    fn the_rescue_is_the_end_of_the_window() {
        let mut board = Scoreboard::default();
        sack(&mut board, 5..15);
        let rescue = board.last_unacknowledged(0, 20 * MSS, MSS);
        assert_eq!(rescue, Some(Range { start: 19 * MSS, end: 20 * MSS }));
        sack(&mut board, 15..20);
        let rescue = board.last_unacknowledged(0, 20 * MSS, MSS);
        assert_eq!(rescue, Some(Range { start: 4 * MSS, end: 5 * MSS }));
    }
}
