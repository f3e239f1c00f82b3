//! Satellites of a Walker constellation: planes of circular orbits with equal inclination and
//! altitude (J. G. Walker, "Satellite constellations", 1984).
//!
//! With T satellites in P planes, S = T/P of them in each, satellite j of plane k has the right
//! ascension k·(spread/P) and the argument of latitude j·(360°/S) + k·F·(360°/T). The spread is
//! 360° for a delta and 180° for a star. Hypatia's phasing shifts odd planes by half a spacing: as
//! a set of satellites that is F = P/2 for an even number of planes, but their numbers differ, and
//! so do the laser links between planes.

use crate::elements::{Satellite, Shape, mean_motion, radius_km};
use crate::{EARTH_RADIUS_KM, Utc};

/// Eccentricity of all satellites, that of Hypatia. It is not zero because programs that read
/// two-line elements are known to divide by it.
const ECCENTRICITY: f64 = 1e-7;

/// The difference of neighbouring planes in the argument of latitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phasing {
    /// Walker's F, from 0 to below the number of planes.
    Factor(f64),
    /// Odd planes are shifted by half of the distance of their satellites, as in Hypatia.
    Hypatia,
}

/// Planes of one altitude and inclination.
#[derive(Clone, Debug, PartialEq)]
pub struct Shell {
    /// Its name, with which names of satellites begin.
    pub name: String,
    /// Revolutions per day.
    pub mean_motion: f64,
    /// Inclination in degrees.
    pub inclination_deg: f64,
    /// Number of planes.
    pub planes: u32,
    /// Number of satellites in each plane.
    pub per_plane: u32,
    /// Degrees between neighbouring planes: 360 or 180, divided by the number of planes, for a
    /// delta and for a star.
    pub spacing_deg: f64,
    /// Difference of neighbouring planes.
    pub phasing: Phasing,
    /// Right ascension of the first plane at the epoch.
    pub node_deg: f64,
    /// Argument of latitude of its first satellite at the epoch.
    pub anomaly_deg: f64,
}

impl Shell {
    /// A delta with an altitude in km above the equatorial radius.
    pub fn circular(
        name: &str,
        altitude_km: f64,
        inclination_deg: f64,
        planes: u32,
        per_plane: u32,
        phasing: Phasing,
    ) -> Self {
        Self {
            name: name.to_owned(),
            mean_motion: mean_motion(EARTH_RADIUS_KM + altitude_km),
            inclination_deg,
            planes,
            per_plane,
            spacing_deg: 360.0 / f64::from(planes),
            phasing,
            node_deg: 0.0,
            anomaly_deg: 0.0,
        }
    }

    /// The same with planes over 180 degrees.
    pub fn star(self) -> Self {
        Self { spacing_deg: 180.0 / f64::from(self.planes), ..self }
    }

    /// Altitude in km above the equatorial radius, by the mean motion.
    pub fn altitude_km(&self) -> f64 {
        radius_km(self.mean_motion) - EARTH_RADIUS_KM
    }

    /// Number of satellites.
    pub fn total(&self) -> u32 {
        self.planes * self.per_plane
    }

    /// The satellites, plane by plane: number k·S + j is satellite j of plane k.
    ///
    /// # Errors
    /// If there is no such orbit around the Earth, with the reason.
    pub fn satellites(&self, epoch: Utc) -> Result<Vec<Satellite>, String> {
        let numbers = (0..self.planes).flat_map(|k| (0..self.per_plane).map(move |j| (k, j)));
        let made = numbers.map(|(plane, number)| {
            let shape = self.shape(plane, number);
            Satellite::new(format!("{}/{plane}.{number}", self.name), epoch, shape)
        });
        made.collect()
    }

