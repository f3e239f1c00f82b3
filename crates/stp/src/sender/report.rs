//! Reports: STAT, USTAT and BGAK.

use transport::Progress;
use units::{Span, Time};

use super::{Cause, Fate, Record, Report, SMOOTHING, Sender, Step};
use crate::config::Config;

/// The numbers that each report has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    /// N(R).
    pub(crate) next: u64,
    /// N(MR).
    pub(crate) limit: u64,
}

/// Changes by a report so far.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    acked: u64,
    /// The highest packet that is lost.
    last_lost: Option<u64>,
}

impl Sender {
    /// A STAT has arrived. `list` has the distances from N(R).
    pub(crate) fn on_stat(
        &mut self,
        now: Time,
        config: &Config,
        status: Status,
        poll: u64,
        list: &[u16],
    ) {
        if status.next > self.next {
            return;
        }
        let Ok(round_trip) = self.polls.on_stat(now, poll, config) else { return };
        let flight = self.flight;
        let mut change = Change::default();
        if let Some(round_trip) = round_trip {
            self.sample(now, config, round_trip);
        }
        self.take(status, &mut change);
        let number = |distance: u16| status.next + u64::from(distance);
        for (index, pair) in list.windows(2).enumerate() {
            let (start, end) = (number(pair[0]), number(pair[1]).min(self.next));
            if index % 2 == 0 {
                self.lose(start, end, &mut change, |record| {
                    matches!(record.fate, Fate::Sent | Fate::Repeated) && record.poll < poll
                });
            } else {
                self.arrive(start, end, &mut change);
            }
        }
        self.conclude(now, flight, &change);
        if let Some(round_trip) = round_trip {
            self.probe(now, poll, round_trip);
        }
        if !self.is_busy() {
            self.polls.rest(now, config);
        }
    }

    /// A USTAT has arrived, with a gap as distances from N(R).
    pub(crate) fn on_ustat(&mut self, now: Time, status: Status, gap: [u16; 2]) {
        if status.next > self.next {
            return;
        }
        let flight = self.flight;
        let mut change = Change::default();
        self.take(status, &mut change);
        let [start, end] = gap.map(|distance| status.next + u64::from(distance));
        let end = end.min(self.next);
        self.lose(start, end, &mut change, |record| record.fate == Fate::Sent);
        self.conclude(now, flight, &change);
    }

    /// The BGAK has arrived. `round_trip` is known if one BGN was sent. If the BGN had data that
    /// did not fit, it is lost, but nothing says that the network is congested.
    pub(crate) fn on_begin_ack(
        &mut self,
        now: Time,
        config: &Config,
        status: Status,
        round_trip: Option<Span>,
    ) {
        self.begin(now, config, status.limit);
        if status.next > self.next {
            return;
        }
        let mut change = Change::default();
        if let Some(round_trip) = round_trip {
            self.rtt.sample(&SMOOTHING, round_trip, self.progress(1));
            self.control.on_rtt(now, round_trip);
        }
        self.take(status, &mut change);
        self.lose(self.acknowledged, self.next, &mut change, |_| true);
        change.last_lost = None;
        self.conclude(now, self.flight, &change);
    }

    /// The other end has everything.
    pub(crate) fn on_end(&mut self) {
        let limit = self.limit;
        self.take(Status { next: self.next, limit }, &mut Change::default());
    }

    fn sample(&mut self, now: Time, config: &Config, round_trip: Span) {
        let per_round = self.flight / (self.mss * u64::from(config.packets_per_poll));
        self.rtt.sample(&SMOOTHING, round_trip, self.progress(per_round.max(1)));
        self.control.on_rtt(now, round_trip);
    }

    fn progress(&self, per_round: u64) -> Progress {
        Progress { per_round, acknowledged: self.acknowledged, sent: self.next }
    }

