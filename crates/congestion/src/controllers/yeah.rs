//! YeAH: Scalable TCP while the queue is short, Reno while it is not, and the queue is emptied
//! early.
//!
//! Source: A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP",
//! PFLDnet 2007, in the form that Linux gave it (`net/ipv4/tcp_yeah.c` of Linux 6.1, read; the
//! paper was not). At the end of a round trip with at least three RTTs, the queue is Q = cwnd
//! (RTTmin - RTTbase) / RTTmin segments, with the smallest RTT of the round and that of the
//! connection:
//!
//! - fast mode, while Q is at most `alpha` (80) and the delay at most RTTbase / 8: one segment for
//!   each min(cwnd, 100) acknowledged, as Scalable TCP,
//! - slow mode otherwise: one segment in a round trip, as Reno. With Q above `alpha` and cwnd above
//!   `reno_count`, Q leaves the window, at most half of it, and ssthresh is what is left (early
//!   decongestion). `reno_count` estimates the window of a competing Reno flow: half of cwnd at
//!   first, and one segment more for each slow round,
//! - loss: in fast mode, and in the first 15 slow rounds in a row, Q leaves, at least an eighth and
//!   at most half of cwnd. Later half of cwnd leaves: the flow competes with others that only
//!   losses stop. `reno_count` is halved,
//! - more than 50 fast rounds since the last loss set `reno_count` to 2.
//!
//! RTTbase is measured again after a pause with nothing in flight. Slow start is standard.

use crate::entry::{Entry, Repair, Status};
use crate::events::Feedback;
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::{Growth, LinuxController, Operations, Sample, Socket, State};

/// Share of RTTbase that the delay may be in fast mode, as a divisor (phi).
const PHI: u64 = 8;
/// Smallest share of cwnd that a loss takes in fast mode, as a power of 1/2 (delta).
const DELTA: u32 = 3;
/// Slow rounds in a row that show a competing flow (rho).
const RHO: u64 = 16;
/// Fast rounds that show that there is none (zeta).
const ZETA: u64 = 50;
/// Segments acknowledged for one more in fast mode.
const SCALABLE: u64 = 100;
/// Smallest `reno_count` and smallest window after a loss.
const LEAST: u64 = 2;
/// RTTs that a round must have given, and one more.
const FEW_RTTS: u16 = 2;

const PARAMETERS: &[Parameter] = &[Parameter {
    name: "alpha",
    default: "80",
    allowed: Allowed::Whole(0, 1_000_000),
    meaning: "Segments in the queue above which it is emptied",
}];

/// Its rules.
#[derive(Clone, Debug)]
pub struct Rules {
    alpha: u64,
    /// The round ends when more than this position is acknowledged.
    end: u64,
    /// RTTs in it, a number that wraps in the kernel too.
    samples: u16,
    /// Smallest RTT of the round and of the connection, in microseconds and one more.
    min_rtt: Option<u64>,
    base_rtt: Option<u64>,
    /// Q at the end of the last round.
    queue: u64,
    /// Slow rounds in a row; zero in fast mode.
    slow_rounds: u64,
    fast_rounds: u64,
    reno_count: u64,
}

/// YeAH.
pub type Yeah = LinuxController<Rules>;

impl Default for Rules {
    fn default() -> Self {
        Self::configured(&Values::defaults(PARAMETERS))
    }
}

impl Rules {
    fn begin_round(&mut self, socket: &Socket) {
        self.end = socket.sent;
        self.samples = 0;
        self.min_rtt = None;
    }

    fn restart(&mut self, socket: &Socket) {
        self.base_rtt = None;
        self.begin_round(socket);
    }

    /// The end of a round with enough RTTs.
    fn judge(&mut self, socket: &mut Socket) {
        let (Some(rtt), Some(base)) = (self.min_rtt, self.base_rtt) else { return };
        let delay = rtt - base;
        self.queue = socket.cwnd() * delay / rtt;
        if self.queue > self.alpha || delay > base / PHI {
            self.take_slowly(socket);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ZETA {
                self.reno_count = LEAST;
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
    }

    fn take_slowly(&mut self, socket: &mut Socket) {
        let cwnd = socket.cwnd();
        if self.queue > self.alpha && cwnd > self.reno_count {
            let left = (cwnd - self.queue.min(cwnd / 2)).max(self.reno_count);
            socket.set_cwnd(left);
            socket.set_ssthresh(left);
        }
        if self.reno_count <= LEAST {
            self.reno_count = (socket.cwnd() / 2).max(LEAST);
        } else {
            self.reno_count += 1;
        }
        self.slow_rounds += 1;
    }

    fn add(&self, socket: &mut Socket, acked: u64) {
        let Some(acked) = socket.start_slowly(acked) else { return };
        let cwnd = socket.cwnd();
        let per = if self.slow_rounds == 0 { cwnd.min(SCALABLE) } else { cwnd };
        socket.add_one_per(per, acked);
    }
}

impl Operations for Rules {
    const LISTED: &'static [Entry] = &[Entry {
        name: "yeah",
        summary: "Scalable TCP on a free path, Reno on a congested one, and queues are emptied early",
        source: "Baiocchi, Castellani and Vacirca, YeAH-TCP, 2007",
        status: Status::Implementation("Linux 6.1, net/ipv4/tcp_yeah.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn configured(values: &Values) -> Self {
        Self {
            alpha: values.whole("alpha").into(),
            end: 0,
            samples: 0,
            min_rtt: None,
            base_rtt: None,
            queue: 0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_count: LEAST,
        }
    }

    fn init(&mut self, socket: &mut Socket) {
        self.restart(socket);
    }

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        let cwnd = socket.cwnd();
        let half = (cwnd / 2).max(LEAST);
        let reduction =
            if self.slow_rounds < RHO { self.queue.min(half).max(cwnd >> DELTA) } else { half };
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count / 2).max(LEAST);
        cwnd.saturating_sub(reduction).max(LEAST)
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !growth.limited {
            return;
        }
        self.add(socket, growth.acked);
        if socket.acknowledged > self.end {
            if self.samples > FEW_RTTS {
                self.judge(socket);
            }
            self.begin_round(socket);
        }
    }

