//! Linux's own controllers, compared with the algorithms of this project.
//!
//! A name is no proof: Linux's `westwood` is Westwood+, its `nv` is not the New Vegas of satellite
//! papers, and most others differ from their papers in details. The testbed judges by this table.
//! Read in `net/ipv4/tcp_*.c` of Linux 6.12.
//!
//! A definition that has `variant = "linux"` is, with it, what the kernel's own controller of that
//! name is: the row says what the algorithm of the source does differently.

/// How far a controller of Linux is the one that is defined here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// The same algorithm.
    Same,
    /// The same algorithm with other constants or details, which change its window.
    Variant,
    /// Another algorithm with the same name, or one that is taken for it.
    Different,
}

impl Likeness {
    /// The word in listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Variant => "variant",
            Self::Different => "different",
        }
    }
}

/// A controller of Linux compared with a definition.
#[derive(Clone, Copy, Debug)]
pub struct OfLinux {
    /// The controller of the simulator.
    pub definition: &'static str,
    /// Name in Linux.
    pub kernel_name: &'static str,
    /// How far the two are the same.
    pub likeness: Likeness,
    /// Differences of Linux; empty when there are none.
    pub differs: &'static str,
}

const fn of(
    definition: &'static str,
    kernel_name: &'static str,
    likeness: Likeness,
    differs: &'static str,
) -> OfLinux {
    OfLinux { definition, kernel_name, likeness, differs }
}

use Likeness::{Different, Same, Variant};

/// All definitions that Linux has a controller for, or one that could be taken for it.
pub const OF_LINUX: &[OfLinux] = &[
    of("reno", "reno", Same, ""),
    of("newreno", "reno", Same, ""),
    of("bbr", "bbr", Variant, "detects policers; ProbeBW begins in a random phase"),
    of(
        "bic",
        "bic",
        Variant,
        "keeps 819/1024 of cwnd, grows by at most 16 segments and by a quarter of the distance to W_max",
    ),
    of(
        "cubic",
        "cubic",
        Variant,
        "looks ahead by the smallest RTT, and grows by at least 5 % of cwnd in an RTT before the first loss",
    ),
    of("cdg", "cdg", Same, ""),
    of(
        "dctcp",
        "dctcp",
        Variant,
        "has alpha in whole 1/1024, to which fewer marks than one in 64 segments add nothing",
    ),
    of("highspeed", "highspeed", Variant, "takes the table of RFC 3649 and not its equations"),
    of(
        "htcp",
        "htcp",
        Variant,
        "a quarter and not half of Delta squared, with the growth scaled by RTT / 100 ms",
    ),
    of(
        "hybla",
        "hybla",
        Variant,
        "starts with rho segments, does not estimate ssthresh and does not space segments out",
    ),
    of("illinois", "illinois", Same, ""),
    of(
        "lp",
        "lp",
        Variant,
        "estimates the rate of the receiver's clock, in 32 bits, and forgets the smallest delay with each \
         indication",
    ),
    of("nv", "nv", Same, ""),
    of("scalable", "scalable", Variant, "is standard TCP below 100 segments and not below 16"),
    of(
        "vegas",
        "vegas",
        Variant,
        "alpha = 2 and beta = 4, no fine timeout, doubles in each RTT of slow start, halves after a loss",
    ),
    of(
        "veno",
        "veno",
        Variant,
        "takes the smallest RTT since the last ACK, and does not learn BaseRTT again after a loss",
    ),
    of("westwood", "westwood", Different, "Linux's westwood is Westwood+, here westwood-plus"),
    of(
        "westwood-plus",
        "westwood",
        Variant,
        "samples of at least 50 ms through two filters that keep 7/8; RTTmin is learnt again after a timeout",
    ),
    of(
        "new-vegas",
        "nv",
        Different,
        "Linux's nv is TCP-NV, for data centres; it has only its name in common",
    ),
    of("yeah", "yeah", Same, ""),
];

/// The controller of Linux for the definition called `name`.
pub fn of_linux(name: &str) -> Option<&'static OfLinux> {
    OF_LINUX.iter().find(|row| row.definition == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variant of Linux is what the kernel has under its own name.
    #[test]
    fn what_differs_under_its_own_name_has_a_variant_of_linux_or_stands_here() {
        // BBR has none: it draws its phase at random, and the detection of policers is missing.
        let without = ["bbr"];
        // Reno has the same rules in Linux, but in whole segments.
        let in_segments = ["reno"];
        for row in OF_LINUX {
            let own_name = row.definition == row.kernel_name;
            let differs = row.likeness != Same && !without.contains(&row.definition);
            let expected = own_name && (differs || in_segments.contains(&row.definition));
            let mut variants = congestion::variants(row.definition);
            let found = variants.any(|(variant, _)| variant == congestion::LINUX);
            assert_eq!(found, expected, "{}", row.definition);
        }
        for entry in congestion::entries() {
            let mut variants = congestion::variants(entry.name);
            let has_variant = variants.any(|(variant, _)| variant == congestion::LINUX);
            assert!(!has_variant || of_linux(entry.name).is_some(), "{}", entry.name);
        }
    }

    /// The names that Linux 6.12 registers.
    const NAMES: [&str; 17] = [
        "reno",
        "bbr",
        "bic",
        "cdg",
        "cubic",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "lp",
        "nv",
        "scalable",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ];

    #[test]
    fn each_definition_that_linux_has_a_name_for_is_judged_once() {
        for entry in congestion::entries() {
            let rows = OF_LINUX.iter().filter(|row| row.definition == entry.name).count();
            let expected = usize::from(NAMES.contains(&entry.name));
            assert!(rows == expected || (rows == 1 && expected == 0), "{}", entry.name);
        }
    }

    #[test]
    fn rows_name_what_there_is_and_say_what_differs() {
        for row in OF_LINUX {
            assert!(congestion::find(row.definition).is_some(), "{}", row.definition);
            assert!(NAMES.contains(&row.kernel_name), "{}", row.kernel_name);
            assert_eq!(row.differs.is_empty(), row.likeness == Same, "{}", row.definition);
        }
    }
}
