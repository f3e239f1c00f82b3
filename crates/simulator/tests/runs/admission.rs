//! When gateways accept connections, and how many: whole runs, both engines, every controller.

use recording::{Recording, Values};
use simulator::{Observed, Options};
use tcp::Flags;
use units::Span;

use super::proxy::{flow, legs, satellite};
use super::{parse, run};

fn proxy(keys: &str) -> String {
    format!(r#"{{ satellite = {{ towards = ["terminal"], controller = "hybla" }}, {keys} }}"#)
}

/// A column of the table of proxies.
fn proxies(recording: &Recording, column: &str) -> Vec<u64> {
    let table = recording.tables.iter().find(|one| one.name() == "proxies").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts.to_vec(),
        _ => panic!("{column} is a count"),
    }
}

const ACCEPT: [&str; 3] = ["early", "late", "early-if-known"];

#[test]
fn every_controller_works_whenever_the_gateway_accepts() {
    for entry in congestion::entries() {
        for accept in ACCEPT {
            for (from, to) in [("server", "terminal"), ("terminal", "server")] {
                let flow = flow(from, to, entry.name, "download = \"200kB\", request = \"300B\"");
                let keys = format!("accept = {accept:?}");
                let recording = run(&satellite(&proxy(&keys), 0.005, &flow));
                let row = &recording.flows[0];
                assert!(row.completed, "{} with {accept} from {from}", entry.name);
                assert_eq!(legs(&recording, "bytes"), [200_000; 2]);
                let early = u64::from(accept == "early");
                assert_eq!(proxies(&recording, "early_connections"), [early]);
                assert_eq!(proxies(&recording, "late_connections"), [1 - early]);
                assert_eq!(proxies(&recording, "max_open_connections"), [1]);
            }
        }
    }
}

/// The early gateway asks the server when the handshake of the client is complete. Until the
/// request has come, the late one has asked too: both have the answer at the same time.
#[test]
fn a_request_has_its_answer_as_soon_with_a_late_gateway() {
    let time = |accept: &str| {
        let flow = flow("server", "terminal", "cubic", "download = \"1kB\", request = \"300B\"");
        let recording = run(&satellite(&proxy(&format!("accept = {accept:?}")), 0.0, &flow));
        recording.flows[0].completion_s.unwrap()
    };
    let [early, late] = ["early", "late"].map(time);
    // Two round trips of 520 ms, and the time to send.
    assert!((1.04..1.06).contains(&early) && (early - late).abs() < 1e-3, "{early} {late}");
}

/// A server behind a link that is out: an early gateway resets the client, a late one gives up and
/// says nothing.
#[test]
fn a_server_that_does_not_answer_in_time_is_given_up() {
    let run_with = |keys: &str| {
        let flow = flow("server", "terminal", "cubic", "download = \"1kB\", request = \"300B\"");
        let text = satellite(&proxy(keys), 0.0, &flow).replace("600s", "60s");
        run(&text.replacen(
            "delay = \"10ms\"",
            "delay = \"10ms\"\nevent = [{ at = \"1ms\", outage = \"500s\" }]",
            1,
        ))
    };
    let early = run_with("connect_timeout = \"5s\"");
    assert_eq!(early.flows[0].abort_cause.as_deref(), Some("reset"));
    assert_eq!(proxies(&early, "failed_connections"), [1]);
    let late = run_with("accept = \"late\", connect_timeout = \"5s\"");
    assert_eq!((late.flows[0].aborted, late.flows[0].completed), (false, false));
    assert_eq!(proxies(&late, "failed_connections"), [1]);
    // 75 s by default.
    let patient = run_with("accept = \"late\"");
    assert_eq!(proxies(&patient, "failed_connections"), [0]);
}

#[test]
fn a_host_is_known_for_a_time() {
    let download = |start: &str| {
        flow("server", "terminal", "cubic", "download = \"10kB\"") + &format!("start = {start:?}\n")
    };
    let flows = download("0s") + &download("10s") + &download("40s");
    for (known_for, early) in [("5s", 0), ("20s", 1), ("60s", 2)] {
        let keys = format!("accept = \"early-if-known\", known_for = {known_for:?}");
        let recording = run(&satellite(&proxy(&keys), 0.0, &flows));
        assert_eq!(proxies(&recording, "early_connections"), [early], "{known_for}");
        assert_eq!(proxies(&recording, "late_connections"), [3 - early]);
    }
}

