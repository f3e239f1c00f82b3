//! The satellite that a station uses, among those in sight.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::Span;

use crate::station::{Here, turn};
use crate::{Satellite, Sight, Station, Utc};

/// Period of the slots in which Starlink assigns satellites.
pub const SLOT: Span = Span::from_secs(15);
/// Second of the minute at which a slot begins, in UTC. Slots begin at seconds 12, 27, 42 and 57:
/// the codes of StarQUIC (HeroHFM/picoquic_leo @774c78e), LEOViz and LeoCC have these times.
pub const SLOT_OFFSET: Span = Span::from_secs(12);

/// The rule that chooses a satellite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// That of the shortest path from end to end, as in Hypatia.
    #[default]
    Shortest,
    /// The highest above the horizon.
    Highest,
    /// The nearest.
    Nearest,
    /// The one that stays in sight for the longest time.
    Longest,
    /// A random one.
    Random,
}

/// Times at which a satellite is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// At each step.
    #[default]
    Step,
    /// At the seconds 12, 27, 42 and 57 of each minute in UTC, and when the satellite is lost.
    Slot,
    /// When the satellite is lost.
    Loss,
}

/// A satellite in sight of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visible {
    /// Its number.
    pub satellite: u32,
    /// Its distance.
    pub range_km: f64,
    /// Sine of its elevation.
    pub sine: f64,
}

/// Steps with which the end of a satellite's time in sight is searched.
const SEARCH: Span = Span::from_secs(10);
/// Seconds for which the time in sight is followed, those of a pass in a medium orbit. All longer
/// times count as equal.
const LONGEST: u64 = 3 * 3600;
/// Accuracy of the end of the time in sight.
const EXACT: Span = Span::from_millis(10);

/// Chooses, with a stream of random numbers.
#[derive(Clone, Debug)]
pub struct Chooser {
    rule: Rule,
    random: Xoshiro256PlusPlus,
}

/// The stations that must see a satellite, with their rules.
pub type Watchers<'a> = [(&'a Station, Sight)];

impl Chooser {
    /// A chooser with a seed for its random numbers.
    pub fn new(rule: Rule, seed: u64) -> Self {
        Self { rule, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The best of some satellites. `remaining` is the time in sight of one of them. Among equals
    /// it is the first.
    pub fn best(
        &mut self,
        visible: &[Visible],
        remaining: impl Fn(&Visible) -> Span,
    ) -> Option<Visible> {
        let least = |score: &dyn Fn(&Visible) -> f64| {
            visible.iter().min_by(|a, b| score(a).total_cmp(&score(b))).copied()
        };
        match self.rule {
            Rule::Shortest | Rule::Nearest => least(&|one| one.range_km),
            Rule::Highest => least(&|one| -one.sine),
            Rule::Longest => {
                // Of those that stay equally long, the highest.
                let scored = visible.iter().map(|one| (remaining(one), one.sine, one));
                let key = |a: &(Span, f64, _), b: &(Span, f64, _)| {
                    b.0.cmp(&a.0).then_with(|| b.1.total_cmp(&a.1))
                };
                scored.min_by(key).map(|(.., one)| *one)
            }
            Rule::Random => {
                let count = visible.len() as u64;
                // A product of 128 bits: each is chosen with the same probability, up to 2⁻⁶⁰.
                let drawn = u128::from(self.random.next_u64()) * u128::from(count);
                visible.get(usize::try_from(drawn >> 64).unwrap_or_default()).copied()
            }
        }
    }
}

/// The time for which all watchers see a satellite from an instant on, up to three hours.
pub fn remaining(satellite: &Satellite, watchers: &Watchers<'_>, from: Utc) -> Span {
    let sees = |after: Span| {
        let at = from.plus(after);
        let Ok(position) = satellite.propagate(at) else { return false };
        let turn = turn(at);
        watchers.iter().all(|(station, sight)| {
            let here: Here<'_> = station.here(turn);
            sight.admits(&here, position)
        })
    };
    let steps = LONGEST * 1_000_000_000 / SEARCH.as_nanos();
    let Some(lost) = (1..=steps).find(|step| !sees(SEARCH * *step)) else {
        return SEARCH * steps;
    };
    let (mut seen, mut lost) = (SEARCH * (lost - 1), SEARCH * lost);
    while lost.saturating_sub(seen) > EXACT {
        let middle = Span::from_nanos(u64::midpoint(seen.as_nanos(), lost.as_nanos()));
        if sees(middle) {
            seen = middle;
        } else {
            lost = middle;
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    const VISIBLE: [Visible; 3] = [
        Visible { satellite: 4, range_km: 900.0, sine: 0.5 },
        Visible { satellite: 7, range_km: 800.0, sine: 0.6 },
        Visible { satellite: 9, range_km: 850.0, sine: 0.7 },
    ];

    fn best(rule: Rule) -> u32 {
        let remaining = |one: &Visible| Span::from_secs(10 - u64::from(one.satellite));
        Chooser::new(rule, 1).best(&VISIBLE, remaining).unwrap().satellite
    }

    #[test]
    fn each_rule_chooses_by_its_own_measure() {
        assert_eq!([Rule::Nearest, Rule::Highest, Rule::Longest].map(best), [7, 9, 4]);
    }

    #[test]
    fn random_choices_are_uniform_and_repeat_with_the_seed() {
        let draw = |seed| {
            let mut chooser = Chooser::new(Rule::Random, seed);
            let mut draws = Vec::new();
            draws.extend(
                (0..3000).map(|_| chooser.best(&VISIBLE, |_| Span::ZERO).unwrap().satellite),
            );
            draws
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        for satellite in [4, 7, 9] {
            let share = draw(3).iter().filter(|one| **one == satellite).count();
            assert!((900..1100).contains(&share), "{satellite}: {share}");
        }
    }

    #[test]
    fn the_time_in_sight_of_an_overhead_pass_is_that_of_the_closed_form() {
        use crate::{Bound, Phasing, Place, Shell};
        let epoch = Utc::parse("2026-11-27T00:00:00Z").unwrap();
        // A satellite over the equator, which turns with the Earth below it.
        let shell = Shell::circular("s", 1000.0, 0.0, 1, 1, Phasing::Factor(0.0));
        let shell = Shell { anomaly_deg: epoch.sidereal().to_degrees(), ..shell };
        let satellites = shell.satellites(epoch).unwrap();
        let place =
            Place { name: "p".into(), latitude_deg: 0.0, longitude_deg: 0.0, altitude_km: 0.0 };
        let station = Station::new(place);
        let sight = Sight { bound: Bound::Elevation(10.0), arc_deg: None };
        let found = remaining(&satellites[0], &[(&station, sight)], epoch).as_secs_f64();
        // Half of a pass, from the zenith to 10 degrees, at the relative angular speed.
        let least = 10f64.to_radians();
        let angle = (6378.137 * least.cos() / 7378.135).acos() - least;
        let expected = angle / (satellites[0].fastest() - 7.292_115e-5);
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    }
}
