//! Data rates.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{self, UnitError};

/// A data rate in bits per second. Decimal prefixes only, as links are sold: 2 Mbit/s = 2,000,000
/// bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// The largest rate of a scenario. At it the shortest packet, the 40 bytes of an ACK, takes one
    /// nanosecond. Time is counted in nanoseconds, and packets that take none would not wait for
    /// each other.
    pub const LARGEST: Self = Self(320_000_000_000);

    /// A rate of `bits` bits per second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }
}

pub(crate) const UNITS: parse::Units = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
];

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "a data rate such as \"2Mbit/s\"";
        let rate = Self(parse::quantity(text, expected, UNITS)?);
        if rate > Self::LARGEST {
            let reason = format!("the largest is {}", Self::LARGEST);
            return Err(UnitError { expected, found: text.to_owned(), reason });
        }
        Ok(rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units =
            [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1000), ("bit/s", 1)];
        parse::show(f, self.0, &units)
    }
}

parse::string_serde!(Rate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_bytes_are_told_apart() {
        assert_eq!("2Mbit/s".parse::<Rate>().unwrap().bits_per_second(), 2_000_000);
        assert_eq!("2MB/s".parse::<Rate>().unwrap().bits_per_second(), 16_000_000);
        assert_eq!("256 kbit/s".parse::<Rate>().unwrap().to_string(), "256kbit/s");
    }

    #[test]
    fn an_ambiguous_unit_is_refused() {
        for text in ["20mbps", "20Mbps", "20", "-3Mbit/s", "fast", "1e400Mbit/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_that_rounding_changes_by_more_than_a_thousandth_is_refused() {
        for text in ["1.5bit/s", "0.6bit/s", "0.0004kbit/s", "0.1bit/s"] {
            let error = text.parse::<Rate>().unwrap_err();
            assert_eq!(error.reason, "it is no whole number of bit/s", "{text}");
        }
        assert_eq!("1.5555555Mbit/s".parse::<Rate>().unwrap().bits_per_second(), 1_555_556);
        assert_eq!("0.1kbit/s".parse::<Rate>().unwrap().bits_per_second(), 100);
        assert_eq!("0bit/s".parse::<Rate>().unwrap().bits_per_second(), 0);
    }
}
