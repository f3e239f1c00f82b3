//! Hints that the path of a flow changes: their times, and what is refused.

use congestion::PathChangeKind;
use scenario::{Scenario, path_hints, routes};
use units::Span;

/// Both directions change at 12, 27, 42 and 57 s, and one of them a little each second.
fn text(hints: &str) -> String {
    format!(
        r#"
duration = "60s"
epoch = 2026-11-27T10:00:05Z
[[link]]
between = ["terminal", "satellite"]
rate = "20Mbit/s"
delay = "20ms"
event = [
  {{ at = "12s", every = "30s", delay = "35ms" }},
  {{ at = "27s", every = "30s", delay = "20ms" }},
]
[[link]]
between = ["satellite", "gateway"]
rate = "20Mbit/s"
delay = "5ms"
event = [{{ at = "3s", every = "10s", forward = {{ delay = "5100us" }}, backward = {{ delay = "5ms" }} }}]
[[link]]
between = ["gateway", "elsewhere"]
rate = "20Mbit/s"
delay = "5ms"
event = [{{ at = "5s", delay = "50ms" }}]
[[flow]]
from = "terminal"
to = "gateway"
controller = "cubic"
path_hints = {hints}
traffic = {{ bulk = "unlimited" }}
"#
    )
}

fn scenario(hints: &str) -> Scenario {
    Scenario::parse(&text(hints), "hints.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The hints in milliseconds: when, about when, and of which phase.
fn hints(scenario: &Scenario, seed: u64) -> Vec<(u64, PathChangeKind, u64, u64)> {
    let found =
        path_hints(scenario, &routes(scenario), &scenario.flows[0], &scenario::Seed::new(seed))
            .unwrap();
    let ms = |time: units::Time| time.as_nanos() / 1_000_000;
    found.changes().iter().map(|one| (ms(one.now), one.kind, ms(one.at), one.phase)).collect()
}

/// The times at which the source takes changes to be, in milliseconds.
fn times(scenario: &Scenario, seed: u64) -> Vec<u64> {
    let done = |one: &(u64, PathChangeKind, u64, u64)| one.1 == PathChangeKind::Done;
    hints(scenario, seed).iter().filter(|one| done(one)).map(|one| one.2).collect()
}

#[test]
fn a_schedule_has_the_steps_of_the_path_and_not_those_of_other_links() {
    use PathChangeKind::{Coming, Done};
    let found = hints(&scenario(r#"{ source = "schedule", lead = "500ms" }"#), 1);
    let expected = [
        (11_500, Coming, 12_000, 1),
        (12_000, Done, 12_000, 1),
        (26_500, Coming, 27_000, 2),
        (27_000, Done, 27_000, 2),
    ];
    assert_eq!(found[..4], expected);
    let times = times(&scenario(r#"{ source = "schedule" }"#), 1);
    assert_eq!(times, [12_000, 27_000, 42_000, 57_000]);
}

#[test]
fn small_steps_count_with_a_small_threshold() {
    let times = times(&scenario(r#"{ source = "schedule", threshold = "100us" }"#), 1);
    assert_eq!(times, [3000, 12_000, 27_000, 42_000, 57_000]);
}

#[test]
fn late_and_early_move_all_hints() {
    let late = scenario(r#"{ source = "schedule", late = "100ms" }"#);
    assert_eq!(times(&late, 1), [12_100, 27_100, 42_100, 57_100]);
    let early = scenario(r#"{ source = "schedule", early = "500ms" }"#);
    assert_eq!(times(&early, 1), [11_500, 26_500, 41_500, 56_500]);
}

#[test]
fn a_hint_that_would_come_before_the_start_comes_at_the_start() {
    let found = hints(&scenario(r#"{ source = "schedule", lead = "20s" }"#), 1);
    assert_eq!((found[0].0, found[0].2), (0, 12_000));
}

/// The run starts at second 5, so that seconds 12, 27, 42 and 57 are 7 s after the start and later.
#[test]
fn a_clock_has_fixed_seconds_of_utc() {
    assert_eq!(times(&scenario(r#"{ source = "clock" }"#), 1), [7000, 22_000, 37_000, 52_000]);
    let other = scenario(r#"{ source = "clock", period = "20s", offset = "1s" }"#);
    assert_eq!(times(&other, 1), [16_000, 36_000, 56_000]);
}

#[test]
fn errors_depend_on_the_seed_and_missed_changes_do_not_move_them() {
    let with = |missed: &str| {
        let table = r#"{ source = "clock", period = "100ms", error = "40ms", missed = MISSED }"#;
        scenario(&table.replace("MISSED", missed))
    };
    let all = times(&with("0"), 1);
    assert_eq!(all, times(&with("0"), 1));
    assert_ne!(all, times(&with("0"), 2));
    let fifth = times(&with("0.2"), 1);
    assert!(fifth.iter().all(|time| all.contains(time)));
    let kept = fifth.len() as f64 / all.len() as f64;
    assert!((0.75..0.85).contains(&kept), "{kept}");
    // Changes are at 0, 100, 200, … ms.
    let errors: Vec<_> = all[1..].iter().map(|time| (time + 50) % 100).collect();
    assert!(errors.iter().all(|error| (10..=90).contains(error)), "{errors:?}");
    assert!(errors.iter().any(|error| *error < 20) && errors.iter().any(|error| *error > 80));
    assert!(times(&with("1"), 1).is_empty());
}

#[test]
fn events_that_come_later_by_the_phase_move_their_hints() {
    let text =
        text(r#"{ source = "schedule" }"#).replacen("duration", "phase = \"random\"\nduration", 1);
    let scenario = Scenario::parse(&text, "hints.toml", &[]).unwrap();
    for seed in [1, 2] {
        let delay = scenario.event_delay(&scenario::Seed::new(seed));
        assert!(delay > Span::ZERO);
        let first = 12_000 + delay.as_nanos() / 1_000_000;
        assert_eq!(times(&scenario, seed)[0], first);
    }
}

#[test]
fn what_has_no_effect_is_refused() {
    let problem = |hints: &str, from: &str, to: &str| {
        let text = text(hints).replacen(from, to, 1);
        Scenario::parse(&text, "hints.toml", &[]).unwrap_err().to_string()
    };
    for (hints, from, to, expected) in [
        (r#"{ source = "none", lead = "1s" }"#, "", "", "path_hints.lead: expected no `lead`"),
        (r#"{ source = "clock", threshold = "1s" }"#, "", "", "expected no `threshold`"),
        (r#"{ source = "schedule", offset = "1s" }"#, "", "", "expected no `offset`"),
        (
            r#"{ source = "schedule", late = "1s", early = "2s" }"#,
            "",
            "",
            "path_hints.early: expected \"0s\" with `late`, found \"2s\"",
        ),
        (
            r#"{ source = "clock" }"#,
            "epoch = 2026-11-27T10:00:05Z",
            "",
            "path_hints.source: expected an `epoch` of the scenario with it",
        ),
        (
            r#"{ source = "schedule" }"#,
            "controller = \"cubic\"",
            "transport = { protocol = \"xtp\" }\ncontroller = \"none\"",
            "xtp has no controller that could get hints",
        ),
        (
            r#"{ source = "schedule" }"#,
            "controller = \"cubic\"",
            "transport = { protocol = \"quic\", quic = { congestion = \"quinn\" } }\ncontroller = \"cubic\"",
            "the controllers of quinn get no hints",
        ),
        (
            r#"{ source = "clock", period = "1ms" }"#,
            "duration = \"60s\"",
            "duration = \"1h\"",
            "path_hints.period: expected at least \"3.6ms\" with this `duration`",
        ),
        (
            r#"{ source = "schedule" }"#,
            "epoch = 2026-11-27T10:00:05Z",
            "epoch = \"noon\"",
            "epoch: expected a date and time from 1957 to 2200 with its zone",
        ),
        (r#"{ source = "detector", lead = "1s" }"#, "", "", "path_hints.lead: expected no `lead`"),
        (r#"{ source = "detector", missed = 0.1 }"#, "", "", "expected no `missed`"),
        (r#"{ source = "detector", window = "1s" }"#, "", "", "expected no `window`"),
        (r#"{ source = "detector", rule = "step", gap = "1s" }"#, "", "", "expected no `gap`"),
        (r#"{ source = "detector", rule = "stp" }"#, "", "", "did you mean \"step\"?"),
        (r#"{ source = "schedule", rule = "gap" }"#, "", "", "expected no `rule`"),
        (r#"{ source = "detector", gap = "0s" }"#, "", "", "path_hints.gap"),
        (
            r#"{ source = "detector" }"#,
            "controller = \"cubic\"",
            "transport = { protocol = \"stp\" }\ncontroller = \"satcp\"",
            "STP lacks an event for each ACK",
        ),
        (r#"{ source = "clok" }"#, "", "", "did you mean \"clock\"?"),
    ] {
        let found = problem(hints, from, to);
        assert!(found.contains(expected), "{hints}: {found}");
    }
}

/// Warnings about hints, and the setting that shows their source.
fn explained(hints: &str, controller: &str) -> (Vec<String>, String) {
    let text = text(hints).replace("cubic", controller);
    let loaded = scenario::Loaded::parse(&text, "hints.toml", &[]).unwrap();
    let explanation = explain::explain(&loaded.scenario, &loaded.written);
    let mut settings = explanation.flows[0].settings.iter();
    let source = settings.find(|one| one.name == "path_hints.source").unwrap();
    let warnings = explanation.warnings.iter().map(|one| one.message.clone());
    (warnings.filter(|one| one.contains("hints")).collect(), source.text.clone())
}

#[test]
fn explain_shows_the_hints_and_those_that_change_nothing() {
    let (warnings, source) = explained(r#"{ source = "schedule" }"#, "satcp");
    assert_eq!(warnings, [""; 0]);
    let expected = "schedule, hints about 4 of 4 changes with seed 1, the first at 11.9s about a change at 12s";
    assert_eq!(source, expected);
    let (warnings, source) = explained(r#"{ source = "schedule" }"#, "cubic");
    assert_eq!(warnings, ["path_hints has no effect: the controller cubic ignores hints"]);
    assert!(source.ends_with(", which cubic ignores"), "{source}");
    let (warnings, _) = explained(r#"{ source = "none" }"#, "leocc");
    let expected = "leocc acts on hints that the path changes, and gets none without path_hints";
    assert_eq!(warnings, [expected]);
    let (warnings, _) = explained(r#"{ source = "schedule", threshold = "1s" }"#, "starquic");
    let expected =
        "path_hints has no effect: the delay of no link on its path makes a step of 1s or more";
    assert_eq!(warnings, [expected]);
}

#[test]
fn explain_shows_the_changes_that_a_detector_has_to_find() {
    let (warnings, source) = explained(r#"{ source = "detector" }"#, "satcp");
    assert_eq!(warnings, [""; 0]);
    assert_eq!(source, "detector, to find 4 changes with seed 1, the first at 12s");
    let (warnings, _) = explained(r#"{ source = "detector" }"#, "cubic");
    assert_eq!(warnings, ["path_hints has no effect: the controller cubic ignores hints"]);
}
