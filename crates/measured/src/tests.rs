use congestion::{Specification, Value};
use units::{Span, Time};

use super::*;

const MSS: u32 = 1000;
const RTT: Span = Span::from_millis(50);

/// Samples each 100 ms with these windows in segments, and this RTT. A fall retransmits a segment.
fn samples(windows: &[u64]) -> Vec<Sample> {
    let mut before = 0;
    let sample = |(number, window): (u64, &u64)| {
        let retransmits = u64::from(*window < before);
        before = *window;
        let at = Time::ZERO + Span::from_millis(100) * number;
        Sample { at, cwnd: window * u64::from(MSS), rtt: RTT, retransmits }
    };
    (0..).zip(windows).map(sample).collect()
}

fn named(name: &str) -> Specification {
    Specification::named(name).unwrap()
}

fn linux(values: &[(&str, Value)]) -> Specification {
    let mut made = named("cubic");
    made.set("variant", Value::Word("linux".to_owned())).unwrap();
    values.iter().for_each(|(name, value)| made.set(name, value.clone()).unwrap());
    made
}

/// 40 segments are lost at, then `growth` segments in each sample after a reduction to 20.
fn sawtooth(growth: u64) -> Vec<Sample> {
    let tooth = (0..11).map(|number| 20 + growth * number);
    let teeth: Vec<u64> = [40].into_iter().chain((0..3).flat_map(|_| tooth.clone())).collect();
    samples(&teeth)
}

/// RFC 5681 section 3.1: a segment per RTT, two in the time of a sample. The recovery of an RTT
/// takes one segment from the first of ten samples.
#[test]
fn reno_grows_by_a_segment_per_round_trip() {
    let replayed = replay(&named("reno"), MSS, &sawtooth(2)).unwrap();
    assert_eq!((replayed.losses, replayed.timeouts, replayed.epochs.len()), (3, 0, 2));
    for epoch in &replayed.epochs {
        assert_eq!((epoch.start, epoch.measured), (20_000, 40_000));
        let growth = (epoch.replayed - epoch.start) as f64 / 1000.0;
        assert!((18.5..=20.5).contains(&growth), "{growth}");
    }
    assert_eq!(replayed.windows[0], None);
    assert_eq!(replayed.windows[1], Some(20_000));
}

/// RFC 9438 section 4.3: on a short path CUBIC grows with 0.53 segments per RTT, faster than its
/// curve, and slower than Reno.
#[test]
fn another_rule_gives_another_window() {
    let tooth = 28..40;
    let teeth: Vec<u64> = [40].into_iter().chain((0..3).flat_map(|_| tooth.clone())).collect();
    let mut short = samples(&teeth);
    short.iter_mut().for_each(|sample| sample.rtt = Span::from_millis(20));
    let growth = |specification: &Specification| {
        let replayed = replay(specification, MSS, &short).unwrap();
        replayed.epochs.iter().map(|epoch| epoch.replayed - epoch.start).sum::<u64>()
    };
    let (reno, cubic) = (growth(&named("reno")), growth(&linux(&[])));
    assert!((reno / 2..reno * 6 / 10).contains(&cubic), "{cubic} {reno}");
    let off = growth(&linux(&[("reno_friendly", Value::Word("off".to_owned()))]));
    let fast = growth(&linux(&[("c", Value::Number(100.0))]));
    assert!(off < cubic * 6 / 10, "{off} {cubic}");
    assert!(fast > cubic * 5 / 4, "{fast} {cubic}");
}

/// RFC 6937: during a recovery the window falls in steps. They are one loss, at the first window.
#[test]
fn falls_within_a_round_trip_are_one_loss() {
    let steps = samples(&[60, 55, 48, 42, 43, 44, 45, 30, 31]);
    let found = |rtt| {
        let steps: Vec<_> = steps.iter().map(|one| Sample { rtt, ..*one }).collect();
        losses::find(&steps, 1000).iter().map(|loss| (loss.begin, loss.end)).collect::<Vec<_>>()
    };
    assert_eq!(found(Span::from_millis(300)), [(1, 3), (7, 7)]);
    assert_eq!(found(Span::from_millis(50)), [(1, 2), (3, 3), (7, 7)]);
}

