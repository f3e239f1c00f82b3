//! Paths of Hypatia (snkas/hypatia @0ac531c, `satgenpy/tests/data_to_match/kuiper_630`): three
//! pairs over Kuiper's first shell, 2,000 steps of 100 ms each. The files are in the folder
//! `hypatia` of `BENTPIPE_DATA`. The first test restates their key numbers and needs no file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use orbit::Series;
use units::Span;

use super::{Parameters, kuiper};

/// Hypatia numbers stations after the 1,156 satellites.
const MANILA: (u32, &str) = (1173, "Manila");
const SAINT_PETERSBURG: (u32, &str) = (1229, "Saint Petersburg");
const DALIAN: (u32, &str) = (1241, "Dalian");

type Station = (u32, &'static str);

const PAIRS: [(Station, Station); 3] =
    [(MANILA, DALIAN), (MANILA, SAINT_PETERSBURG), (SAINT_PETERSBURG, DALIAN)];

/// Hypatia's bound is a flat cone of 30 degrees, 1,260 km, and the ranges of the golden files
/// (pyephem) are 27 to 33 m longer than those of this chain. A bound that is 30 m shorter decides
/// as the files do.
const LONGER_KM: f64 = 0.03;

/// The series of a pair with the bound of Hypatia, or a shorter one.
fn paths((_, from): Station, (_, to): Station, shorter_km: f64) -> Series {
    let Parameters { shell, longest_km } = kuiper();
    super::paths(&Parameters { shell, longest_km: longest_km - shorter_km }, from, to)
}

/// RTTs in ns, 0 without a path, and changes of the path as Hypatia writes them.
fn as_written(
    series: &Series,
    (from, _): Station,
    (to, _): Station,
) -> (Vec<f64>, Vec<(u64, String)>) {
    let mut rtts = Vec::new();
    let mut changes: Vec<(u64, String)> = Vec::new();
    for row in &series.rows {
        let mut nodes = "Unreachable".to_owned();
        if let Some(path) = &row.path {
            nodes = from.to_string();
            for satellite in &path.satellites {
                write!(nodes, "-{satellite}").unwrap();
            }
            write!(nodes, "-{to}").unwrap();
        }
        rtts.push(row.path.as_ref().map_or(0.0, |path| 2e9 * path.delay_s()));
        if changes.last().is_none_or(|(_, before)| *before != nodes) {
            changes.push((row.at.as_nanos(), nodes));
        }
    }
    (rtts, changes)
}

fn seconds(changes: &[(u64, String)]) -> Vec<f64> {
    changes.iter().skip(1).map(|(at, _)| *at as f64 / 1e9).collect()
}

#[test]
fn the_key_numbers_of_hypatia() {
    // Extremes of the RTT in ms, and changes of the path in s.
    let expected = [
        ([25.2298, 48.1651], vec![18.0, 27.6, 74.3, 125.9, 128.7]),
        ([69.4120, 77.6286], vec![3.3, 139.5, 150.1, 155.4, 165.2, 178.8]),
        ([58.7374, 63.9847], vec![3.3, 10.1, 128.7, 139.5, 155.4, 165.2, 178.8]),
    ];
    for ((from, to), (extremes, changes)) in PAIRS.into_iter().zip(expected) {
        let found = paths(from, to, LONGER_KM);
        let (rtts, found_changes) = as_written(&found, from, to);
        assert_eq!(seconds(&found_changes), changes, "{from:?} {to:?}");
        let rtts: Vec<_> = rtts.iter().filter(|rtt| **rtt > 0.0).map(|rtt| rtt / 1e6).collect();
        let ends = [f64::min, f64::max].map(|end| rtts.iter().copied().reduce(end).unwrap());
        // A microsecond, and half of the last digit.
        for (end, expected) in ends.into_iter().zip(extremes) {
            assert!((end - expected).abs() < 0.001_05, "{end} {expected}");
        }
        let gaps: Vec<_> = found.gaps.iter().map(|gap| (gap.start, gap.end)).collect();
        let without = (Span::from_millis(155_400), Span::from_millis(165_200));
        let has_gap = from == SAINT_PETERSBURG || to == SAINT_PETERSBURG;
        assert_eq!(gaps, if has_gap { vec![without] } else { vec![] });
        for gap in &found.gaps {
            let unseen: Vec<_> = gap.unseen.iter().map(|one| one.place.as_str()).collect();
            assert_eq!((unseen, gap.no_route), (vec!["Saint Petersburg"], 0));
        }
    }
    let (rtts, changes) = as_written(&paths(MANILA, DALIAN, 0.0), MANILA, DALIAN);
    assert!((rtts[0] / 1e6 - 29.423_138).abs() < 0.001, "{}", rtts[0]);
    assert_eq!(changes[0].1, "1173-184-183-217-1241");
    assert_eq!(changes[2].1, "1173-648-649-650-616-1241");
}

/// The folder with Hypatia's files, if it is there.
fn folder() -> Option<PathBuf> {
    let usual = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("BENTPIPE_DATA").map_or_else(usual, PathBuf::from);
    let folder = data.join("hypatia");
    if !folder.is_dir() {
        println!("skipped: no folder {} (BENTPIPE_DATA names its parent)", folder.display());
        return None;
    }
    Some(folder)
}

fn lines(folder: &Path, name: &str) -> Vec<(u64, String)> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let line = |line: &str| {
        let (at, value) = line.split_once(',').unwrap();
        (at.parse().unwrap(), value.to_owned())
    };
    text.lines().map(line).collect()
}

