//! H-TCP of Linux.
//!
//! Source: `net/ipv4/tcp_htcp.c` of Linux 6.12. It differs from draft-leith-tcp-htcp-06:
//! - alpha rises in whole segments, with a quarter of Delta squared, and is chosen again whenever
//!   cwnd has grown by a segment,
//! - alpha is multiplied by RTT / 100 ms between 1/10 and 2, below Delta_L too, and rounded down,
//! - Delta starts when recovery is over,
//! - the backoff is adaptive from the second loss on that comes without a change of throughput, on
//!   paths of more than 10 ms,
//! - RTTmax takes no RTT that is 20 ms above it; throughput counts what a window of segments took,
//!   and is averaged over windows,
//! - a loss reduces cwnd and not the flight size; so does a timeout.
//!
//! RTTs are in ticks of 4 ms. A spurious timeout restores the time of the last congestion. The
//! kernel does so too when a recovery proves spurious before its end; here a recovery has ended by
//! then.

use crate::entry::Entry;
use crate::events::Feedback;
use crate::parts::linux::{
    self, Growth, HZ, LinuxController, Operations, Sample, Socket, State, ticks,
};

/// alpha and beta have seven bits behind the point.
const SHIFT: u64 = 7;
const ONE: u64 = 1 << SHIFT;
const LEAST_BETA: u64 = ONE / 2;
/// 0.8.
const MOST_BETA: u64 = 102;
/// Largest RTT above RTTmax that raises it, in ticks.
const RTT_STEP: u64 = HZ / 50;
/// RTTmin above which the backoff is adaptive, in ticks.
const LONG_RTT: u64 = HZ.div_ceil(100);
/// Round trips after a congestion event in which throughput is not averaged.
const JUST_AFTER: u64 = 3;

/// Its rules.
#[derive(Clone, Debug)]
pub struct Htcp {
    alpha: u64,
    beta: u64,
    /// The last loss came without a change of throughput.
    steady: bool,
    /// Segments that the last ACK covers.
    acked: u64,
    /// Segments acknowledged since throughput was measured, and when that was.
    measuring: (u64, Option<u64>),
    /// Smallest and largest RTT.
    min_rtt: Option<u64>,
    max_rtt: u64,
    last_congestion: u64,
    /// Throughput in segments per second: the mean since the last congestion event, its largest
    /// value, and that between the two events before.
    rate: u64,
    max_rate: u64,
    old_max_rate: u64,
    /// RTTmax, the rate before and the time of congestion that a spurious event restores, until it
    /// is over.
    undo: Option<(u64, u64, u64)>,
}

/// H-TCP of Linux.
pub type LinuxHtcp = LinuxController<Htcp>;

impl Default for Htcp {
    fn default() -> Self {
        Self {
            alpha: ONE,
            beta: LEAST_BETA,
            steady: false,
            acked: 1,
            measuring: (0, None),
            min_rtt: None,
            max_rtt: 0,
            last_congestion: 0,
            rate: 0,
            max_rate: 0,
            old_max_rate: 0,
            undo: None,
        }
    }
}

