//! Packets, samples and utilities, apart from the rules, and both algorithms on a path.

use units::{Span, Time};

use super::flight::Flight;
use super::intervals::{Intervals, Progress, Sample};
use super::utility::{Utilities, Utility};
use super::*;
use crate::parts::test_path::{TestPath, settings};
use crate::{Specification, Value};

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

fn numbers(samples: &[Sample]) -> Vec<u64> {
    samples.iter().map(|sample| sample.number).collect()
}

/// Ten packets of 1000 bytes, a millisecond apart.
fn flight() -> Flight {
    let mut flight = Flight::default();
    for number in 1..=10 {
        flight.send(at(number), 1000);
    }
    flight
}

/// An ACK of two packets is one of the youngest and the one before it, also behind a gap.
#[test]
fn bytes_become_packets_by_the_time_of_the_youngest() {
    let mut flight = flight();
    assert_eq!(numbers(&flight.acknowledge(Some(at(2)), 2000)), [2, 1]);
    assert_eq!(numbers(&flight.acknowledge(Some(at(5)), 2000)), [5, 4]);
    assert_eq!(numbers(&flight.acknowledge(Some(at(6)), 1000)), [6]);
    assert_eq!(numbers(&flight.lose(at(3), 1000)), [3]);
    assert_eq!(numbers(&flight.acknowledge(None, 1000)), [7], "the oldest that is missing");
    assert_eq!(numbers(&flight.acknowledge(Some(at(9)), 500)), [0; 0], "half a packet");
    assert_eq!(numbers(&flight.acknowledge(Some(at(9)), 500)), [9]);
    assert_eq!(numbers(&flight.lose_all()), [8, 10]);
    assert_eq!(numbers(&flight.acknowledge(Some(at(8)), 1000)), [0; 0], "nothing is missing");
}

/// An interval of ten packets of 1000 bytes, a millisecond apart, at 8 Mbit/s. Each is acknowledged
/// with this RTT in microseconds, a millisecond after the one before. An event after them counts
/// the last one.
fn interval(tolerance: f32, rtt: impl Fn(u64) -> i64, lost: &[u64]) -> (Intervals, Progress) {
    let mut intervals = Intervals::new();
    intervals.begin(Rate(8_000_000), true, tolerance, 50_000);
    for number in 1..=10 {
        intervals.send(1000 * number as i64, Sample { number, bytes: 1000 });
    }
    let mut progress = Progress::Open;
    for number in 1..=11 {
        assert_eq!(progress, Progress::Open, "before packet {number}");
        let packet = Sample { number, bytes: 1000 };
        let rtts = (50_000, rtt(number));
        progress = if lost.contains(&number) {
            intervals.take(Vec::new(), &[packet], rtts, 0)
        } else {
            intervals.take(vec![packet], &[], rtts, 1000)
        };
    }
    (intervals, progress)
}

/// The first loss makes samples unreliable, until one is longer than the one before, which is
/// below the smoothed RTT.
fn after_loss(number: u64) -> i64 {
    if number == 5 { 49_010 } else { 49_000 }
}

#[test]
fn the_first_loss_makes_samples_unreliable_for_a_while() {
    let (steady, progress) = interval(1.0, |_| 50_000, &[3]);
    assert_eq!(progress, Progress::Open);
    assert_eq!(steady.last().unwrap().reliable, 1);
    let (lossy, progress) = interval(1.0, after_loss, &[3]);
    assert_eq!((lossy.last().unwrap().reliable, progress), (7, Progress::Complete));
}

fn utility(utility: Utility, intervals: &Intervals) -> f32 {
    Utilities::new(utility).of(intervals.last().unwrap())
}

fn near(found: f32, expected: f32) {
    assert!((found - expected).abs() <= 1e-4 * expected.abs(), "{found} and not {expected}");
}

