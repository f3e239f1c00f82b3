//! The end of a recovery, and reductions that were needless (`tcp_fastretrans_alert`,
//! `tcp_process_loss`).
//!
//! - All retransmissions were reported as duplicates (`tcp_try_undo_dsack`).
//! - The original arrived late: an ACK of new data echoes a timestamp from before the first
//!   retransmission (Eifel, RFC 3522 and RFC 4015; `tcp_packet_delayed`), or nothing was
//!   retransmitted yet. In the middle of a recovery this undoes it only if no retransmission is in
//!   the network. If one is, nothing is retransmitted until the next ACK (`tcp_try_undo_partial`).
//! - F-RTO after a timeout (RFC 5682).

use congestion::Controller;
use units::Time;

use crate::config::RecoveryExit;
use crate::timestamps::echoed;

use super::{Acknowledgement, Config, Core, Frto, Linux, Phase};

impl Linux {
    /// The window is about to be reduced. `restores`: an undo gives it back.
    pub(super) fn remember_window(&mut self, core: &Core, restores: bool) {
        let Some(flight) = core.scoreboard.flight() else { return };
        if core.episode.phase != Phase::FastRecovery && !flight.has_copies() {
            self.undo.forget_copies();
        }
        let probe = if self.probe.is_copy() { core.stream.mss } else { 0 };
        let repeating = flight.repeating() + probe;
        self.undo.remember(core.controller.window(), core.stream.una, repeating, restores);
    }

    /// An ACK has come, which acknowledges `acked` new bytes.
    pub(super) fn review_recovery(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        acked: u64,
    ) {
        let echo = || ack.round_trip.map(|round_trip| echoed(now, round_trip));
        let una = core.stream.una;
        let is_over = una >= core.episode.recover;
        match core.episode.phase {
            Phase::FastRecovery if is_over => self.leave_recovery(core, now, config, echo()),
            Phase::FastRecovery if acked > 0 => {
                self.undo_in_recovery(core, now, echo(), una - acked);
            }
            Phase::FastRecovery | Phase::Open => {}
            Phase::Timeout => self.review_timeout(core, now, echo(), acked > 0, is_over),
        }
        let may_undo = core.episode.phase != Phase::Timeout && !core.is_reduced_by_mark();
        if self.undo.is_reported() && may_undo {
            self.rack.on_undo_by_reports();
            self.take_back(core, now);
        }
    }

    /// Everything that was outstanding when the loss was found is acknowledged.
    fn leave_recovery(&mut self, core: &mut Core, now: Time, config: &Config, echo: Option<u32>) {
        if self.undo.is_needless(echo) {
            self.take_back(core, now);
            return;
        }
        self.end_fast_recovery(core, now);
        if config.recovery_exit == RecoveryExit::FlightSize {
            let most = core.counted_flight() + core.stream.mss;
            let window = core.controller.window_mut();
            window.cwnd = window.cwnd.min(most);
        }
        self.rack.on_recovery_end();
    }

    fn end_fast_recovery(&mut self, core: &mut Core, now: Time) {
        core.episode.phase = Phase::Open;
        core.reduction.by_mark = false;
        core.notify_recovery_exit(now, true);
        self.reduction = None;
        self.frto = Frto::Off;
        self.used.note_change(now);
    }

    /// An ACK acknowledges a part; everything up to `before` was acknowledged before it.
    fn undo_in_recovery(&mut self, core: &mut Core, now: Time, echo: Option<u32>, before: u64) {
        if !(self.undo.is_armed() && self.undo.shows_original(echo)) {
            return;
        }
        self.rack.note_reordering(before, core.stream.mss);
        let Some(flight) = core.scoreboard.flight_mut() else { return };
        if flight.repeating() > 0 {
            self.holds_repairs = true;
            return;
        }
        flight.find_all();
        self.take_back(core, now);
        self.news.undone = true;
    }

    /// An ACK after a timeout.
    fn review_timeout(
        &mut self,
        core: &mut Core,
        now: Time,
        echo: Option<u32>,
        advanced: bool,
        is_over: bool,
    ) {
        let unmasked = self.frto != Frto::Off && self.news.original;
        if (advanced && self.undo.is_needless(echo)) || unmasked {
            if let Some(flight) = core.scoreboard.flight_mut() {
                flight.find_all();
            }
            self.take_back(core, now);
        } else if is_over {
            core.episode.phase = Phase::Open;
            self.frto = Frto::Off;
            self.rack.on_recovery_end();
        }
    }

    /// The last reduction was needless.
    fn take_back(&mut self, core: &mut Core, now: Time) {
        let before = core.controller.window().cwnd;
        if core.episode.phase == Phase::FastRecovery {
            self.end_fast_recovery(core, now);
            // Not ssthresh, as at the end of other recoveries.
            core.controller.window_mut().cwnd = before;
        }
        core.episode.phase = Phase::Open;
        self.frto = Frto::Off;
        self.reduction = None;
        self.rack.look_again();
        if let Some((cwnd, ssthresh)) = self.undo.take() {
            // Nothing was reduced that the receiver has to know (`tcp_ecn_withdraw_cwr`).
            core.reduction.is_unreported &= ssthresh <= core.controller.window().ssthresh;
            core.controller.on_spurious_loss(cwnd, ssthresh);
            self.used.note_change(now);
        }
    }
}
