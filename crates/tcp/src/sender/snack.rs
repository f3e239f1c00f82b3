//! Recovery by SNACK (SCPS-TP, `crate::scps`): holes that the receiver reports are retransmitted at once.
//!
//! The holes are in `sender::missing`.
//!
//! Rules of the reference implementation:
//!
//! - A reported hole is retransmitted unless its embargo runs. When all of it has been retransmitted, the embargo
//!   is a smoothed RTT, within the bounds of the RTO, for the first hole, and twice that for all others. It doubles
//!   each time.
//! - A reported hole is retransmitted even if it is larger than cwnd.
//! - After a loss by congestion each duplicate ACK lets another segment of new data leave, once as many have come as
//!   cwnd was reduced by.
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
//! - A timeout retransmits one segment. If an ACK of what was sent after the timeout reports no hole, and none is known,
//!   then all that is left of what was outstanding at the timeout is missing, and is retransmitted as far as cwnd allows.
//!   An earlier ACK says nothing about data that was on its way.
//! - While a signal says that the link is out, packets of the other end that were on their way do not end the outage. In
//!   the reference implementation they do, and the gateway answers the next packet with another signal.
//! - A signal of errors counts for the second in which the gateway is silent after it, and for a smoothed RTT more, in
//!   which losses of that second are reported. The manual does not say how long, and the code only notes the signal.
//! - An ACK of more takes back what duplicate ACKs before it have added (RFC 6582 section 3.2 step 3).
//!
//! With best-effort transport, holes are given up after a number of retransmissions (`sender::best_effort`).

use congestion::{Controller, Loss, TcpPolicy};
use transport::{AbortCause, Range};
use units::{Span, Time};

use crate::config::{Config, Recovery};
use crate::scps::{Cause, SILENCE_OF_SIGNALS, Scps};

use super::best_effort::GivingUp;
use super::missing::Missing;
use super::transmit::Chunk;
use super::{HeldBy, Phase, Sender};

/// Seconds from one probe of a link that is out to the next (`persist_array`).
const PROBES_AFTER: [u64; 7] = [0, 5, 6, 12, 24, 48, 60];
/// Probes without an answer after which the connection is aborted.
const MOST_PROBES: u32 = 32;

/// State of a connection with SNACK.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    scps: Scps,
    /// Bounds of an embargo.
    bounds: (Span, Span),
    pub(super) missing: Missing,
    /// Probes since the link is out.
    outage: Option<u32>,
    /// A gateway has signalled that the link is out.
    is_signalled: bool,
    /// When the timer expired last, and where the data ends that was outstanding then, until it is known what of it is
    /// missing.
    timed_out: Option<(Time, u64)>,
    /// Until then a signal of errors counts.
    corrupted_until: Time,
    /// Room for new data that duplicate ACKs have added since the last loss by congestion.
    inflation: u64,
    /// If data may be given up.
    pub(super) best_effort: Option<Box<GivingUp>>,
}

impl Repair {
    pub(super) fn new(config: &Config) -> Option<Self> {
        let scps = config.scps?;
        Some(Self {
            scps,
            bounds: (config.rto.min, config.rto.max),
            missing: Missing::default(),
            outage: None,
            is_signalled: false,
            timed_out: None,
            corrupted_until: Time::ZERO,
            inflation: 0,
            best_effort: GivingUp::new(config),
        })
    }

    /// Cause of losses that become known now.
    fn cause(&self, now: Time) -> Cause {
        if now < self.corrupted_until { Cause::Corruption } else { self.scps.cause }
    }

    /// Returns true if the link is known to be out.
    pub(super) fn is_out(&self) -> bool {
        self.outage.is_some()
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
        let (una, max) = (self.stream.una, self.stream.max);
        let Some(repair) = self.repair() else { return };
        repair.missing.acknowledge(una);
        let mut is_missing = false;
        for hole in holes {
            let hole = Range { start: hole.start.max(una), end: hole.end.min(max) };
            if hole.start < hole.end {
                repair.missing.report(now, hole);
                is_missing = true;
            }
        }
        let cause = repair.cause(now);
        if is_missing && cause == Cause::Congestion {
            self.answer_congestion(now, config);
        }
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
        let una = self.stream.una;
        let caused = caused.unwrap_or_else(|| now - self.rtt.srtt().unwrap_or(Span::ZERO));
        let Some(repair) = self.repair() else { return };
        repair.missing.acknowledge(una);
        // What arrives behind a hole would be reported.
        if is_bare
            && number == una
            && repair.timed_out.is_some_and(|(at, end)| una < end && at <= caused)
            && repair.missing.is_all_given_up()
            && let Some((_, end)) = repair.timed_out.take()
        {
            repair.missing.suspect(now, Range { start: una, end });
        }
        self.hear_again(now);
    }

