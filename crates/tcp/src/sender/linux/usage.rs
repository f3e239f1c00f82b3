//! Use of cwnd as Linux measures it (`tcp_cwnd_validate`): at the last time that new data
//! left, or waited for cwnd. What a recovery or its retransmissions make of cwnd does not count.
//!
//! cwnd that is not used for an RTO falls. If nothing is outstanding, it restarts
//! (`tcp_cwnd_restart`); the time counts from the last data, so a closed window with its probes is
//! idle time. If something is outstanding, it falls half of the way to the flight
//! (`tcp_cwnd_application_limited`).

use congestion::{Controller, Window};
use units::{Span, Time};

use super::{Config, Core, Phase};
use crate::sender::usage::{HeldBy, three_quarters};

/// How far cwnd was used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validated {
    /// It limited the sender (`is_cwnd_limited`).
    is_limited: bool,
    /// The largest flight, as it is counted, of a window that it did not limit (`max_packets_out`).
    most: u64,
    /// That window ends when this is acknowledged (`cwnd_usage_seq`).
    end: u64,
    /// The largest flight since cwnd was used or changed (`snd_cwnd_used`).
    since_used: u64,
    /// Time of that use or change (`snd_cwnd_stamp`).
    used_at: Time,
    /// Departure of new data that has not been looked at for this.
    unseen: Option<Time>,
    /// Time of the last departure of data (`lsndtime`).
    sent_at: Time,
    /// cwnd restarts if this has been long ago: the application has written, or the receive window
    /// has changed.
    may_restart: bool,
    /// cwnd falls if it is not used (`tcp_slow_start_after_idle`), and the controller does not set
    /// it in recovery.
    falls: bool,
}

impl Validated {
    pub(super) fn new(falls: bool) -> Self {
        Self {
            is_limited: false,
            most: 0,
            end: 0,
            since_used: 0,
            used_at: Time::ZERO,
            unseen: None,
            sent_at: Time::ZERO,
            may_restart: false,
            falls,
        }
    }
}

impl Validated {
    /// cwnd has changed.
    pub(super) fn note_change(&mut self, now: Time) {
        self.used_at = now;
    }

    /// New data up to `end` leaves, and is part of the flight already.
    pub(super) fn on_new_data(
        &mut self,
        core: &mut Core,
        now: Time,
        end: u64,
        is_disordered: bool,
    ) {
        if self.unseen.is_some_and(|at| at < now) {
            self.look_at_use(core, is_disordered);
        }
        let pipe = core.scoreboard.flight().map_or(0, |flight| flight.pipe());
        let is_limited = pipe + core.stream.mss > core.controller.window().cwnd;
        self.validate(core, is_limited, end);
        self.unseen = Some(now);
    }

    /// An ACK has come. Notes if new data has waited for cwnd until then.
    pub(super) fn note_limit_by_window(&mut self, core: &mut Core, is_disordered: bool) {
        let stream = &core.stream;
        if core.held_by == HeldBy::CongestionWindow && stream.buffered > stream.max {
            self.validate(core, true, stream.max);
        }
        self.look_at_use(core, is_disordered);
    }

    fn validate(&mut self, core: &Core, is_limited: bool, end: u64) {
        let (una, flight) = (core.stream.una, core.counted_flight());
        if una >= self.end || is_limited || (!self.is_limited && flight > self.most) {
            (self.is_limited, self.most, self.end) = (is_limited, flight, end);
        }
        self.since_used = self.since_used.max(flight);
    }

    /// All that could leave then has left.
    fn look_at_use(&mut self, core: &mut Core, is_disordered: bool) {
        let Some(at) = self.unseen.take() else { return };
        if self.is_window_used(core.controller.window()) {
            (self.since_used, self.used_at) = (0, at);
        } else if self.falls && at.since(self.used_at) >= core.rtt.rto() {
            self.used_at = at;
            self.give_up_unused(core, is_disordered);
        }
    }

    fn give_up_unused(&mut self, core: &mut Core, is_disordered: bool) {
        let is_open = core.episode.phase == Phase::Open && !core.is_reduced_by_mark();
        // A full send buffer is a reason of its own (`SOCK_NOSPACE`).
        let waits = core.stream.written > core.stream.buffered;
        if !is_open || is_disordered || waits {
            return;
        }
        let used = std::mem::take(&mut self.since_used);
        let window = core.controller.window_mut();
        let used = used.max(window.initial);
        if used < window.cwnd {
            window.ssthresh = window.ssthresh.max(three_quarters(window));
            window.cwnd = window.cwnd.midpoint(used) / window.mss * window.mss;
        }
    }

    /// Data leaves, new or again.
    pub(super) fn note_data(&mut self, now: Time) {
        self.sent_at = now;
        self.may_restart = false;
    }

    /// The application has written, or the receive window has changed: cwnd restarts if it was not
    /// used for long (`tcp_slow_start_after_idle_check`).
    pub(super) fn look_at_idle_time(&mut self, core: &mut Core, is_disordered: bool) {
        self.look_at_use(core, is_disordered);
        self.may_restart = true;
    }

    /// Time since which nothing has left, if cwnd may restart for that.
    pub(super) fn idle_since(&mut self) -> Option<Time> {
        std::mem::take(&mut self.may_restart).then_some(self.sent_at)
    }

    /// cwnd was `before`, and the controller has restarted it after `idle` time. It halves for each
    /// RTO of idleness, down to the initial window, and ssthresh keeps three quarters of it
    /// (`tcp_cwnd_restart`).
    pub(super) fn restart(&mut self, core: &mut Core, now: Time, idle: Span, before: Window) {
        let rto = core.rtt.rto();
        let window = core.controller.window_mut();
        if window.cwnd < before.cwnd {
            let least = before.cwnd.min(before.initial);
            let mut cwnd = before.cwnd;
            let mut left = idle.saturating_sub(rto);
            while left > Span::ZERO && cwnd > least {
                cwnd = cwnd / 2 / before.mss * before.mss;
                left = left.saturating_sub(rto);
            }
            window.cwnd = cwnd.max(least);
            window.ssthresh = window.ssthresh.max(three_quarters(&before));
        }
        (self.used_at, self.since_used) = (now, 0);
    }

    fn is_window_used(&self, window: &Window) -> bool {
        let uses_half = window.in_slow_start() && window.cwnd < 2 * self.most;
        self.is_limited || uses_half
    }

    /// Returns true if the window may grow (`tcp_is_cwnd_limited`).
    pub(super) fn lets_grow(&self, core: &Core, config: &Config) -> bool {
        !config.window_validation || self.is_window_used(core.controller.window())
    }
}
