//! Loss recovery: from the detection of a loss to its repair.
//!
//! Reno leaves fast recovery with the first new ACK (RFC 5681 section 3.2), NewReno when all that
//! was outstanding is acknowledged (RFC 6582), SACK likewise with a scoreboard (RFC 6675). A
//! timeout ends all of them and retransmits everything, as ACKs allow. The recovery of Linux is in
//! `linux`.

use crate::config::{Recovery, RecoveryExit, SsthreshBasis};
use congestion::{Controller, Loss, PartialAck, RecoveryStyle, TcpPolicy};
use units::Time;

use crate::config::Config;

use super::{Phase, Sender};

impl Sender {
    /// A duplicate ACK.
    pub(super) fn on_duplicate(&mut self, now: Time, config: &Config) {
        match self.episode.phase {
            Phase::Open | Phase::Timeout => {
                self.episode.duplicates += 1;
                if self.loss_is_certain(config) && self.may_enter_recovery() {
                    self.enter_fast_recovery(now, config);
                }
            }
            Phase::FastRecovery => {
                if self.has_instruments() {
                    self.doubt_notice(now, config);
                }
                if self.uses_sack() {
                    return;
                }
                // Each duplicate ACK tells of a segment that has left the network (RFC 5681
                // section 3.2 step 4).
                self.controller.window_mut().cwnd += self.stream.mss;
            }
        }
    }

    fn loss_is_certain(&self, config: &Config) -> bool {
        self.episode.duplicates >= self.controller.duplicate_threshold(config.dupthresh)
            || (self.uses_sack() && self.scoreboard.head_is_lost(self.stream.una))
    }

    /// After a recovery or a timeout, duplicate ACKs for what had been sent before it say nothing
    /// about a new loss (RFC 6582 section 3.2 step 2, RFC 6675 section 5.1). Reno knows this only
    /// after a timeout, and so takes each loss of a window for a new one.
    fn may_enter_recovery(&self) -> bool {
        match self.recovery {
            Recovery::Reno => self.episode.phase == Phase::Open,
            Recovery::NewReno => self.stream.una > self.episode.recover,
            Recovery::Sack => {
                self.episode.phase == Phase::Open && self.stream.una >= self.episode.recover
            }
            // Time or reports show losses, not the number of duplicates.
            Recovery::Linux | Recovery::Snack => false,
        }
    }

    /// The receiver echoes that a router has marked data. Losses have reduced the window already
    /// (RFC 3168 section 6.1.2). Comes before the window could grow for this ACK. In Linux cwnd falls
    /// in proportion to what arrives and does not grow until something beyond what was outstanding is
    /// acknowledged (`TCP_CA_CWR`); RFC 3168 only asks that no ACK with an echo makes it grow.
    #[cold]
    pub(super) fn on_mark(&mut self, now: Time, config: &Config, acked: u64) {
        self.keep_reductions();
        // An ACK may end the reduction for one mark and echo the next (`tcp_fastretrans_alert`): what is reduced
        // then is what the first has left.
        self.end_reduction_by_mark(now);
        // In Linux the ACK that ends a recovery may begin another reduction (`tcp_enter_cwr`). Whether it does
        // with counted marks was not compared.
        let is_counted = self.marked_by_this_ack().is_some();
        let is_over = if self.recovers_like_linux() && !is_counted {
            !self.is_reduced_by_mark()
        } else {
            self.stream.una > self.reductions.at
        };
        let is_due = self.episode.phase == Phase::Open && is_over && !self.ignores_mark();
        if is_due && self.controller.answers_mark(now) {
            let flight = self.flight_to_reduce(config);
            // What this ACK covers was outstanding when the mark was made. cwnd has it already.
            let halves_cwnd =
                config.ssthresh_basis == SsthreshBasis::Cwnd || self.recovers_like_linux();
            let flight = if halves_cwnd { flight } else { flight + acked };
            let before = self.controller.window().cwnd;
            self.controller.on_congestion_mark(&Loss { now, flight, repeated: false });
            self.note_reduction();
            self.reductions.by_mark = true;
            self.stop_jump();
            self.reduce_in_proportion(before);
        }
    }

    /// Bytes that a loss halves.
    pub(super) fn flight_to_reduce(&self, config: &Config) -> u64 {
        match config.ssthresh_basis {
            SsthreshBasis::FlightSize if self.recovers_like_linux() => {
                self.controller.window().cwnd
            }
            SsthreshBasis::FlightSize => self.stream.flight() - self.episode.limited,
            SsthreshBasis::Pipe => self.scoreboard.pipe(self.stream.una, self.stream.max),
            SsthreshBasis::Cwnd => self.controller.window().cwnd,
        }
    }

    /// The larger window of the start was too large.
    pub(super) fn stop_jump(&mut self) {
        if let Some((jump, window)) = self.jump() {
            jump.on_loss(window);
        }
    }

    pub(super) fn note_reduction(&mut self) {
        self.reductions.note(self.stream.max);
    }

    /// The controller may see a loss before the duplicate threshold does.
    pub(super) fn enter_recovery_early(&mut self, now: Time, config: &Config) {
        if self.episode.phase == Phase::Open
            && self.stream.flight() > 0
            && self.may_enter_recovery()
        {
            self.enter_fast_recovery(now, config);
        }
    }

