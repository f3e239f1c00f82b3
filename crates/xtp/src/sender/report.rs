//! Changes by reports: acknowledgement, window, spans, and lost data.
//!
//! A report shows that data is lost in two ways, both of which are reconstructed. Data that was
//! last sent before the request that the report echoes, and is not in the report, is lost. Data
//! that was sent once, and is missing below data that has arrived, is lost too. Later transmissions
//! of it wait for the next request. So nothing is retransmitted twice for one loss, if the network
//! keeps the order.

use transport::Progress;
use units::Time;

use super::{Fate, Record, SMOOTHING, Sender};
use crate::config::Config;
use crate::packet::SpanOfBytes;

/// A report of the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status<'a> {
    pub(crate) rseq: u64,
    pub(crate) alloc: u64,
    pub(crate) echo: u64,
    /// Something has arrived above the byte RSEQ (ECNTL).
    pub(crate) has_gap: bool,
    pub(crate) spans: &'a [SpanOfBytes],
    /// RCLOSE.
    pub(crate) has_all: bool,
}

impl Sender {
    /// A report has arrived. One that cannot be, or is old, is ignored.
    pub(crate) fn on_report(&mut self, now: Time, config: &Config, status: &Status<'_>) {
        if status.rseq > self.next || status.alloc < status.rseq {
            return;
        }
        let timing = self.timing(config);
        let Some(answer) = self.requests.on_report(now, status.echo, timing) else { return };
        if let Some(round_trip) = answer.round_trip {
            let progress =
                Progress { per_round: 1, acknowledged: self.acknowledged, sent: self.next };
            self.rtt.sample(&SMOOTHING, round_trip, progress);
        }
        let was_blocked = self.is_blocked();
        self.grant(status.alloc);
        if was_blocked {
            self.requests.stall(self.is_blocked());
        }
        if status.rseq < self.acknowledged {
            return;
        }
        self.acknowledge(status.rseq);
        self.finished |= status.has_all && self.closed && self.acknowledged == self.next;
        if self.goes_back {
            self.go_back(status, answer.echo);
        } else {
            self.repair(status, answer.echo, answer.next);
        }
    }

    /// The other end has everything.
    pub(crate) fn on_end(&mut self) {
        self.acknowledge(self.next);
        self.finished = true;
    }

    /// The window before the first report was a guess, which the other end may take back.
    fn grant(&mut self, alloc: u64) {
        self.alloc = if self.is_granted { self.alloc.max(alloc) } else { alloc };
        self.is_granted = true;
    }

    /// Everything below `rseq` has arrived.
    fn acknowledge(&mut self, rseq: u64) {
        self.acknowledged = rseq;
        while let Some(&Record { start, payload, fate, .. }) = self.records.front() {
            let bytes = u64::from(payload);
            if start + bytes > rseq {
                break;
            }
            self.records.pop_front();
            self.first += 1;
            if matches!(fate, Fate::Sent | Fate::Repeated) {
                self.flight -= bytes;
            }
        }
        self.arrived.remove_below(rseq);
        self.lost.remove_below(self.first);
    }

    /// Selective: what the spans leave out is missing.
    fn repair(&mut self, status: &Status<'_>, echo: u64, asked: u64) {
        let mut at = status.rseq;
        for span in status.spans {
            let right = span.right.min(self.next);
            if span.left < at || right <= span.left {
                break;
            }
            self.lose(at, span.left, |record| record.sync < echo || record.fate == Fate::Sent);
            self.arrive(span.left, right);
            at = right;
        }
        // Not all spans may have found room in the packet.
        if status.spans.len() < self.most_spans {
            self.lose(at, asked, |record| record.sync < echo);
        }
    }

    /// Go-back-N: if the first missing packet is lost, everything behind it is.
    fn go_back(&mut self, status: &Status<'_>, echo: u64) {
        let is_lost = self.records.front().is_some_and(|record| match record.fate {
            Fate::Sent => record.sync < echo || status.has_gap,
            Fate::Repeated => record.sync < echo,
            Fate::Lost | Fate::Arrived => false,
        });
        if is_lost {
            self.lose(status.rseq, self.next, |_| true);
        }
    }

    /// The packets from `start` up to `end` have arrived.
    fn arrive(&mut self, start: u64, end: u64) {
        let mut at = start;
        while at < end {
            let known = self.arrived.at_or_above(at);
            if let Some(range) = known.filter(|range| range.start <= at) {
                at = range.end;
                continue;
            }
            let until = known.map_or(end, |range| range.start.min(end));
            for index in self.indices(at, until) {
                let record = &mut self.records[index];
                if matches!(record.fate, Fate::Sent | Fate::Repeated) {
                    self.flight -= u64::from(record.payload);
                }
                record.fate = Fate::Arrived;
            }
            at = until;
        }
        self.arrived.insert(start, end, 0);
    }

    /// The packets from `start` up to `end` are missing. Those of which `is_lost` are.
    fn lose(&mut self, start: u64, end: u64, is_lost: impl Fn(&Record) -> bool) {
        if start >= end {
            return;
        }
        for index in self.indices(start, end) {
            let record = &mut self.records[index];
            let is_out = matches!(record.fate, Fate::Sent | Fate::Repeated);
            if is_out && is_lost(record) {
                record.fate = Fate::Lost;
                self.flight -= u64::from(record.payload);
                let number = self.first + index as u64;
                self.lost.insert(number, number + 1, 0);
                self.repaired_at = self.next;
            }
        }
    }

    /// The records of packets that are within `start..end` as a whole.
    fn indices(&self, start: u64, end: u64) -> std::ops::Range<usize> {
        let from = self.records.partition_point(|record| record.start < start);
        let to =
            self.records.partition_point(|record| record.start + u64::from(record.payload) <= end);
        from..to.max(from)
    }
}
