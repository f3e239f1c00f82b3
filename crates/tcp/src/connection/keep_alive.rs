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

use crate::config::Config;
use crate::segment::Segment;
use crate::sender::Sender;

use super::halves::Halves;
use super::{Connection, State, Urgent};

/// Evidence of the other end's presence.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    /// When the last segment arrived that was taken in.
    pub(super) heard: Time,
    /// When the last probe was sent.
    asked: Time,
    /// Probes that nothing has followed.
    unanswered: u32,
}

/// Result of a look for the other end when the timer of keep-alive expires.
enum Look {
    /// It looks again later.
    Wait,
    Probe,
    Abort(AbortCause),
}

impl Watch {
    /// Data may flow now.
    pub(super) fn begin(&mut self, config: &Config, slow_timer: &mut Time, now: Time) {
        self.heard = now;
        if let Some(keep_alive) = config.keep_alive {
            *slow_timer = now + keep_alive.idle;
        }
    }

    /// Looks for the other end, and sets the timer anew.
    fn look(&mut self, halves: &Halves, slow_timer: &mut Time, now: Time) -> Look {
        let Some(keep_alive) = halves.config.keep_alive else { return Look::Wait };
        if halves.sender.stream().is_busy() {
            *slow_timer = now + keep_alive.idle;
            return Look::Wait;
        }
        if self.heard > self.asked {
            self.unanswered = 0;
        }
        let silence = now.since(self.heard);
        if silence < keep_alive.idle {
            *slow_timer = self.heard + keep_alive.idle;
            return Look::Wait;
        }
        let cause = match halves.config.user_timeout {
            Some(limit) => {
                (self.unanswered > 0 && silence >= limit).then_some(AbortCause::UserTimeout)
            }
            None => (self.unanswered >= keep_alive.probes).then_some(AbortCause::KeepAlive),
        };
        if let Some(cause) = cause {
            return Look::Abort(cause);
        }
        self.unanswered += 1;
        self.asked = now;
        *slow_timer = now + keep_alive.interval;
        Look::Probe
    }

    /// Probes in a row without an answer, of the window or of keep-alive.
    pub(crate) fn unanswered_probes(&self, sender: &Sender) -> u32 {
        let Self { heard, asked, unanswered } = *self;
        let of_keep_alive = if heard > asked { 0 } else { unanswered };
        of_keep_alive + sender.timers().unanswered_window_probes(heard)
    }
}

impl Halves {
    /// A probe of keep-alive: one number back.
    pub(super) fn next_keep_alive(&mut self, now: Time) -> Segment {
        let mut segment = self.bare_segment(now);
        segment.sequence = self.out.wrap(self.sender.stream().una - 1);
        segment
    }
}

impl Connection {
    /// TIME-WAIT ends, keep-alive has to look, or the receiver has waited at a hole for long
    /// enough.
    #[cold]
    pub(super) fn on_slow_timer(&mut self, now: Time) {
        if let Some(reports) = self.marks.as_mut().and_then(|marks| marks.snack.as_mut())
            && reports.on_timer(&mut self.halves, &mut self.slow_timer, now)
        {
            // TIME-WAIT may begin, which has the same timer.
            self.advance_close(now, false);
        }
        if self.slow_timer <= now {
            self.slow_timer = Time::NEVER;
            if self.state == State::TimeWait {
                self.state = State::Closed;
            } else if self.is_established() {
                match self.watch.look(&self.halves, &mut self.slow_timer, now) {
                    Look::Wait => {}
                    Look::Probe => self.urgent = Urgent::KeepAlive,
                    Look::Abort(cause) => self.abort_because(cause),
                }
            }
        }
        let is_over = self.state == State::Closed;
        if let Some(reports) = self.marks.as_mut().and_then(|marks| marks.snack.as_mut()) {
            reports.time_holes(&mut self.slow_timer, is_over);
        }
    }
}
