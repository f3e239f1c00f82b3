//! A controller by name, with parameter values.

use crate::any::AnyController;
use crate::controller::Controller as _;
use crate::detector::{Detecting, DetectionLog, Detector};
use crate::entry::Entry;
use crate::hints::{Hinted, PathHints};
use crate::link_share;
use crate::parameters::{ParameterError, Value, Values};
use crate::parts::abe;
use crate::parts::linux::VARIANT;
use crate::registry::{self, Registered};
use crate::unlimited;
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
    hints: Option<Source>,
}

/// Where hints about the path come from.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    Announced(PathHints),
    Detected(Detector, DetectionLog),
}

impl Specification {
    /// The controller `name` with its default parameters.
    ///
    /// # Errors
    /// When there is no controller of that name.
    pub fn named(name: &str) -> Result<Self, UnknownController> {
        let registered = registry::registered(name)
            .ok_or_else(|| UnknownController { name: name.to_owned() })?;
        Ok(Self::of(registered))
    }

    /// No congestion control, `"none"`: for transports that have a rate.
    pub fn unlimited() -> Self {
        Self::of(&unlimited::REGISTERED)
    }

    /// A window from the measured utilisation of a link, `"link-share"`: for places that
    /// [measure](crate::Controller::on_utilisation) it.
    pub fn link_share() -> Self {
        Self::of(&link_share::REGISTERED)
    }

    /// Sets a parameter. A variant has parameters of its own, so choosing another one sets all
    /// others to their defaults: choose it first.
    ///
    /// # Errors
    /// When the controller has no such parameter or the value is not allowed.
    pub fn set(&mut self, parameter: &str, value: Value) -> Result<(), ParameterError> {
        let name = self.entry().name;
        let chosen = self.registered.variant;
        let result = self.values.set(name, parameter, value);
        if parameter == VARIANT.name && result.is_ok() {
            let word = self.values.word(VARIANT.name);
            if word != chosen
                && let Some(registered) = registry::variant(name, word)
            {
                *self = Self::of(registered);
            }
        }
        result.map_err(|error| self.explain(error))
    }

    /// Checks that the values of related parameters fit, once all are set. [`build`](Self::build)
    /// does not.
    ///
    /// # Errors
    /// When a parameter is above one that may not be below it.
    pub fn check(&self) -> Result<(), ParameterError> {
        for &(lower, upper) in self.registered.ordered {
            let (low, high) = (self.values.number(lower), self.values.number(upper));
            if low > high {
                return Err(ParameterError::Order { lower, low, upper, high });
            }
        }
        Ok(())
    }

    /// A parameter that another variant has.
    fn explain(&self, error: ParameterError) -> ParameterError {
        let ParameterError::Unknown { controller, name, .. } = &error else { return error };
        let original = registry::registered(controller).map(|other| other.entry.parameters);
        match original.into_iter().flatten().find(|other| other.name == *name) {
            Some(other) => ParameterError::OtherVariant {
                controller,
                name: other.name,
                variant: self.registered.variant,
            },
            None => error,
        }
    }

    pub(crate) fn of(registered: &'static Registered) -> Self {
        Self { registered, values: Values::defaults(registered.entry.parameters), hints: None }
    }

    /// The same controller in connections that get these hints about their path.
    #[must_use]
    pub fn hinted(&self, hints: PathHints) -> Self {
        Self { hints: Some(Source::Announced(hints)), ..self.clone() }
    }

    /// The same controller in connections that detect changes of their path.
    #[must_use]
    pub fn detecting(&self, detector: Detector) -> Self {
        let log = DetectionLog::default();
        Self { hints: Some(Source::Detected(detector, log)), ..self.clone() }
    }

    /// Detections of its connections, if they look for changes of their path.
    pub fn detections(&self) -> Option<&DetectionLog> {
        match self.hints.as_ref()? {
            Source::Announced(_) => None,
            Source::Detected(_, log) => Some(log),
        }
    }

    /// A parameter that was set and has an effect only if the network marks data (ECN).
    pub fn only_with_marks(&self) -> Option<&'static str> {
        abe::is_on(&self.values).then_some(abe::PARAMETER.name)
    }

    /// The word of the variant: `original` for the algorithm of the source.
    pub fn variant(&self) -> &'static str {
        self.registered.variant
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
        self.hint((self.registered.build)(settings, &self.values))
    }

    /// Gives `controller`, which takes the place of this one, the hints about the path, if it needs
    /// them.
    pub fn hint(&self, controller: AnyController) -> AnyController {
        let source = self.hints.as_ref().filter(|_| controller.needs().path_changes);
        match source {
            Some(Source::Announced(hints)) => Hinted::around(controller, hints.clone()),
            Some(Source::Detected(detector, log)) => {
                Detecting::around(controller, *detector, log.clone())
            }
            None => controller,
        }
    }
}

impl PartialEq for Specification {
    fn eq(&self, other: &Self) -> bool {
        self.entry().name == other.entry().name
            && self.values == other.values
            && self.hints == other.hints
    }
}
