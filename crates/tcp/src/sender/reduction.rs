//! Reductions of the window, which all recoveries have: by a mark, by a loss, by a timeout.

use congestion::{Controller, Loss, TcpPolicy};
use units::Time;

use crate::config::{Config, RecoveryExit, SsthreshBasis};

use super::core::Core;
use super::episode::Phase;
use super::recovery::LossRecovery;

impl Core {
    /// The receiver echoes that a router has marked data. Losses have reduced the window already
    /// (RFC 3168 section 6.1.2). Comes before the window could grow for this ACK. In Linux cwnd falls
    /// in proportion to what arrives and does not grow until something beyond what was outstanding is
    /// acknowledged (`TCP_CA_CWR`). RFC 3168 only requires that no ACK with an echo makes it grow.
    #[cold]
    pub(super) fn on_mark<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        config: &Config,
        acked: u64,
    ) {
        let has_effect = recovery.begin_mark(self, now);
        // In Linux the ACK that ends a recovery may begin another reduction (`tcp_enter_cwr`). This was
        // not compared for counted marks.
        let features = self.features.as_ref();
        let is_counted = features.is_some_and(|one| one.measurement.marked_bytes.is_some());
        let is_over = if self.is_linux && !is_counted {
            !self.is_reduced_by_mark()
        } else {
            self.stream.una > self.reduction.at
        };
        let is_due = self.episode.phase == Phase::Open && is_over && has_effect;
        if is_due && self.controller.answers_mark(now) {
            let flight = self.flight_to_reduce(config);
            // What this ACK covers was outstanding when the mark was made. cwnd has it already.
            let halves_cwnd = config.ssthresh_basis == SsthreshBasis::Cwnd || self.is_linux;
            let flight = if halves_cwnd { flight } else { flight + acked };
            let before = self.controller.window().cwnd;
            self.controller.on_congestion_mark(&Loss { now, flight, repeated: false });
            self.note_reduction();
            self.reduction.by_mark = true;
            self.stop_jump();
            recovery.on_reduced_by_mark(self, before);
        }
    }

    pub(super) fn enter_fast_recovery<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        config: &Config,
    ) {
        if self.repairs_mtu_probe(recovery, now) {
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
            self.send_everything_again(recovery, now);
            return;
        }
        self.episode.phase = Phase::FastRecovery;
        // Linux goes on with the reduction that the mark has begun, and ends with it.
        let goes_on = after_mark && self.is_linux;
        self.episode.recover = if goes_on { self.reduction.at } else { self.stream.max };
        self.episode.first_partial_ack = true;
        self.timers.begin_user_timeout(now, config);
        self.scoreboard.begin_recovery(self.stream.una);
        recovery.on_fast_recovery(self, config);
    }

    /// A recovery begins. Returns true if a notice of the loss leaves the window as it is.
    fn spares_window(&mut self) -> bool {
        let cwnd = self.controller.window().cwnd;
        let notices = self.features.as_mut().and_then(|features| features.notices.as_mut());
        notices.is_some_and(|notices| notices.begin_recovery(cwnd))
    }

    /// Returns true if the recovery that has begun last leaves the window as it is.
    pub(super) fn is_window_spared(&self) -> bool {
        let notices = self.features.as_ref().and_then(|features| features.notices.as_ref());
        notices.is_some_and(|notices| notices.is_spared())
    }

    /// A duplicate ACK in fast recovery: without a notice it may show that another loss is no error of
    /// a link. Then the window that was spared is reduced.
    pub(super) fn doubt_notice<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        config: &Config,
    ) {
        let threshold = self.controller.duplicate_threshold(config.dupthresh);
        let Some(notices) = self.features.as_mut().and_then(|one| one.notices.as_mut()) else {
            return;
        };
        if notices.is_withdrawn(self.stream.una, threshold) {
            let loss = Loss { now, flight: self.flight_to_reduce(config), repeated: false };
            let before = self.controller.window().cwnd;
            self.controller.on_loss(&loss);
            self.note_reduction();
            self.stop_jump();
            recovery.on_reduced_by_loss(self, before);
        }
    }

    /// Whatever is outstanding counts as lost, but for what is sacked.
    fn send_everything_again<R: LossRecovery>(&mut self, recovery: &mut R, now: Time) {
        self.controller.window_mut().count_singly_after_timeout();
        self.episode.begin_timeout(self.stream.max);
        self.timed = None;
        recovery.lose_everything(self, now);
    }

    /// All that was outstanding when the loss was found is acknowledged.
    pub(super) fn leave_fast_recovery(&mut self, now: Time, config: &Config, uses_sack: bool) {
        self.episode.phase = Phase::Open;
        self.notify_recovery_exit(now, uses_sack);
        if config.recovery_exit == RecoveryExit::FlightSize {
            self.bound_window_by(self.stream.flight());
        }
    }

    /// cwnd is at most `flight` and a segment (RFC 6582 section 3.2 step 3, first option).
    pub(super) fn bound_window_by(&mut self, flight: u64) {
        let most = flight + self.stream.mss;
        let window = self.controller.window_mut();
        window.cwnd = window.cwnd.min(most);
    }

    /// A fast recovery ends. The controller has not seen the losses of one that spared the window, and
    /// then only what duplicate ACKs have added to it is taken back.
    pub(super) fn notify_recovery_exit(&mut self, now: Time, uses_sack: bool) {
        let notices = self.features.as_mut().and_then(|features| features.notices.as_mut());
        match notices.and_then(|notices| notices.end_recovery()) {
            None => self.controller.on_recovery_exit(now),
            Some(_) if uses_sack => {}
            Some(cwnd) => self.controller.window_mut().cwnd = cwnd,
        }
    }

    /// The retransmission timer expired (RFC 5681 section 3.1, RFC 6298 rules 5.4 to 5.6).
    pub(super) fn on_retransmission_timeout<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        config: &Config,
        heard: Time,
    ) {
        self.counters.timeouts += 1;
        self.timers.retries += 1;
        // The time runs since a fast retransmission, if nothing was acknowledged since.
        let runs = self.episode.phase == Phase::FastRecovery && self.episode.first_partial_ack;
        if self.timers.retries == 1 && !runs {
            self.timers.begin_user_timeout(now, config);
        }
        let is_closed = self.peer.advertised == 0;
        if let Some(cause) = self.timers.timeout_ends_connection(now, config, heard, is_closed) {
            self.timers.give_up(cause);
            return;
        }
        self.renew_quota();
        let flight = match config.ssthresh_basis {
            SsthreshBasis::FlightSize if !self.is_linux => self.stream.flight(),
            _ => self.flight_to_reduce(config),
        };
        let is_repeated = self.timers.retries > 1 || self.is_in_window_of_mark();
        let repeated = recovery.prepare_for_timeout(self, config) || is_repeated;
        self.controller.on_timeout(&Loss { now, flight, repeated });
        self.note_reduction();
        if let Some(features) = &mut self.features
            && let Some(jump) = &mut features.jump
        {
            jump.on_timeout(self.controller.window_mut());
        }
        self.send_everything_again(recovery, now);
        self.doubt_path(recovery, now);
        if self.controller.backs_off() {
            self.rtt.back_off(&config.rto);
        }
        self.restart_timer(now);
        self.timers.bound_by_user_timeout(now);
    }
}
