//! SCTP on several paths: what leads packets there, failover, captures' addresses, and what is
//! refused.

use std::collections::BTreeSet;

use explain::explain;
use recording::{Recording, SctpRecord};
use scenario::Loaded;
use simulator::{Observed, Options};
use units::{Span, Time};

use crate::common::{parse, refusal, run, warnings};

/// A host behind a GEO and a LEO satellite. `geo` and `leo` are TOML of the links to the client.
fn two(geo: &str, leo: &str, head: &str, sctp: &str, traffic: &str) -> String {
    format!(
        r#"duration = "400s"
{head}
[[link]]
between = ["server", "geo"]
rate = "2Mbit/s"
delay = "125ms"
queue = {{ packets = 200 }}
[[link]]
between = ["geo", "client"]
rate = "2Mbit/s"
delay = "125ms"
queue = {{ packets = 200 }}
{geo}
[[link]]
between = ["server", "leo"]
rate = "2Mbit/s"
delay = "12ms"
queue = {{ packets = 50 }}
[[link]]
between = ["leo", "client"]
rate = "2Mbit/s"
delay = "13ms"
queue = {{ packets = 50 }}
{leo}
[[flow]]
from = "server"
to = "client"
controller = "none"
transport = {{ protocol = "sctp", initial_ssthresh = "120kB", sctp = {{ {sctp} }} }}
traffic = {{ {traffic} }}
"#
    )
}

fn counts(recording: &Recording) -> &SctpRecord {
    recording.flows[0].protocol.sctp().unwrap()
}

/// Full packets that the links carry: server to geo, and server to leo.
fn carried(recording: &Recording) -> [u64; 2] {
    [0, 4].map(|port| recording.links[port].delivered_bytes / 1500)
}

