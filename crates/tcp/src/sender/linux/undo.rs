//! The end of a recovery, and reductions that were needless (`tcp_fastretrans_alert`, `tcp_process_loss`).
//!
//! - All retransmissions were reported as duplicates (`tcp_try_undo_dsack`).
//! - The original arrived late: an ACK of new data echoes a timestamp from before the first
//!   retransmission (Eifel, RFC 3522 and RFC 4015; `tcp_packet_delayed`), or nothing was retransmitted yet. In
//!   the middle of a recovery this undoes it only if no retransmission is in the network. If one is,
//!   nothing is retransmitted until the next ACK (`tcp_try_undo_partial`).
//! - F-RTO after a timeout (RFC 5682).

use congestion::Controller;
use units::Time;

use crate::config::{Config, RecoveryExit};
use crate::timestamps::echoed;

use super::{Frto, Phase, Sender};
use crate::sender::acknowledge::Acknowledgement;

impl Sender {
    /// The window is about to be reduced. `restores`: an undo gives it back.
    pub(super) fn remember_window(&mut self, restores: bool) {
        let window = *self.controller.window();
        let (una, mss) = (self.stream.una, self.stream.mss);
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight()) else { return };
        if self.episode.phase != Phase::FastRecovery && !flight.has_copies() {
            linux.undo.forget_copies();
        }
        let probe = if linux.probe.is_copy() { mss } else { 0 };
        linux.undo.remember(&window, una, flight.repeating() + probe, restores);
    }

    /// An ACK has come, which acknowledges `acked` new bytes.
    pub(super) fn review_recovery(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        acked: u64,
    ) {
        let echo = ack.round_trip.map(|round_trip| echoed(now, round_trip));
        let is_over = self.stream.una >= self.episode.recover;
        match self.episode.phase {
            Phase::FastRecovery if is_over => self.leave_recovery(now, config, echo),
            Phase::FastRecovery if acked > 0 => {
                self.undo_in_recovery(now, echo, self.stream.una - acked)
            }
            Phase::FastRecovery | Phase::Open => {}
            Phase::Timeout => self.review_timeout(now, echo, acked > 0, is_over),
        }
        let is_reported = self.known_linux().is_some_and(|linux| linux.undo.is_reported());
        if is_reported && self.episode.phase != Phase::Timeout && !self.is_reduced_by_mark() {
            if let Some(linux) = self.linux() {
                linux.rack.on_undo_by_reports();
            }
            self.take_back(now);
        }
    }

    /// Everything that was outstanding when the loss was found is acknowledged.
    fn leave_recovery(&mut self, now: Time, config: &Config, echo: Option<u32>) {
        if self.is_reduction_needless(echo) {
            self.take_back(now);
            return;
        }
        self.end_fast_recovery(now);
        if config.recovery_exit == RecoveryExit::FlightSize {
            let most = self.counted_flight() + self.stream.mss;
            let window = self.controller.window_mut();
            window.cwnd = window.cwnd.min(most);
        }
        if let Some(linux) = self.linux() {
            linux.rack.on_recovery_end();
        }
    }

    fn end_fast_recovery(&mut self, now: Time) {
        self.episode.phase = Phase::Open;
        self.reductions.by_mark = false;
        self.tell_recovery_exit(now);
        if let Some(linux) = self.linux() {
            linux.reduction = None;
            linux.frto = Frto::Off;
            linux.used.note_change(now);
        }
    }

    /// An ACK acknowledges a part; everything up to `before` was acknowledged before it.
    fn undo_in_recovery(&mut self, now: Time, echo: Option<u32>, before: u64) {
        let mss = self.stream.mss;
        let Some(linux) = self.linux() else { return };
        if !(linux.undo.is_armed() && linux.undo.shows_original(echo)) {
            return;
        }
        linux.rack.note_reordering(before, mss);
        let repeating = self.scoreboard.flight().is_some_and(|flight| flight.repeating() > 0);
        if repeating {
            if let Some(linux) = self.linux() {
                linux.holds_repairs = true;
            }
            return;
        }
        self.find_all_lost();
        self.take_back(now);
        if let Some(linux) = self.linux() {
            linux.news.undone = true;
        }
    }

    /// An ACK after a timeout.
    fn review_timeout(&mut self, now: Time, echo: Option<u32>, advanced: bool, is_over: bool) {
        let Some(linux) = self.linux() else { return };
        let unmasked = linux.frto != Frto::Off && linux.news.original;
        if (advanced && self.is_reduction_needless(echo)) || unmasked {
            self.find_all_lost();
            self.take_back(now);
        } else if is_over {
            self.episode.phase = Phase::Open;
            if let Some(linux) = self.linux() {
                linux.frto = Frto::Off;
                linux.rack.on_recovery_end();
            }
        }
    }

    fn is_reduction_needless(&self, echo: Option<u32>) -> bool {
        let undo = self.known_linux().map(|linux| &linux.undo);
        undo.is_some_and(|undo| {
            undo.is_armed() && (undo.is_reported() || undo.shows_original(echo))
        })
    }

    fn find_all_lost(&mut self) {
        if let Some(flight) = self.scoreboard.flight_mut() {
            flight.find_all();
        }
    }

    /// The last reduction was needless.
    fn take_back(&mut self, now: Time) {
        let before = self.controller.window().cwnd;
        if self.episode.phase == Phase::FastRecovery {
            self.end_fast_recovery(now);
            // Not ssthresh, as at the end of other recoveries.
            self.controller.window_mut().cwnd = before;
        }
        self.episode.phase = Phase::Open;
        let Some(linux) = self.linux() else { return };
        linux.frto = Frto::Off;
        linux.reduction = None;
        linux.rack.look_again();
        if let Some((cwnd, ssthresh)) = linux.undo.take() {
            // Nothing was reduced that the receiver has to know (`tcp_ecn_withdraw_cwr`).
            self.reductions.is_unreported &= ssthresh <= self.controller.window().ssthresh;
            self.controller.on_spurious_loss(cwnd, ssthresh);
            self.note_change_of_window(now);
        }
    }
}
