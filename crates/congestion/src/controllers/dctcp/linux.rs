//! DCTCP of Linux.
//!
//! Source: `net/ipv4/tcp_dctcp.c` of Linux 6.1. What differs from RFC 8257:
//!
//! - alpha is a whole number of 1/1024. A sixteenth of it is taken off in each window of data, at
//!   least 1. The share of marks is added as a whole number, too: less than one mark in 64 segments
//!   adds nothing. Under such marks alpha is 0 after a while, and a mark takes nothing from the
//!   window.
//! - Marked and all data are counted in segments delivered, cumulatively or selectively.
//! - A window of data is over when all of it is acknowledged, and not when more is.
//! - A loss halves cwnd and not the flight size, in the window of a mark too. A timeout calls the
//!   same rule.
//!
//! The kernel's parameters `dctcp_shift_g` and `dctcp_alpha_on_init` have their defaults.

use crate::entry::Entry;
use crate::events::{Ecn, Feedback, Needs};
use crate::parts::linux::{self, Growth, LinuxController, Operations, Socket};

/// alpha of a path on which everything is marked (`DCTCP_MAX_ALPHA`).
const WHOLE: u64 = 1024;
/// g is 1/2^4 (`dctcp_shift_g`).
const SHIFT: u32 = 4;

/// Segments delivered since some point.
#[derive(Clone, Copy, Debug, Default)]
struct Delivered {
    all: u64,
    marked: u64,
}

/// Its rules.
#[derive(Clone, Debug)]
pub struct Dctcp {
    alpha: u64,
    /// Since the connection began, in bytes.
    bytes: u64,
    /// Since the window of data began.
    window: Delivered,
    /// The window of data ends when this is acknowledged.
    end: u64,
}

/// DCTCP of Linux.
pub type LinuxDctcp = LinuxController<Dctcp>;

impl Default for Dctcp {
    fn default() -> Self {
        Self { alpha: WHOLE, bytes: 0, window: Delivered::default(), end: 0 }
    }
}

impl Dctcp {
    fn count(&mut self, feedback: &Feedback, mss: u64) {
        let Some(rate) = feedback.rate else { return };
        let segments = rate.delivered.saturating_sub(self.bytes).div_ceil(mss);
        self.bytes = rate.delivered;
        self.window.all += segments;
        if feedback.marked {
            self.window.marked += segments;
        }
    }

    /// `dctcp_update_alpha`.
    fn update(&mut self) {
        let Delivered { all, marked } = std::mem::take(&mut self.window);
        let off = self.alpha >> SHIFT;
        self.alpha = if off > 0 { self.alpha - off } else { 0 };
        if marked > 0 {
            let share = (marked << (10 - SHIFT)) / all.max(1);
            self.alpha = (self.alpha + share).min(WHOLE);
        }
    }
}

impl Operations for Dctcp {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "dctcp",
        "DCTCP of Linux: alpha in whole 1/1024, to which few marks add nothing",
        "RFC 8257",
        "Linux 6.1, net/ipv4/tcp_dctcp.c",
    )];
    const NEEDS: Needs =
        Needs { feedback: true, records: true, marks: Ecn::EachMark, ..linux::NO_NEEDS };

    fn init(&mut self, socket: &mut Socket) {
        self.end = socket.sent;
    }

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        let cwnd = socket.cwnd();
        (cwnd - ((cwnd * self.alpha) >> 11)).max(2)
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        socket.grow_as_reno(growth);
    }

    fn on_any_ack(&mut self, socket: &Socket, feedback: &Feedback) {
        self.count(feedback, socket.mss());
        if socket.acknowledged >= self.end {
            self.update();
            self.end = socket.sent;
        }
    }

    fn on_recovery(&mut self, socket: &mut Socket) {
        socket.set_ssthresh(socket.half());
    }

    fn on_timeout(&mut self, socket: &mut Socket) {
        socket.set_ssthresh(socket.half());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::events::samples::loss;
    use crate::parts::linux::samples::{MSS, Sender, socket};

    fn after_windows(alpha: u64, windows: u64, marked: u64, all: u64) -> u64 {
        let mut dctcp = Dctcp { alpha, ..Dctcp::default() };
        for _ in 0..windows {
            dctcp.window = Delivered { all, marked };
            dctcp.update();
        }
        dctcp.alpha
    }

    #[test]
    fn alpha_without_marks_falls_to_nothing() {
        assert_eq!(after_windows(1024, 1, 0, 100), 960);
        // What is below 16 has no sixteenth: all of it goes.
        assert_eq!(after_windows(16, 1, 0, 100), 15);
        assert_eq!(after_windows(15, 1, 0, 100), 0);
        assert_eq!(after_windows(1024, 100, 0, 100), 0);
    }

    #[test]
    fn fewer_marks_than_one_in_64_add_nothing() {
        assert_eq!(after_windows(0, 100, 1, 65), 0);
        // One of 64: 1 in each window, which the next one takes off.
        assert_eq!(after_windows(0, 1, 1, 64), 1);
        // Half of all: 32 for each, against a sixteenth, until that is 32 as well.
        assert_eq!(after_windows(0, 200, 50, 100), 512);
        assert_eq!(after_windows(1024, 10, 100, 100), 1024);
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half_of_cwnd() {
        let mut dctcp = Dctcp { alpha: 256, ..Dctcp::default() };
        assert_eq!(dctcp.ssthresh(&socket(100)), 88, "100 - 100 * 256 / 2048");
        assert_eq!(dctcp.ssthresh(&socket(2)), 2);
        let mut sender = Sender::<LinuxDctcp>::new(100);
        sender.controller.operations_mut().alpha = 256;
        sender.controller.on_congestion_mark(&loss(MSS));
        assert_eq!(sender.cwnd(), 88);
        sender.controller.on_loss_after_mark(&loss(MSS));
        assert_eq!(sender.cwnd(), 44);
        sender.controller.on_recovery_exit(sender.now);
        sender.controller.on_loss(&loss(MSS));
        assert_eq!(sender.cwnd(), 22);
        sender.controller.on_timeout(&loss(MSS));
        assert_eq!(sender.controller.window().ssthresh, 11 * MSS);
    }

    /// The window of data ends with its last segment.
    #[test]
    fn each_round_trip_takes_a_sixteenth_of_alpha() {
        let mut sender = Sender::<LinuxDctcp>::avoiding(10);
        sender.round(100);
        let before = sender.controller.operations().alpha;
        sender.round(100);
        assert_eq!(sender.controller.operations().alpha, before - before / 16);
    }
}
