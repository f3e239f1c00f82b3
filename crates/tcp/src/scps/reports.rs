//! SNACK at the receiver: which hole an ACK reports, and when it leaves (SCPS-TP).
//!
//! Rules of the reference implementation:
//!
//! - Data above a gap makes a report due. The first hole is in three ACKs, because its loss would
//!   be very bad. Then each ACK reports the next one, and behind the last none does, until more
//!   data arrives above a gap.
//! - Data in order starts the count of three again.
//! - No ACK leaves earlier than the floor after the one before.
//!
//! Reconstructed: probes of unused capacity may bring data ahead of its turn, which says nothing of
//! what is below. So holes below such data alone are not reported.

use transport::Range;
use units::{Span, Time};

use crate::config::Config;
use crate::connection::Connection;
use crate::segment::{Flags, Options, Segment};
use crate::timestamps::round_trip;

use super::passing::Passing;
use super::{MOST_BITS, Scps, Snack, SnackForm};

/// ACKs that report the first hole before others have their turn.
const REPORTS_OF_FIRST: u8 = 3;

/// State of these reports.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    form: SnackForm,
    floor: Span,
    /// Bits of the vector at most.
    most_bits: u16,
    /// Unit of the option: payload of a full segment, as both ends have agreed on it.
    unit: u64,
    /// When the last ACK without data left.
    last: Time,
    /// The next ACK reports a hole.
    is_due: bool,
    /// ACKs that have reported the first hole.
    of_first: u8,
    /// The next hole to report begins here or above.
    next: u64,
    /// The number expected when data arrived last.
    expected: u64,
    /// Behind the highest number that has arrived, but for probes.
    highest: u64,
    /// If holes may be passed.
    pub(super) best_effort: Option<Box<Passing>>,
}

impl Reports {
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let best_effort = Passing::new(config);
        config.scps.as_ref().map(|scps| Self { best_effort, ..Self::new(scps) })
    }

    fn new(scps: &Scps) -> Self {
        Self {
            form: scps.snack,
            floor: scps.ack_floor,
            most_bits: MOST_BITS,
            unit: 1,
            last: Time::ZERO,
            is_due: false,
            of_first: 0,
            next: 0,
            expected: 0,
            highest: 0,
            best_effort: None,
        }
    }

    /// Both ends have agreed on the size of segments.
    pub(crate) fn agree_on_unit(&mut self, unit: u64) {
        self.unit = unit;
    }

    /// Behind the highest number that has arrived, but for probes.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Data of a segment from `arrived` up to `end` was taken in, and now `expected` is the next
    /// number; `queued` are the ranges above it.
    fn on_data(
        &mut self,
        expected: u64,
        arrived: u64,
        end: u64,
        queued: &mut dyn Iterator<Item = Range>,
    ) {
        self.highest = self.highest.max(end);
        if expected > self.expected {
            self.expected = expected;
            self.of_first = 0;
            self.next = self.next.max(expected);
            // What is still queued has another first hole.
            self.is_due = true;
        }
        if arrived < expected {
            return;
        }
        self.is_due = true;
        // The hole before what has arrived.
        let before = queued.take_while(|range| range.end <= arrived).last();
        self.next = self.next.min(before.map_or(expected, |range| range.end));
    }

    /// The report of the next ACK, if one is due.
    fn take(&mut self, expected: u64, queued: impl Iterator<Item = Range>) -> Option<Snack> {
        if !self.is_due {
            return None;
        }
        let highest = self.highest;
        let mut queued = queued.take_while(|range| range.start < highest);
        let first = queued.next()?;
        let mut hole = Range { start: expected, end: first.start };
        let mut behind = first;
        if self.of_first < REPORTS_OF_FIRST {
            self.of_first += 1;
        } else {
            while hole.start < self.next {
                let Some(range) = queued.next() else {
                    self.is_due = false;
                    return None;
                };
                hole = Range { start: behind.end, end: range.start };
                behind = range;
            }
            self.next = behind.end;
        }
        let units = |bytes: u64| u16::try_from(bytes).unwrap_or(u16::MAX);
        let (offset, end) = ((hole.start - expected) / self.unit, hole.end - expected);
        let size = (end - offset * self.unit).div_ceil(self.unit);
        let mut snack = Snack { offset: units(offset), size: units(size), bits: 0, vector: 0 };
        if self.form == SnackForm::Vector {
            let start = expected + (offset + size) * self.unit;
            let queued = std::iter::once(behind).chain(queued);
            fill(&mut snack, start, self.unit, self.most_bits, queued);
        }
        Some(snack)
    }
}

