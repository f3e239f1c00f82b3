//! Keep-alive (RFC 9293 section 3.8.4, RFC 1122 section 4.2.3.6): an end that has not been heard of
//! for long is asked whether it is still there.
//!
//! A probe is one number back and without data, so that the other end must answer it. Only an end
//! with nothing outstanding sends any: data has timers of its own. As in Linux
//! (`tcp_keepalive_timer`), the timer is not moved by what arrives, but looks when it expires how
//! long nothing has; if data is outstanding then, it waits for another idle time. The other end
//! learns of an abort by a reset. Unlike in Linux, probes of the other end count as heard (RFC
//! 9293: MUST-26).

use transport::AbortCause;
use units::Time;

use crate::segment::Segment;

use super::{Connection, State, Urgent};

/// Evidence of the other end's presence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    /// When the last segment arrived that was taken in.
    pub(super) heard: Time,
    /// When the last probe was sent.
    asked: Time,
    /// Probes that nothing has followed.
    unanswered: u32,
}

impl Connection {
    /// Data may flow now.
    pub(super) fn begin_watch(&mut self, now: Time) {
        self.watch.heard = now;
        if let Some(keep_alive) = self.config.keep_alive {
            self.slow_timer = now + keep_alive.idle;
        }
    }

    /// TIME-WAIT ends, keep-alive has to look, or the receiver has waited at a hole for long
    /// enough.
    #[cold]
    pub(super) fn on_slow_timer(&mut self, now: Time) {
        self.take_timer_of_holes(now);
        if self.slow_timer <= now {
            self.slow_timer = Time::NEVER;
            if self.state == State::TimeWait {
                self.state = State::Closed;
            } else if self.is_established() {
                self.look_for_other_end(now);
            }
        }
        self.time_holes();
    }

    fn look_for_other_end(&mut self, now: Time) {
        let Some(keep_alive) = self.config.keep_alive else { return };
        if self.sender.stream().is_busy() {
            self.slow_timer = now + keep_alive.idle;
            return;
        }
        let watch = &mut self.watch;
        if watch.heard > watch.asked {
            watch.unanswered = 0;
        }
        let silence = now.since(watch.heard);
        if silence < keep_alive.idle {
            self.slow_timer = watch.heard + keep_alive.idle;
            return;
        }
        let cause = match self.config.user_timeout {
            Some(limit) => {
                (watch.unanswered > 0 && silence >= limit).then_some(AbortCause::UserTimeout)
            }
            None => (watch.unanswered >= keep_alive.probes).then_some(AbortCause::KeepAlive),
        };
        if let Some(cause) = cause {
            self.abort_because(cause);
            return;
        }
        watch.unanswered += 1;
        watch.asked = now;
        self.urgent = Urgent::KeepAlive;
        self.slow_timer = now + keep_alive.interval;
    }

    pub(super) fn next_keep_alive(&mut self, now: Time) -> Segment {
        self.urgent = Urgent::Nothing;
        let mut segment = self.bare_segment(now);
        segment.sequence = self.out.wrap(self.sender.stream().una - 1);
        segment
    }

    /// Probes in a row without an answer, of the window or of keep-alive.
    pub(crate) fn unanswered_probes(&self) -> u32 {
        let Watch { heard, asked, unanswered } = self.watch;
        let of_keep_alive = if heard > asked { 0 } else { unanswered };
        of_keep_alive + self.sender.timers().unanswered_window_probes(heard)
    }
}
