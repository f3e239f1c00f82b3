//! The limit that holds the sender back, by the rules of [`transport::LimitClock`].
//!
//! The limit is determined only where it may change: where the transmission of segments stops for
//! another reason than the last time, where the last byte leaves, and after an ACK or a timeout
//! that begins, continues or ends a recovery or acknowledges the last byte.

use congestion::Controller;
use transport::{Limit, Limits};
use units::Time;

use super::Sender;
use super::core::Core;
use super::episode::Phase;
use super::usage::HeldBy;

/// The last window or buffer that was used up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    limit: Limit,
    /// Number behind all that was sent then. Pacing is no limit before its acknowledgement.
    until: u64,
}

impl Default for Reached {
    fn default() -> Self {
        Self { limit: Limit::CongestionWindow, until: 0 }
    }
}

impl Core {
    /// Transmission has stopped for this reason.
    #[inline(always)]
    pub(super) fn note_stop(&mut self, now: Time, held_by: HeldBy) {
        self.held_by = held_by;
        if held_by as u8 != self.limits.limit() as u8 {
            self.look_at_limit(now);
        }
    }

    /// An ACK has been taken in.
    #[inline(always)]
    pub(super) fn note_end_of_ack(&mut self, now: Time) {
        let Self { episode, stream, limits, .. } = self;
        if episode.phase != Phase::Open
            || limits.limit() == Limit::Recovery
            || stream.una >= stream.written
        {
            self.look_at_present_limit(now);
        }
    }

    /// Likewise, where a recovery mostly goes on.
    #[inline(always)]
    pub(super) fn look_at_present_limit(&mut self, now: Time) {
        let Self { episode, stream, limits, timers, is_stopped, .. } = self;
        let goes_on = episode.phase != Phase::Open
            && limits.limit() == Limit::Recovery
            && stream.una < stream.written
            && timers.gave_up.is_none()
            && !*is_stopped;
        if !goes_on {
            self.look_at_limit(now);
        }
    }

    /// Determines the limit from now on.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_at_limit(&mut self, now: Time) {
        let mut limit = present(self, now);
        match limit {
            Limit::CongestionWindow | Limit::ReceiveWindow | Limit::SendBuffer => {
                self.reached = Reached { limit, until: self.stream.max };
            }
            // The windows have a little room, because the pacer spreads what they let go.
            Limit::Pacing if self.stream.una < self.reached.until => limit = self.reached.limit,
            _ => {}
        }
        self.limits.change(now, limit);
    }
}

impl Sender {
    /// The connection may have ended.
    #[cold]
    pub(crate) fn note_end(&mut self, now: Time) {
        self.core.look_at_limit(now);
    }

    /// Time until `now` by what has held the sender back.
    pub(crate) fn limits(&self, now: Time) -> Limits {
        self.core.limits.times(now)
    }
}

/// The limit that holds the sender back at `now`.
#[inline(always)]
fn present(core: &Core, now: Time) -> Limit {
    let Core { stream, timers, episode, .. } = core;
    if timers.gave_up.is_some() || core.is_stopped {
        return Limit::Uncounted;
    }
    if stream.una == 0 {
        return core.limits.limit();
    }
    if stream.una >= stream.written {
        return if stream.written == 1 { Limit::Uncounted } else { Limit::Idle };
    }
    if episode.phase != Phase::Open {
        return Limit::Recovery;
    }
    let is_held_back = stream.buffered < stream.written;
    let by_application = if is_held_back { Limit::SendBuffer } else { Limit::Application };
    if stream.unsent() == 0 {
        return by_application;
    }
    match core.held_by {
        HeldBy::Application => by_application,
        HeldBy::AdvertisedWindow => Limit::ReceiveWindow,
        HeldBy::CongestionWindow => of_departure(core, now),
    }
}

/// The limit of a sender that is not held back by its application: pacing, if the next segment
/// only waits for its departure time.
#[inline(always)]
fn of_departure(core: &Core, now: Time) -> Limit {
    let Some(features) = &core.features else { return Limit::CongestionWindow };
    match features.pacer.next_departure() {
        // The link is out, and the recovery waits until it is back.
        Time::NEVER => return Limit::Recovery,
        departure if departure <= now => return Limit::CongestionWindow,
        _ => {}
    }
    let by_congestion = core.controller.window().cwnd.saturating_sub(core.pipe());
    let by_receiver = (core.stream.una + core.peer.usable).saturating_sub(core.stream.max);
    let next = core.stream.unsent().min(core.stream.mss);
    if by_congestion.min(by_receiver) >= next {
        Limit::Pacing
    } else if by_congestion <= by_receiver {
        Limit::CongestionWindow
    } else {
        Limit::ReceiveWindow
    }
}