impl Htcp {
    fn measure_rtt(&mut self, rtt: u64, state: State) {
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        if state == State::Open {
            self.max_rtt = self.max_rtt.max(least);
            if rtt <= self.max_rtt + RTT_STEP {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    fn measure_rate(&mut self, socket: &Socket, acked: u64) {
        let now = socket.jiffies();
        if !matches!(socket.state, State::Open | State::Disorder) {
            self.measuring = (0, Some(now));
            return;
        }
        self.measuring.0 += acked;
        let (segments, start) = self.measuring;
        let Some(min_rtt) = self.min_rtt else { return };
        // The kernel's difference wraps: with an alpha above cwnd nothing is measured.
        let window = socket.cwnd().checked_sub((self.alpha >> SHIFT).max(1));
        // Nothing was measured before: the kernel takes the time since it was switched on.
        let elapsed = start.map_or(u64::MAX, |start| now - start);
        if window.is_none_or(|window| segments < window) || elapsed < min_rtt {
            return;
        }
        let current = segments * HZ / elapsed;
        if (now - self.last_congestion) / min_rtt <= JUST_AFTER {
            self.rate = current;
            self.max_rate = current;
        } else {
            self.rate = (3 * self.rate + current) / 4;
            self.max_rate = self.max_rate.max(self.rate);
        }
        self.measuring = (0, Some(now));
    }

    fn choose_beta(&mut self) {
        let (new, old) = (self.max_rate, self.old_max_rate);
        self.old_max_rate = new;
        self.beta = LEAST_BETA;
        let changed = !(4 * old..=6 * old).contains(&(5 * new));
        if changed {
            self.steady = false;
            return;
        }
        match self.min_rtt {
            Some(least) if self.steady && least > LONG_RTT && self.max_rtt > 0 => {
                self.beta = ((least << SHIFT) / self.max_rtt).clamp(LEAST_BETA, MOST_BETA);
            }
            _ => self.steady = true,
        }
    }

    fn choose_alpha(&mut self, now: u64) {
        let mut factor = 1;
        let beyond = (now - self.last_congestion).saturating_sub(HZ);
        if beyond > 0 {
            let half = beyond / 2;
            factor += (10 * beyond + half * half / HZ) / HZ;
        }
        if let Some(min_rtt) = self.min_rtt {
            // 8 times 100 ms / RTT, so that the growth is multiplied by 1/10 to 2.
            let scale = ((HZ << 3) / (10 * min_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }
}

impl Operations for Htcp {
    const LISTED: &'static [Entry] = &[linux::variant_of(
        "htcp",
        "H-TCP of Linux: a quarter of Delta squared, growth scaled by RTT / 100 ms up to 2",
        "draft-leith-tcp-htcp-06",
        "Linux 6.12, net/ipv4/tcp_htcp.c",
    )];

    fn init(&mut self, socket: &mut Socket) {
        self.last_congestion = socket.jiffies();
    }

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        let (least, most) = (self.min_rtt.unwrap_or(0), self.max_rtt);
        self.choose_beta();
        self.choose_alpha(socket.jiffies());
        if least > 0 && most > least {
            self.max_rtt = least + (most - least) * 95 / 100;
        }
        ((socket.cwnd() * self.beta) >> SHIFT).max(2)
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !growth.limited {
            return;
        }
        if socket.in_slow_start() {
            socket.slow_start(growth.acked);
            return;
        }
        if (socket.count * self.alpha) >> SHIFT >= socket.cwnd() {
            socket.set_cwnd(socket.cwnd() + 1);
            socket.count = 0;
            self.choose_alpha(socket.jiffies());
        } else {
            socket.count += self.acked;
        }
        self.acked = 1;
    }

    fn on_sample(&mut self, socket: &mut Socket, sample: Sample, _feedback: &Feedback) {
        if socket.state == State::Open {
            self.acked = sample.acked;
        }
        if let Some(rtt) = sample.rtt.filter(|rtt| *rtt > 0) {
            self.measure_rtt(ticks(rtt), socket.state);
        }
        self.measure_rate(socket, sample.acked);
    }

    fn on_state(&mut self, socket: &Socket) {
        match socket.state {
            State::Open if self.undo.is_some() => {
                self.undo = None;
                self.last_congestion = socket.jiffies();
            }
            State::Recovery | State::Loss => {
                self.undo = Some((self.max_rtt, self.old_max_rate, self.last_congestion));
                self.last_congestion = socket.jiffies();
            }
            State::Open | State::Disorder => {}
        }
    }

    fn on_undo(&mut self) {
        if let Some((max_rtt, old_max_rate, last_congestion)) = self.undo.take() {
            self.max_rtt = max_rtt;
            self.old_max_rate = old_max_rate;
            self.last_congestion = last_congestion;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::linux::samples::socket;

    #[test]
    fn the_largest_rtt_loses_a_twentieth_of_its_distance_to_the_smallest_with_each_loss() {
        for (most, left) in [(200, 195), (100, 100), (90, 90)] {
            let mut htcp = Htcp { min_rtt: Some(100), max_rtt: most, ..Htcp::default() };
            htcp.ssthresh(&socket(50));
            assert_eq!(htcp.max_rtt, left);
        }
    }
}
