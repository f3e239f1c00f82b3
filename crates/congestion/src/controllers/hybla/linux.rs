//! Hybla of Linux.
//!
//! Source: `net/ipv4/tcp_hybla.c` of Linux 6.12. It differs from the paper: the window starts with
//! rho segments, there is no estimate of ssthresh, and segments are not spaced out. rho is that of
//! the smallest smoothed RTT, in eighths; powers of two have steps of an eighth, and rho counts as
//! 16 at most in slow start. Growth is for each ACK, however many segments it covers, and at most
//! to 65,535 segments. Until a loss is repaired and all is acknowledged in order, growth is that of
//! Reno.

use crate::entry::Entry;
use crate::parts::linux::{self, Growth, LinuxController, Operations, Socket, State};
use crate::window::whole;

/// RTT0 in microseconds.
const RTT0: u64 = 25_000;
/// Largest rho of slow start.
const LARGEST_POWER: u64 = 16;
/// Largest window in segments.
const LARGEST_WINDOW: u64 = 65_535;
/// Growth has seven bits behind the point.
const SHIFT: u64 = 7;
const ONE: u64 = 1 << SHIFT;

/// Its rules.
#[derive(Clone, Debug, Default)]
pub struct Hybla {
    /// 8 rho.
    rho: u64,
    /// Smallest smoothed RTT in microseconds.
    min_srtt: u64,
    /// 128ths of a segment that cwnd has not grown by.
    part: u64,
}

/// Hybla of Linux.
pub type LinuxHybla = LinuxController<Hybla>;

/// 128 times 2 to the power of eighths below one.
fn power(eighths: u64) -> u64 {
    whole(libm::exp2(eighths as f64 / 8.0) * ONE as f64)
}

impl Hybla {
    fn choose_rho(&mut self, srtt: u64) {
        self.rho = (8 * srtt / RTT0).max(8);
    }
}

impl Operations for Hybla {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "hybla",
        "Hybla of Linux: starts with rho segments, neither estimates ssthresh nor spaces segments out",
        "Caini and Firrincieli, TCP Hybla, 2004",
        "Linux 6.12, net/ipv4/tcp_hybla.c",
    )];

    fn init(&mut self, socket: &mut Socket) {
        self.choose_rho(socket.srtt);
        self.min_srtt = socket.srtt;
        socket.set_cwnd(self.rho / 8);
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if socket.srtt < self.min_srtt {
            self.choose_rho(socket.srtt);
            self.min_srtt = socket.srtt;
        }
        if !growth.limited {
            return;
        }
        if socket.state != State::Open {
            socket.grow_as_reno(growth);
            return;
        }
        if self.rho == 0 {
            self.choose_rho(socket.srtt);
        }
        let starting = socket.in_slow_start();
        let increment = if starting {
            (power(self.rho % 8) << (self.rho / 8).min(LARGEST_POWER)) - ONE
        } else {
            2 * self.rho * self.rho / socket.cwnd()
        };
        if !starting && increment < ONE {
            socket.count += 1;
        }
        let mut cwnd = socket.cwnd() + (increment >> SHIFT);
        self.part += increment % ONE;
        if self.part >= ONE {
            cwnd += self.part / ONE;
            self.part %= ONE;
            socket.count = 0;
        }
        if increment == 0 && socket.count >= cwnd {
            cwnd += 1;
            socket.count = 0;
        }
        if starting {
            cwnd = cwnd.min(socket.ssthresh());
        }
        socket.set_cwnd(cwnd.min(LARGEST_WINDOW));
    }
}