/// The signal is lost before the first SYN comes.
#[test]
fn a_client_of_a_late_gateway_has_no_connection_while_the_server_is_out_of_reach() {
    let flow = flow("server", "terminal", "cubic", "bulk = \"1MB\"")
        + "transport = { user_timeout = \"20s\" }\n";
    let of = |accept: &str| {
        let text = satellite(&proxy(&format!("accept = {accept:?}")), 0.0, &flow).replace(
            "delay = \"250ms\"",
            "delay = \"250ms\"\nevent = [{ at = \"1ms\", outage = \"500s\" }]",
        );
        run(&text)
    };
    let [early, late] = ["early", "late"].map(of);
    assert!(early.flows[0].aborted && late.flows[0].aborted);
    assert_eq!(proxies(&early, "failed_connections"), [1]);
    // The client gives up first, which ends the run.
    assert_eq!(proxies(&late, "failed_connections"), [0]);
    assert!(legs(&early, "discarded_bytes")[0] > 0, "the gateway had acknowledged something");
    assert_eq!(legs(&late, "bytes"), [0; 2]);
    assert_eq!(legs(&late, "discarded_bytes"), [0; 2]);
}

/// Flows that start together, so that all but the first are above the limit.
fn crowd(flows: usize, controller: &str, from: &str, to: &str) -> String {
    flow(from, to, controller, "download = \"200kB\", request = \"300B\"").repeat(flows)
}

#[test]
fn every_controller_crosses_a_full_gateway_unsplit_or_is_reset() {
    for entry in congestion::entries() {
        for (from, to) in [("server", "terminal"), ("terminal", "server")] {
            for at_limit in ["pass", "refuse"] {
                let case = format!("{} from {from}, {at_limit}", entry.name);
                let keys = format!("limits = {{ connections = 1, at_limit = {at_limit:?} }}");
                let flows = crowd(3, entry.name, from, to);
                let recording = run(&satellite(&proxy(&keys), 0.002, &flows));
                let passes = at_limit == "pass";
                assert_eq!(proxies(&recording, "early_connections"), [1], "{case}");
                assert_eq!(proxies(&recording, "max_open_connections"), [1]);
                let above = if passes { "passed_connections" } else { "refused_connections" };
                assert_eq!(proxies(&recording, above), [2], "{case}");
                let completed = recording.flows.iter().filter(|flow| flow.completed).count();
                assert_eq!(completed, if passes { 3 } else { 1 }, "{case}");
                let bytes = recording.flows.iter().map(|flow| flow.bytes).sum::<u64>();
                assert_eq!(bytes, 200_000 * completed as u64, "{case}");
                // A connection that is not split is in no leg.
                assert_eq!(legs(&recording, "bytes").iter().sum::<u64>(), 400_000, "{case}");
                if !passes {
                    let causes = recording.flows.iter().filter_map(|f| f.abort_cause.as_deref());
                    assert_eq!(causes.collect::<Vec<_>>(), ["reset"; 2], "{case}");
                }
            }
        }
    }
}

#[test]
fn a_connection_that_passes_has_the_round_trip_of_the_whole_path() {
    let keys = "limits = { connections = 1 }";
    let recording = run(&satellite(&proxy(keys), 0.0, &crowd(2, "cubic", "server", "terminal")));
    let rtts: Vec<_> = recording.flows.iter().map(|flow| flow.min_rtt_ms).collect();
    assert_eq!(rtts[0], None, "no connection has the whole path");
    assert!((520.0..540.0).contains(&rtts[1].unwrap()), "the whole path: {rtts:?}");
}

/// The SYNs that a client has retransmitted before the first one reaches the gateway cross it too.
#[test]
fn every_syn_of_a_connection_that_passes_takes_the_whole_path() {
    let flows = crowd(2, "cubic", "server", "terminal")
        .replace("controller", "transport = { rto = { initial = \"100ms\" } }\ncontroller");
    let scenario = parse(&satellite(&proxy("limits = { connections = 1 }"), 0.0, &flows));
    let number = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap();
    let [server, terminal] = ["server", "terminal"].map(number);
    let [mut sent, mut received] = [Vec::new(), Vec::new()];
    let mut see = |seen: &Observed<'_>| {
        let is_of_client = usize::from(seen.from) == terminal;
        if is_of_client && seen.segment().is_some_and(|one| one.flags == Flags::SYN) {
            match usize::from(seen.node) {
                node if node == server => received.push((seen.connection, seen.at)),
                node if node == terminal => sent.push((seen.connection, seen.at)),
                _ => {}
            }
        }
    };
    let observer: Option<&mut simulator::Observer<'_>> = Some(&mut see);
    simulator::run(&scenario, 1, Options { observer, ..Options::default() });
    // Only a connection that passes brings the server a SYN of the client.
    sent.retain(|(connection, _)| *connection == received[0].0);
    assert!(sent.len() > 1 && received.len() == sent.len(), "{sent:?} {received:?}");
    for ((_, sent), (_, received)) in sent.iter().zip(&received) {
        assert!(*received > *sent + Span::from_millis(260), "{sent:?} {received:?}");
    }
}

