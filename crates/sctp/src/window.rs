//! Congestion control of one path (RFC 9260 section 7.2). All sizes are bytes of DATA chunks with
//! their headers.
//!
//! Differences from TCP: the window grows only if it was full, slow start adds at most one chunk
//! for each SACK, and ssthresh never falls below four chunks.

use units::{Span, Time};

/// Congestion window of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// PMDCS.
    chunk: u64,
    cwnd: u64,
    ssthresh: u64,
    /// `partial_bytes_acked`.
    partial: u64,
    /// Last transmission of new data.
    used: Time,
}

impl Window {
    /// Section 7.2.1.
    pub(crate) fn new(chunk: u64, ssthresh: u64) -> Self {
        let cwnd = (4 * chunk).min((2 * chunk).max(4404));
        Self { chunk, cwnd, ssthresh, partial: 0, used: Time::ZERO }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    pub(crate) fn set_ssthresh(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh;
    }

    /// A chunk may leave if less than the window is in flight, and may exceed it (section 6.1 rule
    /// B).
    #[inline]
    pub(crate) fn admits(&self, flight: u64) -> bool {
        flight < self.cwnd
    }

    /// A path that sends no data loses half of its window in each RTO (section 7.2.1).
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, rto: Span, flight: u64) {
        if flight == 0 && self.used > Time::ZERO {
            self.decay(now.since(self.used), rto);
        }
        self.used = now;
    }

    fn decay(&mut self, idle: Span, rto: Span) {
        let least = 4 * self.chunk;
        let mut left = idle;
        if left >= rto && self.cwnd > least {
            // Before the first adjustment only.
            self.ssthresh = self.cwnd;
        }
        while left >= rto && self.cwnd > least && rto > Span::ZERO {
            self.cwnd = (self.cwnd / 2).max(least);
            left = left.saturating_sub(rto);
        }
    }

    /// A SACK that advances the cumulative TSN has acknowledged `acked` bytes of this path, of
    /// which `flight` were in flight before.
    #[inline]
    pub(crate) fn on_acked(&mut self, acked: u64, flight: u64, in_recovery: bool) {
        let was_full = flight >= self.cwnd;
        if self.cwnd <= self.ssthresh {
            if was_full && !in_recovery {
                self.cwnd += acked.min(self.chunk);
            }
            return;
        }
        // Section 7.2.2. Nothing grows during fast recovery (section 7.2.4).
        if in_recovery {
            return;
        }
        self.partial += acked;
        if self.partial >= self.cwnd {
            if was_full {
                self.partial -= self.cwnd;
                self.cwnd += self.chunk;
            } else {
                self.partial = self.cwnd;
            }
        }
    }

    /// Everything that was sent on this path is acknowledged (section 7.2.2).
    #[inline]
    pub(crate) fn on_all_acked(&mut self) {
        self.partial = 0;
    }

    /// Fast retransmit (section 7.2.3).
    pub(crate) fn on_loss(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(4 * self.chunk);
        self.cwnd = self.ssthresh;
        self.partial = 0;
    }

    /// T3-rtx has expired (section 7.2.3).
    pub(crate) fn on_timeout(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(4 * self.chunk);
        self.cwnd = self.chunk;
        self.partial = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = 1468;

    fn window() -> Window {
        Window::new(CHUNK, 1 << 30)
    }

    fn secs(seconds: u64) -> Span {
        Span::from_secs(seconds)
    }

    #[test]
    fn the_initial_window_is_that_of_section_7_2_1() {
        assert_eq!(window().cwnd(), 4404);
        assert_eq!(Window::new(500, 0).cwnd(), 2000);
        assert_eq!(Window::new(4000, 0).cwnd(), 8000);
    }

    #[test]
    fn slow_start_adds_one_chunk_per_sack_at_most_and_only_to_a_full_window() {
        let mut window = window();
        window.on_acked(2 * CHUNK, 4404, false);
        assert_eq!(window.cwnd(), 4404 + CHUNK);
        window.on_acked(100, 4404 + CHUNK, false);
        assert_eq!(window.cwnd(), 4504 + CHUNK);
        window.on_acked(2 * CHUNK, 4503 + CHUNK, false);
        window.on_acked(2 * CHUNK, 1 << 20, true);
        assert_eq!(window.cwnd(), 4504 + CHUNK);
    }

    #[test]
    fn avoidance_adds_one_chunk_per_window() {
        let mut window = window();
        window.cwnd = 20 * CHUNK;
        window.ssthresh = 10 * CHUNK;
        for _ in 0..9 {
            window.on_acked(2 * CHUNK, 20 * CHUNK, false);
        }
        assert_eq!(window.cwnd(), 20 * CHUNK);
        window.on_acked(3 * CHUNK, 20 * CHUNK, false);
        assert_eq!((window.cwnd(), window.partial), (21 * CHUNK, CHUNK));
        // A window that is not full keeps no more than is needed for the next chunk.
        window.on_acked(90 * CHUNK, 20 * CHUNK, false);
        assert_eq!((window.cwnd(), window.partial), (21 * CHUNK, 21 * CHUNK));
        window.on_all_acked();
        assert_eq!(window.partial, 0);
    }

    #[test]
    fn a_loss_halves_the_window_to_four_chunks_at_least() {
        let mut window = window();
        window.cwnd = 20 * CHUNK;
        window.on_loss();
        assert_eq!((window.cwnd(), window.ssthresh()), (10 * CHUNK, 10 * CHUNK));
        window.on_loss();
        window.on_loss();
        assert_eq!(window.cwnd(), 4 * CHUNK);
        window.on_timeout();
        assert_eq!((window.cwnd(), window.ssthresh()), (CHUNK, 4 * CHUNK));
    }

    #[test]
    fn an_idle_path_loses_half_of_its_window_per_rto() {
        let mut window = window();
        window.cwnd = 40 * CHUNK;
        window.on_sent(Time::ZERO + secs(1), secs(1), 0);
        window.on_sent(Time::ZERO + secs(4), secs(2), 0);
        assert_eq!((window.cwnd(), window.ssthresh()), (20 * CHUNK, 40 * CHUNK));
        window.on_sent(Time::ZERO + secs(100), secs(2), CHUNK);
        assert_eq!(window.cwnd(), 20 * CHUNK, "it was not idle");
        window.on_sent(Time::ZERO + secs(200), secs(2), 0);
        assert_eq!((window.cwnd(), window.ssthresh()), (4 * CHUNK, 20 * CHUNK));
    }
}
