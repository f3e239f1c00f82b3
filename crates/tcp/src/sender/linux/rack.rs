//! RACK (RFC 8985 section 6): a segment is lost if a segment that was sent later has arrived, and
//! enough time has passed. The number of later segments does not count.
//!
//! The time is a round trip plus the reordering window. The window is zero if no reordering was
//! seen and three later segments have arrived or a recovery runs. Otherwise it is a quarter of the
//! minimum RTT. Once reordering was seen, each round with a needless retransmission widens it by
//! the same amount, up to the smoothed RTT. For a cumulative ACK, the timestamp shows which copy of
//! a segment has arrived (a SACK repeats an old timestamp). A copy that returns faster than the
//! minimum RTT was the original.
//!
//! Reordering is seen if a segment arrives that was sent once and lies below another one that has
//! arrived, or if an undo shows that the original arrived late. Its extent, in segments, is
//! remembered as in Linux (`tcp_check_sack_reordering`).

use units::{Span, Time};

use crate::flight::{Departure, Row, Segment};
use crate::timestamps::timestamp;

/// Recoveries without a needless retransmission after which the window is narrow again.
const PATIENT_RECOVERIES: u32 = 16;

/// The largest extent of reordering in segments (`tcp_max_reordering`).
const MOST_REORDERING: u64 = 300;

/// The widest window in quarters of the smallest RTT.
const MOST_QUARTERS: u32 = 255;

/// State of RACK for a connection.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The segment sent last of those that have arrived (`RACK.xmit_ts` and `RACK.end_seq`).
    latest: Option<Departure>,
    /// The round trip of the segment that has arrived last (`RACK.rtt`).
    round_trip: Span,
    /// Something has arrived, or an undo has found lost data, since losses were looked for.
    has_news: bool,
    /// The highest sequence number that has arrived (`RACK.fack`), and what it was before the ACK
    /// that is being processed: its SACK blocks, which come first, overtake nothing that it
    /// acknowledges.
    highest: u64,
    highest_before: u64,
    /// Lowest sequence numbers of segments that were sent once and arrive out of order with this
    /// ACK: first of those in its SACK blocks, then of those that it acknowledges cumulatively.
    lowest_sacked: u64,
    lowest_acknowledged: u64,
    reordering_seen: bool,
    /// Extent of the reordering in segments, once it exceeds the duplicate threshold.
    reordering: u64,
    /// Quarters of the smallest RTT (`RACK.reo_wnd_mult`).
    quarters: u32,
    /// Recoveries for which their number stays (`RACK.reo_wnd_persist`).
    persist: u32,
    /// A needless retransmission was reported, and the window is not wider yet.
    is_reported: bool,
    /// When the window became wider.
    widened_at: Option<Time>,
    /// Latest send time of the segments that arrive with this ACK.
    sent_last: Option<Time>,
}

