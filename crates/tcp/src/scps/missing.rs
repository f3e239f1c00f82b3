//! Data that the receiver of a connection with SNACK lacks: the holes that it has reported, and the
//! part of each that was retransmitted (`recovery` has the rules and their sources).
//!
//! A hole is retransmitted in rounds. When all of it was, its embargo begins, and reports before
//! its end count nothing.

use transport::Range;
use units::{Span, Time};

/// Data that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) start: u64,
    pub(super) end: u64,
    /// End of the part that was retransmitted in this round.
    next: u64,
    /// It is to be retransmitted.
    is_due: bool,
    /// Number of complete retransmissions.
    rounds: u32,
    /// Number of retransmissions that have begun.
    pub(super) begun: u32,
    /// Reports before this count nothing.
    embargo: Time,
    /// Time until which its last retransmission may be in the network.
    lands: Time,
    /// The receiver has reported it, and it was not found by the timer alone.
    is_reported: bool,
    /// It is not retransmitted any more.
    is_given_up: bool,
}

impl Hole {
    fn new(range: Range, is_reported: bool) -> Self {
        let Range { start, end } = range;
        Self {
            start,
            end,
            next: start,
            is_due: true,
            rounds: 0,
            begun: 0,
            embargo: Time::ZERO,
            lands: Time::ZERO,
            is_reported,
            is_given_up: false,
        }
    }

    /// Returns true if its first segment is to be retransmitted.
    pub(super) fn is_to_begin(&self) -> bool {
        self.is_due && self.next == self.start
    }

    /// It is not retransmitted any more.
    pub(super) fn give_up(&mut self) {
        (self.is_given_up, self.is_due, self.next) = (true, false, self.start);
        (self.embargo, self.lands) = (Time::ZERO, Time::ZERO);
    }

    /// Ends it at `place`, if that is inside, and returns the rest.
    pub(super) fn split_at(&mut self, place: u64) -> Option<Self> {
        let is_inside = self.start < place && place < self.end;
        is_inside.then(|| {
            let rest = Self { start: place, next: place.max(self.next), ..*self };
            (self.end, self.next) = (place, self.next.min(place));
            rest
        })
    }

    /// The part that was not retransmitted in a round that has begun has had one retransmission
    /// less.
    fn end_round(&mut self) -> Option<Self> {
        let mut rest = self.split_at(self.next)?;
        rest.begun -= 1;
        Some(rest)
    }

    /// Bytes of it that may be in the network.
    fn in_flight(&self, now: Time) -> u64 {
        if self.is_due {
            self.next - self.start
        } else if now < self.lands {
            self.end - self.start
        } else {
            0
        }
    }
}

/// All that is missing, as far as the sender knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    /// In ascending order, without overlap.
    pub(super) holes: Vec<Hole>,
}

impl Missing {
    /// The receiver has reported that it lacks `range`.
    pub(super) fn report(&mut self, now: Time, range: Range) {
        self.add(now, range, true);
    }

    /// A timer says that the receiver lacks `range`.
    pub(super) fn suspect(&mut self, now: Time, range: Range) {
        self.add(now, range, false);
    }

    fn add(&mut self, now: Time, range: Range, is_reported: bool) {
        let mut start = range.start;
        let mut added = Vec::new();
        for hole in &mut self.holes {
            if hole.end <= start || hole.start >= range.end {
                continue;
            }
            if start < hole.start {
                added.push(Hole::new(Range { start, end: hole.start }, is_reported));
            }
            if !hole.is_due && now >= hole.embargo && !hole.is_given_up {
                hole.is_due = true;
                hole.next = hole.start;
            }
            hole.is_reported |= is_reported;
            start = hole.end;
        }
        if start < range.end {
            added.push(Hole::new(Range { start, end: range.end }, is_reported));
        }
        self.insert(added);
    }

    /// More holes, which do not overlap those that are known.
    pub(super) fn insert(&mut self, added: Vec<Hole>) {
        if !added.is_empty() {
            self.holes.extend(added);
            self.holes.sort_unstable_by_key(|hole| hole.start);
        }
    }

    /// Everything below `una` has arrived.
    pub(super) fn acknowledge(&mut self, una: u64) {
        self.holes.retain(|hole| hole.end > una);
        if let Some(first) = self.holes.first_mut()
            && first.start < una
        {
            // What is left of it may not have had its turn in a round that has begun.
            let is_behind = first.start < first.next && first.next <= una;
            first.begun -= u32::from(is_behind && first.is_due);
            first.start = una;
            first.next = first.next.max(una);
        }
    }

    /// The next piece to be retransmitted, of at most `mss` bytes.
    pub(super) fn next(&self, mss: u64) -> Option<Range> {
        let hole = self.holes.iter().find(|hole| hole.is_due)?;
        Some(Range { start: hole.next, end: hole.end.min(hole.next + mss) })
    }

