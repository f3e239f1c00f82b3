//! Rows of a second program with Hypatia's parameters: range of the RTT in ms over 200 s in steps
//! of 100 ms, and number of changes of the path.

use orbit::{Phasing, Shell};
use units::Span;

use super::{Parameters, kuiper, paths};

fn starlink() -> Parameters {
    let shell = Shell::circular("starlink", 550.0, 53.0, 72, 22, Phasing::Hypatia);
    // The ground arc of the elevation of 25 degrees that was filed.
    let longest_km = 940.7f64.hypot(550.0);
    Parameters { shell: Shell { mean_motion: 15.19, ..shell }, longest_km }
}

fn telesat() -> Parameters {
    let shell = Shell::circular("telesat", 1015.0, 98.98, 27, 13, Phasing::Hypatia);
    let longest_km = 1015.0 / 10f64.to_radians().sin();
    Parameters { shell: Shell { mean_motion: 13.66, ..shell }, longest_km }
}

/// Half of the last digit of a row, and the 2 microseconds that two programs may differ by.
const TOLERANCE_MS: f64 = 0.0025;

fn check(parameters: &Parameters, rows: &[(&str, &str, f64, f64, usize)]) {
    for (from, to, least, most, changes) in rows {
        let found = paths(parameters, from, to);
        let rtts = found.rows.iter().filter_map(|row| row.path.as_ref());
        let rtts: Vec<_> = rtts.map(|path| 2e3 * path.delay_s()).collect();
        let ends = [f64::min, f64::max].map(|end| rtts.iter().copied().reduce(end).unwrap());
        println!("{from} - {to}: {ends:.4?}, {} hand-overs", found.handovers.len());
        assert!((ends[0] - least).abs() <= TOLERANCE_MS, "{from} - {to}: {ends:?}");
        assert!((ends[1] - most).abs() <= TOLERANCE_MS, "{from} - {to}: {ends:?}");
        // A gap is two changes: to no path, and back.
        let gaps = found.gaps.len();
        let before = found.handovers.iter().filter(|one| !one.after_gap).count();
        assert_eq!(before + 2 * gaps, *changes, "{from} - {to}");
    }
}

#[test]
fn kuiper_630() {
    let rows = [
        ("Rio de Janeiro", "Saint Petersburg", 95.739, 136.622, 9),
        ("Manila", "Dalian", 25.230, 48.165, 5),
        ("Istanbul", "Nairobi", 46.911, 69.540, 7),
        ("Paris", "Moscow", 21.717, 24.627, 8),
    ];
    check(&kuiper(), &rows);
    let found = paths(&kuiper(), "Rio de Janeiro", "Saint Petersburg");
    let gaps: Vec<_> = found.gaps.iter().map(|gap| (gap.start, gap.end)).collect();
    assert_eq!(gaps, [(Span::from_millis(155_400), Span::from_millis(165_100))]);
}

#[test]
fn starlink_550() {
    let rows = [
        ("Rio de Janeiro", "Saint Petersburg", 107.373, 129.207, 2),
        ("Manila", "Dalian", 27.120, 47.378, 4),
        ("Istanbul", "Nairobi", 56.993, 77.619, 4),
        ("Paris", "Moscow", 20.357, 21.343, 3),
        ("Paris", "Luanda", 85.281, 117.257, 5),
    ];
    check(&starlink(), &rows);
}

#[test]
fn telesat_1015() {
    let rows = [
        ("Rio de Janeiro", "Saint Petersburg", 82.337, 85.752, 3),
        ("Manila", "Dalian", 23.680, 24.489, 1),
        ("Istanbul", "Nairobi", 36.749, 37.424, 1),
        ("Paris", "Moscow", 22.557, 24.444, 3),
    ];
    check(&telesat(), &rows);
}
