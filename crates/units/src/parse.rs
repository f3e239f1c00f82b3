//! Reading and showing a number with a unit.

use std::fmt;

/// Unit names with their factor to the base unit.
pub(crate) type Units = &'static [(&'static str, f64)];

/// A text that is not a quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}: {reason}")]
pub struct UnitError {
    /// The expected quantity, with an example.
    pub expected: &'static str,
    /// The text found.
    pub found: String,
    /// The reason why it is invalid.
    pub reason: String,
}

/// Largest relative error of rounding to whole base units.
const MAX_ROUNDING: f64 = 1e-3;

/// The value of `text` in base units, rounded to the nearest whole one. If rounding changes it by
/// more than a thousandth, it is an error.
pub(crate) fn quantity(text: &str, expected: &'static str, units: Units) -> Result<u64, UnitError> {
    let error = |reason: String| UnitError { expected, found: text.to_owned(), reason };
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || is_sign_or_exponent(text, i, c)))
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    let names = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let value: f64 = number.parse().map_err(|_| error("it does not start with a number".into()))?;
    if unit.is_empty() {
        return Err(error(format!("the unit is missing; one of {}", names())));
    }
    let factor = units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
        .ok_or_else(|| error(format!("unknown unit {unit:?}; one of {}", names())))?;
    if value < 0.0 {
        return Err(error("it is negative".into()));
    }
    let base = value * factor;
    if base.is_nan() || base >= u64::MAX as f64 {
        return Err(error("it is too large".into()));
    }
    let whole = base.round();
    if (base - whole).abs() > MAX_ROUNDING * base {
        let smallest =
            units.iter().find(|(_, factor)| *factor == 1.0).map_or("", |(name, _)| *name);
        return Err(error(format!("it is no whole number of {smallest}")));
    }
    Ok(whole as u64)
}

/// A sign at the start, or an exponent such as `1e-3` (but not the `e` of a unit).
fn is_sign_or_exponent(text: &str, i: usize, c: char) -> bool {
    let bytes = text.as_bytes();
    match c {
        '-' | '+' => i == 0 || matches!(bytes[i - 1], b'e' | b'E'),
        'e' | 'E' => {
            bytes.get(i + 1).is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+'))
        }
        _ => false,
    }
}

/// Shows `value` in the largest unit that is not above it.
pub(crate) fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (name, factor) = *units
        .iter()
        .find(|(_, factor)| value >= *factor)
        .unwrap_or_else(|| if value == 0 { &units[0] } else { &units[units.len() - 1] });
    write!(f, "{}{name}", value as f64 / factor as f64)
}

/// Serialises a quantity as its string and reads it back from one.
macro_rules! string_serde {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use string_serde;
