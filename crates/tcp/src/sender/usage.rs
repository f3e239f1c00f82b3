//! Use of cwnd: whether it limits the sender, and the fall of a window that is not used.
//!
//! A flight that fills cwnd lets it grow, however little the application writes afterwards. So does
//! one of more than half of it (RFC 7661, "pipeACK >= cwnd / 2", with the largest flight of a window as
//! pipeACK). What a window was used for is forgotten with the next one. `linux::usage` has the rule of
//! `recovery = "linux"`.
//!
//! A window that is not used: RFC 5681 section 4.1 goes back to the initial window after an idle RTO.
//! Linux halves cwnd for each RTO of idleness, down to the initial window, and keeps three quarters
//! of it as ssthresh (`tcp_cwnd_restart`). Its other rule, `tcp_cwnd_application_limited`, is in
//! `linux::usage`. Left out are the rules of RFC 7661 for a window that is not used: another response to a loss (section
//! 4.4.1) and the decay after five minutes (section 4.4.3).

use congestion::{Controller, Window};
use units::{Span, Time};

use super::Sender;

/// How far cwnd was used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// cwnd counts as full until this is acknowledged.
    full_until: u64,
    /// The largest flight of a window that was not full.
    peak: u64,
    /// That window ends when this is acknowledged.
    end: u64,
}

impl Sender {
    /// An ACK of new data is about to be taken in. Since the one before it the flight has only grown,
    /// and cwnd is still that of then: so this is looked at for each ACK, and not for each segment.
    /// Returns whether cwnd was full in this window.
    #[inline]
    pub(super) fn note_usage(&mut self) -> bool {
        let full = self.stream.flight() + self.stream.mss > self.controller.window().cwnd;
        if full {
            self.usage.full_until = self.stream.max;
        }
        full || self.note_partial_usage()
    }

    #[inline(never)]
    fn note_partial_usage(&mut self) -> bool {
        let flight = self.stream.flight();
        let usage = &mut self.usage;
        if self.stream.una >= usage.end || flight > usage.peak {
            (usage.peak, usage.end) = (flight, self.stream.max);
        }
        self.stream.una < usage.full_until
    }

    /// Something else stands for cwnd: a rate that follows from it.
    pub(super) fn note_full_usage(&mut self) {
        self.usage.full_until = self.stream.max;
    }

    /// Returns true if a flight that does not fill cwnd lets it grow.
    #[inline(never)]
    pub(super) fn uses_half(&self) -> bool {
        let window = self.controller.window();
        window.cwnd <= 2 * self.usage.peak
    }

    /// Idle for longer than the RTO: the window says nothing about the path any more.
    #[cold]
    pub(super) fn restart_after_idle(&mut self, now: Time, idle: Span) {
        let before = *self.controller.window();
        self.controller.on_idle();
        let rto = self.rtt.rto();
        let restarts = self.controller.window().cwnd < before.cwnd;
        if self.recovers_like_linux() && restarts {
            let least = before.cwnd.min(before.initial);
            let mut cwnd = before.cwnd;
            let mut left = idle.saturating_sub(rto);
            while left > Span::ZERO && cwnd > least {
                cwnd = cwnd / 2 / before.mss * before.mss;
                left = left.saturating_sub(rto);
            }
            let window = self.controller.window_mut();
            window.cwnd = cwnd.max(least);
            window.ssthresh = window.ssthresh.max(three_quarters(&before));
        }
        self.note_restart(now);
    }
}

/// ssthresh of Linux for a window that was not used (`tcp_current_ssthresh`).
pub(super) fn three_quarters(window: &Window) -> u64 {
    window.cwnd / 2 + window.cwnd / 4
}
