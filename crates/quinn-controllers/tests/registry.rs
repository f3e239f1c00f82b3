//! Every controller of the laboratory, and whether quinn can carry it.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use congestion::{Specification, entries};
use quinn_controllers::{Approximation, Carriage, Factory, Missing, Unsuitable, carriage};

/// Controllers that quinn cannot carry, and what it lacks.
const IMPOSSIBLE: [(&str, Missing); 8] = [
    ("cherry", Missing::Probes),
    ("dctcp", Missing::MarkCounts),
    ("ebn", Missing::RouterFeedback),
    ("p-xcp", Missing::RouterFeedback),
    ("peach", Missing::Probes),
    ("peach-plus", Missing::Probes),
    ("prague", Missing::MarkCounts),
    ("xcp", Missing::RouterFeedback),
];

/// Controllers that differ, and how.
const APPROXIMATED: [(&str, Approximation); 11] = [
    ("allegro", Approximation::Pacing),
    ("bbr", Approximation::Pacing),
    ("bbr3", Approximation::Pacing),
    ("copa", Approximation::Pacing),
    ("copa2", Approximation::Pacing),
    ("hybla", Approximation::Pacing),
    ("leocc", Approximation::Pacing),
    ("leocc-live", Approximation::Pacing),
    ("new-vegas", Approximation::Pacing),
    ("star", Approximation::DuplicateReports),
    ("vivace", Approximation::Pacing),
];

fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = entries().map(|entry| entry.name).collect();
    names.sort_unstable();
    names
}

fn carriage_of(name: &str) -> Carriage {
    carriage(&Specification::named(name).unwrap())
}

#[test]
fn four_of_five_controllers_run_and_the_others_are_listed_with_a_reason() {
    let (mut impossible, mut approximated) = (Vec::new(), Vec::new());
    for name in names() {
        match carriage_of(name) {
            Carriage::Impossible(missing) => impossible.push((name, missing)),
            Carriage::Approximated(differences) => {
                approximated.extend(differences.into_iter().map(|difference| (name, difference)));
            }
            Carriage::Whole => {}
        }
    }
    assert_eq!(impossible, IMPOSSIBLE);
    assert_eq!(approximated, APPROXIMATED);
    assert!(impossible.len() * 5 <= names().len(), "{} of {}", impossible.len(), names().len());
    for (name, missing) in IMPOSSIBLE {
        let error = Factory::named(name).unwrap_err();
        assert_eq!(error, Unsuitable::Missing { name, missing });
        assert!(error.to_string().contains(missing.reason()), "{error}");
    }
    assert!(matches!(Factory::named("cubik"), Err(Unsuitable::Unknown(_))));
}

/// The README has the same lists.
#[test]
fn the_readme_names_each_exception() {
    let readme = include_str!("../README.md");
    for (name, _) in IMPOSSIBLE {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
    for (name, _) in APPROXIMATED {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}
