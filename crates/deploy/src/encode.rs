//! Encoding of parameters for the programs: 64-bit fixed-point numbers.

use congestion::{Allowed, Parameter, Specification, Value};

use crate::catalogue::Controller;
use crate::error::{Error, nearest};

/// In what unit the map of a controller has a parameter; see the `struct parameters` of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 16 bits behind the point.
    Number,
    /// 32 bits behind the point.
    Share,
    /// Given in seconds, kept in microseconds.
    Seconds,
    /// Given in milliseconds, kept in microseconds.
    Milliseconds,
    /// Given in Mbit/s, kept in bits per second.
    Megabits,
    /// Logarithm to the base 2, signed, 24 bits behind the point.
    Logarithm,
    /// Position in the list of words.
    Word,
}

impl Unit {
    /// How many of what the map has make one of what is given.
    fn scale(self) -> f64 {
        match self {
            Self::Number => 65_536.0,
            Self::Share => 4_294_967_296.0,
            Self::Seconds | Self::Megabits => 1e6,
            Self::Milliseconds => 1e3,
            Self::Logarithm => 16_777_216.0,
            Self::Word => 1.0,
        }
    }

    fn encode(self, parameter: &Parameter, value: &Value) -> u64 {
        match (value, parameter.allowed) {
            (Value::Word(word), Allowed::OneOf(words)) => {
                words.iter().position(|known| known == word).unwrap_or(0) as u64
            }
            (Value::Number(number), _) if self == Self::Logarithm => {
                libm::round(libm::log2(*number) * self.scale()) as i64 as u64
            }
            (Value::Number(number), _) => libm::round(number * self.scale()) as u64,
            (Value::Word(_), Allowed::Range(..) | Allowed::Whole(..)) => 0,
        }
    }

    /// The value as it would be set, to the digits that the map keeps.
    fn decode(self, parameter: &Parameter, raw: u64) -> String {
        match parameter.allowed {
            Allowed::OneOf(words) => words.get(raw as usize).unwrap_or(&"?").to_string(),
            Allowed::Range(..) | Allowed::Whole(..) if self == Self::Logarithm => {
                rounded(libm::exp2(raw as i64 as f64 / self.scale()))
            }
            Allowed::Range(..) | Allowed::Whole(..) => rounded(raw as f64 / self.scale()),
        }
    }
}

/// Six significant digits.
fn rounded(number: f64) -> String {
    let short: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    format!("{short}")
}

/// A parameter of a loaded controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its value, as it would be set.
    pub value: String,
    /// True if that is the default.
    pub default: bool,
}

/// All parameters in the order of the map, with `sets` such as `beta=2` in the place of defaults.
///
/// # Errors
/// When a parameter is unknown, cannot be set in the kernel, or has a value that is not allowed.
pub fn encoded(controller: &Controller, sets: &[String]) -> Result<Vec<u64>, Error> {
    Ok(map_of(controller, &specified(controller, sets)?))
}

/// The map of a controller that does as the specification of its definition says.
pub fn map_of(controller: &Controller, specification: &Specification) -> Vec<u64> {
    let values = specification.values();
    controller
        .parameters()
        .map(|(parameter, unit)| {
            let value = values.iter().find(|(known, _)| known.name == parameter.name);
            value.map_or(0, |(_, value)| unit.encode(parameter, value))
        })
        .collect()
}

/// The names in `sets` with their positions in the map and their values.
pub(crate) fn changes(
    controller: &Controller,
    sets: &[String],
) -> Result<Vec<(usize, u64)>, Error> {
    let all = encoded(controller, sets)?;
    let named = |name: &str| sets.iter().any(|set| set.split('=').next() == Some(name));
    let positions = controller.parameters().enumerate();
    Ok(positions.filter(|(_, (p, _))| named(p.name)).map(|(i, _)| (i, all[i])).collect())
}

/// Settings in a map.
pub fn decoded(controller: &Controller, raw: &[u64]) -> Vec<Setting> {
    let defaults = encoded(controller, &[]).unwrap_or_default();
    let parameters = controller.parameters().zip(raw).zip(defaults);
    parameters
        .map(|(((parameter, unit), raw), default)| Setting {
            name: parameter.name,
            value: unit.decode(parameter, *raw),
            default: *raw == default,
        })
        .collect()
}

