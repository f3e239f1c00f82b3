//! Places on the ground.

use crate::Vector;

/// Equatorial radius of the ellipsoid of WGS84, in km.
const RADIUS_KM: f64 = 6378.137;
/// Flattening of the ellipsoid of WGS84.
const FLATTENING: f64 = 1.0 / 298.257_223_563;

/// A place by its geodetic coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// Latitude, north positive.
    pub latitude_deg: f64,
    /// Longitude, east positive.
    pub longitude_deg: f64,
    /// Height above the ellipsoid.
    pub altitude_km: f64,
}

impl Place {
    /// The position in the frame that rotates with the Earth, in km.
    pub fn position(&self) -> Vector {
        let squared = FLATTENING * (2.0 - FLATTENING);
        let (sin, cos) = libm::sincos(self.latitude_deg.to_radians());
        let (sin_lon, cos_lon) = libm::sincos(self.longitude_deg.to_radians());
        let normal = RADIUS_KM / (1.0 - squared * sin * sin).sqrt();
        let across = (normal + self.altitude_km) * cos;
        let z = (normal * (1.0 - squared) + self.altitude_km) * sin;
        Vector::new(across * cos_lon, across * sin_lon, z)
    }

    /// The directions to the east, to the north and up, in the frame that rotates with the Earth.
    pub fn axes(&self) -> [Vector; 3] {
        let (sin, cos) = libm::sincos(self.latitude_deg.to_radians());
        let (sin_lon, cos_lon) = libm::sincos(self.longitude_deg.to_radians());
        [
            Vector::new(-sin_lon, cos_lon, 0.0),
            Vector::new(-sin * cos_lon, -sin * sin_lon, cos),
            Vector::new(cos * cos_lon, cos * sin_lon, sin),
        ]
    }
}

/// Geodetic latitude and longitude in degrees of the point below a position. The position is in the
/// frame that rotates with the Earth.
pub fn below(position: Vector) -> [f64; 2] {
    let squared = FLATTENING * (2.0 - FLATTENING);
    let Vector { x, y, z } = position;
    let across = libm::hypot(x, y);
    let mut latitude = libm::atan2(z, across * (1.0 - squared));
    // Each round reduces the error by more than a hundred times.
    for _ in 0..5 {
        let sin = libm::sin(latitude);
        let normal = RADIUS_KM / (1.0 - squared * sin * sin).sqrt();
        latitude = libm::atan2(z + squared * normal * sin, across);
    }
    [latitude.to_degrees(), libm::atan2(y, x).to_degrees()]
}

/// Places with a name: latitude and longitude in degrees. They are ground stations of Hypatia
/// (snkas/hypatia @0ac531c), the hundred largest cities of the world by population.
const PLACES: [(&str, f64, f64); 9] = [
    ("Istanbul", 41.0138, 28.9497),
    ("Manila", 14.6042, 120.9822),
    ("Rio de Janeiro", -22.902_78, -43.2075),
    ("Moscow", 55.754_996, 37.621_849),
    ("Paris", 48.853_41, 2.3488),
    ("Luanda", -8.836_82, 13.234_32),
    ("Saint Petersburg", 59.929_858, 30.326_228),
    ("Dalian", 38.913_811, 121.602_322),
    ("Nairobi", -1.283_33, 36.816_67),
];

/// All places with a name.
pub fn places() -> impl Iterator<Item = Place> {
    PLACES.into_iter().map(|(name, latitude_deg, longitude_deg)| Place {
        name: name.to_owned(),
        latitude_deg,
        longitude_deg,
        altitude_km: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_ellipsoid() {
        let at = |latitude_deg, longitude_deg, altitude_km| {
            Place { name: String::new(), latitude_deg, longitude_deg, altitude_km }.position()
        };
        assert!(at(0.0, 0.0, 0.0).distance(Vector::new(6378.137, 0.0, 0.0)) < 1e-9);
        assert!(at(0.0, 90.0, 1.0).distance(Vector::new(0.0, 6379.137, 0.0)) < 1e-9);
        // The polar radius of WGS84.
        assert!(at(90.0, 0.0, 0.0).distance(Vector::new(0.0, 0.0, 6_356.752_314_245)) < 1e-6);
    }

    #[test]
    fn the_point_below_a_position_is_its_place() {
        for (latitude_deg, longitude_deg) in [(0.0, 0.0), (53.0, -120.0), (-89.0, 179.0)] {
            let name = String::new();
            let place = Place { name, latitude_deg, longitude_deg, altitude_km: 550.0 };
            let [latitude, longitude] = below(place.position());
            assert!((latitude - latitude_deg).abs() < 1e-9, "{latitude}");
            assert!((longitude - longitude_deg).abs() < 1e-9, "{longitude}");
        }
    }

    #[test]
    fn axes_are_orthogonal() {
        let place = places().next().unwrap();
        let [east, north, up] = place.axes();
        for (a, b) in [(east, north), (north, up), (up, east)] {
            assert!(a.dot(b).abs() < 1e-15);
        }
        assert!(up.dot(place.position()) > 0.0);
    }
}