    /// A packet of the other end has arrived: a link that was out is there again.
    fn hear_again(&mut self, now: Time) {
        let una = self.stream.una;
        let end = self.stream.max.min(una + self.stream.mss);
        let Some(repair) = self.repair().filter(|repair| !repair.is_signalled) else { return };
        let was_out = repair.outage.take().is_some();
        if was_out && una < end {
            repair.missing.end_embargoes();
            repair.missing.suspect(now, Range { start: una, end });
        }
        if let Some(best_effort) = &mut repair.best_effort {
            best_effort.hear();
            self.give_up_repeated(now);
        }
        let Some(repair) = self.repair() else { return };
        let is_due = repair.missing.is_due();
        if was_out {
            self.hold_nothing();
            self.timers.retries = 0;
            if self.stream.una < self.stream.max {
                self.restart_timer(now);
            }
        }
        self.episode.resend_head |= is_due;
    }

    /// A gateway signals that a link of the route is out, or available again.
    pub(crate) fn on_link_state(&mut self, now: Time, is_out: bool) {
        let is_outstanding = self.stream.una < self.stream.max;
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
        self.episode.resend_head = false;
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
        if self.episode.phase != Phase::Open {
            return;
        }
        let loss = Loss { now, flight: self.flight_to_reduce(config), repeated: false };
        if self.reductions.is_in_window_of_mark(self.stream.una) {
            self.controller.on_loss_after_mark(&loss);
        } else {
            self.controller.on_loss(&loss);
            self.note_reduction();
        }
        self.counters.fast_recoveries += 1;
        self.episode.phase = Phase::FastRecovery;
        self.episode.recover = self.stream.max;
        self.episode.first_partial_ack = true;
        if let Some(repair) = self.repair() {
            repair.inflation = 0;
        }
    }

    /// An ACK that acknowledges `acked` bytes more, or nothing new and says nothing else, has been taken in. After a loss
    /// by congestion the latter shows that another segment has left the network.
    pub(super) fn inflate(&mut self, acked: u64) {
        let (mss, is_reduced) = (self.stream.mss, self.episode.phase == Phase::FastRecovery);
        if let Some(repair) = self.repair().filter(|_| is_reduced) {
            let added = if acked > 0 { 0 } else { mss };
            repair.inflation = (repair.inflation + added).saturating_sub(acked);
        }
    }

    /// Bytes that duplicate ACKs have added to the room for new data.
    pub(super) fn inflation(&self) -> u64 {
        let instruments = self.instruments.as_ref();
        let repair = instruments.and_then(|instruments| instruments.repair.as_ref());
        repair.map_or(0, |repair| repair.inflation)
    }

    /// The next retransmission, or a probe of a link that is out.
    #[cold]
    pub(super) fn next_repair(&mut self, now: Time) -> Option<Chunk> {
        let (una, mss, max) = (self.stream.una, self.stream.mss, self.stream.max);
        let cwnd = self.controller.window().cwnd;
        let quota = self.episode.quota;
        let written = self.stream.written;
        let repair = self.repair()?;
        if repair.outage.is_some() {
            // The number of the last byte, of a FIN.
            let length = u64::from(una < written);
            // A receiver that is behind answers the FIN only.
            let is_behind = repair.best_effort.as_ref().is_some_and(|one| one.is_ahead());
            let fin = length == 0 && is_behind;
            let start = if length > 0 || fin { una } else { una - 1 };
            self.hold_all();
            self.timers.last_sent = now;
            self.counters.segments += length;
            self.counters.bytes += length;
            return (una < max).then_some(Chunk { start, length, fin, push: false, again: true });
        }
        repair.missing.acknowledge(una);
        let range = repair.missing.next(mss)?;
        let is_held = repair.cause(now) == Cause::Congestion && {
            let room = cwnd.max(repair.missing.largest_reported().next_multiple_of(mss));
            repair.missing.in_flight(now) + mss > room
        };
        if is_held || quota == 0 {
            self.held_by = HeldBy::CongestionWindow;
            return None;
        }
        let chunk = self.repeat(now, range);
        if range.start == una {
            self.restart_timer(now);
        }
        self.follow_repair(now, range);
        Some(chunk)
    }

