//! Catalogue of the controllers of `bpf/`: their definitions and the encoding of their parameters.

use congestion::Parameter;

use crate::encode::Unit;
use crate::error::{Error, nearest};

/// A controller that the kernel can be given.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Its name: that of the controller of the simulator that defines it, whose parameters it has.
    /// Its file in `bpf/` is called the same, with `_` for `-`.
    pub name: &'static str,
    /// Its name in the kernel, which has room for 15 bytes.
    pub kernel_name: &'static str,
    /// Its parameters in the order of the map, each with the unit that the map has it in.
    pub(crate) units: &'static [(&'static str, Unit)],
    /// Parameters of the definition that a controller cannot have in the kernel, and why.
    pub beyond: &'static [(&'static str, &'static str)],
}

const RECOVERY: &str = "the kernel has its own recovery, which a controller cannot change";

/// All of them.
pub const CONTROLLERS: &[Controller] = &[
    Controller {
        name: "adalr",
        kernel_name: "bp_adalr",
        units: &[("rtt_tick", Unit::Seconds)],
        beyond: &[
            (
                "rwnd",
                "sending beyond the advertised window would break flow control; raise the \
                 receiver's net.ipv4.tcp_rmem instead",
            ),
            ("extra_rto", "the kernel has its own RTO; see rto_min of ip-route(8)"),
            ("retransmissions", RECOVERY),
        ],
    },
    Controller {
        name: "aliad",
        kernel_name: "bp_aliad",
        units: &[
            ("alpha", Unit::Word),
            ("alpha_ref", Unit::Number),
            ("rtt_ref", Unit::Seconds),
            ("alpha_exponent", Unit::Share),
            ("alpha_min", Unit::Number),
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
        kernel_name: "bp_bic",
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
        name: "ck-stp",
        kernel_name: "bp_ck_stp",
        units: &[("rate", Unit::Megabits), ("rtt", Unit::Milliseconds)],
        beyond: &[("duplicates", RECOVERY)],
    },
    Controller {
        name: "highspeed",
        kernel_name: "bp_highspeed",
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
        kernel_name: "bp_htcp",
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
        kernel_name: "bp_hybla",
        units: &[("rtt0", Unit::Seconds), ("ssthresh", Unit::Word), ("pacing", Unit::Word)],
        beyond: &[],
    },
    Controller {
        name: "logwestwood-plus",
        kernel_name: "bp_logwestplus",
        units: &[("alpha", Unit::Number), ("memory", Unit::Share)],
        beyond: &[],
    },
    Controller {
        name: "scalable",
        kernel_name: "bp_scalable",
        units: &[
            ("increase", Unit::Share),
            ("decrease", Unit::Share),
            ("legacy_window", Unit::Number),
        ],
        beyond: &[],
    },
    Controller {
        name: "veno",
        kernel_name: "bp_veno",
        units: &[("beta", Unit::Number)],
        beyond: &[],
    },
    Controller {
        name: "westwood-plus",
        kernel_name: "bp_westwoodplus",
        units: &[("memory", Unit::Share)],
        beyond: &[],
    },
];

/// The objects that `build.rs` has compiled; none without clang.
#[cfg(target_os = "linux")]
const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// The controller called `name`, here or in the kernel.
///
/// # Errors
/// When there is none, with the nearest name.
pub fn find(name: &str) -> Result<&'static Controller, Error> {
    let mut all = CONTROLLERS.iter();
    all.find(|controller| [controller.name, controller.kernel_name].contains(&name)).ok_or_else(
        || {
            let plain = name.strip_prefix("bp_").unwrap_or(name);
            let names = CONTROLLERS.iter().map(|controller| controller.name);
            Error::Input(format!(
                "there is no controller {name:?} for the kernel; {}",
                nearest(plain, names)
            ))
        },
    )
}

/// The controller that has the definition called `name`, if the kernel can be given one.
pub fn defined_by(name: &str) -> Option<&'static Controller> {
    CONTROLLERS.iter().find(|controller| controller.name == name)
}

impl Controller {
    /// Its definition in the simulator.
    ///
    /// # Panics
    /// When the definition has gone, which the tests find.
    pub fn entry(&self) -> &'static congestion::Entry {
        congestion::find(self.name).unwrap_or_else(|| panic!("{} has no definition", self.name))
    }

    /// The parameters that it has in the kernel, in the order of the map.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static Parameter, Unit)> {
        let table = self.entry().parameters;
        self.units.iter().filter_map(|(name, unit)| {
            table.iter().find(|parameter| parameter.name == *name).map(|p| (p, *unit))
        })
    }

    /// The program; none when clang was missing where this was built.
    #[cfg(target_os = "linux")]
    pub(crate) fn object(&self) -> Option<&'static [u8]> {
        let file = self.name.replace('-', "_");
        OBJECTS.iter().find(|(name, _)| *name == file).map(|(_, object)| *object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_the_kernel() {
        for controller in CONTROLLERS {
            let name = controller.kernel_name;
            assert!(name.starts_with("bp_") && name.len() <= 15, "{name}");
        }
    }

    #[test]
    fn every_parameter_of_the_definition_is_in_the_map_or_cannot_be() {
        for controller in CONTROLLERS {
            let mut known: Vec<_> = controller.units.iter().map(|(name, _)| *name).collect();
            known.extend(controller.beyond.iter().map(|(name, _)| *name));
            known.sort_unstable();
            // A loaded controller is the algorithm of the source.
            let parameters = controller.entry().parameters.iter().map(|p| p.name);
            let mut defined: Vec<_> =
                parameters.filter(|name| *name != congestion::VARIANT.name).collect();
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

    /// Definitions of another algorithm are not loaded: Westwood is not Westwood+.
    #[test]
    fn a_name_is_that_of_the_definition() {
        assert_eq!(find("bp_westwoodplus").unwrap().name, "westwood-plus");
        let error = find("westwood").unwrap_err().to_string();
        assert!(error.contains("westwood-plus"), "{error}");
    }

    /// The name in the program is what the kernel registers.
    #[test]
    fn each_object_has_the_name_that_the_kernel_is_to_know() {
        for controller in CONTROLLERS {
            let Some(object) = controller.object() else { continue };
            let name = controller.kernel_name.as_bytes();
            let ends = |at: usize| object.get(at + name.len()) == Some(&0);
            let mut found = object.windows(name.len()).enumerate();
            assert!(found.any(|(at, text)| text == name && ends(at)), "{}", controller.name);
        }
    }
}
