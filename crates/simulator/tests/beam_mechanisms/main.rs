//! Mechanisms that see packets on the network of a beam: those of links before the gateway, tunnels
//! and middleboxes. All bytes arrive, and both engines agree.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod links;
mod middleboxes;
mod tunnels;

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::Options;

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "beam.toml", &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The recording of a run, which is the same on both engines.
fn run(text: &str) -> Recording {
    let scenario = parse(text);
    let fast = simulator::run(&scenario, 5, Options::default());
    let reference = simulator::run_on_reference(&scenario, 5, Options::default());
    // As text, because a leg without a connection has figures that are no number.
    let [tables, expected] = [&fast.tables, &reference.tables].map(|all| format!("{all:?}"));
    assert_eq!(tables, expected, "{text}");
    assert_eq!(fast.flows, reference.flows, "{text}");
    assert_eq!(fast.links, reference.links, "{text}");
    fast
}

/// A count of a table, by row.
fn counts(recording: &Recording, table: &str, name: &str) -> Vec<u64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    match &table.columns().iter().find(|one| one.name == name).unwrap().values {
        Values::U64(values) => values.to_vec(),
        _ => panic!("{name} is a count"),
    }
}

/// The texts of a column of a table, by row.
fn texts(recording: &Recording, table: &str, name: &str) -> Vec<String> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    match &table.columns().iter().find(|one| one.name == name).unwrap().values {
        Values::Text(values) => values.iter().map(|text| (*text).to_owned()).collect(),
        _ => panic!("{name} is a text"),
    }
}

/// Every flow has ended with all its bytes.
fn check_bytes(recording: &Recording, who: &str) {
    for flow in &recording.flows {
        let size = if flow.flow.starts_with("down") { 60_000 } else { 20_000 };
        assert!(flow.completed && flow.bytes == size, "{who}: {} of {}", flow.bytes, flow.flow);
    }
}

/// Three terminals behind `server - router - gateway`. Each downloads 60 kB and uploads 20 kB.
/// `link` has keys of the second link, and `more` further tables.
fn beam(link: &str, more: &str, controller: &str) -> String {
    let flow = |name: &str, from: &str, to: &str, size: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             controller = \"{controller}\"\ntraffic = {{ download = \"{size}\" }}\n"
        )
    };
    let flows = flow("down", "server", "home", "60kB") + &flow("up", "home", "server", "20kB");
    format!(
        r#"
duration = "600s"

[[link]]
between = ["server", "router"]
rate = "100Mbit/s"
delay = "5ms"

[[link]]
between = ["router", "gateway"]
rate = "20Mbit/s"
delay = "10ms"
{link}

{more}

[[beam]]
name = "spot"
gateway = "gateway"
forward = {{ modem = {{ name = "dvb-s2", bandwidth = 12e6 }} }}
return = {{ carriers = 4 }}

[[beam.group]]
name = "home"
terminals = 3
es_n0 = 11.0
return_es_n0 = 9.0

{flows}
"#
    )
}
