use std::io::{self, Write as _};

use super::*;

/// Links of the comparison: rate in kbit/s and latency in milliseconds.
const LINKS: [(f64, f64); 5] =
    [(1500.0, 600.0), (3000.0, 600.0), (5000.0, 600.0), (10_000.0, 600.0), (5000.0, 40.0)];
const RULES: [RuleName; 5] = [
    RuleName::Bola,
    RuleName::BolaE,
    RuleName::Throughput,
    RuleName::Dynamic,
    RuleName::DynamicDash,
];
const BUFFER: f64 = 25_000.0;

/// A movie of 60 segments, whose sizes vary between 0.8 and 1.2 of the mean.
fn movie() -> Movie {
    let bitrates: Vec<f64> = [300, 750, 1200, 1850, 2850, 4300].map(f64::from).to_vec();
    let size = |rate: &f64, number: usize| {
        (rate * 4000.0 * (80 + number * 37 % 41) as f64 / 100.0).floor()
    };
    let sizes = |number| bitrates.iter().map(|rate| size(rate, number)).collect();
    Movie { segment_ms: 4000.0, sizes: (0..60).map(sizes).collect(), bitrates: bitrates.clone() }
}

fn played(movie: &Movie, rule: RuleName, (rate, latency): (f64, f64)) -> Played {
    FluidLink { rate, latency }.play(Player::new(movie.clone(), BUFFER, rule))
}

/// Figures that Sabre (github.com/UMass-LIDS/sabre at 09b03bb) prints for this movie: bit rate,
/// change of bit rate, and stalls in seconds.
#[test]
fn all_rules_play_a_movie_as_sabre_does() {
    type Row = [(f64, f64, f64); 5];
    let expected: [Row; 5] = [
        [
            (1000.663240, 117.725087, 0.0),
            (1215.312272, 195.377177, 0.344),
            (738.683469, 7.461449, 0.0),
            (1260.984911, 324.158514, 0.0),
            (1202.122368, 195.655778, 0.0),
        ],
        [
            (2136.808899, 417.565997, 0.0),
            (2431.512535, 474.016271, 0.0),
            (1817.200731, 25.734684, 0.0),
            (2404.117549, 329.569982, 0.0),
            (2381.703470, 440.810227, 0.0),
        ],
        [
            (3584.836706, 435.230406, 0.0),
            (4026.711851, 210.970464, 0.0),
            (2798.265723, 42.360211, 0.0),
            (3865.576929, 244.194159, 0.0),
            (3930.363135, 210.970464, 0.0),
        ],
        [
            (4088.144381, 66.473892, 0.0),
            (4221.092166, 66.473892, 0.0),
            (4221.092166, 66.473892, 0.0),
            (4221.092166, 66.473892, 0.0),
            (4221.092166, 66.473892, 0.0),
        ],
        [
            (4049.418895, 196.476739, 0.0),
            (4203.967760, 114.857959, 0.0648),
            (4179.830942, 163.131594, 0.0648),
            (4179.830942, 163.131594, 0.0648),
            (4179.830942, 163.131594, 0.0648),
        ],
    ];
    let movie = movie();
    for (link, row) in LINKS.into_iter().zip(expected) {
        for (rule, (bitrate, change, stalled)) in RULES.into_iter().zip(row) {
            let found = played(&movie, rule, link);
            let figures = [found.bitrate(), found.mean_change(), found.stalled() / 1e3];
            for (found, expected) in figures.into_iter().zip([bitrate, change, stalled]) {
                assert!((found - expected).abs() < 1e-6, "{rule:?} at {link:?}: {figures:?}");
            }
        }
    }
}

/// With the option `-ab` of Sabre.
#[test]
fn basic_bola_plays_a_movie_as_sabre_does() {
    let movie = movie();
    let expected = [1196.319018, 2358.459240, 3872.221668, 3938.578123, 3977.821439];
    for (link, expected) in LINKS.into_iter().zip(expected) {
        let found = played(&movie, RuleName::BolaBasic, link).bitrate();
        assert!((found - expected).abs() < 1e-6, "{link:?}: {found}");
    }
}

