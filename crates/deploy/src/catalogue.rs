//! The controllers of `bpf/`: which there are, what defines each, and how its parameters are kept.

use congestion::Parameter;

use crate::encode::Unit;
use crate::error::{Error, nearest};

/// A controller that the kernel can be given.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Its name here, and that of its file in `bpf/`.
    pub name: &'static str,
    /// The controller of the simulator that defines it, whose parameters it has.
    pub definition: &'static str,
    /// Its parameters in the order of the map, each with the unit that the map has it in.
    pub(crate) units: &'static [(&'static str, Unit)],
    /// Parameters of the definition that a controller cannot have in the kernel, and why.
    pub beyond: &'static [(&'static str, &'static str)],
}

const RECOVERY: &str = "recovery belongs to the kernel and not to a controller";

/// All of them.
pub const CONTROLLERS: &[Controller] = &[
    Controller {
        name: "adalr",
        definition: "adalr",
        units: &[("rtt_tick", Unit::Seconds)],
        beyond: &[
            (
                "rwnd",
                "sending beyond the advertised window would break flow control; raise the \
                 receiver's net.ipv4.tcp_rmem instead",
            ),
            ("extra_rto", "the RTO belongs to the kernel; see rto_min of ip-route(8)"),
            ("retransmissions", RECOVERY),
        ],
    },
    Controller {
        name: "aliad",
        definition: "aliad",
        units: &[
            ("alpha", Unit::Word),
            ("alpha_ref", Unit::Number),
            ("rtt_ref", Unit::Seconds),
            ("alpha_exponent", Unit::Share),
            ("delta", Unit::Share),
            ("probe", Unit::Word),
            ("at_wmax", Unit::Word),
            ("rtt_max", Unit::Word),
            ("beta_min", Unit::Share),
            ("beta_max", Unit::Share),
        ],
        beyond: &[],
    },
    Controller {
        name: "bic",
        definition: "bic",
        units: &[
            ("beta", Unit::Share),
            ("s_max", Unit::Share),
            ("s_min", Unit::Share),
            ("low_window", Unit::Number),
            ("fast_convergence", Unit::Word),
        ],
        beyond: &[],
    },
    Controller {
        name: "ckstp",
        definition: "ck-stp",
        units: &[("rate", Unit::Megabits), ("rtt", Unit::Milliseconds)],
        beyond: &[("duplicates", RECOVERY)],
    },
    Controller {
        name: "highspeed",
        definition: "highspeed",
        units: &[
            ("low_window", Unit::Number),
            ("low_p", Unit::Logarithm),
            ("high_window", Unit::Number),
            ("high_p", Unit::Logarithm),
            ("high_decrease", Unit::Share),
        ],
        beyond: &[],
    },
    Controller {
        name: "htcp",
        definition: "htcp",
        units: &[
            ("delta_l", Unit::Seconds),
            ("quadratic", Unit::Number),
            ("backoff", Unit::Word),
            ("bandwidth_switch", Unit::Share),
            ("rtt_scaling", Unit::Word),
            ("rtt_ref", Unit::Seconds),
            ("rtt_scaling_limit", Unit::Number),
        ],
        beyond: &[],
    },
    Controller {
        name: "hybla",
        definition: "hybla",
        units: &[("rtt0", Unit::Seconds), ("ssthresh", Unit::Word), ("pacing", Unit::Word)],
        beyond: &[],
    },
    Controller {
        name: "logwestwood",
        definition: "logwestwood-plus",
        units: &[("alpha", Unit::Number), ("memory", Unit::Share)],
        beyond: &[],
    },
    Controller {
        name: "scalable",
        definition: "scalable",
        units: &[
            ("increase", Unit::Share),
            ("decrease", Unit::Share),
            ("legacy_window", Unit::Number),
        ],
        beyond: &[],
    },
    Controller { name: "veno", definition: "veno", units: &[("beta", Unit::Number)], beyond: &[] },
    Controller {
        name: "westwood",
        definition: "westwood-plus",
        units: &[("memory", Unit::Share)],
        beyond: &[],
    },
];

/// The objects that `build.rs` has compiled; none without clang.
const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// The controller called `name`, with or without the `bp_` that it has in the kernel.
///
/// # Errors
/// When there is none, with the nearest name.
pub fn find(name: &str) -> Result<&'static Controller, Error> {
    let plain = name.strip_prefix("bp_").unwrap_or(name);
    CONTROLLERS.iter().find(|controller| controller.name == plain).ok_or_else(|| {
        let names = CONTROLLERS.iter().map(|controller| controller.name);
        Error::Input(format!(
            "there is no controller {name:?} for the kernel; {}",
            nearest(plain, names)
        ))
    })
}

/// The controller that has the definition called `name`, if the kernel can be given one.
pub fn defined_by(name: &str) -> Option<&'static Controller> {
    CONTROLLERS.iter().find(|controller| controller.definition == name)
}

impl Controller {
    /// Its name in the kernel.
    pub fn kernel_name(&self) -> String {
        format!("bp_{}", self.name)
    }

    /// What the simulator knows about it.
    ///
    /// # Panics
    /// When the definition has gone, which the tests find.
    pub fn entry(&self) -> &'static congestion::Entry {
        congestion::find(self.definition)
            .unwrap_or_else(|| panic!("{} has no definition", self.name))
    }

    /// The parameters that it has in the kernel, in the order of the map.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static Parameter, Unit)> {
        let table = self.entry().parameters;
        self.units.iter().filter_map(|(name, unit)| {
            table.iter().find(|parameter| parameter.name == *name).map(|p| (p, *unit))
        })
    }

    /// The program; none when clang was missing where this was built.
    pub(crate) fn object(&self) -> Option<&'static [u8]> {
        OBJECTS.iter().find(|(name, _)| *name == self.name).map(|(_, object)| *object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_the_kernel() {
        for controller in CONTROLLERS {
            assert!(controller.kernel_name().len() <= 15, "{}", controller.name);
        }
    }

    #[test]
    fn every_parameter_of_the_definition_is_in_the_map_or_cannot_be() {
        for controller in CONTROLLERS {
            let mut known: Vec<_> = controller.units.iter().map(|(name, _)| *name).collect();
            known.extend(controller.beyond.iter().map(|(name, _)| *name));
            known.sort_unstable();
            let mut defined: Vec<_> =
                controller.entry().parameters.iter().map(|p| p.name).collect();
            defined.sort_unstable();
            assert_eq!(known, defined, "{}", controller.name);
        }
    }

    #[test]
    fn a_name_is_found_with_and_without_its_prefix() {
        assert_eq!(find("bp_hybla").unwrap().name, find("hybla").unwrap().name);
        let error = find("hibla").unwrap_err().to_string();
        assert!(error.contains("\"hibla\"") && error.contains("hybla"), "{error}");
    }
}
