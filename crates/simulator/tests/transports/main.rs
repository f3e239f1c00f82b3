//! Transport protocols and what they do not take: each key of `flow.transport` and each controller
//! with each protocol. What is refused is refused with its line, and with what is possible.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod common;
mod impairments;
mod paths;
mod sctp;
mod stp;
mod xtp;

use std::collections::BTreeSet;

use congestion::entries;
use scenario::{Scenario, transports};
use transport::{Protocol, ProtocolEntry};

/// Values of keys without a default.
const VALUES: [(&str, &str); 12] = [
    ("careful_resume", r#"{ saved_cwnd = "100kB", saved_rtt = "500ms" }"#),
    ("delayed_ack", r#""200ms""#),
    ("ecn", "true"),
    ("initial_sequence", "1"),
    ("keep_alive", "{}"),
    ("quick_start", r#""1Mbit/s""#),
    ("reader_rate", r#""1Mbit/s""#),
    ("receive_offload", "{}"),
    ("recovery", r#""sack""#),
    ("rto", "{}"),
    // Not with the recovery that the controller was designed for.
    ("sack_compression", "{}\ntransport.recovery = \"sack\""),
    ("user_timeout", r#""9s""#),
];

/// Protocols that deliver a stream of bytes.
fn streams() -> impl Iterator<Item = Protocol> {
    Protocol::ALL.into_iter().filter(|protocol| protocol.entry().has_stream)
}

fn scenario_text(controller: &str, protocol: &str, key: &str) -> String {
    let has_stream = streams().any(|one| one.name() == protocol);
    let traffic = if has_stream { "download = \"1MB\"" } else { "messages = { count = 10 }" };
    format!(
        r#"duration = "60s"
[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "260ms"
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
traffic = {{ {traffic} }}
transport.protocol = "{protocol}"
{key}
"#
    )
}

fn parse(controller: &str, protocol: &str, key: &str) -> Result<Scenario, String> {
    let text = scenario_text(controller, protocol, key);
    Scenario::parse(&text, "test.toml", &[]).map_err(|errors| errors.to_string())
}

/// A controller that the protocol carries.
fn controller_of(protocol: Protocol) -> &'static str {
    if impossible(protocol).contains(&"newreno") { "none" } else { "newreno" }
}

/// Data and answers are corrupted, a packet of a hundred in each direction.
#[test]
fn every_transport_delivers_everything_over_a_link_that_loses_in_both_directions() {
    for protocol in streams() {
        for seed in 1..=3 {
            let text = scenario_text(controller_of(protocol), protocol.name(), "");
            let text = text
                .replace("delay =", "channel = { per = 0.01 }\ndelay =")
                .replace("\"60s\"", "\"600s\"");
            let scenario = Scenario::parse(&text, "losses.toml", &[]).unwrap();
            let recording = simulator::run(&scenario, seed, simulator::Options::default());
            let flow = &recording.flows[0];
            let name = protocol.name();
            assert!(flow.completed, "{name}, seed {seed}: {} bytes", flow.bytes);
            assert_eq!(flow.bytes, 1_000_000, "{name}, seed {seed}");
            let [there, back] = [0, 1].map(|side| recording.links[side].corrupted_packets);
            // An end with few packets of its own may lose none of them.
            assert!(there > 0, "{name}, seed {seed}: {there} and {back} losses");
        }
    }
}

/// The page names tests that exist.
#[test]
fn the_table_of_tests_in_the_documentation_names_tests_that_exist() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |path: &str| std::fs::read_to_string(format!("{root}/{path}")).unwrap();
    let page = read("docs/transport.md");
    let (_, table) = page.split_once("## Tests of every transport\n").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let mut transports = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [transport, _, file, tests] = cells[..] else { panic!("{row}") };
        let source = read(&format!("crates/{}", file.trim_matches('`')));
        for name in tests.split(", ").map(|name| name.trim_matches('`')) {
            assert!(source.contains(&format!("fn {name}(")), "{file} has no test {name}");
        }
        transports.insert(transport.to_lowercase());
    }
    for protocol in Protocol::ALL {
        assert!(transports.contains(protocol.name()), "{} is not in the table", protocol.name());
    }
}

/// All keys of `flow.transport` but `protocol`, each with a value.
fn keys() -> Vec<(String, String)> {
    let all = transports();
    let parameters = all.iter().flat_map(|one| &one.parameters);
    let values = parameters.map(|one| match one.name.split_once('.') {
        Some((table, _)) => (table.to_owned(), "{}".to_owned()),
        None => (one.name.clone(), value(&one.name, &one.default)),
    });
    values.collect::<BTreeSet<_>>().into_iter().collect()
}

fn value(key: &str, default: &str) -> String {
    let written = VALUES.iter().find(|(name, _)| *name == key);
    let is_bare = |text: &str| text == "true" || text == "false" || text.parse::<f64>().is_ok();
    match written {
        Some((_, value)) => (*value).to_owned(),
        None if is_bare(default) || default.starts_with('{') => default.to_owned(),
        None => format!("{default:?}"),
    }
}

fn takes(entry: &ProtocolEntry, key: &str) -> bool {
    entry.table == Some(key) || (owner(key).is_none() && entry.takes(key))
}

/// The protocol whose table this key is.
fn owner(key: &str) -> Option<&'static ProtocolEntry> {
    Protocol::ALL.iter().map(|one| one.entry()).find(|one| one.table == Some(key))
}

#[test]
fn a_key_that_a_protocol_does_not_take_is_refused_with_its_line_and_what_is_possible() {
    let keys = keys();
    assert!(keys.len() > 30, "{keys:?}");
    for protocol in Protocol::ALL {
        let entry = protocol.entry();
        for (key, value) in &keys {
            let text = format!("transport.{key} = {value}");
            let parsed = parse(controller_of(protocol), entry.name, &text);
            if takes(entry, key) {
                assert!(parsed.is_ok(), "{}, {text}: {}", entry.name, parsed.unwrap_err());
                continue;
            }
            let error = parsed.expect_err(&format!("{} takes no {key}", entry.name));
            let expected = format!("expected no `{key}` with protocol = {:?}", entry.name);
            assert!(error.contains("test.toml:12"), "{error}");
            assert!(error.contains(&format!("transport.{key}")), "{error}");
            assert!(error.contains(&expected), "{error}");
            let reason = match owner(key) {
                Some(owner) => format!("the settings of protocol = {:?}", owner.name),
                None => format!("it is a setting of TCP, and {} has ", entry.name),
            };
            assert!(error.contains(&reason), "{error}");
        }
    }
}

/// Controllers that a protocol cannot carry. quinn's crate has a test of the reasons.
fn impossible(protocol: Protocol) -> Vec<&'static str> {
    match protocol.name() {
        "quic" => {
            vec!["cherry", "dctcp", "ebn", "none", "p-xcp", "peach", "peach-plus", "prague", "xcp"]
        }
        // They have no congestion control, or their own.
        _ if !protocol.takes_controller() => {
            let mut all: Vec<_> = entries().map(|entry| entry.name).collect();
            all.sort_unstable();
            all
        }
        // Its reports come a few times in each round trip.
        "stp" => vec![
            "adalr",
            "aliad",
            "allegro",
            "bbr",
            "bbr3",
            "bulk-repeat",
            "cdg",
            "cherry",
            "copa",
            "copa2",
            "cubic",
            "dctcp",
            "ebn",
            "hybla",
            "illinois",
            "jersey",
            "ledbat",
            "leocc",
            "leocc-live",
            "liad",
            "logwestwood-plus",
            "lp",
            "new-jersey",
            "new-vegas",
            "none",
            "nv",
            "p-xcp",
            "peach",
            "peach-plus",
            "prague",
            "satcp",
            "scps-vegas",
            "star",
            "starquic",
            "vegas",
            "vivace",
            "westwood",
            "westwood-abse",
            "westwood-plus",
            "xcp",
            "yeah",
        ],
        _ => vec!["none"],
    }
}

#[test]
fn a_controller_that_a_protocol_cannot_carry_is_refused_with_its_line_and_the_reason() {
    for protocol in Protocol::ALL {
        let mut refused = Vec::new();
        // No congestion control is in no list.
        for name in entries().map(|entry| entry.name).chain(["none"]) {
            let Err(error) = parse(name, protocol.name(), "") else { continue };
            refused.push(name);
            assert!(error.contains("test.toml:9"), "{error}");
            assert!(error.contains("controller: expected "), "{error}");
            // What was found, and the reason behind it.
            assert!(error.contains(&format!("found {name:?}: ")), "{error}");
        }
        refused.sort_unstable();
        assert_eq!(refused, impossible(protocol), "{}", protocol.name());
    }
}
