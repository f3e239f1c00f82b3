//! Standard TCP, RFC 5681 and RFC 6582: the default methods of controllers.
//!
//! These are the bodies of [`Controller`]'s defaults as functions, so that wrappers of the trait
//! can fall back to them. A rule that uses another rule calls the method of the controller, which
//! may have its own. The trait documents the rules.
//!
//! Decisions:
//! - Cwnd grows only while it limits the sender: RFC 7661; reproductions of older simulators turn
//!   it off.
//! - Full ACK: cwnd = ssthresh: RFC 6582 section 3.2 step 3, second option, as ns-2 and ns-3.

use crate::controller::Controller;
use crate::events::{Ack, Loss, PartialAck, RecoveryStyle};

/// The default of [`Controller::on_ack`].
#[inline]
pub fn on_ack<C: Controller + ?Sized>(controller: &mut C, ack: &Ack) {
    controller.grow(ack);
}

/// The default of [`Controller::grow`].
#[inline]
pub fn grow<C: Controller + ?Sized>(controller: &mut C, ack: &Ack) {
    if !ack.cwnd_limited {
        return;
    }
    if controller.window().in_slow_start() {
        controller.slow_start(ack);
    } else {
        controller.avoid_congestion(ack);
    }
}

/// The default of [`Controller::slow_start`].
#[inline]
pub fn slow_start<C: Controller + ?Sized>(controller: &mut C, ack: &Ack) {
    let window = controller.window_mut();
    window.cwnd += window.counted(ack.acked);
}

/// The default of [`Controller::avoid_congestion`].
#[inline]
pub fn avoid_congestion<C: Controller + ?Sized>(controller: &mut C, ack: &Ack) {
    let window = controller.window_mut();
    window.grow_by_fraction(window.mss * window.counted(ack.acked).max(window.mss));
}

/// The default of [`Controller::threshold_after_loss`].
#[inline]
pub fn threshold_after_loss<C: Controller + ?Sized>(controller: &C, loss: &Loss) -> u64 {
    controller.window().half(loss.flight)
}

/// The default of [`Controller::on_loss`].
#[inline]
pub fn on_loss<C: Controller + ?Sized>(controller: &mut C, loss: &Loss) {
    let ssthresh = controller.threshold_after_loss(loss);
    let window = controller.window_mut();
    window.ssthresh = ssthresh;
    window.cwnd = ssthresh;
}

/// The default of [`Controller::on_congestion_mark`]: the controller's own response to a loss that
/// is repaired at once. Neither cwnd nor ssthresh is above the old cwnd afterwards: a mark asks for
/// less, whatever an estimate says of the path (RFC 3168 section 6.1.2).
pub fn on_congestion_mark<C: Controller + ?Sized>(controller: &mut C, loss: &Loss) {
    let before = controller.window().cwnd;
    controller.on_loss(loss);
    controller.on_recovery_exit(loss.now);
    let window = controller.window_mut();
    window.cwnd = window.cwnd.min(before);
    window.ssthresh = window.ssthresh.min(before);
}

/// The default of [`Controller::on_partial_ack`].
#[inline]
pub fn on_partial_ack<C: Controller + ?Sized>(controller: &mut C, partial: &PartialAck) {
    if partial.style == RecoveryStyle::Inflation {
        let window = controller.window_mut();
        let added = if partial.acked >= window.mss { window.mss } else { 0 };
        window.cwnd = (window.cwnd.saturating_sub(partial.acked) + added).max(window.mss);
    }
}

/// The default of [`Controller::on_recovery_exit`]. As long as nothing has set ssthresh, a recovery
/// has reduced nothing, and cwnd stays as it is.
#[inline]
pub fn on_recovery_exit<C: Controller + ?Sized>(controller: &mut C) {
    let window = controller.window_mut();
    if window.ssthresh < u64::MAX {
        window.cwnd = window.ssthresh;
    }
}

/// The default of [`Controller::on_timeout`].
#[inline]
pub fn on_timeout<C: Controller + ?Sized>(controller: &mut C, loss: &Loss) {
    if !loss.repeated {
        controller.window_mut().ssthresh = controller.threshold_after_loss(loss);
    }
    let window = controller.window_mut();
    window.cwnd = window.mss;
}

/// The default of [`Controller::on_spurious_loss`].
pub fn on_spurious_loss<C: Controller + ?Sized>(controller: &mut C, cwnd: u64, ssthresh: u64) {
    let window = controller.window_mut();
    window.cwnd = window.cwnd.max(cwnd);
    window.ssthresh = window.ssthresh.max(ssthresh);
}

/// The default of [`Controller::on_idle`].
#[inline]
pub fn on_idle<C: Controller + ?Sized>(controller: &mut C) {
    let window = controller.window_mut();
    window.cwnd = window.cwnd.min(window.initial);
}
