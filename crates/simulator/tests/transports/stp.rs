//! Flows with STP: in both engines, with TCP on the same link, over errors, and what is refused.

use explain::WarningKind;
use recording::{FlowRecord, StpRecord};
use simulator::Options;

use crate::common::{flow, link, parse, refusal, returned, run, warnings};

const STP: &str = r#"protocol = "stp""#;
/// A rate below that of the link: the mode without a congestion window.
const RATE: &str = r#"protocol = "stp", stp = { rate = "1.8Mbit/s" }"#;

fn stp(flow: &FlowRecord) -> &StpRecord {
    flow.protocol.stp().unwrap()
}

#[test]
fn a_download_ends_with_all_bytes_and_packets_have_their_lengths() {
    let recording = run(&link("300ms", "", &flow("newreno", RATE, r#"download = "2MB""#)));
    let flow = &recording.flows[0];
    assert!(flow.completed && flow.bytes == 2_000_000, "{flow:?}");
    let record = stp(flow);
    // 1370 packets of 1460 bytes, with 12 bytes of STP and 20 of IP; each 25th has a POLL of 4
    // bytes.
    assert_eq!((record.segments_sent, record.segments_retransmitted), (1370, 0));
    let data = 2_000_000 + 1370 * 32 + 4 * 1370 / 25;
    let others = recording.links[0].delivered_bytes as i64 - i64::from(data);
    assert!(
        (0..400).contains(&others),
        "{others} bytes in set-up, POLLs without data, and the end"
    );
}

/// The claim of Henderson and Katz: throughput does not depend on the round-trip time.
#[test]
fn the_goodput_is_the_same_at_20_and_at_600_ms() {
    let goodput = |delay| {
        let recording = run(&link(delay, "", &flow("newreno", RATE, r#"bulk = "20MB""#)));
        recording.flows[0].goodput_bps
    };
    let [short, long] = ["10ms", "300ms"].map(goodput);
    assert!(long > 0.98 * short, "{long:.0} of {short:.0} bit/s");
}

/// The claim about the return channel, with TCP's ACKs over the same link as measure.
#[test]
fn a_tenth_of_the_bytes_of_tcp_return() {
    let [(stp, sent), (tcp, same)] = [RATE, r#"recovery = "sack""#].map(|transport| {
        returned(&link("300ms", "", &flow("newreno", transport, r#"bulk = "10MB""#)))
    });
    assert_eq!(sent, same);
    assert!(stp * 10 < tcp, "{stp} bytes of STATs, {tcp} of ACKs");
}

/// Errors in both directions, on a return channel of 16 kbit/s: all bytes arrive, at (1-p) of the
/// rate.
#[test]
fn errors_cost_no_more_than_the_packets_that_they_damage() {
    for per in [1e-4, 1e-3, 1e-2] {
        let channel = format!(
            "forward = {{ channel = {{ per = {per} }} }}\n\
             backward = {{ rate = \"16kbit/s\", channel = {{ per = {per} }} }}"
        );
        let recording = run(&link("260ms", &channel, &flow("newreno", RATE, r#"bulk = "20MB""#)));
        let flow = &recording.flows[0];
        assert!(flow.completed && flow.bytes == 20_000_000, "{flow:?}");
        let expected = 1.8e6 * 1460.0 / 1492.16 * (1.0 - per);
        let share = flow.goodput_bps / expected;
        assert!((0.97..1.005).contains(&share), "PER {per}: {share:.3} of {expected:.0} bit/s");
    }
}

/// The same scenario and seed, the same recording; and both engines have the same.
#[test]
fn a_seed_gives_one_recording_in_both_engines() {
    let both = [flow("newreno", STP, r#"bulk = "600kB""#), flow("cubic", "", r#"bulk = "600kB""#)];
    let text = link("300ms", "channel = { per = 0.01 }", &both.concat());
    let mut first = run(&text);
    assert_eq!(first.digest(), run(&text).digest());
    let mut reference = simulator::run_on_reference(&parse(&text), 1, Options::default());
    // The reference engine has more events.
    (first.events, reference.events) = (0, 0);
    assert_eq!(first.digest(), reference.digest());
    for flow in &first.flows {
        assert!(flow.completed && flow.bytes == 600_000, "{flow:?}");
    }
    let record = stp(&first.flows[0]);
    assert!(record.segments_retransmitted > 0 && record.ustats_sent > 0, "{record:?}");
}

/// XSTP: a probe finds that the link is free, and the window stays.
#[test]
fn probing_keeps_the_window_over_errors_and_not_over_a_full_queue() {
    let probing = r#"protocol = "stp", stp = { probing = true }"#;
    // A window below the BDP leaves the queue empty.
    let small = r#"protocol = "stp", receive_buffer = "100kB", stp = { probing = true }"#;
    let lossy =
        link("260ms", "channel = { per = 0.001 }", &flow("newreno", small, r#"bulk = "10MB""#));
    let record = run(&lossy);
    let record = stp(&record.flows[0]);
    assert!(record.probed_corruption > 0 && record.fast_recoveries == 0, "{record:?}");
    let full = link("260ms", "", &flow("newreno", probing, r#"bulk = "10MB""#));
    let record = run(&full);
    let record = stp(&record.flows[0]);
    assert!(record.probed_congestion > 0 && record.fast_recoveries > 0, "{record:?}");
}

#[test]
fn pages_come_over_connections_of_stp() {
    let web = r#"web = { pages = 2, main_object = "20kB", embedded_objects = 4, embedded_object = "10kB", request = "300B" }"#;
    let recording = run(&link("300ms", "", &flow("newreno", STP, web)));
    let flow = &recording.flows[0];
    assert!(flow.completed && flow.bytes == 120_000, "{flow:?}");
}

/// Q.2110: a connection without a STAT for Timer_NO-RESPONSE ends.
#[test]
fn a_dead_link_ends_the_connection() {
    let dead = r#"event = [{ at = "5s", forward = { outage = "900s" } }]"#;
    let recording = run(&link("300ms", dead, &flow("newreno", STP, r#"download = "50MB""#)));
    let flow = &recording.flows[0];
    assert!(!flow.completed && flow.abort_cause.is_some(), "{flow:?}");
}

#[test]
fn what_stp_cannot_do_is_refused_with_its_line() {
    let of = |controller, transport| {
        refusal(&link("300ms", "", &flow(controller, transport, r#"download = "1MB""#)))
    };
    let error = of("bbr", STP);
    assert!(error.contains("test.toml:") && error.contains("delivery rate samples"), "{error}");
    let error = of("newreno", r#"protocol = "stp", recovery = "sack""#);
    assert!(error.contains("recovery") && error.contains("stp"), "{error}");
    let error = of("newreno", r#"stp = { rate = "1Mbit/s" }"#);
    assert!(error.contains("protocol = \"stp\""), "{error}");
    let error = of("newreno", r#"protocol = "stp", stp = { packets_per_poll = 0 }"#);
    assert!(error.contains("packets_per_poll"), "{error}");
    let mtu = link("300ms", "mtu = 1400", &flow("newreno", STP, r#"download = "1MB""#));
    assert!(refusal(&mtu).contains("mtu of link"));
}

/// A rate has no congestion window: what is too much is said before the run.
#[test]
fn explain_warns_of_rates_and_timers_that_do_not_fit_the_path() {
    let warnings = |settings: &str| {
        let transport = format!("protocol = \"stp\", stp = {{ {settings} }}");
        warnings(&link("300ms", "", &flow("newreno", &transport, r#"download = "1MB""#)))
    };
    assert_eq!(warnings("rate = \"1.9Mbit/s\", poll_interval = \"2s\""), []);
    assert_eq!(warnings("rate = \"2.1Mbit/s\""), [WarningKind::RateAboveBottleneck]);
    assert_eq!(warnings("no_response = \"500ms\""), [WarningKind::ResponseBelowRtt]);
}
