//! Random scripts (`drill::random`) on the simulated TCP alone.

use std::fmt::Write;

use drill::random::{Stimulus, prologue, record, reduce};
use drill::{Failure, Script};

use crate::host::{Profile, Simulated};
use crate::{play, scripts_of};

fn recorded(stimulus: &Stimulus) -> Script {
    let text = text_of(stimulus);
    drill::parse(&format!("seed {}", stimulus.seed), &text).unwrap()
}

fn text_of(stimulus: &Stimulus) -> String {
    let calls = drill::parse("prologue", &prologue(stimulus)).unwrap();
    record(stimulus, &mut Simulated::new(Profile::Linux, &calls)).unwrap()
}

/// Recorded scripts on which the simulated TCP differs from the kernel, and the rule of Linux that
/// it does not have.
const KNOWN: [(u64, &str); 1] =
    [(4, "HZ: timers of the kernel expire with a tick, later than here")];

/// They are what the kernel does (`crates/testbed/tests/drill` plays the same files).
#[test]
fn every_recorded_script_passes_but_those_of_known_rules() {
    let (mut failures, mut number) = (String::new(), 0);
    for script in scripts_of("random") {
        number += 1;
        let named = |(seed, _): &&(u64, &str)| script.path == format!("seed-{seed}.pkt");
        let known = KNOWN.iter().find(named);
        match (play(&script, Profile::Linux), known) {
            (Err(failure), None) => writeln!(failures, "{failure}\n    {}", script.rule).unwrap(),
            (Ok(()), Some((_, rule))) => {
                writeln!(failures, "{} passes: it is no case of `{rule}`", script.path).unwrap();
            }
            (Ok(()), None) | (Err(_), Some(_)) => {}
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    assert!(number == 50 || std::env::var_os("DRILL").is_some(), "{number} scripts");
}

#[test]
fn a_script_has_the_same_bytes_each_time_and_passes_where_it_was_recorded() {
    let mut seen = [0; 4];
    for seed in 1..=150 {
        let stimulus = Stimulus::draw(seed);
        let text = text_of(&stimulus);
        assert_eq!(text, text_of(&stimulus), "seed {seed}");
        let played = play(&recorded(&stimulus), Profile::Linux);
        assert_eq!(played, Ok(()), "{text}");
        for (count, sign) in seen.iter_mut().zip(["sack ", "~", ".E ", "win 0"]) {
            *count += u32::from(text.contains(sign));
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "SACK, timer, mark, closed window: {seen:?}");
}

#[test]
fn a_host_with_other_rules_is_found_and_its_stimulus_reduced() {
    let differs =
        |stimulus: &Stimulus| -> Option<Failure> { play(&recorded(stimulus), Profile::Rfc).err() };
    let mut found = 0;
    for seed in 1..=20 {
        let stimulus = Stimulus::draw(seed);
        let Some(failure) = differs(&stimulus) else { continue };
        found += 1;
        let size = |stimulus: &Stimulus| stimulus.writes.len() + stimulus.faults.len();
        let (smallest, _) = reduce(stimulus.clone(), failure, differs);
        assert!(differs(&smallest).is_some());
        assert!(size(&smallest) <= size(&stimulus));
        let one_less = (0..smallest.faults.len()).any(|n| {
            let mut less = smallest.clone();
            less.faults.remove(n);
            differs(&less).is_some()
        });
        assert!(!one_less, "not the smallest: {smallest}");
    }
    assert!(found > 5, "{found}");
}
