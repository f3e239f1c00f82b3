//! Each mechanism of a transport with every controller in the registry.
//!
//! The table is the registry itself, so a new controller is in it at once. Where a controller differs
//! from the rule, it stands in the list of exceptions of that rule, with its source.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use congestion::{
    Ack, AnyController, Controller as _, Feedback, Loss, RateSample, Settings, Specification,
    entries,
};
use units::{Span, Time};

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(100);

fn names() -> impl Iterator<Item = &'static str> {
    entries().map(|entry| entry.name)
}

/// Segments that the path holds without a queue.
const PIPE: u64 = 100;

/// A sender whose controller sees a path without losses: one ACK for each segment, evenly spread over
/// the round trip. What the path does not hold waits in a queue.
struct Sender {
    controller: AnyController,
    now: Time,
    rtt: Span,
    least_rtt: Span,
    acknowledged: u64,
    sent: u64,
    limited: bool,
    /// No round-trip times are measured.
    blind: bool,
}

impl Sender {
    fn new(name: &str) -> Self {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let mut controller = Specification::named(name).unwrap().build(&settings);
        let now = Time::ZERO + RTT;
        controller.on_rtt(now, RTT);
        let sent = controller.window().cwnd;
        Self {
            controller,
            now,
            rtt: RTT,
            least_rtt: RTT,
            acknowledged: 0,
            sent,
            limited: true,
            blind: false,
        }
    }

    /// In congestion avoidance: a loss in a window of 100 segments and ten round trips after it.
    fn avoiding(name: &str) -> Self {
        let mut sender = Self::new(name);
        sender.set_window(100);
        sender.rounds(2);
        sender.lose();
        sender.rounds(10);
        sender
    }

    /// Gives a window of so many segments, whatever the controller thinks of it.
    fn set_window(&mut self, segments: u64) {
        self.controller.window_mut().cwnd = segments * MSS;
    }

    fn cwnd(&self) -> u64 {
        self.controller.window().cwnd
    }

    fn flight(&self) -> u64 {
        self.sent - self.acknowledged
    }

    fn feedback(&self, acked: u64) -> Feedback {
        let round_trip = (!self.blind).then_some(self.rtt);
        Feedback {
            now: self.now,
            acked,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip,
            srtt: Some(self.rtt),
            min_rtt: Some(self.least_rtt),
            acknowledged: self.acknowledged,
            sent: self.sent,
            pipe: self.flight(),
            advertised: u64::MAX / 4,
            peer_clock: round_trip.map(|_| (self.now.as_nanos() / 1_000_000) as u32),
            marked: false,
            needless: 0,
            head_sent: None,
            rate: Some(RateSample {
                rate: Some(self.flight() as f64 / self.rtt.as_secs_f64()),
                delivered: self.acknowledged,
                prior_delivered: self.acknowledged.saturating_sub(self.flight()),
                lost: 0,
                in_flight_when_sent: self.flight(),
                app_limited: !self.limited,
            }),
        }
    }

    fn ack(&mut self, acked: u64) {
        self.acknowledged += acked;
        if !self.blind {
            self.least_rtt = self.least_rtt.min(self.rtt);
            self.controller.on_rtt(self.now, self.rtt);
        }
        self.controller.on_feedback(&self.feedback(acked));
        self.controller.on_ack(&Ack {
            now: self.now,
            acked,
            flight: self.flight(),
            advertised: u64::MAX / 4,
            srtt: Some(self.rtt),
            min_rtt: Some(self.least_rtt),
            cwnd_limited: self.limited,
        });
        if self.limited {
            self.sent = self.sent.max(self.acknowledged + self.cwnd() / MSS * MSS);
        } else {
            self.sent += acked;
        }
    }

    fn rounds(&mut self, count: u32) {
        for _ in 0..count {
            let segments = (self.flight() / MSS).max(1);
            self.rtt = Span::from_nanos(RTT.as_nanos() * segments.max(PIPE) / PIPE);
            let end = self.now + self.rtt;
            let step = Span::from_nanos(self.rtt.as_nanos() / segments);
            self.sent = self.sent.max(self.acknowledged + segments * MSS);
            for _ in 0..segments {
                self.now += step;
                self.ack(MSS);
            }
            self.now = end;
        }
    }

    fn loss(&self) -> Loss {
        Loss { now: self.now, flight: self.flight(), repeated: false }
    }

    /// A loss that is repaired at once. What was in flight beyond the new window leaves without ACKs
    /// that let the window grow.
    fn lose(&mut self) {
        let loss = self.loss();
        self.controller.on_loss(&loss);
        self.controller.on_recovery_exit(self.now);
        self.shrink();
    }

    fn mark(&mut self) {
        let loss = self.loss();
        self.controller.on_congestion_mark(&loss);
        self.shrink();
    }

    fn shrink(&mut self) {
        self.acknowledged = self.sent;
        self.sent += self.cwnd() / MSS * MSS;
    }

    /// cwnd now and after each of the next rounds.
    fn windows(&mut self, rounds: u32) -> Vec<u64> {
        let mut windows = vec![self.cwnd()];
        for _ in 0..rounds {
            self.rounds(1);
            windows.push(self.cwnd());
        }
        windows
    }
}

/// Controllers for which a mark is not what a loss is, with the reason.
const MARK_IS_NO_LOSS: &[(&str, &str)] = &[
    ("bbr3", "draft-ietf-ccwg-bbr: losses are counted by segments, and a mark has none"),
    (
        "jersey",
        "Xu et al. 2004: a loss without a warning of the routers is an error of the channel",
    ),
    ("new-jersey", "Xu et al. 2005: as Jersey"),
    ("bulk-repeat", "Yang et al. 2003: a loss without a queue is an error of the channel"),
];

#[test]
fn a_mark_and_a_loss_of_the_same_flight_leave_the_same_window_and_growth() {
    for name in names() {
        let excepted = MARK_IS_NO_LOSS.iter().any(|(other, _)| *other == name);
        let mut differs = false;
        for starting in [true, false] {
            let sender = |name| {
                if starting {
                    let mut sender = Sender::new(name);
                    sender.rounds(3);
                    sender
                } else {
                    Sender::avoiding(name)
                }
            };
            let (mut lost, mut marked) = (sender(name), sender(name));
            lost.lose();
            marked.mark();
            let (expected, got) = (lost.windows(8), marked.windows(8));
            differs |= expected != got;
            assert!(
                excepted || expected == got,
                "{name}: {expected:?} after a loss, {got:?} after a mark"
            );
        }
        assert!(!excepted || differs, "{name} is no exception");
    }
}

#[test]
fn repeated_marks_do_not_grow_what_they_leave() {
    for name in names().filter(|name| !name.starts_with("bbr") && *name != "ck-stp") {
        let mut sender = Sender::avoiding(name);
        let mut left = Vec::new();
        for _ in 0..12 {
            let before = sender.cwnd();
            sender.mark();
            assert!(sender.cwnd() <= before, "{name}: a mark raised {before} to {}", sender.cwnd());
            left.push(sender.cwnd());
            sender.rounds(3);
        }
        let bound = (left[0] + left[1]).max(60 * MSS);
        assert!(left.iter().all(|window| *window <= bound), "{name}: {left:?}");
    }
}
