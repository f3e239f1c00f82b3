//! News in an ACK: data that has arrived, reports of data that has arrived twice, and the RTT.

use units::{Span, Time};

use crate::flight::{Row, Segment};

use super::{Acknowledgement, Config, Core, Linux};

/// News in the ACK that is being processed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Bytes that have arrived, with each segment counted as a full one.
    pub(super) delivered: u64,
    /// Likewise those that are acknowledged cumulatively, SACKed before or not.
    pub(super) acked: u64,
    /// Likewise those that are acknowledged selectively.
    pub(super) selected: u64,
    /// It acknowledges data selectively for the first time.
    pub(super) sacked: bool,
    /// Send times of the earliest and of the latest newly SACKed segment that was sent once.
    pub(super) sampled: Option<Ends>,
    /// Send times of the earliest and of the latest segment that is acknowledged cumulatively and
    /// was not SACKed before, if none of these was retransmitted.
    pub(super) acknowledged: Option<Ends>,
    /// It acknowledges something cumulatively that was sent more than once.
    pub(super) ambiguous: bool,
    /// Data that was sent once, before the timeout, has arrived.
    pub(super) original: bool,
    /// It acknowledges new data cumulatively.
    pub(super) advanced: bool,
    /// It shows that data is lost.
    pub(super) lost: bool,
    /// A retransmission was found to be lost.
    pub(super) lost_again: bool,
    /// Bytes that it acknowledges, that it reports to have arrived twice, and that were
    /// retransmitted; and the start of the first of these segments that had arrived before.
    pub(super) copies: (u64, Option<u64>),
    /// It has undone a recovery before the end of that. Then its echo of a mark has no effect
    /// (`tcp_fastretrans_alert`).
    pub(super) undone: bool,
    /// It reports data that has arrived twice.
    pub(super) reported: bool,
    /// It acknowledges less than an earlier one.
    pub(super) is_old: bool,
    /// Time at which the last doubtful segment will be lost.
    pub(super) doubtful_until: Option<Time>,
    /// The timer restarts although nothing is acknowledged cumulatively.
    pub(super) restarts_timer: bool,
}

/// Send times of the first and of the last of some segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    first: Time,
    last: Time,
}

impl Ends {
    fn with(before: Option<Self>, sent: Time) -> Self {
        before.map_or(Self { first: sent, last: sent }, |ends| Self { last: sent, ..ends })
    }
}

impl News {
    pub(super) fn note_sacked(&mut self, segment: &Segment, mss: u64) {
        self.sacked = true;
        self.selected += segment.segments() * mss;
        if !segment.again {
            self.sampled = Some(Ends::with(self.sampled, segment.sent_at));
        }
    }

    pub(super) fn note_acknowledged(&mut self, row: &Row) {
        let (first, last) = (row.first.sent_at, row.last.sent_at);
        let first = self.acknowledged.map_or(first, |ends| ends.first);
        self.acknowledged = Some(Ends { first, last });
    }

    /// The round trip for the RTO, and the one for the smallest (`tcp_ack_update_rtt`). The oldest
    /// segment that is acknowledged gives the first one, and the youngest the second one: the
    /// acknowledgement of all but the youngest may have been lost. What the receiver has `echoed`
    /// counts only if each was sent twice.
    pub(super) fn round_trips(&self, now: Time, echoed: Option<Span>) -> Option<(Span, Span)> {
        let Some(Ends { first, .. }) = self.acknowledged.or(self.sampled) else {
            return echoed.map(|echoed| (echoed, echoed));
        };
        let last = self.sampled.or(self.acknowledged).map_or(first, |ends| ends.last);
        Some((now.since(first), now.since(last)))
    }

    /// The round trip of the youngest segment that arrives and was sent once, for controllers. None
    /// if it is unknown which copy of a segment the ACK answers (`tcp_clean_rtx_queue`).
    #[inline]
    pub(super) fn round_trip_of_youngest(&self, now: Time) -> Option<Span> {
        let last = |ends: Option<Ends>| ends.map(|ends| ends.last);
        let youngest = last(self.acknowledged).max(last(self.sampled));
        youngest.filter(|_| !self.ambiguous).map(|sent| now.since(sent))
    }
}

impl News {
    pub(super) fn note(&mut self, row: &Row, mss: u64, high: u64) {
        self.delivered += row.segments * mss;
        self.original |= row.first.end <= high && !row.again();
    }
}

