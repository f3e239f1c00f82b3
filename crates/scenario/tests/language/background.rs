//! Groups in the background: what becomes of their flows, and what is refused.

use explain::explain;
use scenario::{Loaded, Scenario};

const TEXT: &str = r#"
duration = "10s"
[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "10ms"
[[beam]]
name = "spot"
gateway = "gateway"
forward = {}
return = {}
[[beam.group]]
name = "far"
terminals = 20
es_n0 = 6.5
return_es_n0 = 8.5
background = true
[[beam.group]]
name = "near"
terminals = 5
es_n0 = 13.0
return_es_n0 = 8.5
[[flow]]
name = "a"
from = "server"
to = "far"
controller = "cubic"
count = 2
spread = "4s"
traffic = { download = "1MB", request = "300B" }
sessions = { pause = "20s", length = "20s" }
[[flow]]
name = "b"
from = "server"
to = "near"
controller = "cubic"
traffic = { download = "1MB" }
"#;

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "beam.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn flows_of_the_background_are_none_of_the_scenario() {
    let scenario = parse(TEXT);
    let names: Vec<_> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["b.0", "b.1", "b.2", "b.3", "b.4"]);
    let [described] = &scenario.beams[0].background[..] else { panic!("one") };
    assert_eq!((described.name.as_str(), described.group), ("a", 0));
    assert_eq!((described.size, described.request), (1_000_000, 300));
    assert_eq!(described.delays.map(|delay| delay.as_millis_f64()), [10.0, 10.0]);
    assert_eq!(described.copies.len(), 40);
    let last = described.copies[39];
    assert_eq!((last.number, last.terminal, last.start.as_millis_f64()), (39, 19, 3900.0));
}

/// 40 transfers of 1 MB in 40 s are 8 Mbit/s.
#[test]
fn the_load_is_that_of_sessions_as_if_transfers_took_no_time() {
    let scenario = parse(TEXT);
    let beam = &scenario.beams[0];
    let modcod = beam.groups[0].signals[0].acm.choices()[0].1;
    let capacity = beam.forward.frames[modcod].efficiency() * beam.forward.symbol_rate;
    let load = beam.background_load().unwrap();
    assert!((load - 8e6 / capacity).abs() < 1e-12, "{load}");
    let loaded = Loaded::parse(TEXT, "beam.toml", &[]).unwrap();
    let written = explain(&loaded.scenario, &loaded.written).to_string();
    assert!(written.contains("in the background: 20 terminals, which offer"), "{written}");
}

/// A comparison itself needs what it has not shown yet. What the model does not know stays refused.
#[test]
fn unchecked_takes_what_was_not_compared() {
    let unchecked = TEXT.replace("background = true", "background = \"unchecked\"");
    for forward in ["scheduler = \"fifo\"", "scheduler = \"equal-airtime\""] {
        let keys = format!("forward = {{ {forward} }}");
        let found = Scenario::parse(&TEXT.replace("forward = {}", &keys), "beam.toml", &[]);
        let found = found.expect_err("it was not compared").to_string();
        assert!(found.contains("unchecked") && found.contains("scheduler"), "{found}");
        parse(&unchecked.replace("forward = {}", &keys));
    }
    parse(&unchecked.replacen("20s", "20ms", 2));
    let aqm = unchecked.replace("forward = {}", "forward = { aqm = \"fq-codel\" }");
    assert!(Scenario::parse(&aqm, "beam.toml", &[]).is_err());
}

#[test]
fn what_no_comparison_has_shown_is_refused() {
    let replaced = |from: &str, to: &str| TEXT.replacen(from, to, 1);
    let controller = |to: &str| replaced("controller = \"cubic\"", to);
    let group = |key: &str| replaced("background = true", &format!("background = true\n{key}"));
    let flow = |key: &str| controller(&format!("controller = \"cubic\"\n{key}"));
    let cases = [
        (controller("controller = \"bbr3\""), "flow[0].controller"),
        (controller("host = \"linux-6.1\""), "flow[0].to"),
        (group("host = \"linux-6.1\""), "flow[0].to"),
        (replaced("sessions = { pause = \"20s\", length = \"20s\" }", ""), "flow[0].sessions"),
        (flow("transport = { protocol = \"quic\" }"), "flow[0].transport.protocol"),
        (flow("transport = { recovery = \"newreno\" }"), "flow[0].transport.recovery"),
        (flow("transport = { pacing = \"linux\" }"), "flow[0].transport.pacing"),
        (flow("transport = { receive_buffer = {} }"), "flow[0].transport.receive_buffer"),
        (
            replaced("download = \"1MB\", request = \"300B\"", "web = {}").replacen(
                "sessions = { pause = \"20s\", length = \"20s\" }",
                "",
                1,
            ),
            "flow[0].traffic",
        ),
        (
            replaced("from = \"server\"\nto = \"far\"", "from = \"far\"\nto = \"server\""),
            "flow[0].from",
        ),
        (replaced("delay = \"10ms\"", "delay = \"10ms\"\nloss = 0.01"), "link[0].loss"),
        (group("requests = \"vbdc\""), "beam[0].group[0].requests"),
        (group("plan = { up = { rate = \"1Mbit/s\" } }"), "beam[0].group[0].plan.up"),
        (replaced("forward = {}", "forward = { aqm = \"fq-codel\" }"), "beam[0].forward.aqm"),
        (
            replaced("return = {}", "return = { access = {} }").replacen(
                "background = true",
                "background = true\nrandom_access = true",
                1,
            ),
            "beam[0].group[0].random_access",
        ),
        (group("attenuation = 20"), "beam[0].group[0].attenuation"),
        (
            group("plan = { down = { rate = \"1Mbit/s\", burst = \"20kB\" } }"),
            "beam[0].group[0].plan.down.burst",
        ),
        (
            group(
                "plan = { down = { rate = \"9Mbit/s\", allowance = { volume = \"1GB\", \
                 window = \"24h\", reduced_rate = \"1Mbit/s\" } } }",
            ),
            "beam[0].group[0].plan.down.allowance",
        ),
        (
            replaced("pause = \"20s\"", "pause = \"10ms\"").replacen("20s", "20ms", 1),
            "beam[0].group[0].background",
        ),
    ];
    for (text, expected) in cases {
        let found = Scenario::parse(&text, "beam.toml", &[]).expect_err(expected).to_string();
        assert!(found.contains(expected) && found.contains("beam.toml:"), "{expected}\n{found}");
    }
}
