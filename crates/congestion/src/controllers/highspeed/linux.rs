//! HighSpeed TCP of Linux.
//!
//! Source: `net/ipv4/tcp_highspeed.c` of Linux 6.12. It takes the windows of RFC 3649 Appendix B
//! and not the equations: between two rows growth is that of the upper row, a whole number of
//! segments in a round trip, and the share that a loss takes is that of the row in units of 1/256.
//! Growth is for each ACK, however many segments it covers. A loss and a timeout take the row of
//! the last ACK.

use crate::entry::Entry;
use crate::events::Needs;
use crate::parts::linux::{self, Growth, LinuxController, Operations, Socket};
use crate::window::whole;

/// The windows w of RFC 3649 Appendix B from which on a(w) is 1, 2, 3, ...
const WINDOWS: [u64; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778,
    4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082,
    12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402,
    25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694,
    46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035,
    89053,
];

/// Its rules.
#[derive(Clone, Debug, Default)]
pub struct HighSpeed {
    /// The row whose window is the first that is not below cwnd.
    row: usize,
}

/// HighSpeed TCP of Linux.
pub type LinuxHighSpeed = LinuxController<HighSpeed>;

/// 256 times b(w) of section 7, rounded down.
fn decrease(window: u64) -> u64 {
    let part = libm::log(window as f64 / 38.0) / libm::log(83_000.0 / 38.0);
    whole(256.0 * (0.5 - 0.4 * part))
}

impl Operations for HighSpeed {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "highspeed",
        "HighSpeed TCP of Linux: by the rows of the table of RFC 3649",
        "RFC 3649",
        "Linux 6.12, net/ipv4/tcp_highspeed.c",
    )];
    const NEEDS: Needs = linux::NO_NEEDS;

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        let cwnd = socket.cwnd();
        (cwnd - ((cwnd * decrease(WINDOWS[self.row])) >> 8)).max(2)
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !growth.limited {
            return;
        }
        if socket.in_slow_start() {
            socket.slow_start(growth.acked);
            return;
        }
        let cwnd = socket.cwnd();
        self.row = WINDOWS.partition_point(|window| *window < cwnd).min(WINDOWS.len() - 1);
        socket.count += self.row as u64 + 1;
        if socket.count >= cwnd {
            socket.count -= cwnd;
            socket.set_cwnd(cwnd + 1);
        }
    }
}
