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
}
