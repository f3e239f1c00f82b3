//! Probes of unused capacity: segments of low priority that the receiver answers.
//!
//! A probe is not part of the flight and starts no timer. Its loss has no effect. New data that a
//! probe has delivered is skipped later.

use congestion::{Probe, ProbeState, TcpPolicy};
use units::Time;

use transport::{Range, RangeSet};

use super::Sender;

/// State of the probes of one sender.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    /// When the next one is due if nothing arrives.
    pub(super) due: Time,
    /// The segment that was sent last.
    pub(super) last: Range,
    /// Where the search for outstanding data goes on.
    cursor: u64,
    /// Data that was sent ahead of its turn and is not acknowledged.
    carried: RangeSet,
    /// The part that has arrived and lies above `max`.
    arrived: RangeSet,
}

impl Probes {
    pub(super) fn new() -> Self {
        Self {
            due: Time::NEVER,
            last: Range { start: 0, end: 0 },
            cursor: 0,
            carried: RangeSet::default(),
            arrived: RangeSet::default(),
        }
    }
}

impl Sender {
    fn probes(&mut self) -> Option<&mut Probes> {
        self.instruments.as_mut().and_then(|instruments| instruments.probes.as_mut())
    }

    /// Returns true if the controller is to be asked for probes.
    fn may_probe(&self) -> bool {
        self.instruments.as_ref().is_some_and(|instruments| instruments.probes.is_some())
            && self.stream.flight() > 0
    }

    /// The next probe and what it carries, if the controller wants one and there is something for
    /// it to carry. To be asked when nothing else is to be sent.
    pub(crate) fn next_capacity_probe(&mut self, now: Time) -> Option<(Probe, Range)> {
        let mut found = None;
        while found.is_none()
            && self.may_probe()
            && let Some(probe) = self.controller.take_probe(&self.probe_state(now))
        {
            let range = match probe {
                Probe::Dummy => self.copy_of_last(),
                Probe::Repeat => self.next_outstanding(),
                Probe::Ahead => self.next_ahead(),
            };
            found = range.map(|range| (probe, range));
        }
        if let Some((probe, range)) = found {
            self.counters.probes += 1;
            // The receiver takes nothing from a dummy; all else that it takes was sent.
            self.counters.bytes += if probe == Probe::Dummy { 0 } else { range.len() };
        }
        self.schedule_probe();
        found
    }

    /// The controller has been asked for probes, and may want the next one later.
    fn schedule_probe(&mut self) {
        let due = if self.may_probe() { self.controller.probe_deadline() } else { Time::NEVER };
        if let Some(probes) = self.probes() {
            probes.due = due;
        }
    }

    /// A probe was answered.
    pub(super) fn note_answer(&mut self, now: Time) {
        let state = self.probe_state(now);
        self.controller.on_probe_answered(&state);
    }

    fn probe_state(&self, now: Time) -> ProbeState {
        ProbeState { now, srtt: self.rtt.srtt(), advertised: self.peer.advertised }
    }

    fn copy_of_last(&mut self) -> Option<Range> {
        let written = self.stream.written;
        let last = self.probes()?.last;
        let range = Range { start: last.start, end: last.end.min(written) };
        (range.start < range.end).then_some(range)
    }

    /// Outstanding data that the receiver has not reported, the oldest first and around again.
    fn next_outstanding(&mut self) -> Option<Range> {
        let (una, mss, end) =
            (self.stream.una, self.stream.mss, self.stream.max.min(self.stream.written));
        let from = self.probes()?.cursor.max(una);
        let above = self.scoreboard.holes(from, end).next();
        let hole = above.or_else(|| self.scoreboard.holes(una, end).next())?;
        let range = Range { start: hole.start, end: hole.end.min(hole.start + mss) };
        self.probes()?.cursor = range.end;
        if self.timed.is_some_and(|(end, _)| range.start < end) {
            // Its acknowledgement may be that of the copy (Karn, RFC 6298 section 3).
            self.timed = None;
        }
        Some(range)
    }

    /// Data that was never sent, the highest that the receiver's window and the send buffer hold.
    fn next_ahead(&mut self) -> Option<Range> {
        let (max, mss, written) = (self.stream.max, self.stream.mss, self.stream.written);
        let mut end = self.stream.buffered.min(self.stream.una + self.peer.advertised);
        let probes = self.probes()?;
        let below = Range { start: 0, end: max };
        let mut found = None;
        for range in std::iter::once(below).chain(probes.carried.iter()).rev() {
            found = last_segment(range.end.max(max), end, mss, written);
            if found.is_some() {
                break;
            }
            end = end.min(range.start);
        }
        let range = found?;
        probes.carried.insert(range.start, range.end, 0);
        Some(range)
    }

