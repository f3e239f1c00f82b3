//! Signals of ACKs with gaps and steps.

use super::*;
use crate::parts::bandwidth::samples::acknowledged;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

const GAP: DetectionRule = DetectionRule::Gap { above: Span::from_millis(45) };
const STEP: DetectionRule =
    DetectionRule::Step { size: Span::from_millis(10), window: Span::from_millis(100) };

/// Counts the hints that it gets, both kinds singly.
#[derive(Debug)]
struct Counts(Window);

impl crate::Controller for Counts {
    fn window(&self) -> &Window {
        &self.0
    }
    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }
    fn needs(&self) -> Needs {
        Needs { path_changes: true, ..Needs::default() }
    }
    fn on_path_change(&mut self, change: &PathChange) {
        self.0.cwnd += match change.kind {
            PathChangeKind::Coming => 1000,
            PathChangeKind::Done => change.phase,
        };
    }
    fn on_ack(&mut self, _ack: &crate::Ack) {}
}

impl TcpPolicy for Counts {}

/// A sender with a detector.
struct Sender {
    controller: AnyController,
    log: DetectionLog,
}

impl Sender {
    fn new(rule: DetectionRule) -> Self {
        let settings =
            Settings { mss: 1, initial_window: 0, initial_ssthresh: 0, byte_counting: 1 };
        let counts = AnyController::External(Box::new(Counts(Window::new(&settings))));
        let log = DetectionLog::default();
        let detector = Detector { rule, settle: Span::from_secs(1) };
        Self { controller: Detecting::around(counts, detector, log.clone()), log }
    }

    /// An ACK at a time, with this RTT and data left in the network.
    fn ack(&mut self, milliseconds: u64, rtt: u64, pipe: u64) {
        let round_trip = Some(Span::from_millis(rtt));
        let min_rtt = Some(Span::from_millis(40));
        let now = at(milliseconds);
        self.controller.on_feedback(&Feedback {
            now,
            round_trip,
            min_rtt,
            pipe,
            ..acknowledged(milliseconds, 1)
        });
    }

    /// An ACK each 10 ms from a time to before another one.
    fn acks(&mut self, from: u64, until: u64, rtt: impl Fn(u64) -> u64) {
        (from..until).step_by(10).for_each(|time| self.ack(time, rtt(time), 1));
    }

    /// Detections in milliseconds: when, about when, and what.
    fn found(&self) -> Vec<(u64, u64, Sign)> {
        let ms = |time: Time| time.as_nanos() / 1_000_000;
        let all = self.log.connections();
        let all = all.iter().flat_map(|one| &one.detections);
        all.map(|one| (ms(one.now), ms(one.at), one.sign)).collect()
    }
}

#[test]
fn more_than_45_ms_between_two_acks_is_a_gap() {
    let mut sender = Sender::new(GAP);
    for time in [100, 145, 190, 236] {
        sender.ack(time, 40, 1);
    }
    // Half of the smallest RTT before the ACK at 190 ms.
    assert_eq!(sender.found(), [(236, 170, Sign::Gap)]);
    assert_eq!(sender.controller.window().cwnd, 1001, "one hint of each kind");
}

#[test]
fn time_without_data_in_the_network_is_no_gap() {
    let mut sender = Sender::new(GAP);
    sender.ack(100, 40, 0);
    sender.ack(500, 40, 1);
    sender.ack(600, 40, 1);
    assert_eq!(sender.found(), [(600, 480, Sign::Gap)]);
}

#[test]
fn no_detection_follows_within_the_time_to_settle() {
    let mut sender = Sender::new(GAP);
    for time in [0, 100, 200, 1099, 1200] {
        sender.ack(time, 40, 1);
    }
    let times: Vec<_> = sender.found().iter().map(|one| one.0).collect();
    assert_eq!(times, [100, 1200]);
    assert_eq!(sender.controller.window().cwnd, 2003, "phases 1 and 2");
}

/// The first window with the new RTT begins with the sample at 1000 ms and ends with that at 1100.
#[test]
fn a_step_of_the_smallest_rtt_is_found_when_its_window_ends() {
    for (rtt, sign) in [(50, Sign::Rise), (30, Sign::Fall)] {
        let mut sender = Sender::new(STEP);
        sender.acks(0, 3000, |time| if time < 1000 { 40 } else { rtt });
        assert_eq!(sender.found(), [(1100, 980, sign)]);
    }
}

#[test]
fn a_smaller_step_and_a_queue_that_grows_slowly_are_none() {
    let mut sender = Sender::new(STEP);
    sender.acks(0, 3000, |time| if time < 1000 { 40 } else { 49 });
    // 4 ms in each window, to 140 ms.
    sender.acks(3000, 6000, |time| 49 + (time - 3000) / 25);
    assert_eq!(sender.found(), []);
    sender.acks(6000, 8000, |_| 260);
    assert_eq!(sender.found().len(), 1);
}

/// 8 ms and 8 ms: 3 ms of each are above the allowance, and 5 ms are the limit.
#[test]
fn the_chart_adds_up_two_steps_in_succession() {
    let mut sender = Sender::new(STEP);
    let rtt = |time| match time {
        0..1000 => 40,
        1000..1100 => 48,
        _ => 56,
    };
    sender.acks(0, 3000, rtt);
    assert_eq!(sender.found(), [(1200, 1080, Sign::Rise)]);
}

#[test]
fn single_long_samples_are_no_step() {
    let mut sender = Sender::new(STEP);
    sender.acks(0, 3000, |time| if time % 50 == 0 { 200 } else { 40 });
    assert_eq!(sender.found(), []);
}

#[test]
fn each_connection_has_an_entry_of_its_own() {
    let mut first = Sender::new(GAP);
    let counts = Sender::new(GAP).controller;
    let detector = Detector { rule: GAP, settle: Span::from_secs(1) };
    let mut second = Sender {
        controller: Detecting::around(counts, detector, first.log.clone()),
        ..Sender::new(GAP)
    };
    first.ack(10, 40, 1);
    second.ack(20, 40, 1);
    second.ack(90, 40, 1);
    first.ack(50, 40, 1);
    let entry = |first, last, detections| Watched { first: at(first), last: at(last), detections };
    let found = Detection { now: at(90), at: Time::ZERO, sign: Sign::Gap };
    assert_eq!(first.log.connections(), [entry(10, 50, vec![]), entry(20, 90, vec![found])]);
}