    pub(super) fn is_due(&self) -> bool {
        self.holes.iter().any(|hole| hole.is_due)
    }

    /// Bytes of retransmissions that may be in the network.
    pub(super) fn in_flight(&self, now: Time) -> u64 {
        self.holes.iter().map(|hole| hole.in_flight(now)).sum()
    }

    /// Bytes of the largest hole that the receiver has reported.
    pub(super) fn largest_reported(&self) -> u64 {
        let reported = self.holes.iter().filter(|hole| hole.is_reported && !hole.is_given_up);
        reported.map(|hole| hole.end - hole.start).max().unwrap_or(0)
    }

    /// `range` was retransmitted. With its last piece a hole has an embargo of `round_trip`, twice
    /// that if it is not the first one, from `una` on.
    pub(super) fn follow(&mut self, now: Time, range: Range, una: u64, round_trip: Span) {
        let Some(hole) = self.holes.iter_mut().find(|hole| hole.next == range.start) else {
            return;
        };
        hole.begun += u32::from(range.start == hole.start);
        hole.next = range.end;
        if hole.next >= hole.end {
            let first = hole.start == una;
            let base = if first { round_trip } else { round_trip.doubled(1) };
            hole.embargo = now + base.doubled(hole.rounds.min(16));
            hole.lands = hole.embargo.min(now + round_trip.doubled(1));
            hole.rounds += 1;
            hole.is_due = false;
            hole.next = hole.start;
        }
    }

    /// Any report counts, whatever was retransmitted.
    pub(super) fn end_embargoes(&mut self) {
        for hole in &mut self.holes {
            (hole.embargo, hole.lands) = (Time::ZERO, Time::ZERO);
        }
    }

    /// The timer has expired: what was retransmitted may be lost too, and no report of before lets
    /// a repair pass.
    pub(super) fn start_again(&mut self) {
        self.end_embargoes();
        for hole in &mut self.holes {
            hole.next = hole.start;
            hole.is_reported = false;
        }
    }

    /// Rounds that have begun end, and what had no turn in them is a hole of its own.
    pub(super) fn end_rounds(&mut self) {
        let rests = self.holes.iter_mut().filter_map(Hole::end_round).collect();
        self.insert(rests);
    }

    pub(super) fn is_all_given_up(&self) -> bool {
        self.holes.iter().all(|hole| hole.is_given_up)
    }

    /// End of the data from `una` on that was given up.
    pub(super) fn end_of_given_up(&mut self, una: u64) -> u64 {
        let mut end = una;
        self.holes.retain(|hole| {
            let is_next = hole.is_given_up && hole.start <= end;
            end = if is_next { end.max(hole.end) } else { end };
            !is_next
        });
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn range(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    #[test]
    fn a_report_is_split_around_known_holes_and_waits_for_their_embargo() {
        let mut missing = Missing::default();
        missing.report(at(0), range(100, 200));
        missing.follow(at(250), range(100, 200), 1, Span::from_millis(125));
        missing.report(at(300), range(50, 300));
        let holes = |missing: &Missing| {
            missing.holes.iter().map(|hole| (hole.start, hole.end, hole.is_due)).collect::<Vec<_>>()
        };
        assert_eq!(holes(&missing), [(50, 100, true), (100, 200, false), (200, 300, true)]);
        missing.report(at(499), range(100, 200));
        assert!(!missing.holes[1].is_due);
        missing.report(at(500), range(100, 200));
        assert!(missing.holes[1].is_due);
        missing.acknowledge(150);
        assert_eq!(holes(&missing), [(150, 200, true), (200, 300, true)]);
    }

    /// An embargo doubles with each round, and what was retransmitted in it does not stay in the
    /// network that long.
    #[test]
    fn a_retransmission_is_in_the_network_for_two_round_trips_at_most() {
        let mut missing = Missing::default();
        let mut now = at(0);
        for expected in [100, 200, 200] {
            missing.report(now, range(1, 101));
            assert_eq!(missing.in_flight(now), 0);
            missing.follow(now, range(1, 101), 1, Span::from_millis(100));
            assert_eq!(missing.in_flight(now + Span::from_millis(expected - 1)), 100);
            assert_eq!(missing.in_flight(now + Span::from_millis(expected)), 0);
            now += Span::from_millis(1000);
        }
    }

    #[test]
    fn only_reported_holes_let_a_repair_pass_and_no_longer_than_until_a_timeout() {
        let mut missing = Missing::default();
        missing.suspect(at(0), range(1, 201));
        assert_eq!(missing.largest_reported(), 0);
        missing.report(at(0), range(1, 201));
        assert_eq!(missing.largest_reported(), 200);
        missing.report(at(0), range(1001, 1301));
        missing.report(at(0), range(2001, 2101));
        assert_eq!(missing.largest_reported(), 300);
        missing.start_again();
        assert_eq!(missing.largest_reported(), 0);
    }
}
