//! Beams with real TCP: capacity and fairness, delays, both engines.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::Options;

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "beam.toml", &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn run(text: &str) -> Recording {
    simulator::run(&parse(text), 1, Options::default())
}

/// Numbers of a column of a table.
fn column(recording: &Recording, table: &str, name: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == name).unwrap().values {
        Values::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Values::F64(values) => values.to_vec(),
        _ => panic!("{name} is a number"),
    }
}

const LINK: &str = r#"
[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "10ms"
queue = { packets = 20000 }
"#;

/// A beam with a group `clear` at 16APSK 3/4 and a group `rain` at QPSK 1/2.
fn beam(clear: u32, rain: u32, forward: &str, back: &str, group: &str) -> String {
    format!(
        r#"
{LINK}
[[beam]]
name = "spot"
gateway = "gateway"
forward = {{ modem = {{ name = "dvb-s2", bandwidth = 12e6 }}, {forward} }}
return = {{ {back} }}
[[beam.group]]
name = "clear"
terminals = {clear}
es_n0 = 11.0
return_es_n0 = 9.0
{group}
[[beam.group]]
name = "rain"
terminals = {rain}
es_n0 = 11.0
attenuation = 9.0
return_es_n0 = 4.0
{group}
"#
    )
}

fn flow(name: &str, to: &str, keys: &str) -> String {
    format!(
        r#"
[[flow]]
name = "{name}"
from = "server"
to = "{to}"
controller = "cubic"
{keys}
"#
    )
}

const BULK: &str = "transport = { receive_buffer = \"2MB\" }\ntraffic = { bulk = \"unlimited\" }";

/// Symbols per second, and IP bits per symbol of QPSK 1/2 and 16APSK 3/4 with full packets.
fn efficiencies() -> (f64, [f64; 2]) {
    let of = |field: f64, symbols: f64| 8.0 * (field - 10.0) * 1500.0 / 1507.0 / symbols;
    (12e6 / 1.2, [of(4016.0, 33_282.0), of(6041.0, 16_686.0)])
}

/// Rates of both groups, with half of the terminals in rain.
fn shares(scheduler: &str, traffic: &str) -> [f64; 2] {
    // A turn of the five terminals of a group takes longer than the default of `hold`, which would
    // send frames of the other group with padding.
    let keys = "buffer = \"200kB\", hold = \"100ms\"";
    let forward = format!("scheduler = \"{scheduler}\", {keys}");
    let text = "duration = \"600s\"".to_owned()
        + &beam(5, 5, &forward, "carriers = 4", "fca = true")
        + &flow("a", "clear", traffic)
        + &flow("b", "rain", traffic);
    let recording = run(&text);
    let rates = column(&recording, "beam_groups", "rate_bps");
    let jain = column(&recording, "beam_groups", "jain");
    assert!(jain[0] > 0.99 && jain[2] > 0.99, "{scheduler}: {jain:?}");
    assert!(column(&recording, "beams", "airtime")[0] > 0.95);
    [rates[0], rates[2]]
}

/// Bits per symbol of the carrier that both groups get, from their own.
type Efficiencies = fn(f64, f64) -> [f64; 2];

/// With equal rates the capacity is the harmonic mean of the efficiencies, with equal airtime the
/// arithmetic one.
const CASES: [(&str, Efficiencies); 2] = [
    ("equal-rate", |low, high| [1.0 / (1.0 / low + 1.0 / high); 2]),
    ("equal-airtime", |low, high| [high / 2.0, low / 2.0]),
];

/// Four connections of each terminal keep its queue filled, but for slow start.
#[test]
fn the_scheduler_decides_who_pays_for_the_rain() {
    let (symbols, [low, high]) = efficiencies();
    for (scheduler, expected) in CASES {
        let found = shares(scheduler, &format!("count = 4\n{BULK}"));
        for (found, expected) in found.into_iter().zip(expected(low, high)) {
            let share = found / (expected * symbols);
            assert!((share - 1.0).abs() < 5e-3, "{scheduler}: {found} of {}", expected * symbols);
        }
    }
}

/// A connection pays the request and its loop in each round until grants overlap, and half a frame
/// with free capacity.
#[test]
fn free_capacity_hides_the_control_loop() {
    let took = |back: &str, group: &str| {
        let text = "duration = \"60s\"".to_owned()
            + &beam(1, 1, "", back, group)
            + &flow("a", "clear", "start = \"1s\"\ntraffic = { download = \"1kB\" }")
            + &flow("b", "rain", "traffic = { download = \"1kB\" }");
        let recording = run(&text);
        assert!(recording.flows.iter().all(|flow| flow.completed));
        recording.flows[0].completion_s.unwrap()
    };
    let free = took("", "requests = \"none\"\nfca = true");
    let requested = took("control_delay = \"600ms\"", "requests = \"vbdc\"");
    // SYN and SYN-ACK and data: two bursts of the client before the data has arrived.
    assert!((1.04..1.25).contains(&free), "{free} s");
    let more = requested - free;
    assert!((1.0..1.6).contains(&more), "{requested} s against {free} s");
}

#[test]
fn both_engines_give_the_same_recording() {
    for (scheduler, group) in [
        ("fifo", "requests = \"rbdc\""),
        ("equal-rate", "requests = \"vbdc\"\nfca = true"),
        ("equal-airtime", "requests = \"avbdc\"\ncra = \"16kbit/s\""),
    ] {
        let forward = format!("scheduler = \"{scheduler}\"");
        let pages = "spread = \"3s\"\ntraffic = { web = { pages = 2, interval = \"9s\" } }";
        let upload = "from = \"clear-2\"\nto = \"rain-1\"\ncontroller = \"newreno\"\ntraffic = { bulk = \"300kB\" }";
        let text = "duration = \"20s\"".to_owned()
            + &beam(4, 3, &forward, "", group)
            + &flow("a", "clear", BULK)
            + &flow("b", "rain", pages)
            + "[[flow]]\nname = \"peer\"\n"
            + upload
            + "\n[record]\ninterval = \"1s\"\n";
        let scenario = parse(&text);
        let fast = simulator::run(&scenario, 7, Options::default());
        let slow = simulator::run_on_reference(&scenario, 7, Options::default());
        assert_eq!(fast.tables, slow.tables, "{scheduler}");
        assert_eq!(fast.flows, slow.flows, "{scheduler}");
        assert_eq!(fast.links, slow.links, "{scheduler}");
        assert!(fast.flows.iter().all(|flow| flow.bytes > 0), "{scheduler}");
    }
}

/// A completed transfer is the bytes that were sent, in order: the receiver checks each of them.
#[test]
fn transfers_of_every_controller_end_in_both_directions() {
    for entry in congestion::entries() {
        let mut text = "duration = \"120s\"".to_owned()
            + &beam(2, 1, "buffer = \"50kB\"", "carriers = 1", "requests = \"rbdc\"\nfca = true")
            + &flow("a", "clear", "traffic = { download = \"200kB\" }")
            + &flow("b", "rain", "traffic = { download = \"200kB\" }");
        text +=
            "[[flow]]\nname = \"up\"\nfrom = \"clear\"\nto = \"server\"\ncontroller = \"cubic\"\n";
        text += "traffic = { bulk = \"100kB\" }\n";
        let text = text.replace("\"cubic\"", &format!("{:?}", entry.name));
        let recording = run(&text);
        for flow in &recording.flows {
            assert!(flow.completed, "{} of {}", flow.flow, entry.name);
        }
    }
}

/// Found by `make soak`. The loop asserts that no event is before the last one.
#[test]
fn time_never_runs_backwards_where_random_access_meets_free_capacity() {
    let flow = |controller: &str, number: u32| {
        format!(
            "[[flow]]\nfrom = \"server\"\nto = \"group{number}\"\n\
             controller = \"{controller}\"\ntraffic = {{ download = \"60kB\" }}\n"
        )
    };
    let flows = flow("bbr3", 0) + &flow("cubic", 1) + &flow("cubic", 2);
    let text = format!(
        r#"
[[link]]
between = ["server", "gateway"]
rate = "100Mbit/s"
delay = "1ms"

[[beam]]
name = "spot"
gateway = "gateway"
return = {{ access = {{}} }}

[[beam.group]]
name = "group0"
terminals = 1
es_n0 = 11.584021561974295
return_es_n0 = 5.543440239431312
fca = true

[[beam.group]]
name = "group1"
terminals = 3
es_n0 = 5.312570398307135
return_es_n0 = 7.451077963855566
random_access = true

[[beam.group]]
name = "group2"
terminals = 5
es_n0 = 8.38653542812261
return_es_n0 = 6.022908636280379

{flows}
"#
    );
    let scenario = Scenario::parse(&text, "beam.toml", &[]).unwrap();
    let recording = simulator::run(&scenario, 531_547_683, Options::default());
    assert_eq!(recording.flows.len(), 9);
}
