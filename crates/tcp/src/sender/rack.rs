//! RACK (RFC 8985 section 6): a segment is lost if a segment that was sent later has arrived, and
//! enough time has passed. The number of later segments does not count.
//!
//! The time is a round trip plus the reordering window. The window is zero if no reordering was seen
//! and three later segments have arrived or a recovery runs. Otherwise it is a quarter of the minimum
//! RTT. Each round with a needless retransmission widens it by the same amount, up to the smoothed
//! RTT. For a cumulative ACK, the timestamp shows which copy of a segment has arrived (a SACK repeats
//! an old timestamp). A copy that returns faster than the minimum RTT was the original.

use units::{Span, Time};

use crate::flight::{Departure, Segment};
use crate::timestamps::timestamp;

/// Recoveries without a needless retransmission after which the window is narrow again.
const PATIENT_RECOVERIES: u32 = 16;

/// State of RACK for a connection.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The segment sent last of those that have arrived (`RACK.xmit_ts` and `RACK.end_seq`).
    latest: Option<Departure>,
    /// The round trip of the segment that has arrived last (`RACK.rtt`).
    round_trip: Span,
    /// The highest sequence number that has arrived (`RACK.fack`), and what it was before the ACK that
    /// is being processed: its SACK blocks, which come first, overtake nothing that it acknowledges.
    highest: u64,
    highest_before: u64,
    reordering_seen: bool,
    /// Quarters of the smallest RTT (`RACK.reo_wnd_mult`).
    quarters: u32,
    /// Recoveries for which they stay so many (`RACK.reo_wnd_persist`).
    persist: u32,
    /// The round in which a needless retransmission was reported ends here.
    round_end: Option<u64>,
    /// Time at which the waiting segments count as lost.
    pub(super) due: Time,
}

/// What the reordering window depends on.
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
            highest: 0,
            highest_before: 0,
            reordering_seen: false,
            quarters: 1,
            persist: PATIENT_RECOVERIES,
            round_end: None,
            due: Time::NEVER,
        }
    }

    /// `segment` has arrived (steps 2 and 3). `echoed`: the timestamp that its ACK carries.
    pub(super) fn on_delivered(
        &mut self,
        now: Time,
        segment: &Segment,
        min_rtt: Option<Span>,
        echoed: Option<u32>,
    ) {
        let round_trip = now.since(segment.sent_at);
        self.highest = self.highest.max(segment.end);
        self.reordering_seen |= segment.end < self.highest_before && !segment.again;
        let sent = timestamp(segment.sent_at);
        let sent_later = echoed.is_some_and(|echoed| (echoed.wrapping_sub(sent) as i32) < 0);
        if segment.again && (sent_later || min_rtt.is_some_and(|min| round_trip < min)) {
            return;
        }
        // Whatever was sent before it (RFC 8985 section 6.2, step 2).
        self.round_trip = round_trip;
        let departure = segment.departure();
        if self.latest.is_none_or(|latest| departure > latest) {
            self.latest = Some(departure);
        }
    }

    /// All that an ACK brought is known.
    pub(super) fn on_ack(&mut self) {
        self.highest_before = self.highest;
    }

    /// The receiver reports data that arrived twice; `una` is acknowledged and `max` sent (step 4).
    pub(super) fn on_duplicate_report(&mut self, una: u64, max: u64) {
        if self.round_end.is_none_or(|end| una >= end) {
            self.round_end = Some(max);
            self.quarters += 1;
            self.persist = PATIENT_RECOVERIES;
        }
    }

    /// A recovery, or what followed a timeout, is over (step 4).
    pub(super) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// The segment sent last of those that have arrived, if any has, and how long after their
    /// departure those sent before it are lost (step 5).
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
            let mut flight = Flight::default();
            flight.on_new(at(n), range);
            if again.contains(&n) {
                flight.on_again(at(n), range);
            }
            flight.on_acknowledged(n + 1, |segment| {
                rack.on_delivered(at(500), segment, OPEN.min_rtt, None);
            });
            rack.on_ack();
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
            let mut flight = Flight::default();
            flight.on_new(at(40), Range { start: 2, end: 3 });
            flight.on_again(at(50), Range { start: 2, end: 3 });
            flight.on_acknowledged(3, |segment| {
                rack.on_delivered(at(500), segment, None, Some(echoed));
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

    #[test]
    fn each_round_with_a_needless_copy_widens_the_window_up_to_the_smoothed_rtt() {
        let mut rack = after(&[1], &[]);
        for (una, expected) in [(0, 200), (50, 200), (100, 300), (200, 400), (300, 500), (400, 500)]
        {
            rack.on_duplicate_report(una, una + 100);
            assert_eq!(window(&rack, OPEN), expected, "at {una}");
        }
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        assert_eq!(window(&rack, OPEN), 500);
        rack.on_recovery_end();
        assert_eq!(window(&rack, OPEN), 100);
    }
}
