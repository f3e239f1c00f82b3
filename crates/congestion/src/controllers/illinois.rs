//! Illinois: growth and decrease follow the queueing delay, and losses say when.
//!
//! Source: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control
//! algorithm for high-speed networks", Performance Evaluation 65(6-7), 2008, in the form that
//! Linux gave it (`net/ipv4/tcp_illinois.c` of Linux 6.1, read; the paper was not). Once in each
//! round trip, with d_a the mean RTT of the round and d_m the largest RTT of the connection, both
//! less the smallest:
//!
//! - d_a at most d_1 = d_m / 100: alpha = 10. After a longer delay only from the fifth such round
//!   on,
//! - otherwise alpha = (d_m - d_1) 10 / (d_m - d_1 + (d_a - d_1) (10 - 0.3) / 0.3): it falls like a
//!   hyperbola from 10 to 0.3,
//! - beta = 1/8 up to d_m / 10, 1/2 from 8 d_m / 10 on, and a line between the two,
//! - below a window of 15 segments alpha = 1 and beta = 1/2, as for standard TCP.
//!
//! The window grows by alpha segments in a round trip, and a loss takes beta of it away. After a
//! timeout alpha = 1 and beta = 1/2 until the next round is over. Slow start is standard.
//!
//! alpha has 7 bits behind the point, so 0.3 is 38/128, and beta has 6. The kernel's rounding is
//! kept: what is counted towards the next segment begins at zero after each growth. On long paths
//! d_m is mostly jitter until the first queue: an Illinois flow that has never seen a queue does
//! not know how long one can be.

use crate::entry::{Entry, Repair, Status};
use crate::events::Feedback;
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::{Growth, LinuxController, Operations, Sample, Socket, State};

const ALPHA_BITS: u32 = 7;
const ALPHA_BASE: u64 = 1 << ALPHA_BITS;
const ALPHA_MIN: u64 = 3 * ALPHA_BASE / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_BASE;
const BETA_BITS: u32 = 6;
const BETA_MIN: u64 = (1 << BETA_BITS) / 8;
const BETA_MAX: u64 = (1 << BETA_BITS) / 2;
const BETA_BASE: u64 = BETA_MAX;
/// Longest RTT in microseconds: 3.3 s. Longer ones count as this.
const LONGEST_RTT: u64 = u32::MAX as u64 / ALPHA_MAX;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "window_threshold",
        default: "15",
        allowed: Allowed::Whole(0, 1_000_000),
        meaning: "Window in segments below which it is standard TCP",
    },
    Parameter {
        name: "theta",
        default: "5",
        allowed: Allowed::Whole(1, 255),
        meaning: "Round trips without a queue, after one with a queue, until alpha is 10 again",
    },
];

/// Its rules.
#[derive(Clone, Debug)]
pub struct Rules {
    window_threshold: u64,
    theta: u64,
    /// Segments that a round trip adds, and share that a loss takes.
    alpha: u64,
    beta: u64,
    /// Smallest and largest RTT in microseconds.
    base_rtt: Option<u64>,
    max_rtt: u64,
    round: Round,
    /// Segments that the ACK being processed covers.
    acked: u64,
    /// The delay was above d_1, and rounds since then in which it was not.
    was_above: bool,
    low_rounds: u64,
}

/// RTTs of a round trip. It ends when more than the position `end` is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    end: u64,
    sum: u64,
    /// Wraps as the kernel's number of 16 bits.
    samples: u16,
}

impl Round {
    fn begin(socket: &Socket) -> Self {
        Self { end: socket.sent, ..Self::default() }
    }
}

/// Illinois.
pub type Illinois = LinuxController<Rules>;

impl Default for Rules {
    fn default() -> Self {
        Self::configured(&Values::defaults(PARAMETERS))
    }
}

impl Rules {
    fn update(&mut self, socket: &Socket) {
        let base = self.base_rtt.unwrap_or(0);
        if socket.cwnd() < self.window_threshold {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_BASE;
        } else if self.round.samples > 0 {
            let largest = self.max_rtt - base;
            let mean = self.round.sum / u64::from(self.round.samples) - base;
            self.alpha = self.alpha_for(mean, largest);
            self.beta = beta_for(mean, largest);
        }
        self.round = Round::begin(socket);
    }

    fn alpha_for(&mut self, mean: u64, largest: u64) -> u64 {
        let low = largest / 100;
        if mean > low {
            self.was_above = true;
            let (largest, mean) = (largest - low, mean - low);
            return largest * ALPHA_MAX / (largest + mean * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN);
        }
        if self.was_above {
            self.low_rounds += 1;
            if self.low_rounds < self.theta {
                return self.alpha;
            }
            self.low_rounds = 0;
            self.was_above = false;
        }
        ALPHA_MAX
    }
}

fn beta_for(mean: u64, largest: u64) -> u64 {
    let (low, high) = (largest / 10, 8 * largest / 10);
    if mean <= low {
        BETA_MIN
    } else if mean >= high || high <= low {
        BETA_MAX
    } else {
        (BETA_MIN * high - BETA_MAX * low + (BETA_MAX - BETA_MIN) * mean) / (high - low)
    }
}

impl Operations for Rules {
    const LISTED: &'static [Entry] = &[Entry {
        name: "illinois",
        summary: "Grows faster and backs off less while the queueing delay is short",
        source: "Liu, Başar and Srikant, TCP-Illinois, 2008",
        status: Status::Implementation("Linux 6.1, net/ipv4/tcp_illinois.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn configured(values: &Values) -> Self {
        Self {
            window_threshold: values.whole("window_threshold").into(),
            theta: values.whole("theta").into(),
            alpha: ALPHA_MAX,
            beta: BETA_BASE,
            base_rtt: None,
            max_rtt: 0,
            round: Round::default(),
            acked: 0,
            was_above: false,
            low_rounds: 0,
        }
    }

