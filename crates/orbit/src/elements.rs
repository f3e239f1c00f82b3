//! Satellites from their elements: two-line elements as text, or the elements of a circular orbit.
//!
//! SGP4 has the constants of WGS72, with which two-line elements are fitted, and the improved mode
//! (Vallado, Crawford, Hujsak and Kelso, "Revisiting Spacetrack Report #3", AIAA 2006-6753). The
//! crate `sgp4` propagates.

use std::f64::consts::TAU;

use sgp4::{Constants, Elements, MinutesSinceEpoch, Orbit, WGS72, iau_epoch_to_sidereal_time};
use thiserror::Error;

use crate::ephemeris::PropagationError;
use crate::{EARTH_MU, EARTH_RADIUS_KM, Utc, Vector};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// Length of each of the two lines, in characters.
const WIDTH: usize = 69;

/// An error of a text with two-line elements.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: expected {expected}, found {found}")]
pub struct ElementsError {
    /// Line of the text, from 1.
    pub line: usize,
    /// The expected content.
    pub expected: String,
    /// The content found.
    pub found: String,
}

/// Angles in degrees and shape of an orbit at its epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Angle between the orbit and the equator.
    pub inclination_deg: f64,
    /// Right ascension of the ascending node.
    pub node_deg: f64,
    /// Eccentricity, from 0 to below 1.
    pub eccentricity: f64,
    /// Argument of the perigee.
    pub perigee_deg: f64,
    /// Mean anomaly.
    pub anomaly_deg: f64,
    /// Revolutions per day, as in two-line elements (Kozai's mean motion).
    pub mean_motion: f64,
    /// Drag term B*, per radius of the Earth.
    pub drag: f64,
}

/// A satellite that can be propagated.
#[derive(Clone, Debug, PartialEq)]
pub struct Satellite {
    /// Its name: that of its elements, or of its place in a Walker constellation.
    pub name: String,
    /// The time of its elements.
    pub epoch: Utc,
    /// Line of its elements in their text; `None` without a text.
    pub line: Option<usize>,
    shape: Shape,
    constants: Constants,
}

/// The radius of a circular orbit in km, from its revolutions per day.
pub fn radius_km(mean_motion: f64) -> f64 {
    let rate = mean_motion * TAU / DAY_S;
    libm::cbrt(EARTH_MU / (rate * rate))
}

/// The revolutions per day of a circular orbit, from its radius in km.
pub fn mean_motion(radius_km: f64) -> f64 {
    (EARTH_MU / radius_km.powi(3)).sqrt() * DAY_S / TAU
}

impl Satellite {
    /// The satellite with these elements at `epoch`. The error is the reason why SGP4 cannot use
    /// them.
    ///
    /// # Errors
    /// If the orbit is no ellipse around the Earth.
    pub fn new(name: String, epoch: Utc, shape: Shape) -> Result<Self, String> {
        let orbit = Orbit::from_kozai_elements(
            &WGS72,
            shape.inclination_deg.to_radians(),
            shape.node_deg.to_radians(),
            shape.eccentricity,
            shape.perigee_deg.to_radians(),
            shape.anomaly_deg.to_radians(),
            shape.mean_motion * TAU / (DAY_S / 60.0),
        )
        .map_err(|error| error.to_string())?;
        let years = epoch.julian_years();
        let made = Constants::new(WGS72, iau_epoch_to_sidereal_time, years, shape.drag, orbit);
        let constants = made.map_err(|error| error.to_string())?;
        Ok(Self { name, epoch, line: None, shape, constants })
    }

    /// Its elements.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Position at an instant.
    ///
    /// # Errors
    /// If SGP4 has no orbit then, or one within the Earth: the satellite has decayed.
    pub fn propagate(&self, at: Utc) -> Result<Vector, PropagationError> {
        let minutes = at.minutes_since(self.epoch);
        let failed = |reason| PropagationError {
            satellite: self.name.clone(),
            line: self.line,
            days: minutes / 1440.0,
            reason,
        };
        let found = self.constants.propagate(MinutesSinceEpoch(minutes));
        let found = found.map_err(|error| failed(error.to_string()))?;
        let position = Vector::from(found.position);
        let radius = position.norm();
        if radius.is_nan() || radius < EARTH_RADIUS_KM {
            return Err(failed(format!("{radius:.0} km from the centre of the Earth")));
        }
        Ok(position)
    }

    /// Least and largest distance from the centre of the Earth in km, by the elements alone.
    pub fn radii_km(&self) -> (f64, f64) {
        let axis = radius_km(self.shape.mean_motion);
        (axis * (1.0 - self.shape.eccentricity), axis * (1.0 + self.shape.eccentricity))
    }