    /// `range` of a hole was retransmitted.
    fn follow_repair(&mut self, now: Time, range: Range) {
        let una = self.stream.una;
        // Before the first sample it is the RTO of the start.
        let (smoothed, of_start) = (self.rtt.srtt(), self.rtt.rto());
        let Some(repair) = self.repair() else { return };
        let (least, most) = repair.bounds;
        let round_trip = smoothed.map_or(of_start, |srtt| srtt.clamp(least, most));
        repair.missing.follow(now, range, una, round_trip);
        let is_due = repair.missing.is_due();
        self.episode.resend_head = is_due;
    }

    /// The retransmission timer, or that of the probes of a link that is out, has expired.
    pub(super) fn on_timeout_with_snack(&mut self, now: Time, config: &Config, heard: Time) {
        if self.probe_outage(now) || self.waits_for_receiver(now) {
            return;
        }
        self.counters.timeouts += 1;
        self.timers.retries += 1;
        if self.timers.retries == 1 && !self.is_ahead_of_receiver() {
            self.timers.begin_user_timeout(now, config);
        }
        let of_user = self.is_given_up_by_user(now);
        if let Some(cause) = of_user.or_else(|| {
            self.timers.timeout_ends_connection(now, config, heard, self.peer.advertised == 0)
        }) {
            self.timers.give_up(cause);
            return;
        }
        self.episode.quota = self.controller.retransmission_quota();
        let (una, max, mut in_a_row) = (self.stream.una, self.stream.max, self.timers.retries);
        let mut end = max.min(una + self.stream.mss);
        let flight = self.flight_to_reduce(config);
        let repeated =
            self.timers.retries > 1 || self.reductions.is_in_window_of_mark(self.stream.una);
        let Some(repair) = self.repair() else { return };
        let cause = repair.cause(now);
        if let Some(best_effort) = &mut repair.best_effort {
            in_a_row = best_effort.count_timeout();
            if best_effort.sends_once() {
                end = max;
            }
            repair.missing.end_rounds();
        }
        let is_out = repair.scps.outage_timeouts.is_some_and(|most| in_a_row >= most);
        repair.timed_out = Some((now, max));
        repair.missing.start_again();
        repair.missing.suspect(now, Range { start: una, end });
        if is_out {
            repair.outage = Some(0);
        }
        if cause == Cause::Congestion && !is_out {
            self.controller.on_timeout(&Loss { now, flight, repeated });
            self.note_reduction();
            self.controller.window_mut().count_singly_after_timeout();
            self.episode.phase = Phase::Timeout;
            self.episode.recover = max;
            if self.controller.backs_off() {
                self.rtt.back_off(&config.rto);
            }
        }
        if is_out {
            self.hold_all();
        }
        self.timed = None;
        self.episode.limited = 0;
        self.give_up_repeated(now);
        self.episode.resend_head = !is_out;
        if self.stream.una < self.stream.max {
            self.restart_timer(now);
            self.timers.bound_by_user_timeout(now);
        }
    }

    /// Sends the next probe if the link is out. Returns whether it is.
    fn probe_outage(&mut self, now: Time) -> bool {
        let over = now >= self.timers.gives_up_at;
        let Some(probes) = self.repair().and_then(|repair| repair.outage.as_mut()) else {
            return false;
        };
        if *probes >= MOST_PROBES || over {
            let cause = if over { AbortCause::UserTimeout } else { AbortCause::Retransmissions };
            self.timers.give_up(cause);
            return true;
        }
        *probes += 1;
        let place = PROBES_AFTER.len().min(*probes as usize + 1) - 1;
        self.timers.deadline = now + Span::from_secs(PROBES_AFTER[place]);
        self.timers.bound_by_user_timeout(now);
        self.episode.resend_head = true;
        self.hold_nothing();
        true
    }
}
