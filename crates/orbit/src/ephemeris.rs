//! Positions over time.
//!
//! SGP4 takes a microsecond for each position, so it gives positions at knots only, and a
//! polynomial through the six nearest knots gives what is between. Its error is at most 0.0049 h⁶ r
//! ω⁶ for knots that are h apart on a circle of radius r: 3 mm for an orbit at 550 km and knots of
//! a minute. Where that bound is larger, on eccentric orbits with a low perigee, the knots are
//! closer. Velocities of SGP4 are not used: on eccentric orbits they differ from the derivative of
//! its positions by a metre per second.

use thiserror::Error;
use units::Span;

use crate::{Satellite, Utc, Vector};

/// Largest time between knots.
const LONGEST: Span = Span::from_secs(60);
/// Error of a position that interpolation may have, in km, by its bound.
const ERROR_KM: f64 = 0.000_01;
/// Number of knots of a polynomial.
const KNOTS: usize = 6;
/// Knots before the interval of the current time.
const BEFORE: usize = KNOTS / 2 - 1;

/// A satellite without a position.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "satellite {satellite} has no orbit {days:.1} days after the epoch of its elements: {reason}"
)]
pub struct PropagationError {
    /// Its name.
    pub satellite: String,
    /// Line of its elements in their text.
    pub line: Option<usize>,
    /// Days since the epoch of its elements.
    pub days: f64,
    /// The reason.
    pub reason: String,
}

/// Positions of satellites over time.
#[derive(Clone, Debug)]
pub struct Ephemeris<'a> {
    satellites: &'a [Satellite],
    start: Utc,
    spacing: Span,
    /// The interval between two knots that `knots` are around, from the start.
    interval: Option<u64>,
    /// Positions of each satellite: at knots before the interval, at its ends, and after it.
    knots: Vec<[Vector; KNOTS]>,
    /// Weights of the knots for the current time.
    weights: [f64; KNOTS],
}

impl<'a> Ephemeris<'a> {
    /// The positions of satellites from `start` on.
    pub fn new(satellites: &'a [Satellite], start: Utc) -> Self {
        let spacing = satellites.iter().map(spacing).min().unwrap_or(LONGEST);
        let knots = vec![[Vector::default(); KNOTS]; satellites.len()];
        Self { satellites, start, spacing, interval: None, knots, weights: [0.0; KNOTS] }
    }

    /// Time between knots.
    pub fn spacing(&self) -> Span {
        self.spacing
    }

    /// Moves to a time after the start. Returns true if it is in another interval than before.
    /// It is fastest where times increase.
    ///
    /// # Errors
    /// If a satellite has no position at a knot.
    pub fn advance(&mut self, to: Span) -> Result<bool, PropagationError> {
        let interval = to.as_nanos() / self.spacing.as_nanos();
        let moved = self.interval != Some(interval);
        if moved {
            let follows = self.interval.is_some_and(|before| before + 1 == interval);
            self.interval = None;
            for (satellite, knots) in self.satellites.iter().zip(&mut self.knots) {
                let first = if follows { KNOTS - 1 } else { 0 };
                knots.copy_within(KNOTS - first.., 0);
                for (number, knot) in knots.iter_mut().enumerate().skip(first) {
                    *knot = satellite.propagate(self.start.knot(self.spacing, interval, number))?;
                }
            }
            self.interval = Some(interval);
        }
        let within = to.saturating_sub(self.spacing * interval).as_secs_f64();
        self.weights = weights(within / self.spacing.as_secs_f64());
        Ok(moved)
    }

    /// Position of a satellite at the current time.
    pub fn position(&self, satellite: usize) -> Vector {
        let knots = self.knots[satellite].iter().zip(self.weights);
        knots.fold(Vector::default(), |sum, (knot, weight)| sum + *knot * weight)
    }

    /// Positions of a satellite at the knots before and after the current time.
    pub fn ends(&self, satellite: usize) -> [Vector; 2] {
        let knots = &self.knots[satellite];
        [knots[BEFORE], knots[BEFORE + 1]]
    }
}

impl Utc {
    /// The time of a knot of the polynomial for an interval. The first ones are before the start.
    fn knot(self, spacing: Span, interval: u64, number: usize) -> Self {
        let before =
            Self::from_nanos(self.as_nanos() - (spacing * BEFORE as u64).as_nanos() as i64);
        before.plus(spacing * (interval + number as u64))
    }
}

/// The largest time between knots that keeps the error within its bound.
fn spacing(satellite: &Satellite) -> Span {
    let (perigee, _) = satellite.radii_km();
    let sixth = ERROR_KM / (0.0049 * perigee * satellite.fastest().powi(6));
    // Whole seconds, so that knots are instants without a fraction.
    LONGEST.min(Span::from_secs_f64(libm::cbrt(sixth.sqrt()).floor().max(1.0)))
}

/// Weights of the knots (Lagrange's polynomials), at a share of the interval between the middle
/// two.
fn weights(share: f64) -> [f64; KNOTS] {
    let at = share + BEFORE as f64;
    let mut weights = [1.0; KNOTS];
    for (own, weight) in weights.iter_mut().enumerate() {
        for other in (0..KNOTS).filter(|other| *other != own) {
            *weight *= (at - other as f64) / (own as f64 - other as f64);
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phasing, Shell};

    fn epoch() -> Utc {
        Utc::parse("2026-11-27T00:00:00Z").unwrap()
    }

    /// The largest distance from SGP4 over some hours, in m.
    fn error_m(satellites: &[Satellite]) -> f64 {
        let mut ephemeris = Ephemeris::new(satellites, epoch());
        let mut worst: f64 = 0.0;
        for step in 0..2000 {
            let after = Span::from_millis(step * 7_301);
            ephemeris.advance(after).unwrap();
            for (number, satellite) in satellites.iter().enumerate() {
                let exact = satellite.propagate(epoch().plus(after)).unwrap();
                worst = worst.max(exact.distance(ephemeris.position(number)) * 1e3);
            }
        }
        worst
    }

    #[test]
    fn interpolated_positions_are_those_of_sgp4() {
        let shell = Shell::circular("low", 550.0, 53.0, 3, 4, Phasing::Factor(1.0));
        let satellites = shell.satellites(epoch()).unwrap();
        let ephemeris = Ephemeris::new(&satellites, epoch());
        assert_eq!(ephemeris.spacing(), Span::from_secs(60));
        let error = error_m(&satellites);
        assert!((0.000_5..0.005).contains(&error), "{error} m");
    }

    #[test]
    fn knots_are_closer_on_an_eccentric_orbit() {
        let shape = crate::elements::Shape {
            inclination_deg: 63.4,
            node_deg: 40.0,
            eccentricity: 0.3,
            perigee_deg: 270.0,
            anomaly_deg: 350.0,
            mean_motion: 9.8,
            drag: 0.0,
        };
        let satellites = [Satellite::new("eccentric".into(), epoch(), shape).unwrap()];
        let ephemeris = Ephemeris::new(&satellites, epoch());
        assert!(ephemeris.spacing() < Span::from_secs(60), "{}", ephemeris.spacing());
        let error = error_m(&satellites);
        assert!(error < 0.05, "{error} m");
    }
}
