//! Which satellites a place may use, and a coarse filter that leaves out those which cannot be.

use crate::station::Here;
use crate::{Satellite, Vector};

/// Radius of the Earth at its poles in km: the smallest of all, for bounds.
const POLAR_KM: f64 = 6356.752;
/// Distance in km by which SGP4's orbits leave the radii of their elements, with room: the
/// flattening moves those of low orbits by 10 km.
const WOBBLE_KM: f64 = 50.0;
/// Angle between the vertical and the direction from the centre of the Earth: 0.193 degrees at
/// most.
const VERTICAL_DEG: f64 = 0.2;
/// Rotation of the Earth in rad/s.
const ROTATION: f64 = 7.292_115e-5;

/// The bound of a place's view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Minimum elevation in degrees.
    Elevation(f64),
    /// Longest distance in km, as of a flat cone: Hypatia's rule. It lets satellites in that are
    /// below the elevation of the cone.
    Range(f64),
}

/// The rules for the satellites that a place may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// The bound.
    pub bound: Bound,
    /// Smallest angle to the geostationary arc in degrees; `None` without protection of the arc.
    pub arc_deg: Option<f64>,
}

/// Why a satellite cannot be used, with the distance from the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Miss {
    /// Degrees below the minimum elevation.
    Below(f64),
    /// Kilometres beyond the longest distance.
    Beyond(f64),
    /// Degrees too near to the geostationary arc.
    NearArc(f64),
}

impl Sight {
    /// Returns true if a place may use a satellite at a position.
    pub fn admits(&self, here: &Here<'_>, position: Vector) -> bool {
        let inside = match self.bound {
            Bound::Elevation(least) => here.sine(position) >= libm::sin(least.to_radians()),
            Bound::Range(most) => here.position.distance(position) <= most,
        };
        inside
            && self.arc_deg.is_none_or(|least| {
                here.from_arc_deg(position).is_none_or(|degrees| degrees >= least)
            })
    }

    /// The reason why a place may not use a satellite; `None` if it may.
    pub fn miss(&self, here: &Here<'_>, position: Vector) -> Option<Miss> {
        if self.admits(here, position) {
            return None;
        }
        let look = here.look(position);
        let bound = match self.bound {
            Bound::Elevation(least) => Miss::Below(least - look.elevation_deg),
            Bound::Range(most) => Miss::Beyond(look.range_km - most),
        };
        match (bound, self.arc_deg, here.from_arc_deg(position)) {
            (Miss::Below(by) | Miss::Beyond(by), _, _) if by > 0.0 => Some(bound),
            (_, Some(least), Some(degrees)) => Some(Miss::NearArc(least - degrees)),
            _ => Some(bound),
        }
    }

    /// Upper bound of the angle at the centre of the Earth between a place and a satellite that it
    /// may use, in radians.
    fn angle(&self, radius_km: f64, satellite: &Satellite) -> f64 {
        let (perigee, apogee) = satellite.radii_km();
        let angle = match self.bound {
            Bound::Elevation(least) => {
                let least = (least - VERTICAL_DEG).to_radians();
                let ratio = POLAR_KM.min(radius_km) * libm::cos(least) / (apogee + WOBBLE_KM);
                libm::acos(ratio.clamp(-1.0, 1.0)) - least
            }
            Bound::Range(most) => {
                let lowest = perigee - WOBBLE_KM;
                let over = radius_km * radius_km + lowest * lowest - most * most;
                libm::acos((over / (2.0 * radius_km * lowest)).clamp(-1.0, 1.0))
            }
        };
        angle.min(std::f64::consts::PI)
    }

    /// The filter of a satellite for a place, where both positions are known at knots that are
    /// `spacing_s` apart.
    pub fn filter(&self, place: Extent, satellite: &Satellite, spacing_s: f64) -> Filter {
        let Extent { radii_km, fastest } = place;
        // Between two knots it is nearer to the place by half of the way at most.
        let moves = (satellite.fastest() + ROTATION + fastest / POLAR_KM) * spacing_s / 2.0;
        let [low, high] = radii_km.map(|radius| self.angle(radius, satellite));
        let most = low.max(high) + VERTICAL_DEG.to_radians() + moves;
        Filter { cosine: libm::cos(most.min(std::f64::consts::PI)) }
    }
}

/// Bounds of where a place is, and of its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Lowest and highest distance from the centre of the Earth in km.
    pub radii_km: [f64; 2],
    /// Highest speed over the ground in km/s.
    pub fastest: f64,
}

/// Tells quickly whether a satellite can be in sight between two knots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    /// Cosine of the largest angle at the centre of the Earth.
    cosine: f64,
}