/// Fills the vector, whose first unit begins at `start`.
fn fill(snack: &mut Snack, start: u64, unit: u64, most: u16, queued: impl Iterator<Item = Range>) {
    let mut last = 0;
    for range in queued {
        // Units that have arrived as a whole.
        let from = range.start.saturating_sub(start).div_ceil(unit);
        let to = (range.end.saturating_sub(start) / unit).min(most.into());
        for bit in from..to {
            snack.vector |= 1 << bit;
            last = bit + 1;
        }
        if to >= u64::from(most) {
            break;
        }
    }
    // A vector without a hole says nothing.
    if snack.vector.count_zeros() > u128::BITS - u32::try_from(last).unwrap_or(0) {
        snack.bits = u16::try_from(last.next_multiple_of(8)).unwrap_or(most);
    } else {
        snack.vector = 0;
    }
}

impl Connection {
    pub(crate) fn reports(&mut self) -> Option<&mut Reports> {
        self.marks.as_mut()?.snack.as_mut()
    }

    /// Agrees on SNACK and best-effort transport after a SYN of the other end.
    pub(crate) fn agree_on_snack(&mut self, segment: &Segment) {
        if !segment.options.contains(Options::BEST_EFFORT) {
            self.do_without_best_effort();
        }
        if !segment.options.contains(Options::SNACK)
            && let Some(marks) = &mut self.marks
        {
            marks.snack = None;
        }
    }

    /// The connection is open, with segments of `mss` bytes.
    pub(crate) fn begin_reports(&mut self, mss: u64) {
        // With the option of accurate ECN there is less room.
        let most_bits = if self.agreed.ecn.is_accurate() { MOST_BITS / 2 } else { MOST_BITS };
        match self.reports() {
            Some(reports) => {
                reports.most_bits = most_bits;
                reports.agree_on_unit(mss);
            }
            None => self.sender.do_without_snack(),
        }
    }

    /// Gives the sender what a segment reports. Its acknowledgement has been taken in.
    pub(crate) fn take_snack(&mut self, now: Time, segment: &Segment, sequence: u64) {
        let Some(Reports { unit, .. }) = self.reports() else { return };
        let unit = *unit;
        let Some(number) = self.out.unwrap(segment.acknowledgement, self.sender.stream().una)
        else {
            return;
        };
        if self.sender.snack().is_some_and(|snack| snack.given_up().is_some()) {
            self.hear_receiver(now, segment, sequence, number);
        }
        match segment.snack() {
            Some(snack) => {
                let holes = snack
                    .holes(unit)
                    .map(|(start, end)| Range { start: number + start, end: number + end });
                if let Some((snack, core)) = self.sender.snack_mut() {
                    snack.on_report(core, now, &self.config, holes);
                }
            }
            None => {
                // Timestamps count milliseconds: at the latest it left at the end of this one.
                let tick = Span::from_millis(1);
                let caused =
                    self.agreed.timestamps.then(|| now + tick - round_trip(now, segment.echo));
                // The answer to a probe reports nothing.
                let is_answer = segment.options.contains(Options::PROBE_ANSWER);
                let is_bare = segment.payload == 0 && !is_answer;
                if let Some((snack, core)) = self.sender.snack_mut() {
                    snack.on_ack_without_report(core, now, number, is_bare, caused);
                }
            }
        }
    }

    /// Data of `segment` has been taken in: `start` is its first number.
    pub(crate) fn follow_data(&mut self, now: Time, segment: &Segment, start: u64) {
        let fin = u64::from(segment.flags.contains(Flags::FIN));
        // What lies beyond the window is no data.
        let end = (start + u64::from(segment.payload) + fin).min(self.receiver.highest());
        if self.reports().is_some_and(|reports| reports.best_effort.is_some()) {
            self.watch_holes(now, segment, Range { start, end });
        }
        self.report_and_hold(now, Range { start, end });
    }

    /// Holes were passed, and the next report is another one.
    pub(crate) fn follow_passing(&mut self, now: Time) {
        self.report_and_hold(now, Range { start: 0, end: 0 });
    }

    fn report_and_hold(&mut self, now: Time, data: Range) {
        let (expected, finished) = (self.receiver.next(), self.receiver.finished());
        let is_full = self.receiver.is_full();
        let Some(reports) = self.marks.as_mut().and_then(|marks| marks.snack.as_mut()) else {
            return;
        };
        reports.on_data(expected, data.start, data.end, &mut self.receiver.queued());
        let earliest = reports.last + reports.floor;
        if self.config.acks_by_timer() && self.receiver.stops_the_sender() {
            // Nothing more comes before an ACK.
            self.receiver.request_ack();
        }
        if now < earliest && !finished && !is_full {
            self.receiver.hold_acks(earliest);
        }
    }

