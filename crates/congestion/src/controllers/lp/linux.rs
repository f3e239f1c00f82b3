//! TCP-LP of Linux.
//!
//! Source: `net/ipv4/tcp_lp.c` of Linux 6.1. The delay is the receiver's timestamp less the
//! sender's, both scaled to milliseconds. It differs from the paper:
//! - the receiver's clock is taken to run at an estimated rate. The scale is 1000 over that rate in
//!   whole numbers, so a rate of 1001 a second gives zero, and the delay is then the time of day,
//! - all is in 32 bits, three of which are behind the point of the smoothed delay. The offset of a
//!   peer's clock is random in today's systems, and seven eighths of all offsets overflow,
//! - the smallest and largest delay are set to once and twice the smoothed one after each
//!   indication,
//! - an indication in the same round trip counts as one more, and takes cwnd to one segment,
//! - ssthresh stays, so that slow start follows.
//!
//! The kernel's modules hence give way to nobody or to everybody, by chance. Use it to see what a
//! kernel would do.

use crate::entry::Entry;
use crate::events::Feedback;
use crate::parts::linux::{self, Growth, LinuxController, Operations, Sample, Socket};

/// Timestamps of the sender in a second.
const SENDER_HZ: u32 = 1000;
/// Parts of a second in which delays are counted.
const RESOLUTION: u32 = 1000;
/// Share of the longest delay, in percent.
const THRESHOLD: u32 = 15;

/// Its rules. Numbers have 32 bits, and wrap as in the kernel.
#[derive(Clone, Debug)]
pub struct Lp {
    /// Estimated rate of the receiver's clock; zero when it is not known.
    peer_hz: u32,
    /// Timestamps of the last ACK: the receiver's and the sender's.
    before: (u32, u32),
    /// Eight times the smoothed delay.
    smoothed: u32,
    least: u32,
    second: u32,
    longest: u32,
    /// Length of the inference phase and its beginning, in milliseconds; zero for none.
    inference: u32,
    reduced: u32,
    infers: bool,
}

/// TCP-LP of Linux.
pub type LinuxLp = LinuxController<Lp>;

impl Default for Lp {
    fn default() -> Self {
        Self {
            peer_hz: 0,
            before: (0, 0),
            smoothed: 0,
            least: u32::MAX,
            second: 0,
            longest: 0,
            inference: 0,
            reduced: 0,
            infers: false,
        }
    }
}

impl Lp {
    fn estimate_rate(&mut self, peer: u32, echo: u32) {
        let (peer_before, echo_before) = std::mem::replace(&mut self.before, (peer, echo));
        let known = peer_before != 0 && echo_before != 0;
        if !known || peer == peer_before || echo == echo_before {
            return;
        }
        let ticks = SENDER_HZ.wrapping_mul(peer.wrapping_sub(peer_before));
        let rate = i64::from(ticks / echo.wrapping_sub(echo_before));
        let old = i64::from(self.peer_hz << 6);
        let new = if old > 0 { old + rate - (old >> 6) } else { rate << 6 };
        let peer_hz = new >> 6;
        #[expect(clippy::cast_possible_truncation, reason = "an average of numbers of 32 bits")]
        #[expect(clippy::cast_sign_loss, reason = "of which none is negative")]
        let peer_hz = peer_hz as u32;
        self.peer_hz = peer_hz;
    }

    fn take_delay(&mut self, peer: u32, echo: u32) {
        self.estimate_rate(peer, echo);
        if self.peer_hz == 0 {
            return;
        }
        let arrived = peer.wrapping_mul(RESOLUTION / self.peer_hz);
        let delay = arrived.wrapping_sub(echo.wrapping_mul(RESOLUTION / SENDER_HZ));
        if delay == 0 {
            return;
        }
        self.least = self.least.min(delay);
        if delay > self.second {
            if delay > self.longest {
                self.second = if self.longest == 0 { delay } else { self.longest };
                self.longest = delay;
            } else {
                self.second = delay;
            }
        }
        self.smoothed = if self.smoothed == 0 {
            delay << 3
        } else {
            self.smoothed.wrapping_add(delay.wrapping_sub(self.smoothed >> 3))
        };
    }