#[test]
fn data_takes_the_path_through_the_first_node_and_the_other_one_carries_heartbeats() {
    for (paths, full) in [
        (r#""geo", "leo""#, [true, false]),
        (r#""leo", "geo""#, [false, true]),
        (r#""geo""#, [true, false]),
    ] {
        for head in [
            "",
            "ip = \"ipv6\"",
            "[[node]]\nname = \"geo\"\nforwarding = { rate = \"9Mbit/s\", buffer = \"90kB\" }",
        ] {
            let sctp = format!("paths = [{paths}]");
            let recording = run(&two("", "", head, &sctp, r#"bulk = "5MB""#));
            assert!(recording.flows[0].completed);
            let carried = carried(&recording);
            assert_eq!(carried.map(|packets| packets > 3000), full, "{paths}: {carried:?}");
            assert_eq!(carried.map(|packets| packets > 9), full, "{paths}: {carried:?}");
            // SACKs go back on the path of the data.
            let acks = [1, 5].map(|port| recording.links[port].delivered_packets > 1000);
            assert_eq!(acks, full, "{paths}");
            let record = counts(&recording);
            assert_eq!((record.path_failures, record.path_changes), (0, 0));
            assert_eq!(record.heartbeats_sent > 0, paths.contains(','), "{record:?}");
        }
    }
}

/// Without names it has one path, on the routes of all other flows.
#[test]
fn an_association_without_named_paths_takes_the_route_with_the_smallest_delay() {
    let recording = run(&two("", "", "", "streams = 2", r#"bulk = "5MB""#));
    assert_eq!(carried(&recording).map(|packets| packets > 3000), [false, true]);
    assert_eq!(recording.links[0].delivered_packets, 0);
}

/// The hosts are the routers of a switch, which leads the packets of another flow.
#[test]
fn named_paths_lead_to_a_host_that_is_a_router_of_a_switch() {
    let switched = r#"
[[switch]]
between = ["server", "client"]
via = ["leo", "geo"]
outages = {}
[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { bulk = "100kB" }
"#;
    let text = two("", "", "", r#"paths = ["geo", "leo"]"#, r#"bulk = "5MB""#) + switched;
    let recording = run(&text);
    assert!(recording.flows.iter().all(|flow| flow.completed), "{:?}", recording.flows);
    assert_eq!(carried(&recording).map(|packets| packets > 3000), [true, false]);
}

const OUTAGE: &str = r#"event = [{ at = "30s", outage = "170s" }]"#;

/// In both engines, with data both over a lossy link and into an outage; copies of a flow share
/// addresses.
#[test]
fn both_engines_have_the_same_recording_of_several_paths() {
    let channel = "channel = { per = 0.01 }";
    let feedback = "feedback = \"xcp\"";
    for (geo, leo) in [("", OUTAGE), (channel, OUTAGE), (feedback, OUTAGE)] {
        let sctp = r#"paths = ["leo", "geo"], path_max_retries = 1"#;
        let text =
            two(geo, leo, "", sctp, r#"bulk = "20MB""#).replace("[[flow]]", "[[flow]]\ncount = 3");
        let mut first = run(&text);
        let mut reference = simulator::run_on_reference(&parse(&text), 1, Options::default());
        // The reference engine has more events.
        (first.events, reference.events) = (0, 0);
        assert_eq!(first.digest(), reference.digest());
        for flow in &first.flows {
            assert!(flow.completed && flow.bytes == 20_000_000, "{flow:?}");
            assert!(flow.protocol.sctp().unwrap().path_changes > 0, "{flow:?}");
        }
    }
}

/// A run with an outage of the primary path, in seconds.
struct Failover {
    /// Longest time without data at the receiver.
    pause: f64,
    /// From the end of the outage until data is sent on the primary path.
    back: f64,
    /// Times that a path was found to be inactive.
    failures: u64,
}

fn failover(primary: &str, retries: u32) -> Failover {
    let other = if primary == "geo" { "leo" } else { "geo" };
    let (geo, leo) = if primary == "geo" { (OUTAGE, "") } else { ("", OUTAGE) };
    let sctp = format!(r#"paths = ["{primary}", "{other}"], path_max_retries = {retries}"#);
    let scenario = parse(&two(geo, leo, "", &sctp, r#"bulk = "unlimited""#));
    let (mut arrivals, mut sent) = (Vec::new(), Vec::new());
    let mut observer = |seen: &Observed<'_>| {
        if seen.by_data_sender && seen.bytes() > 1000 {
            let list = if seen.node == seen.to { &mut arrivals } else { &mut sent };
            list.push((seen.at, seen.destination));
        }
    };
    let options = Options { observer: Some(&mut observer), ..Options::default() };
    let recording = simulator::run(&scenario, 1, options);
    let record = counts(&recording);
    let failures = record.path_failures;
    assert_eq!(record.path_changes, 2 * failures, "{primary}, {retries}");
    let end = Time::ZERO + Span::from_secs(200);
    let pauses = arrivals.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_secs_f64());
    let primary = sent[0].1;
    let back = sent.iter().find(|(at, address)| *at > end && *address == primary).unwrap();
    let pause = pauses.fold(0.0, f64::max);
    Failover { pause, back: back.0.since(end).as_secs_f64(), failures }
}

/// The rows of docs/sctp.md on a scenario.
#[test]
fn an_outage_of_the_primary_path_moves_the_data_and_the_page_has_the_times() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sctp.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut missing = Vec::new();
    for primary in ["geo", "leo"] {
        for retries in [0, 1, 2, 5] {
            let Failover { pause, back, failures } = failover(primary, retries);
            let row =
                format!("| `{primary}` | {retries} | {pause:.1} s | {back:.1} s | {failures} |");
            if !page.contains(&row) {
                missing.push(row);
            }
        }
    }
    assert!(missing.is_empty(), "docs/sctp.md lacks\n{}", missing.join("\n"));
}

/// Each path has its addresses, and the packets of a path carry them.
#[test]
fn packets_of_each_path_have_its_addresses() {
    let sctp = r#"paths = ["leo", "geo"], path_max_retries = 0"#;
    let scenario = parse(&two("", OUTAGE, "", sctp, r#"bulk = "unlimited""#));
    let mut pairs = BTreeSet::new();
    let mut observer = |seen: &Observed<'_>| {
        let (source, destination) = (seen.source, seen.destination);
        pairs.insert(if seen.by_data_sender {
            (source, destination)
        } else {
            (destination, source)
        });
    };
    let options = Options { observer: Some(&mut observer), ..Options::default() };
    simulator::run(&scenario, 1, options);
    // The nodes are 0 to 3.
    assert_eq!(pairs, BTreeSet::from([(4, 6), (5, 7)]));
    let ends = scenario.flows[0].paths.iter().map(|path| path.ends);
    assert_eq!(ends.collect::<Vec<_>>(), [[4, 6], [5, 7]]);
}

#[test]
fn explain_shows_the_paths_and_the_least_time_to_failover() {
    let sctp = r#"paths = ["geo", "leo"], path_max_retries = 2"#;
    let text = two("", "", "", sctp, r#"bulk = "unlimited""#);
    let loaded = Loaded::parse(&text, "test.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let flow = &explanation.flows[0];
    assert_eq!(flow.route, ["server", "geo", "client"]);
    assert_eq!(flow.return_route, ["client", "geo", "server"]);
    let [geo, leo] = &flow.paths[..] else { panic!("{:?}", flow.paths) };
    assert_eq!((geo.via.as_str(), leo.via.as_str()), ("geo", "leo"));
    assert_eq!(leo.route, ["server", "leo", "client"]);
    assert!((geo.base_rtt_ms - 512.4).abs() < 1.0 && (leo.base_rtt_ms - 62.4).abs() < 1.0);
    // 1, 2 and 4 s.
    assert!((geo.failover_s - 7.0).abs() < 1e-9, "{}", geo.failover_s);
    assert!(flow.figures.base_rtt_ms > 500.0);
    assert!(explanation.to_string().contains("path leo"), "{explanation}");
}

/// The path with the longest round trip decides.
#[test]
fn explain_warns_of_timers_that_are_too_short_for_another_path() {
    let of = |rto: &str| {
        let sctp = format!(r#"paths = ["leo", "geo"], rto_initial = "{rto}""#);
        warnings(&two("", "", "", &sctp, r#"bulk = "1MB""#))
    };
    assert_eq!(of("600ms"), []);
    assert_eq!(of("400ms"), [explain::WarningKind::ResponseBelowRtt]);
}

#[test]
fn paths_that_lead_nowhere_are_refused_with_their_line() {
    let of = |paths: &str| {
        let sctp = format!("paths = {paths}");
        refusal(&two("", "", "", &sctp, r#"bulk = "1MB""#))
    };
    for (paths, expected) in [
        (
            r#"["goe"]"#,
            "expected one of the nodes \"client\", \"geo\", \"leo\" and \"server\", found \"goe\"; did you mean \"geo\"?",
        ),
        (
            r#"["geo", "geo"]"#,
            "expected a node that is not in the list, found \"geo\" for the second time",
        ),
        (
            r#"["geo", "client"]"#,
            "expected a node between \"server\" and \"client\", found \"client\"",
        ),
        (r#"["server"]"#, "expected a node between \"server\" and \"client\", found \"server\""),
        ("[]", "paths"),
    ] {
        let error = of(paths);
        assert!(error.contains("test.toml:29") && error.contains("sctp.paths"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    // Both nodes are on one path.
    let chain = two("", "", "", r#"paths = ["geo", "gate"]"#, r#"bulk = "1MB""#)
        .replace(r#"between = ["server", "geo"]"#, r#"between = ["server", "gate"]"#)
        .replace("[[flow]]", "[[link]]\nbetween = [\"gate\", \"geo\"]\nrate = \"2Mbit/s\"\ndelay = \"1ms\"\n[[flow]]");
    let error = refusal(&chain);
    assert!(
        error.contains("sctp.paths[1]") && error.contains("not on the path through \"geo\""),
        "{error}"
    );
    // A node behind the client.
    let behind = two("", "", "", r#"paths = ["geo", "island"]"#, r#"bulk = "1MB""#)
        .replace("[[flow]]", "[[link]]\nbetween = [\"client\", \"island\"]\nrate = \"2Mbit/s\"\ndelay = \"1ms\"\n[[flow]]");
    let error = refusal(&behind);
    assert!(error.contains("sctp.paths[1]") && error.contains("no route through it"), "{error}");
    let tcp = two("", "", "", r#"paths = ["geo"]"#, r#"bulk = "1MB""#);
    let tcp = tcp.replace("\"none\"", "\"cubic\"").replace("protocol = \"sctp\", ", "");
    assert!(refusal(&tcp).contains("it has the settings of protocol = \"sctp\""));
}
