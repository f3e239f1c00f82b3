//! Recovery by SNACK (SCPS-TP): holes that the receiver reports are retransmitted at once.
//!
//! The holes are in `missing`.
//!
//! Rules of the reference implementation:
//!
//! - A reported hole is retransmitted unless its embargo runs. When all of it has been
//!   retransmitted, the embargo is a smoothed RTT, within the bounds of the RTO, for the first
//!   hole, and twice that for all others. It doubles each time.
//! - A reported hole is retransmitted even if it is larger than cwnd.
//! - After a loss by congestion each duplicate ACK lets another segment of new data leave, once as
//!   many have come as cwnd was reduced by.
//! - After losses by congestion the window is reduced, once until all that was outstanding is
//!   acknowledged. After losses by corruption, window and timer stay as they are, also when the
//!   timer expires.
//! - After `outage_timeouts` timeouts in a row the link is out: only probes are sent, after 0, 5,
//!   6, 12, 24, 48 and 60 seconds, 32 at most, until a packet of the other end arrives. Probes have
//!   the first byte that is not acknowledged.
//! - A signal of a gateway that the link is out has the same effect, until the signal that it is
//!   available.
//! - The token bucket of the route holds back whatever it has no credit for. All connections of a
//!   route share it, so it belongs to the host (`middlebox::Bucket`), and not to the connection.
//!
//! - While a gateway signals errors of a link, losses count as corruption. The reference
//!   implementation sends such a signal at most once in a second, to all who have sent lately.
//!
//! Reconstructed, because the reference implementation was not clear or does not say:
//!
//! - A retransmission of the first hole restarts the timer.
//! - A timeout retransmits one segment. If an ACK of what was sent after the timeout reports no
//!   hole, and none is known, then all that is left of what was outstanding at the timeout is
//!   missing, and is retransmitted as far as cwnd allows. An earlier ACK says nothing about data
//!   that was on its way.
//! - While a signal says that the link is out, packets of the other end that were on their way do
//!   not end the outage. In the reference implementation they do, and the gateway answers the next
//!   packet with another signal.
//! - A signal of errors counts for the second in which the gateway is silent after it, and for a
//!   smoothed RTT more, in which losses of that second are reported. The manual does not say how
//!   long, and the code only notes the signal.
//! - An ACK of more takes back what duplicate ACKs before it have added (RFC 6582 section 3.2 step
//!   3).
//!
//! With best-effort transport, holes are given up after a number of retransmissions (`giving_up`).

use congestion::{Controller, Loss, PartialAck, RecoveryStyle, TcpPolicy};
use transport::{AbortCause, Range};
use units::{Span, Time};

use crate::config::Config;

use crate::sender::acknowledge::Acknowledgement;
use crate::sender::core::Core;
use crate::sender::episode::Phase;
use crate::sender::recovery::LossRecovery;
use crate::sender::transmit::{self, Chunk};
use crate::sender::usage::HeldBy;

use super::giving_up::Delivery;
use super::missing::Missing;
use super::{Cause, SILENCE_OF_SIGNALS, Scps};

/// Seconds from one probe of a link that is out to the next (`persist_array`).
const PROBES_AFTER: [u64; 7] = [0, 5, 6, 12, 24, 48, 60];
/// Probes without an answer after which the connection is aborted.
const MOST_PROBES: u32 = 32;

/// Recovery of a connection with SNACK.
#[derive(Debug)]
pub(crate) struct SnackRecovery {
    scps: Scps,
    /// Bounds of an embargo.
    bounds: (Span, Span),
    /// Holes that the receiver has.
    pub(super) missing: Missing,
    /// Probes since the link is out; `None` if it is not.
    outage: Option<u32>,
    /// A gateway has signalled that the link is out.
    is_signalled: bool,
    /// Time of the last timeout, and end of the data that was outstanding then, until it is known
    /// which part is missing.
    timed_out: Option<(Time, u64)>,
    /// End of the effect of the last signal of errors.
    corrupted_until: Time,
    /// Room for new data that duplicate ACKs have added since the last loss by congestion, in
    /// bytes.
    inflation: u64,
    /// Reliable, or best-effort with its state.
    pub(super) delivery: Delivery,
}