    fn init(&mut self, socket: &mut Socket) {
        self.round = Round::begin(socket);
    }

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        let cwnd = socket.cwnd();
        (cwnd - ((cwnd * self.beta) >> BETA_BITS)).max(2)
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if socket.acknowledged > self.round.end {
            self.update(socket);
        }
        if !growth.limited {
            return;
        }
        if socket.in_slow_start() {
            socket.slow_start(growth.acked);
            return;
        }
        socket.count += std::mem::replace(&mut self.acked, 1);
        let (cwnd, grown) = (socket.cwnd(), (socket.count * self.alpha) >> ALPHA_BITS);
        if grown >= cwnd {
            socket.set_cwnd(cwnd + grown / cwnd);
            socket.count = 0;
        }
    }

    fn on_sample(&mut self, _socket: &mut Socket, sample: Sample, _feedback: &Feedback) {
        self.acked = sample.acked;
        let Some(rtt) = sample.rtt else { return };
        let rtt = rtt.min(LONGEST_RTT);
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.max_rtt = self.max_rtt.max(rtt);
        self.round.samples = self.round.samples.wrapping_add(1);
        self.round.sum += rtt;
    }

    fn on_state(&mut self, socket: &Socket) {
        if socket.state == State::Loss {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_BASE;
            self.low_rounds = 0;
            self.was_above = false;
            self.round = Round::begin(socket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::events::samples::loss;
    use crate::parts::linux::samples::{MSS, Sender};

    /// A path whose RTT was between 100 and 200 ms, so that a queue can take 100 ms.
    fn sender(segments: u64) -> Sender<Illinois> {
        let mut sender = Sender::avoiding(segments);
        sender.round(100);
        sender.round(200);
        // The round with the long RTT is looked at when it is over.
        sender.round(200);
        sender
    }

    /// Segments that a round trip of this length adds.
    fn growth(rtt: u64) -> f64 {
        let mut sender = sender(1000);
        let mut before = 0;
        for _ in 0..8 {
            before = sender.cwnd();
            sender.round(rtt);
        }
        (sender.cwnd() - before) as f64
    }

    #[test]
    fn without_a_queue_a_round_trip_adds_ten_segments() {
        assert!((9.0..=10.0).contains(&growth(100)), "{}", growth(100));
    }

    #[test]
    fn behind_a_full_queue_a_round_trip_adds_a_third_of_a_segment() {
        let mut sender = sender(1000);
        let before = sender.cwnd();
        for _ in 0..30 {
            sender.round(200);
        }
        let added = sender.cwnd() - before;
        assert!((8..=10).contains(&added), "{added}");
    }

    #[test]
    fn behind_half_a_queue_growth_is_on_the_hyperbola() {
        // (99 * 10) / (99 + 49 * (10 - 0.297) / 0.297) = 0.58 segments in a round trip.
        let mut sender = sender(1000);
        let before = sender.cwnd();
        for _ in 0..20 {
            sender.round(150);
        }
        let added = sender.cwnd() - before;
        assert!((11..=12).contains(&added), "{added}");
    }

    #[test]
    fn one_short_round_trip_after_a_queue_does_not_bring_fast_growth_back() {
        let mut sender = sender(1000);
        let before = sender.cwnd();
        for _ in 0..5 {
            sender.round(100);
        }
        assert!(sender.cwnd() - before <= 2, "{}", sender.cwnd() - before);
        sender.round(100);
        sender.round(100);
        assert!(sender.cwnd() - before >= 9, "{}", sender.cwnd() - before);
    }

    #[test]
    fn a_loss_without_a_queue_takes_an_eighth_and_one_behind_a_full_queue_half() {
        for (rtt, left) in [(100, 7.0 / 8.0), (200, 1.0 / 2.0)] {
            let mut sender = sender(1000);
            sender.round(rtt);
            sender.round(rtt);
            let before = sender.cwnd() as f64;
            sender.controller.on_loss(&loss(1000 * MSS));
            let share = sender.cwnd() as f64 / before;
            assert!((share - left).abs() < 0.002, "{share} at an RTT of {rtt} ms");
        }
    }

    #[test]
    fn between_the_two_beta_is_a_line() {
        // At 45 % of the longest delay, half of the way from 10 to 80 %.
        assert_eq!(beta_for(45_000, 100_000), (BETA_MIN + BETA_MAX) / 2);
    }

    #[test]
    fn below_15_segments_it_is_standard_tcp() {
        let mut sender = Sender::<Illinois>::avoiding(10);
        sender.round(100);
        sender.round(100);
        let before = sender.cwnd();
        sender.round(100);
        assert_eq!(sender.cwnd(), before + 1);
        sender.controller.on_loss(&loss(10 * MSS));
        assert_eq!(sender.cwnd(), (before + 1).div_ceil(2));
    }

    #[test]
    fn after_a_timeout_growth_is_that_of_standard_tcp_until_a_round_is_over() {
        let mut sender = sender(1000);
        sender.controller.on_timeout(&loss(1000 * MSS));
        assert_eq!((sender.cwnd(), sender.alpha_and_beta()), (1, (ALPHA_BASE, BETA_BASE)));
    }

    impl Sender<Illinois> {
        fn alpha_and_beta(&self) -> (u64, u64) {
            let rules = self.controller.operations();
            (rules.alpha, rules.beta)
        }
    }
}
