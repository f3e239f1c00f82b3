//! Shapers, policers and cells under TCP, with every controller and with closed forms.

use recording::Recording;

use super::{parse, run, total};

/// A link with an RTT of 40 ms whose direction of data has `keys`.
fn link(keys: &str, controller: &str, traffic: &str) -> String {
    let duration = if traffic.contains("download") { "60s" } else { "300s" };
    format!(
        r#"
duration = "{duration}"
[[link]]
between = ["server", "client"]
rate = "100Mbit/s"
delay = "20ms"
queue = {{ packets = 60 }}
forward = {{ {keys} }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ timestamps = false }}
traffic = {{ {traffic} }}
"#
    )
}

/// A count of the table `policer`.
fn policed(recording: &Recording, name: &str) -> u64 {
    total(recording, "policer", name)
}

fn goodput(keys: &str, controller: &str) -> (f64, Recording) {
    let recording = run(&link(keys, controller, "bulk = \"unlimited\""));
    (recording.flows[0].goodput_bps, recording)
}

#[test]
fn a_transfer_of_every_controller_ends_behind_every_bucket() {
    let buckets = [
        "shaper = { rate = \"5Mbit/s\", burst = \"20kB\" }",
        "policer = { rate = \"5Mbit/s\", burst = \"20kB\" }",
        "shaper = { rate = \"5Mbit/s\", burst = \"9kB\" }, aqm = \"fq-codel\"",
        "cells = { payload = \"48B\", header = \"5B\" }, overhead = \"16B\"",
    ];
    let mut ended = Vec::new();
    for entry in congestion::entries() {
        for keys in buckets {
            let recording = run(&link(keys, entry.name, "download = \"200kB\""));
            if !recording.flows[0].completed {
                ended.push((entry.name, keys, recording.flows[0].goodput_bps));
            }
        }
    }
    assert!(ended.is_empty(), "{ended:?}");
}

/// A lasting load has the rate of the tokens: goodput is that rate times the share of payload in a
/// packet. BBR leaves the line nearly idle for 200 ms in each 10 s (ProbeRTT), which is 2 %.
#[test]
fn behind_a_shaper_goodput_is_its_rate_times_the_share_of_payload() {
    for (controller, idle) in [("reno", 0.0), ("cubic", 0.0), ("bbr", 0.02)] {
        let (goodput, recording) =
            goodput("shaper = { rate = \"10Mbit/s\", burst = \"32kB\" }", controller);
        let expected = 10e6 * (1.0 - idle) * 1460.0 / 1500.0;
        let error = goodput / expected - 1.0;
        assert!(error.abs() < 0.01, "{controller}: {:.2} %", 100.0 * error);
        assert_eq!(recording.links[0].corrupted_packets, 0);
    }
}

/// 1516 bytes take 32 cells of 53 bytes.
#[test]
fn in_cells_goodput_is_the_share_of_payload_in_whole_cells() {
    let keys =
        "rate = \"10Mbit/s\", overhead = \"16B\", cells = { payload = \"48B\", header = \"5B\" }";
    let (goodput, _) = goodput(keys, "cubic");
    let error = goodput / (10e6 * 1460.0 / (32.0 * 53.0)) - 1.0;
    assert!(error.abs() < 0.01, "{:.2} %", 100.0 * error);
}

/// A window of a sender that does not pace comes as one burst in each RTT T, as no queue spreads
/// it. It passes if its bytes are at most B, and the bucket is full again after T if B is at most R
/// T. So Reno (RFC 5681) goes from B / 2 to B, whose mean is 3/4 B / T (Mathis et al., CCR 27(3),
/// 1997).
#[test]
fn behind_a_policer_reno_has_three_quarters_of_a_burst_in_each_rtt() {
    let (rate, rtt) = (10e6, 0.04);
    let mut found = Vec::new();
    for burst in [6_000.0_f64, 15_000.0, 30_000.0] {
        let keys = format!("policer = {{ rate = \"10Mbit/s\", burst = \"{burst}B\" }}");
        let (goodput, recording) = goodput(&keys, "reno");
        let expected = 0.75 * burst * 8.0 / rtt * 1460.0 / 1500.0;
        found.push((burst, goodput / expected));
        assert!(policed(&recording, "dropped_packets") > 0);
        assert_eq!(recording.links[0].dropped_packets, 0, "the queue dropped none");
        let most = rate / 8.0 * 300.0 + burst;
        assert!(policed(&recording, "passed_bytes") as f64 <= most);
    }
    assert!(found.iter().all(|(_, share)| (share - 1.0).abs() < 0.1), "{found:?}");
}

/// Both engines, with a peak rate, active queue management and cells.
#[test]
fn both_engines_record_the_same() {
    let peak = "peak = { rate = \"20Mbit/s\", burst = \"3kB\" }";
    for keys in [
        format!("shaper = {{ rate = \"9Mbit/s\", burst = \"32kB\", {peak} }}, jitter = \"1ms\""),
        "policer = { rate = \"9Mbit/s\", burst = \"32kB\" }, aqm = \"codel\"".to_owned(),
        "shaper = { rate = \"9Mbit/s\", burst = \"32kB\" }, aqm = \"codel\", min_packet = \"64B\""
            .to_owned(),
    ] {
        let scenario = parse(&link(&keys, "cubic", "bulk = \"20MB\""));
        let fast = simulator::run(&scenario, 1, simulator::Options::default());
        let slow = simulator::run_on_reference(&scenario, 1, simulator::Options::default());
        assert_eq!(fast.flows, slow.flows, "{keys}");
        assert_eq!(fast.links, slow.links, "{keys}");
        assert!(fast.flows[0].completed, "{keys}");
    }
}
