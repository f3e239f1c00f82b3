//! Flows with SCTP: in both engines, with TCP on the same link, over errors, with streams, and what
//! is refused.

use recording::{FlowRecord, SctpRecord};
use scenario::model::Transport;
use simulator::Options;

use crate::common::{flow, link, parse, refusal, run, warnings};

const SCTP: &str = r#"protocol = "sctp""#;

fn sctp(flow: &FlowRecord) -> &SctpRecord {
    flow.protocol.sctp().unwrap()
}

fn one(delay: &str, extra: &str, transport: &str, traffic: &str) -> String {
    link(delay, extra, &flow("none", transport, traffic))
}

#[test]
fn a_download_ends_with_all_bytes_and_packets_have_their_lengths() {
    // The queue does not overflow.
    let transport = format!(r#"{SCTP}, initial_ssthresh = "150kB""#);
    let recording = run(&one("300ms", "", &transport, r#"bulk = "2MB""#));
    let flow = &recording.flows[0];
    assert!(flow.completed && flow.bytes == 2_000_000, "{flow:?}");
    let record = sctp(flow);
    assert_eq!((record.segments_sent, record.segments_retransmitted), (1378, 0));
    assert_eq!((record.timeouts, record.duplicates_received, record.heartbeats_sent), (0, 0, 0));
    assert!((600..1000).contains(&record.sacks_sent), "{record:?}");
    // One chunk in each packet.
    assert_eq!(record.data_packets_sent, record.segments_sent);
    let others = recording.links[0].delivered_bytes as i64 - (2_000_000 + 1378 * 48);
    assert!((0..400).contains(&others), "{others} bytes in set-up and shutdown");
}

/// The headers of SCTP are longer than those of TCP, whose default would exceed an Ethernet frame.
#[test]
fn full_packets_have_1500_bytes_by_default() {
    for (ip, mss) in [("ipv4", 1452), ("ipv6", 1432)] {
        let scenario = |transport: &str| {
            let text = one("300ms", "", transport, r#"bulk = "100kB""#);
            parse(&format!("ip = \"{ip}\"\n{text}")).flows[0].transport.clone()
        };
        let Transport::Sctp(config) = scenario(SCTP) else { panic!("no SCTP") };
        assert_eq!(config.mss, mss);
        let Transport::Sctp(config) = scenario(&format!("{SCTP}, mss = 1460")) else {
            panic!("no SCTP")
        };
        assert_eq!(config.mss, 1460);
    }
}

/// It is not without control: an SCTP and a TCP share a link, and a loss halves its window.
#[test]
fn it_shares_a_link_with_tcp() {
    let both =
        [flow("none", SCTP, r#"bulk = "unlimited""#), flow("reno", "", r#"bulk = "unlimited""#)];
    let recording = run(&link("100ms", "", &both.concat()).replace("600s", "300s"));
    let [sctp_bps, tcp] = [0, 1].map(|i| recording.flows[i].goodput_bps);
    assert!(sctp_bps + tcp > 1.8e6, "{sctp_bps} and {tcp} bit/s");
    assert!(sctp_bps > 0.25 * tcp && tcp > 0.25 * sctp_bps, "{sctp_bps} and {tcp} bit/s");
    assert!(sctp(&recording.flows[0]).fast_recoveries > 0);
}

#[test]
fn each_error_rate_leaves_all_bytes() {
    for (per, at_most) in [(1e-3, 1.0), (1e-2, 0.4)] {
        let channel = format!("channel = {{ per = {per} }}");
        let recording = run(&one("250ms", &channel, SCTP, r#"bulk = "5MB""#));
        let flow = &recording.flows[0];
        assert!(flow.completed && flow.bytes == 5_000_000, "{flow:?}");
        let record = sctp(flow);
        assert!(record.segments_retransmitted > 0 && record.fast_recoveries > 0, "{record:?}");
        assert!(flow.goodput_bps < at_most * 2e6, "{}", flow.goodput_bps);
    }
}

/// The same scenario and seed, the same recording; and both engines have the same.
#[test]
fn a_seed_gives_one_recording_in_both_engines() {
    let both = [flow("none", SCTP, r#"bulk = "600kB""#), flow("cubic", "", r#"bulk = "600kB""#)];
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
}

/// Each kind of traffic, and both versions of IP.
#[test]
fn all_traffic_arrives() {
    for (traffic, bytes) in [
        (r#"download = "300kB""#, 300_000),
        (r#"bulk = "300kB""#, 300_000),
        (
            r#"web = { pages = 2, main_object = "20kB", embedded_objects = 4, embedded_object = "10kB", request = "300B" }"#,
            120_000,
        ),
        (
            r#"web = { pages = 2, main_object = "20kB", embedded_objects = 4, embedded_object = "10kB", request = "300B", connections = 2, pipelining = false }"#,
            120_000,
        ),
    ] {
        for (ip, extra) in [("ipv4", ""), ("ipv4", "channel = { per = 0.02 }"), ("ipv6", "")] {
            let text = format!("ip = \"{ip}\"\n{}", one("300ms", extra, SCTP, traffic));
            let flow = &run(&text).flows[0];
            assert!(flow.completed && flow.bytes == bytes, "{traffic} {extra}: {flow:?}");
        }
    }
}

/// Path.Max.Retrans and Association.Max.Retrans.
#[test]
fn a_dead_link_ends_the_association_and_a_short_outage_does_not() {
    let during = |outage, settings: &str| {
        let event = format!(r#"event = [{{ at = "3s", forward = {{ outage = "{outage}" }} }}]"#);
        let transport = format!("{SCTP}, sctp = {{ {settings} }}");
        let recording = run(&one("300ms", &event, &transport, r#"bulk = "5MB""#));
        recording.flows[0].clone()
    };
    let dead = during("500s", "max_retries = 4");
    assert!(!dead.completed && dead.aborted, "{dead:?}");
    assert_eq!(dead.abort_cause.as_deref(), Some("retransmissions"), "{dead:?}");
    let short = during("20s", "");
    assert!(short.completed && sctp(&short).timeouts > 0, "{short:?}");
}

/// Each key of `sctp` reaches the ends: the recording differs from that with the default.
#[test]
fn each_setting_has_an_effect() {
    let lossy = "channel = { per = 0.02 }\n\
                 event = [{ at = \"30s\", forward = { outage = \"40s\" } }]";
    let shut = r#"event = [{ at = "1ms", forward = { outage = "40s" } }]"#;
    let bulk = r#"bulk = "1MB""#;
    // The second page comes after the outage, and nothing is sent before it.
    let pages = r#"web = { pages = 2, main_object = "40kB", embedded_objects = 4, embedded_object = "40kB", interval = "80s" }"#;
    let small = r#"receive_buffer = "12kB""#;
    // The others differ from the first.
    let table: [(&str, &str, &str, &[&str]); 5] = [
        (
            lossy,
            "",
            bulk,
            &[
                "",
                r#"message_size = "300B""#,
                r#"sack_delay = "0ms""#,
                r#"rto_initial = "400ms""#,
                "sack_frequency = 1",
                r#"rto_min = "3s""#,
                r#"rto_max = "1s""#,
                "max_burst = 1",
                "max_retries = 0",
                "path_max_retries = 0",
            ],
        ),
        // Messages that wait for others use the window.
        (lossy, small, bulk, &["", "streams = 1"]),
        (lossy, small, bulk, &["streams = 1", "streams = 1, unordered = true"]),
        (lossy, "", pages, &["", "streams = 1", r#"heartbeat_interval = "1s""#]),
        (shut, "", bulk, &["", "init_max_retries = 1", r#"cookie_life = "1s""#]),
    ];
    for (link, base, traffic, settings) in table {
        let digest = |settings: &str| {
            let comma = if base.is_empty() { "" } else { ", " };
            let transport = format!("{SCTP}, sctp = {{ {settings} }}{comma}{base}");
            let mut recording = run(&one("520ms", link, &transport, traffic));
            recording.events = 0;
            recording.digest()
        };
        let first = digest(settings[0]);
        for settings in &settings[1..] {
            assert_ne!(digest(settings), first, "{settings}");
        }
    }
}

/// Streams share one window, so without losses a page takes as long: its bytes are the same. What
/// differs are the last packets, which are short. Each object ends later, because the streams take
/// turns.
#[test]
fn streams_make_no_page_slower_and_its_objects_end_together() {
    let [one, ten] = [1, 10].map(|streams| {
        let transport = format!("{SCTP}, sctp = {{ streams = {streams} }}");
        let flow = &run(&one("260ms", "", &transport, "web = { pages = 1 }")).flows[0];
        let page = &flow.pages[0];
        let objects = page.objects.iter().map(|object| object.response_s.unwrap());
        (page.response_s.unwrap(), objects.sum::<f64>())
    });
    assert!((ten.0 / one.0 - 1.0).abs() < 0.02, "{} and {} s", ten.0, one.0);
    assert!(ten.1 > 1.1 * one.1, "{} and {} s", ten.1, one.1);
}

#[test]
fn what_sctp_cannot_do_is_refused_with_its_line_and_what_is_possible() {
    let of = |controller: &str, transport: &str| {
        refusal(&link("300ms", "", &flow(controller, transport, r#"download = "1MB""#)))
    };
    let error = of("newreno", SCTP);
    assert!(error.contains("test.toml:11") && error.contains("flow[0].controller"), "{error}");
    assert!(error.contains("expected \"none\", found \"newreno\""), "{error}");
    assert!(error.contains("RFC 9260 section 7"), "{error}");
    let settings =
        |settings: &str| of("none", &format!(r#"protocol = "sctp", sctp = {{ {settings} }}"#));
    let error = settings(r#"rto_min = "2s", rto_max = "1s""#);
    assert!(error.contains("test.toml:12") && error.contains("sctp.rto_min"), "{error}");
    assert!(error.contains("expected at most `rto_max`, \"1s\", found \"2s\""), "{error}");
    let error = settings(r#"rto_initial = "61s""#);
    assert!(error.contains("sctp.rto_initial"), "{error}");
    let error = settings(r#"sack_delay = "501ms""#);
    assert!(error.contains("sctp.sack_delay") && error.contains("500ms"), "{error}");
    let error = of("none", &format!("{SCTP}, mss = 65465"));
    assert!(error.contains("expected at most 65464"), "{error}");
    let error = of("newreno", r"sctp = { streams = 2 }");
    assert!(error.contains("protocol = \"sctp\""), "{error}");
    let mtu = one("300ms", "mtu = 1400", SCTP, r#"download = "1MB""#);
    assert!(refusal(&mtu).contains("mtu of link"));
}

/// Timers that are below the round-trip time are said before the run.
#[test]
fn explain_warns_of_timers_that_do_not_fit_the_path() {
    use explain::WarningKind::ResponseBelowRtt;
    let of = |settings: &str| {
        let transport = format!("{SCTP}, sctp = {{ {settings} }}");
        warnings(&one("600ms", "", &transport, r#"download = "1MB""#))
    };
    assert_eq!(of(r#"rto_initial = "3s""#), []);
    assert_eq!(of(""), [ResponseBelowRtt]);
    for settings in
        [r#"rto_initial = "1s", rto_max = "1s""#, r#"rto_initial = "3s", cookie_life = "1s""#]
    {
        assert_eq!(of(settings), [ResponseBelowRtt], "{settings}");
    }
}