impl Filter {
    /// Returns false if the satellite is out of sight from one knot to the next. `ends` are the
    /// directions of the place at the knots, of length 1, and the positions of the satellite.
    pub fn admits(&self, ends: [(Vector, Vector); 2]) -> bool {
        ends.iter()
            .any(|(place, satellite)| place.dot(*satellite) >= self.cosine * satellite.norm())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phasing, Place, Shell, Station, Utc, station};

    #[test]
    fn the_bounds_are_closed_forms_on_a_sphere() {
        let place =
            Place { name: "p".into(), latitude_deg: 0.0, longitude_deg: 0.0, altitude_km: 0.0 };
        let station = Station::new(place);
        let here = station.here((1.0, 0.0));
        // Elevation 30 degrees from 630 km: a slant range of 1,124 km and 8.1 degrees at the
        // centre.
        let (radius, height, elevation) = (6378.137, 630.0, 30f64.to_radians());
        let sin = elevation.sin();
        let slant = (radius * radius * sin * sin + 2.0 * radius * height + height * height).sqrt()
            - radius * sin;
        assert!((slant - 1124.0).abs() < 1.0, "{slant}");
        let at = |degrees: f64| {
            let (sin, cos) = (degrees + 30.0).to_radians().sin_cos();
            // Along the line of sight, `degrees` above or below the bound.
            here.position + Vector::new(sin, cos, 0.0) * slant
        };
        let by_elevation = Sight { bound: Bound::Elevation(30.0), arc_deg: None };
        assert!(by_elevation.admits(&here, at(0.001)));
        assert!(!by_elevation.admits(&here, at(-0.001)));
        let Some(Miss::Below(by)) = by_elevation.miss(&here, at(-2.0)) else { panic!("no miss") };
        assert!((by - 2.0).abs() < 1e-9);
        // The flat cone of the same angle lets it in from further away.
        let by_range = Sight { bound: Bound::Range(630.0 / sin), arc_deg: None };
        assert!(by_range.admits(&here, at(-2.0)));
        let far = here.position + Vector::new(0.5, 0.75f64.sqrt(), 0.0) * 1270.0;
        let Some(Miss::Beyond(by)) = by_range.miss(&here, far) else { panic!("no miss") };
        assert!((by - 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_geostationary_arc_is_protected() {
        let place =
            Place { name: "p".into(), latitude_deg: 0.0, longitude_deg: 0.0, altitude_km: 0.0 };
        let station = Station::new(place);
        let here = station.here((1.0, 0.0));
        let sight = Sight { bound: Bound::Elevation(25.0), arc_deg: Some(22.0) };
        let towards = |degrees: f64| {
            // From the zenith to the north. At the equator the arc is overhead.
            let (sin, cos) = degrees.to_radians().sin_cos();
            here.position + Vector::new(cos, 0.0, sin) * 600.0
        };
        assert!(sight.admits(&here, towards(22.1)));
        assert!(!sight.admits(&here, towards(21.9)));
        let Some(Miss::NearArc(by)) = sight.miss(&here, towards(20.0)) else { panic!("no miss") };
        assert!((by - 2.0).abs() < 0.01, "{by}");
    }

    #[test]
    fn the_filter_leaves_out_nothing_that_is_in_sight() {
        let epoch = Utc::parse("2026-11-27T00:00:00Z").unwrap();
        let shell = Shell::circular("s", 550.0, 53.0, 12, 8, Phasing::Factor(1.0));
        let satellites = shell.satellites(epoch).unwrap();
        let place =
            Place { name: "p".into(), latitude_deg: 48.0, longitude_deg: 11.0, altitude_km: 3.0 };
        let station = Station::new(place);
        let at = |second: u64| epoch.plus(units::Span::from_secs(second));
        for bound in [Bound::Elevation(25.0), Bound::Range(1089.7)] {
            let sight = Sight { bound, arc_deg: None };
            let (mut seen, mut admitted) = (0, 0);
            for satellite in &satellites {
                let extent = Extent { radii_km: [station.radius_km(); 2], fastest: 0.0 };
                let filter = sight.filter(extent, satellite, 60.0);
                for minute in 0..100 {
                    let ends = [0, 60].map(|after| {
                        let at = at(minute * 60 + after);
                        let here = station.here(station::turn(at));
                        (here.position.unit(), satellite.propagate(at).unwrap())
                    });
                    let may = filter.admits(ends);
                    let is = (0..60).step_by(5).any(|second| {
                        let at = at(minute * 60 + second);
                        let here = station.here(station::turn(at));
                        sight.admits(&here, satellite.propagate(at).unwrap())
                    });
                    assert!(may || !is, "{} in minute {minute}", satellite.name);
                    seen += u32::from(is);
                    admitted += u32::from(may);
                }
            }
            assert!(seen > 50 && admitted < 3 * seen, "{bound:?}: {seen} of {admitted}");
        }
    }
}