impl SnackRecovery {
    pub(crate) fn new(config: &Config, scps: Scps) -> Self {
        Self {
            scps,
            bounds: (config.rto.min, config.rto.max),
            missing: Missing::default(),
            outage: None,
            is_signalled: false,
            timed_out: None,
            corrupted_until: Time::ZERO,
            inflation: 0,
            delivery: Delivery::new(config, scps),
        }
    }

    /// Cause of losses that become known now.
    fn cause(&self, now: Time) -> Cause {
        if now < self.corrupted_until { Cause::Corruption } else { self.scps.cause }
    }

    /// Returns true if the link is known to be out.
    pub(super) fn is_out(&self) -> bool {
        self.outage.is_some()
    }

    /// An ACK that has been taken in reports `holes`.
    pub(crate) fn on_report(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        holes: impl Iterator<Item = Range>,
    ) {
        let (una, max) = (core.stream.una, core.stream.max);
        self.missing.acknowledge(una);
        let mut is_missing = false;
        for hole in holes {
            let hole = Range { start: hole.start.max(una), end: hole.end.min(max) };
            if hole.start < hole.end {
                self.missing.report(now, hole);
                is_missing = true;
            }
        }
        if is_missing && self.cause(now) == Cause::Congestion {
            self.answer_congestion(core, now, config);
        }
        self.end_outage(core, now);
    }

    /// An ACK up to `number` has been taken in, without a report. `caused` is the departure of the
    /// segment that it answers; without timestamps, one that left a round trip ago may have caused
    /// it.
    pub(crate) fn on_ack_without_report(
        &mut self,
        core: &mut Core,
        now: Time,
        number: u64,
        is_bare: bool,
        caused: Option<Time>,
    ) {
        let una = core.stream.una;
        let caused = caused.unwrap_or_else(|| now - core.rtt.srtt().unwrap_or(Span::ZERO));
        self.missing.acknowledge(una);
        // What arrives behind a hole would be reported.
        if is_bare
            && number == una
            && self.timed_out.is_some_and(|(at, end)| una < end && at <= caused)
            && self.missing.is_all_given_up()
            && let Some((_, end)) = self.timed_out.take()
        {
            self.missing.suspect(now, Range { start: una, end });
        }
        self.end_outage(core, now);
    }

    /// A packet of the other end has arrived: a link that was out is available again.
    fn end_outage(&mut self, core: &mut Core, now: Time) {
        if self.is_signalled {
            return;
        }
        let una = core.stream.una;
        let end = core.stream.max.min(una + core.stream.mss);
        let was_out = self.outage.take().is_some();
        if was_out && una < end {
            self.missing.end_embargoes();
            self.missing.suspect(now, Range { start: una, end });
        }
        if let Delivery::BestEffort(best_effort) = &mut self.delivery {
            best_effort.note_arrival();
            self.give_up_repeated(core, now);
        }
        if was_out {
            if let Some(pacer) = core.pacer() {
                pacer.let_go();
            }
            core.timers.retries = 0;
            if core.stream.una < core.stream.max {
                core.restart_timer(now);
            }
        }
        core.episode.resend_head |= self.missing.is_due();
    }

    /// A gateway signals that a link of the route is out, or available again.
    pub(crate) fn on_link_state(&mut self, core: &mut Core, now: Time, is_out: bool) {
        if self.is_signalled == is_out {
            return;
        }
        self.is_signalled = is_out;
        if !is_out {
            self.end_outage(core, now);
            return;
        }
        self.outage.get_or_insert(0);
        if let Some(pacer) = core.pacer() {
            pacer.hold();
        }
        core.timed = None;
        core.episode.resend_head = false;
        if core.stream.una < core.stream.max {
            core.restart_timer(now);
        }
    }

    /// A gateway signals that a link of the route has corrupted a packet.
    pub(crate) fn on_corruption(&mut self, core: &Core, now: Time) {
        if self.scps.corruption_signals {
            let round_trip = core.rtt.srtt().unwrap_or_else(|| core.rtt.rto());
            self.corrupted_until = now + SILENCE_OF_SIGNALS + round_trip;
        }
    }

