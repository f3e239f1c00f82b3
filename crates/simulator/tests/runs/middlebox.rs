//! Middleboxes under TCP: what they are for, with every controller.

use proptest::prelude::*;
use recording::{Recording, Values};
use simulator::Options;

use super::{parse, run};

/// A counter of the only middlebox.
fn count(recording: &Recording, counter: &str) -> u64 {
    let table = recording.tables.iter().find(|table| table.name() == "middlebox").unwrap();
    let columns = table.columns();
    let [Values::Text(names), Values::U64(counts)] = [&columns[2].values, &columns[3].values]
    else {
        panic!("the columns have other types");
    };
    let place = names.iter().position(|name| *name == counter);
    counts[place.unwrap_or_else(|| panic!("no counter {counter}"))]
}

/// A server, a terminal with `middlebox` and a client. ACKs leave the terminal at `back`. `link` are
/// further keys of the satellite link.
fn satellite(middlebox: &str, back: &str, link: &str, flow: &str) -> String {
    format!(
        r#"
duration = "600s"
[[node]]
name = "terminal"
middlebox = {middlebox}
[[link]]
between = ["server", "terminal"]
delay = "50ms"
forward = {{ rate = "10Mbit/s", queue = {{ packets = 200 }} }}
backward = {{ rate = "{back}", queue = {{ packets = 60 }} }}
{link}
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "client"
{flow}
"#
    )
}

fn download(controller: &str, size: &str, transport: &str) -> String {
    format!(
        "controller = \"{controller}\"\ntransport = {{ {transport} }}\n\
         traffic = {{ download = \"{size}\" }}\n"
    )
}

const RULES: [&str; 3] = ["cake", "cake-aggressive", "ns-2"];

fn filter(rule: &str) -> String {
    format!("{{ name = \"ack-filter\", rule = {rule:?} }}")
}

#[test]
fn a_transfer_of_every_controller_ends_behind_an_ack_filter() {
    for entry in congestion::entries() {
        for rule in RULES {
            let flow = download(entry.name, "1MB", "recovery = \"sack\"");
            let recording = run(&satellite(&filter(rule), "32kbit/s", "", &flow));
            let case = format!("{} with {rule}", entry.name);
            assert!(recording.flows[0].completed, "{case}");
            assert_eq!(recording.flows[0].bytes, 1_000_000, "{case}");
            assert!(count(&recording, "filtered") > 0, "{case}");
        }
    }
}

/// RFC 3449 section 5.2.1: the return link no longer limits the flow by the number of ACKs, and those
/// that pass are young.
#[test]
fn an_ack_filter_shortens_the_queue_of_acks_on_a_thin_return_link() {
    let with = |middlebox: &str| {
        let flow = download("newreno", "5MB", "recovery = \"sack\"");
        run(&satellite(middlebox, "32kbit/s", "", &flow))
    };
    let without = with("\"none\"");
    assert!(without.tables.is_empty());
    for rule in RULES {
        let filtered = with(&filter(rule));
        let backward = |recording: &Recording| recording.links[1].clone();
        let [short, long] = [&filtered, &without].map(|run| backward(run).max_queue_bytes);
        assert!(2 * short < long, "{rule}: {short} of {long} B");
        assert!(backward(&filtered).dropped_packets == 0, "{rule}");
        let goodput = |recording: &Recording| recording.flows[0].goodput_bps;
        assert!(goodput(&filtered) > 0.9 * goodput(&without), "{rule}");
    }
}

#[test]
fn active_queue_management_and_marks_work_on_with_an_ack_filter() {
    for aqm in scenario::model::Aqm::all() {
        let link = format!("aqm = {:?}", aqm.name());
        let flow = download("cubic", "2MB", "recovery = \"sack\", ecn = true");
        let text = satellite(&filter("cake-aggressive"), "32kbit/s", &link, &flow);
        let recording = run(&text);
        assert!(recording.flows[0].completed, "{}", aqm.name());
        assert!(count(&recording, "filtered") > 0, "{}", aqm.name());
        let slow = simulator::run_on_reference(&parse(&text), 1, Options::default());
        let [fast, slow] = [recording, slow].map(|run| Recording { events: 0, ..run }.digest());
        assert_eq!(fast, slow, "{}", aqm.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 150, ..ProptestConfig::default() })]

    /// Over random loss and jitter, with data in both directions, a transfer ends with exactly the bytes
    /// that were sent.
    #[test]
    fn transfers_end_with_the_bytes_that_were_sent(
        rule in prop::sample::select(RULES.to_vec()),
        back in 16u32..2000, per in 0.0..0.05f64, jitter in 0u32..40, seed: u64,
        recovery in prop::sample::select(vec!["reno", "newreno", "sack", "linux"]),
        timestamps: bool, ecn: bool,
    ) {
        let link = format!("channel = {{ per = {per} }}\njitter = \"{jitter}ms\"");
        let transport = format!(
            "recovery = {recovery:?}, timestamps = {timestamps}, ecn = {ecn}"
        );
        let flow = download("newreno", "200kB", &transport)
            + "[[flow]]\nfrom = \"client\"\nto = \"server\"\ncontroller = \"cubic\"\n\
               traffic = { bulk = \"20kB\" }\n";
        let text = satellite(&filter(rule), &format!("{back}kbit/s"), &link, &flow);
        let recording = simulator::run(&parse(&text), seed, Options::default());
        for (flow, bytes) in recording.flows.iter().zip([200_000, 20_000]) {
            prop_assert!(flow.completed, "{}", text);
            prop_assert_eq!(flow.bytes, bytes);
        }
    }
}
