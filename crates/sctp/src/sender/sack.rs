//! Changes by a SACK (RFC 9260 sections 6.2.1, 6.3.2, 7.2.1, 7.2.2 and 7.2.4).

use units::Time;

use super::{Fate, Sender};
use crate::config::{Config, MAX_PATHS};
use crate::path::{Path, Reach};

/// Miss indications after which a chunk is retransmitted (section 7.2.4).
const MISSES: u8 = 3;

/// A SACK whose numbers do not wrap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    /// Everything below has arrived.
    pub(crate) next: u64,
    /// Advertised window; `None` in a SHUTDOWN.
    pub(crate) window: Option<u32>,
    /// Gap blocks, relative to the number before `next`.
    pub(crate) gaps: &'a [[u16; 2]],
}

impl Sender {
    /// A SACK, or a SHUTDOWN.
    pub(crate) fn on_report(&mut self, now: Time, config: &Config, report: Report<'_>) {
        if report.next < self.acknowledged || report.next > self.next {
            return;
        }
        for path in &mut self.paths {
            (path.acked, path.advanced, path.flight_before) = (0, false, path.flight);
        }
        self.probe.is_answered = true;
        let has_advanced = report.next > self.acknowledged;
        let mut newly = self.advance(now, config, report.next);
        newly = newly.max(self.take_gaps(now, config, report));
        if let Some(window) = report.window {
            self.window = u64::from(window);
        }
        if has_advanced {
            self.probe.is_out = false;
        }
        let counts_all = self.recovery.is_some() && has_advanced;
        if self.recovery.is_some_and(|exit| exit <= self.acknowledged) {
            self.recovery = None;
        }
        if newly > 0 {
            self.errors = 0;
        }
        let in_recovery = self.recovery.is_some();
        let mut was_inactive = false;
        for path in self.paths.iter_mut().filter(|path| path.acked > 0) {
            was_inactive |= path.reach != Reach::Active;
            path.on_answer();
            if has_advanced {
                path.window.on_acked(path.acked, path.flight_before, in_recovery);
            }
            settle_timer(path, now);
        }
        if was_inactive {
            self.choose_path();
        }
        if newly > 0 && !self.arrived.is_empty() {
            let highest = self.arrived.end().unwrap_or(0);
            self.count_misses(if counts_all { highest } else { newly.min(highest) });
        }
    }

    /// Everything below `next` has arrived. Returns the number behind the highest chunk that is
    /// acknowledged for the first time, or 0.
    #[inline]
    fn advance(&mut self, now: Time, config: &Config, next: u64) -> u64 {
        let mut newly = 0;
        while self.acknowledged < next {
            let Some(record) = self.records.pop_front() else { break };
            let path = &mut self.paths[usize::from(record.path)];
            path.advanced = true;
            if record.fate != Fate::Arrived {
                on_acknowledged(path, now, config, self.acknowledged);
                path.acked += record.bytes();
                path.flight -= if record.fate == Fate::Sent { record.bytes() } else { 0 };
                self.unacknowledged -= u64::from(record.payload);
                newly = self.acknowledged + 1;
            }
            self.acknowledged_bytes += u64::from(record.payload);
            self.acknowledged += 1;
        }
        self.arrived.remove_below(self.acknowledged);
        self.lost.remove_below(self.acknowledged);
        newly
    }

    /// Marks what the gap blocks name. Returns the same as [`advance`](Self::advance).
    #[inline]
    fn take_gaps(&mut self, now: Time, config: &Config, report: Report<'_>) -> u64 {
        let mut newly = 0;
        for [first, last] in report.gaps {
            // The distances are from the number before `next`, which may be that before 0.
            let mut start = report.next + u64::from(first.saturating_sub(1));
            let end = (report.next + u64::from(*last)).min(self.next);
            while start < end {
                let known = self.arrived.at_or_above(start);
                match known {
                    Some(range) if range.start <= start => start = range.end,
                    _ => {
                        let until = known.map_or(end, |range| range.start.min(end));
                        self.take_gap(now, config, start, until);
                        newly = newly.max(until);
                        start = until;
                    }
                }
            }
        }
        newly
    }

    /// The chunks from `start` up to `end` have arrived.
    fn take_gap(&mut self, now: Time, config: &Config, start: u64, end: u64) {
        self.arrived.insert(start, end, 0);
        for number in start..end {
            let record = self.record_mut(number);
            let fate = std::mem::replace(&mut record.fate, Fate::Arrived);
            let record = *record;
            let path = &mut self.paths[usize::from(record.path)];
            on_acknowledged(path, now, config, number);
            path.acked += record.bytes();
            path.flight -= if fate == Fate::Sent { record.bytes() } else { 0 };
            self.unacknowledged -= u64::from(record.payload);
        }
    }

    /// One miss indication for each chunk below `limit` that is missing.
    #[cold]
    fn count_misses(&mut self, limit: u64) {
        let mut number = self.settled.max(self.acknowledged);
        let mut is_settled = true;
        let mut found = false;
        let mut losers = [false; MAX_PATHS as usize];
        while number < limit {
            if let Some(range) = self.arrived.at_or_above(number)
                && range.start <= number
            {
                number = range.end;
            } else {
                let record = self.record_mut(number);
                let counts = record.fate == Fate::Sent && !record.was_fast;
                record.misses += u8::from(counts);
                if counts && record.misses >= MISSES {
                    losers[usize::from(record.path)] = true;
                    found = true;
                    self.mark_lost(number, Fate::Missed);
                } else {
                    is_settled &= !counts && record.fate != Fate::TimedOut;
                }
                number += 1;
            }
            if is_settled {
                self.settled = number;
            }
        }
        if found {
            self.retransmit_fast(losers);
        }
    }

    /// The first losses of a window reduce it (section 7.2.4).
    #[cold]
    fn retransmit_fast(&mut self, losers: [bool; MAX_PATHS as usize]) {
        self.is_fast[0] = true;
        if self.recovery.is_some() {
            return;
        }
        self.recovery = Some(self.next);
        self.counters.fast_recoveries += 1;
        for (path, lost) in self.paths.iter_mut().zip(losers) {
            if lost {
                path.window.on_loss();
            }
        }
    }

    /// A chunk in flight is to be retransmitted.
    pub(super) fn mark_lost(&mut self, number: u64, fate: Fate) {
        let record = self.record_mut(number);
        record.fate = fate;
        let record = *record;
        let path = &mut self.paths[usize::from(record.path)];
        path.flight -= record.bytes();
        // A retransmission measures nothing (section 6.3.1 rule C5).
        if path.measured.is_some_and(|(measured, _)| measured == number) {
            path.measured = None;
        }
        self.lost.insert(number, number + 1, 0);
        self.repaired_at = self.next;
    }
}

/// A chunk of `path` has arrived.
#[inline]
fn on_acknowledged(path: &mut Path, now: Time, config: &Config, number: u64) {
    if let Some((measured, at)) = path.measured
        && measured == number
    {
        path.measured = None;
        path.sample(&config.rto(), now.since(at));
    }
}

/// Section 6.3.2 rules R2 and R3.
#[inline]
fn settle_timer(path: &mut Path, now: Time) {
    if path.flight == 0 {
        path.t3 = Time::NEVER;
        path.window.on_all_acked();
    } else if path.advanced {
        path.start_t3(now);
    }
}