    /// The window is reduced once until all that is outstanding now is acknowledged.
    fn answer_congestion(&mut self, core: &mut Core, now: Time, config: &Config) {
        if core.episode.phase != Phase::Open {
            return;
        }
        let loss = Loss { now, flight: core.flight_to_reduce(config), repeated: false };
        if core.reduction.is_in_window_of_mark(core.stream.una) {
            core.controller.on_loss_after_mark(&loss);
        } else {
            core.controller.on_loss(&loss);
            core.reduction.note(core.stream.max);
        }
        core.counters.fast_recoveries += 1;
        core.episode.phase = Phase::FastRecovery;
        core.episode.recover = core.stream.max;
        core.episode.first_partial_ack = true;
        self.inflation = 0;
    }

    /// The next retransmission, or a probe of a link that is out.
    #[cold]
    fn next_repair(&mut self, core: &mut Core, now: Time) -> Option<Chunk> {
        let (una, mss) = (core.stream.una, core.stream.mss);
        if self.outage.is_some() {
            return self.next_outage_probe(core, now);
        }
        self.missing.acknowledge(una);
        let range = self.missing.next(mss)?;
        let is_held = self.cause(now) == Cause::Congestion && {
            let cwnd = core.controller.window().cwnd;
            let room = cwnd.max(self.missing.largest_reported().next_multiple_of(mss));
            self.missing.in_flight(now) + mss > room
        };
        if is_held || core.episode.quota == 0 {
            core.held_by = HeldBy::CongestionWindow;
            return None;
        }
        let chunk = transmit::repeat(core, self, now, range);
        if range.start == una {
            core.restart_timer(now);
        }
        // Before the first sample it is the RTO of the start.
        let (least, most) = self.bounds;
        let of_start = core.rtt.rto();
        let round_trip = core.rtt.srtt().map_or(of_start, |srtt| srtt.clamp(least, most));
        self.missing.follow(now, range, una, round_trip);
        core.episode.resend_head = self.missing.is_due();
        Some(chunk)
    }

    fn next_outage_probe(&self, core: &mut Core, now: Time) -> Option<Chunk> {
        let una = core.stream.una;
        // The number of the last byte, of a FIN.
        let length = u64::from(una < core.stream.written);
        // A receiver that is behind answers the FIN only.
        let fin = length == 0 && self.delivery.is_ahead();
        let start = if length > 0 || fin { una } else { una - 1 };
        if let Some(pacer) = core.pacer() {
            pacer.hold();
        }
        core.timers.last_sent = now;
        core.counters.segments += length;
        core.counters.bytes += length;
        (una < core.stream.max).then_some(Chunk { start, length, fin, push: false, again: true })
    }

    /// Sends the next probe if the link is out. Returns true if it is.
    fn probe_outage(&mut self, core: &mut Core, now: Time) -> bool {
        let Some(probes) = &mut self.outage else { return false };
        let over = now >= core.timers.gives_up_at;
        if *probes >= MOST_PROBES || over {
            let cause = if over { AbortCause::UserTimeout } else { AbortCause::Retransmissions };
            core.timers.give_up(cause);
            return true;
        }
        *probes += 1;
        let place = PROBES_AFTER.len().min(*probes as usize + 1) - 1;
        core.timers.deadline = now + Span::from_secs(PROBES_AFTER[place]);
        core.timers.bound_by_user_timeout(now);
        core.episode.resend_head = true;
        if let Some(pacer) = core.pacer() {
            pacer.let_go();
        }
        true
    }

    /// Cause of the end of the connection, if it ends with this timeout.
    fn cause_of_end(
        &self,
        core: &mut Core,
        now: Time,
        config: &Config,
        heard: Time,
    ) -> Option<AbortCause> {
        let is_closed = core.peer.advertised == 0;
        let of_user = self.delivery.is_given_up_by_user(now, core.timers.gives_up_at);
        let timers = &mut core.timers;
        of_user.or_else(|| timers.timeout_ends_connection(now, config, heard, is_closed))
    }
}

impl LossRecovery for SnackRecovery {
    const FOLLOWS_ACKS: bool = false;

    fn uses_sack(&self) -> bool {
        false
    }

    /// Reports show what is missing, and nothing else does.
    fn is_duplicate(&self, _ack: &Acknowledgement, _window_moved: bool, _sacks: bool) -> bool {
        false
    }

