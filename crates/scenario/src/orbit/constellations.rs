//! Constellations with a name, their sources and their certainty.
//!
//! The filings give altitude, inclination and numbers, and not the phasing of the planes nor where
//! they are at a time. All rows shift odd planes by half a spacing, as Hypatia does, and the first
//! plane has its ascending node at the vernal equinox at the epoch. Delays over a day have the
//! distribution of such a constellation; the delay at one instant is not that of the real one.

use orbit::{Bound, EARTH_RADIUS_KM, Phasing, Shell};

use crate::hosts::Certainty;

/// Altitude above the equatorial radius, or revolutions per day.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Height {
    Km(f64),
    PerDay(f64),
}

/// Angles between planes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Planes {
    /// Equal over 360 degrees.
    Delta,
    /// Degrees between neighbours.
    Apart(f64),
}

/// A shell of a constellation: name, height, inclination, planes, satellites in each, and angles.
type Row = (&'static str, Height, f64, u32, u32, Planes);

/// A constellation with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constellation {
    /// Its name in files of `bentpipe orbit`.
    pub name: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    shells: &'static [Row],
    /// The bound of the view of places, unless a file has another one.
    pub bound: Bound,
    /// True if the last plane is next to the first one, and linked with it.
    pub seam: bool,
    /// True if its satellites have laser links.
    pub lasers: bool,
    /// Origin of its values.
    pub source: &'static str,
    /// Certainty of its values.
    pub certainty: Certainty,
    /// Values that are less certain, or that were chosen here.
    pub notes: &'static [&'static str],
}

const STARLINK_550: Row = ("starlink-550", Height::Km(550.0), 53.0, 72, 22, Planes::Delta);
const STARLINK_540: Row = ("starlink-540", Height::Km(540.0), 53.2, 72, 22, Planes::Delta);
const STARLINK_570: Row = ("starlink-570", Height::Km(570.0), 70.0, 36, 20, Planes::Delta);
const STARLINK_560: [Row; 2] = [
    ("starlink-560a", Height::Km(560.0), 97.6, 6, 58, Planes::Delta),
    ("starlink-560b", Height::Km(560.0), 97.6, 4, 43, Planes::Delta),
];
const KUIPER_630: Row = ("kuiper-630", Height::Km(630.0), 51.9, 34, 34, Planes::Delta);
const KUIPER_610: Row = ("kuiper-610", Height::Km(610.0), 42.0, 36, 36, Planes::Delta);
const KUIPER_590: Row = ("kuiper-590", Height::Km(590.0), 33.0, 28, 28, Planes::Delta);
const TELESAT_1015: Row = ("telesat-1015", Height::Km(1015.0), 98.98, 27, 13, Planes::Delta);
const TELESAT_1325: Row = ("telesat-1325", Height::Km(1325.0), 50.88, 40, 33, Planes::Delta);

const FCC_STARLINK: &str = "FCC 21-48 (first generation, 4,408 satellites)";
const FCC_KUIPER: &str = "FCC filing of Kuiper (3,236 satellites)";
const HYPATIA: &str = "snkas/hypatia @0ac531c";
const TELESAT: &str = "snkas/hypatia @0ac531c (1,015 km), Telesat's filing (1,325 km)";

const STARLINK_ELEVATION: &str = "the filing has a minimum elevation of 25 degrees, 40 originally";
const KUIPER_ELEVATION: &str = "the minimum elevation of 35 degrees is from memory; Hypatia has 30";
const FLAT_CONE: &str = "the bound is a flat cone, which admits satellites below its angle";

const STARLINK: Constellation = Constellation {
    name: "starlink",
    summary: "All shells of Starlink's first generation: 4,408 satellites.",
    shells: &[STARLINK_550, STARLINK_540, STARLINK_570, STARLINK_560[0], STARLINK_560[1]],
    bound: Bound::Elevation(25.0),
    seam: true,
    lasers: true,
    source: FCC_STARLINK,
    certainty: Certainty::Secondary,
    notes: &[STARLINK_ELEVATION, POLAR],
};
const POLAR: &str = "planes and satellites of the polar shell (6 x 58, 4 x 43) are from memory";