/// Compares a pair with its files, and returns the steps at which changes differ, and the extremes
/// of the errors of RTTs in ns in all other steps.
fn compare(folder: &Path, (from, to): (Station, Station), shorter_km: f64) -> (Vec<u64>, [f64; 2]) {
    let step = 100_000_000;
    let name = format!("{}_to_{}.txt", from.0, to.0);
    let (rtts, changes) = as_written(&paths(from, to, shorter_km), from, to);
    let golden = lines(folder, &format!("path_{name}"));
    let nodes = |changes: &[(u64, String)]| -> Vec<String> {
        changes.iter().map(|(_, nodes)| nodes.clone()).collect()
    };
    assert_eq!(nodes(&changes), nodes(&golden), "{name}");
    let mut moved = Vec::new();
    for ((at, _), (expected, _)) in changes.iter().zip(&golden) {
        moved.extend(*at / step..*expected / step);
        assert!(at <= expected, "{name}: {at} {expected}");
    }
    let golden = lines(folder, &format!("rtt_{name}"));
    assert_eq!((golden.len(), rtts.len()), (2000, 2000));
    let mut worst = [0.0f64; 2];
    for (number, (rtt, (at, expected))) in (0..).zip(rtts.iter().zip(&golden)) {
        assert_eq!(*at, number * step);
        if !moved.contains(&number) {
            let error = rtt - expected.parse::<f64>().unwrap();
            assert!(error.abs() < 1000.0, "{name}, step {number}: {error} ns");
            worst = [worst[0].min(error), worst[1].max(error)];
        }
    }
    println!(
        "{name}, bound {shorter_km} km shorter: {} changes, errors {worst:.0?} ns, other paths in steps {moved:?}",
        changes.len() - 1
    );
    (moved, worst)
}

#[test]
fn all_paths_of_hypatia() {
    let Some(folder) = folder() else { return };
    for pair in PAIRS {
        // The same node lists, the same times, all RTTs.
        assert_eq!(compare(&folder, pair, LONGER_KM).0, [0u64; 0]);
        // With the bound as it is named, the two events that the bound decides are one step
        // earlier, and nothing else differs.
        let (moved, _) = compare(&folder, pair, 0.0);
        let by_bound = if pair == (MANILA, DALIAN) { vec![] } else { vec![32, 1651] };
        assert_eq!(moved, by_bound);
    }
}
