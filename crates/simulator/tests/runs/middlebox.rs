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

/// A server, a terminal with `middlebox` and a client. ACKs leave the terminal at `back`. `link`
/// are further keys of the satellite link.
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
            // ACKs with the option of accurate ECN: CAKE keeps options that it does not know.
            let kept = entry.name == "prague" && rule != "ns-2";
            assert_eq!(count(&recording, "filtered") > 0, !kept, "{case}");
        }
    }
}

/// Counters that show a middlebox at work, and why some do none for accurate ECN, whose reports of
/// marks are in each ACK.
const WORK_FOR_PRAGUE: &[(&str, &str, Option<&str>)] = &[
    ("ack-decimation", "decimated", Some("an ACK with ECN flags is no ordinary one")),
    ("ack-filter", "filtered", Some("CAKE keeps ACKs with options that it does not know")),
    ("ack-reconstruction", "reconstructed", Some("as decimation")),
    ("packet-control", "dropped", None),
    ("snoop", "retransmitted", None),
    ("spoofing-proxy", "promised", None),
];

#[test]
fn every_middlebox_does_its_work_for_prague_or_says_why_not() {
    let names: Vec<_> = middlebox::Middlebox::all().map(|one| one.name()).to_vec();
    assert_eq!(names, WORK_FOR_PRAGUE.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
    for (name, counter, reason) in WORK_FOR_PRAGUE {
        let hop = "channel = { per = 0.01 }";
        let flow = download("prague", "2MB", "recovery = \"sack\"");
        let recording = run(&satellite(&format!("{name:?}"), "32kbit/s", hop, &flow));
        assert!(recording.flows[0].completed, "{name}");
        assert_eq!(count(&recording, counter) == 0, reason.is_some(), "{name}");
    }
}

/// RFC 3449 section 5.2.1: the return link no longer limits the flow by the number of ACKs, and
/// those that pass are young.
#[test]
fn an_ack_filter_shortens_the_queue_of_acks_on_a_thin_return_link() {
    let with = |middlebox: &str| {
        // A window below the BDP: without losses there are no duplicate ACKs, which all rules keep.
        let flow = download("newreno", "5MB", "receive_buffer = \"64kB\"");
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

/// All that see the packets that their node forwards.
fn devices() -> impl Iterator<Item = &'static str> {
    let all = scenario::model::Middlebox::all();
    all.into_iter().filter(|one| !one.is_in_queues()).map(|one| one.name())
}

/// A server, a gateway with a middlebox, and a client. `links` and `flow` are TOML.
fn behind_a_gateway(middlebox: &str, links: [&str; 2], flow: &str) -> String {
    let [first, second] = links;
    format!(
        r#"
duration = "600s"
[[node]]
name = "gateway"
middlebox = {middlebox}
[[link]]
between = ["server", "gateway"]
{first}
[[link]]
between = ["gateway", "client"]
{second}
[[flow]]
from = "server"
to = "client"
{flow}
"#
    )
}

/// A last hop that loses packets behind a long way.
fn lossy_last_hop(middlebox: &str, per: f64, flow: &str) -> String {
    let first = r#"rate = "10Mbit/s"
delay = "100ms"
queue = { packets = 400 }"#;
    let second = format!(
        r#"rate = "20Mbit/s"
delay = "2ms"
forward = {{ channel = {{ per = {per} }} }}"#
    );
    behind_a_gateway(middlebox, [first, &second], flow)
}

#[test]
fn a_transfer_of_every_controller_ends_with_every_middlebox() {
    for entry in congestion::entries() {
        for name in devices() {
            let flow = download(entry.name, "1MB", "recovery = \"sack\"");
            let recording = run(&lossy_last_hop(&format!("{name:?}"), 0.005, &flow));
            let case = format!("{} with {name}", entry.name);
            assert!(recording.flows[0].completed, "{case}");
            assert_eq!(recording.flows[0].bytes, 1_000_000, "{case}");
            assert!(count(&recording, "received") > 0, "{case}");
        }
    }
}

/// Random loss on a link on which packets overtake others, and data of both directions with the
/// same controller.
#[test]
fn every_controller_and_middlebox_pass_all_bytes_over_loss_and_reordering() {
    let link = "channel = { per = 0.01 }\nreorder = true\n\
                event = [{ at = \"500ms\", every = \"1s\", delay = \"20ms\" }, \
                { at = \"1s\", every = \"1s\", delay = \"60ms\" }]";
    let rules = RULES.map(filter).into_iter();
    let middleboxes: Vec<_> = rules.chain(devices().map(|name| format!("{name:?}"))).collect();
    for (seed, entry) in (0..).zip(congestion::entries()) {
        for middlebox in &middleboxes {
            let flow = download(entry.name, "100kB", "timestamps = true")
                + "[[flow]]\nfrom = \"client\"\nto = \"server\"\n"
                + &format!("controller = \"{}\"\ntraffic = {{ bulk = \"30kB\" }}\n", entry.name);
            let text = satellite(middlebox, "500kbit/s", link, &flow);
            let recording = simulator::run(&parse(&text), seed, Options::default());
            for (flow, bytes) in recording.flows.iter().zip([100_000, 30_000]) {
                let case = format!("{} with {middlebox}", entry.name);
                assert_eq!((flow.completed, flow.bytes), (true, bytes), "{case}");
            }
        }
    }
}

/// Balakrishnan et al. 1995: losses of the last hop are repaired there, and the sender hardly
/// notices.
#[test]
fn snoop_repairs_the_last_hop_and_the_sender_keeps_its_window() {
    for recovery in ["reno", "newreno", "sack", "linux"] {
        let flow = download(
            "newreno",
            "10MB",
            &format!("recovery = {recovery:?}, receive_buffer = \"1MB\""),
        );
        let [without, with] =
            ["\"none\"", "\"snoop\""].map(|name| run(&lossy_last_hop(name, 0.01, &flow)));
        let repairs = count(&with, "retransmitted") as f64;
        let losses = with.links[2].corrupted_packets as f64;
        assert!(repairs > 30.0 && losses > 30.0, "{recovery}");
        // The others retransmit what has arrived, after timeouts.
        if ["sack", "linux"].contains(&recovery) {
            assert!((0.8..1.2).contains(&(repairs / losses)), "{recovery}: {repairs} of {losses}");
        }
        assert!(count(&with, "suppressed") > 100, "{recovery}");
        let ratio = with.flows[0].goodput_bps / without.flows[0].goodput_bps;
        assert!(ratio > 2.0, "{recovery}: {ratio}");
    }
}

#[test]
fn decimation_thins_the_acks_and_reconstruction_makes_them_again() {
    let text = |node: &str| {
        format!(
            r#"
duration = "300s"
[[node]]
name = "terminal"
middlebox = {{ name = "ack-decimation", every = 8 }}
{node}
[[link]]
between = ["server", "hub"]
rate = "10Mbit/s"
delay = "1ms"
[[link]]
between = ["hub", "terminal"]
rate = "10Mbit/s"
delay = "100ms"
queue = {{ packets = 400 }}
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "client"
controller = "newreno"
transport = {{ abc_limit = 1, receive_buffer = "240kB" }}
traffic = {{ download = "2MB" }}
"#
        )
    };
    let thinned = run(&text(""));
    let again = run(&text("[[node]]\nname = \"hub\"\nmiddlebox = \"ack-reconstruction\""));
    let acks = |recording: &Recording, link: usize| recording.links[link].delivered_packets;
    assert!(acks(&thinned, 3) < acks(&thinned, 5) / 4, "on the satellite link");
    assert!(acks(&again, 3) < acks(&again, 5) / 4);
    assert!(acks(&again, 1) > acks(&again, 5) / 2, "before the sender");
    let goodput = |recording: &Recording| recording.flows[0].goodput_bps;
    assert!(goodput(&again) > 1.2 * goodput(&thinned), "{} {}", goodput(&again), goodput(&thinned));
}

/// Zeng and Trajkovic 2005: spurious timeouts after a delay spike make no packets on the hop.
#[test]
fn packet_control_keeps_the_retransmissions_of_a_delay_spike_from_the_hop() {
    let first = "rate = \"10Mbit/s\"\ndelay = \"50ms\"";
    let second = r#"rate = "2Mbit/s"
delay = "5ms"
queue = { packets = 400 }
event = [{ at = "3s", outage = "2s" }]"#;
    let text = |middlebox: &str, recovery: &str| {
        let flow = format!(
            r#"controller = "newreno"
transport = {{ recovery = {recovery:?}, receive_buffer = "60kB" }}
traffic = {{ download = "2MB" }}"#
        );
        behind_a_gateway(middlebox, [first, second], &flow)
    };
    for recovery in ["reno", "newreno", "sack", "linux"] {
        let [without, with] =
            ["\"none\"", "\"packet-control\""].map(|name| run(&text(name, recovery)));
        let again =
            |recording: &Recording| recording.flows[0].tcp().unwrap().segments_retransmitted;
        assert!(again(&without) > 0, "{recovery}");
        assert_eq!(count(&with, "dropped"), again(&with), "{recovery}: none reaches the hop");
        assert!(with.flows[0].completed, "{recovery}");
        let least = 2_000_000_u64.div_ceil(1448);
        let delivered = with.links[2].delivered_packets;
        assert!(delivered < least + 10, "{recovery}: {delivered}");
    }
}

/// A satellite hop that loses packets, behind a gateway.
fn lossy_satellite(middlebox: &str, per: f64, flow: &str) -> String {
    let first = r#"rate = "100Mbit/s"
delay = "10ms"
queue = { packets = 400 }"#;
    let second = format!(
        r#"rate = "10Mbit/s"
delay = "250ms"
queue = {{ packets = 600 }}
forward = {{ channel = {{ per = {per} }} }}"#
    );
    behind_a_gateway(middlebox, [first, &second], flow)
}

/// RFC 3135 section 3.1.2: the sender grows with the round trip to the gateway, and does not see
/// the losses behind it.
#[test]
fn a_spoofing_proxy_hides_the_satellite_and_keeps_its_promises() {
    for entry in congestion::entries() {
        for recovery in ["newreno", "sack", "linux"] {
            let transport = format!("recovery = {recovery:?}, receive_buffer = \"4MB\"");
            let flow = download(entry.name, "3MB", &transport);
            let proxy = "{ name = \"spoofing-proxy\", store = \"700kB\" }";
            let with = run(&lossy_satellite(proxy, 0.003, &flow));
            let case = format!("{} {recovery} {:?}", entry.name, with.tables);
            assert!(with.flows[0].completed, "{case}");
            assert_eq!(with.flows[0].bytes, 3_000_000, "{case}");
            assert!(count(&with, "promised") > 100, "{case}");
            assert_eq!(count(&with, "broken"), 0, "{case}");
            if ["newreno", "cubic"].contains(&entry.name) {
                let without = run(&lossy_satellite("\"none\"", 0.003, &flow));
                let ratio = with.flows[0].goodput_bps / without.flows[0].goodput_bps;
                assert!(ratio > 1.1, "{case}: {ratio}");
                assert!(count(&with, "retransmitted") > 2, "{case}");
            }
        }
    }
}

#[test]
fn a_spoofing_proxy_that_dies_breaks_promises_and_the_transfer_does_not_end() {
    let flow = download("cubic", "3MB", "recovery = \"sack\", receive_buffer = \"4MB\"");
    let proxy = "{ name = \"spoofing-proxy\", store = \"700kB\", dies_at = \"2s\" }";
    let recording = run(&lossy_satellite(proxy, 0.02, &flow));
    let [promised, kept, broken] =
        ["promised", "kept", "broken"].map(|counter| count(&recording, counter));
    assert!(broken > 0);
    assert_eq!(promised, kept + broken);
    assert!(!recording.flows[0].completed);
}

/// Any middlebox, with its rules.
fn any_middlebox() -> impl Strategy<Value = String> {
    let all = RULES.map(filter).into_iter().chain(devices().map(|name| format!("{name:?}")));
    prop::sample::select(all.collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 150, ..ProptestConfig::default() })]

    /// Two middleboxes on the way do not disturb each other: with random loss and jitter on all
    /// links, data of both directions arrives whole, and both engines give the same run.
    #[test]
    fn transfers_end_behind_pairs_of_middleboxes(
        pair in [any_middlebox(), any_middlebox()],
        rates in [16u32..2000, 16u32..2000], per in 0.0..0.04f64, jitter in 0u32..40, seed: u64,
        recovery in prop::sample::select(vec!["reno", "newreno", "sack", "linux"]),
        timestamps: bool, ecn: bool,
    ) {
        let [first, second] = pair;
        let [there, back] = rates;
        let text = format!(
            r#"
duration = "900s"
[[node]]
name = "near"
middlebox = {first}
[[node]]
name = "far"
middlebox = {second}
[[link]]
between = ["server", "near"]
rate = "10Mbit/s"
delay = "5ms"
channel = {{ per = {per} }}
[[link]]
between = ["near", "far"]
delay = "50ms"
jitter = "{jitter}ms"
forward = {{ rate = "{there}kbit/s" }}
backward = {{ rate = "{back}kbit/s" }}
channel = {{ per = {per} }}
[[link]]
between = ["far", "client"]
rate = "10Mbit/s"
delay = "5ms"
channel = {{ per = {per} }}
[[flow]]
from = "server"
to = "client"
controller = "newreno"
transport = {{ recovery = {recovery:?}, timestamps = {timestamps}, ecn = {ecn} }}
traffic = {{ download = "100kB" }}
[[flow]]
from = "client"
to = "server"
controller = "cubic"
traffic = {{ bulk = "20kB" }}
"#
        );
        let recording = simulator::run(&parse(&text), seed, Options::default());
        for (flow, bytes) in recording.flows.iter().zip([100_000, 20_000]) {
            prop_assert!(flow.completed, "{}", text);
            prop_assert_eq!(flow.bytes, bytes);
        }
        let slow = simulator::run_on_reference(&parse(&text), seed, Options::default());
        let [fast, slow] = [recording, slow].map(|run| Recording { events: 0, ..run }.digest());
        prop_assert_eq!(fast, slow);
    }

    /// Over random loss and jitter, with data in both directions, a transfer ends with exactly the
    /// bytes that were sent.
    #[test]
    fn transfers_end_with_the_bytes_that_were_sent(
        middlebox in any_middlebox(),
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
        let text = satellite(&middlebox, &format!("{back}kbit/s"), &link, &flow);
        let recording = simulator::run(&parse(&text), seed, Options::default());
        for (flow, bytes) in recording.flows.iter().zip([200_000, 20_000]) {
            prop_assert!(flow.completed, "{}", text);
            prop_assert_eq!(flow.bytes, bytes);
        }
    }
}
