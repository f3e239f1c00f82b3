//! Links that change while a run goes on.

use units::{Rate, Span, Time};

use super::explained::example;
use super::refused::faults;
use explain::WarningKind;
use scenario::Scenario;
use scenario::model::{Change, Direction};

const CHANGING: &str = r#"
duration = "100s"
[[link]]
between = ["a", "b"]
rate = "10Mbit/s"
delay = "10ms"
[[link.event]]
at = "15s"
every = "30s"
outage = "100ms"
backward = { outage = "200ms" }
[[link.event]]
at = "45s"
delay = "40ms"
forward = { rate = "2Mbit/s" }
[[flow]]
from = "a"
to = "b"
controller = "reno"
traffic = { bulk = "unlimited" }
"#;

fn directions() -> [Direction; 2] {
    let scenario = Scenario::parse(CHANGING, "changing.toml", &[]);
    let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}"));
    let link = scenario.links[0].clone();
    [link.forward, link.backward]
}

#[test]
fn a_direction_replaces_what_changes_in_both() {
    let [forward, backward] = directions().map(|direction| direction.timeline.changes().to_vec());
    let outage = |millis| Change {
        at: Span::from_secs(15),
        every: Some(Span::from_secs(30)),
        rate: None,
        delay: None,
        outage: Some(Span::from_millis(millis)),
        loss: None,
    };
    let delay = Change {
        at: Span::from_secs(45),
        every: None,
        rate: None,
        delay: Some(Span::from_millis(40)),
        outage: None,
        loss: None,
    };
    let rate = Some(Rate::from_bits_per_second(2_000_000));
    assert_eq!(forward, [outage(100), Change { rate, ..delay }]);
    assert_eq!(backward, [outage(200), delay]);
}

#[test]
fn a_change_comes_again_until_the_run_is_over_and_the_last_in_the_file_wins() {
    let [forward, _] = directions();
    let times = |seconds| {
        let timeline = forward.timeline.until(Time::ZERO + Span::from_secs(seconds));
        let all = forward.timeline.changes();
        let entry = |change| all.iter().position(|one| *one == change).unwrap();
        let second = |at: Time| at.since(Time::ZERO).as_nanos() / 1_000_000_000;
        timeline.map(|(at, change)| (second(at), entry(change))).collect::<Vec<_>>()
    };
    assert_eq!(times(100), [(15, 0), (45, 0), (45, 1), (75, 0)]);
    assert_eq!(times(76), times(100));
    assert_eq!(times(75), [(15, 0), (45, 0), (45, 1)]);
    assert_eq!(times(15), []);
}

/// The bound of the delay of events with these changes to the text.
fn phase(changes: &[(&str, &str)]) -> Span {
    let text =
        changes.iter().fold(format!("phase = \"random\"\n{CHANGING}"), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
    let scenario = Scenario::parse(&text, "changing.toml", &[]);
    scenario.unwrap_or_else(|errors| panic!("{errors}")).phase
}

#[test]
fn a_random_phase_is_a_period_or_a_tenth_of_the_run_and_loses_no_event() {
    let once = ("every = \"30s\"\n", "");
    assert_eq!(phase(&[("100s", "300s")]), Span::from_secs(30));
    assert_eq!(phase(&[]), Span::from_millis(27_500), "half of what is left after 45 s");
    assert_eq!(phase(&[once]), Span::from_secs(10));
    assert_eq!(phase(&[once, ("100s", "48s")]), Span::from_millis(1500));
    assert_eq!(phase(&[("100s", "40s")]), Span::from_millis(12_500), "that at 45 s never happens");
    assert_eq!(phase(&[("100s", "15s")]), Span::ZERO, "none happens");
    assert_eq!(phase(&[("\"random\"", "\"fixed\"")]), Span::ZERO);
    let scenario = Scenario::parse(CHANGING, "changing.toml", &[]).unwrap();
    assert_eq!(scenario.phase, Span::ZERO, "fixed is the default");
}

#[test]
fn a_random_phase_without_events_is_a_warning() {
    let (calm, _) = CHANGING.split_once("[[link.event]]").unwrap();
    let (_, flow) = CHANGING.split_once("[[flow]]").unwrap();
    let kinds = |text: &str| {
        let loaded = scenario::Loaded::parse(text, "calm.toml", &[]).unwrap();
        explain::explain(&loaded.scenario, &loaded.written)
            .warnings
            .iter()
            .map(|warning| warning.kind)
            .collect::<Vec<_>>()
    };
    let calm = format!("phase = \"random\"{calm}[[flow]]{flow}");
    assert!(kinds(&calm).contains(&WarningKind::PhaseWithoutEvents));
    let changing = format!("phase = \"random\"{CHANGING}");
    assert!(!kinds(&changing).contains(&WarningKind::PhaseWithoutEvents));
}

/// A fault in a change of the link with two rates.
fn fault<'a>(what: &'a str, new: &'a str, path: &'a str) -> (&'a str, &'a str, &'a str, &'a str) {
    (what, "channel = { ber = 1e-7 }\n", new, path)
}