    /// An ACK without data is about to leave.
    pub(crate) fn report_hole(&mut self, now: Time, segment: &mut Segment) {
        let expected = self.receiver.next();
        let Some(reports) = self.marks.as_mut().and_then(|marks| marks.snack.as_mut()) else {
            return;
        };
        reports.last = now;
        let is_best_effort = reports.best_effort.is_some();
        if let Some(snack) = reports.take(expected, self.receiver.queued()) {
            segment.set_snack(snack);
        }
        if is_best_effort {
            self.echo_latest(segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> Range {
        Range { start: start * 100, end: end * 100 }
    }

    fn reports(form: SnackForm) -> Reports {
        let mut reports = Reports::new(&Scps { snack: form, ..Scps::default() });
        reports.agree_on_unit(100);
        reports.expected = 200;
        reports.next = 200;
        reports
    }

    /// Offset and size of the next reports.
    fn next(reports: &mut Reports, queued: &[Range]) -> Option<(u16, u16)> {
        reports.take(200, queued.iter().copied()).map(|snack| (snack.offset, snack.size))
    }

    #[test]
    fn the_first_hole_is_reported_three_times_and_then_the_others_in_turn() {
        let queued = [range(4, 5), range(6, 9), range(10, 11)];
        let mut reports = reports(SnackForm::Simple);
        reports.on_data(200, 400, 500, &mut queued[..1].iter().copied());
        assert_eq!(next(&mut reports, &queued[..1]), Some((0, 2)));
        reports.on_data(200, 1000, 1100, &mut queued.iter().copied());
        let seen: Vec<_> = (0..6).map(|_| next(&mut reports, &queued)).collect();
        let first = Some((0, 2));
        assert_eq!(seen, [first, first, first, Some((3, 1)), Some((7, 1)), None]);
    }

    #[test]
    fn data_in_order_makes_the_next_hole_the_first_one() {
        let queued = [range(4, 5), range(6, 9)];
        let mut reports = reports(SnackForm::Simple);
        reports.on_data(200, 600, 700, &mut queued.iter().copied());
        for _ in 0..5 {
            next(&mut reports, &queued);
        }
        assert_eq!(next(&mut reports, &queued), None);
        // Units 2 and 3 arrive, so unit 5 is missing.
        reports.on_data(500, 200, 300, &mut queued[1..].iter().copied());
        let report = reports.clone().take(500, queued[1..].iter().copied());
        assert_eq!(report.map(|snack| (snack.offset, snack.size)), Some((0, 1)));
        reports.on_data(500, 900, 1000, &mut [range(6, 10)].into_iter());
        let report = reports.take(500, [range(6, 10)].into_iter());
        assert_eq!(report.map(|snack| (snack.offset, snack.size)), Some((0, 1)));
    }

    #[test]
    fn offsets_are_rounded_down_and_sizes_up() {
        let queued = [Range { start: 350, end: 460 }, Range { start: 610, end: 700 }];
        let mut reports = reports(SnackForm::Simple);
        reports.on_data(200, 610, 710, &mut queued.iter().copied());
        assert_eq!(next(&mut reports, &queued), Some((0, 2)));
        reports.of_first = REPORTS_OF_FIRST;
        reports.next = 460;
        // From 460 to 610, which is from unit 2 behind 200 to the middle of unit 4.
        assert_eq!(next(&mut reports, &queued), Some((2, 3)));
    }

    #[test]
    fn what_a_probe_has_brought_ahead_of_its_turn_shows_no_hole() {
        for form in [SnackForm::Simple, SnackForm::Vector] {
            let mut reports = reports(form);
            reports.on_data(200, 400, 500, &mut [range(4, 5)].into_iter());
            let report = reports.take(200, [range(4, 5), range(8, 9)].into_iter());
            assert_eq!(report, Some(Snack { size: 2, ..Snack::default() }));
            // Data in order fills the hole: what is left may still be on its way.
            reports.on_data(500, 200, 400, &mut [range(8, 9)].into_iter());
            assert_eq!(reports.take(500, [range(8, 9)].into_iter()), None);
        }
    }

    #[test]
    fn a_vector_has_what_arrived_behind_the_hole() {
        let queued = [range(4, 5), range(6, 9), Range { start: 1050, end: 1300 }];
        let mut reports = reports(SnackForm::Vector);
        reports.on_data(200, 1050, 1150, &mut queued.iter().copied());
        let snack = reports.take(200, queued.iter().copied()).unwrap();
        // Unit 10 is there in part only.
        assert_eq!((snack.offset, snack.size, snack.bits), (0, 2, 16));
        assert_eq!(snack.vector, 0b1_1001_1101);
        let holes: Vec<_> = snack.holes(100).collect();
        assert_eq!(holes, [(0, 200), (300, 400), (700, 900)]);
    }
}
