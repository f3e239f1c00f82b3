//! Recovery by SNACK (SCPS-TP, `crate::scps`): holes that the receiver reports are retransmitted at once.
//!
//! Rules of the reference implementation:
//!
//! - A reported hole is retransmitted unless its embargo runs. When all of it has been retransmitted, the embargo
//!   is a smoothed RTT, within the bounds of the RTO, for the first hole, and twice that for all others. It doubles
//!   each time.
//! - cwnd is at least as large as a hole that is reported.
//! - After losses by congestion the window is reduced, once until all that was outstanding is acknowledged. After
//!   losses by corruption, window and timer stay as they are, also when the timer expires.
//! - After `outage_timeouts` timeouts in a row the link is out: only probes are sent, after 0, 5, 6, 12, 24, 48 and 60
//!   seconds, 32 at most, until a packet of the other end arrives. Probes have the first byte that is not
//!   acknowledged.
//! - A signal of a gateway that the link is out has the same effect, until the signal that it is available.
//! - The token bucket of the route holds back whatever it has no credit for. All connections of a route share it, so it
//!   belongs to the host (`middlebox::Bucket`), and not to the connection.
//!
//! - While a gateway signals errors of a link, losses count as corruption. The reference implementation sends such a
//!   signal at most once in a second, to all who have sent lately.
//!
//! Reconstructed, because the reference implementation was not clear or does not say:
//!
//! - A retransmission of the first hole restarts the timer.
//! - A timeout retransmits one segment. If an ACK of what was sent after the timeout brings progress and reports no hole,
//!   then all that was outstanding at the timeout is missing, and is retransmitted as far as cwnd allows. An earlier
//!   ACK says nothing about data that was on its way.
//! - While a signal says that the link is out, packets of the other end that were on their way do not end the outage. In
//!   the reference implementation they do, and the gateway answers the next packet with another signal.
//! - A signal of errors counts for the second in which the gateway is silent after it, and for a smoothed RTT more, in
//!   which losses of that second are reported. The manual does not say how long, and the code only notes the signal.
//! - After a loss by congestion cwnd counts all that is outstanding, and duplicate ACKs do not inflate it.
//!
//! With best-effort transport, holes are given up after a number of retransmissions (`sender::best_effort`).

use congestion::{Controller, Loss, TcpPolicy};
use transport::{AbortCause, Range};
use units::{Span, Time};

use crate::config::{Config, Recovery};
use crate::scps::{Cause, SILENCE_OF_SIGNALS, Scps};

use super::best_effort::GivingUp;
use super::transmit::Chunk;
use super::{HeldBy, Phase, Sender};

/// Seconds from one probe of a link that is out to the next (`persist_array`).
const PROBES_AFTER: [u64; 7] = [0, 5, 6, 12, 24, 48, 60];
/// Probes without an answer after which the connection is aborted.
const MOST_PROBES: u32 = 32;

/// Data that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) start: u64,
    pub(super) end: u64,
    /// What of it was retransmitted in this round ends here.
    next: u64,
    /// It is to be retransmitted.
    is_due: bool,
    /// How often all of it was retransmitted.
    rounds: u32,
    /// How often its retransmission has begun.
    pub(super) begun: u32,
    /// Reports before this count nothing.
    embargo: Time,
    /// It is not retransmitted any more.
    is_given_up: bool,
}

impl Hole {
    fn new(range: Range) -> Self {
        let Range { start, end } = range;
        Self {
            start,
            end,
            next: start,
            is_due: true,
            rounds: 0,
            begun: 0,
            embargo: Time::ZERO,
            is_given_up: false,
        }
    }

    /// Whether its first segment is to be retransmitted.
    pub(super) fn is_to_begin(&self) -> bool {
        self.is_due && self.next == self.start
    }

