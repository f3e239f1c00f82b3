//! Vegas of Linux.
//!
//! Source: `net/ipv4/tcp_vegas.c` of Linux 6.12. It differs from ns-2's and the paper's rules:
//! - alpha is 2 and beta 4 segments; the RTT of a round is its smallest,
//! - slow start doubles the window in each round trip, and ends with the window that the rate
//!   fills,
//! - there is no fine timeout, and a loss halves,
//! - the window grows by a whole segment at the end of a round, whether it was used or not,
//! - after a pause without anything in flight, and after a timeout, BaseRTT is measured again,
//! - a round with less than three RTTs, and all while segments are acknowledged out of order, is
//!   Reno's.

use crate::entry::Entry;
use crate::events::Feedback;
use crate::parts::linux::{self, Growth, LinuxController, Operations, Sample, Socket, State};

/// Segments in the queue: below the first the window grows, above the second it shrinks, above the
/// third slow start ends.
const ALPHA: u32 = 2;
const BETA: u32 = 4;
const GAMMA: u32 = 1;
/// RTTs that a round must have given, and one more.
const FEW_RTTS: u32 = 2;
/// No RTT, in microseconds.
const NO_RTT: u32 = 0x7fff_ffff;

/// Its rules.
#[derive(Clone, Debug)]
pub struct Vegas {
    enabled: bool,
    /// The round ends when more than this position is acknowledged.
    end: u64,
    rtts: u32,
    /// Smallest RTT of the round and BaseRTT, in microseconds and one more.
    min_rtt: u32,
    base_rtt: u32,
}

/// Vegas of Linux.
pub type LinuxVegas = LinuxController<Vegas>;

impl Default for Vegas {
    fn default() -> Self {
        Self { enabled: true, end: 0, rtts: 0, min_rtt: NO_RTT, base_rtt: NO_RTT }
    }
}

impl Vegas {
    fn enable(&mut self, socket: &Socket) {
        *self = Self { end: socket.sent, base_rtt: self.base_rtt, ..Self::default() };
    }

    fn restart(&mut self, socket: &Socket) {
        *self = Self { end: socket.sent, ..Self::default() };
    }

    /// The end of a round with enough RTTs.
    fn adjust(&self, socket: &mut Socket, acked: u64) {
        let (cwnd, rtt, base) = (socket.cwnd(), self.min_rtt, self.base_rtt);
        let target = cwnd * u64::from(base) / u64::from(rtt);
        #[expect(clippy::cast_possible_truncation, reason = "the kernel's product wraps")]
        let backlog = (cwnd as u32).wrapping_mul(rtt - base) / base;
        if socket.in_slow_start() {
            if backlog > GAMMA {
                socket.set_cwnd(cwnd.min(target + 1));
                socket.set_ssthresh(socket.ssthresh().min(socket.cwnd()));
            } else {
                socket.slow_start(acked);
            }
        } else if backlog > BETA {
            socket.set_cwnd(cwnd - 1);
            socket.set_ssthresh(socket.ssthresh().min(cwnd - 1));
        } else if backlog < ALPHA {
            socket.set_cwnd(cwnd + 1);
        }
        socket.set_cwnd(socket.cwnd().max(2));
        let cwnd = socket.cwnd();
        socket.set_ssthresh(socket.ssthresh().max(cwnd / 2 + cwnd / 4));
    }
}

impl Operations for Vegas {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "vegas",
        "Vegas of Linux: 2 to 4 segments in the queue, no fine timeout, half after a loss",
        "Brakmo and Peterson, Vegas, 1995",
        "Linux 6.12, net/ipv4/tcp_vegas.c",
    )];

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !self.enabled {
            socket.grow_as_reno(growth);
        } else if socket.acknowledged > self.end {
            self.end = socket.sent;
            if self.rtts <= FEW_RTTS {
                socket.grow_as_reno(growth);
            } else {
                self.adjust(socket, growth.acked);
            }
            self.rtts = 0;
            self.min_rtt = NO_RTT;
        } else if socket.in_slow_start() {
            socket.slow_start(growth.acked);
        }
    }

    fn on_sample(&mut self, _socket: &mut Socket, sample: Sample, _feedback: &Feedback) {
        let Some(rtt) = sample.rtt else { return };
        let rtt = u32::try_from(rtt + 1).unwrap_or(NO_RTT).min(NO_RTT);
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.rtts += 1;
    }

    fn on_state(&mut self, socket: &Socket) {
        if socket.state == State::Open {
            self.enable(socket);
        } else {
            self.enabled = false;
        }
    }

    fn on_start(&mut self, socket: &Socket, _pause: u64) {
        self.restart(socket);
    }

    fn on_restart(&mut self, socket: &Socket) {
        self.restart(socket);
    }
}
