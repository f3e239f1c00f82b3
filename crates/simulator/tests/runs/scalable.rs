//! Controllers that answer the share of marks, with the queues that they are made for: DCTCP
//! (RFC 8257) and Prague (RFC 9330 to 9332).

use std::collections::BTreeMap;

use simulator::{Observed, Options};
use units::Time;

use super::{parse, run};

/// Flows of these controllers, with their transport, over a bottleneck with a base RTT of 20 ms.
fn bottleneck(rate: &str, forward: &str, flows: &[(&str, &str)], duration: &str) -> String {
    let mut text = format!(
        r#"
duration = "{duration}"
[[link]]
between = ["server", "client"]
rate = "{rate}"
delay = "10ms"
queue = {{ packets = 1000 }}
forward = {{ {forward} }}
"#
    );
    for (controller, transport) in flows {
        text += &format!(
            r#"
[[flow]]
from = "server"
to = "client"
controller = {controller}
transport = {{ receive_buffer = "8MB", {transport} }}
traffic = {{ bulk = "unlimited" }}
"#
        );
    }
    text
}

/// Delays in the forward queue in ms of the data of connection 0 after `from`, in order. The
/// propagation delay is 10 ms, and a packet of 1500 bytes takes 0.3 ms at 40 Mbit/s.
fn queue_delays(text: &str, from: Time) -> Vec<f64> {
    let mut sent: BTreeMap<u32, Time> = BTreeMap::new();
    let mut delays = Vec::new();
    let mut observer = |observed: &Observed<'_>| {
        let segment = observed.segment().unwrap();
        let data = observed.by_data_sender && segment.payload > 1000;
        if !data || observed.connection != 0 || observed.at < from {
            return;
        }
        if observed.node == observed.from {
            sent.insert(segment.sequence, observed.at);
        } else if let Some(at) = sent.remove(&segment.sequence) {
            delays.push(observed.at.since(at).as_millis_f64() - 10.3);
        }
    };
    let options = Options { observer: Some(&mut observer), ..Options::default() };
    simulator::run(&parse(text), 1, options);
    delays.sort_by(f64::total_cmp);
    delays
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() - 1) as f64) as usize]
}

/// The aim of DualPI2, at 40 Mbit/s and 20 ms: rates within a factor of two, and a 99th percentile
/// of the low-latency queue below 2 ms, with CUBIC in the other queue.
#[test]
fn prague_and_cubic_share_a_link_with_dualpi2_and_prague_has_low_latency() {
    for (cubic, ecn) in [("\"cubic\"", "ecn = false"), ("\"cubic\"", "ecn = true")] {
        let flows = [("\"prague\"", "ecn = true"), (cubic, ecn)];
        let text = bottleneck("40Mbit/s", "aqm = \"dualpi2\"", &flows, "60s");
        let recording = run(&text);
        let [prague, cubic] = [0, 1].map(|flow| recording.flows[flow].goodput_bps);
        let ratio = prague / cubic;
        assert!((0.5..2.0).contains(&ratio), "{prague} to {cubic} bit/s: {ratio}");
        assert!(recording.links[0].utilisation > 0.92, "{}", recording.links[0].utilisation);
        assert_eq!(recording.links[0].corrupted_packets, 0);
        let delays = queue_delays(&text, Time::from_nanos(5_000_000_000));
        let p99 = percentile(&delays, 0.99);
        assert!(delays.len() > 50_000 && p99 < 2.0, "{p99} ms");
    }
}

/// Alone, Prague fills the link with a queue of a millisecond.
#[test]
fn prague_alone_fills_the_link_with_little_queue() {
    let text = bottleneck("40Mbit/s", "aqm = \"dualpi2\"", &[("\"prague\"", "ecn = true")], "30s");
    let recording = run(&text);
    assert!(recording.links[0].utilisation > 0.93, "{}", recording.links[0].utilisation);
    let delays = queue_delays(&text, Time::from_nanos(5_000_000_000));
    assert!(percentile(&delays, 0.99) < 2.0, "{}", percentile(&delays, 0.99));
}

/// RFC 8257 section 1: with a low threshold DCTCP keeps the link busy, and a flow that halves at
/// each mark does not.
#[test]
fn dctcp_fills_a_link_that_marks_early_and_reno_does_not() {
    let utilisation = |flow| {
        let marking = "ecn_marking = { packets = 20, weight = 1 }";
        let text = bottleneck("40Mbit/s", "", &[flow], "60s")
            .replace("forward = {  }", &format!("forward = {{ {marking} }}"));
        let recording = run(&text);
        assert_eq!(recording.links[0].dropped_packets, 0);
        recording.links[0].utilisation
    };
    let dctcp = utilisation(("\"dctcp\"", "ecn = true"));
    let counted = utilisation(("\"dctcp\"", "ecn = \"accurate\""));
    let reno = utilisation(("\"reno\"", "recovery = \"sack\", ecn = true"));
    assert!(dctcp > 0.97 && counted > 0.97, "{dctcp} {counted}");
    assert!(reno < dctcp - 0.03, "{reno} {dctcp}");
}

/// Two flows of DCTCP share the link.
#[test]
fn flows_of_dctcp_share_fairly() {
    let flow = ("\"dctcp\"", "ecn = true");
    let text = bottleneck("40Mbit/s", "", &[flow, flow], "60s")
        .replace("forward = {  }", "forward = { ecn_marking = { packets = 20, weight = 1 } }");
    let recording = run(&text);
    let jain = recording.jain_index.unwrap();
    assert!(jain > 0.98, "{jain}");
}

/// Accurate reports change how well a sender knows the marks, and not what it does with one of
/// them.
#[test]
fn accurate_reports_work_with_every_controller_and_recovery() {
    for entry in congestion::entries() {
        for recovery in ["reno", "newreno", "sack", "linux"] {
            let text = format!(
                r#"
duration = "100s"
[[link]]
between = ["server", "client"]
rate = "5Mbit/s"
delay = "25ms"
queue = {{ packets = 300 }}
channel = {{ per = 0.002 }}
forward = {{ ecn_marking = {{ packets = 20, weight = 1 }} }}
[[flow]]
from = "server"
to = "client"
controller = "{}"
transport = {{ ecn = "accurate", recovery = "{recovery}" }}
traffic = {{ download = "1500kB" }}
"#,
                entry.name
            );
            let recording = run(&text);
            assert!(recording.flows[0].completed, "{} with {recovery}", entry.name);
            assert_eq!(recording.flows[0].bytes, 1_500_000);
        }
    }
}
