//! CDG: backs off at random when the round-trip time grows, and keeps up with flows that do not.
//!
//! Source: D. A. Hayes, G. Armitage, "Revisiting TCP congestion control using delay gradients",
//! IFIP Networking, 2011, in the form that Linux gave it (`net/ipv4/tcp_cdg.c` of Linux 6.1, read;
//! the paper was not). Once in each round trip, g is the change of its smallest RTT since the round
//! before it, or of its largest one where the smallest did not grow, summed over the last `window`
//! (8) rounds:
//!
//! - with the probability 1 - exp(-g `backoff_factor`), g in seconds, the window falls to
//!   `backoff_beta` (0.7071) of cwnd. For the round trip after it the window stays, and delays do
//!   not count,
//! - after `ineffectual` (5) such reductions without a falling delay there are no more until it
//!   falls: other flows fill the queue,
//! - the shadow window is what cwnd would be without these reductions. A loss leaves half of it, at
//!   most cwnd and at least half of cwnd, so that competing flows which fill queues take less,
//! - otherwise it is Reno, with a HyStart of its own: it looks at any window below ssthresh, at
//!   trains of ACKs no more than 3 ms apart, and at a smallest RTT of a round that is an eighth
//!   longer.
//!
//! An ACK of one segment counts less where ACKs of several have come before: it may have been
//! delayed.
//!
//! `loss_tolerance` is off in Linux: a loss while the gradients show no full queue then leaves
//! cwnd. The random number follows from the time and what was acknowledged, so that a run can be
//! repeated. exp() has the accuracy of the kernel's table, to 2^-16, without its two rounding
//! errors.

use crate::entry::{Entry, Repair, Status};
use crate::events::Feedback;
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::{Growth, LinuxController, Operations, Sample, Socket, State, random};
use crate::window::whole;

/// Microseconds between two ACKs of a train.
const TRAIN_GAP: u64 = 3000;
/// RTTs of a round before its delay counts in slow start.
const SAMPLES: u16 = 8;
/// Shortest times in microseconds that end slow start.
const SHORTEST: u64 = 125;
/// Fall of the delay in microseconds, summed over the rounds, that shows that a reduction had
/// effect.
const EFFECT: i64 = -32;
/// ACKs that may have been delayed, at most.
const DELAYED: u8 = 5;
/// Bits of `backoff_beta`.
const BETA_BITS: u32 = 10;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "window",
        default: "8",
        allowed: Allowed::Whole(1, 256),
        meaning: "Round trips over which gradients are summed",
    },
    Parameter {
        name: "backoff_beta",
        default: "0.7071",
        allowed: Allowed::Range(0.0, 1.0),
        meaning: "Share of cwnd that a reduction for delay leaves, in steps of 1/1024",
    },
    Parameter {
        name: "backoff_factor",
        default: "42",
        allowed: Allowed::Whole(0, 1_000_000),
        meaning: "Factor of the gradient in seconds in the exponent of the probability",
    },
    Parameter {
        name: "ineffectual",
        default: "5",
        allowed: Allowed::Whole(0, 65_535),
        meaning: "Reductions without effect after which there are no more; 0 for no limit",
    },
    Parameter {
        name: "shadow_window",
        default: "on",
        allowed: Allowed::OneOf(&["on", "off"]),
        meaning: "Whether a loss reduces the shadow window, and not cwnd; off for background traffic",
    },
    Parameter {
        name: "loss_tolerance",
        default: "off",
        allowed: Allowed::OneOf(&["on", "off"]),
        meaning: "Whether a loss leaves cwnd while the gradients show that no queue is full",
    },
];

/// Smallest and largest RTT, or their changes, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extremes {
    min: i64,
    max: i64,
}

impl Extremes {
    const NONE: Self = Self { min: 0, max: 0 };
}

/// State of the queue by the last reductions and gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queue {
    #[default]
    Unknown,
    NotFull,
    Full,
    /// The window is being reduced for its delay.
    BackingOff,
}

#[derive(Clone, Debug)]
struct Knobs {
    window: usize,
    backoff_beta: u64,
    backoff_factor: u64,
    ineffectual: u32,
    shadow_window: bool,
    loss_tolerance: bool,
}

/// Its rules.
#[derive(Clone, Debug)]
pub struct Rules {
    knobs: Knobs,
    rtt: Extremes,
    rtt_before: Extremes,
    /// The last gradients, their sum, and the place of the next.
    gradients: Vec<Extremes>,
    sum: Extremes,
    next: usize,
    filled: bool,
    queue: Queue,
    /// ACKs of single segments that may have been delayed.
    delayed: u8,
    /// The round ends when more than this position is acknowledged.
    end: u64,
    shadow: u64,
    reductions: u32,
    /// The window stays as it is until more than this position is acknowledged.
    reducing: Option<u64>,
    start: Start,
}

