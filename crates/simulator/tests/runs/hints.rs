//! Hints that the path changes, from the scenario to the window.

use recording::{Recording, Values};
use scenario::{path_changes, routes};

use crate::{parse, run, run_with_seed};

/// An upload over a path whose delay changes at 12, 27, 42 s and so on, with losses all the time.
fn text(controller: &str, hints: &str, protocol: &str) -> String {
    format!(
        r#"
duration = "40s"
epoch = 2026-11-27T12:00:00Z
[[link]]
between = ["terminal", "gateway"]
rate = "20Mbit/s"
delay = "20ms"
queue = {{ packets = 100 }}
channel = {{ per = 1e-3 }}
event = [
  {{ at = "12s", every = "30s", delay = "35ms" }},
  {{ at = "27s", every = "30s", delay = "20ms" }},
]
[[flow]]
from = "terminal"
to = "gateway"
controller = {controller}
path_hints = {hints}
transport = {{ protocol = "{protocol}" }}
traffic = {{ bulk = "unlimited" }}
"#
    )
}

/// Values that differ between two runs if anything does.
fn counts(recording: &Recording) -> (u64, u64, [u64; 3]) {
    let flow = &recording.flows[0];
    let floats = [flow.goodput_bps, flow.throughput_bps, flow.mean_rtt_ms.unwrap()];
    (recording.events, flow.cwnd_bytes, floats.map(f64::to_bits))
}

fn goodput(controller: &str, hints: &str, protocol: &str) -> f64 {
    run(&text(controller, hints, protocol)).flows[0].goodput_bps
}

const NONE: &str = r#"{ source = "none" }"#;
const EXACT: &str = r#"{ source = "schedule" }"#;

