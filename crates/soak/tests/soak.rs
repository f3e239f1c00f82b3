//! Random scenarios: no finding. `make nightly` draws two thousand of them and more, until all of
//! the language has been drawn. And the checks find planted faults.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed test may panic, and coverage is shown"
)]

use soak::{Campaign, Fault, PAIRS_OF_EACH, Report, campaign, examine, one, reduced, written};

const SEED: u64 = 1;
/// Scenarios of each run of the tests.
const SCENARIOS: u64 = 300;
/// Scenarios of `make nightly`.
const SCENARIOS_AT_NIGHT: u64 = 2000;
/// More of them at a time while a key is missing.
const SCENARIOS_FOR_KEYS: u64 = 50;
/// And at least while a pair of tables is missing: the last pairs are those that seldom fit.
const SCENARIOS_FOR_PAIRS: u64 = 10;

#[test]
fn no_random_scenario_breaks_an_invariant() {
    let drawn = Campaign { seed: SEED, scenarios: SCENARIOS, ..Campaign::default() };
    require_no_finding(&campaign(drawn, |_, _, _, _| {}));
}

/// `make nightly` runs the tests with `nightly` in their path, `make test` leaves them out.
mod nightly {
    use super::*;

    #[test]
    fn all_of_the_language_is_drawn_and_no_scenario_breaks_an_invariant() {
        let drawn = Campaign { seed: SEED, scenarios: SCENARIOS_AT_NIGHT, ..Campaign::default() };
        let mut report = campaign(drawn, |_, _, _, _| {});
        // Keys and pairs of tables that chance has left out. Two middleboxes seldom fit a random
        // graph: each needs a node that forwards, and a spoofing proxy one that no route goes
        // around.
        for round in 0..200 {
            let missing = report.coverage.missing_pairs();
            let missing: Vec<_> = missing.into_iter().map(|pair| pair.map(str::to_owned)).collect();
            let (scenarios, wanted) = match missing.len() as u64 {
                0 if report.coverage.missing_keys().is_empty() => break,
                0 => (SCENARIOS_FOR_KEYS, None),
                pairs => {
                    let scenarios = pairs.div_ceil(PAIRS_OF_EACH).max(SCENARIOS_FOR_PAIRS);
                    (scenarios, Some(missing))
                }
            };
            let first = SCENARIOS_AT_NIGHT * (round + 1);
            let more = Campaign { seed: SEED, first, scenarios, workers: None, wanted };
            report = report.with(campaign(more, |_, _, _, _| {}));
        }
        require_no_finding(&report);
        assert_eq!(report.coverage.missing_keys(), [""; 0], "keys that are never drawn");
        assert_eq!(report.coverage.missing_pairs(), [["", ""]; 0], "tables that never meet");
    }
}

/// Most scenarios have run to their end, and nothing was found.
fn require_no_finding(report: &Report) {
    println!("{report}");
    let mut text = String::new();
    for (number, json, run, finding) in report.findings.iter().take(3) {
        let (json, finding) = reduced(json, *run, finding);
        let scenario = written(&json, *run);
        text += &format!("seed {SEED}, scenario {number}: {finding:?}\n{scenario}\n");
    }
    assert!(report.findings.is_empty(), "{} findings\n{text}", report.findings.len());
    assert!(10 * report.whole >= 7 * report.drawn(), "{report}");
}

/// Each planted fault is found, by some of the first scenarios.
#[test]
fn every_planted_fault_is_found() {
    let schema = scenario::schema();
    let scenarios: Vec<_> = (0..100).filter_map(|number| one(SEED, number, &[], &schema)).collect();
    for fault in Fault::ALL {
        let found =
            scenarios.iter().find_map(|(_, loaded, run)| examine(loaded, *run, Some(fault)).err());
        assert!(found.is_some(), "no check finds {fault:?}");
        println!("{fault:?}: {:?}", found.unwrap());
    }
}