/// After the first connection is over there is room for another one.
#[test]
fn a_connection_counts_until_both_directions_are_complete() {
    let download = |start: &str| {
        flow("server", "terminal", "cubic", "download = \"10kB\"") + &format!("start = {start:?}\n")
    };
    let text = satellite(
        &proxy("limits = { connections = 1, at_limit = \"refuse\" }"),
        0.0,
        &(download("0s") + &download("500ms") + &download("20s")),
    );
    let recording = run(&text);
    let completed: Vec<_> = recording.flows.iter().map(|flow| flow.completed).collect();
    assert_eq!(completed, [true, false, true]);
}

#[test]
fn pages_share_a_full_gateway_with_what_passes_it() {
    let web = "web = { pages = 3, interval = \"5s\", connections = 6 }";
    for accept in ACCEPT {
        let keys = format!("accept = {accept:?}, limits = {{ connections = 2 }}");
        let flows = flow("server", "terminal", "cubic", web);
        let recording = run(&satellite(&proxy(&keys), 0.01, &flows));
        assert!(recording.flows[0].completed, "{accept}");
        assert!(proxies(&recording, "passed_connections")[0] > 0);
        assert_eq!(proxies(&recording, "max_open_connections"), [2]);
        let split = legs(&recording, "bytes");
        assert!(split[0] == split[1] && split[1] < recording.flows[0].bytes, "{split:?}");
    }
}

/// Middleboxes and messages of routers know the ends of a connection by their numbers.
#[test]
fn what_passes_a_gateway_meets_middleboxes_and_small_links() {
    let keys = "limits = { connections = 1 }";
    let plain = satellite(&proxy(keys), 0.01, &crowd(3, "cubic", "server", "terminal"));
    let beyond = plain
        .replace("between = [\"gateway\", \"terminal\"]", "between = [\"gateway\", \"hub\"]")
        + "[[link]]\nbetween = [\"hub\", \"terminal\"]\nrate = \"100Mbit/s\"\ndelay = \"1ms\"\n";
    let beyond = beyond.replace("towards = [\"terminal\"]", "towards = [\"hub\"]");
    let hub =
        |middlebox: &str| format!("{beyond}[[node]]\nname = \"hub\"\nmiddlebox = {middlebox}\n");
    for text in [
        plain.replace("delay = \"250ms\"", "delay = \"250ms\"\nmtu = 1000"),
        hub("\"snoop\""),
        hub("\"spoofing-proxy\""),
        hub("\"ack-filter\""),
    ] {
        let recording = run(&text);
        assert!(recording.flows.iter().all(|flow| flow.completed), "{text}");
        assert_eq!(proxies(&recording, "passed_connections"), [2]);
    }
}

/// Each of two gateways lets pass what is above its own limit.
#[test]
fn each_gateway_on_the_way_decides_for_itself() {
    let text = |first: &str, second: &str| {
        format!(
            r#"
duration = "200s"
[[node]]
name = "near"
proxy = {{ terrestrial = {{ towards = ["server"] }}, {first} }}
[[node]]
name = "far"
proxy = {{ terrestrial = {{ towards = ["client"] }}, {second} }}
[[link]]
between = ["server", "near"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["near", "far"]
rate = "10Mbit/s"
delay = "250ms"
channel = {{ per = 0.001 }}
[[link]]
between = ["far", "client"]
rate = "100Mbit/s"
delay = "1ms"
"#
        )
    };
    let one = "limits = { connections = 1 }";
    let all = "limits = { connections = 9 }";
    for (first, second, expected) in
        [(one, all, [3, 0]), (all, one, [0, 3]), (one, one, [3, 3]), (all, all, [0, 0])]
    {
        for (from, to) in [("server", "client"), ("client", "server")] {
            for accept in ACCEPT {
                let with = |limits: &str| format!("accept = {accept:?}, {limits}");
                let text = text(&with(first), &with(second)) + &crowd(4, "cubic", from, to);
                let scenario = parse(&text);
                let recording = simulator::run(&scenario, 1, Options::default());
                assert!(recording.flows.iter().all(|flow| flow.completed), "{text}");
                assert_eq!(proxies(&recording, "passed_connections"), expected, "{text}");
                let slow = simulator::run_on_reference(&scenario, 1, Options::default());
                let whole = |recording: Recording| Recording { events: 0, ..recording }.digest();
                assert_eq!(whole(recording), whole(slow), "both engines");
            }
        }
    }
}
