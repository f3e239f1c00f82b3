//! NV: keeps a few segments in the queue, and takes the window that the best rate of a round needs.
//!
//! Source: `net/ipv4/tcp_nv.c` of Linux 6.1 (L. Brakmo, 2016), read; there is no paper. NV stands
//! for New Vegas, which is not the controller `new-vegas`. It was made for data centres where all
//! flows use it. Outside of recovery, each ACK that measures an RTT gives a rate: what was
//! delivered in that RTT, over the RTT averaged with the last average. Once in a round trip, with
//! the largest rate of the rounds since the last decision, W = rate * RTTmin / SMSS + `pad` (10)
//! segments is the largest window without congestion:
//!
//! - cwnd above W, after at least two rounds and 60 RTTs (30 until ssthresh is known): ssthresh =
//!   W, and cwnd loses 30 % of what is above W, at least 2 segments. It does not grow until a round
//!   without congestion,
//! - cwnd at most W - 2, after at least 20 RTTs: it grows as Reno,
//! - with less RTTs nothing is decided. After ten rounds with cwnd above W it does not grow either,
//! - loss: ssthresh = 0.8 cwnd, and no growth until a round without congestion,
//! - each timeout halves the growth, and more than eight rounds without congestion bring it back.
//!
//! RTTmin is the smallest average of the last period and of this one, where a period is
//! `min_rtt_period` (5 s) by three quarters to five quarters at random, and the first takes 2 s.
//! The first average after a loss takes RTTmin to twice itself.
//!
//! On paths with fewer than 20 RTTs in a round, NV decides nothing in most rounds. A flow with a
//! window below 20 segments, or one whose receiver acknowledges seldom, hence stays where it is.
//!
//! The random number follows from the time and what was acknowledged, so that a run can be
//! repeated.

use crate::entry::{Entry, Repair, Status};
use crate::events::{Feedback, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::{
    self, Growth, HZ, LinuxController, Operations, Sample, Socket, State, random,
};

/// Segments below W from which on there is no congestion.
const PAD_BUFFER: u64 = 2;
/// Share of what is above W that leaves, in 1/128: 30 %.
const DECREASE: u64 = 30 * 128 / 100;
/// Window that congestion without losses leaves at least.
const LEAST: u64 = 2;
/// Share of the window after a loss, in 1/1024.
const LOSS_SHARE: u64 = 819;
/// RTTs that a decision needs: to reduce, to grow, and to end the first slow start.
const TO_REDUCE: u8 = 60;
const TO_GROW: u8 = 20;
const TO_END_SLOW_START: u8 = 30;
/// Rounds without a decision: after as many it may reduce, and after as many more it does not grow.
const ROUNDS_TO_REDUCE: u8 = 2;
const ROUNDS_TO_STOP: u8 = 10;
/// Rounds without congestion that bring growth back, and how often timeouts halve it at most.
const ROUNDS_TO_RECOVER: u32 = 8;
const HALVINGS: i32 = 8;
/// Smallest number of segments for each ACK at growth.
const LEAST_PER: u64 = 4;
/// Segments in a round that one ACK covers: it grows from the first, by the second, to the third.
const AGGREGATE: u64 = 4;
const AGGREGATE_STEP: u64 = 2;
const AGGREGATE_BOUND: u64 = 81;
/// Slow start has not ended.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;
/// Ticks of the first period of RTTmin.
const FIRST_PERIOD: u64 = 2 * HZ;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "pad",
        default: "10",
        allowed: Allowed::Whole(0, 1_000_000),
        meaning: "Segments that may wait in the queue",
    },
    Parameter {
        name: "min_rtt_period",
        default: "5",
        allowed: Allowed::Whole(1, 1_000_000),
        meaning: "Seconds, on average, after which the smallest RTT is forgotten",
    },
];

/// Its rules.
#[derive(Clone, Debug)]
pub struct Rules {
    pad: u64,
    /// Seconds.
    period: u64,
    /// Average RTT, RTTmin, and that of the next period, in microseconds.
    average: Option<u64>,
    min_rtt: Option<u64>,
    min_rtt_next: Option<u64>,
    /// The tick at which the next period begins.
    next_period: u64,
    /// Largest rate since the last decision, in 100 bit/s.
    max_rate: u64,
    /// The round ends when more than this position is acknowledged.
    end: u64,
    /// Position of the last ACK that was looked at.
    last: u64,
    /// RTTs and rounds since the last decision.
    samples: u8,
    rounds: u8,
    /// Decisions in a row that there is no congestion.
    free_rounds: u32,
    /// Powers of two by which growth is slower; not below zero.
    halvings: i32,
    may_grow: bool,
    /// A reduction for a loss or a mark is in progress. All measurements restart after it.
    restart: bool,
    /// Segments that one ACK of a round may cover.
    aggregate: u64,
}

/// NV.
pub type Nv = LinuxController<Rules>;

impl Default for Rules {
    fn default() -> Self {
        Self::configured(&Values::defaults(PARAMETERS))
    }
}