const KUIPER: Constellation = Constellation {
    name: "kuiper",
    summary: "All shells of Kuiper: 3,236 satellites.",
    shells: &[KUIPER_630, KUIPER_610, KUIPER_590],
    bound: Bound::Elevation(35.0),
    source: FCC_KUIPER,
    notes: &[KUIPER_ELEVATION],
    ..STARLINK
};

const TELESAT_ALL: Constellation = Constellation {
    name: "telesat",
    summary: "Both shells of Telesat Lightspeed.",
    shells: &[TELESAT_1015, TELESAT_1325],
    bound: Bound::Elevation(10.0),
    source: TELESAT,
    notes: &[],
    ..STARLINK
};

/// All constellations, in the order of their operators.
pub static CONSTELLATIONS: [Constellation; 17] = [
    STARLINK,
    Constellation {
        name: "starlink-550",
        summary: "Starlink's shell at 550 km and 53.0 degrees.",
        shells: &[STARLINK_550],
        notes: &[STARLINK_ELEVATION],
        ..STARLINK
    },
    Constellation {
        name: "starlink-540",
        summary: "Starlink's shell at 540 km and 53.2 degrees.",
        shells: &[STARLINK_540],
        notes: &[STARLINK_ELEVATION],
        ..STARLINK
    },
    Constellation {
        name: "starlink-570",
        summary: "Starlink's shell at 570 km and 70 degrees.",
        shells: &[STARLINK_570],
        notes: &[STARLINK_ELEVATION],
        ..STARLINK
    },
    Constellation {
        name: "starlink-560",
        summary: "Starlink's polar shell at 560 km and 97.6 degrees.",
        shells: &STARLINK_560,
        certainty: Certainty::Reconstructed,
        ..STARLINK
    },
    KUIPER,
    Constellation {
        name: "kuiper-630",
        summary: "Kuiper's shell at 630 km and 51.9 degrees.",
        shells: &[KUIPER_630],
        ..KUIPER
    },
    Constellation {
        name: "kuiper-610",
        summary: "Kuiper's shell at 610 km and 42 degrees.",
        shells: &[KUIPER_610],
        ..KUIPER
    },
    Constellation {
        name: "kuiper-590",
        summary: "Kuiper's shell at 590 km and 33 degrees.",
        shells: &[KUIPER_590],
        ..KUIPER
    },
    Constellation {
        name: "oneweb",
        summary: "OneWeb's 588 satellites in a star of 12 planes.",
        shells: &[("oneweb", Height::Km(1200.0), 87.9, 12, 49, Planes::Apart(15.225))],
        bound: Bound::Elevation(25.0),
        seam: false,
        lasers: false,
        source: "FCC DA 23-362",
        certainty: Certainty::Secondary,
        notes: &[
            "the real planes are stacked from 1,175 to 1,219 km; all are at 1,200 km here",
            "the minimum elevation of 25 degrees is from memory",
        ],
    },
    TELESAT_ALL,
    Constellation {
        name: "telesat-1015",
        summary: "Telesat's polar shell at 1,015 km and 98.98 degrees.",
        shells: &[TELESAT_1015],
        ..TELESAT_ALL
    },
    Constellation {
        name: "telesat-1325",
        summary: "Telesat's inclined shell at 1,325 km and 50.88 degrees.",
        shells: &[TELESAT_1325],
        ..TELESAT_ALL
    },
    Constellation {
        name: "o3b-mpower",
        summary: "A ring above the equator at 8,062 km, as O3b mPOWER.",
        shells: &[("o3b", Height::Km(8062.0), 0.0, 1, 11, Planes::Delta)],
        bound: Bound::Elevation(5.0),
        seam: false,
        lasers: false,
        source: "altitude and inclination: the operator's description",
        certainty: Certainty::Reconstructed,
        notes: &["eleven satellites and the minimum elevation of 5 degrees are from memory"],
    },
    Constellation {
        name: "hypatia-kuiper-630",
        summary: "Kuiper's first shell as Hypatia has it.",
        shells: &[("kuiper-630", Height::PerDay(14.80), 51.9, 34, 34, Planes::Delta)],
        // The altitude over the sine of 30 degrees.
        bound: Bound::Range(1260.0),
        source: HYPATIA,
        certainty: Certainty::Source,
        notes: &[FLAT_CONE],
        ..STARLINK
    },
    Constellation {
        name: "hypatia-starlink-550",
        summary: "Starlink's first shell as Hypatia has it.",
        shells: &[("starlink-550", Height::PerDay(15.19), 53.0, 72, 22, Planes::Delta)],
        // 940.7 km on the ground and the altitude, at right angles.
        bound: Bound::Range(1089.686),
        source: HYPATIA,
        certainty: Certainty::Source,
        notes: &[
            FLAT_CONE,
            "its mean motion of 15.19 is that of an altitude of 509 km, not 550 km",
        ],
        ..STARLINK
    },
    Constellation {
        name: "hypatia-telesat-1015",
        summary: "Telesat's polar shell as Hypatia has it.",
        shells: &[("telesat-1015", Height::PerDay(13.66), 98.98, 27, 13, Planes::Delta)],
        // The altitude over the sine of 10 degrees.
        bound: Bound::Range(5845.152),
        source: HYPATIA,
        certainty: Certainty::Source,
        notes: &[FLAT_CONE, "its cone reaches satellites that are below the horizon"],
        ..STARLINK
    },
];

