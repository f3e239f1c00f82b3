//! Middleboxes at nodes before a gateway, at the gateway, and at terminals.

use recording::{Recording, Values};
use scenario::Scenario;

use super::{beam, check_bytes, parse, run};

/// All that see packets of a node, with parameters for these paths where the defaults are for
/// others.
const DEVICES: [&str; 5] = [
    "\"ack-decimation\"",
    "\"ack-reconstruction\"",
    "\"packet-control\"",
    "\"snoop\"",
    "{ name = \"spoofing-proxy\", store = \"1MB\" }",
];

fn node(name: &str, middlebox: &str) -> String {
    format!("[[node]]\nname = \"{name}\"\nmiddlebox = {middlebox}\n")
}

/// The counter of each node that has it.
fn counter(recording: &Recording, name: &str) -> Vec<(String, u64)> {
    let table = recording.tables.iter().find(|one| one.name() == "middlebox").unwrap();
    let columns = table.columns();
    let values = |name: &str| &columns.iter().find(|one| one.name == name).unwrap().values;
    let (Values::Text(nodes), Values::Text(counters), Values::U64(packets)) =
        (values("node"), values("counter"), values("packets"))
    else {
        panic!("texts and counts");
    };
    let rows = nodes.iter().zip(counters.iter()).zip(packets.iter());
    let rows = rows.filter(|((_, counter), _)| **counter == name);
    rows.map(|((node, _), packets)| ((*node).to_owned(), *packets)).collect()
}

/// Packets that all terminals have sent.
fn returned(recording: &Recording) -> u64 {
    // Forward and return of each terminal.
    super::counts(recording, "beam_terminals", "packets").iter().skip(1).step_by(2).sum()
}

/// Each place sees all packets of its flows: those of three terminals, or of its own.
#[test]
fn a_middlebox_sees_the_packets_of_the_beam() {
    for device in DEVICES {
        for (place, nodes) in [
            ("router", vec!["router"]),
            ("gateway", vec!["gateway"]),
            ("home", vec!["home-1", "home-2", "home-3"]),
            ("home-2", vec!["home-2"]),
        ] {
            let recording = run(&beam("", &node(place, device), "cubic"));
            check_bytes(&recording, &format!("{device} at {place}"));
            let received = counter(&recording, "received");
            assert!(received.iter().map(|(node, _)| node).eq(&nodes), "{received:?}");
            // More than 40 segments of the download, and ACKs.
            let least = 60 * 3 / u64::try_from(nodes.len()).unwrap_or(3);
            let least = if place == "home-2" { 60 } else { least };
            assert!(received.iter().all(|(_, packets)| *packets > least), "{received:?}");
        }
    }
}

#[test]
fn transfers_of_every_controller_end_with_every_middlebox() {
    for (number, entry) in congestion::entries().enumerate() {
        for (place, name) in ["gateway", "home"].into_iter().enumerate() {
            let devices = DEVICES.into_iter().chain(["\"ack-filter\""]);
            let device = devices.cycle().nth(number + 2 * place).unwrap();
            let text = beam("", &node(name, device), entry.name).replace("\"600s\"", "\"3000s\"");
            check_bytes(&run(&text), &format!("{} with {device} at {name}", entry.name));
        }
    }
}

/// ACKs of the download are thinned out in the terminal, and reconstructed at the gateway.
#[test]
fn acks_are_thinned_out_before_the_return_channel() {
    let up = |more: &str| {
        let recording = run(&beam("", more, "cubic"));
        check_bytes(&recording, more);
        recording
    };
    let decimation = node("home", "\"ack-decimation\"");
    let both = format!("{decimation}{}", node("gateway", "\"ack-reconstruction\""));
    let [plain, thin, both] = ["", &decimation, &both].map(up);
    let decimated: u64 = counter(&thin, "decimated").iter().map(|(_, packets)| packets).sum();
    assert!(decimated > 20, "{decimated}");
    assert!(returned(&thin) + 20 < returned(&plain));
    let made: u64 = counter(&both, "reconstructed").iter().map(|(_, packets)| packets).sum();
    assert!(made > 10, "{made}");
}

/// A channel with one narrow carrier, so that ACKs wait at the terminals.
fn narrow(more: &str, group: &str) -> String {
    beam("", more, "cubic")
        .replace("carriers = 4", "carriers = 1, bandwidth = 62500.0")
        .replace("return_es_n0 = 9.0\n", &format!("return_es_n0 = 9.0\n{group}\n"))
        .replace("60kB", "600kB")
}

/// ACKs that wait for slots are replaced by later ones, so the terminals send fewer packets. All
/// else arrives.
#[test]
fn an_ack_filter_at_terminals_takes_acks_out_of_their_queues() {
    for rule in ["cake", "cake-aggressive", "ns-2"] {
        let filter = node("home", &format!("{{ name = \"ack-filter\", rule = {rule:?} }}"));
        for group in [
            "requests = \"rbdc\"",
            "requests = \"vbdc\"\nfca = true",
            "requests = \"rbdc\"\nplan = { up = { rate = \"40kbit/s\" } }",
        ] {
            let [plain, filtered] = ["", &filter].map(|more| run(&narrow(more, group)));
            let counts = counter(&filtered, "filtered");
            assert!(counts.iter().all(|(_, packets)| *packets > 20), "{rule}, {group}: {counts:?}");
            for flow in plain.flows.iter().chain(&filtered.flows) {
                assert!(flow.completed, "{rule}, {group}: {}", flow.flow);
            }
            let [before, after] = [&plain, &filtered].map(returned);
            assert!(after + 60 < before, "{rule}, {group}: {after} packets against {before}");
        }
    }
}