    /// Takes what has arrived in order, and the credit, which never falls.
    fn take(&mut self, status: Status, change: &mut Change) {
        self.limit = self.limit.max(status.limit);
        while self.acknowledged < status.next {
            let Some(Record { payload, fate, .. }) = self.records.pop_front() else { break };
            self.acknowledged += 1;
            self.acknowledged_bytes += u64::from(payload);
            self.account(payload, fate, change);
        }
        self.lost.remove_below(self.acknowledged);
        self.arrived.remove_below(self.acknowledged);
    }

    /// A packet has arrived that was in this state.
    #[inline]
    fn account(&mut self, payload: u16, fate: Fate, change: &mut Change) {
        if fate != Fate::Arrived {
            change.acked += u64::from(payload);
        }
        if matches!(fate, Fate::Sent | Fate::Repeated) {
            self.flight -= u64::from(payload);
        }
    }

    /// The packets from `start` up to `end` have arrived above a gap. Those that are known to have
    /// are skipped.
    fn arrive(&mut self, start: u64, end: u64, change: &mut Change) {
        let mut number = start.max(self.acknowledged);
        while number < end {
            let known = self.arrived.at_or_above(number);
            match known {
                Some(run) if run.start <= number => number = run.end,
                _ => {
                    let until = known.map_or(end, |run| run.start.min(end));
                    self.arrived.insert(number, until, 0);
                    while number < until {
                        let record = self.record_mut(number);
                        let Record { payload, fate, .. } = *record;
                        record.fate = Fate::Arrived;
                        self.account(payload, fate, change);
                        number += 1;
                    }
                }
            }
        }
    }

    /// The packets from `start` up to `end` are missing. Those of which `is_lost` are.
    fn lose(
        &mut self,
        start: u64,
        end: u64,
        change: &mut Change,
        is_lost: impl Fn(&Record) -> bool,
    ) {
        for number in start.max(self.acknowledged)..end {
            let record = self.record_mut(number);
            if !is_lost(record) {
                continue;
            }
            record.fate = Fate::Lost;
            let payload = u64::from(record.payload);
            self.flight -= payload;
            self.lost.insert(number, number + 1, 0);
            self.repaired_at = self.next;
            change.last_lost = change.last_lost.max(Some(number));
        }
    }

    /// Tells the control what has changed.
    fn conclude(&mut self, now: Time, flight: u64, change: &Change) {
        if change.acked > 0 {
            self.control.on_report(&Report {
                now,
                acked: change.acked,
                flight: self.flight,
                acknowledged: self.acknowledged,
                advertised: self.credit(),
                srtt: self.rtt.srtt(),
                min_rtt: self.rtt.min(),
            });
        }
        let Some(last) = change.last_lost else { return };
        if !self.control.is_first_loss(last, self.next) {
            return;
        }
        let patience = self.patience();
        match &mut self.probing {
            None => self.reduce(now, flight),
            Some(probing) if probing.suspends() => {}
            Some(probing) => {
                probing.begin(now, flight, self.polls.sent() + 1, patience);
                self.polls.request();
            }
        }
    }

    fn reduce(&mut self, now: Time, flight: u64) {
        self.counters.fast_recoveries += 1;
        self.control.reduce(now, flight);
    }

    /// A POLL was answered, which may be a probe.
    fn probe(&mut self, now: Time, poll: u64, round_trip: Span) {
        let patience = self.patience();
        let (next, limit) = (self.polls.sent() + 1, self.congested_from);
        let Some(probing) = &mut self.probing else { return };
        let shortest = self.rtt.min().unwrap_or(round_trip);
        let limit = Span::from_secs_f64(shortest.as_secs_f64() * limit);
        match probing.on_answer(now, poll, round_trip, next, patience, limit) {
            Step::Wait => {}
            Step::Probe => self.polls.request(),
            Step::Verdict(Cause::Congestion, flight) => self.reduce(now, flight),
            Step::Verdict(Cause::Corruption | Cause::Outage, _) => {}
        }
    }
}
