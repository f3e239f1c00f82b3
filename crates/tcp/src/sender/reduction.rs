//! Reductions of the window, which all recoveries have: by a mark, by a loss, by a timeout.

use congestion::{Controller, Loss, TcpPolicy};
use units::Time;

use crate::config::{Config, RecoveryExit, SsthreshBasis};

use super::core::Core;
use super::episode::Phase;
use super::loss_notice::Notices;
use super::path_mtu;
use super::recovery::LossRecovery;

/// The receiver echoes that a router has marked data. Losses have reduced the window already
/// (RFC 3168 section 6.1.2). Comes before the window could grow for this ACK. In Linux cwnd falls
/// in proportion to what arrives and does not grow until something beyond what was outstanding is
/// acknowledged (`TCP_CA_CWR`). RFC 3168 only requires that no ACK with an echo makes it grow.
#[cold]
pub(crate) fn on_mark<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    acked: u64,
) {
    let has_effect = recovery.begin_mark(core, now);
    // In Linux the ACK that ends a recovery may begin another reduction (`tcp_enter_cwr`). This was
    // not compared for counted marks.
    let features = core.features.as_ref();
    let is_counted = features.is_some_and(|one| one.measurement.marked_bytes.is_some());
    let is_over = if core.is_linux && !is_counted {
        !core.is_reduced_by_mark()
    } else {
        core.stream.una > core.reduction.at
    };
    let is_due = core.episode.phase == Phase::Open && is_over && has_effect;
    if is_due && core.controller.answers_mark(now) {
        let flight = core.flight_to_reduce(config);
        // What this ACK covers was outstanding when the mark was made. cwnd has it already.
        let halves_cwnd = config.ssthresh_basis == SsthreshBasis::Cwnd || core.is_linux;
        let flight = if halves_cwnd { flight } else { flight + acked };
        let before = core.controller.window().cwnd;
        core.controller.on_congestion_mark(&Loss { now, flight, repeated: false });
        core.reduction.note(core.stream.max);
        core.reduction.by_mark = true;
        core.stop_jump();
        recovery.on_reduced_by_mark(core, before);
    }
}

pub(crate) fn enter_fast_recovery<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
) {
    if path_mtu::repairs_mtu_probe(core, recovery, now) {
        return;
    }
    let loss = Loss { now, flight: core.flight_to_reduce(config), repeated: false };
    let after_mark = core.goes_on_with_mark();
    let before = core.controller.window().cwnd;
    let is_spared = core.notices().is_some_and(|notices| notices.begin_recovery(before));
    if !is_spared {
        if after_mark {
            core.controller.on_loss_after_mark(&loss);
        } else {
            core.controller.on_loss(&loss);
            core.reduction.note(core.stream.max);
        }
        core.stop_jump();
    }
    core.counters.fast_recoveries += 1;
    if core.controller.repeats_everything() {
        send_everything_again(core, recovery, now);
        return;
    }
    core.episode.phase = Phase::FastRecovery;
    // Linux goes on with the reduction that the mark has begun, and ends with it.
    let goes_on = after_mark && core.is_linux;
    core.episode.recover = if goes_on { core.reduction.at } else { core.stream.max };
    core.episode.first_partial_ack = true;
    core.timers.begin_user_timeout(now, config);
    core.scoreboard.begin_recovery(core.stream.una);
    recovery.on_fast_recovery(core, config);
}

/// A duplicate ACK in fast recovery: without a notice it may show that another loss is no error of
/// a link. Then the window that was spared is reduced.
pub(crate) fn doubt_notice<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
) {
    let threshold = core.controller.duplicate_threshold(config.dupthresh);
    let una = core.stream.una;
    if core.notices().is_some_and(|notices| notices.is_withdrawn(una, threshold)) {
        let loss = Loss { now, flight: core.flight_to_reduce(config), repeated: false };
        let before = core.controller.window().cwnd;
        core.controller.on_loss(&loss);
        core.reduction.note(core.stream.max);
        core.stop_jump();
        recovery.on_reduced_by_loss(core, before);
    }
}

/// Whatever is outstanding counts as lost, but for what is sacked.
fn send_everything_again<R: LossRecovery>(core: &mut Core, recovery: &mut R, now: Time) {
    core.controller.window_mut().count_singly_after_timeout();
    core.episode.begin_timeout(core.stream.max);
    core.timed = None;
    recovery.lose_everything(core, now);
}

/// The retransmission timer expired (RFC 5681 section 3.1, RFC 6298 rules 5.4 to 5.6).
pub(crate) fn on_timeout<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    heard: Time,
) {
    core.counters.timeouts += 1;
    core.timers.retries += 1;
    // The time runs since a fast retransmission, if nothing was acknowledged since.
    let runs = core.episode.phase == Phase::FastRecovery && core.episode.first_partial_ack;
    if core.timers.retries == 1 && !runs {
        core.timers.begin_user_timeout(now, config);
    }
    let is_closed = core.peer.advertised == 0;
    if let Some(cause) = core.timers.timeout_ends_connection(now, config, heard, is_closed) {
        core.timers.give_up(cause);
        return;
    }
    core.renew_quota();
    let flight = match config.ssthresh_basis {
        SsthreshBasis::FlightSize if !core.is_linux => core.stream.flight(),
        _ => core.flight_to_reduce(config),
    };
    let is_repeated =
        core.timers.retries > 1 || core.reduction.is_in_window_of_mark(core.stream.una);
    let repeated = recovery.prepare_for_timeout(core, config) || is_repeated;
    core.controller.on_timeout(&Loss { now, flight, repeated });
    core.reduction.note(core.stream.max);
    if let Some(features) = &mut core.features
        && let Some(jump) = &mut features.jump
    {
        jump.on_timeout(core.controller.window_mut());
    }
    send_everything_again(core, recovery, now);
    path_mtu::doubt_path(core, recovery, now);
    if core.controller.backs_off() {
        core.rtt.back_off(&config.rto);
    }
    core.restart_timer(now);
    core.timers.bound_by_user_timeout(now);
}

impl Core {
    /// Notices of losses, if the connection takes them.
    pub(super) fn notices(&mut self) -> Option<&mut Notices> {
        self.features.as_mut()?.notices.as_mut()
    }

    /// All that was outstanding when the loss was found is acknowledged.
    pub(crate) fn leave_fast_recovery(&mut self, now: Time, config: &Config, uses_sack: bool) {
        self.episode.phase = Phase::Open;
        self.notify_recovery_exit(now, uses_sack);
        if config.recovery_exit == RecoveryExit::FlightSize {
            // At most the flight size and a segment (RFC 6582 section 3.2 step 3, first option).
            let most = self.stream.flight() + self.stream.mss;
            let window = self.controller.window_mut();
            window.cwnd = window.cwnd.min(most);
        }
    }

    /// A fast recovery ends. The controller has not seen the losses of one that spared the window,
    /// and then only what duplicate ACKs have added to it is taken back.
    pub(crate) fn notify_recovery_exit(&mut self, now: Time, uses_sack: bool) {
        match self.notices().and_then(Notices::end_recovery) {
            None => self.controller.on_recovery_exit(now),
            Some(_) if uses_sack => {}
            Some(cwnd) => self.controller.window_mut().cwnd = cwnd,
        }
    }
}
