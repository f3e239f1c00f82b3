//! Scalable TCP of Linux.
//!
//! Source: `net/ipv4/tcp_scalable.c` of Linux 6.12. It differs from the paper's rules: there is no
//! legacy window. Below 100 segments growth is that of Reno, since one segment for each hundred
//! acknowledged would be less, and each loss takes an eighth, however small the window.

use crate::entry::Entry;
use crate::events::Needs;
use crate::parts::linux::{self, Growth, LinuxController, Operations, Socket};

/// Segments acknowledged for one more in the window, at most.
const MOST_PER_SEGMENT: u64 = 100;

/// Its rules.
#[derive(Clone, Debug, Default)]
pub struct Scalable;

/// Scalable TCP of Linux.
pub type LinuxScalable = LinuxController<Scalable>;

impl Operations for Scalable {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "scalable",
        "Scalable TCP of Linux: standard TCP below 100 segments, and an eighth less after any loss",
        "Kelly, Scalable TCP, 2003",
        "Linux 6.12, net/ipv4/tcp_scalable.c",
    )];
    const NEEDS: Needs = linux::NO_NEEDS;

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        (socket.cwnd() - socket.cwnd() / 8).max(2)
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !growth.limited {
            return;
        }
        if let Some(acked) = socket.start_slowly(growth.acked) {
            socket.add_one_per(socket.cwnd().min(MOST_PER_SEGMENT), acked);
        }
    }
}