impl Linux {
    /// The receiver reports data that has arrived twice (`tcp_dsack_seen`). A copy is delivered
    /// data, too. A report of more than a window, or of more than was retransmitted, is not
    /// believed.
    pub(super) fn take_report(&mut self, core: &Core, ack: &Acknowledgement, acked: u64) {
        let (range, before) = (ack.needless, core.stream.una - acked);
        if range.start >= range.end || range.len() > core.peer.max_advertised {
            return;
        }
        let (mss, copies) = (core.stream.mss, core.counters.retransmissions);
        let (bytes, late) = match core.scoreboard.flight() {
            Some(flight) if acked == 0 => flight.copies_within(range),
            _ => self.news.copies,
        };
        let twice = range.len().div_ceil(mss);
        self.reported += twice;
        if self.reported > copies {
            return;
        }
        let answers_probe = range.len() <= mss && self.probe.ends_at(range.end);
        if !answers_probe {
            self.rack.on_duplicate_report();
        }
        self.news.reported = true;
        self.news.delivered += twice * mss;
        if let Some(start) = late {
            self.rack.on_late_original(start);
        }
        // Of what was outstanding before this ACK only what was retransmitted counts
        // (`tcp_check_dsack`, `tcp_sacktag_one`).
        let needless = if range.end <= before { twice * mss } else { bytes };
        self.undo.on_duplicate_report(range.end, needless);
    }

    /// If nothing is acknowledged cumulatively, SACK blocks give the round-trip time. Without them
    /// the RTO of a long recovery is that of the time before the queue filled. As in Linux. If the
    /// segment was also sent before the first one was sent last, the timer restarts
    /// (`tcp_clean_rtx_queue`).
    pub(super) fn take_sample_of_sack(&mut self, core: &mut Core, now: Time, config: &Config) {
        if let Some(sent) = self.news.sampled
            && !self.news.advanced
        {
            let first = core.scoreboard.flight().and_then(|flight| flight.first_sent_at());
            self.news.restarts_timer = first.is_some_and(|first| sent.first < first);
            let per_round = core.counted_flight() / core.stream.mss;
            core.rtt.sample(&config.rto, now.since(sent.first), core.progress(per_round));
            core.rtt.note_smaller(now.since(sent.last));
        }
    }
}

#[cfg(test)]
mod tests {
    use transport::{Range, RoundTrips};

    use super::*;
    use crate::flight::Flight;

    const SEGMENTS: u64 = 40;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn segment(number: u64) -> Range {
        Range { start: number, end: number + 1 }
    }

    /// Numbers below `below` that look random.
    fn draw(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) % below
    }

    /// The same segments in flight, in the scoreboard of Linux and in records of round trips.
    struct Both {
        flight: Flight,
        records: RoundTrips,
        una: u64,
        sacked: Vec<u64>,
    }

    impl Both {
        fn new() -> Self {
            let (mut flight, mut records) = (Flight::new(1), RoundTrips::default());
            for number in 0..SEGMENTS {
                flight.on_new(at(number), segment(number), 1);
                records.on_new(at(number), number + 1, ());
            }
            Self { flight, records, una: 0, sacked: Vec::new() }
        }

        /// Everything is lost, and as many segments leave again.
        fn send_again(&mut self, now: Time, number: u64) {
            self.flight.on_timeout(now, Span::ZERO, |_| ());
            for _ in 0..number {
                let Some(range) = self.flight.next_missing() else { return };
                self.flight.on_again(now, range);
                self.records.on_again(now, range, self.una, ());
            }
        }

        /// Round trips of an ACK by both.
        fn take_ack(&mut self, now: Time, una: u64, sacked: u64) -> [Option<Span>; 2] {
            let mut news = News::default();
            if sacked >= una && !self.sacked.contains(&sacked) {
                let block = segment(sacked);
                self.flight.on_sacked(block, block, |one| news.note_sacked(one, 1));
                self.records.on_sacked(block);
                self.sacked.push(sacked);
            }
            if self.flight.on_acknowledged(una, |row| news.note_acknowledged(row)) {
                (news.acknowledged, news.ambiguous) = (None, true);
            }
            self.records.on_acknowledged(una);
            self.una = una;
            [news.round_trip_of_youngest(now), self.records.take_round_trip(now)]
        }
    }

    #[test]
    fn the_round_trip_is_that_of_records_of_all_segments() {
        let mut measured = 0;
        for seed in 0..300 {
            let (mut both, mut state) = (Both::new(), seed);
            let mut now = 2 * SEGMENTS;
            while both.una < SEGMENTS {
                now += draw(&mut state, 5);
                if draw(&mut state, 4) == 0 {
                    both.send_again(at(now), 1 + draw(&mut state, 4));
                }
                let una = (both.una + draw(&mut state, 4)).min(SEGMENTS);
                let sacked = draw(&mut state, SEGMENTS);
                let [by_recovery, by_records] = both.take_ack(at(now), una, sacked);
                assert_eq!(by_recovery, by_records, "seed {seed}, up to {una}");
                measured += u32::from(by_records.is_some());
            }
        }
        assert!(measured > 1000, "{measured}");
    }
}
