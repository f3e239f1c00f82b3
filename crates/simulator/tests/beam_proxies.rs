//! Split proxies at the gateway of a beam, at its terminals, and at both: all bytes arrive, legs
//! end there, and both engines agree.

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
fn beam(proxy: &str, access: [&str; 2], controller: &str) -> String {
    beam_with(&[("gateway", proxy)], access, controller)
}

/// The same with proxies at several nodes.
fn beam_with(proxies: &[(&str, &str)], [back, group]: [&str; 2], controller: &str) -> String {
    let proxies = proxies.iter().filter(|(_, keys)| !keys.is_empty());
    let node = |(name, keys): &(&str, &str)| match *keys {
        "none" => format!("[[node]]\nname = \"{name}\"\nproxy = \"none\"\n"),
        keys => format!("[[node]]\nname = \"{name}\"\nproxy = {{ {keys} }}\n"),
    };
    let node: String = proxies.map(node).collect();
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

/// It fills the channel with probes of low priority, which no queue of a beam drops first. With
/// proxies at both ends some of its connections end by their number of retransmissions.
const FLOODING: &str = "peach";

/// Packets that random access has lost in runs of a controller without proxies, with one at the
/// gateway, and with one in each terminal too.
fn lost(controller: &str, access: [&str; 2]) -> f64 {
    let proxy = format!("satellite = {{ controller = \"{controller}\" }}");
    let run = |proxies: &[(&str, &str)]| {
        let scenario = parse(&beam_with(proxies, access, controller)).unwrap();
        let recording = simulator::run(&scenario, 1, Options::default());
        assert_eq!(recording.flows.len(), 8);
        let may_give_up = controller == FLOODING && access == LOSSY && proxies.len() == 2;
        for flow in &recording.flows {
            let size = if flow.flow.starts_with("down") { 30_000 } else { 8000 };
            let who = format!("{controller}, {}, proxies: {proxies:?}", flow.flow);
            let is_whole = flow.completed && flow.bytes == size;
            assert!(is_whole || may_give_up && flow.aborted, "{who}: {} bytes", flow.bytes);
        }
        let has_legs = recording.tables.iter().any(|one| one.name() == "legs");
        assert_eq!(has_legs, !proxies.is_empty());
        if has_legs && !may_give_up {
            // Each leg has carried all of its flow.
            let legs = |bytes: u64| std::iter::repeat_n(bytes as f64, proxies.len() + 1);
            let sizes = recording.flows.iter().flat_map(|flow| legs(flow.bytes));
            assert!(column(&recording, "legs", "bytes").into_iter().eq(sizes), "{controller}");
        }
        column(&recording, "beams", "random_given_up")[0]
    };
    let of_gateway = ("gateway", &*proxy);
    run(&[]) + run(&[of_gateway]) + run(&[of_gateway, ("home", &proxy)])
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

/// Texts of a column of the table of legs.
fn texts(recording: &Recording, name: &str) -> Vec<String> {
    let table = recording.tables.iter().find(|one| one.name() == "legs").unwrap();
    match &table.columns().iter().find(|one| one.name == name).unwrap().values {
        Values::Text(values) => values.iter().map(|text| (*text).to_owned()).collect(),
        _ => panic!("{name} is a text"),
    }
}

/// A proxy at both ends of the beam: the leg between them has a protocol and a controller of its
/// own, and the user's host is a LAN away from its proxy.
#[test]
fn a_leg_between_gateway_and_terminals_has_its_own_protocol_and_controller() {
    let constant = ["carriers = 4", "cra = \"64kbit/s\""];
    for (keys, protocol, controller) in [
        (HYBLA, "tcp", "hybla"),
        ("satellite = { protocol = \"quic\", controller = \"bbr3\" }", "quic", "bbr3"),
        ("satellite = { protocol = \"scps-tp\", controller = \"vegas\" }", "scps-tp", "vegas"),
    ] {
        let text = beam_with(&[("gateway", keys), ("home", keys)], constant, "cubic");
        let recording = simulator::run(&parse(&text).unwrap(), 1, Options::default());
        assert!(recording.flows.iter().all(|flow| flow.completed), "{keys}");
        let [from, to] = ["from", "to"].map(|name| texts(&recording, name));
        // Of the first download, and of the last upload.
        assert_eq!(from[..3], ["server", "gateway", "home-1"]);
        assert_eq!(to[..3], ["gateway", "home-1", "host of home-1"]);
        assert_eq!(from[21..], ["host of home-4", "home-4", "gateway"]);
        assert_eq!(to[21..], ["home-4", "gateway", "server"]);
        let [protocols, controllers] =
            ["protocol", "controller"].map(|name| texts(&recording, name));
        assert_eq!(protocols[..3], ["tcp", protocol, "tcp"]);
        assert_eq!(controllers[..3], ["cubic", controller, "cubic"]);
        let rtts = column(&recording, "legs", "min_rtt_ms");
        for legs in rtts[..12].chunks(3) {
            assert!((500.0..900.0).contains(&legs[1]), "{keys}: {legs:?}");
            // Twice the delay, in ticks of a millisecond.
            assert!((2.0..=3.0).contains(&legs[2]), "{keys}: {legs:?}");
        }
    }
}

/// Names of the nodes that end legs of downloads, flow by flow.
fn ends_of_downloads(proxies: &[(&str, &str)]) -> Vec<Vec<String>> {
    let scenario = parse(&beam_with(proxies, ON_REQUEST, "cubic")).unwrap();
    let ends = |flow: &scenario::model::Flow| {
        flow.gateways.iter().map(|one| scenario.nodes[one.node].name.clone()).collect()
    };
    scenario.flows[..4].iter().map(ends).collect()
}

#[test]
fn a_proxy_at_a_group_is_in_each_terminal_and_one_at_a_terminal_in_that_one() {
    let all = ends_of_downloads(&[("home", HYBLA)]);
    assert_eq!(all, [["home-1"], ["home-2"], ["home-3"], ["home-4"]]);
    let none: Vec<String> = Vec::new();
    let one = ends_of_downloads(&[("home-3", HYBLA)]);
    assert_eq!(one, [none.clone(), none.clone(), vec!["home-3".to_owned()], none.clone()]);
    // The terminal comes before its group, whatever their order.
    for pair in [[("home", HYBLA), ("home-2", "none")], [("home-2", "none"), ("home", HYBLA)]] {
        let but_one = ends_of_downloads(&pair);
        assert_eq!((&but_one[0][0], &but_one[1]), (&"home-1".to_owned(), &none));
    }
    let cubic = "satellite = { controller = \"cubic\" }";
    let text = beam_with(&[("home-2", HYBLA), ("home", cubic)], ON_REQUEST, "reno");
    let flows = parse(&text).unwrap().flows;
    let controllers =
        flows[..4].iter().map(|flow| flow.gateways[0].ends[0].controller.entry().name);
    assert!(controllers.eq(["cubic", "hybla", "cubic", "cubic"]));
}

/// Limits are those of each terminal: one connection at a time is split in each of four.
#[test]
fn each_terminal_has_limits_of_its_own() {
    let limited = "limits = { connections = 1, at_limit = \"pass\" }";
    let text = beam_with(&[("home", limited)], ON_REQUEST, "cubic");
    let recording = simulator::run(&parse(&text).unwrap(), 1, Options::default());
    assert!(recording.flows.iter().all(|flow| flow.completed));
    assert_eq!(column(&recording, "proxies", "max_open_connections"), [1.0; 4]);
    let passed = column(&recording, "proxies", "passed_connections");
    assert!(passed.iter().all(|passed| *passed <= 1.0) && passed.iter().sum::<f64>() > 0.0);
}

#[test]
fn both_engines_give_the_same_recordings() {
    for proxy in [
        HYBLA,
        "accept = \"late\", satellite = { controller = \"bbr3\", rate = \"2Mbit/s\" }",
        "satellite = { controller = \"cubic\" }, limits = { connections = 2, at_limit = \"pass\" }",
        // At the gateway and at the terminals.
        "limits = { connections = 1, at_limit = \"pass\" }, satellite = { controller = \"reno\" }",
        "satellite = { protocol = \"quic\" }",
    ] {
        for access in [LOSSY, ON_REQUEST] {
            let places: &[&str] = match proxy.contains("quic") || proxy.contains("reno") {
                true => &["gateway", "home"],
                false => &["gateway"],
            };
            let proxies: Vec<_> = places.iter().map(|place| (*place, proxy)).collect();
            let scenario = parse(&beam_with(&proxies, access, "cubic")).unwrap();
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
    let at = |name: &str, keys: &str| {
        of("").replace("[[beam]]", &format!("[[node]]\nname = \"{name}\"\n{keys}\n\n[[beam]]"))
    };
    for (text, expected) in [
        (of("preset = \"scps-gateway\""), "\"pepsal\", or keys of the sides"),
        (of("preset = \"ck-stp\""), "found \"ck-stp\""),
        (of("satellite = { towards = [\"home\"] }"), "expected one of the nodes"),
        (of("satellite = { towards = [\"spott\"] }"), "did you mean \"spot\""),
        (of("satellite = { towards = [\"server\", \"spot\"] }"), "for the terrestrial side"),
        (of("satellite = { protocol = \"scps-tp\" }"), "second proxy"),
        (at("home-5", "proxy = \"pepsal\""), "a terminal from \"home-1\" to \"home-4\""),
        (at("hom", "proxy = \"pepsal\""), "did you mean \"home\""),
        (at("home", "proxy = { satellite = { towards = [\"spot\"] } }"), "satellite.towards"),
        (at("home", "proxy = \"satpep\""), "found \"satpep\""),
        (at("home", "proxy = { satellite = { protocol = \"quic\" } }"), "second proxy"),
        (at("home", "host = \"linux-6.18\""), "`host` of the group has it"),
        (at("home", "middlebox = \"snoop\"\nproxy = \"pepsal\""), "without a `middlebox`"),
        (at("home-2", "forwarding = { rate = \"1Mbit/s\", buffer = \"9kB\" }"), "a terminal has"),
        (at("home", ""), "a proxy, or a `middlebox`"),
        (
            at("home", "proxy = \"pepsal\"\n[[node]]\nname = \"home\"\nproxy = \"none\""),
            "second time",
        ),
        (
            at("home-4", "proxy = \"pepsal\"")
                .replace("to = \"home\"", "to = \"home-1\"")
                .replace("from = \"home\"", "from = \"home-1\""),
            "a node that a flow over TCP crosses",
        ),
        // The number of a node among all is not that of its table.
        (
            at("home", "proxy = \"pepsal\"\n[[node]]\nname = \"server\"\nmiddlebox = \"snoop\""),
            "node[1].middlebox",
        ),
    ] {
        let errors = parse(&text).err().unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(errors.starts_with("beam.toml:") && errors.contains(expected), "{errors}");
    }
    let named = parse(&of("satellite = { towards = [\"spot\"] }")).unwrap();
    assert_eq!(named.nodes, parse(&of("satellite = {}")).unwrap().nodes);
}