/// The 25 figures of Big Buck Bunny, which Sabre brings. The folder of its repository is named by
/// `SABRE`; nothing of it is in this one.
#[test]
fn the_movie_of_sabre_has_its_25_figures() {
    let Some(folder) = std::env::var_os("SABRE") else {
        let reason = "skipped: SABRE names no folder with github.com/UMass-LIDS/sabre";
        // Not `eprintln`, which is kept back of tests that pass.
        drop(writeln!(io::stderr(), "{reason}"));
        return;
    };
    let file = std::path::Path::new(&folder).join("example/mmsys18/bbb.json");
    let text = std::fs::read_to_string(&file).expect("the movie of Sabre");
    let movie = read(&text);
    assert_eq!((movie.sizes.len(), movie.bitrates.len()), (199, 10));
    let expected = [
        [903.89, 1173.92, 985.21, 1167.85, 1157.10],
        [1797.81, 2351.12, 2043.76, 2326.84, 2310.20],
        [3121.85, 3949.69, 2944.44, 3952.23, 3939.32],
        [5425.86, 5964.13, 5964.13, 5964.13, 5964.13],
        [4755.54, 4853.46, 2947.20, 4752.12, 4822.94],
    ];
    for (link, row) in LINKS.into_iter().zip(expected) {
        for (rule, expected) in RULES.into_iter().zip(row) {
            let found = played(&movie, rule, link);
            assert_eq!(found.stalls, [], "{rule:?} at {link:?}");
            let found = (found.bitrate() * 100.0).round() / 100.0;
            assert_eq!(found, expected, "{rule:?} at {link:?}");
        }
    }
}

/// A movie in the form of Sabre: all numbers of the file, by their places.
fn read(text: &str) -> Movie {
    let numbers = |text: &str| -> Vec<f64> {
        let words = text.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
        words.map(|word| word.parse().unwrap()).collect()
    };
    let after = |key: &str| text.split_once(key).unwrap().1;
    let bitrates = numbers(after("bitrates_kbps").split_once(']').unwrap().0);
    let sizes = numbers(after("segment_sizes_bits"));
    let segment_ms = numbers(after("segment_duration_ms"))[0];
    let sizes = sizes.chunks(bitrates.len()).map(<[f64]>::to_vec).collect();
    Movie { segment_ms, bitrates, sizes }
}

/// BBA-0: the lowest bit rate in the reservoir, the highest above the cushion, equal steps between.
#[test]
fn bba_follows_the_buffer() {
    let slow = played(&movie(), RuleName::Bba, (1500.0, 600.0));
    let fast = played(&movie(), RuleName::Bba, (10_000.0, 600.0));
    assert!(slow.bitrate() < 1500.0 && fast.bitrate() > 3500.0, "{slow:?} {fast:?}");
    assert!(slow.stalls.is_empty() && fast.stalls.is_empty());
}

/// Robust MPC plans with the harmonic mean: it neither stalls at a constant rate nor exceeds it.
#[test]
fn robust_mpc_uses_a_constant_rate() {
    let found = played(&movie(), RuleName::RobustMpc, (3000.0, 100.0));
    assert!((1800.0..3000.0).contains(&found.bitrate()), "{}", found.bitrate());
    assert!(found.stalls.is_empty(), "{:?}", found.stalls);
    let top = played(&movie(), RuleName::RobustMpc, (20_000.0, 40.0));
    assert!(top.bitrate() > 4200.0, "{}", top.bitrate());
}

/// Over a link slower than the lowest bit rate each segment is waited for.
#[test]
fn a_link_that_is_too_slow_stalls_in_each_segment() {
    let found = played(&movie(), RuleName::Throughput, (150.0, 100.0));
    // From the second segment on: 8 s of download for 4 s of video.
    assert_eq!(found.stalls.len(), 59);
    let all = 60.0 * 4000.0;
    assert!((found.stalled() / all - 1.0).abs() < 0.1, "{}", found.stalled());
    assert!((found.video() - all).abs() < 1e-6, "{}", found.video());
}