    /// The elements of a satellite.
    fn shape(&self, plane: u32, number: u32) -> Shape {
        let step = 360.0 / f64::from(self.per_plane);
        let shift = match self.phasing {
            Phasing::Factor(factor) => f64::from(plane) * factor * 360.0 / f64::from(self.total()),
            Phasing::Hypatia => f64::from(plane % 2) * step / 2.0,
        };
        let anomaly = self.anomaly_deg + f64::from(number) * step + shift;
        Shape {
            inclination_deg: self.inclination_deg,
            node_deg: (self.node_deg + f64::from(plane) * self.spacing_deg).rem_euclid(360.0),
            eccentricity: ECCENTRICITY,
            perigee_deg: 0.0,
            anomaly_deg: anomaly.rem_euclid(360.0),
            mean_motion: self.mean_motion,
            drag: 0.0,
        }
    }
}

/// A satellite above the equator that does not move in the sky, at a longitude in degrees east.
///
/// # Errors
/// If SGP4 has no such orbit, with the reason.
pub fn geostationary(longitude_deg: f64, epoch: Utc) -> Result<Satellite, String> {
    let shape = Shape {
        inclination_deg: 0.0,
        node_deg: 0.0,
        eccentricity: ECCENTRICITY,
        perigee_deg: 0.0,
        anomaly_deg: (longitude_deg + epoch.sidereal().to_degrees()).rem_euclid(360.0),
        mean_motion: 1.002_737_91,
        drag: 0.0,
    };
    let (side, degrees) =
        if longitude_deg < 0.0 { ("W", -longitude_deg) } else { ("E", longitude_deg) };
    Satellite::new(format!("geo/{degrees}{side}"), epoch, shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch() -> Utc {
        Utc::parse("2000-01-01T00:00:00Z").unwrap()
    }

    fn angles(shell: &Shell) -> Vec<(f64, f64)> {
        let satellites = shell.satellites(epoch()).unwrap();
        satellites.iter().map(|one| (one.shape().node_deg, one.shape().anomaly_deg)).collect()
    }

    #[test]
    fn a_delta_of_six_satellites() {
        let shell = Shell::circular("d", 1000.0, 50.0, 3, 2, Phasing::Factor(1.0));
        let expected = [
            (0.0, 0.0),
            (0.0, 180.0),
            (120.0, 60.0),
            (120.0, 240.0),
            (240.0, 120.0),
            (240.0, 300.0),
        ];
        assert_eq!(angles(&shell), expected);
        let nodes: Vec<_> = angles(&shell.star()).into_iter().map(|(node, _)| node).collect();
        assert_eq!(nodes, [0.0, 0.0, 60.0, 60.0, 120.0, 120.0]);
    }

    #[test]
    fn the_phasing_of_hypatia_is_half_of_the_planes_as_a_set() {
        let hypatia = Shell::circular("k", 630.0, 51.9, 34, 34, Phasing::Hypatia);
        let walker = Shell { phasing: Phasing::Factor(17.0), ..hypatia.clone() };
        // In thousandths of a degree, as a set.
        let rounded = |shell| {
            let round = |angle: f64| (angle * 1e3).round() as i64 % 360_000;
            let mut set: Vec<_> =
                angles(shell).into_iter().map(|(a, b)| (round(a), round(b))).collect();
            set.sort_unstable();
            set
        };
        assert_ne!(angles(&hypatia), angles(&walker));
        assert_eq!(rounded(&hypatia), rounded(&walker));
    }

    #[test]
    fn a_geostationary_satellite_stays_above_its_longitude() {
        let satellite = geostationary(19.2, epoch()).unwrap();
        assert_eq!(satellite.name, "geo/19.2E");
        for hours in [0, 6, 24] {
            let at = epoch().plus(units::Span::from_secs(hours * 3600));
            let position = satellite.propagate(at).unwrap();
            let ascension = libm::atan2(position.y, position.x).to_degrees();
            let longitude = (ascension - at.sidereal().to_degrees()).rem_euclid(360.0);
            assert!((longitude - 19.2).abs() < 0.1, "{hours} h: {longitude}");
            assert!((position.norm() - 42_164.0).abs() < 30.0, "{}", position.norm());
        }
    }
}
