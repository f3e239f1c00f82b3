//! Amounts of data.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::{self, UnitError};

/// An amount of data in bytes. `kB` is 1000 bytes and `KiB` is 1024: papers mix them up, so the
/// two are never confused here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

pub(crate) const UNITS: parse::Units = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::quantity(text, "a size such as \"64KiB\"", UNITS).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let decimal = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
        match binary.iter().chain(&decimal).find(|(_, f)| self.0 >= *f && self.0.is_multiple_of(*f))
        {
            Some((name, factor)) => write!(f, "{}{name}", self.0 / factor),
            None => write!(f, "{}B", self.0),
        }
    }
}

parse::string_serde!(Bytes);

/// An upper limit of a size, or none: `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SizeLimit(u64);

impl SizeLimit {
    /// No limit.
    pub const UNLIMITED: Self = Self(u64::MAX);

    /// At most `size`.
    pub const fn of(size: Bytes) -> Self {
        Self(size.0)
    }

    /// The number of bytes; the largest number where there is no limit.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The limit, if there is one.
    pub fn size(self) -> Option<Bytes> {
        (self != Self::UNLIMITED).then_some(Bytes(self.0))
    }
}

const UNLIMITED: &str = "unlimited";

impl FromStr for SizeLimit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text == UNLIMITED { Ok(Self::UNLIMITED) } else { text.parse().map(Self::of) }
    }
}

impl fmt::Display for SizeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size() {
            Some(size) => size.fmt(f),
            None => f.write_str(UNLIMITED),
        }
    }
}

parse::string_serde!(SizeLimit);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_prefixes_differ() {
        assert_eq!("64KiB".parse::<Bytes>().unwrap(), Bytes(65_536));
        assert_eq!("64kB".parse::<Bytes>().unwrap(), Bytes(64_000));
        assert_eq!("50MB".parse::<Bytes>().unwrap(), Bytes(50_000_000));
    }

    #[test]
    fn a_size_is_shown_exactly() {
        for text in ["64KiB", "50MB", "65535B", "8MiB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_limit_is_a_size_or_none() {
        assert_eq!("unlimited".parse::<SizeLimit>().unwrap(), SizeLimit::UNLIMITED);
        let limit: SizeLimit = "64KiB".parse().unwrap();
        assert_eq!((limit.get(), limit.size()), (65_536, Some(Bytes(65_536))));
        assert_eq!([limit, SizeLimit::UNLIMITED].map(|l| l.to_string()), ["64KiB", "unlimited"]);
        assert!("none".parse::<SizeLimit>().is_err());
    }
}