impl Constellation {
    /// Its shells.
    pub fn shells(&self) -> Vec<Shell> {
        let shell = |(name, height, inclination_deg, planes, per_plane, angles): &Row| {
            let shell =
                Shell::circular(name, 0.0, *inclination_deg, *planes, *per_plane, Phasing::Hypatia);
            let mean_motion = match height {
                Height::Km(km) => orbit::elements::mean_motion(EARTH_RADIUS_KM + km),
                Height::PerDay(mean_motion) => *mean_motion,
            };
            let spacing_deg = match angles {
                Planes::Delta => shell.spacing_deg,
                Planes::Apart(degrees) => *degrees,
            };
            Shell { mean_motion, spacing_deg, ..shell }
        };
        self.shells.iter().map(shell).collect()
    }

    /// Number of satellites.
    pub fn total(&self) -> u32 {
        self.shells.iter().map(|(.., planes, per_plane, _)| planes * per_plane).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Constellation {
        CONSTELLATIONS.iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn totals_are_those_of_the_filings() {
        let total = |name| named(name).total();
        assert_eq!(["starlink", "kuiper", "oneweb"].map(total), [4408, 3236, 588]);
        // The last seam of OneWeb's planes is 12.525 degrees wide.
        let [oneweb] = &named("oneweb").shells()[..] else { panic!("one shell") };
        assert!((180.0 - 11.0 * oneweb.spacing_deg - 12.525).abs() < 1e-9);
    }

    #[test]
    fn mean_motions_and_altitudes() {
        let altitude = |name| named(name).shells()[0].altitude_km();
        assert!((altitude("starlink-550") - 550.0).abs() < 1e-6);
        // What a note says of Hypatia's two decimals.
        assert!((altitude("hypatia-starlink-550") - 509.0).abs() < 1.0);
        assert!((altitude("hypatia-kuiper-630") - 630.0).abs() < 1.5);
        assert!((altitude("hypatia-telesat-1015") - 1015.0).abs() < 1.5);
    }

    #[test]
    fn bounds_of_hypatia_are_its_cones() {
        let cone = |altitude: f64, degrees: f64| altitude / degrees.to_radians().sin();
        let expected = [
            ("hypatia-kuiper-630", cone(630.0, 30.0)),
            ("hypatia-starlink-550", 940.7f64.hypot(550.0)),
            ("hypatia-telesat-1015", cone(1015.0, 10.0)),
        ];
        for (name, longest) in expected {
            let Bound::Range(found) = named(name).bound else { panic!("{name}") };
            assert!((found - longest).abs() < 1e-3, "{name}: {longest}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = CONSTELLATIONS.iter().map(|one| one.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CONSTELLATIONS.len());
    }
}
