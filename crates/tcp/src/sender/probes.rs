//! Probes of unused capacity: segments of low priority that the receiver answers.
//!
//! A probe is not part of the flight and starts no timer. Its loss has no effect. New data that a
//! probe has delivered is skipped later.

use congestion::{Probe, ProbeState, TcpPolicy};
use transport::{Range, RangeSet};
use units::Time;

use crate::scoreboard::Scoreboard;

use super::Sender;
use super::core::Core;
use super::stream::Stream;

/// State of the probes of one sender.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    /// Time of the next one if nothing arrives.
    pub(super) due: Time,
    /// The segment that was sent last.
    pub(super) last: Range,
    /// Number from which the search for outstanding data goes on.
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

    /// Data that was sent last, as far as it is no FIN.
    fn copy_of_last(&self, written: u64) -> Option<Range> {
        let range = Range { start: self.last.start, end: self.last.end.min(written) };
        (range.start < range.end).then_some(range)
    }

    /// Outstanding data that the receiver has not reported, the oldest first and around again.
    fn next_outstanding(&mut self, stream: &Stream, scoreboard: &Scoreboard) -> Option<Range> {
        let (una, end) = (stream.una, stream.max.min(stream.written));
        let above = scoreboard.holes(self.cursor.max(una), end).next();
        let hole = above.or_else(|| scoreboard.holes(una, end).next())?;
        let range = Range { start: hole.start, end: hole.end.min(hole.start + stream.mss) };
        self.cursor = range.end;
        Some(range)
    }

    /// Data that was never sent, the highest that the send buffer and the receiver's window, which
    /// ends at `edge`, hold.
    fn next_ahead(&mut self, stream: &Stream, edge: u64) -> Option<Range> {
        let Stream { max, mss, written, buffered, .. } = *stream;
        let mut end = buffered.min(edge);
        let below = Range { start: 0, end: max };
        let mut found = None;
        for range in std::iter::once(below).chain(self.carried.iter()).rev() {
            found = last_segment(range.end.max(max), end, mss, written);
            if found.is_some() {
                break;
            }
            end = end.min(range.start);
        }
        let range = found?;
        self.carried.insert(range.start, range.end, 0);
        Some(range)
    }

    /// A SACK block is about to enter the scoreboard: takes the part that came ahead of its turn,
    /// even if its turn has come meanwhile.
    pub(super) fn on_block(&mut self, block: Range, stream: &Stream, scoreboard: &mut Scoreboard) {
        let mut from = block.start;
        while let Some(range) = self.carried.at_or_above(from).filter(|r| r.start < block.end) {
            from = range.end;
            let (start, end) = (range.start.max(block.start), range.end.min(block.end));
            self.arrived.insert(start.max(stream.max), end, 0);
            let passed = Range { start, end: end.min(stream.max) };
            if passed.start < passed.end {
                scoreboard.came_early(passed);
            }
        }
    }

    /// Passes over data whose turn has come and which has arrived already. Returns the start of the
    /// next such data.
    fn pass_arrived(&mut self, stream: &mut Stream, scoreboard: &mut Scoreboard) -> u64 {
        let max = stream.max;
        self.carried.remove_below(stream.una);
        self.arrived.remove_below(max);
        let first = self.arrived.first();
        let Some(range) = first.filter(|range| range.start == max) else {
            return first.map_or(u64::MAX, |next| next.start);
        };
        self.arrived.remove_below(range.end);
        let next = self.arrived.first().map_or(u64::MAX, |next| next.start);
        scoreboard.came_early(range);
        scoreboard.sack(range.start, range.end);
        stream.max = range.end;
        next
    }
}

impl Sender {
    /// Returns true if [`next_capacity_probe`](Self::next_capacity_probe) may have something.
    #[inline]
    pub(crate) fn may_probe(&self) -> bool {
        self.core.may_probe
    }

    /// The next probe and its data, if the controller sends one and there is data for it. Called
    /// when nothing else is to be sent.
    pub(crate) fn next_capacity_probe(&mut self, now: Time) -> Option<(Probe, Range)> {
        let core = &mut self.core;
        core.probes()?;
        let is_outstanding = core.stream.flight() > 0;
        let mut found = None;
        while found.is_none()
            && is_outstanding
            && let Some(probe) = core.controller.take_probe(&core.probe_state(now))
        {
            found = core.data_of_probe(probe).map(|range| (probe, range));
        }
        if let Some((probe, range)) = found {
            core.counters.probes += 1;
            // The receiver takes nothing from a dummy; all else that it takes was sent.
            core.counters.bytes += if probe == Probe::Dummy { 0 } else { range.len() };
        }
        // The controller may send the next one later.
        let due = if is_outstanding { core.controller.probe_deadline() } else { Time::NEVER };
        if let Some(probes) = core.probes() {
            probes.due = due;
        }
        found
    }

    /// Returns true if everything below `number` was sent.
    #[inline]
    pub(crate) fn may_be_acknowledged(&self, number: u64) -> bool {
        let Core { stream, timers, .. } = &self.core;
        number <= stream.max
            || (timers.probing && number == stream.una + 1)
            || number <= self.core.end_of_probed_data()
    }

    /// Returns true if everything below `number` was sent. What window probes or probes of capacity
    /// have carried counts as sent from then on.
    pub(crate) fn reaches(&mut self, number: u64) -> bool {
        let reaches = self.may_be_acknowledged(number);
        if reaches {
            self.core.stream.max = self.core.stream.max.max(number);
        }
        reaches
    }
}

impl Core {
    fn probes(&mut self) -> Option<&mut Probes> {
        self.features.as_mut()?.probes.as_mut()
    }

    pub(super) fn probe_state(&self, now: Time) -> ProbeState {
        ProbeState { now, srtt: self.rtt.srtt(), advertised: self.peer.advertised }
    }

    fn data_of_probe(&mut self, probe: Probe) -> Option<Range> {
        let Self { features, stream, peer, scoreboard, timed, .. } = self;
        let probes = features.as_mut()?.probes.as_mut()?;
        match probe {
            Probe::Dummy => probes.copy_of_last(stream.written),
            Probe::Repeat => {
                let range = probes.next_outstanding(stream, scoreboard)?;
                if timed.is_some_and(|(end, _)| range.start < end) {
                    // Its acknowledgement may be that of the copy (Karn, RFC 6298 section 3).
                    *timed = None;
                }
                Some(range)
            }
            Probe::Ahead => probes.next_ahead(stream, stream.una + peer.advertised),
        }
    }

    /// Passes over data whose turn has come and which a probe has brought. Returns the start of the
    /// next such data.
    #[inline(always)]
    pub(super) fn pass_arrived(&mut self) -> u64 {
        let Self { features, stream, scoreboard, .. } = self;
        let Some(features) = features else { return u64::MAX };
        let probes = features.probes.as_mut();
        probes.map_or(u64::MAX, |probes| probes.pass_arrived(stream, scoreboard))
    }

    /// End of the data that probes have carried ahead of its turn.
    pub(super) fn end_of_probed_data(&self) -> u64 {
        let probes = self.features.as_ref().and_then(|features| features.probes.as_ref());
        probes.and_then(|probes| probes.carried.end()).unwrap_or(0)
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
