//! A controller by name, with parameter values.

use crate::any::AnyController;
use crate::entry::Entry;
use crate::parameters::{ParameterError, Value, Values};
use crate::registry::{self, Registered};
use crate::window::Settings;

/// No controller has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no controller {name:?}")]
pub struct UnknownController {
    /// The unknown name.
    pub name: String,
}

/// A controller chosen and parameterised, ready to be built for each connection.
#[derive(Clone, Debug)]
pub struct Specification {
    registered: &'static Registered,
    values: Values,
}

impl Specification {
    /// The controller `name` with its default parameters.
    ///
    /// # Errors
    /// When there is no controller of that name.
    pub fn named(name: &str) -> Result<Self, UnknownController> {
        let registered = registry::registered(name)
            .ok_or_else(|| UnknownController { name: name.to_owned() })?;
        Ok(Self { registered, values: Values::defaults(registered.entry.parameters) })
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// When the controller has no such parameter or the value is not allowed.
    pub fn set(&mut self, parameter: &str, value: Value) -> Result<(), ParameterError> {
        self.values.set(self.entry().name, parameter, value)
    }

    /// The description of the controller.
    pub fn entry(&self) -> &'static Entry {
        self.registered.entry
    }

    /// The parameter values.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// A controller for one connection.
    pub fn build(&self, settings: &Settings) -> AnyController {
        (self.registered.build)(settings, &self.values)
    }
}

impl PartialEq for Specification {
    fn eq(&self, other: &Self) -> bool {
        self.entry().name == other.entry().name && self.values == other.values
    }
}
