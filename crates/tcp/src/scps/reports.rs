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

use congestion::Ecn;
use transport::Range;
use units::{Span, Time};

use crate::config::Config;
use crate::connection::Halves;
use crate::segment::{Flags, Options, Segment};
use crate::sender::Sender;
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

impl Reports {
    /// Agrees on SNACK and best-effort transport after a SYN of the other end.
    pub(crate) fn agree(this: &mut Option<Self>, sender: &mut Sender, segment: &Segment) {
        if !segment.options.contains(Options::BEST_EFFORT) {
            if let Some(reports) = this {
                reports.best_effort = None;
            }
            if let Some((snack, _)) = sender.snack_mut() {
                snack.deliver_all();
            }
        }
        if !segment.options.contains(Options::SNACK) {
            *this = None;
        }
    }

    /// The connection is open, with segments of `mss` bytes.
    pub(crate) fn begin(&mut self, ecn: Ecn, mss: u64) {
        // With the option of accurate ECN there is less room.
        self.most_bits = if ecn.is_accurate() { MOST_BITS / 2 } else { MOST_BITS };
        self.unit = mss;
    }

    /// Gives the sender what a segment reports. Its acknowledgement has been taken in. `marked` is
    /// true if it reports a mark.
    pub(crate) fn take_report(
        &self,
        halves: &mut Halves,
        now: Time,
        segment: &Segment,
        sequence: u64,
        marked: bool,
    ) {
        let una = halves.sender.stream().una;
        let Some(number) = halves.out.unwrap(segment.acknowledgement, una) else { return };
        if halves.sender.snack().is_some_and(|snack| snack.given_up().is_some()) {
            hear_receiver(halves, now, segment, sequence, number, marked);
        }
        let Some((sender, core)) = halves.sender.snack_mut() else { return };
        match segment.snack() {
            Some(snack) => {
                let holes = snack
                    .holes(self.unit)
                    .map(|(start, end)| Range { start: number + start, end: number + end });
                sender.on_report(core, now, &halves.config, holes);
            }
            None => {
                // Timestamps count milliseconds: at the latest it left at the end of this one.
                let tick = Span::from_millis(1);
                let timestamps = halves.agreed.timestamps;
                let caused = timestamps.then(|| now + tick - round_trip(now, segment.echo));
                // The answer to a probe reports nothing.
                let is_answer = segment.options.contains(Options::PROBE_ANSWER);
                let is_bare = segment.payload == 0 && !is_answer;
                sender.on_ack_without_report(core, now, number, is_bare, caused);
            }
        }
    }

    /// Data of `segment` has been taken in: `start` is its first number. Holes share `slow_timer`
    /// with keep-alive, unless the connection is over.
    pub(crate) fn follow_data(
        &mut self,
        halves: &mut Halves,
        slow_timer: &mut Time,
        is_over: bool,
        now: Time,
        segment: &Segment,
        start: u64,
    ) {
        let fin = u64::from(segment.flags.contains(Flags::FIN));
        // What lies beyond the window is no data.
        let end = (start + u64::from(segment.payload) + fin).min(halves.receiver.highest());
        let data = Range { start, end };
        if let Some(passing) = &mut self.best_effort {
            passing.watch(halves, now, segment.timestamp, data, self.highest);
        }
        self.time_holes(slow_timer, is_over);
        self.report_and_hold(halves, now, data);
    }

    /// The timer of holes and of keep-alive may have expired. Passes what is due, and leaves that
    /// of keep-alive. Returns true if holes were passed.
    pub(crate) fn on_timer(
        &mut self,
        halves: &mut Halves,
        slow_timer: &mut Time,
        now: Time,
    ) -> bool {
        let Some(passing) = &mut self.best_effort else { return false };
        let has_passed = passing.on_timer(halves, slow_timer, now);
        if has_passed {
            // The next report is another one.
            self.report_and_hold(halves, now, Range { start: 0, end: 0 });
        }
        has_passed
    }

    /// The timer of the first hole runs, unless the connection is over.
    pub(crate) fn time_holes(&mut self, slow_timer: &mut Time, is_over: bool) {
        if let Some(passing) = &mut self.best_effort {
            passing.time(slow_timer, is_over);
        }
    }

    fn report_and_hold(&mut self, halves: &mut Halves, now: Time, data: Range) {
        let receiver = &mut halves.receiver;
        let (expected, finished) = (receiver.next(), receiver.finished());
        let is_full = receiver.is_full();
        self.on_data(expected, data.start, data.end, &mut receiver.queued());
        let earliest = self.last + self.floor;
        if halves.config.acks_by_timer() && receiver.stops_the_sender() {
            // Nothing more comes before an ACK.
            receiver.request_ack();
        }
        if now < earliest && !finished && !is_full {
            receiver.hold_acks(earliest);
        }
    }

    /// An ACK without data is about to leave.
    pub(crate) fn report_hole(&mut self, halves: &Halves, now: Time, segment: &mut Segment) {
        self.last = now;
        if let Some(snack) = self.take(halves.receiver.next(), halves.receiver.queued()) {
            segment.set_snack(snack);
        }
        if let Some(passing) = &mut self.best_effort {
            passing.echo_latest(halves.agreed.timestamps, segment);
        }
    }
}

/// A segment acknowledges everything before `number`, and that has been taken in: the receiver of
/// the own data may be behind SND.UNA.
fn hear_receiver(
    halves: &mut Halves,
    now: Time,
    segment: &Segment,
    sequence: u64,
    number: u64,
    marked: bool,
) {
    if number >= halves.sender.stream().una {
        if let Some((snack, _)) = halves.sender.snack_mut() {
            snack.meet_receiver();
        }
        return;
    }
    let (ack, _) = halves.read_acknowledgement(now, segment, sequence, number, marked);
    if let Some((snack, core)) = halves.sender.snack_mut() {
        snack.on_ack_from_behind(core, now, &halves.config, &ack);
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
        reports.unit = 100;
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
