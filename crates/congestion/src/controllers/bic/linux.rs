//! BIC of Linux.
//!
//! Source: `net/ipv4/tcp_bic.c` of Linux 6.12. It differs from the paper: a loss keeps 819/1024 of
//! cwnd; the window goes a quarter of the way to W_max in a round trip and not half, by at most 16
//! segments; near W_max, on both sides, by a fifth of a segment; before the first loss by 5 % or
//! more. The pace is chosen again when cwnd has changed, or after a 32nd of a second, and takes
//! into account how many segments an ACK covers. A timeout forgets W_max, and takes the share of a
//! loss, too.

use crate::entry::Entry;
use crate::events::Feedback;
use crate::parts::linux::{self, Growth, HZ, LinuxController, Operations, Sample, Socket, State};

/// 1024 times the share of cwnd that a loss leaves.
const BETA: u64 = 819;
const SCALE: u64 = 1024;
/// The binary search takes this part of the way.
const PART: u64 = 4;
/// Largest step in segments per round trip.
const LARGEST_STEP: u64 = 16;
/// Round trips from W_max - PART to W_max.
const SMOOTH: u64 = 20;
/// Segments up to which it is Reno.
const LOW_WINDOW: u64 = 14;
/// Segments acknowledged for one more before the first loss, at most: 5 % in a round trip.
const MOST_PER_SEGMENT_AT_FIRST: u64 = 20;
/// Number of fractional bits of the segments that an ACK covers.
const RATIO_SHIFT: u64 = 4;

/// Its rules.
#[derive(Clone, Debug)]
pub struct Bic {
    /// Segments acknowledged for one more.
    per_segment: u64,
    /// W_max; zero when there was no loss, or a timeout since.
    w_max: u64,
    /// cwnd and the tick when `per_segment` was chosen.
    chosen: (u64, u64),
    /// 16 times the mean number of segments that an ACK covers.
    ratio: u64,
}

/// BIC of Linux.
pub type LinuxBic = LinuxController<Bic>;

impl Default for Bic {
    fn default() -> Self {
        Self { per_segment: 0, w_max: 0, chosen: (0, 0), ratio: 2 << RATIO_SHIFT }
    }
}

impl Bic {
    fn choose(&mut self, cwnd: u64, now: u64) {
        let (last, at) = self.chosen;
        if last == cwnd && now - at <= HZ / 32 {
            return;
        }
        self.chosen = (cwnd, now);
        if cwnd <= LOW_WINDOW {
            self.per_segment = cwnd;
            return;
        }
        let slowest = cwnd * SMOOTH / PART;
        let fastest = cwnd / LARGEST_STEP;
        let mut per_segment = if cwnd < self.w_max {
            match (self.w_max - cwnd) / PART {
                0 | 1 => slowest,
                step if step > LARGEST_STEP => fastest,
                step => cwnd / step,
            }
        } else if cwnd < self.w_max + PART {
            slowest
        } else if cwnd < self.w_max + LARGEST_STEP * (PART - 1) {
            cwnd * (PART - 1) / (cwnd - self.w_max)
        } else {
            fastest
        };
        if self.w_max == 0 {
            per_segment = per_segment.min(MOST_PER_SEGMENT_AT_FIRST);
        }
        self.per_segment = ((per_segment << RATIO_SHIFT) / self.ratio).max(1);
    }
}

impl Operations for Bic {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "bic",
        "BIC of Linux: a quarter of the way to W_max in a round trip, by at most 16 segments",
        "Xu, Harfoush and Rhee, BIC, IEEE INFOCOM 2004",
        "Linux 6.12, net/ipv4/tcp_bic.c",
    )];

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        let cwnd = socket.cwnd();
        self.w_max = if cwnd < self.w_max { cwnd * (SCALE + BETA) / (2 * SCALE) } else { cwnd };
        if cwnd <= LOW_WINDOW { socket.half() } else { (cwnd * BETA / SCALE).max(2) }
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !growth.limited {
            return;
        }
        if let Some(acked) = socket.start_slowly(growth.acked) {
            self.choose(socket.cwnd(), socket.jiffies());
            socket.add_one_per(self.per_segment, acked);
        }
    }

    fn on_sample(&mut self, socket: &mut Socket, sample: Sample, _feedback: &Feedback) {
        if socket.state == State::Open {
            self.ratio = self.ratio + sample.acked - (self.ratio >> RATIO_SHIFT);
        }
    }

    fn on_state(&mut self, socket: &Socket) {
        if socket.state == State::Loss {
            *self = Self::default();
        }
    }
}
