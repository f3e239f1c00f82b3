//! Westwood of Linux, which is Westwood+.
//!
//! Source: `net/ipv4/tcp_westwood.c` of Linux 6.12. It is not the Westwood of 2002: a sample of the
//! bandwidth is what an interval of an RTT, at least 50 ms, has delivered, and goes through two
//! filters that keep 7/8. The first sample is taken as it is. During recovery the window is that of
//! Reno, half of cwnd; at its end, and at the end of the reduction for a mark, it is BWE * RTTmin,
//! even where that is more than before. A timeout leaves that as ssthresh, and RTTmin is learnt
//! again.
//!
//! Decided here: an ACK that comes in order, without new SACK blocks and without ECE takes the
//! kernel's fast path, where duplicate ACKs counted before are not deducted.

use crate::entry::Entry;
use crate::events::Feedback;
use crate::parts::linux::{
    self, Growth, HZ, LinuxController, Operations, Sample, Socket, State, ticks,
};

/// Shortest interval of a sample in ticks: 50 ms.
const SHORTEST: u64 = HZ / 20;
/// RTT before the first sample in ticks.
const FIRST_RTT: u64 = 20 * HZ;

/// Its rules.
#[derive(Clone, Debug)]
pub struct Westwood {
    /// Bandwidth in bytes per tick after the first filter and after both.
    once: u64,
    twice: u64,
    /// The tick at which the interval began.
    began: u64,
    /// Bytes that it has delivered.
    bytes: u64,
    /// Stream position up to which is counted; none before the first ACK.
    counted: Option<u64>,
    /// Bytes that duplicate ACKs stood for.
    accounted: u64,
    /// The last RTT and the smallest one, in ticks.
    rtt: u64,
    min_rtt: u64,
    forget_min_rtt: bool,
}

/// Westwood of Linux.
pub type LinuxWestwood = LinuxController<Westwood>;

impl Default for Westwood {
    fn default() -> Self {
        Self {
            once: 0,
            twice: 0,
            began: 0,
            bytes: 0,
            counted: None,
            accounted: 0,
            rtt: FIRST_RTT,
            min_rtt: FIRST_RTT,
            forget_min_rtt: true,
        }
    }
}

impl Westwood {
    fn filter(&mut self, interval: u64) {
        let sample = self.bytes / interval;
        if self.once == 0 && self.twice == 0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = (7 * self.once + sample) >> 3;
            self.twice = (7 * self.twice + self.once) >> 3;
        }
    }

    /// The bytes that an ACK out of order delivers.
    fn count(&mut self, acked: u64, mss: u64) -> u64 {
        if acked == 0 {
            self.accounted += mss;
            return mss;
        }
        if acked <= mss {
            return acked;
        }
        if self.accounted >= acked {
            self.accounted -= acked;
            return mss;
        }
        acked - std::mem::take(&mut self.accounted)
    }

    /// BWE * RTTmin in segments.
    fn share(&self, mss: u64) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "the kernel's product wraps")]
        let bytes = (self.twice as u32).wrapping_mul(self.min_rtt as u32);
        (u64::from(bytes) / mss).max(2)
    }
}

impl Operations for Westwood {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "westwood",
        "Westwood+ of Linux: after a loss the window that the mean rate fills",
        "Grieco and Mascolo, Westwood+, 2004",
        "Linux 6.12, net/ipv4/tcp_westwood.c",
    )];

    fn init(&mut self, socket: &mut Socket) {
        self.began = socket.jiffies();
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        socket.grow_as_reno(growth);
    }

    fn on_any_ack(&mut self, socket: &Socket, feedback: &Feedback) {
        let now = socket.jiffies();
        let before = *self.counted.get_or_insert(feedback.acknowledged);
        let interval = now - self.began;
        if self.rtt > 0 && interval > self.rtt.max(SHORTEST) {
            self.filter(interval);
            self.bytes = 0;
            self.began = now;
        }
        let acked = feedback.acknowledged - before;
        self.counted = Some(feedback.acknowledged);
        let is_news = feedback.sacked > 0 || feedback.marked;
        let in_order = feedback.acked > 0 && !is_news && socket.state == State::Open;
        self.bytes += if in_order { acked } else { self.count(acked, socket.mss()) };
        self.min_rtt = if self.forget_min_rtt { self.rtt } else { self.min_rtt.min(self.rtt) };
        self.forget_min_rtt = false;
    }

    fn on_sample(&mut self, _socket: &mut Socket, sample: Sample, _feedback: &Feedback) {
        if let Some(rtt) = sample.rtt.filter(|rtt| *rtt > 0) {
            self.rtt = ticks(rtt);
        }
    }

    fn on_reduced(&mut self, socket: &mut Socket) {
        let share = self.share(socket.mss());
        socket.set_ssthresh(share);
        socket.set_cwnd(share);
    }

    fn on_timeout(&mut self, socket: &mut Socket) {
        socket.set_ssthresh(self.share(socket.mss()));
        self.forget_min_rtt = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::acknowledged;
    use crate::parts::linux::samples::{MSS, socket};

    /// `tcp_ack` takes no ACK with ECE for one of the fast path, where nothing is deducted.
    #[test]
    fn an_ack_that_echoes_a_mark_deducts_what_duplicates_were_counted_for() {
        for (marked, bytes) in [(false, 3 * MSS), (true, MSS)] {
            let mut westwood =
                Westwood { accounted: 2 * MSS, counted: Some(0), ..Westwood::default() };
            let acknowledged = acknowledged(0, 3 * MSS);
            let feedback = Feedback { marked, acknowledged: 3 * MSS, ..acknowledged };
            westwood.on_any_ack(&socket(10), &feedback);
            assert_eq!(westwood.bytes, bytes, "{marked}");
        }
    }

    #[test]
    fn what_duplicates_were_counted_for_is_not_counted_again() {
        let mut westwood = Westwood::default();
        let counted = [0, 0, 0, 0].map(|acked| westwood.count(acked, 1000));
        assert_eq!(counted, [1000; 4], "a segment for each duplicate");
        // Of the four, two and two are acknowledged, each by an ACK of its own.
        assert_eq!(westwood.count(2000, 1000), 1000);
        assert_eq!(westwood.count(2000, 1000), 1000);
        assert_eq!(westwood.count(5000, 1000), 5000, "all of them are");
    }
}