    pub(super) fn enter_fast_recovery(&mut self, now: Time, config: &Config) {
        if self.repairs_mtu_probe(now) {
            return;
        }
        let loss = Loss { now, flight: self.flight_to_reduce(config), repeated: false };
        let after_mark = self.goes_on_with_mark();
        if !self.spares_window() {
            if after_mark {
                self.controller.on_loss_after_mark(&loss);
            } else {
                self.controller.on_loss(&loss);
                self.note_reduction();
            }
            self.stop_jump();
        }
        self.counters.fast_recoveries += 1;
        if self.controller.repeats_everything() {
            self.send_everything_again(now);
            return;
        }
        self.episode.phase = Phase::FastRecovery;
        // Linux goes on with the reduction that the mark has begun, and ends with it.
        let goes_on = after_mark && self.recovers_like_linux();
        self.episode.recover = if goes_on { self.reductions.at } else { self.stream.max };
        // With a scoreboard of segments the head is lost only if it is found to be.
        self.episode.resend_head = !self.recovers_like_linux();
        self.episode.rescued = false;
        self.episode.first_partial_ack = true;
        self.timers.begin_user_timeout(now, config);
        self.scoreboard.begin_recovery(self.stream.una);
        if !self.uses_sack() {
            // The segments behind the duplicate ACKs have left the network (RFC 5681 section 3.2
            // step 3).
            let threshold = self.controller.duplicate_threshold(config.dupthresh);
            let left = u64::from(self.episode.duplicates.min(threshold));
            self.controller.window_mut().cwnd += left * self.stream.mss;
        }
    }

    /// Whatever is outstanding counts as lost, but for what is sacked.
    fn send_everything_again(&mut self, now: Time) {
        self.controller.window_mut().count_singly_after_timeout();
        self.episode.begin_timeout(self.stream.max);
        self.timed = None;
        if self.recovers_like_linux() {
            self.lose_all_overdue(now);
        } else {
            self.note_losses(now, self.stream.una, self.stream.max);
            self.scoreboard.lose_everything(self.stream.una, self.stream.max);
        }
    }

    /// A fast recovery ends. The controller has not seen the losses of one that spared the window.
    pub(super) fn tell_recovery_exit(&mut self, now: Time) {
        if !self.end_spared_recovery() {
            self.controller.on_recovery_exit(now);
        }
    }

    /// Returns whether the retransmission timer is to be restarted.
    pub(super) fn on_new_data_in_fast_recovery(
        &mut self,
        now: Time,
        config: &Config,
        acked: u64,
    ) -> bool {
        if self.stream.una >= self.episode.recover || self.recovery == Recovery::Reno {
            self.episode.phase = Phase::Open;
            self.tell_recovery_exit(now);
            if config.recovery_exit == RecoveryExit::FlightSize {
                let most = self.stream.flight() + self.stream.mss;
                let window = self.controller.window_mut();
                window.cwnd = window.cwnd.min(most);
            }
            return true;
        }
        let style = if self.recovery == Recovery::Snack {
            self.inflate(acked);
            RecoveryStyle::Pipe
        } else if self.uses_sack() {
            RecoveryStyle::Pipe
        } else {
            self.episode.resend_head = true;
            RecoveryStyle::Inflation
        };
        self.controller.on_partial_ack(&PartialAck { acked, style });
        // Without SACK only the first partial ACK restarts the timer, so that a window with many
        // losses ends in a timeout and not in one RTT per loss (RFC 6582 section 3.2 step 3; the
        // "Impatient" variant of RFC 3782 section 4).
        let first = std::mem::replace(&mut self.episode.first_partial_ack, false);
        first || style == RecoveryStyle::Pipe
    }

    /// The retransmission timer expired (RFC 5681 section 3.1, RFC 6298 rules 5.4 to 5.6).
    pub(super) fn on_retransmission_timeout(&mut self, now: Time, config: &Config, heard: Time) {
        if self.recovery == Recovery::Snack {
            self.on_timeout_with_snack(now, config, heard);
            return;
        }
        self.counters.timeouts += 1;
        self.timers.retries += 1;
        // The time runs since a fast retransmission, if nothing was acknowledged since.
        let runs = self.episode.phase == Phase::FastRecovery && self.episode.first_partial_ack;
        if self.timers.retries == 1 && !runs {
            self.timers.begin_user_timeout(now, config);
        }
        if let Some(cause) =
            self.timers.timeout_ends_connection(now, config, heard, self.peer.advertised == 0)
        {
            self.timers.give_up(cause);
            return;
        }
        self.episode.quota = self.controller.retransmission_quota();
        let flight = match config.ssthresh_basis {
            SsthreshBasis::FlightSize if !self.recovers_like_linux() => self.stream.flight(),
            _ => self.flight_to_reduce(config),
        };
        let mut repeated =
            self.timers.retries > 1 || self.reductions.is_in_window_of_mark(self.stream.una);
        if self.recovers_like_linux() {
            repeated |= self.episode.phase == Phase::FastRecovery;
            self.prepare_for_timeout(config);
        }
        let loss = Loss { now, flight, repeated };
        self.controller.on_timeout(&loss);
        self.note_reduction();
        if let Some((jump, window)) = self.jump() {
            jump.on_timeout(window);
        }
        self.send_everything_again(now);
        if self.has_instruments() {
            self.doubt_path(now);
        }
        if self.controller.backs_off() {
            self.rtt.back_off(&config.rto);
        }
        self.restart_timer(now);
        self.timers.bound_by_user_timeout(now);
    }
}