    /// It is not retransmitted any more.
    pub(super) fn give_up(&mut self) {
        (self.is_given_up, self.is_due, self.next) = (true, false, self.start);
        self.embargo = Time::ZERO;
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

    /// What of it was not retransmitted in a round that has begun has had one retransmission less.
    fn end_round(&mut self) -> Option<Self> {
        let mut rest = self.split_at(self.next)?;
        rest.begun -= 1;
        Some(rest)
    }

    /// Bytes of it that may be in the network.
    fn in_flight(&self, now: Time) -> u64 {
        if self.is_due {
            self.next - self.start
        } else if now < self.embargo {
            self.end - self.start
        } else {
            0
        }
    }
}

/// State of a connection with SNACK.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    scps: Scps,
    /// Bounds of an embargo.
    bounds: (Span, Span),
    /// In ascending order, without overlap.
    pub(super) holes: Vec<Hole>,
    /// Probes since the link is out.
    outage: Option<u32>,
    /// A gateway has signalled that the link is out.
    is_signalled: bool,
    /// When the timer expired last, and where the data ends that was outstanding then, until it is known what of it is
    /// missing.
    timed_out: Option<(Time, u64)>,
    /// Until then a signal of errors counts.
    corrupted_until: Time,
    /// If data may be given up.
    pub(super) best_effort: Option<Box<GivingUp>>,
}

impl Repair {
    pub(super) fn new(config: &Config) -> Option<Self> {
        let scps = config.scps?;
        let bounds = (config.rto.min, config.rto.max);
        let (outage, is_signalled, timed_out) = (None, false, None);
        let (holes, corrupted_until) = (Vec::new(), Time::ZERO);
        let best_effort = GivingUp::new(config);
        Some(Self {
            scps,
            bounds,
            holes,
            outage,
            is_signalled,
            timed_out,
            corrupted_until,
            best_effort,
        })
    }

    /// What losses that become known now are taken for.
    fn cause(&self, now: Time) -> Cause {
        if now < self.corrupted_until { Cause::Corruption } else { self.scps.cause }
    }

    /// Whether the link is known to be out.
    pub(super) fn is_out(&self) -> bool {
        self.outage.is_some()
    }

    /// More holes, which do not overlap those that are known.
    pub(super) fn insert(&mut self, added: Vec<Hole>) {
        if !added.is_empty() {
            self.holes.extend(added);
            self.holes.sort_unstable_by_key(|hole| hole.start);
        }
    }

    /// Where what was given up from `una` on ends.
    pub(super) fn end_of_given_up(&mut self, una: u64) -> u64 {
        let mut end = una;
        self.holes.retain(|hole| {
            let is_next = hole.is_given_up && hole.start <= end;
            end = if is_next { end.max(hole.end) } else { end };
            !is_next
        });
        end
    }

    /// The receiver lacks `range`.
    fn add(&mut self, now: Time, range: Range) {
        let mut start = range.start;
        let mut added = Vec::new();
        for hole in &mut self.holes {
            if hole.end <= start || hole.start >= range.end {
                continue;
            }
            if start < hole.start {
                added.push(Hole::new(Range { start, end: hole.start }));
            }
            if !hole.is_due && now >= hole.embargo && !hole.is_given_up {
                hole.is_due = true;
                hole.next = hole.start;
            }
            start = hole.end;
        }
        if start < range.end {
            added.push(Hole::new(Range { start, end: range.end }));
        }
        self.insert(added);
    }

    /// Everything below `una` has arrived.
    fn acknowledge(&mut self, una: u64) {
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

    fn is_due(&self) -> bool {
        self.holes.iter().any(|hole| hole.is_due)
    }
}

impl Sender {
    fn repair(&mut self) -> Option<&mut Repair> {
        self.instruments.as_mut()?.repair.as_mut()
    }

    /// Nothing leaves until [`hold_nothing`](Self::hold_nothing).
    fn hold_all(&mut self) {
        if let Some(instruments) = &mut self.instruments {
            instruments.pacer.hold();
        }
    }

