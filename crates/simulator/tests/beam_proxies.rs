//! Split proxies at the gateway of a beam: all bytes arrive, legs end at the gateway, and both
//! engines agree.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::Options;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "beam.toml", &[]).map_err(|errors| errors.to_string())
}

/// Numbers of a column of a table.
fn column(recording: &Recording, table: &str, name: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    match &table.columns().iter().find(|one| one.name == name).unwrap().values {
        Values::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Values::F64(values) => values.to_vec(),
        _ => panic!("{name} is a number"),
    }
}

/// A beam with a group `home`, which downloads 30 kB and uploads 8 kB at each terminal. `proxy` has
/// the keys of that of the gateway, if it has one.
fn beam(proxy: &str, [back, group]: [&str; 2], controller: &str) -> String {
    let node = match proxy {
        "" => String::new(),
        keys => format!("[[node]]\nname = \"gateway\"\nproxy = {{ {keys} }}"),
    };
    let flow = |name: &str, from: &str, to: &str, size: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             controller = \"{controller}\"\ntraffic = {{ download = \"{size}\" }}\n"
        )
    };
    let flows = flow("down", "server", "home", "30kB") + &flow("up", "home", "server", "8kB");
    format!(
        r#"
duration = "3000s"

[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "10ms"

{node}

[[beam]]
name = "spot"
gateway = "gateway"
forward = {{ modem = {{ name = "dvb-s2", bandwidth = 12e6 }} }}
return = {{ {back} }}

[[beam.group]]
name = "home"
terminals = 4
es_n0 = 11.0
return_es_n0 = 9.0
{group}

{flows}
"#
    )
}

/// Few slots, no control of the load and few tries, so that packets are lost.
const LOSSY: [&str; 2] = [
    "carriers = 2, bandwidth = 12.5e4, access = { scheme = \"slotted-aloha\", load = \"none\", \
     tries = 2, back_off = \"1s\" }",
    "requests = \"none\"\nrandom_access = true",
];
const ON_REQUEST: [&str; 2] = ["carriers = 2, bandwidth = 12.5e4", "requests = \"rbdc\""];
const HYBLA: &str = "satellite = { controller = \"hybla\" }";

/// Packets that random access has lost in runs of a controller without and with a proxy.
fn lost(controller: &str, access: [&str; 2]) -> f64 {
    let proxy = format!("satellite = {{ controller = \"{controller}\" }}");
    let run = |proxy: &str| {
        let scenario = parse(&beam(proxy, access, controller)).unwrap();
        let recording = simulator::run(&scenario, 1, Options::default());
        assert_eq!(recording.flows.len(), 8);
        for flow in &recording.flows {
            let size = if flow.flow.starts_with("down") { 30_000 } else { 8000 };
            let who = format!("{controller}, {}, proxy: {proxy:?}", flow.flow);
            assert!(flow.completed && flow.bytes == size, "{who}: {} bytes", flow.bytes);
        }
        let has_legs = recording.tables.iter().any(|one| one.name() == "legs");
        assert_eq!(has_legs, !proxy.is_empty());
        if has_legs {
            // Two legs of each flow, and each has carried all of it.
            let sizes = recording.flows.iter().flat_map(|flow| [flow.bytes as f64; 2]);
            assert!(column(&recording, "legs", "bytes").into_iter().eq(sizes), "{controller}");
        }
        column(&recording, "beams", "random_given_up")[0]
    };
    run("") + run(&proxy)
}

#[test]
fn every_controller_delivers_exactly_its_bytes_with_and_without_a_proxy() {
    let at_random = congestion::entries().map(|entry| lost(entry.name, LOSSY));
    assert!(at_random.sum::<f64>() > 0.0, "bursts are lost");
    for entry in congestion::entries() {
        assert!(lost(entry.name, ON_REQUEST) < 1.0, "{}", entry.name);
    }
}

/// The connection of the server ends at the gateway. So its round trip is that of the link, and the
/// one of the other leg has the beam.
#[test]
fn the_round_trip_of_the_server_ends_at_the_gateway() {
    let scenario = parse(&beam(HYBLA, ["carriers = 4", "cra = \"64kbit/s\""], "cubic")).unwrap();
    let recording = simulator::run(&scenario, 1, Options::default());
    let rtts = column(&recording, "legs", "min_rtt_ms");
    assert_eq!(rtts.len(), 16);
    // Downloads first: the server sends on the first leg, and the gateway on the second.
    for pair in rtts[..8].chunks(2) {
        assert!((20.0..22.0).contains(&pair[0]), "{pair:?}");
        // Twice the delay of the beam, and the wait for slots.
        assert!((500.0..700.0).contains(&pair[1]), "{pair:?}");
    }
}

#[test]
fn both_engines_give_the_same_recordings() {
    for proxy in [
        HYBLA,
        "accept = \"late\", satellite = { controller = \"bbr3\", rate = \"2Mbit/s\" }",
        "satellite = { controller = \"cubic\" }, limits = { connections = 2, at_limit = \"pass\" }",
    ] {
        for access in [LOSSY, ON_REQUEST] {
            let scenario = parse(&beam(proxy, access, "cubic")).unwrap();
            let fast = simulator::run(&scenario, 3, Options::default());
            let reference = simulator::run_on_reference(&scenario, 3, Options::default());
            // As text, because a leg without a connection has figures that are no number.
            let [tables, expected] = [fast.tables, reference.tables].map(|all| format!("{all:?}"));
            assert_eq!(tables, expected, "{proxy}");
            assert_eq!(fast.flows, reference.flows, "{proxy}");
        }
    }
}

#[test]
fn proxies_that_a_beam_cannot_have_are_refused() {
    let of = |proxy: &str| beam(proxy, ON_REQUEST, "cubic");
    for (text, expected) in [
        (of("preset = \"scps-gateway\""), "\"pepsal\", or keys of the sides"),
        (of("preset = \"ck-stp\""), "found \"ck-stp\""),
        (of("satellite = { towards = [\"home\"] }"), "expected one of the nodes"),
        (of("satellite = { towards = [\"spott\"] }"), "did you mean \"spot\""),
        (of("satellite = { towards = [\"server\", \"spot\"] }"), "for the terrestrial side"),
        (of("satellite = { protocol = \"scps-tp\" }"), "second proxy"),
        (
            of(HYBLA).replace("[[node]]\nname = \"gateway\"", "[[node]]\nname = \"home-2\""),
            "home-2",
        ),
    ] {
        let errors = parse(&text).err().unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(errors.starts_with("beam.toml:") && errors.contains(expected), "{errors}");
    }
    let named = parse(&of("satellite = { towards = [\"spot\"] }")).unwrap();
    assert_eq!(named.nodes, parse(&of("satellite = {}")).unwrap().nodes);
}
