//! Reno of Linux.
//!
//! Source: `net/ipv4/tcp_cong.c` of Linux 6.12 (`tcp_reno_ssthresh`, `tcp_reno_cong_avoid`). Its
//! rules are those of RFC 5681, in whole segments: half of cwnd is rounded down, and the count of
//! acknowledged segments begins again with each reduction. So all windows of a saw-tooth are the
//! same, and a queue that marks meets the same segment of a burst each time.

use crate::entry::Entry;
use crate::events::Needs;
use crate::parts::linux::{self, Growth, LinuxController, Operations, Socket};

/// Its rules.
#[derive(Clone, Debug, Default)]
pub struct Reno;

/// Reno of Linux.
pub type LinuxReno = LinuxController<Reno>;

impl Operations for Reno {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "reno",
        "Reno of Linux: standard TCP in whole segments",
        "RFC 5681",
        "Linux 6.12, net/ipv4/tcp_cong.c",
    )];
    const NEEDS: Needs = linux::NO_NEEDS;

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        socket.half()
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        socket.grow_as_reno(growth);
    }
}