fn smaller(known: Option<u64>, rtt: u64) -> Option<u64> {
    Some(known.map_or(rtt, |known| known.min(rtt)))
}

impl Rules {
    fn begin(&mut self, socket: &Socket) {
        self.restart = false;
        self.free_rounds = 0;
        self.rounds = 0;
        self.average = None;
        self.max_rate = 0;
        self.end = socket.acknowledged;
        self.last = socket.acknowledged;
        self.samples = 0;
    }

    /// Takes an RTT sample, in which `delivered` bytes arrived.
    fn measure(&mut self, rtt: u64, delivered: u64) {
        let average = match self.average.filter(|average| *average > 0) {
            Some(average) => (rtt + average) >> 1,
            None => {
                self.min_rtt = Some(2 * rtt);
                rtt
            }
        };
        self.average = Some(average);
        self.max_rate = self.max_rate.max(delivered * 8_000_000 / (average * 100).max(1));
        self.samples = self.samples.saturating_add(1);
        self.min_rtt = smaller(self.min_rtt, average);
        self.min_rtt_next = smaller(self.min_rtt_next, average);
    }

    fn end_period(&mut self, socket: &Socket) {
        let now = socket.jiffies();
        if now < self.next_period {
            return;
        }
        self.min_rtt = self.min_rtt_next.take();
        let random = u64::from(random(socket) >> 24);
        self.next_period = now + ((self.period * (384 + random) * HZ) >> 9);
        self.aggregate = (self.aggregate / 2).max(AGGREGATE);
    }

    /// W, the largest window without congestion, in segments.
    fn largest_window(&self, socket: &Socket) -> u64 {
        let min_rtt = self.min_rtt.unwrap_or(u64::from(u32::MAX));
        // The kernel keeps 32 bits of it.
        let segments = self.max_rate * min_rtt / (80_000 * socket.mss());
        (segments & u64::from(u32::MAX)) + self.pad
    }

    /// The end of a round. Returns whether there was a decision.
    fn decide(&mut self, socket: &mut Socket) -> bool {
        let (cwnd, largest) = (socket.cwnd(), self.largest_window(socket));
        if cwnd > largest {
            if !self.may_reduce(socket) {
                return false;
            }
            self.may_grow = false;
            socket.set_ssthresh(largest);
            let above = cwnd - largest;
            let less = if above > 2 { ((above * DECREASE) >> 7).max(2) } else { above };
            socket.set_cwnd(cwnd - less);
            self.free_rounds = 0;
        } else if cwnd + PAD_BUFFER <= largest {
            if self.samples < TO_GROW {
                return false;
            }
            self.may_grow = true;
            self.free_rounds += 1;
            if self.halvings > 0 && self.free_rounds > ROUNDS_TO_RECOVER {
                self.halvings -= 1;
                self.free_rounds = 0;
            }
        } else {
            return false;
        }
        true
    }

    fn may_reduce(&mut self, socket: &Socket) -> bool {
        if self.rounds < ROUNDS_TO_REDUCE {
            return false;
        }
        if socket.ssthresh() >= INFINITE_SSTHRESH {
            return self.samples >= TO_END_SLOW_START;
        }
        if self.samples < TO_REDUCE {
            self.may_grow &= self.rounds <= ROUNDS_TO_STOP;
            return false;
        }
        true
    }
}

impl Operations for Rules {
    const LISTED: &'static [Entry] = &[Entry {
        name: "nv",
        summary: "The window that the best rate of a round needs, and ten segments in the queue",
        source: "Brakmo, TCP-NV, 2016",
        status: Status::Implementation("Linux 6.1, net/ipv4/tcp_nv.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];
    const NEEDS: Needs = Needs { feedback: true, records: true, ..linux::NO_NEEDS };

    fn configured(values: &Values) -> Self {
        Self {
            pad: values.whole("pad").into(),
            period: values.whole("min_rtt_period").into(),
            average: None,
            min_rtt: None,
            min_rtt_next: None,
            next_period: 0,
            max_rate: 0,
            end: 0,
            last: 0,
            samples: 0,
            rounds: 0,
            free_rounds: 0,
            halvings: 0,
            may_grow: true,
            restart: false,
            aggregate: AGGREGATE,
        }
    }

    fn init(&mut self, socket: &mut Socket) {
        self.begin(socket);
        self.next_period = socket.jiffies() + FIRST_PERIOD;
    }

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        ((socket.cwnd() * LOSS_SHARE) >> 10).max(2)
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !growth.limited || !self.may_grow {
            return;
        }
        let Some(acked) = socket.start_slowly(growth.acked) else { return };
        let cwnd = socket.cwnd();
        let per = if self.halvings > 0 { cwnd << self.halvings } else { cwnd.max(LEAST_PER) };
        socket.add_one_per(per, acked);
    }