#[test]
fn changes_that_cannot_be() {
    let found = faults(&[
        fault("no time", "[[link.event]]\ndelay = \"1ms\"\n", "link[1].event[0].at"),
        fault(
            "a change from the start",
            "[[link.event]]\nat = \"0s\"\ndelay = \"1ms\"\n",
            "link[1].event[0].at",
        ),
        fault(
            "an earlier change",
            "event = [{ at = \"2s\", delay = \"1ms\" }, { at = \"2s\", rate = \"1Mbit/s\" }]\n",
            "link[1].event[1].at",
        ),
        fault("no change", "event = [{ at = \"2s\", forward = {} }]\n", "link[1].event[0]"),
        fault(
            "a mistyped key",
            "[[link.event]]\nat = \"2s\"\nforward = { dellay = \"1ms\" }\n",
            "link[1].event[0].forward.dellay",
        ),
        fault(
            "a change of what does not change",
            "[[link.event]]\nat = \"2s\"\nqueue = { packets = 5 }\n",
            "link[1].event[0].queue",
        ),
        fault(
            "a rate of zero",
            "[[link.event]]\nat = \"2s\"\nrate = \"0bit/s\"\n",
            "link[1].event[0].rate",
        ),
        fault("a table", "event = { at = \"2s\", delay = \"1ms\" }\n", "link[1].event"),
        fault(
            "an outage without end",
            "event = [{ at = \"2s\", every = \"1s\", backward = { outage = \"1s\" } }]\n",
            "link[1].event[0].backward.outage",
        ),
        fault(
            "a change of each microsecond",
            "event = [{ at = \"2s\", every = \"1us\", outage = \"1ns\" }]\n",
            "link[1].event[0].every",
        ),
        fault(
            "a queue that pushes out",
            "queue = { packets = 9, low_priority = \"push-out\" }\nevent = [{ at = \"2s\", delay = \"1ms\" }]\n",
            "link[1].event",
        ),
        fault(
            "a queue that pushes out and jitter",
            "queue = { packets = 9, low_priority = \"push-out\" }\njitter = \"1ms\"\n",
            "link[1].jitter",
        ),
    ]);
    insta::assert_snapshot!(found);
}

#[test]
fn a_change_that_changes_nothing_is_told() {
    let warnings = |sets: &[&str]| -> Vec<String> {
        example("handover", sets).warnings.iter().map(ToString::to_string).collect()
    };
    let usual = warnings(&[]);
    let told = |set: &str| {
        let all = warnings(&[set]);
        all.into_iter().filter(|warning| !usual.contains(warning)).collect::<Vec<_>>()
    };
    assert_eq!(usual, [""; 0]);
    let found = [
        told("link.1.event.1.delay=15ms"),
        told("link.1.event.1.forward.rate=50Mbit/s"),
        told("link.1.event.2.at=120s"),
    ];
    insta::assert_snapshot!(found.map(|warnings| warnings.join("\n")).join("\n\n"));
}

#[test]
fn a_periodic_value_that_is_new_at_some_of_its_times_is_no_mistake() {
    // Not at 10 s, but at 50 s, and not again at 90 s.
    let back = "link.1.event=[{ at = \"10s\", every = \"40s\", delay = \"15ms\" }, { at = \"20s\", delay = \"30ms\" }]";
    assert_eq!(example("handover", &[back]).warnings, []);
}
