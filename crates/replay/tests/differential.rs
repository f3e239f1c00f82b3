//! The controllers of `bpf/` against those of `crates/congestion` that define them: the same ACKs,
//! losses, marks, timeouts, undos and pauses, and after each event windows that differ by less than
//! one segment.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::sync::{Mutex, PoisonError};

use congestion::{Specification, Value};
use replay::driver::{Comparison, Disagreement, LARGEST_WINDOW, replay};
use replay::events::{Event, Sequence, sequences};
use replay::{Connection, Library};

const SEQUENCES: usize = 300;
/// One connection of a controller at a time: its parameters are one map.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn comparison(name: &str, sets: &[(&str, Value)]) -> Comparison {
    let controller = deploy::find(name).unwrap();
    let mut definition = Specification::named(controller.name).unwrap();
    let mut words = Vec::new();
    for (parameter, value) in sets {
        definition.set(parameter, value.clone()).unwrap();
        words.push(format!("{parameter}={value}"));
    }
    if name == "hybla" {
        definition.set("pacing", Value::Word("off".into())).unwrap();
    }
    // The bandwidth of Westwood+ counts what duplicate ACKs announce, and in C what was delivered.
    // With less memory than by default a single sample shows it.
    let bound = if name.contains("westwood") && !sets.is_empty() { 3 } else { 1 };
    Comparison {
        definition,
        library: Library::LINKED,
        name: name.to_owned(),
        parameters: deploy::encoded(controller, &words).unwrap(),
        whole: matches!(name, "aliad" | "ck-stp"),
        // CK-STP has a threshold in the kernel only, whose recovery ends with it as the window.
        thresholds: name != "ck-stp",
        as_kernel: false,
        // alpha of A-LIAD is a fixed-point number in C, which of more segments leaves some open.
        largest: if name == "aliad" { 40_000 } else { LARGEST_WINDOW },
        bound,
        // Growth of ADaLR in slow start multiplies the part of a segment that an undo has lost.
        bound_after_undo: if name == "adalr" { 3 } else { bound + 1 },
        clock: false,
    }
}

fn replayed(comparison: &Comparison, sequence: &Sequence) -> Result<f64, Disagreement> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = replay(comparison, sequence).unwrap();
    outcome.disagreement.map_or(Ok(outcome.difference), Err)
}

/// The outcome of each sequence.
fn outcomes(name: &str, sets: &[(&str, Value)], count: usize) -> Vec<Result<f64, Disagreement>> {
    let comparison = comparison(name, sets);
    let replayed = |mut sequence: Sequence| {
        if name == "aliad" {
            // A part of a segment that an undo has lost decides when a phase of A-LIAD is over, and
            // the next one freezes the window.
            sequence.events.retain(|event| !matches!(event, Event::Undo));
        }
        replayed(&comparison, &sequence)
    };
    sequences(count).map(replayed).collect()
}

/// Fails with the first disagreement, but for up to `explained_by_bytes` that have this cause.
fn judge(outcomes: &[Result<f64, Disagreement>], explained_by_bytes: usize) {
    let (explained, others): (Vec<&Disagreement>, Vec<&Disagreement>) =
        outcomes.iter().filter_map(|o| o.as_ref().err()).partition(|d| d.bytes_at_a_goal);
    let all = outcomes.len();
    assert!(others.is_empty(), "{} of {all} sequences, first {:?}", others.len(), others[0]);
    let (many, first) = (explained.len(), explained.first());
    assert!(many <= explained_by_bytes, "{many} of {all} sequences by bytes at a goal, {first:?}");
    let mut differences: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().ok()).collect();
    differences.sort_by(|a, b| a.total_cmp(b));
    // A byte is 0.0007 segments: most sequences do not differ by two.
    let median = differences[differences.len() / 2];
    assert!(*median < 0.0014, "the median of the largest differences is {median} segments");
}

