//! Parameters of controllers: names, defaults, allowed values, and set values.

/// Allowed values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed {
    /// A number from the first to the second value, both included.
    Range(f64, f64),
    /// A whole number from the first to the second value, both included.
    Whole(u32, u32),
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number in the parameter's unit.
    Number(f64),
    /// A word.
    Word(String),
}

/// One parameter of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Default, in the notation of scenarios.
    pub default: &'static str,
    /// Allowed values.
    pub allowed: Allowed,
    /// Meaning, with unit and source.
    pub meaning: &'static str,
}

/// Error of setting a parameter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// The controller has no such parameter.
    #[error("controller {controller:?} has no parameter {name:?}")]
    Unknown {
        /// The controller.
        controller: &'static str,
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// The parameter has no effect in this variant of the controller.
    #[error("{controller:?} takes no parameter {name:?} with variant = {variant:?}")]
    OtherVariant {
        /// The controller.
        controller: &'static str,
        /// The parameter of another variant.
        name: &'static str,
        /// The variant that was chosen.
        variant: &'static str,
    },
    /// The value is of the wrong kind or out of range.
    #[error("parameter {name:?} must be {expected}")]
    NotAllowed {
        /// The parameter.
        name: &'static str,
        /// Allowed values.
        expected: String,
    },
    /// One parameter is above another that may not be below it.
    #[error("parameter {lower:?} ({low}) must not be above {upper:?} ({high})")]
    Order {
        /// The parameter that is too large.
        lower: &'static str,
        /// Its value.
        low: f64,
        /// The one that bounds it.
        upper: &'static str,
        /// Its value.
        high: f64,
    },
}

/// All parameters of a controller with their values, in the order of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    table: &'static [Parameter],
    values: Vec<Value>,
}

impl Values {
    /// The defaults of `table`.
    pub fn defaults(table: &'static [Parameter]) -> Self {
        let values = table.iter().map(|parameter| parameter.default_value()).collect();
        Self { table, values }
    }

    /// Sets one parameter of `controller`.
    ///
    /// # Errors
    /// When there is no such parameter or the value is not allowed.
    pub fn set(
        &mut self,
        controller: &'static str,
        name: &str,
        value: Value,
    ) -> Result<(), ParameterError> {
        let Some(i) = self.table.iter().position(|parameter| parameter.name == name) else {
            let known = self.table.iter().map(|parameter| parameter.name).collect();
            return Err(ParameterError::Unknown { controller, name: name.to_owned(), known });
        };
        if !self.table[i].admits(&value) {
            let expected = self.table[i].allowed.to_string();
            return Err(ParameterError::NotAllowed { name: self.table[i].name, expected });
        }
        self.values[i] = value;
        Ok(())
    }

    /// Name and value of each parameter.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, &Value)> {
        self.table.iter().zip(&self.values)
    }

    /// Returns true if there is a parameter called `name`. One type can implement several
    /// controllers.
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|(parameter, _)| parameter.name == name)
    }

    /// The number set for `name`.
    ///
    /// # Panics
    /// When the controller's own table has no number of that name, which its tests find.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Number(number) => *number,
            Value::Word(_) => panic!("{name} is a word"),
        }
    }

    /// The whole number set for `name`.
    ///
    /// # Panics
    /// When the controller's own table has no whole number of that name, which its tests find.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "only whole numbers of 32 bits are set where the table has `Allowed::Whole`"
    )]
    pub fn whole(&self, name: &str) -> u32 {
        let parameter = self.table.iter().find(|parameter| parameter.name == name);
        let is_whole = parameter.is_some_and(|each| matches!(each.allowed, Allowed::Whole(..)));
        assert!(is_whole, "{name} is no whole number");
        self.number(name) as u32
    }

    /// The word set for `name`.
    ///
    /// # Panics
    /// When the controller's own table has no word of that name, which its tests find.
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Word(word) => word,
            Value::Number(_) => panic!("{name} is a number"),
        }
    }

    fn get(&self, name: &str) -> &Value {
        let found = self.iter().find(|(parameter, _)| parameter.name == name);
        found.map_or_else(|| panic!("no parameter {name}"), |(_, value)| value)
    }
}

impl Parameter {
    fn default_value(&self) -> Value {
        match (self.allowed, self.default.parse()) {
            (Allowed::Range(..) | Allowed::Whole(..), Ok(number)) => Value::Number(number),
            _ => Value::Word(self.default.to_owned()),
        }
    }

    fn admits(&self, value: &Value) -> bool {
        match (self.allowed, value) {
            (Allowed::Range(low, high), Value::Number(number)) => (low..=high).contains(number),
            (Allowed::Whole(low, high), Value::Number(number)) => {
                libm::trunc(*number) == *number
                    && (f64::from(low)..=f64::from(high)).contains(number)
            }
            (Allowed::OneOf(words), Value::Word(word)) => words.contains(&word.as_str()),
            _ => false,
        }
    }
}

impl std::fmt::Display for Allowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Range(low, high) => write!(f, "a number from {low} to {high}"),
            Self::Whole(low, high) => write!(f, "a whole number from {low} to {high}"),
            Self::OneOf(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Parameter] = &[Parameter {
        name: "segments",
        default: "3",
        allowed: Allowed::Whole(1, 1000),
        meaning: "",
    }];

    #[test]
    fn a_whole_number_is_not_narrowed() {
        let mut values = Values::defaults(TABLE);
        assert_eq!(values.whole("segments"), 3);
        for refused in [2.5, 0.0, 1001.0, -1.0, 4_294_967_298.0, f64::NAN, f64::INFINITY] {
            let error = values.set("a", "segments", Value::Number(refused)).unwrap_err();
            assert_eq!(
                error.to_string(),
                r#"parameter "segments" must be a whole number from 1 to 1000"#
            );
        }
        assert_eq!(values.set("a", "segments", Value::Number(1000.0)), Ok(()));
        assert_eq!(values.whole("segments"), 1000);
    }
}
