//! The congestion controller of an end: one of the laboratory, or one of quinn's own.

use congestion::Specification;
use quinn_controllers::{Carriage, Missing, carriage};

/// Source of the congestion controllers of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "lowercase"), schemars(inline))]
pub enum Congestion {
    /// Controllers of this laboratory.
    #[default]
    Bentpipe,
    /// quinn's own controllers.
    Quinn,
}

impl Congestion {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bentpipe => "bentpipe",
            Self::Quinn => "quinn",
        }
    }
}

/// The congestion controller of an end.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// One of the laboratory.
    Laboratory(Specification),
    /// quinn's own NewReno.
    NewReno,
    /// quinn's own CUBIC, its default.
    Cubic,
}

impl Choice {
    /// The controller that a scenario calls `controller`.
    ///
    /// # Errors
    /// When QUIC cannot have it.
    pub fn of(congestion: Congestion, controller: &Specification) -> Result<Self, Unsuitable> {
        match congestion {
            Congestion::Bentpipe => match carriage(controller) {
                Carriage::Impossible(missing) => Err(Unsuitable::Missing(missing)),
                Carriage::Whole | Carriage::Approximated(_) => {
                    Ok(Self::Laboratory(controller.clone()))
                }
            },
            Congestion::Quinn => {
                let name = controller.entry().name;
                let choice = match name {
                    "newreno" => Self::NewReno,
                    "cubic" => Self::Cubic,
                    "bbr" => return Err(Unsuitable::Unseeded),
                    _ => return Err(Unsuitable::NotQuinns),
                };
                let has_parameters =
                    Specification::named(name).is_ok_and(|plain| plain != *controller);
                if has_parameters { Err(Unsuitable::Fixed) } else { Ok(choice) }
            }
        }
    }
}

/// The reason why a flow with QUIC cannot have a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsuitable {
    /// No controller of the laboratory has that name.
    Unknown,
    /// quinn lacks what a controller of the laboratory needs.
    Missing(Missing),
    /// quinn has no controller of that name.
    NotQuinns,
    /// quinn has it, and no seed controls its random numbers.
    Unseeded,
    /// quinn has it, and its parameters are fixed.
    Fixed,
}

impl Unsuitable {
    /// Possible values.
    pub fn possible(self) -> &'static str {
        match self {
            Self::Unknown | Self::Missing(_) => "a controller that runs over QUIC",
            Self::NotQuinns | Self::Unseeded => {
                "\"newreno\" or \"cubic\" with transport.quic.congestion = \"quinn\""
            }
            Self::Fixed => "no parameters with transport.quic.congestion = \"quinn\"",
        }
    }

    /// Why.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unknown => "`bentpipe controllers` lists all names",
            Self::Missing(missing) => missing.reason(),
            Self::NotQuinns => "quinn has NewReno, CUBIC and BBR",
            Self::Unseeded => {
                "quinn's BBR draws random numbers that no seed controls; \"bentpipe\" has a BBR with a seed"
            }
            Self::Fixed => "the parameters of quinn's controllers are fixed",
        }
    }
}

impl From<quinn_controllers::Unsuitable> for Unsuitable {
    fn from(unsuitable: quinn_controllers::Unsuitable) -> Self {
        match unsuitable {
            quinn_controllers::Unsuitable::Unknown(_) => Self::Unknown,
            quinn_controllers::Unsuitable::Missing { missing, .. } => Self::Missing(missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use congestion::{Value, entries};

    use super::*;

    #[test]
    fn quinn_has_two_controllers_and_refuses_all_others() {
        let of = |name| Choice::of(Congestion::Quinn, &Specification::named(name).unwrap());
        assert_eq!(of("newreno"), Ok(Choice::NewReno));
        assert_eq!(of("cubic"), Ok(Choice::Cubic));
        assert_eq!(of("bbr"), Err(Unsuitable::Unseeded));
        let accepted = entries().filter(|entry| of(entry.name).is_ok()).count();
        assert_eq!(accepted, 2);
    }

    #[test]
    fn a_parameter_that_quinn_does_not_have_is_refused() {
        let mut cubic = Specification::named("cubic").unwrap();
        cubic.set("abe", Value::Word("on".into())).unwrap();
        assert_eq!(Choice::of(Congestion::Quinn, &cubic), Err(Unsuitable::Fixed));
        let own = Choice::of(Congestion::Bentpipe, &cubic);
        assert_eq!(own, Ok(Choice::Laboratory(cubic)));
    }

    #[test]
    fn a_controller_that_needs_more_than_quinn_reports_is_refused() {
        let xcp = Specification::named("xcp").unwrap();
        let refused = Choice::of(Congestion::Bentpipe, &xcp);
        assert_eq!(refused, Err(Unsuitable::Missing(Missing::RouterFeedback)));
    }
}