    fn is_within_threshold(&self) -> bool {
        let span = self.second.wrapping_sub(self.least);
        let bound = self.least.wrapping_add(THRESHOLD.wrapping_mul(span) / 100);
        self.smoothed >> 3 < bound
    }
}

impl Operations for Lp {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "lp",
        "TCP-LP of Linux: its clocks, 32 bits, one segment for a second indication",
        "Kuzmanovic and Knightly, TCP-LP, 2003",
        "Linux 6.1, net/ipv4/tcp_lp.c",
    )];

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !self.infers {
            socket.grow_as_reno(growth);
        }
    }

    fn on_sample(&mut self, socket: &mut Socket, sample: Sample, feedback: &Feedback) {
        #[expect(clippy::cast_possible_truncation, reason = "the clock of timestamps wraps")]
        let milliseconds = |nanos: u64| (nanos / 1_000_000) as u32;
        let now = milliseconds(socket.now.as_nanos());
        let (peer, echo) = match (feedback.peer_clock, feedback.round_trip) {
            (Some(peer), Some(rtt)) => {
                (peer, milliseconds(socket.now.as_nanos().saturating_sub(rtt.as_nanos())))
            }
            _ => self.before,
        };
        if sample.rtt.is_some_and(|rtt| rtt > 0) {
            self.take_delay(peer, echo);
        }
        let age = now.wrapping_sub(echo);
        if age as i32 > 0 {
            self.inference = age.wrapping_mul(3);
        }
        self.infers = self.reduced != 0 && now.wrapping_sub(self.reduced) < self.inference;
        if self.is_within_threshold() {
            return;
        }
        self.least = self.smoothed >> 3;
        self.second = self.smoothed >> 2;
        self.longest = self.smoothed >> 2;
        let left = if self.infers { 1 } else { (socket.cwnd() / 2).max(1) };
        socket.set_cwnd(left);
        self.reduced = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::lp::LinuxLp;
    use crate::parts::linux::samples::Sender;

    #[test]
    fn a_clock_that_seems_to_run_at_1001_a_second_measures_nothing() {
        let mut lp = Lp { peer_hz: 1001, before: (5000, 1000), ..Lp::default() };
        lp.take_delay(5000, 1000);
        assert_eq!(lp.smoothed >> 3, 1000_u32.wrapping_neg() & (u32::MAX >> 3));
    }

    #[test]
    fn a_longest_delay_counts_from_its_second_time_on() {
        let mut lp = Lp { peer_hz: 1000, before: (1, 1), ..Lp::default() };
        for (peer, second) in [(5000, 5000), (6000, 5000), (7000, 6000), (6500, 6500)] {
            // The rate is left alone while the sender's timestamp stays.
            lp.before.1 = 0;
            lp.take_delay(peer, 0);
            assert_eq!(lp.second, second);
        }
    }

    #[test]
    fn an_indication_halves_and_the_next_one_leaves_a_segment() {
        let mut lp =
            Lp { peer_hz: 1000, smoothed: 8000, least: 900, second: 1000, ..Lp::default() };
        assert!(!lp.is_within_threshold());
        lp.least = 990;
        assert!(!lp.is_within_threshold());
        lp.second = 2000;
        assert!(lp.is_within_threshold(), "1000 is less than 990 + 15 % of 1010");
        let windows = |clock_offset| {
            let mut sender = Sender::<LinuxLp>::avoiding(100);
            sender.clock_offset = clock_offset;
            [100, 300, 300].map(|rtt| {
                sender.round(rtt);
                sender.cwnd()
            })
        };
        assert_eq!(windows(0), [50, 1, 1]);
        // Beside an offset of 100 s no delay is long.
        assert_eq!(windows(100_000), [50, 50, 50]);
    }

    #[test]
    fn a_clock_is_measured_only_where_both_timestamps_have_moved() {
        let measured = |before, peer, echo| {
            let mut lp = Lp { before, ..Lp::default() };
            lp.estimate_rate(peer, echo);
            lp.peer_hz
        };
        assert_eq!(measured((5000, 1000), 6000, 2000), 1000);
        for (before, peer, echo) in
            [((0, 0), 6000, 2000), ((5000, 1000), 5000, 2000), ((5000, 1000), 6000, 1000)]
        {
            assert_eq!(measured(before, peer, echo), Lp::default().peer_hz, "{before:?}");
        }
    }
}