/// HyStart, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    min_rtt: u64,
    samples: u16,
    /// Beginning of the round and last ACK of the train.
    train: Option<(u64, u64)>,
}

/// CDG.
pub type Cdg = LinuxController<Rules>;

impl Default for Rules {
    fn default() -> Self {
        Self::configured(&Values::defaults(PARAMETERS))
    }
}

/// exp(-micro 10^-6) of 2^32 - 1: the low eight bits as a line, one factor for each higher bit.
fn exponential(micro: u32) -> u32 {
    let bits = micro >> 8;
    if bits > u32::from(u16::MAX) {
        return 0;
    }
    let line = u32::MAX - (micro & 0xff) * (u32::MAX / 1_000_000);
    (0..u16::BITS).filter(|bit| bits >> bit & 1 == 1).fold(line, |product, bit| {
        let factor = libm::round(65_536.0 * libm::exp(-256e-6 * f64::from(1_u32 << bit)));
        #[expect(clippy::cast_possible_truncation, reason = "a factor is at most 1")]
        let product = ((u64::from(product) * whole(factor)) >> 16) as u32;
        product
    })
}

impl Rules {
    /// The gradient of the round that is over, summed over the window.
    fn gradient(&mut self) -> i64 {
        let min = self.rtt.min - self.rtt_before.min;
        let max = self.rtt.max - self.rtt_before.max;
        let mut change = Extremes { min, max };
        let window = self.knobs.window;
        if window > 1 {
            let oldest = std::mem::replace(&mut self.gradients[self.next], change);
            self.sum.min += change.min - oldest.min;
            self.sum.max += change.max - oldest.max;
            self.next = (self.next + 1) % window;
            change = self.sum;
        }
        let mut gradient = if change.min > 0 { change.min } else { change.max };
        if !self.filled {
            if self.next == 0 {
                self.filled = true;
            } else {
                gradient = gradient * window as i64 / self.next as i64;
            }
        }
        if change.min <= EFFECT || change.max <= EFFECT {
            self.reductions = 0;
        }
        if self.knobs.loss_tolerance {
            self.judge_queue(change);
        }
        gradient
    }

    fn judge_queue(&mut self, change: Extremes) {
        let rounded = |number: i64| (number + 32 * number.signum()) / 64;
        match (rounded(change.min), rounded(change.max)) {
            (1.., ..=0) => self.queue = Queue::Full,
            (1.., 1..) | (_, ..=-1) => self.queue = Queue::NotFull,
            _ => {}
        }
    }

    /// Returns true if a gradient, in microseconds, reduces the window.
    fn backs_off(&mut self, socket: &Socket, gradient: i64) -> bool {
        let random = random(socket);
        let exponent = gradient.unsigned_abs().saturating_mul(self.knobs.backoff_factor);
        let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
        if random <= exponential(exponent) {
            return false;
        }
        if self.knobs.ineffectual > 0 {
            self.reductions += 1;
            if self.reductions > self.knobs.ineffectual {
                return false;
            }
        }
        self.shadow = self.shadow.max(socket.cwnd());
        self.queue = Queue::BackingOff;
        true
    }

    /// The window falls, for the round trip that follows.
    fn back_off(&mut self, socket: &mut Socket) {
        let left = self.ssthresh(socket);
        socket.count = 0;
        socket.set_ssthresh(left);
        socket.set_cwnd(left);
        self.reducing = Some(socket.sent);
    }

    /// A reduction is over: the next round begins, and what it changed is no gradient.
    fn finish_reduction(&mut self, socket: &Socket) {
        self.reducing = None;
        self.queue = Queue::Unknown;
        self.end = socket.sent;
        self.rtt_before = std::mem::take(&mut self.rtt);
    }

    fn watch_slow_start(&mut self, socket: &mut Socket, limited: bool) {
        let least = self.rtt.min as u64;
        let start = &mut self.start;
        start.min_rtt = match (start.min_rtt, least) {
            (known, 0) => known,
            (0, least) => least,
            (known, least) => known.min(least),
        };
        if start.min_rtt == 0 {
            return;
        }
        let now = socket.now.as_nanos() / 1000;
        match &mut start.train {
            Some((began, last)) if limited => {
                if now < *last + TRAIN_GAP {
                    *last = now;
                    if now > *began + (start.min_rtt / 2).max(SHORTEST) {
                        socket.set_ssthresh(socket.cwnd());
                        return;
                    }
                }
            }
            train => *train = Some((now, now)),
        }
        if start.samples < SAMPLES {
            start.samples += 1;
        } else if least > (start.min_rtt + start.min_rtt / 8).max(SHORTEST) {
            socket.set_ssthresh(socket.cwnd());
        }
    }