    fn hold_nothing(&mut self) {
        if let Some(instruments) = &mut self.instruments {
            instruments.pacer.let_go();
        }
    }

    /// The two ends have not agreed on SNACK.
    pub(crate) fn do_without_snack(&mut self) {
        if let Some(repair) = self.repair() {
            repair.scps.cause = Cause::Congestion;
            repair.scps.corruption_signals = false;
            repair.best_effort = None;
            self.recovery = Recovery::NewReno;
        }
    }

    /// An ACK that has been taken in reports `holes`.
    pub(crate) fn on_snack(
        &mut self,
        now: Time,
        config: &Config,
        holes: impl Iterator<Item = Range>,
    ) {
        let (una, max, mss) = (self.una, self.max, self.mss);
        let Some(repair) = self.repair() else { return };
        repair.acknowledge(una);
        repair.timed_out = None;
        let mut largest = 0;
        for hole in holes {
            let hole = Range { start: hole.start.max(una), end: hole.end.min(max) };
            if hole.start < hole.end {
                repair.add(now, hole);
                largest = largest.max(hole.len());
            }
        }
        let cause = repair.cause(now);
        if largest > 0 && cause == Cause::Congestion {
            self.answer_congestion(now, config);
        }
        let window = self.controller.window_mut();
        window.cwnd = window.cwnd.max(largest.next_multiple_of(mss));
        self.hear_again(now);
    }

    /// An ACK up to `number` has been taken in, without a report. `caused` is when the segment left that it answers;
    /// without timestamps, one that left a round trip ago may have caused it.
    pub(crate) fn on_ack_without_snack(
        &mut self,
        now: Time,
        number: u64,
        is_bare: bool,
        caused: Option<Time>,
    ) {
        let una = self.una;
        let caused = caused.unwrap_or_else(|| now - self.rtt.srtt().unwrap_or(Span::ZERO));
        let Some(repair) = self.repair() else { return };
        repair.acknowledge(una);
        // What arrives behind a hole would be reported.
        if is_bare
            && number == una
            && repair.timed_out.is_some_and(|(at, end)| una < end && at <= caused)
            && repair.holes.iter().all(|hole| hole.is_given_up)
            && let Some((_, end)) = repair.timed_out.take()
        {
            repair.add(now, Range { start: una, end });
        }
        self.hear_again(now);
    }

    /// A packet of the other end has arrived: a link that was out is there again.
    fn hear_again(&mut self, now: Time) {
        let una = self.una;
        let end = self.max.min(una + self.mss);
        let Some(repair) = self.repair().filter(|repair| !repair.is_signalled) else { return };
        let was_out = repair.outage.take().is_some();
        if was_out && una < end {
            repair.holes.iter_mut().for_each(|hole| hole.embargo = Time::ZERO);
            repair.add(now, Range { start: una, end });
        }
        if let Some(best_effort) = &mut repair.best_effort {
            best_effort.hear();
            self.give_up_repeated(now);
        }
        let Some(repair) = self.repair() else { return };
        let is_due = repair.is_due();
        if was_out {
            self.hold_nothing();
            self.retries = 0;
            if self.una < self.max {
                self.restart_timer(now);
            }
        }
        self.resend_head |= is_due;
    }

    /// A gateway signals that a link of the route is out, or available again.
    pub(crate) fn on_link_state(&mut self, now: Time, is_out: bool) {
        let is_outstanding = self.una < self.max;
        let Some(repair) = self.repair().filter(|repair| repair.is_signalled != is_out) else {
            return;
        };
        repair.is_signalled = is_out;
        if !is_out {
            self.hear_again(now);
            return;
        }
        repair.outage.get_or_insert(0);
        self.hold_all();
        self.timed = None;
        self.resend_head = false;
        if is_outstanding {
            self.restart_timer(now);
        }
    }

