//! The receiver of best-effort transport passes over what is missing (`best_effort` has the rules
//! and their sources). It is a reconstruction: that of the reference implementation is broken.
//!
//! A hole begins when data arrives above everything before it. What fills it later may split it,
//! and its parts have the time of the whole. Probes for capacity may carry data ahead of its turn,
//! and make no holes.

use std::collections::VecDeque;

use transport::Range;
use units::{Span, Time};

use crate::config::Config;
use crate::connection::{Connection, Halves};
use crate::segment::Segment;

use super::SnackRecovery;
use super::best_effort::{BestEffort, BestEffortCounters, Holes};

/// Data that arrived above everything before it.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// Where it begins: the hole is below.
    start: u64,
    /// From when on the receiver has waited for what is below.
    since: Time,
}

/// State of a receiver that passes holes.
#[derive(Clone, Debug)]
pub(crate) struct Passing {
    timeout: Span,
    /// Bytes out of order at which it waits no longer.
    threshold: u64,
    /// In ascending order.
    jumps: VecDeque<Jump>,
    /// Timestamp of the latest segment with data.
    latest: u32,
    /// The next ACK without data echoes it.
    echoes_latest: bool,
    skipped: Holes,
    /// When the timer of keep-alive expires, with which a hole shares one.
    keep_alive: Time,
    /// A hole has a part in that timer.
    is_timed: bool,
}

impl Passing {
    pub(crate) fn new(config: &Config) -> Option<Box<Self>> {
        let BestEffort { receive_timeout, receive_threshold, .. } = config.scps?.best_effort?;
        Some(Box::new(Self {
            timeout: receive_timeout,
            threshold: receive_threshold.map_or(u64::MAX, |bytes| bytes.get()),
            jumps: VecDeque::new(),
            latest: 0,
            echoes_latest: false,
            skipped: Holes::default(),
            keep_alive: Time::NEVER,
            is_timed: false,
        }))
    }

    /// Data from `start` on has arrived behind what arrived before, which ends at `highest`, and
    /// the receiver expects `expected`.
    fn on_data(&mut self, now: Time, start: u64, highest: u64, expected: u64) {
        self.forget_filled(expected);
        if start > highest.max(expected) {
            self.jumps.push_back(Jump { start, since: now });
        }
    }

    /// Forgets holes below `expected`.
    fn forget_filled(&mut self, expected: u64) {
        while self.jumps.front().is_some_and(|jump| jump.start <= expected) {
            self.jumps.pop_front();
        }
    }

    /// When the receiver has waited long enough at the first hole.
    fn due(&self) -> Time {
        self.jumps.front().map_or(Time::NEVER, |jump| jump.since + self.timeout)
    }

    /// `data` of a segment with this timestamp has been taken in, and `highest` is behind all that
    /// arrived before. Passes holes that have too much behind them.
    pub(super) fn watch(
        &mut self,
        halves: &mut Halves,
        now: Time,
        timestamp: u32,
        data: Range,
        highest: u64,
    ) {
        if timestamp.wrapping_sub(self.latest) as i32 > 0 || highest == 0 {
            self.latest = timestamp;
        }
        if data.start < data.end {
            self.on_data(now, data.start, highest, halves.receiver.next());
        }
        self.pass_holes(halves, now);
    }

    /// Passes the holes at which the receiver has waited for long enough. Returns whether there was
    /// one.
    fn pass_holes(&mut self, halves: &mut Halves, now: Time) -> bool {
        let mut has_passed = false;
        loop {
            self.forget_filled(halves.receiver.next());
            let is_over = self.due() <= now;
            let Some(first) = self.jumps.front_mut() else { break };
            if !is_over && halves.receiver.bytes_out_of_order() < self.threshold {
                break;
            }
            if halves.receiver.unread() > 0 {
                if is_over {
                    first.since = now;
                }
                break;
            }
            let Some(hole) = halves.receiver.pass_hole(&halves.config) else { break };
            self.skipped.add(hole);
            self.echoes_latest = true;
            has_passed = true;
        }
        has_passed
    }

