//! Instants in UTC, and the rotation of the Earth at them.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDateTime, SecondsFormat, Timelike};
use units::Span;

/// Nanoseconds from 1970 to 2000-01-01T12:00:00.
const J2000: i64 = 946_728_000_000_000_000;
const SECOND: i64 = 1_000_000_000;
/// Years that instants may have: those of two-line elements, and room for the days after them.
const YEARS: std::ops::RangeInclusive<i32> = 1957..=2200;

/// An instant in UTC. Leap seconds are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utc(i64);

impl Utc {
    /// The instant that is some nanoseconds after 1970.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds after 1970.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Reads a date and time with a zone, as RFC 3339 and TOML write it: `2026-11-27T12:00:00Z`.
    /// `None` for everything else, for leap seconds, which Unix time does not have, and for years
    /// that no satellite can have.
    pub fn parse(text: &str) -> Option<Self> {
        let time = DateTime::parse_from_rfc3339(text.trim()).ok()?.to_utc();
        if i64::from(time.nanosecond()) >= SECOND {
            return None;
        }
        YEARS.contains(&time.year()).then(|| time.timestamp_nanos_opt().map(Self)).flatten()
    }

    /// The instant of a date and time without a zone, which is UTC.
    pub(crate) fn from_datetime(time: &NaiveDateTime) -> Option<Self> {
        time.and_utc().timestamp_nanos_opt().map(Self)
    }

    /// The instant some time later.
    pub const fn plus(self, span: Span) -> Self {
        // Spans of scenarios are a few years at most.
        Self(self.0.saturating_add_unsigned(span.as_nanos()))
    }

    /// Minutes since another instant; negative before it.
    pub fn minutes_since(self, other: Self) -> f64 {
        (self.0 - other.0) as f64 / 60e9
    }

    /// Julian years since 2000-01-01T12:00:00.
    pub fn julian_years(self) -> f64 {
        (self.0 - J2000) as f64 / (SECOND as f64 * 86_400.0 * 365.25)
    }

    /// The number of the slot of `period` that the instant is in, if one begins `offset` after each
    /// full minute of 1970.
    pub const fn slot(self, period: i64, offset: i64) -> i64 {
        (self.0 - offset).div_euclid(period)
    }

    /// Greenwich mean sidereal time (IAU 1982) in radians, from 0 to 2π. UTC stands for UT1.
    pub fn sidereal(self) -> f64 {
        let seconds = (self.0 - J2000) as f64 / SECOND as f64;
        let t = seconds / (86_400.0 * 36_525.0);
        let per_century = 876_600.0 * 3600.0 + 8_640_184.812_866;
        let sidereal = 67_310.548_41 + t * (per_century + t * (0.093_104 - 6.2e-6 * t));
        (sidereal.rem_euclid(86_400.0) / 240.0).to_radians()
    }
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::from_timestamp_nanos(self.0);
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_and_written() {
        let noon = Utc::parse("2000-01-01T12:00:00Z").unwrap();
        assert_eq!(noon.as_nanos(), J2000);
        assert_eq!(noon.to_string(), "2000-01-01T12:00:00Z");
        assert_eq!(Utc::parse("2000-01-01 13:00:00+01:00"), Some(noon));
        assert_eq!(noon.plus(Span::from_millis(250)).to_string(), "2000-01-01T12:00:00.250Z");
        let others = ["2000-01-01T12:00:00", "1901-01-01T00:00:00Z", "2026-11-27T12:00:60Z"];
        for wrong in ["2000-01-01", "noon"].into_iter().chain(others) {
            assert_eq!(Utc::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sidereal_time_is_that_of_the_almanac() {
        // Meeus, Astronomical Algorithms, example 12.b: 8h 34m 57.0896s on 1987-04-10 at 19:21 UT.
        let sidereal = Utc::parse("1987-04-10T19:21:00Z").unwrap().sidereal();
        let hours = 8.0 + 34.0 / 60.0 + 57.0896 / 3600.0;
        assert!((sidereal.to_degrees() / 15.0 - hours).abs() < 1e-4 / 3600.0, "{sidereal}");
    }

    #[test]
    fn slots_of_a_quarter_minute_begin_at_second_12() {
        let slot = |text: &str| Utc::parse(text).unwrap().slot(15 * SECOND, 12 * SECOND);
        let first = slot("2026-11-27T10:00:12Z");
        assert_eq!(slot("2026-11-27T10:00:11.999Z"), first - 1);
        assert_eq!(slot("2026-11-27T10:00:26.999Z"), first);
        assert_eq!(slot("2026-11-27T10:00:27Z"), first + 1);
        assert_eq!(slot("2026-11-27T10:01:12Z"), first + 4);
    }
}