    /// The largest angular speed around the centre of the Earth, at the perigee, in rad/s.
    pub fn fastest(&self) -> f64 {
        let (perigee, _) = self.radii_km();
        (EARTH_MU * (1.0 + self.shape.eccentricity) / perigee.powi(3)).sqrt()
    }
}

/// Reads a text with elements: two lines for each satellite, with or without a line with its name
/// before them. Empty lines and lines that begin with `#` are ignored.
///
/// # Errors
/// The first line that is wrong.
pub fn parse(text: &str) -> Result<Vec<Satellite>, ElementsError> {
    let mut satellites = Vec::new();
    let mut name: Option<(usize, &str)> = None;
    let lines = (1..).zip(text.lines().map(str::trim_end));
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    while let Some((number, line)) = lines.next() {
        if line.starts_with("2 ") && line.len() >= WIDTH {
            return Err(error(number, "line 1 of the elements before line 2", line));
        }
        if !(line.starts_with("1 ") && line.len() >= WIDTH - 1) {
            if name.is_some() {
                return Err(error(number, "line 1 of the elements after a name", line));
            }
            let plain = line.strip_prefix("0 ").unwrap_or(line).trim();
            name = Some((number, plain));
            continue;
        }
        check(number, line)?;
        let Some((second, other)) = lines.next() else {
            let expected = "line 2 of the elements after line 1";
            return Err(error(number + 1, expected, "the end of the file"));
        };
        if !other.starts_with("2 ") {
            return Err(error(second, "line 2 of the elements after line 1", other));
        }
        check(second, other)?;
        satellites.push(pair((number, line), (second, other), name.take())?);
    }
    if let Some((number, name)) = name {
        return Err(error(number, "line 1 of the elements, or a name before it", name));
    }
    if satellites.is_empty() {
        return Err(error(1, "two-line elements", "none"));
    }
    Ok(satellites)
}

type Line<'a> = (usize, &'a str);

/// The satellite of two lines that have the right sums.
fn pair(
    (first, line1): Line<'_>,
    (second, line2): Line<'_>,
    name: Option<Line<'_>>,
) -> Result<Satellite, ElementsError> {
    let found = Elements::from_tle(None, line1.as_bytes(), line2.as_bytes());
    let elements = found.map_err(|cause| {
        // The error keeps its line and its characters to itself, except in its text.
        let text = cause.to_string();
        let (number, line) = if text.contains("line 2") { (second, line2) } else { (first, line1) };
        let reason = text.trim_start_matches("TLE parse error: ");
        error(number, &format!("two-line elements ({reason})"), line)
    })?;
    let epoch = Utc::from_datetime(&elements.datetime)
        .ok_or_else(|| error(first, "an epoch from 1957 to 2056", &line1[18..32]))?;
    let name = match name {
        Some((_, name)) => name.to_owned(),
        None => elements.norad_id.to_string(),
    };
    let shape = Shape {
        inclination_deg: elements.inclination,
        node_deg: elements.right_ascension,
        eccentricity: elements.eccentricity,
        perigee_deg: elements.argument_of_perigee,
        anomaly_deg: elements.mean_anomaly,
        mean_motion: elements.mean_motion,
        drag: elements.drag_term,
    };
    let satellite = Satellite::new(name, epoch, shape)
        .map_err(|reason| error(second, &format!("an orbit around the Earth ({reason})"), line2))?;
    Ok(Satellite { line: Some(first), ..satellite })
}

/// Checks length and checksum of a line: the sum of its digits, with 1 for each minus.
fn check(number: usize, line: &str) -> Result<(), ElementsError> {
    if !line.is_ascii() || line.len() != WIDTH {
        let found = format!("{} characters", line.chars().count());
        return Err(error(number, &format!("{WIDTH} characters of ASCII"), &found));
    }
    let (content, last) = line.split_at(WIDTH - 1);
    let digit = |c: char| c.to_digit(10).unwrap_or(u32::from(c == '-'));
    let sum = content.chars().map(digit).sum::<u32>() % 10;
    if last != sum.to_string() {
        let expected = format!("the checksum {sum} in column {WIDTH}");
        return Err(ElementsError { line: number, expected, found: last.to_owned() });
    }
    Ok(())
}

/// Longest part of a line that an error shows.
const SHOWN: usize = 40;