/// Inputs of the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// A recovery runs, or what follows a timeout.
    pub(super) recovering: bool,
    /// As many segments have overtaken others as mean a loss.
    pub(super) overtaken: bool,
    pub(super) min_rtt: Option<Span>,
    pub(super) srtt: Option<Span>,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            latest: None,
            round_trip: Span::ZERO,
            has_news: false,
            highest: 0,
            highest_before: 0,
            lowest_sacked: u64::MAX,
            lowest_acknowledged: u64::MAX,
            reordering_seen: false,
            reordering: 0,
            quarters: 1,
            persist: 0,
            is_reported: false,
            widened_at: None,
            sent_last: None,
        }
    }

    /// `segment` is acknowledged selectively (steps 2 and 3).
    pub(super) fn on_sacked(&mut self, now: Time, segment: &Segment, min_rtt: Option<Span>) {
        if !segment.again && segment.start < self.highest_before {
            self.lowest_sacked = self.lowest_sacked.min(segment.start);
        }
        self.on_delivered(now, segment, min_rtt, || None);
    }

    /// A row of segments is acknowledged cumulatively and has not arrived before. `echoed`: the
    /// timestamp that its ACK carries.
    pub(super) fn on_acknowledged(
        &mut self,
        now: Time,
        row: &Row,
        min_rtt: Option<Span>,
        echoed: impl FnOnce() -> Option<u32>,
    ) {
        if !row.again() {
            self.lowest_acknowledged = self.lowest_acknowledged.min(row.first.start);
        }
        // The last of them is the one that was sent last.
        self.on_delivered(now, &row.last, min_rtt, echoed);
    }

    fn on_delivered(
        &mut self,
        now: Time,
        segment: &Segment,
        min_rtt: Option<Span>,
        echoed: impl FnOnce() -> Option<u32>,
    ) {
        let round_trip = now.since(segment.sent_at);
        self.highest = self.highest.max(segment.end);
        if self.sent_last.is_none_or(|last| last < segment.sent_at) {
            self.sent_last = Some(segment.sent_at);
        }
        if segment.again {
            let sent = timestamp(segment.sent_at);
            let sent_later = echoed().is_some_and(|echoed| (echoed.wrapping_sub(sent) as i32) < 0);
            if sent_later || min_rtt.is_some_and(|min| round_trip < min) {
                return;
            }
        }
        // Whatever was sent before it (RFC 8985 section 6.2, step 2).
        self.round_trip = round_trip;
        self.has_news = true;
        let departure = segment.departure();
        if self.latest.is_none_or(|latest| departure > latest) {
            self.latest = Some(departure);
        }
    }

    /// A report of a duplicate covers a retransmitted segment that has arrived and begins at
    /// `start`.
    pub(super) fn on_late_original(&mut self, start: u64) {
        self.lowest_sacked = self.lowest_sacked.min(start);
    }

    /// All that an ACK brought is known. `takes_sacks`: what it reports selectively may show
    /// reordering. After a timeout only a reduction that may be undone lets it.
    pub(super) fn on_ack(&mut self, mss: u64, takes_sacks: bool) {
        if takes_sacks {
            self.note_reordering(self.lowest_sacked, mss);
        }
        if self.lowest_acknowledged < self.highest_before {
            self.note_reordering(self.lowest_acknowledged, mss);
        }
        self.lowest_sacked = u64::MAX;
        self.lowest_acknowledged = u64::MAX;
        self.highest_before = self.highest;
    }

    /// Something that begins at `low` has arrived late (`tcp_check_sack_reordering`).
    pub(super) fn note_reordering(&mut self, low: u64, mss: u64) {
        if low < self.highest {
            let extent = (self.highest - low).div_ceil(mss).min(MOST_REORDERING);
            self.reordering = self.reordering.max(extent);
            self.reordering_seen = true;
        }
    }

    /// Extent of the reordering in segments, as far as it is known.
    pub(super) fn reordering(&self) -> u64 {
        self.reordering
    }

    /// A timeout comes although `threshold` segments have arrived behind the first: the extent was
    /// overestimated (`tcp_enter_loss`).
    pub(super) fn doubt_reordering(&mut self, threshold: u32) {
        self.reordering = self.reordering.min(threshold.into());
    }

    /// The receiver reports data that arrived twice (step 4). Without reordering it is no reason to
    /// wait.
    pub(super) fn on_duplicate_report(&mut self) {
        self.is_reported |= self.reordering_seen;
    }

    /// Something has arrived with the ACK that is being processed. The window is wider after a
    /// report, but once a round trip only: the report has to answer something that was sent since
    /// (`RACK.dsack_round`; Linux, `tcp_rack_update_reo_wnd`).
    pub(super) fn widen(&mut self, now: Time) {
        let Some(sent_last) = self.sent_last.take() else { return };
        self.is_reported &= self.widened_at.is_none_or(|widened_at| sent_last >= widened_at);
        if std::mem::take(&mut self.is_reported) {
            self.quarters = MOST_QUARTERS.min(self.quarters + 1);
            self.widened_at = Some(now);
            self.persist = PATIENT_RECOVERIES;
        } else if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// A recovery, or what followed a timeout, is over, and its reduction stays (step 4).
    pub(super) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Reports have undone a reduction.
    pub(super) fn on_undo_by_reports(&mut self) {
        self.persist = PATIENT_RECOVERIES.min(self.persist + 1);
    }

    /// A reduction was undone: what is outstanding is to be looked at again.
    pub(super) fn look_again(&mut self) {
        self.has_news = true;
    }

    /// Returns true if an ACK has advanced RACK since the last search for losses.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Departure of the segment that was sent last of all that have arrived; `None` before the
    /// first arrival (RFC 8985 section 6.2, step 2).
    pub(super) fn latest(&self) -> Option<Departure> {
        self.latest
    }

    /// The same departure, and the time after which a segment that left earlier and has not arrived
    /// is lost (step 5).
    pub(super) fn patience(&self, situation: Situation) -> Option<(Departure, Span)> {
        Some((self.latest?, self.round_trip + self.reordering_window(situation)))
    }

    /// How long after its departure a segment that is outstanding at a timeout is lost
    /// (section 6.3).
    pub(super) fn patience_at_timeout(&self) -> Span {
        self.round_trip
    }

    fn reordering_window(&self, situation: Situation) -> Span {
        if !self.reordering_seen && (situation.recovering || situation.overtaken) {
            return Span::ZERO;
        }
        let smallest = situation.min_rtt.unwrap_or(Span::ZERO).as_nanos();
        let window = Span::from_nanos(smallest / 4) * u64::from(self.quarters);
        window.min(situation.srtt.unwrap_or(Span::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flight::Flight;
    use transport::Range;

    const OPEN: Situation = Situation {
        recovering: false,
        overtaken: false,
        min_rtt: Some(Span::from_millis(400)),
        srtt: Some(Span::from_millis(500)),
    };

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// RACK after the segments `n` have arrived at 500 ms in this order, sent at their number in
    /// milliseconds; those `again` were sent twice.
    fn after(arrived: &[u64], again: &[u64]) -> Rack {
        let mut rack = Rack::new();
        for &n in arrived {
            let range = Range { start: n, end: n + 1 };
            let mut flight = Flight::new(1);
            flight.on_new(at(n), range, 1);
            if again.contains(&n) {
                flight.on_again(at(n), range);
            }
            flight.on_acknowledged(n + 1, |row| {
                rack.on_acknowledged(at(500), row, OPEN.min_rtt, || None);
            });
            rack.on_ack(1, true);
        }
        rack
    }

    fn window(rack: &Rack, situation: Situation) -> u64 {
        rack.reordering_window(situation).as_nanos() / 1_000_000
    }

    #[test]
    fn the_round_trip_is_that_of_what_arrived_last_and_the_time_that_of_what_was_sent_last() {
        let rack = after(&[1, 5, 3], &[]);
        let departure = rack.latest.unwrap();
        assert_eq!((departure.at, rack.round_trip), (at(5), Span::from_millis(497)));
    }

    #[test]
    fn a_copy_that_returns_faster_than_any_segment_was_the_original() {
        let rack = after(&[1, 200], &[200]);
        assert_eq!(rack.latest.unwrap().at, at(1));
        let rack = after(&[1, 50], &[50]);
        assert_eq!(rack.latest.unwrap().at, at(50));
    }

    #[test]
    fn a_timestamp_tells_the_original_from_its_copy() {
        for (echoed, latest) in [(40, 1), (50, 50)] {
            let mut rack = after(&[1], &[]);
            let mut flight = Flight::new(1);
            flight.on_new(at(40), Range { start: 2, end: 3 }, 1);
            flight.on_again(at(50), Range { start: 2, end: 3 });
            flight.on_acknowledged(3, |row| {
                rack.on_acknowledged(at(500), row, None, || Some(echoed));
            });
            assert_eq!(rack.latest.unwrap().at, at(latest), "{echoed}");
        }
    }

    #[test]
    fn there_is_no_window_once_a_loss_is_certain_and_nothing_was_reordered() {
        let in_order = after(&[1, 2, 3], &[]);
        assert_eq!(window(&in_order, OPEN), 100);
        assert_eq!(window(&in_order, Situation { overtaken: true, ..OPEN }), 0);
        assert_eq!(window(&in_order, Situation { recovering: true, ..OPEN }), 0);
        let reordered = after(&[1, 3, 2], &[]);
        assert_eq!(window(&reordered, Situation { overtaken: true, ..OPEN }), 100);
        let repaired = after(&[1, 3, 2], &[2]);
        assert_eq!(window(&repaired, Situation { overtaken: true, ..OPEN }), 0);
    }

    /// `RACK.dsack_round`: what was sent before the window became wider says nothing about that
    /// window.
    #[test]
    fn each_round_with_a_needless_copy_widens_the_window_up_to_the_smoothed_rtt() {
        let mut rack = after(&[1, 3, 2], &[]);
        let arrive = |rack: &mut Rack, now: u64, sent: u64| {
            rack.on_duplicate_report();
            rack.sent_last = Some(at(sent));
            rack.widen(at(now));
            window(rack, OPEN)
        };
        assert_eq!(arrive(&mut rack, 600, 100), 200);
        assert_eq!(arrive(&mut rack, 650, 599), 200, "sent before");
        rack.widen(at(1000));
        assert_eq!(window(&rack, OPEN), 200, "nothing has arrived");
        for (now, expected) in [(1100, 300), (1700, 400), (2300, 500), (2900, 500)] {
            assert_eq!(arrive(&mut rack, now, now - 500), expected, "at {now}");
        }
        let settle = |rack: &mut Rack| {
            rack.sent_last = Some(at(2900));
            rack.widen(at(3500));
            window(rack, OPEN)
        };
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        assert_eq!(settle(&mut rack), 500);
        rack.on_recovery_end();
        assert_eq!(settle(&mut rack), 100);
    }

    #[test]
    fn without_reordering_a_needless_copy_widens_nothing() {
        let mut rack = after(&[1, 2, 3], &[]);
        rack.on_duplicate_report();
        rack.widen(at(600));
        assert_eq!(window(&rack, OPEN), 100);
    }

    #[test]
    fn the_extent_of_reordering_is_the_distance_to_the_highest_that_has_arrived() {
        assert_eq!(after(&[1, 2, 3], &[]).reordering(), 0);
        assert_eq!(after(&[1, 9, 4, 7], &[]).reordering(), 6);
        assert_eq!(after(&[1, 900, 4], &[]).reordering(), 300);
        let mut rack = after(&[1, 9, 4], &[]);
        rack.doubt_reordering(3);
        assert_eq!(rack.reordering(), 3);
    }
}
