use super::*;
use crate::parameters::Value;
use crate::parts::test_path::{MSS, TestPath, settings};

const RTT: Span = Span::from_millis(100);
/// 1000 segments per second: a BDP of 100 segments.
const RATE: f64 = 1e6;

fn secs(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

fn path(words: &[(&str, &str)], delta: f64) -> TestPath<Copa> {
    let mut values = Values::defaults(PARAMETERS);
    values.set("copa", "delta", Value::Number(delta)).unwrap();
    for (name, word) in words {
        values.set("copa", name, Value::Word((*word).to_owned())).unwrap();
    }
    let mut path = TestPath::new(Copa::build(&settings(), &values), RATE, RTT);
    path.follows_rtt = true;
    path
}

/// The mean queue in segments over ten seconds, after as many.
fn queue(mut path: TestPath<Copa>) -> f64 {
    path.run(secs(10.0), |_| ());
    let (mut sum, mut count) = (0.0, 0);
    path.run(secs(10.0), |path| {
        sum += path.queue() / MSS as f64;
        count += 1;
    });
    sum / f64::from(count)
}

/// Section 2.1 of the paper: in balance 1 / delta segments of a flow wait, and the window swings
/// around that.
#[test]
fn a_flow_has_about_one_over_delta_segments_in_the_queue() {
    for (delta, low, high) in [(0.5, 1.0, 6.0), (0.1, 6.0, 25.0), (0.05, 12.0, 45.0)] {
        let queue = queue(path(&[("competitive", "off")], delta));
        assert!((low..high).contains(&queue), "{delta}: {queue}");
    }
}

#[test]
fn slow_start_doubles_once_in_a_round_trip_until_there_is_a_queue() {
    let mut path = path(&[], 0.5);
    let mut windows = vec![10];
    path.run(secs(2.0), |path| {
        let copa = &path.controller;
        let cwnd = copa.window().cwnd / MSS;
        if copa.is_starting && windows.last() != Some(&cwnd) {
            windows.push(cwnd);
        }
    });
    assert_eq!(windows[..4], [10, 20, 40, 80], "{windows:?}");
    assert!(!path.controller.is_starting);
}

#[test]
fn the_velocity_doubles_after_three_rounds_and_turns_at_once() {
    let at = |milliseconds| Time::ZERO + Span::from_millis(milliseconds);
    let mut velocity = Velocity::START;
    let mut values = Vec::new();
    for round in 0..8 {
        velocity.compare(at(100 * round), RTT, 10 + round);
        values.push(velocity.value);
    }
    assert_eq!(values, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
    velocity.compare(at(750), RTT, 0);
    assert_eq!(velocity.value, 16.0, "not before a round trip is over");
    velocity.turn(at(760), Direction::Up, 20);
    assert_eq!(velocity.value, 16.0);
    velocity.turn(at(770), Direction::Down, 20);
    assert_eq!((velocity.value, velocity.same), (1.0, 0));
}

#[test]
fn losses_are_ignored_and_a_timeout_leaves_two_segments() {
    let mut path = path(&[], 0.5);
    path.run(secs(5.0), |_| ());
    let before = path.controller.window().cwnd;
    path.find_loss();
    path.controller.on_recovery_exit(path.now);
    assert_eq!(path.controller.window().cwnd, before);
    path.controller.on_timeout(&Loss { now: path.now, flight: before, repeated: false });
    assert_eq!(path.controller.window().cwnd, 2 * MSS);
}

/// A path that becomes longer by 60 ms looks like a queue until the smallest RTT is ten seconds
/// old.
#[test]
fn a_longer_path_starves_a_flow_without_the_competitive_mode() {
    let mut delivered = Vec::new();
    for competitive in ["off", "on"] {
        let mut path = path(&[("competitive", competitive)], 0.5);
        path.run(secs(5.0), |_| ());
        path.rtt = RTT + Span::from_millis(60);
        let start = path.delivered;
        path.run(secs(8.0), |_| ());
        let before = path.delivered - start;
        path.run(secs(12.0), |_| ());
        let start = path.delivered;
        path.run(secs(4.0), |_| ());
        delivered.push((before as f64 / 8.0 / RATE, (path.delivered - start) as f64 / 4.0 / RATE));
    }
    let [(off, later), (on, _)] = delivered[..] else { panic!() };
    assert!(off < 0.45 && later > 0.9, "{delivered:?}");
    assert!(on > 1.5 * off, "{delivered:?}");
}

#[test]
fn delta_falls_while_the_queue_is_never_nearly_empty() {
    let ms = Span::from_millis;
    let at = |milliseconds| Time::ZERO + ms(milliseconds);
    let mut competition = Competition::new();
    let mut delta = 0.5;
    // From 150 to 200 ms where the smallest is 100 ms.
    for step in 0..40 {
        let rtt = ms(150 + 10 * (step % 6));
        delta = competition.delta(at(50 * step), (rtt, ms(180), ms(100)), (delta, 0.5));
    }
    assert!(delta < 0.15, "{delta}");
    assert!(competition.doubles(at(2000), ms(100)) && !competition.doubles(at(2050), ms(100)));
    let nearly_empty = competition.delta(at(2200), (ms(101), ms(180), ms(100)), (delta, 0.5));
    assert_eq!(nearly_empty, 0.5);
}

#[test]
fn heavy_losses_reduce_the_window() {
    let mut competition = Competition::new();
    let at = |milliseconds| Time::ZERO + Span::from_millis(milliseconds);
    assert!(!competition.is_loss_heavy(at(150), RTT, (10 * MSS, 20 * MSS), MSS), "too early");
    assert!(competition.is_loss_heavy(at(201), RTT, (10 * MSS, 0), MSS));
    assert!(!competition.is_loss_heavy(at(500), RTT, (8 * MSS, 8 * MSS), MSS), "too few");
    assert!(!competition.is_loss_heavy(at(800), RTT, (80 * MSS, 20 * MSS), MSS));
}

/// The paper has two windows in `d_stand`, and mvfst in a smoothed RTT, which this path gives as
/// that of an empty queue.
#[test]
fn two_windows_are_sent_in_the_standing_rtt_and_in_mvfst_in_a_smoothed_one() {
    for (delay, is_smoothed) in [("standing", false), ("latest", true)] {
        let mut path = path(&[("queueing_delay", delay), ("competitive", "off")], 0.1);
        path.follows_rtt = false;
        let mut always = true;
        path.run(secs(5.0), |path| {
            let two_windows = 2.0 * path.controller.window().cwnd as f64;
            let rate = path.controller.pacing_rate();
            always &= rate.is_none_or(|rate| rate == two_windows / RTT.as_secs_f64());
        });
        assert_eq!(always, is_smoothed, "{delay}");
    }
}