fn error(line: usize, expected: &str, found: &str) -> ElementsError {
    let cut: String = found.chars().take(SHOWN).collect();
    let dots = if found.chars().count() > SHOWN { "..." } else { "" };
    ElementsError { line, expected: expected.to_owned(), found: format!("{cut:?}{dots}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first test case of Spacetrack Report #3, as Vallado's `SGP4-VER.TLE` has it.
    const VANGUARD: &str = "\
VANGUARD 1
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667
";

    #[test]
    fn the_position_is_that_of_the_verification_of_sgp4() {
        let [satellite] = &parse(VANGUARD).unwrap()[..] else { panic!("one satellite") };
        assert_eq!((satellite.name.as_str(), satellite.line), ("VANGUARD 1", Some(2)));
        // `tcppver.out` of AIAA 2006-6753, 0 and 360 minutes after the epoch.
        let rows = [
            (0, Vector::new(7_022.465_292_66, -1_400.082_967_55, 0.039_951_55)),
            (360, Vector::new(-7_154.031_202_02, -3_783.176_825_04, -3_536.194_122_94)),
        ];
        for (minutes, expected) in rows {
            let at = satellite.epoch.plus(units::Span::from_secs(minutes * 60));
            let found = satellite.propagate(at).unwrap();
            assert!(found.distance(expected) < 1e-5, "{minutes}: {found:?}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        let wrong = VANGUARD.replace("4753", "4754");
        let expected = "line 2: expected the checksum 3 in column 69, found 4";
        assert_eq!(message(&wrong), expected);
        let lines: Vec<_> = VANGUARD.lines().collect();
        assert!(message(lines[1]).starts_with("line 2: expected line 2 of the elements"));
        assert!(message(lines[2]).starts_with("line 1: expected line 1 of the elements before"));
        assert!(message("A\nB\n").starts_with("line 2: expected line 1 of the elements after"));
        assert!(message("A\n").starts_with("line 1: expected line 1 of the elements, or"));
        assert!(message("").contains("expected two-line elements, found \"none\""));
        let short = format!("{}\n{}\n", &lines[1][..68], lines[2]);
        assert!(message(&short).contains("line 1: expected 69 characters of ASCII"));
        // A letter in the inclination does not change the sum if the digits that it replaces are 0.
        let letters = VANGUARD.replace("2 00005  34", "2 0000P  34");
        assert!(message(&letters).starts_with("line 3: expected"), "{}", message(&letters));
    }

    #[test]
    fn names_and_comments_are_optional() {
        let two: String = VANGUARD.lines().skip(1).map(|line| format!("{line}\r\n\n")).collect();
        let text = format!("# two satellites\n{two}0 AGAIN\n{two}");
        let names: Vec<_> = parse(&text).unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["5", "AGAIN"]);
    }

    #[test]
    fn a_satellite_that_has_decayed_is_an_error() {
        let low = Shape {
            inclination_deg: 50.0,
            node_deg: 0.0,
            eccentricity: 0.001,
            perigee_deg: 0.0,
            anomaly_deg: 0.0,
            mean_motion: 16.4,
            drag: 0.01,
        };
        let epoch = Utc::parse("2026-01-01T00:00:00Z").unwrap();
        let satellite = Satellite::new("low".into(), epoch, low).unwrap();
        assert!(satellite.propagate(epoch).is_ok());
        let error = satellite.propagate(epoch.plus(units::Span::from_secs(864_000))).unwrap_err();
        assert!(error.to_string().contains("low"), "{error}");
        assert!((error.days - 10.0).abs() < 1e-9);
    }

    proptest::proptest! {
        #[test]
        fn changed_texts_are_read_or_answered(
            place in 0..VANGUARD.len(),
            new in proptest::prelude::any::<char>(),
            cut in 0..VANGUARD.len(),
        ) {
            let mut text: Vec<char> = VANGUARD.chars().collect();
            text[place] = new;
            let changed: String = text.iter().collect();
            let lines = changed.lines().count();
            if let Err(error) = parse(&changed) {
                proptest::prop_assert!((1..=lines + 1).contains(&error.line), "{error}");
            }
            let _ = parse(&text[..cut].iter().collect::<String>());
            let twice = format!("{changed}{changed}");
            if let Ok(found) = parse(&twice) {
                proptest::prop_assert_eq!(found.len(), 2);
            }
        }
    }

    #[test]
    fn mean_motion_and_radius_are_inverse() {
        assert!((mean_motion(radius_km(14.8)) - 14.8).abs() < 1e-12);
        assert!((radius_km(1.002_737_91) - 42_164.17).abs() < 0.1);
    }
}
