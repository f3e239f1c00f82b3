//! Veno of Linux.
//!
//! Source: `net/ipv4/tcp_veno.c` of Linux 6.12. It differs from the paper: the backlog is counted
//! in half segments, from the smallest RTT since the last ACK that could let the window grow;
//! BaseRTT is measured again after a pause and a timeout, not after a loss; the share of a random
//! loss holds for timeouts too. On a congested path the window grows by a segment in two round
//! trips and a bit. Before three RTTs, and while segments are acknowledged out of order, growth is
//! that of Reno.

use crate::entry::Entry;
use crate::events::Feedback;
use crate::parts::linux::{self, Growth, LinuxController, Operations, Sample, Socket, State};

/// The backlog in half segments from which the path counts as congested.
const BETA: u64 = 3 << 1;
/// RTTs that must have been measured, and one more.
const FEW_RTTS: u16 = 2;
/// No RTT, in microseconds.
const NO_RTT: u64 = 0x7fff_ffff;

/// Its rules.
#[derive(Clone, Debug)]
pub struct Veno {
    enabled: bool,
    /// RTTs measured; the kernel's counter has 16 bits, and wraps.
    rtts: u16,
    /// Smallest RTT since the last growth and BaseRTT, in microseconds and one more.
    min_rtt: u64,
    base_rtt: u64,
    /// On a congested path the next full window lets cwnd grow.
    grows: bool,
    /// The backlog in half segments.
    backlog: u64,
}

/// Veno of Linux.
pub type LinuxVeno = LinuxController<Veno>;

impl Default for Veno {
    fn default() -> Self {
        Self { enabled: true, rtts: 0, min_rtt: NO_RTT, base_rtt: NO_RTT, grows: true, backlog: 0 }
    }
}

impl Veno {
    fn restart(&mut self) {
        *self = Self { rtts: self.rtts, backlog: self.backlog, ..Self::default() };
    }

    fn is_congested(&self) -> bool {
        self.backlog >= BETA
    }

    fn avoid(&mut self, socket: &mut Socket, acked: u64) {
        let cwnd = socket.cwnd();
        if !self.is_congested() {
            socket.add_one_per(cwnd, acked);
        } else if socket.count >= cwnd {
            socket.set_cwnd(cwnd + u64::from(self.grows));
            self.grows = !self.grows;
            socket.count = 0;
        } else {
            socket.count += acked;
        }
    }
}

impl Operations for Veno {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "veno",
        "Veno of Linux: the smallest RTT since the last ACK, BaseRTT kept after a loss",
        "Fu and Liew, TCP Veno, 2003",
        "Linux 6.12, net/ipv4/tcp_veno.c",
    )];

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        if self.is_congested() { socket.half() } else { (socket.cwnd() * 4 / 5).max(2) }
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !self.enabled {
            socket.grow_as_reno(growth);
            return;
        }
        if !growth.limited {
            return;
        }
        if self.rtts <= FEW_RTTS {
            socket.grow_as_reno(growth);
        } else {
            let halves = 2 * socket.cwnd();
            self.backlog = halves - halves * self.base_rtt / self.min_rtt;
            if let Some(acked) = socket.start_slowly(growth.acked) {
                self.avoid(socket, acked);
            }
            socket.set_cwnd(socket.cwnd().max(2));
        }
        self.min_rtt = NO_RTT;
    }

    fn on_sample(&mut self, _socket: &mut Socket, sample: Sample, _feedback: &Feedback) {
        let Some(rtt) = sample.rtt else { return };
        let rtt = (rtt + 1).min(NO_RTT);
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.rtts = self.rtts.wrapping_add(1);
    }

    fn on_state(&mut self, socket: &Socket) {
        self.enabled = socket.state == State::Open;
        if self.enabled {
            self.min_rtt = NO_RTT;
        }
    }

    fn on_start(&mut self, _socket: &Socket, _pause: u64) {
        self.restart();
    }

    fn on_restart(&mut self, _socket: &Socket) {
        self.restart();
    }
}