    /// A gateway signals that a link of the route has corrupted a packet.
    pub(crate) fn on_corruption(&mut self, now: Time) {
        let round_trip = self.rtt.srtt().unwrap_or_else(|| self.rtt.rto());
        if let Some(repair) = self.repair().filter(|repair| repair.scps.corruption_signals) {
            repair.corrupted_until = now + SILENCE_OF_SIGNALS + round_trip;
        }
    }

    /// The window is reduced once until all that is outstanding now is acknowledged.
    fn answer_congestion(&mut self, now: Time, config: &Config) {
        if self.phase != Phase::Open || self.una < self.recover {
            return;
        }
        let loss = Loss { now, flight: self.flight_to_reduce(config), repeated: false };
        if self.is_in_window_of_mark() {
            self.controller.on_loss_after_mark(&loss);
        } else {
            self.controller.on_loss(&loss);
            self.note_reduction();
        }
        self.counters.fast_recoveries += 1;
        self.phase = Phase::FastRecovery;
        self.recover = self.max;
        self.first_partial_ack = true;
    }

    /// What is to be retransmitted next, or a probe of a link that is out.
    #[cold]
    pub(super) fn next_repair(&mut self, now: Time) -> Option<Chunk> {
        let (una, mss, max) = (self.una, self.mss, self.max);
        let cwnd = self.controller.window().cwnd;
        let quota = self.retransmission_quota;
        let written = self.written;
        let repair = self.repair()?;
        if repair.outage.is_some() {
            // The number of the last byte, of a FIN.
            let length = u64::from(una < written);
            // A receiver that is behind answers the FIN only.
            let is_behind = repair.best_effort.as_ref().is_some_and(|one| one.is_ahead());
            let fin = length == 0 && is_behind;
            let start = if length > 0 || fin { una } else { una - 1 };
            self.hold_all();
            self.last_sent = now;
            self.counters.segments += length;
            self.counters.bytes += length;
            return (una < max).then_some(Chunk { start, length, fin, push: false, again: true });
        }
        repair.acknowledge(una);
        let in_flight: u64 = repair.holes.iter().map(|hole| hole.in_flight(now)).sum();
        let is_bound = repair.cause(now) == Cause::Congestion && in_flight + mss > cwnd;
        let hole = repair.holes.iter().copied().find(|hole| hole.is_due)?;
        if is_bound || quota == 0 {
            self.held_by = HeldBy::CongestionWindow;
            return None;
        }
        let range = Range { start: hole.next, end: hole.end.min(hole.next + mss) };
        let chunk = self.repeat(now, range);
        if range.start == una {
            self.restart_timer(now);
        }
        self.follow_repair(now, range);
        Some(chunk)
    }

    /// `range` of a hole was retransmitted.
    fn follow_repair(&mut self, now: Time, range: Range) {
        let una = self.una;
        // Before the first sample it is the RTO of the start.
        let (smoothed, of_start) = (self.rtt.srtt(), self.rtt.rto());
        let Some(repair) = self.repair() else { return };
        let (least, most) = repair.bounds;
        let round_trip = smoothed.map_or(of_start, |srtt| srtt.clamp(least, most));
        let Some(hole) = repair.holes.iter_mut().find(|hole| hole.next == range.start) else {
            return;
        };
        hole.begun += u32::from(range.start == hole.start);
        hole.next = range.end;
        if hole.next >= hole.end {
            let first = hole.start == una;
            let base = if first { round_trip } else { round_trip.doubled(1) };
            hole.embargo = now + base.doubled(hole.rounds.min(16));
            hole.rounds += 1;
            hole.is_due = false;
            hole.next = hole.start;
        }
        let is_due = repair.is_due();
        self.resend_head = is_due;
    }

