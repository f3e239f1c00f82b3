//! A place in the frame of the satellites, and the directions in which it sees them.

use crate::{EARTH_RADIUS_KM, Place, Utc, Vector, place};

/// Radius of the geostationary orbit, in km.
const GEOSTATIONARY_KM: f64 = 42_164.17;
/// Degrees of longitude between points of the geostationary arc.
const ARC_STEP: usize = 1;

/// A place, with all that does not change over time.
#[derive(Clone, Debug)]
pub struct Station {
    /// The place.
    pub place: Place,
    position: Vector,
    axes: [Vector; 3],
    /// Directions of the geostationary arc above the horizon.
    arc: Vec<Vector>,
}

/// A satellite as a station sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Elevation above the horizon.
    pub elevation_deg: f64,
    /// Azimuth, from north over east.
    pub azimuth_deg: f64,
    /// Distance.
    pub range_km: f64,
    /// Latitude of the point below it, north positive.
    pub latitude_deg: f64,
    /// Longitude of that point, east positive.
    pub longitude_deg: f64,
}

/// A station at an instant, in the frame of the satellites.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// The station.
    pub station: &'a Station,
    /// Its position.
    pub position: Vector,
    up: Vector,
    /// Cosine and sine of the sidereal time.
    turn: (f64, f64),
}

/// Length of a slanted path through a layer, in heights of the layer.
pub fn slant(elevation_deg: f64) -> f64 {
    1.0 / libm::sin(elevation_deg.to_radians())
}

/// Free-space loss of a satellite against that of the same satellite at another elevation, in dB.
/// Its altitude follows from its elevation and its distance, on a sphere.
pub fn spreading_db(elevation_deg: f64, range_km: f64, reference_deg: f64) -> f64 {
    20.0 * libm::log10(range_km / reference_km(elevation_deg, range_km, reference_deg))
}

/// The distance in km at which the same satellite would be at another elevation.
fn reference_km(elevation_deg: f64, range_km: f64, reference_deg: f64) -> f64 {
    let radius = EARTH_RADIUS_KM;
    let sine = |degrees: f64| libm::sin(degrees.to_radians());
    let squared =
        radius * radius + range_km * range_km + 2.0 * radius * range_km * sine(elevation_deg);
    let up = radius * sine(reference_deg);
    (up * up + squared - radius * radius).sqrt() - up
}

/// Cosine and sine of the sidereal time of an instant.
pub fn turn(at: Utc) -> (f64, f64) {
    let (sin, cos) = libm::sincos(at.sidereal());
    (cos, sin)
}

impl Station {
    /// The station at a place.
    pub fn new(place: Place) -> Self {
        let (position, axes) = (place.position(), place.axes());
        let point = |longitude: usize| {
            let (sin, cos) = libm::sincos((longitude as f64).to_radians());
            (Vector::new(cos, sin, 0.0) * GEOSTATIONARY_KM - position).unit()
        };
        let arc = (0..360).step_by(ARC_STEP).map(point);
        let arc = arc.filter(|direction| direction.dot(axes[2]) > 0.0).collect();
        Self { place, position, axes, arc }
    }

    /// The station at an instant whose sidereal time has this cosine and sine.
    pub fn here(&self, turn: (f64, f64)) -> Here<'_> {
        let (position, up) = (self.position.turned(turn), self.axes[2].turned(turn));
        Here { station: self, position, up, turn }
    }

    /// Distance from the centre of the Earth in km.
    pub fn radius_km(&self) -> f64 {
        self.position.norm()
    }
}