/// A wrapper without hints, and its base.
const BASES: [(&str, &str); 4] = [
    (r#""satcp""#, r#""cubic""#),
    (r#"{ name = "satcp", base = "linux" }"#, r#"{ name = "cubic", variant = "linux" }"#),
    (r#""starquic""#, r#""cubic""#),
    (r#"{ name = "starquic", base = "bbr3" }"#, r#""bbr3""#),
];

#[test]
fn without_hints_a_wrapper_is_its_base() {
    for (wrapper, base) in BASES {
        for protocol in ["tcp", "quic"] {
            let [wrapped, plain] =
                [wrapper, base].map(|one| counts(&run(&text(one, NONE, protocol))));
            assert_eq!(wrapped, plain, "{wrapper} over {protocol}");
        }
    }
}

#[test]
fn a_controller_that_ignores_hints_runs_as_without() {
    for controller in [r#""cubic""#, r#""copa""#] {
        let [with, without] =
            [EXACT, NONE].map(|hints| counts(&run(&text(controller, hints, "tcp"))));
        assert_eq!(with, without, "{controller}");
    }
}

/// Losses of packets that were sent in 28 of 40 s are ignored.
#[test]
fn hints_reach_controllers_over_tcp_and_quic() {
    let starquic = r#"{ name = "starquic", margin = 7 }"#;
    for protocol in ["tcp", "quic"] {
        let [with, without] = [EXACT, NONE].map(|hints| goodput(starquic, hints, protocol));
        assert!(with > 1.1 * without, "{protocol}: {with} and {without}");
        let clock = goodput(starquic, r#"{ source = "clock" }"#, protocol);
        assert_eq!(clock, with, "{protocol}: the clock is exact");
        let missed = goodput(starquic, r#"{ source = "schedule", missed = 1.0 }"#, protocol);
        assert_eq!(missed, without, "{protocol}");
    }
}

#[test]
fn every_controller_that_acts_on_hints_runs_otherwise_with_them() {
    for controller in [r#""satcp""#, r#""starquic""#, r#""leocc""#, r#""leocc-live""#] {
        // With a margin and a time that meet losses of this path.
        let controller = match controller {
            r#""satcp""# => r#"{ name = "satcp", duration = 10 }"#,
            r#""starquic""# => r#"{ name = "starquic", margin = 2 }"#,
            other => other,
        };
        let [with, without] =
            [EXACT, NONE].map(|hints| counts(&run(&text(controller, hints, "tcp"))));
        assert_ne!(with, without, "{controller}");
    }
}

#[test]
fn the_same_seed_gives_the_same_errors_and_another_seed_others() {
    let hints = r#"{ source = "schedule", error = "2s", missed = 0.2 }"#;
    let text = text(r#"{ name = "starquic", margin = 1 }"#, hints, "tcp");
    assert_eq!(counts(&run_with_seed(&text, 1)), counts(&run_with_seed(&text, 1)));
    assert_ne!(counts(&run_with_seed(&text, 1)), counts(&run_with_seed(&text, 2)));
}

/// The connection of the sender ends at the proxy, and changes behind it are no changes of its
/// path.
#[test]
fn with_a_split_proxy_the_path_ends_there() {
    let text = |proxy: &str| {
        format!(
            r#"
duration = "40s"
[[node]]
name = "gateway"
{proxy}
[[link]]
between = ["terminal", "gateway"]
rate = "20Mbit/s"
delay = "20ms"
event = [{{ at = "12s", delay = "35ms" }}]
[[link]]
between = ["gateway", "server"]
rate = "20Mbit/s"
delay = "5ms"
event = [{{ at = "20s", delay = "35ms" }}]
[[flow]]
from = "terminal"
to = "server"
controller = "satcp"
path_hints = {{ source = "schedule" }}
traffic = {{ bulk = "unlimited" }}
"#
        )
    };
    for (proxy, expected) in [("", 2), ("proxy = { satellite = { towards = [\"terminal\"] } }", 1)]
    {
        let scenario = parse(&text(proxy));
        let found = path_changes(
            &scenario,
            &routes(&scenario),
            &scenario.flows[0],
            &scenario::Seed::new(1),
        );
        assert_eq!(found.len(), expected, "{proxy}");
    }
}

/// A cell of the first row of a table.
fn number(recording: &Recording, table: &str, column: &str) -> f64 {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    match &table.columns().iter().find(|one| one.name == column).unwrap().values {
        Values::F64(numbers) => numbers[0],
        Values::U64(counts) => counts[0] as f64,
        _ => panic!("{column} is a number"),
    }
}

const GAP: &str = r#"{ source = "detector" }"#;
const STEP: &str = r#"{ source = "detector", rule = "step" }"#;

/// Answers to requests each 20 ms, so that ACKs come evenly, over a path without losses whose delay
/// rises by 100 ms each way, and falls.
fn even(hints: &str) -> String {
    let text = text(r#""satcp""#, hints, "tcp").replace("per = 1e-3", "per = 0.0");
    let text = text.replace("\"35ms\"", "\"120ms\"");
    text.replace("{ bulk = \"unlimited\" }", "{ messages = { interval = \"20ms\" } }")
}

/// Changes at 12 and 27 s: the delay rises by 100 ms each way, and falls. A fall leaves no gap.
#[test]
fn a_detector_finds_the_changes_that_its_rule_can_see() {
    let counts = |recording: &Recording| {
        ["changes", "detected", "missed", "false_alarms"]
            .map(|column| number(recording, "path_changes", column))
    };
    let gap = run(&even(GAP));
    assert_eq!(counts(&gap), [2.0, 1.0, 1.0, 0.0]);
    // ACKs that were on their way arrive until 20 ms after the change, and the next ones 100 ms
    // later.
    let delay = number(&gap, "path_changes", "mean_delay_ms");
    assert!((100.0..140.0).contains(&delay), "{delay}");
    assert_eq!(number(&gap, "path_changes_series", "change_s"), 12.0);
    let step = run(&even(STEP));
    assert_eq!(counts(&step), [2.0, 2.0, 0.0, 0.0]);
}

#[test]
fn every_controller_that_acts_on_hints_runs_otherwise_with_a_detector() {
    for protocol in ["tcp", "quic"] {
        for (controller, margin) in [
            ("satcp", "duration = 10"),
            ("starquic", "margin = 5"),
            ("leocc", ""),
            ("leocc-live", ""),
        ] {
            let controller = format!("{{ name = \"{controller}\", {margin} }}");
            let [with, without] =
                [STEP, NONE].map(|hints| counts(&run(&text(&controller, hints, protocol))));
            assert_ne!(with, without, "{controller} over {protocol}");
        }
    }
}

#[test]
fn each_copy_of_a_flow_has_its_own_detections() {
    let text = text(r#""leocc""#, STEP, "tcp").replace("controller =", "count = 2\ncontroller =");
    let recording = run(&text);
    let table = recording.tables.iter().find(|one| one.name() == "path_changes").unwrap();
    let Values::U64(changes) = &table.columns()[2].values else { panic!("a count") };
    assert_eq!(changes.to_vec(), [2, 2]);
}

#[test]
fn a_controller_that_ignores_hints_has_no_detector() {
    let recording = run(&text(r#""cubic""#, GAP, "tcp"));
    assert!(recording.tables.iter().all(|one| one.name() != "path_changes_series"));
    assert_eq!(counts(&recording), counts(&run(&text(r#""cubic""#, NONE, "tcp"))));
}
