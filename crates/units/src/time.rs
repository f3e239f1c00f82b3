//! Instants and spans of simulated time, in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{self, UnitError};

/// An instant: nanoseconds since the start of the run. 2^64 ns are 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything that happens: a timer that is not set.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than every run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// A span of `secs` seconds, rounded to whole nanoseconds; negative values become zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The distance between two spans.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// The span multiplied by a whole number, at most [`Self::MAX`].
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// The span doubled `times` times, as an exponential back-off does.
    pub const fn doubled(self, times: u32) -> Self {
        Self(self.0.saturating_mul(if times < 64 { 1 << times } else { u64::MAX }))
    }

    /// The next multiple of `step` at or above this span; unchanged when `step` is zero.
    pub const fn round_up_to(self, step: Self) -> Self {
        if step.0 == 0 { self } else { Self(self.0.div_ceil(step.0).saturating_mul(step.0)) }
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

pub(crate) const UNITS: parse::Units =
    &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::quantity(text, "a time such as \"250ms\"", UNITS).map(Self)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::show(f, self.0, &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("ns", 1)])
    }
}

parse::string_serde!(Span);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_and_shown_with_its_unit() {
        assert_eq!("250ms".parse::<Span>().unwrap(), Span::from_millis(250));
        assert_eq!("1.5 s".parse::<Span>().unwrap(), Span::from_millis(1500));
        assert_eq!("2min".parse::<Span>().unwrap(), Span::from_secs(120));
        assert_eq!(Span::from_millis(1500).to_string(), "1.5s");
        assert_eq!(Span::from_millis(250).to_string(), "250ms");
        assert_eq!(Span::ZERO.to_string(), "0s");
    }

    #[test]
    fn a_bare_number_is_not_a_time() {
        let error = "250".parse::<Span>().unwrap_err();
        assert!(error.to_string().contains("ms"), "{error}");
    }

    #[test]
    fn rounding_up_keeps_multiples() {
        let tick = Span::from_millis(500);
        assert_eq!(Span::from_millis(501).round_up_to(tick), Span::from_millis(1000));
        assert_eq!(Span::from_millis(1000).round_up_to(tick), Span::from_millis(1000));
        assert_eq!(Span::from_millis(7).round_up_to(Span::ZERO), Span::from_millis(7));
    }

    #[test]
    fn doubling_saturates() {
        assert_eq!(Span::from_secs(1).doubled(3), Span::from_secs(8));
        assert_eq!(Span::from_secs(1).doubled(200), Span::MAX);
    }
}