    /// The retransmission timer, or that of the probes of a link that is out, has expired.
    pub(super) fn on_timeout_with_snack(&mut self, now: Time, config: &Config, heard: Time) {
        if self.probe_outage(now) || self.waits_for_receiver(now) {
            return;
        }
        self.counters.timeouts += 1;
        self.retries += 1;
        if self.retries == 1 && !self.is_ahead_of_receiver() {
            self.begin_user_timeout(now, config);
        }
        let of_user = self.is_given_up_by_user(now);
        if let Some(cause) = of_user.or_else(|| self.timeout_ends_connection(now, config, heard)) {
            self.give_up(cause);
            return;
        }
        self.retransmission_quota = self.controller.retransmission_quota();
        let (una, max, mut in_a_row) = (self.una, self.max, self.retries);
        let mut end = max.min(una + self.mss);
        let flight = self.flight_to_reduce(config);
        let repeated = self.retries > 1 || self.is_in_window_of_mark();
        let Some(repair) = self.repair() else { return };
        let cause = repair.cause(now);
        if let Some(best_effort) = &mut repair.best_effort {
            in_a_row = best_effort.count_timeout();
            if best_effort.sends_once() {
                end = max;
            }
            let rests = repair.holes.iter_mut().filter_map(Hole::end_round).collect();
            repair.insert(rests);
        }
        let is_out = repair.scps.outage_timeouts.is_some_and(|most| in_a_row >= most);
        repair.timed_out = Some((now, max));
        // What was retransmitted before may be lost too, and fills no window.
        for hole in &mut repair.holes {
            hole.embargo = Time::ZERO;
            hole.next = hole.start;
        }
        repair.add(now, Range { start: una, end });
        if is_out {
            repair.outage = Some(0);
        }
        if cause == Cause::Congestion && !is_out {
            self.controller.on_timeout(&Loss { now, flight, repeated });
            self.note_reduction();
            self.controller.window_mut().count_singly_after_timeout();
            self.phase = Phase::Timeout;
            self.recover = max;
            if self.controller.backs_off() {
                self.rtt.back_off(&config.rto);
            }
        }
        if is_out {
            self.hold_all();
        }
        self.timed = None;
        self.limited = 0;
        self.give_up_repeated(now);
        self.resend_head = !is_out;
        if self.una < self.max {
            self.restart_timer(now);
            self.bound_by_user_timeout(now);
        }
    }

    /// Sends the next probe if the link is out. Returns whether it is.
    fn probe_outage(&mut self, now: Time) -> bool {
        let over = now >= self.gives_up_at;
        let Some(probes) = self.repair().and_then(|repair| repair.outage.as_mut()) else {
            return false;
        };
        if *probes >= MOST_PROBES || over {
            let cause = if over { AbortCause::UserTimeout } else { AbortCause::Retransmissions };
            self.give_up(cause);
            return true;
        }
        *probes += 1;
        let place = PROBES_AFTER.len().min(*probes as usize + 1) - 1;
        self.deadline = now + Span::from_secs(PROBES_AFTER[place]);
        self.bound_by_user_timeout(now);
        self.resend_head = true;
        self.hold_nothing();
        true
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

    fn repair(scps: Scps) -> Repair {
        Repair::new(&Config { scps: Some(scps), ..Config::default() }).unwrap()
    }

    #[test]
    fn a_report_is_split_around_known_holes_and_waits_for_their_embargo() {
        let mut repair = repair(Scps::default());
        repair.add(at(0), range(100, 200));
        repair.holes[0].is_due = false;
        repair.holes[0].embargo = at(500);
        repair.add(at(100), range(50, 300));
        let holes = |repair: &Repair| {
            repair.holes.iter().map(|hole| (hole.start, hole.end, hole.is_due)).collect::<Vec<_>>()
        };
        assert_eq!(holes(&repair), [(50, 100, true), (100, 200, false), (200, 300, true)]);
        repair.add(at(499), range(100, 200));
        assert!(!repair.holes[1].is_due);
        repair.add(at(500), range(100, 200));
        assert!(repair.holes[1].is_due);
        repair.acknowledge(150);
        assert_eq!(holes(&repair), [(150, 200, true), (200, 300, true)]);
    }
}
