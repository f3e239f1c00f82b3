//! Time for two series: `cargo run --release -p bentpipe-orbit --example speed`.
//!
//! - 2,000 routing steps over the 1,156 satellites of Kuiper's first shell, with laser links.
//! - A day in steps of 1 s over the 1,584 satellites of a shell of Starlink, between two places.

#![expect(clippy::unwrap_used, reason = "an example")]
#![expect(clippy::print_stdout, reason = "an example")]
#![expect(clippy::disallowed_methods, reason = "measures time")]

use std::time::Instant;

use orbit::{
    Bound, Grid, Lasers, Outage, Phasing, Place, Relay, Request, Rule, Shell, Sight, Utc, When,
    places, series,
};
use units::Span;

fn place(name: &str) -> Place {
    places().find(|place| place.name == name).unwrap()
}

fn main() {
    let kuiper = Shell::circular("kuiper", 630.0, 51.9, 34, 34, Phasing::Hypatia);
    let starlink = Shell::circular("starlink", 550.0, 53.0, 72, 22, Phasing::Hypatia);
    let with = |shell: &Shell| {
        let grid = Grid::plus(std::slice::from_ref(shell), true, None);
        Relay::Lasers(Lasers { grid })
    };
    let runs = [
        ("2,000 steps, lasers", &kuiper, with(&kuiper), "Manila", "Dalian", 200, 100),
        ("a day, bent pipe", &starlink, Relay::BentPipe, "Paris", "Istanbul", 86_400, 1000),
        ("a day, lasers", &starlink, with(&starlink), "Paris", "Manila", 86_400, 1000),
    ];
    for (name, shell, relay, from, to, seconds, step) in runs {
        let epoch = Utc::parse("2026-11-27T00:00:00Z").unwrap();
        let satellites = shell.satellites(epoch).unwrap();
        let sight = Sight { bound: Bound::Elevation(25.0), arc_deg: None };
        let request = Request {
            satellites: &satellites,
            from: &place(from),
            to: &[place(to)],
            tracks: &[],
            sight,
            to_sight: sight,
            relay,
            rule: Rule::Shortest,
            when: When::Step,
            outage: Outage::None,
            epoch,
            duration: Span::from_secs(seconds),
            step: Span::from_millis(step),
            seed: 1,
            full: false,
        };
        let start = Instant::now();
        let found = series(&request).unwrap();
        let (rows, time) = (found.rows.len(), start.elapsed().as_secs_f64());
        println!("{name}: {} satellites, {rows} steps in {time:.2} s", satellites.len());
    }
}