/// RFC 6675: no growth until a round trip after the last retransmission.
#[test]
fn a_window_does_not_grow_during_a_recovery() {
    let mut slow = samples(&[40, 28, 28, 28, 28, 28, 28, 28, 28, 20]);
    slow.iter_mut().for_each(|sample| sample.rtt = Span::from_millis(200));
    slow[2].retransmits = 1;
    let replayed = replay(&named("reno"), MSS, &slow).unwrap();
    // From 0.15 s on for 0.2 s, so until the sample at 0.3 s.
    assert_eq!(replayed.windows[3], Some(28_000));
    assert!(replayed.windows[5] > Some(28_000), "{:?}", replayed.windows);
}

/// A timeout leaves one segment. Slow start doubles it each 50 ms up to half of the window, and a
/// segment per RTT follows for half a second.
#[test]
fn a_fall_to_one_segment_is_a_timeout() {
    let windows = [40, 1, 2, 4, 8, 16, 20, 22, 24, 12];
    let replayed = replay(&named("reno"), MSS, &samples(&windows)).unwrap();
    assert_eq!(replayed.timeouts, 1);
    let last = replayed.windows[8].unwrap();
    assert!((27_500..=31_000).contains(&last), "{last}");
}

/// RFC 3522: the window is back, and grows on from there.
#[test]
fn a_reduction_that_was_undone_restores_the_window() {
    let windows = [40, 1, 1, 42, 44, 46, 23];
    let replayed = replay(&named("reno"), MSS, &samples(&windows)).unwrap();
    assert_eq!(replayed.windows[3], Some(40_000));
    let last = replayed.windows[5].unwrap();
    assert!((43_000..=45_000).contains(&last), "{last}");
    // Growth of slow start is no undone reduction.
    let slow = samples(&[40, 1, 2, 4, 8, 16, 32, 64, 30]);
    assert!(losses::find(&slow, 1000).iter().all(|loss| loss.undone.is_none()));
}

#[test]
fn measurements_that_cannot_be_are_rejected() {
    let of = |name: &str, samples: &[Sample]| {
        replay(&named(name), MSS, samples).unwrap_err().to_string()
    };
    let good = samples(&[40, 20, 21, 22, 10]);
    assert_eq!(
        of("bbr", &good),
        "bbr needs delivery rates and the times of segments, which a measurement of windows and RTTs \
         does not have"
    );
    let none = of("reno", &samples(&[10, 20, 30, 15]));
    assert_eq!(none, "expected a window that falls at least twice, found 1 losses");
    assert!(of("reno", &[]).ends_with("found 0 losses"));
    let mut changed = good.clone();
    changed[2].at = changed[1].at;
    assert!(of("reno", &changed).starts_with("sample 3: expected a time after"));
    changed.clone_from(&good);
    changed[3].rtt = Span::ZERO;
    assert_eq!(of("reno", &changed), "sample 4: expected an RTT above 0, found 0");
    changed[3].cwnd = 0;
    assert!(of("reno", &changed).contains("a congestion window above 0 bytes"));
    let zero = replay(&named("reno"), 0, &good).unwrap_err();
    assert_eq!(zero, Unfit::Segment { mss: 0 });
}

/// An RTT of a nanosecond would take minutes.
#[test]
fn too_many_acknowledgements_are_rejected() {
    let mut fast = samples(&[40, 20, 21, 22, 10]);
    fast.iter_mut().for_each(|sample| sample.rtt = Span::from_nanos(1));
    assert_eq!(replay(&named("reno"), MSS, &fast).unwrap_err(), Unfit::TooLong);
}