/// Ten packets of 8000 bits in 9 ms and the time of one of 1500 bytes: 80000 / 10500 Mbit/s.
#[test]
fn vivace_pays_for_losses_and_a_growing_round_trip() {
    let rate = 80_000.0f32 / 10_500.0;
    let (steady, progress) = interval(1.0, |_| 50_000, &[]);
    assert_eq!(progress, Progress::Complete);
    near(utility(Utility::Vivace, &steady), rate.powf(0.9));
    let (lossy, progress) = interval(1.0, after_loss, &[3]);
    assert_eq!(progress, Progress::Complete);
    near(utility(Utility::Vivace, &lossy), rate.powf(0.9) - 11.35 * 0.1 * rate);
    // 150 microseconds more with each packet, for which 1500 bytes take 1500: a gradient of a
    // tenth. Its line is wrong by less: deviation 0.0052.
    let grows = |number| 50_000 + 150 * number as i64;
    let (growing, _) = interval(1.0, grows, &[]);
    near(utility(Utility::Vivace, &growing), rate.powf(0.9) - 900.0 * 0.1 * rate);
    let (falling, _) = interval(1.0, |number| 100_000 - 150 * number as i64, &[]);
    near(utility(Utility::Vivace, &falling), rate.powf(0.9));
    // At the start a gradient counts from a millisecond in the 10.5 ms on: 0.0952.
    let (starting, _) = interval(100.0, |number| 50_000 + 140 * number as i64, &[]);
    near(utility(Utility::Vivace, &starting), rate.powf(0.9));
}

/// 10,000 bytes in 10.5 ms, halved by the RTT that stays.
#[test]
fn allegro_pays_for_losses_above_five_per_cent() {
    let (steady, _) = interval(1.0, |_| 50_000, &[]);
    near(utility(Utility::Allegro, &steady), 0.5 * 10_000.0 / 10.5);
    let (lossy, _) = interval(1.0, after_loss, &[3]);
    near(utility(Utility::Allegro, &lossy), -1000.0 / 10.5);
}

/// Six intervals whose RTT rises slowly: none has a gradient of its own, and the last one is
/// outside of the usual trend, which is that of the first six.
#[test]
fn a_trend_over_six_intervals_counts() {
    let mut utilities = Utilities::new(Utility::Vivace);
    let mut found = |base: i64| {
        // Noise around a line that rises, from which it is further away than its gradient.
        let noise = |number: u64| 900 * (number.min(11 - number.min(11)) as i64 % 2);
        let rtts = move |number: u64| base + 12 * number as i64 + noise(number);
        utilities.of(interval(1.0, rtts, &[]).0.last().unwrap())
    };
    let usual = found(50_000);
    for number in 1..6 {
        assert_eq!(found(50_000 + 10 * number), usual, "interval {number}");
    }
    assert!(found(51_000) < usual, "a rise of a millisecond");
}

/// With the first RTT below 100 ms the rate is larger by their ratio.
#[test]
fn the_first_round_trip_sets_the_rate() {
    for (rtt, expected) in [(50, 2_240_000.0), (200, 1_120_000.0)] {
        let mut definition = Specification::named("vivace").unwrap();
        definition.set("variant", Value::Word(USPACE.to_owned())).unwrap();
        let mut path = TestPath::new(definition.build(&settings()), 1e9, Span::from_millis(rtt));
        path.run(Span::from_millis(rtt + 20), |_| ());
        let rate = path.controller.pacing_rate().unwrap();
        // The first ACK comes, and the next packet begins the first interval that counts.
        near(8.0 * rate as f32, expected);
    }
}

/// Both fill most of a bottleneck of 1000 packets per second, also with losses of one in fifty.
#[test]
fn both_fill_a_path() {
    for (name, least) in [("vivace", 0.7), ("allegro", 0.7)] {
        let mut definition = Specification::named(name).unwrap();
        definition.set("variant", Value::Word(USPACE.to_owned())).unwrap();
        let mut path = TestPath::new(definition.build(&settings()), 1e6, Span::from_millis(50));
        path.follows_rtt = true;
        path.buffer = 100_000.0;
        path.loses = |number| number % 50 == 0;
        path.run(Span::from_secs(30), |_| ());
        let delivered = path.delivered;
        path.run(Span::from_secs(30), |_| ());
        let share = (path.delivered - delivered) as f64 / 30e6;
        assert!(share > least, "{name}: {share}");
    }
}