    /// The timer of the first hole runs, unless the connection is over.
    pub(super) fn time(&mut self, slow_timer: &mut Time, is_over: bool) {
        let due = if is_over { Time::NEVER } else { self.due() };
        if !self.is_timed {
            self.keep_alive = *slow_timer;
        }
        self.is_timed = due != Time::NEVER;
        *slow_timer = self.keep_alive.min(due);
    }

    /// The timer of holes and of keep-alive has expired. Passes what is due, and leaves that of
    /// keep-alive. Returns true if holes were passed.
    pub(super) fn on_timer(
        &mut self,
        halves: &mut Halves,
        slow_timer: &mut Time,
        now: Time,
    ) -> bool {
        if !std::mem::take(&mut self.is_timed) {
            return false;
        }
        *slow_timer = self.keep_alive;
        self.pass_holes(halves, now)
    }

    /// The ACK that passes a hole echoes the latest segment.
    pub(super) fn echo_latest(&mut self, has_timestamps: bool, segment: &mut Segment) {
        if std::mem::take(&mut self.echoes_latest) && has_timestamps {
            segment.echo = self.latest;
        }
    }
}

/// Holes that best-effort transport has left at one end.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut<'a> {
    passed: Option<&'a Holes>,
    given_up: Option<&'a Holes>,
}

impl<'a> LeftOut<'a> {
    /// Bytes of the other end's stream that this end has passed over, because they did not arrive
    /// ([`BestEffort`]). [`delivered`](transport::Endpoint::delivered) counts these bytes, too.
    pub fn skipped(self) -> u64 {
        self.passed.map_or(0, |passed| passed.bytes)
    }

    /// The latest holes that this end has passed over, as places in the other end's stream: 50 at
    /// most.
    pub fn skipped_holes(self) -> impl Iterator<Item = std::ops::Range<u64>> + use<'a> {
        self.passed.into_iter().flat_map(Holes::latest)
    }

    /// The latest holes in its own stream that this end has given up: 50 at most.
    pub fn given_up_holes(self) -> impl Iterator<Item = std::ops::Range<u64>> + use<'a> {
        self.given_up.into_iter().flat_map(Holes::latest)
    }

    /// Counts of best-effort transport, if both ends have it.
    pub(crate) fn counters(self) -> Option<BestEffortCounters> {
        let (passed, given_up) = (self.passed?, self.given_up?);
        Some(BestEffortCounters {
            given_up_bytes: given_up.bytes,
            given_up_holes: given_up.count,
            skipped_bytes: passed.bytes,
            skipped_holes: passed.count,
        })
    }
}

impl Connection {
    /// Holes that best-effort transport has left at this end.
    pub fn left_out(&self) -> LeftOut<'_> {
        let snack = self.marks.as_ref().and_then(|marks| marks.snack.as_ref());
        let passing = snack.and_then(|snack| snack.best_effort.as_deref());
        LeftOut {
            passed: passing.map(|passing| &passing.skipped),
            given_up: self.halves.sender.snack().and_then(SnackRecovery::given_up),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scps::Scps;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Each hole has the time of its own, and what is left of it too.
    #[test]
    fn the_time_of_a_hole_counts_from_the_first_data_behind_it() {
        let best_effort =
            BestEffort { receive_timeout: Span::from_millis(100), ..BestEffort::new(0) };
        let scps = Scps { best_effort: Some(best_effort), ..Scps::default() };
        let mut passing = Passing::new(&Config { scps: Some(scps), ..Config::default() }).unwrap();
        passing.on_data(at(1), 1, 0, 10);
        passing.on_data(at(5), 20, 10, 10);
        passing.on_data(at(7), 30, 30, 10);
        passing.on_data(at(9), 50, 40, 10);
        assert_eq!(passing.due(), at(105));
        // A part of the first hole arrives, and does not restart its time.
        passing.on_data(at(11), 12, 60, 10);
        assert_eq!(passing.due(), at(105));
        // The first hole is filled.
        passing.on_data(at(12), 10, 60, 40);
        assert_eq!(passing.due(), at(109));
        passing.on_data(at(13), 40, 60, 60);
        assert_eq!(passing.due(), Time::NEVER);
    }
}
