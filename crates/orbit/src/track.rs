//! The way of a place that moves: a ship or an aircraft.

use crate::{Place, Vector};

/// A position at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// Seconds since the epoch; negative before it.
    pub at_s: f64,
    /// Latitude, north positive.
    pub latitude_deg: f64,
    /// Longitude, east positive.
    pub longitude_deg: f64,
    /// Height above the ellipsoid.
    pub altitude_km: f64,
}

impl Waypoint {
    /// The position as a place with a name.
    pub fn place(&self, name: &str) -> Place {
        let &Self { at_s: _, latitude_deg, longitude_deg, altitude_km } = self;
        Place { name: name.to_owned(), latitude_deg, longitude_deg, altitude_km }
    }

    /// The direction up, in the frame that rotates with the Earth.
    fn up(&self) -> Vector {
        let [_, _, up] = self.place("").axes();
        up
    }
}

/// The way of a place: positions, with parts of great circles between them. Before the first
/// position and after the last one the place stands still.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    name: String,
    points: Vec<Waypoint>,
}

impl Track {
    /// A way; `None` if it has no position, or if times do not rise.
    pub fn new(name: &str, points: Vec<Waypoint>) -> Option<Self> {
        let rises = points.windows(2).all(|pair| pair[0].at_s < pair[1].at_s);
        (rises && !points.is_empty()).then(|| Self { name: name.to_owned(), points })
    }

    /// The name of the place that moves on it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The place some seconds after the epoch.
    pub fn at(&self, at_s: f64) -> Place {
        let next = self.points.partition_point(|point| point.at_s <= at_s);
        let (before, after) = (next.saturating_sub(1), next.min(self.points.len() - 1));
        let [before, after] = [before, after].map(|number| self.points[number]);
        if next == 0 || before == after {
            return before.place(&self.name);
        }
        let share = (at_s - before.at_s) / (after.at_s - before.at_s);
        let [from, to] = [before.up(), after.up()];
        let angle = libm::acos(from.dot(to).clamp(-1.0, 1.0));
        // Two positions on opposite sides of the Earth have no way between them.
        let up = match libm::sin(angle) {
            sine if sine > 1e-9 => {
                from * (libm::sin((1.0 - share) * angle) / sine)
                    + to * (libm::sin(share * angle) / sine)
            }
            _ => from * (1.0 - share) + to * share,
        };
        let Vector { x, y, z } = up;
        Place {
            name: self.name.clone(),
            latitude_deg: libm::atan2(z, libm::hypot(x, y)).to_degrees(),
            longitude_deg: libm::atan2(y, x).to_degrees(),
            altitude_km: before.altitude_km + share * (after.altitude_km - before.altitude_km),
        }
    }

    /// The highest speed between two positions in km/s.
    pub fn fastest(&self) -> f64 {
        self.points.windows(2).map(|pair| speed(&pair[0], &pair[1])).fold(0.0, f64::max)
    }

    /// Lowest and highest distance of a position from the centre of the Earth in km.
    pub(crate) fn radii_km(&self) -> [f64; 2] {
        let radii = self.points.iter().map(|point| point.place("").position().norm());
        radii.fold([f64::INFINITY, 0.0], |[low, high], one| [low.min(one), high.max(one)])
    }
}

/// The speed in km/s of a straight line from one position to a later one.
pub fn speed(from: &Waypoint, to: &Waypoint) -> f64 {
    let [here, there] = [from, to].map(|point| point.place("").position());
    here.distance(there) / (to.at_s - from.at_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_s: f64, latitude_deg: f64, longitude_deg: f64, altitude_km: f64) -> Waypoint {
        Waypoint { at_s, latitude_deg, longitude_deg, altitude_km }
    }

    #[test]
    fn a_place_is_on_the_great_circle_between_its_positions() {
        let track =
            Track::new("ship", vec![point(0.0, 0.0, 170.0, 0.0), point(100.0, 0.0, -170.0, 10.0)]);
        let track = track.unwrap();
        // Over the date line, at equal speed.
        let middle = track.at(50.0);
        assert!((middle.longitude_deg.abs() - 180.0).abs() < 1e-9, "{middle:?}");
        assert_eq!((middle.name.as_str(), middle.altitude_km), ("ship", 5.0));
        assert!((track.at(25.0).longitude_deg - 175.0).abs() < 1e-9);
        assert_eq!(track.at(-5.0).longitude_deg, 170.0);
        assert_eq!(track.at(500.0).longitude_deg, -170.0);
        // From 40 degrees north to 40 degrees north the way is further north.
        let north = vec![point(0.0, 40.0, 0.0, 0.0), point(1.0, 40.0, 90.0, 0.0)];
        let middle = Track::new("a", north).unwrap().at(0.5);
        let expected = (40f64.to_radians().tan() / 45f64.to_radians().cos()).atan().to_degrees();
        assert!((middle.latitude_deg - expected).abs() < 1e-9, "{middle:?}");
    }

    #[test]
    fn speeds_are_those_of_the_positions() {
        let one = point(0.0, 0.0, 0.0, 0.0);
        let other = point(100.0, 0.0, 1.0, 0.0);
        // A degree of the equator is 111.32 km.
        let track = Track::new("a", vec![one, other]).unwrap();
        assert!((track.fastest() - 1.1132).abs() < 1e-4, "{}", track.fastest());
        assert_eq!(Track::new("a", vec![other, one]), None);
        assert_eq!(Track::new("a", Vec::new()), None);
    }
}