    fn on_sample(&mut self, _socket: &mut Socket, sample: Sample, _feedback: &Feedback) {
        let Some(rtt) = sample.rtt else { return };
        let smaller = |least: Option<u64>| Some(least.map_or(rtt + 1, |least| least.min(rtt + 1)));
        self.base_rtt = smaller(self.base_rtt);
        self.min_rtt = smaller(self.min_rtt);
        self.samples = self.samples.wrapping_add(1);
    }

    fn on_state(&mut self, socket: &Socket) {
        if socket.state == State::Open {
            self.begin_round(socket);
        }
    }

    fn on_start(&mut self, socket: &Socket, _pause: u64) {
        self.restart(socket);
    }

    fn on_restart(&mut self, socket: &Socket) {
        self.restart(socket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::events::samples::loss;
    use crate::parts::linux::samples::{MSS, Sender};

    /// The smallest RTT of 100 ms is known.
    fn sender(segments: u64) -> Sender<Yeah> {
        let mut sender = Sender::avoiding(segments);
        sender.round(100);
        sender
    }

    #[test]
    fn on_a_free_path_a_round_trip_adds_a_hundredth_of_the_window() {
        let mut sender = sender(1000);
        sender.round(100);
        let before = sender.cwnd();
        sender.round(100);
        assert!((before / 100..=before / 100 + 1).contains(&(sender.cwnd() - before)));
    }

    #[test]
    fn a_delay_of_more_than_an_eighth_makes_it_reno() {
        // 70 of 500 segments wait, which is no reason to empty the queue.
        let mut sender = sender(500);
        sender.round(114);
        sender.round(114);
        let before = sender.cwnd();
        sender.round(114);
        assert_eq!(sender.cwnd(), before + 1);
    }

    #[test]
    fn a_queue_of_more_than_80_segments_leaves_the_window_at_once() {
        let mut sender = sender(2000);
        sender.round(105);
        let before = sender.cwnd();
        sender.round(105);
        // The round's 105 ms are judged with its first ACK after the end: Q = 2000 * 5 / 105 = 95.
        let left = sender.controller.window().ssthresh / MSS;
        let expected = before - before * 5 / 105;
        assert!(left.abs_diff(expected) <= 1, "{left} of {before}");
    }

    #[test]
    fn no_more_than_half_of_the_window_leaves_at_once() {
        let mut sender = sender(1000);
        sender.round(400);
        sender.round(400);
        let left = sender.controller.window().ssthresh / MSS;
        assert!((500..=511).contains(&left), "{left}");
    }

    #[test]
    fn a_loss_on_a_free_path_takes_an_eighth() {
        let mut sender = sender(800);
        let before = sender.cwnd();
        sender.controller.on_loss(&loss(800 * MSS));
        assert_eq!(sender.cwnd(), before - before / 8);
    }

    #[test]
    fn after_sixteen_slow_rounds_a_loss_takes_half() {
        for (rounds, expected) in [(14, 7.0 / 8.0), (20, 0.5)] {
            let mut sender = sender(200);
            for _ in 0..rounds {
                // 24 of 200 segments wait.
                sender.round(114);
            }
            let before = sender.cwnd() as f64;
            sender.controller.on_loss(&loss(200 * MSS));
            let share = sender.cwnd() as f64 / before;
            assert!((share - expected).abs() < 0.01, "{share} after {rounds} rounds");
        }
    }

    #[test]
    fn early_decongestion_leaves_what_a_reno_flow_would_have() {
        let mut sender = sender(1000);
        for _ in 0..10 {
            sender.round(1000);
        }
        // The first took half, and Reno's share grew from half of that by one in each round.
        let rules = sender.controller.operations();
        assert!(sender.cwnd() >= 250, "{}", sender.cwnd());
        assert!((250..=265).contains(&rules.reno_count), "{}", rules.reno_count);
    }

    #[test]
    fn the_smallest_rtt_is_measured_anew_after_a_pause() {
        let mut sender = sender(100);
        sender.controller.on_idle();
        assert_eq!(sender.controller.operations().base_rtt, None);
    }

    #[test]
    fn a_delay_of_just_an_eighth_is_no_congestion() {
        let sender = Sender::<Yeah>::avoiding(100);
        for (rtt, fast) in [(9000, 1), (9001, 0)] {
            let mut socket = crate::parts::linux::samples::socket(100);
            let known = sender.controller.operations().clone();
            let mut rules = Rules { base_rtt: Some(8000), min_rtt: Some(rtt), ..known };
            rules.judge(&mut socket);
            assert_eq!(rules.fast_rounds, fast, "{rtt}");
        }
    }

    #[test]
    fn a_loss_halves_what_a_reno_flow_would_have() {
        let mut sender = sender(800);
        for (before, after) in [(101, 50), (3, 2)] {
            sender.controller.operations_mut().reno_count = before;
            sender.controller.on_loss(&loss(800 * MSS));
            assert_eq!(sender.controller.operations().reno_count, after);
        }
    }

    #[test]
    fn rtts_are_counted_with_a_microsecond_more() {
        let mut sender = sender(100);
        sender.grown_in(3, 100);
        assert_eq!(sender.controller.operations().base_rtt, Some(100_001));
        sender.grown_in(1, 90);
        assert_eq!(sender.controller.operations().base_rtt, Some(90_001));
    }
}
