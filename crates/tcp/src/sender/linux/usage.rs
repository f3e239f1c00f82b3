//! Use of cwnd as Linux measures it (`tcp_cwnd_validate`): at the last time that new data
//! left, or waited for cwnd. What a recovery or its retransmissions make of cwnd does not count.
//!
//! cwnd that is not used for an RTO falls. If nothing is outstanding, it restarts (`tcp_cwnd_restart`); the time counts
//! from the last data, so a closed window with its probes is idle time. If something is outstanding, it falls half
//! of the way to the flight (`tcp_cwnd_application_limited`).

use congestion::Controller;
use units::Time;

use crate::config::Config;

use super::Sender;
use crate::sender::usage::three_quarters;
use crate::sender::{HeldBy, Phase};

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
    /// When that was (`snd_cwnd_stamp`).
    used_at: Time,
    /// When new data left that has not been looked at for this.
    unseen: Option<Time>,
    /// When data left last (`lsndtime`).
    sent_at: Time,
    /// cwnd restarts if this has been long ago: the application has written, or the receive window has changed.
    may_restart: bool,
    /// cwnd falls if it is not used (`tcp_slow_start_after_idle`), and the controller does not set it in recovery.
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
}

impl Sender {
    /// New data up to `end` leaves, and is part of the flight already.
    pub(super) fn validate_window(&mut self, now: Time, end: u64) {
        if self.known_linux().is_some_and(|linux| linux.used.unseen.is_some_and(|at| at < now)) {
            self.look_at_use();
        }
        let pipe = self.scoreboard.flight().map_or(0, |flight| flight.pipe());
        let is_limited = pipe + self.stream.mss > self.controller.window().cwnd;
        self.validate(is_limited, end);
        if let Some(linux) = self.linux() {
            linux.used.unseen = Some(now);
        }
    }

    /// An ACK has come. Takes in whether new data has waited for cwnd until then.
    pub(super) fn note_limit_by_window(&mut self) {
        if self.held_by == HeldBy::CongestionWindow && self.stream.buffered > self.stream.max {
            self.validate(true, self.stream.max);
        }
        self.look_at_use();
    }

    fn validate(&mut self, is_limited: bool, end: u64) {
        let (una, flight) = (self.stream.una, self.counted_flight());
        let Some(linux) = self.linux() else { return };
        let used = &mut linux.used;
        if una >= used.end || is_limited || (!used.is_limited && flight > used.most) {
            (used.is_limited, used.most, used.end) = (is_limited, flight, end);
        }
        used.since_used = used.since_used.max(flight);
    }

    /// All that could leave then has left.
    fn look_at_use(&mut self) {
        let rto = self.rtt.rto();
        let is_used = self.is_window_used();
        let Some(linux) = self.linux() else { return };
        let used = &mut linux.used;
        let Some(at) = used.unseen.take() else { return };
        if is_used {
            (used.since_used, used.used_at) = (0, at);
        } else if used.falls && at.since(used.used_at) >= rto {
            used.used_at = at;
            self.give_up_unused();
        }
    }

    fn give_up_unused(&mut self) {
        let is_open = self.episode.phase == Phase::Open && !self.is_reduced_by_mark();
        // A full send buffer is a reason of its own (`SOCK_NOSPACE`).
        let waits = self.stream.written > self.stream.buffered;
        let Some(linux) = self.linux() else { return };
        if !is_open || linux.is_disordered || waits {
            return;
        }
        let used = std::mem::take(&mut linux.used.since_used);
        let window = self.controller.window_mut();
        let used = used.max(window.initial);
        if used < window.cwnd {
            window.ssthresh = window.ssthresh.max(three_quarters(window));
            window.cwnd = window.cwnd.midpoint(used) / window.mss * window.mss;
        }
    }

    /// cwnd has grown, or was reduced.
    pub(in crate::sender) fn note_change_of_window(&mut self, now: Time) {
        if let Some(linux) = self.linux() {
            linux.used.note_change(now);
        }
    }

    /// Data leaves, new or again.
    pub(super) fn note_data(&mut self, now: Time) {
        if let Some(linux) = self.linux() {
            linux.used.sent_at = now;
            linux.used.may_restart = false;
        }
    }

    /// The application has written, or the receive window has changed: cwnd restarts if it was not used for long
    /// (`tcp_slow_start_after_idle_check`).
    pub(in crate::sender) fn look_at_idle_time(&mut self) {
        if !self.recovers_like_linux() {
            return;
        }
        self.look_at_use();
        if let Some(linux) = self.linux() {
            linux.used.may_restart = true;
        }
    }

    /// Since when nothing has left, if cwnd may restart for that.
    pub(in crate::sender) fn idle_since(&mut self) -> Option<Time> {
        let last = self.timers.last_sent;
        let Some(linux) = self.linux() else { return Some(last) };
        std::mem::take(&mut linux.used.may_restart).then_some(linux.used.sent_at)
    }

    /// cwnd has restarted.
    pub(in crate::sender) fn note_restart(&mut self, now: Time) {
        match self.linux() {
            Some(linux) => (linux.used.used_at, linux.used.since_used) = (now, 0),
            // Once, even if the receiver's window holds the data back.
            None => self.timers.last_sent = now,
        }
    }

    /// Returns true if the window may grow (`tcp_is_cwnd_limited`).
    pub(in crate::sender) fn uses_window(&self, config: &Config) -> bool {
        !config.window_validation || self.is_window_used()
    }

    fn is_window_used(&self) -> bool {
        let Some(linux) = self.known_linux() else { return false };
        let window = self.controller.window();
        let uses_half = window.in_slow_start() && window.cwnd < 2 * linux.used.most;
        linux.used.is_limited || uses_half
    }
}