    fn on_sample(&mut self, socket: &mut Socket, sample: Sample, feedback: &Feedback) {
        let Some(rtt) = sample.rtt else { return };
        if !matches!(socket.state, State::Open | State::Disorder) {
            return;
        }
        let acked = socket.acknowledged - self.last;
        self.last = socket.acknowledged;
        let delivered = feedback.rate.map_or(0, |rate| rate.delivered - rate.prior_delivered);
        if delivered == 0 {
            return;
        }
        self.measure(rtt, delivered);
        self.end_period(socket);
        if socket.acknowledged <= self.end {
            return;
        }
        self.end = socket.sent;
        self.rounds = self.rounds.saturating_add(1);
        let mss = socket.mss();
        if self.samples == 1
            && acked >= (self.aggregate - 1) * mss
            && self.aggregate < AGGREGATE_BOUND
        {
            self.aggregate = (self.aggregate + AGGREGATE_STEP).min(AGGREGATE_BOUND);
            self.end = socket.sent + self.aggregate * mss;
            self.samples = 0;
            self.may_grow = true;
        } else if self.decide(socket) {
            self.samples = 0;
            self.rounds = 0;
            self.max_rate = 0;
            socket.set_cwnd(socket.cwnd().max(LEAST));
        }
    }

    fn on_state(&mut self, socket: &Socket) {
        match socket.state {
            State::Open if self.restart => self.begin(socket),
            State::Open | State::Disorder => {}
            State::Recovery | State::Loss => {
                self.restart = true;
                self.may_grow = false;
                if socket.state == State::Loss {
                    self.halvings = (self.halvings + 1).min(HALVINGS);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::events::samples::loss;
    use crate::parts::linux::samples::{MSS, Sender};

    /// The RTT without a queue is known, and ssthresh too.
    fn sender(segments: u64) -> Sender<Nv> {
        let mut sender = Sender::avoiding(segments);
        sender.grown_in(3, 100);
        sender
    }

    #[test]
    fn without_a_queue_it_grows_as_reno() {
        sender(100).assert_grows_as_reno();
    }

    #[test]
    fn ten_segments_may_wait() {
        // Of 100 segments at 108 ms, 7 wait.
        let mut sender = sender(100);
        let before = sender.cwnd();
        sender.grown_in(3, 108);
        assert!(sender.cwnd() >= before, "{} of {before}", sender.cwnd());
    }

    #[test]
    fn a_longer_queue_loses_a_third_of_what_is_too_much() {
        // Of 200 segments at 200 ms, 100 wait; 90 are too many.
        let mut sender = sender(200);
        let before = sender.cwnd() + 1;
        while sender.cwnd() >= before - 1 {
            sender.round(200);
        }
        let ssthresh = sender.controller.window().ssthresh / MSS;
        // The best rate is from when RTTs were shorter, on average.
        assert!((before / 2 + 8..before / 2 + 30).contains(&ssthresh), "{ssthresh}");
        let expected = before - (before - ssthresh) * 3 / 10;
        assert!(sender.cwnd().abs_diff(expected) <= 1, "{} {expected}", sender.cwnd());
        assert!(!sender.controller.operations().may_grow);
    }

    #[test]
    fn with_fewer_rtts_than_a_decision_needs_it_decides_nothing() {
        // Three ACKs in each round.
        let mut sender = sender(12);
        let before = sender.cwnd();
        for _ in 0..4 {
            sender.round_of(400, 4);
        }
        assert!(sender.cwnd() >= before, "{} of {before}", sender.cwnd());
    }

    #[test]
    fn a_loss_leaves_four_fifths_and_no_growth() {
        let mut sender = sender(100);
        let before = sender.cwnd();
        sender.controller.on_loss(&loss(100 * MSS));
        sender.controller.on_recovery_exit(sender.now);
        assert_eq!(sender.cwnd(), before * 819 / 1024);
        assert!(!sender.controller.operations().may_grow);
    }

    #[test]
    fn a_timeout_halves_growth_until_rounds_without_congestion() {
        let mut sender = sender(100);
        sender.controller.on_timeout(&loss(100 * MSS));
        assert_eq!(sender.controller.operations().halvings, 1);
        sender.grown_in(40, 100);
        assert_eq!(sender.controller.operations().halvings, 0);
    }

    #[test]
    fn the_smallest_rtt_is_forgotten_after_some_seconds() {
        let mut sender = sender(100);
        sender.grown_in(120, 150);
        let min_rtt = sender.controller.operations().min_rtt;
        assert!(min_rtt.is_some_and(|rtt| rtt > 149_000), "{min_rtt:?}");
    }

    #[test]
    fn the_smallest_rtt_is_kept_for_three_quarters_of_a_period_at_least() {
        // The first period of 2 s is over.
        let mut sender = sender(100);
        sender.grown_in(25, 100);
        sender.grown_in(24, 150);
        let min_rtt = sender.controller.operations().min_rtt;
        assert!(min_rtt.is_some_and(|rtt| rtt < 101_000), "{min_rtt:?}");
    }
}
