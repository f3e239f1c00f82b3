//! Packets that overtake each other, arrive twice, or arrive in slots: each transport protocol, and
//! both engines.

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::{Options, run, run_on_reference};
use transport::Protocol;

use super::{controller_of, scenario_text, streams};

/// Keys of the link, and the column of `impairments` that counts.
const IMPAIRMENTS: [(&str, Option<&str>); 5] = [
    ("jitter = { variation = \"20ms\", distribution = \"normal\", reorder = true }", None),
    ("reorder = { probability = 0.1, gap = 3 }", Some("reordered_packets")),
    ("duplicate = 0.1", Some("duplicated_packets")),
    ("channel = { per = 0.1, correlation = 0.25 }\nqueue = \"unlimited\"", None),
    ("slot = { min_delay = \"10ms\", max_delay = \"30ms\" }", None),
];

/// The counts of a column, one for each direction.
fn counts(recording: &Recording, column: &str) -> Vec<u64> {
    let table = recording.tables.iter().find(|table| table.name() == "impairments").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts.to_vec(),
        _ => panic!("{column} is a count"),
    }
}

fn scenario(protocol: Protocol, keys: &str) -> Scenario {
    let text = scenario_text(controller_of(protocol), protocol.name(), "");
    let text = text
        .replace("delay =", &format!("{keys}\ndelay ="))
        .replace("\"60s\"", "\"600s\"")
        .replace("1MB", "300kB");
    Scenario::parse(&text, "impaired.toml", &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

#[test]
fn every_transport_delivers_everything_over_each_impairment_and_both_engines_agree() {
    for protocol in streams() {
        for (keys, column) in IMPAIRMENTS {
            let scenario = scenario(protocol, keys);
            let fast = run(&scenario, 1, Options::default());
            let slow = run_on_reference(&scenario, 1, Options::default());
            let context = format!("{} with {keys}", protocol.name());
            assert_eq!(fast.flows, slow.flows, "{context}");
            assert_eq!(fast.links, slow.links, "{context}");
            let flow = &fast.flows[0];
            assert!(flow.completed && flow.bytes == 300_000, "{context}: {flow:?}");
            let Some(column) = column else { continue };
            assert_eq!(counts(&fast, column), counts(&slow, column), "{context}");
            // The way back of some protocols has a handful of packets.
            let (link, count) = (&fast.links[0], counts(&fast, column)[0]);
            let share = count as f64 / link.delivered_packets as f64;
            // 0.1 of 1.1 packets are copies, and 0.1 of 1.2 are sent at once.
            assert!((0.02..0.2).contains(&share), "{context}: {count} of {link:?}");
        }
    }
}

/// TCP reports each copy of a data segment once it has it (RFC 2883), and retransmits nothing
/// because of them.
#[test]
fn tcp_takes_copies_for_what_they_are() {
    let text =
        scenario_text("newreno", "tcp", "transport.dsack = true\ntransport.recovery = \"linux\"");
    let text = text.replace("delay =", "queue = \"unlimited\"\nforward.duplicate = 0.1\ndelay =");
    let scenario = Scenario::parse(&text, "copies.toml", &[]).unwrap();
    let recording = run(&scenario, 1, Options::default());
    let flow = &recording.flows[0];
    assert!(flow.completed && flow.bytes == 1_000_000, "{flow:?}");
    let copies = counts(&recording, "duplicated_packets")[0];
    assert!((45..100).contains(&copies), "{copies} of {:?}", recording.links[0]);
    assert_eq!(flow.tcp().unwrap().segments_retransmitted, 0, "{flow:?}");
    // Delivered packets are those that were sent, and the copies.
    let sent = flow.tcp().unwrap().segments_sent;
    assert!(recording.links[0].delivered_packets >= sent + copies, "{:?}", recording.links[0]);
}