/// Sequences that may part by bytes at a goal (see `Disagreement`).
fn explained_by_bytes(name: &str) -> usize {
    if name == "aliad" { SEQUENCES / 100 } else { 0 }
}

macro_rules! agree {
    ($($test:ident: $name:literal;)+) => {
        $(
            #[test]
            fn $test() {
                judge(&outcomes($name, &[], SEQUENCES), explained_by_bytes($name));
            }
        )+
    };
}

agree! {
    adalr_agrees_with_its_definition: "adalr";
    aliad_agrees_with_its_definition: "aliad";
    bic_agrees_with_its_definition: "bic";
    ck_stp_agrees_with_its_definition: "ck-stp";
    highspeed_agrees_with_its_definition: "highspeed";
    htcp_agrees_with_its_definition: "htcp";
    hybla_agrees_with_its_definition: "hybla";
    logwestwood_plus_agrees_with_its_definition: "logwestwood-plus";
    scalable_agrees_with_its_definition: "scalable";
    veno_agrees_with_its_definition: "veno";
    westwood_plus_agrees_with_its_definition: "westwood-plus";
}

#[test]
fn other_parameters_agree_too() {
    let word = |word: &str| Value::Word(word.into());
    let number = Value::Number;
    let cases: &[(&'static str, &[(&str, Value)])] = &[
        ("adalr", &[("rtt_tick", number(0.5))]),
        ("aliad", &[("alpha", word("power")), ("probe", word("delay"))]),
        ("aliad", &[("alpha", word("exponential")), ("at_wmax", word("stay"))]),
        ("aliad", &[("alpha", word("affine")), ("probe", word("doubling"))]),
        ("aliad", &[("alpha", word("fixed")), ("rtt_max", word("connection"))]),
        (
            "aliad",
            &[("beta_min", number(0.25)), ("beta_max", number(0.75)), ("delta", number(3.0))],
        ),
        ("bic", &[("fast_convergence", word("off")), ("s_max", number(16.0))]),
        ("ck-stp", &[("rate", number(20.0)), ("rtt", number(600.0))]),
        ("highspeed", &[("high_p", number(1e-6)), ("high_decrease", number(0.3))]),
        ("htcp", &[("rtt_scaling", word("on")), ("rtt_scaling_limit", number(2.0))]),
        ("htcp", &[("backoff", word("half")), ("quadratic", number(0.25))]),
        ("hybla", &[("ssthresh", word("scenario")), ("rtt0", number(0.1))]),
        ("logwestwood-plus", &[("alpha", number(8.0)), ("memory", number(0.5))]),
        ("scalable", &[("increase", number(0.02)), ("decrease", number(0.25))]),
        ("veno", &[("beta", number(30.0))]),
        ("westwood-plus", &[("memory", number(0.0))]),
    ];
    for (name, sets) in cases {
        judge(&outcomes(name, sets, SEQUENCES / 5), explained_by_bytes(name));
    }
}

/// 100,000 segments at an RTT of one second: nothing overflows and nothing is lost in rounding.
#[test]
fn a_hundred_thousand_segments_in_a_second_agree_too() {
    let second = Event::Round { rtt: 1_000_000, each: 2 };
    let events = [second, Event::Loss, second, second, Event::Loss, second, second, Event::Timeout];
    let sequence = Sequence { events: events.to_vec(), window: 100_000, ssthresh: Some(50_000) };
    for controller in deploy::CONTROLLERS {
        let difference = replayed(&comparison(controller.name, &[]), &sequence);
        assert!(difference.is_ok(), "{difference:?}");
    }
}

#[test]
fn the_defaults_in_c_are_those_of_the_definition() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for controller in deploy::CONTROLLERS {
        let defined = deploy::encoded(controller, &[]).unwrap();
        let in_c = Connection::defaults(controller.name, defined.len()).unwrap();
        assert_eq!(in_c, defined, "{}", controller.name);
    }
}
