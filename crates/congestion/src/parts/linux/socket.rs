//! A connection as controllers of Linux see it: the clock in ticks, the state of recovery, and the
//! window in whole segments, with the rules of growth that several controllers call.

use units::{Span, Time};

use super::Growth;
use crate::parts::delivery_model::draw;
use crate::window::{Settings, Window};

/// Ticks of the clock in a second (`CONFIG_HZ`).
pub(crate) const HZ: u64 = 250;

/// Time in ticks (`tcp_jiffies32`).
pub(crate) fn jiffies(now: Time) -> u64 {
    let second = Span::from_secs(1).as_nanos();
    #[expect(clippy::cast_possible_truncation, reason = "fewer ticks than nanoseconds")]
    let ticks = (u128::from(now.as_nanos()) * u128::from(HZ) / u128::from(second)) as u64;
    ticks
}

/// A random number (`get_random_u32`), the same in each run of a scenario.
#[expect(clippy::cast_possible_truncation, reason = "a share below one of the largest")]
#[expect(clippy::cast_sign_loss, reason = "no share is negative")]
pub(crate) fn random(socket: &Socket) -> u32 {
    (draw(socket.now, socket.acknowledged) * f64::from(u32::MAX)) as u32
}

/// A span in ticks, rounded up (`usecs_to_jiffies`).
pub(crate) fn ticks(microseconds: u64) -> u64 {
    (microseconds * HZ).div_ceil(1_000_000)
}

/// The state of loss recovery (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No loss.
    #[default]
    Open,
    /// Segments are acknowledged selectively, and none is taken for lost yet.
    Disorder,
    /// A loss is repaired.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// The connection of a controller (`tcp_sock`). Windows are in segments.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(super) window: Window,
    /// Segments acknowledged that count for the next one of cwnd (`snd_cwnd_cnt`).
    pub(crate) count: u64,
    pub(crate) state: State,
    pub(crate) now: Time,
    /// Stream position up to which everything is acknowledged (`snd_una`).
    pub(crate) acknowledged: u64,
    /// Stream position after the last byte sent (`snd_nxt`).
    pub(crate) sent: u64,
    /// Smoothed round-trip time in microseconds.
    pub(crate) srtt: u64,
    /// Time of the last transmission (`lsndtime`).
    pub(super) last_sent: Time,
    /// Position sent when the retransmission timer expired (`high_seq`).
    pub(super) recover: u64,
}

impl Socket {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            window: Window::new(settings),
            count: 0,
            state: State::Open,
            now: Time::ZERO,
            acknowledged: 0,
            sent: 0,
            srtt: 0,
            last_sent: Time::ZERO,
            recover: 0,
        }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        (self.window.cwnd / self.window.mss).max(1)
    }

    pub(crate) fn set_cwnd(&mut self, segments: u64) {
        self.window.cwnd = segments * self.window.mss;
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.window.ssthresh / self.window.mss
    }

    pub(crate) fn set_ssthresh(&mut self, segments: u64) {
        self.window.ssthresh = segments.saturating_mul(self.window.mss);
    }

    /// Sender maximum segment size in bytes (`mss_cache`).
    pub(crate) fn mss(&self) -> u64 {
        self.window.mss
    }

    /// cwnd and ssthresh in bytes, for a slow start of `parts/slow_start`.
    pub(crate) fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    /// The clock in ticks.
    pub(crate) fn jiffies(&self) -> u64 {
        jiffies(self.now)
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }

    /// Grows cwnd up to ssthresh; returns the segments that were beyond (`tcp_slow_start`).
    pub(crate) fn slow_start(&mut self, acked: u64) -> u64 {
        let cwnd = (self.cwnd() + acked).min(self.ssthresh());
        let rest = acked - (cwnd - self.cwnd());
        self.set_cwnd(cwnd);
        rest
    }

    /// One segment more for each `per` segments acknowledged (`tcp_cong_avoid_ai`).
    pub(crate) fn add_one_per(&mut self, per: u64, acked: u64) {
        let mut cwnd = self.cwnd();
        // Counted while more were necessary: one segment at most.
        if self.count >= per {
            self.count = 0;
            cwnd += 1;
        }
        self.count += acked;
        if self.count >= per {
            cwnd += self.count / per;
            self.count %= per;
        }
        self.set_cwnd(cwnd);
    }

    /// Growth of Reno (`tcp_reno_cong_avoid`).
    pub(crate) fn grow_as_reno(&mut self, growth: Growth) {
        if !growth.limited {
            return;
        }
        let Some(acked) = self.start_slowly(growth.acked) else { return };
        self.add_one_per(self.cwnd(), acked);
    }

    /// Slow start, if it has not ended; the segments that count for avoidance, if any are left.
    pub(crate) fn start_slowly(&mut self, acked: u64) -> Option<u64> {
        if !self.in_slow_start() {
            return Some(acked);
        }
        Some(self.slow_start(acked)).filter(|rest| *rest > 0)
    }

    /// ssthresh after a loss for Reno (`tcp_reno_ssthresh`).
    pub(crate) fn half(&self) -> u64 {
        (self.cwnd() / 2).max(2)
    }
}
