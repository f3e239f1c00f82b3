use units::Time;

use super::*;
use crate::controller::Controller;
use crate::parameters::Value;
use crate::parts::test_path::{MSS, TestPath, settings};

const RTT: Span = Span::from_millis(50);
/// 1000 segments per second: a BDP of 50 segments.
const RATE: f64 = 1e6;

fn secs(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

/// The entry with this name, in the cruise.
fn cruising(name: &str, fluctuation: f64) -> TestPath<LeoCc> {
    let entry = LeoCc::LISTED.iter().find(|entry| entry.name == name).unwrap();
    let mut values = Values::defaults(entry.parameters);
    values.set(entry.name, FLUCTUATION.name, Value::Number(fluctuation)).unwrap();
    let mut path = TestPath::new(LeoCc::build(&settings(), &values), RATE, RTT);
    path.run(secs(6.0), |_| ());
    path
}

fn hint(path: &mut TestPath<LeoCc>, kind: PathChangeKind) {
    let now = path.now;
    path.controller.on_path_change(&PathChange { now, kind, at: now, phase: 1 });
}

/// The first time within three seconds at which cwnd is no more than `segments`.
fn narrowed(path: &mut TestPath<LeoCc>, segments: u64) -> Option<Time> {
    let mut found = None;
    path.run(secs(3.0), |path| {
        if path.controller.window().cwnd <= segments * MSS {
            found.get_or_insert(path.now);
        }
    });
    found
}

/// BDP: 50 segments.
#[test]
fn a_hint_begins_a_measurement_with_half_a_bdp() {
    for (name, kind) in [("leocc", PathChangeKind::Coming), ("leocc-live", PathChangeKind::Done)] {
        let mut path = cruising(name, 0.0);
        let other = if name == "leocc" { PathChangeKind::Done } else { PathChangeKind::Coming };
        hint(&mut path, other);
        assert_eq!(narrowed(&mut path, 26), None, "{name}: not its hint");
        let start = path.now;
        hint(&mut path, kind);
        let at = narrowed(&mut path, 26).unwrap();
        assert!(at.since(start) < RTT, "{name}: {at:?}");
    }
}

/// BBR believes in the shorter path for ten seconds, and LeoCC for twenty.
#[test]
fn a_longer_path_is_measured_after_a_hint_and_startup_follows() {
    let mut path = cruising("leocc", 0.0);
    path.rtt = Span::from_millis(100);
    let mut most = 0;
    path.run(secs(2.0), |path| most = most.max(path.controller.window().cwnd));
    assert!(most < 120 * MSS, "twice the BDP of before: {most}");
    hint(&mut path, PathChangeKind::Coming);
    path.run(secs(4.0), |path| most = most.max(path.controller.window().cwnd));
    assert!(most > 190 * MSS, "twice the new BDP: {most}");
    let delivered = path.delivered;
    path.run(secs(4.0), |_| ());
    let rate = (path.delivered - delivered) as f64 / 4.0;
    assert!(rate > 0.9 * RATE, "{rate}");
}

#[test]
fn the_flag_lasts_until_startup_is_over() {
    let mut path = cruising("leocc", 0.0);
    hint(&mut path, PathChangeKind::Coming);
    path.run(secs(0.1), |_| ());
    assert_eq!(path.controller.rules().bandwidth_of_new_path(), Some(0.0));
    path.run(secs(3.0), |_| ());
    assert_eq!(path.controller.rules().bandwidth_of_new_path(), None);
}

/// With whole variances the gain tends to 153/256 = 0.598; that of real numbers is the root of
/// K^2 + K - 1 = 0, 0.618.
#[test]
fn the_filter_is_a_mean_of_about_two_samples() {
    let mut filter = Kalman::START;
    for _ in 0..50 {
        filter.take(0.0);
    }
    filter.take(1.0);
    assert!((filter.estimate - 153.0 / 256.0).abs() < 1e-9, "{}", filter.estimate);
}

/// Another flow fills the queue: the RTT is above the smallest.
#[test]
fn above_the_smallest_rtt_the_bandwidth_is_the_filtered_one_and_the_probe_is_careful() {
    for (fluctuation, gain) in [(0.01, CAREFUL_GAIN), (0.0, USUAL_GAIN), (0.1, USUAL_GAIN)] {
        let mut path = cruising("leocc", fluctuation);
        path.rtt = RTT + Span::from_millis(30);
        path.run(secs(1.0), |_| ());
        let rules = path.controller.rules();
        assert_eq!(rules.probe_gain(), gain, "{fluctuation}");
        let filtered = rules.bandwidth(1e9) < 1.3e6;
        assert_eq!(filtered, gain == CAREFUL_GAIN, "{fluctuation}");
    }
}

#[test]
fn a_fall_of_the_rtt_in_a_measurement_keeps_the_bandwidth_before() {
    let mut path = cruising("leocc", 0.0);
    path.rtt = Span::from_millis(150);
    path.run(secs(2.0), |_| ());
    hint(&mut path, PathChangeKind::Coming);
    path.run(secs(0.1), |_| ());
    path.rtt = RTT;
    let mut kept: f64 = 0.0;
    path.run(secs(0.4), |path| {
        kept = kept.max(path.controller.rules().bandwidth_of_new_path().unwrap_or(0.0));
    });
    assert!(kept > 0.2 * RATE, "{kept}");
}
