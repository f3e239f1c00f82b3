//! Ranges, elevations, rises and sets of satellites for comparisons with other programs:
//! `cargo run -p bentpipe-orbit --example looks -- FILE LATITUDE LONGITUDE EPOCH`.
//!
//! Rows of a day: `range,SATELLITE,SECONDS,KM,DEGREES` each minute, and
//! `event,SATELLITE,SECONDS,up` where a satellite passes 10 degrees of elevation.

#![expect(clippy::unwrap_used, reason = "an example")]
#![expect(clippy::print_stdout, reason = "an example")]

use orbit::{Look, Place, Satellite, Station, Utc, elements, station};
use units::Span;

const DAY: u64 = 86_400;
const LEAST_DEG: f64 = 10.0;

fn look(satellite: &Satellite, station: &Station, epoch: Utc, after: Span) -> Look {
    let at = epoch.plus(after);
    station.here(station::turn(at)).look(satellite.propagate(at).unwrap())
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [file, latitude, longitude, epoch] = &arguments[..] else {
        panic!("expected FILE LATITUDE LONGITUDE EPOCH")
    };
    let place = Place {
        name: "here".into(),
        latitude_deg: latitude.parse().unwrap(),
        longitude_deg: longitude.parse().unwrap(),
        altitude_km: 0.0,
    };
    let (station, epoch) = (Station::new(place), Utc::parse(epoch).unwrap());
    for satellite in elements::parse(&std::fs::read_to_string(file).unwrap()).unwrap() {
        let name = &satellite.name;
        let up = |after| look(&satellite, &station, epoch, after).elevation_deg >= LEAST_DEG;
        for second in (0..DAY).step_by(60) {
            let Look { range_km, elevation_deg, .. } =
                look(&satellite, &station, epoch, Span::from_secs(second));
            println!("range,{name},{second},{range_km:.6},{elevation_deg:.6}");
        }
        for second in (0..DAY).step_by(10) {
            let (mut low, mut high) = (Span::from_secs(second), Span::from_secs(second + 10));
            let (before, after) = (up(low), up(high));
            if before == after {
                continue;
            }
            while high.saturating_sub(low) > Span::from_millis(1) {
                let middle = Span::from_nanos(u64::midpoint(low.as_nanos(), high.as_nanos()));
                if up(middle) == before {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            println!("event,{name},{:.3},{}", high.as_secs_f64(), u8::from(after));
        }
    }
}
