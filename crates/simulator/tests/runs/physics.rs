//! Laws that no network can break: rates, delays, conservation.

use crate::{geo, run};

/// A download in one window: set-up, request, and then bytes at the rate of the link.
#[test]
fn a_download_without_loss_takes_what_arithmetic_says() {
    // 200 segments in a window that holds them all: nothing ever waits for an ACK.
    let text = geo(
        r#"rate = "1Mbit/s"
queue = "unlimited""#,
        r#"mss = 1000, initial_window = 1000, timestamps = false"#,
        r#"download = "200000B""#,
    );
    for (ip, headers) in [("ipv4", 40.0), ("ipv6", 60.0)] {
        let recording = run(&format!("ip = \"{ip}\"\n{text}"));
        let measured = recording.flows[0].completion_s.unwrap();
        // SYN and SYN-ACK with 8 and 4 bytes of options each, the ACK; then 200 packets.
        let syn = (headers + 12.0) * 8.0 / 1e6;
        let ack = headers * 8.0 / 1e6;
        let data = 200.0 * (headers + 1000.0) * 8.0 / 1e6;
        let expected = 2.0 * (0.25 + syn) + 0.25 + ack + 0.25 + data;
        assert!((measured - expected).abs() < 1e-4, "{ip}: {measured} s instead of {expected} s");
    }
}

/// The window over the round-trip time, as long as the link is faster.
#[test]
fn a_window_limits_the_rate_to_itself_over_the_round_trip() {
    for window in [20_000, 40_000, 65_535] {
        let transport = format!(r#"mss = 1000, receive_buffer = "{window}B", delayed_ack = "off""#);
        let text = geo(r#"rate = "100Mbit/s""#, &transport, r#"download = "20MB""#);
        let goodput = run(&text).flows[0].goodput_bps;
        let segments = f64::from(window / 1000);
        let bound = segments * 8000.0 / 0.5;
        assert!((0.97..1.0).contains(&(goodput / bound)), "{goodput} of {bound} bit/s");
    }
}

#[test]
fn a_slow_reader_gets_what_it_reads() {
    for rate in [50_000.0, 400_000.0] {
        let transport = format!(r#"receive_buffer = "65535B", reader_rate = "{rate}bit/s""#);
        let text = geo(r#"rate = "10Mbit/s""#, &transport, r#"download = "2MB""#);
        let flow = &run(&text).flows[0];
        assert!(flow.completed);
        assert!(
            (0.93..=1.0).contains(&(flow.goodput_bps / rate)),
            "{} of {rate}",
            flow.goodput_bps
        );
    }
}

#[test]
fn no_link_is_used_more_than_all_the_time_and_a_long_bulk_fills_it() {
    let text = geo(
        r#"rate = "2Mbit/s"
queue = { packets = 100 }"#,
        r#"receive_buffer = "1MiB", recovery = "sack", timestamps = false"#,
        r#"bulk = "unlimited""#,
    );
    let recording = run(&text);
    assert!(recording.links.iter().all(|link| (0.0..=1.0).contains(&link.utilisation)));
    assert!(recording.links[0].utilisation > 0.95, "{}", recording.links[0].utilisation);
    // 1460 of 1500 bytes are payload.
    let goodput = recording.flows[0].goodput_bps;
    assert!(goodput <= 2e6 * 1460.0 / 1500.0, "{goodput}");
}

/// A transfer is the same over both but for the bytes of the header.
#[test]
fn over_ipv6_the_same_packets_are_twenty_bytes_longer() {
    let text = geo("rate = \"100Mbit/s\"", "receive_buffer = \"65535B\"", "bulk = \"1MB\"");
    let [ipv4, ipv6] = ["ipv4", "ipv6"].map(|ip| run(&format!("ip = \"{ip}\"\n{text}")));
    assert_eq!(
        ipv4.flows[0].tcp().unwrap().segments_sent,
        ipv6.flows[0].tcp().unwrap().segments_sent
    );
    for (short, long) in ipv4.links.iter().zip(&ipv6.links) {
        assert_eq!(short.delivered_packets, long.delivered_packets);
        let headers = 20 * short.delivered_packets;
        assert_eq!(short.delivered_bytes + headers, long.delivered_bytes);
    }
}

/// Each packet that a host sends is delivered, dropped or corrupted, or still on its way when the
/// run ends.
#[test]
fn no_packet_appears_or_disappears() {
    let text = geo(
        r#"rate = "1Mbit/s"
queue = { packets = 5 }
channel = { per = 0.002 }"#,
        r#"delayed_ack = "200ms""#,
        r#"bulk = "unlimited""#,
    );
    let scenario = crate::parse(&text);
    let mut sent = [0u64; 2];
    let mut count = |observed: &simulator::Observed<'_>| {
        sent[usize::from(observed.from)] += u64::from(observed.node == observed.from);
    };
    let options = simulator::Options { observer: Some(&mut count), ..Default::default() };
    let recording = simulator::run(&scenario, 3, options);
    for (link, sent) in recording.links.iter().zip(sent) {
        let gone = link.delivered_packets + link.dropped_packets + link.corrupted_packets;
        assert!(gone <= sent, "{gone} of {sent} packets");
        // A delay of 250 ms and a queue of 5 packets of 12 ms, at 1 Mbit/s.
        assert!(sent - gone <= 27, "{} packets in flight", sent - gone);
        assert!(link.corrupted_packets > 0);
    }
    assert!(recording.links[0].dropped_packets > 0);
}

#[test]
fn ten_thousand_flows_share_a_link() {
    let text = r#"
duration = "20s"
[[link]]
between = ["a", "b"]
rate = "1Gbit/s"
delay = "250ms"
queue = { packets = 20000 }
[[flow]]
from = "a"
to = "b"
controller = "newreno"
count = 10000
traffic = { download = "20kB" }
"#;
    let recording = run(text);
    assert_eq!(recording.flows.len(), 10_000);
    assert!(recording.flows.iter().all(|flow| flow.completed && flow.bytes == 20_000));
    assert!(recording.links[0].utilisation <= 1.0);
}

/// Before, a run whose last transfer ended shortly before its upper bound lasted until the bound.
#[test]
fn a_run_ends_with_its_last_transfer() {
    let text = geo("rate = \"1Mbit/s\"", "mss = 1000", "download = \"200kB\"");
    let completion = run(&text).flows[0].completion_s.unwrap();
    let tight = text.replace("3000s", &format!("{}ms", (completion * 1e3) as u64 + 1));
    assert_eq!(run(&tight).simulated_s, completion);
}

/// RFC 3168: the sender hears of the queue before the queue overflows.
#[test]
fn a_queue_that_marks_keeps_the_link_busy_and_loses_nothing() {
    // 250 packets are in flight at 6 Mbit/s; ssthresh lets slow start end before the queue is full.
    let link = "rate = \"6Mbit/s\"\nqueue = { packets = 300 }\necn_marking = { packets = 150, weight = 1 }";
    let with = |ecn: bool| {
        let transport = format!("ecn = {ecn}, initial_ssthresh = \"300kB\"");
        run(&geo(link, &transport, "bulk = \"400MB\""))
    };
    let (marked, unmarked) = (with(true), with(false));
    assert_eq!(
        (marked.links[0].dropped_packets, marked.flows[0].tcp().unwrap().segments_retransmitted),
        (0, 0)
    );
    assert!(marked.links[0].utilisation > 0.9, "{}", marked.links[0].utilisation);
    assert!(unmarked.links[0].dropped_packets > 0);
}