impl Here<'_> {
    /// The direction and the distance of a position.
    pub fn look(&self, position: Vector) -> Look {
        let fixed = self.fixed(position);
        let [east, north, up] = self.station.axes.map(|axis| axis.dot(fixed));
        let range_km = fixed.norm();
        let [latitude_deg, longitude_deg] = place::below(fixed + self.station.position);
        Look {
            elevation_deg: libm::asin((up / range_km).clamp(-1.0, 1.0)).to_degrees(),
            azimuth_deg: libm::atan2(east, north).to_degrees().rem_euclid(360.0),
            range_km,
            latitude_deg,
            longitude_deg,
        }
    }

    /// Sine of the elevation of a position.
    pub fn sine(&self, position: Vector) -> f64 {
        let to = position - self.position;
        to.dot(self.up) / to.norm()
    }

    /// The smallest angle between a position and the geostationary arc in degrees, as the station
    /// sees them. `None` where the arc is below the horizon.
    pub fn from_arc_deg(&self, position: Vector) -> Option<f64> {
        let direction = self.fixed(position).unit();
        let cosine = self.station.arc.iter().map(|point| point.dot(direction)).reduce(f64::max)?;
        Some(libm::acos(cosine.clamp(-1.0, 1.0)).to_degrees())
    }

    /// The vector to a position, in the frame that rotates with the Earth.
    fn fixed(&self, position: Vector) -> Vector {
        let (cos, sin) = self.turn;
        (position - self.position).turned((cos, -sin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(latitude_deg: f64, longitude_deg: f64) -> Station {
        let place = Place { name: "here".into(), latitude_deg, longitude_deg, altitude_km: 0.0 };
        Station::new(place)
    }

    #[test]
    fn look_angles_of_known_directions() {
        let equator = station(0.0, 0.0);
        let here = equator.here((1.0, 0.0));
        let up = here.look(Vector::new(7000.0, 0.0, 0.0));
        assert!((up.elevation_deg - 90.0).abs() < 1e-9);
        assert!((up.range_km - 621.863).abs() < 1e-9);
        for (azimuth, y, z) in
            [(0.0, 0.0, 1.0), (90.0, 1.0, 0.0), (180.0, 0.0, -1.0), (270.0, -1.0, 0.0)]
        {
            let look = here.look(Vector::new(6378.137 + 1.0, y, z));
            assert!((look.azimuth_deg - azimuth).abs() < 1e-9, "{look:?}");
            assert!((look.elevation_deg - 45.0).abs() < 1e-9, "{look:?}");
        }
    }

    #[test]
    fn a_geostationary_satellite_is_where_dishes_point() {
        // Spino d'Adda (45.4 N, 9.5 E) to a satellite at 13 E: closed form on the ellipsoid's
        // normal, with the usual correction for the Earth's radius: 37.5 degrees, south.
        let place = station(45.4, 9.5);
        let here = place.here((1.0, 0.0));
        let (sin, cos) = libm::sincos(13f64.to_radians());
        let look = here.look(Vector::new(cos, sin, 0.0) * GEOSTATIONARY_KM);
        assert!((look.elevation_deg - 37.7).abs() < 0.3, "{look:?}");
        assert!((look.azimuth_deg - 175.1).abs() < 0.2, "{look:?}");
        assert!(here.from_arc_deg(Vector::new(cos, sin, 0.0) * GEOSTATIONARY_KM).unwrap() < 1e-3);
    }

    #[test]
    fn the_reference_is_the_distance_of_the_same_satellite() {
        // 550 km: overhead, and 1,123 km at 25 degrees (closed form on a sphere).
        assert!((reference_km(90.0, 550.0, 90.0) - 550.0).abs() < 1e-9);
        let sine = 25f64.to_radians().sin();
        let radius = EARTH_RADIUS_KM;
        let slant = (radius * radius * sine * sine + 2.0 * radius * 550.0 + 550.0 * 550.0).sqrt()
            - radius * sine;
        assert!((slant - 1123.3).abs() < 1.0, "{slant}");
        assert!((reference_km(25.0, slant, 90.0) - 550.0).abs() < 1e-6);
        assert!((reference_km(90.0, 550.0, 25.0) - slant).abs() < 1e-6);
        let loss = 20.0 * (slant / 550.0).log10();
        assert!((spreading_db(25.0, slant, 90.0) - loss).abs() < 1e-9, "{loss}");
    }

    #[test]
    fn directions_do_not_depend_on_the_rotation() {
        let place = station(50.0, 8.0);
        let turned = (0.6, 0.8);
        let position = Vector::new(5000.0, 3000.0, 4500.0);
        let first = place.here((1.0, 0.0)).look(position);
        let second = place.here(turned).look(position.turned(turned));
        assert!((first.elevation_deg - second.elevation_deg).abs() < 1e-9);
        assert!((first.azimuth_deg - second.azimuth_deg).abs() < 1e-9);
        let sine = place.here(turned).sine(position.turned(turned));
        assert!((libm::asin(sine).to_degrees() - first.elevation_deg).abs() < 1e-9);
    }
}