    fn forget(&mut self, socket: &Socket) {
        *self = Self {
            knobs: self.knobs.clone(),
            gradients: vec![Extremes::NONE; self.knobs.window],
            rtt: Extremes::NONE,
            rtt_before: Extremes::NONE,
            sum: Extremes::NONE,
            next: 0,
            filled: false,
            queue: Queue::Unknown,
            delayed: 0,
            end: socket.sent,
            shadow: socket.cwnd(),
            reductions: 0,
            // The kernel's TCP goes on with it.
            reducing: self.reducing,
            start: Start::default(),
        };
    }
}

impl Operations for Rules {
    const LISTED: &'static [Entry] = &[Entry {
        name: "cdg",
        summary: "Delay-gradient: backs off at random when the RTT grows from round to round",
        source: "Hayes and Armitage, CDG, 2011",
        status: Status::Implementation("Linux 6.1, net/ipv4/tcp_cdg.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn configured(values: &Values) -> Self {
        let window = values.whole("window") as usize;
        let knobs = Knobs {
            window,
            backoff_beta: whole(values.number("backoff_beta") * f64::from(1 << BETA_BITS)),
            backoff_factor: values.whole("backoff_factor").into(),
            ineffectual: values.whole("ineffectual"),
            shadow_window: values.word("shadow_window") == "on",
            loss_tolerance: values.word("loss_tolerance") == "on",
        };
        Self {
            knobs,
            rtt: Extremes::NONE,
            rtt_before: Extremes::NONE,
            gradients: vec![Extremes::NONE; window],
            sum: Extremes::NONE,
            next: 0,
            filled: false,
            queue: Queue::Unknown,
            delayed: 0,
            end: 0,
            shadow: 0,
            reductions: 0,
            reducing: None,
            start: Start::default(),
        }
    }

    fn init(&mut self, socket: &mut Socket) {
        self.end = socket.sent;
        self.shadow = socket.cwnd();
    }