    fn on_duplicate(&mut self, _core: &mut Core, _now: Time, _config: &Config) {}

    /// After a loss by congestion it shows that another segment has left the network.
    fn on_idle_ack(&mut self, core: &mut Core) {
        if core.episode.phase == Phase::FastRecovery {
            self.inflation += core.stream.mss;
        }
    }

    fn on_new_data_in_fast_recovery(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        acked: u64,
    ) -> bool {
        if core.stream.una >= core.episode.recover {
            core.leave_fast_recovery(now, config, false);
            return true;
        }
        self.inflation = self.inflation.saturating_sub(acked);
        core.controller.on_partial_ack(&PartialAck { acked, style: RecoveryStyle::Pipe });
        core.episode.first_partial_ack = false;
        true
    }

    /// A loss that the controller has seen is repaired when the receiver reports it.
    fn finish_ack(
        &mut self,
        _core: &mut Core,
        _now: Time,
        _config: &Config,
        _ack: &Acknowledgement,
        _window_moved: bool,
        _saw_loss: bool,
    ) {
    }

    /// The retransmission timer, or that of the probes of a link that is out, has expired.
    fn on_retransmission_timeout(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        heard: Time,
    ) {
        if self.probe_outage(core, now) || self.waits_for_receiver(core, now) {
            return;
        }
        core.counters.timeouts += 1;
        core.timers.retries += 1;
        if core.timers.retries == 1 && !self.delivery.is_ahead() {
            core.timers.begin_user_timeout(now, config);
        }
        if let Some(cause) = self.cause_of_end(core, now, config, heard) {
            core.timers.give_up(cause);
            return;
        }
        core.renew_quota();
        let (una, max, mut in_a_row) = (core.stream.una, core.stream.max, core.timers.retries);
        let mut end = max.min(una + core.stream.mss);
        let flight = core.flight_to_reduce(config);
        let repeated =
            core.timers.retries > 1 || core.reduction.is_in_window_of_mark(core.stream.una);
        if let Delivery::BestEffort(best_effort) = &mut self.delivery {
            in_a_row = best_effort.count_timeout();
            if best_effort.sends_once() {
                end = max;
            }
            self.missing.end_rounds();
        }
        let is_out = self.scps.outage_timeouts.is_some_and(|most| in_a_row >= most);
        self.timed_out = Some((now, max));
        self.missing.start_again();
        self.missing.suspect(now, Range { start: una, end });
        if is_out {
            self.outage = Some(0);
            if let Some(pacer) = core.pacer() {
                pacer.hold();
            }
        } else if self.cause(now) == Cause::Congestion {
            core.controller.on_timeout(&Loss { now, flight, repeated });
            core.reduction.note(core.stream.max);
            core.controller.window_mut().count_singly_after_timeout();
            core.episode.phase = Phase::Timeout;
            core.episode.recover = max;
            if core.controller.backs_off() {
                core.rtt.back_off(&config.rto);
            }
        }
        core.timed = None;
        core.episode.limited = 0;
        self.give_up_repeated(core, now);
        core.episode.resend_head = !is_out;
        if core.stream.una < core.stream.max {
            core.restart_timer(now);
            core.timers.bound_by_user_timeout(now);
        }
    }

    fn next_head(&mut self, core: &mut Core, now: Time) -> Option<Chunk> {
        self.next_repair(core, now)
    }

    fn next_lost(&self, core: &Core) -> Option<Range> {
        if core.episode.phase == Phase::FastRecovery {
            return None;
        }
        core.scoreboard.next_lost(core.stream.una, core.stream.mss)
    }

    fn room(&self, core: &Core, config: &Config) -> u64 {
        let cwnd = core.controller.window().cwnd;
        match core.episode.phase {
            Phase::Open if !config.limited_transmit => {
                cwnd.saturating_sub(core.stream.flight() - core.scoreboard.early())
            }
            Phase::Open => cwnd.saturating_sub(core.stream.flight()),
            Phase::FastRecovery => (cwnd + self.inflation).saturating_sub(core.stream.flight()),
            Phase::Timeout => cwnd.saturating_sub(core.pipe()),
        }
    }
}