    /// A SACK block is about to enter the scoreboard: what of it came ahead of its turn, whether its
    /// turn has come meanwhile or not?
    #[inline]
    pub(super) fn note_early_data(&mut self, block: Range) {
        if self.instruments.is_some() {
            self.take_early_data(block);
        }
    }

    fn take_early_data(&mut self, block: Range) {
        let instruments = self.instruments.as_mut();
        let Some(probes) = instruments.and_then(|instruments| instruments.probes.as_mut()) else {
            return;
        };
        for range in probes.carried.iter() {
            let (start, end) = (range.start.max(block.start), range.end.min(block.end));
            probes.arrived.insert(start.max(self.stream.max), end, 0);
            let passed = Range { start, end: end.min(self.stream.max) };
            if passed.start < passed.end {
                self.scoreboard.came_early(passed);
            }
        }
    }

    /// Returns true if a probe has brought everything below `number` ahead of its turn.
    pub(super) fn has_probed(&self, number: u64) -> bool {
        let probes = self.instruments.as_ref().and_then(|i| i.probes.as_ref());
        probes.and_then(|probes| probes.carried.end()).is_some_and(|end| number <= end)
    }

    /// Returns true if everything below `number` was sent. What window probes or probes of capacity have
    /// carried counts as sent from then on.
    pub(crate) fn reaches(&mut self, number: u64) -> bool {
        let reaches = self.may_be_acknowledged(number);
        if reaches {
            self.stream.max = self.stream.max.max(number);
        }
        reaches
    }

    /// Passes over data whose turn has come and which has arrived already. Returns where the next
    /// such data begins.
    #[inline(always)]
    pub(super) fn pass_arrived(&mut self) -> u64 {
        if self.instruments.is_some() { self.pass_data_ahead() } else { u64::MAX }
    }

    fn pass_data_ahead(&mut self) -> u64 {
        let (una, max) = (self.stream.una, self.stream.max);
        let Some(probes) = self.probes() else { return u64::MAX };
        probes.carried.remove_below(una);
        probes.arrived.remove_below(max);
        let first = probes.arrived.first();
        let Some(range) = first.filter(|range| range.start == max) else {
            return first.map_or(u64::MAX, |next| next.start);
        };
        probes.arrived.remove_below(range.end);
        let next = probes.arrived.first().map_or(u64::MAX, |next| next.start);
        self.scoreboard.came_early(range);
        self.scoreboard.sack(range.start, range.end);
        self.stream.max = range.end;
        next
    }

    /// Behind the last byte that a probe has carried ahead of its turn.
    pub(super) fn end_of_probed_data(&self) -> u64 {
        let probes = self.instruments.as_ref().and_then(|instruments| instruments.probes.as_ref());
        probes.and_then(|probes| probes.carried.end()).unwrap_or(0)
    }

    /// The flight size without what probes have brought.
    pub(super) fn flight_without_early(&self) -> u64 {
        self.stream.flight() - self.scoreboard.early()
    }
}

/// The last full segment between two positions, or the last piece of the stream. Segments lie on
/// multiples of their size, as those sent in order do, so that the two fit together.
fn last_segment(from: u64, to: u64, mss: u64, written: u64) -> Option<Range> {
    let aligned = |number: u64| (number - 1) / mss * mss + 1;
    let end = if to == written { to } else { aligned(to) };
    if end <= from {
        return None;
    }
    let start = aligned(end - 1);
    (from <= start).then_some(Range { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_segment_is_a_full_one_on_a_multiple_of_its_size_or_the_end_of_the_stream() {
        let last = |from, to| last_segment(from, to, 100, 951).map(|r| (r.start, r.end));
        assert_eq!(last(1, 850), Some((701, 801)));
        assert_eq!(last(1, 801), Some((701, 801)));
        assert_eq!(last(702, 801), None);
        assert_eq!(last(1, 951), Some((901, 951)));
        assert_eq!(last(950, 951), None);
        assert_eq!(last(1, 1), None);
        assert_eq!(last(1, 100), None);
    }
}