    fn is_reducing(&self) -> bool {
        self.reducing.is_some()
    }

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        let cwnd = socket.cwnd();
        match self.queue {
            // A loss in the round trip after a reduction adds nothing to it.
            _ if self.reducing.is_some() => socket.ssthresh(),
            Queue::BackingOff => ((cwnd * self.knobs.backoff_beta) >> BETA_BITS).max(2),
            Queue::NotFull if self.knobs.loss_tolerance => cwnd,
            Queue::Unknown | Queue::NotFull | Queue::Full => {
                self.shadow = (self.shadow / 2).min(cwnd);
                let shadow = if self.knobs.shadow_window { self.shadow } else { 0 };
                (cwnd / 2).max(shadow).max(2)
            }
        }
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if let Some(until) = self.reducing {
            if socket.acknowledged <= until {
                return;
            }
            socket.set_cwnd(socket.ssthresh());
            self.finish_reduction(socket);
        }
        if socket.in_slow_start() {
            self.watch_slow_start(socket, growth.limited);
        }
        if socket.acknowledged > self.end && self.rtt != Extremes::NONE {
            let known = self.rtt_before != Extremes::NONE;
            let gradient = if known { self.gradient() } else { 0 };
            self.end = socket.sent;
            self.rtt_before = std::mem::take(&mut self.rtt);
            self.start.train = None;
            self.start.samples = 0;
            if gradient > 0 && self.backs_off(socket, gradient) {
                self.back_off(socket);
                return;
            }
        }
        if !growth.limited {
            self.shadow = self.shadow.min(socket.cwnd());
            return;
        }
        let before = socket.cwnd();
        socket.grow_as_reno(growth);
        self.shadow += socket.cwnd() - before;
    }

    fn on_sample(&mut self, socket: &mut Socket, sample: Sample, feedback: &Feedback) {
        let Some(rtt) = sample.rtt.filter(|rtt| *rtt > 0) else { return };
        let rtt = rtt as i64;
        let in_order = feedback.pipe >= socket.sent - socket.acknowledged;
        if in_order && sample.acked == 1 && self.delayed > 0 {
            self.rtt.min = self.rtt.min.min(rtt);
            self.delayed -= 1;
            return;
        }
        if in_order && sample.acked > 1 && self.delayed < DELAYED {
            self.delayed += 1;
        }
        self.rtt.min = if self.rtt.min == 0 { rtt } else { self.rtt.min.min(rtt) };
        self.rtt.max = self.rtt.max.max(rtt);
    }

    fn on_state(&mut self, socket: &Socket) {
        if matches!(socket.state, State::Recovery | State::Loss) {
            self.reducing = None;
        }
    }

    fn on_reduced(&mut self, socket: &mut Socket) {
        self.finish_reduction(socket);
    }

    fn on_restart(&mut self, socket: &Socket) {
        self.forget(socket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::events::samples::loss;
    use crate::parameters::Value;
    use crate::parts::linux::samples::{MSS, Sender};

    /// Sixteen round trips of 100 ms, so that the window of gradients is full of zeros.
    fn sender(segments: u64) -> Sender<Cdg> {
        let mut sender = Sender::avoiding(segments);
        for _ in 0..16 {
            sender.round(100);
        }
        sender
    }

    fn reductions(sender: &mut Sender<Cdg>, rtts: impl Iterator<Item = u64>) -> u32 {
        let mut count = 0;
        for rtt in rtts {
            let before = sender.cwnd();
            sender.round(rtt);
            count += u32::from(sender.cwnd() < before);
        }
        count
    }

    #[test]
    fn the_exponential_is_right_to_four_digits() {
        for micro in [0_u32, 1, 255, 256, 4000, 100_000, 1_000_000, 5_000_000] {
            let exact = libm::exp(-f64::from(micro) * 1e-6);
            let got = f64::from(exponential(micro)) / f64::from(u32::MAX);
            assert!((got - exact).abs() < 1e-4, "{micro}: {got} {exact}");
        }
        assert_eq!(exponential(1 << 24), 0);
    }

    #[test]
    fn while_the_rtt_stays_it_is_reno() {
        let mut sender = sender(100);
        let before = sender.cwnd();
        assert_eq!(reductions(&mut sender, (0..50).map(|_| 100)), 0);
        assert_eq!(sender.cwnd(), before + 50);
    }

    #[test]
    fn a_round_trip_that_grows_by_much_reduces_the_window_to_seven_tenths() {
        // 42 * 0.2 s: the probability is 1 - exp(-8.4).
        let mut sender = sender(100);
        let before = sender.cwnd();
        sender.round(300);
        assert_eq!(sender.cwnd(), before * 724 / 1024);
    }

    #[test]
    fn the_window_stays_for_the_round_trip_after_a_reduction() {
        let mut sender = sender(100);
        sender.round(300);
        assert!(sender.controller.operations().is_reducing(), "since its second ACK");
        sender.round(300);
        let rules = sender.controller.operations();
        assert!(!rules.is_reducing());
        assert_eq!(rules.rtt_before.min, 300_000, "delays of a reduction are no gradient");
    }

    #[test]
    fn small_gradients_reduce_seldom_and_large_ones_often() {
        // Of 400 rounds: 1 ms over eight rounds is a probability of 1 - exp(-0.042 * 8) = 0.29 at
        // most.
        let count = |step: u64| {
            let mut sender = sender(1000);
            reductions(&mut sender, (0..400).map(|i| 100 + (i % 40) * step))
        };
        let (seldom, often) = (count(1), count(20));
        assert!(0 < seldom && seldom < often, "{seldom} {often}");
    }

    #[test]
    fn after_five_reductions_without_effect_it_stops_backing_off() {
        // Each round is longer than all before it: others fill the queue.
        let mut sender = sender(2000);
        let count = reductions(&mut sender, (0..60).map(|i| 200 + 50 * i));
        assert!((1..=5).contains(&count), "{count}");
    }

    #[test]
    fn a_loss_leaves_half_of_what_cwnd_would_be_without_the_reductions() {
        let mut sender = sender(400);
        let before = sender.cwnd();
        sender.round(300);
        // The sum of the gradients is zero again, and so is the probability.
        for _ in 0..10 {
            sender.round(100);
        }
        let cwnd = sender.cwnd();
        assert!(cwnd < before * 3 / 4, "{cwnd} of {before}");
        sender.controller.on_loss(&loss(cwnd * MSS));
        assert_eq!(sender.cwnd(), (before + cwnd - before * 724 / 1024) / 2);
    }

    #[test]
    fn slow_start_ends_with_a_train_of_acks_as_long_as_half_the_rtt() {
        // ACKs are 1 ms apart.
        let mut sender = Sender::<Cdg>::new(100);
        sender.round(100);
        assert_eq!(sender.controller.window().ssthresh, 152 * MSS);
        // ACKs are 4 ms apart.
        let mut sender = Sender::<Cdg>::new(25);
        sender.round(100);
        assert_eq!(sender.cwnd(), 50);
    }

    #[test]
    fn a_mark_in_the_round_trip_after_a_reduction_adds_nothing() {
        let mut sender = sender(100);
        sender.round(300);
        let left = sender.cwnd();
        sender.controller.on_congestion_mark(&loss(left * MSS));
        assert_eq!(sender.cwnd(), left);
    }

    #[test]
    fn with_ineffectual_0_nothing_stops_it_from_backing_off() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("cdg", "ineffectual", Value::Number(0.0)).unwrap();
        let mut sender = sender(2000);
        sender.controller.operations_mut().knobs = Rules::configured(&values).knobs;
        let count = reductions(&mut sender, (0..60).map(|i| 200 + 50 * i));
        assert!(count > 10, "{count}");
    }
}
