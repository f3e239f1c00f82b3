//! Paths as Hypatia (snkas/hypatia @0ac531c) has them: golden files, and rows of a second program.

#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::print_stdout, reason = "says what was skipped and measured")]

mod golden;
mod shells;

use orbit::{
    Bound, Grid, Lasers, Outage, Phasing, Place, Relay, Request, Rule, Series, Shell, Sight, Utc,
    When, places, series,
};
use units::Span;

/// A shell with the parameters of Hypatia: its mean motion has two decimals, and the bound of its
/// stations is a flat cone.
struct Parameters {
    shell: Shell,
    longest_km: f64,
}

fn kuiper() -> Parameters {
    let shell = Shell::circular("kuiper", 630.0, 51.9, 34, 34, Phasing::Hypatia);
    let longest_km = 630.0 / 30f64.to_radians().sin();
    Parameters { shell: Shell { mean_motion: 14.80, ..shell }, longest_km }
}

fn place(name: &str) -> Place {
    places().find(|place| place.name == name).unwrap()
}

/// 2,000 steps of 100 ms.
fn paths(parameters: &Parameters, from: &str, to: &str) -> Series {
    let epoch = Utc::parse("2000-01-01T00:00:00Z").unwrap();
    let Parameters { shell, longest_km } = parameters;
    let satellites = shell.satellites(epoch).unwrap();
    let sight = Sight { bound: Bound::Range(*longest_km), arc_deg: None };
    let grid = Grid::plus(std::slice::from_ref(shell), true, None);
    let request = Request {
        satellites: &satellites,
        from: &place(from),
        to: &[place(to)],
        tracks: &[],
        sight,
        to_sight: sight,
        relay: Relay::Lasers(Lasers { grid }),
        rule: Rule::Shortest,
        when: When::Step,
        outage: Outage::None,
        epoch,
        duration: Span::from_secs(200),
        step: Span::from_millis(100),
        seed: 1,
        full: false,
    };
    series(&request).unwrap()
}