fn specified(controller: &Controller, sets: &[String]) -> Result<Specification, Error> {
    let input = |text: String| Error::Input(text);
    let mut specification =
        Specification::named(controller.name).map_err(|error| input(error.to_string()))?;
    for (number, set) in sets.iter().enumerate() {
        let (name, text) = set
            .split_once('=')
            .ok_or_else(|| input(format!("expected NAME=VALUE such as beta=2, found {set:?}")))?;
        if let Some(first) = sets[..number].iter().find(|one| one.split('=').next() == Some(name)) {
            return Err(input(format!(
                "expected one value of {name:?}, found {first:?} and {set:?}"
            )));
        }
        if let Some((_, reason)) = controller.beyond.iter().find(|(known, _)| *known == name) {
            return Err(input(format!("{name:?} cannot be set in the kernel: {reason}")));
        }
        let Some((parameter, _)) = controller.parameters().find(|(known, _)| known.name == name)
        else {
            let known = controller.parameters().map(|(parameter, _)| parameter.name);
            let hint = nearest(name, known);
            return Err(input(format!("{} has no parameter {name:?}; {hint}", controller.name)));
        };
        let value = match (parameter.allowed, text.parse()) {
            (Allowed::Range(..) | Allowed::Whole(..), Ok(number)) => Value::Number(number),
            _ => Value::Word(text.to_owned()),
        };
        specification
            .set(name, value)
            .map_err(|error| input(format!("{error}, found {text:?}")))?;
    }
    specification.check().map_err(|error| input(error.to_string()))?;
    Ok(specification)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::find;

    fn refused(name: &str, set: &str) -> String {
        encoded(find(name).unwrap(), &[set.to_owned()]).unwrap_err().to_string()
    }

    #[test]
    fn a_parameter_has_one_value() {
        let sets: Vec<_> = ["rtt0=0.1", "rtt0=0.2"].map(str::to_owned).into();
        let error = encoded(find("hybla").unwrap(), &sets).unwrap_err().to_string();
        assert!(error.contains("found \"rtt0=0.1\" and \"rtt0=0.2\""), "{error}");
    }

    #[test]
    fn each_unit_has_its_point_where_the_programs_expect_it() {
        let sets: Vec<_> = ["rate=4.5", "rtt=600"].map(str::to_owned).into();
        assert_eq!(encoded(find("ck-stp").unwrap(), &sets).unwrap(), [4_500_000, 600_000]);
        let highspeed = encoded(find("highspeed").unwrap(), &["low_p=0.25".into()]).unwrap();
        assert_eq!(highspeed[0], 38 << 16);
        assert_eq!(highspeed[1] as i64, -2 << 24);
        let aliad = encoded(find("aliad").unwrap(), &["probe=doubling".into()]).unwrap();
        assert_eq!((aliad[1], aliad[2], aliad[6], aliad[10]), (2 << 16, 75_000, 2, 1 << 31));
    }

    #[test]
    fn what_a_map_says_reads_as_it_was_set() {
        let controller = find("highspeed").unwrap();
        let raw = encoded(controller, &["high_p=2e-6".into()]).unwrap();
        let settings = decoded(controller, &raw);
        let values: Vec<_> = settings.iter().map(|s| (s.value.as_str(), s.default)).collect();
        let expected =
            [("38", true), ("0.001", true), ("83000", true), ("0.000002", false), ("0.1", true)];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_change_names_its_position() {
        let controller = find("ck-stp").unwrap();
        assert_eq!(changes(controller, &["rtt=1".into()]).unwrap(), [(1, 1000)]);
    }

    #[test]
    fn what_cannot_be_set_is_answered_with_what_can() {
        assert!(refused("veno", "beta").contains("NAME=VALUE"));
        assert!(refused("veno", "betta=1").contains("did you mean \"beta\"?"));
        assert!(refused("veno", "beta=-1").contains("a number from 0 to 1000000"));
        assert!(refused("veno", "beta=many").contains("\"many\""));
        assert!(refused("bic", "fast_convergence=1").contains("one of on, off"));
        assert!(
            refused("bic", "s_min=40").contains("\"s_min\" (40) must not be above \"s_max\" (32)")
        );
        assert!(refused("adalr", "rwnd=off").contains("flow control"));
        assert!(refused("westwood-plus", "memory=nan").contains("a number from"));
    }
}