/// A queue that random access empties, and one whose terminals have proxies, too.
#[test]
fn an_ack_filter_meets_random_access_and_proxies() {
    let filter = "middlebox = \"ack-filter\"\n";
    let proxy = "proxy = { satellite = { controller = \"cubic\" } }\n";
    let at_random = |more: &str| {
        let access =
            "carriers = 1, bandwidth = 62500.0, access = { scheme = \"crdsa\", carriers = 2 }";
        narrow(more, "requests = \"rbdc\"\nrandom_access = true")
            .replace("carriers = 1, bandwidth = 62500.0", access)
    };
    for keys in [filter.to_owned(), format!("{filter}{proxy}")] {
        let more = format!("[[node]]\nname = \"home\"\n{keys}");
        let recording = run(&at_random(&more));
        assert!(recording.flows.iter().all(|flow| flow.completed), "{keys}");
        assert!(counter(&recording, "filtered").iter().any(|(_, packets)| *packets > 0), "{keys}");
    }
}

/// In the queue of the link that leaves the gateway, where ACKs of all terminals wait.
#[test]
fn an_ack_filter_at_the_gateway_works_in_the_queues_of_its_links() {
    let text =
        beam("backward = { rate = \"30kbit/s\" }", &node("gateway", "\"ack-filter\""), "cubic");
    let recording = run(&text);
    check_bytes(&recording, "at the gateway");
    let counts = counter(&recording, "filtered");
    assert!(counts.len() == 1 && counts[0].1 > 20, "{counts:?}");
}

/// The proxy in the terminal acknowledges uploads, whose data waits for slots, and sends on what
/// has not arrived.
#[test]
fn a_spoofing_proxy_in_a_terminal_acknowledges_uploads() {
    let recording = run(&beam("", &node("home", DEVICES[4]), "cubic"));
    check_bytes(&recording, "spoofing in the terminals");
    assert!(counter(&recording, "answered").iter().all(|(_, packets)| *packets > 5));
}

/// A tunnel hides what is in it, and its packets pass.
#[test]
fn a_middlebox_passes_the_packets_of_a_tunnel() {
    for device in DEVICES {
        for tunnel in ["\"wireguard\"", "{ name = \"masque\", controller = \"cubic\" }"] {
            let text = beam("", &(node("home", device) + &node("gateway", device)), "cubic")
                .replace("traffic = ", &format!("tunnel = {tunnel}\ntraffic = "));
            let recording = run(&text);
            check_bytes(&recording, device);
            let [received, sent] = ["received", "sent"].map(|name| counter(&recording, name));
            assert_eq!(received, sent, "{device}");
        }
    }
}

#[test]
fn a_node_of_a_terminal_takes_the_place_of_that_of_its_group() {
    let with = |more: &str| {
        let scenario = parse(&beam("", more, "cubic"));
        let nodes = scenario.nodes[scenario.linked_nodes()..].iter();
        nodes
            .map(|one| (one.middlebox.map_or("", |one| one.name()), one.proxy.is_some()))
            .collect::<Vec<_>>()
    };
    let group = "[[node]]\nname = \"home\"\nproxy = \"pepsal\"\n";
    let own = node("home-2", "\"snoop\"");
    let expected = [("", true), ("snoop", false), ("", true)];
    assert_eq!(with(&format!("{group}{own}")), expected);
    assert_eq!(with(&format!("{own}{group}")), expected);
    let without = node("home", "\"snoop\"") + &node("home-3", "\"none\"");
    assert_eq!(with(&without), [("snoop", false), ("snoop", false), ("", false)]);
}

#[test]
fn middleboxes_that_see_no_packet_are_refused() {
    let parse = |text: &str| Scenario::parse(text, "beam.toml", &[]);
    let group =
        "[[beam.group]]\nname = \"other\"\nterminals = 2\nes_n0 = 11.0\nreturn_es_n0 = 9.0\n";
    let flow = "[[flow]]
name = \"more\"
from = \"server\"
to = \"other-1\"
\
                controller = \"cubic\"
traffic = { bulk = \"1kB\" }
";
    let with = |more: &str| {
        beam("", more, "cubic").replacen("\n[[flow]]", &format!("\n{group}\n{flow}\n[[flow]]"), 1)
    };
    assert!(parse(&with(&node("other", "\"snoop\""))).is_ok());
    for (more, expected) in [
        (node("server", "\"snoop\""), "a node that forwards packets of a flow"),
        (node("other-2", "\"snoop\""), "a node that forwards packets of a flow"),
        (node("home", "\"snop\""), "did you mean \"snoop\""),
        (
            node("home", "\"snoop\"") + "proxy = \"pepsal\"\n",
            "a node without a `middlebox`, or with \"ack-filter\"",
        ),
    ] {
        let errors = parse(&with(&more)).unwrap_err().to_string();
        assert!(errors.contains(expected), "{more}: {errors}");
    }
}
