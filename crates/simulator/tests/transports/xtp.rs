//! Flows with XTP: in both engines, with TCP on the same link, over errors, and what is refused.

use recording::{FlowRecord, XtpRecord};
use simulator::{Observed, Options};

use crate::common::{flow, link, parse, refusal, returned, run, warnings};

const XTP: &str = r#"protocol = "xtp""#;
/// A rate below that of the link.
const RATE: &str = r#"protocol = "xtp", xtp = { rate = "1.8Mbit/s" }"#;

fn xtp(flow: &FlowRecord) -> &XtpRecord {
    flow.protocol.xtp().unwrap()
}

/// Goodput at `RATE` without loss: 1460 bytes of a packet with 32 bytes of XTP and 20 of IP.
const GOODPUT: f64 = 1.8e6 * 1460.0 / 1512.0;

#[test]
fn a_download_ends_with_all_bytes_and_packets_have_their_lengths() {
    let recording = run(&link("300ms", "", &flow("none", RATE, r#"download = "2MB""#)));
    let flow = &recording.flows[0];
    assert!(flow.completed && flow.bytes == 2_000_000, "{flow:?}");
    let record = xtp(flow);
    assert_eq!((record.segments_sent, record.segments_retransmitted), (1370, 0));
    let others = recording.links[0].delivered_bytes as i64 - (2_000_000 + 1370 * 52);
    assert!((0..600).contains(&others), "{others} bytes in set-up, answers and the end");
}

/// A burst of ten packets, and one packet at a time: the same goodput, and another queue.
#[test]
fn a_burst_leaves_at_once() {
    let longest_queue = |burst: u32| {
        let transport =
            format!(r#"protocol = "xtp", xtp = {{ rate = "1.8Mbit/s", burst = "{burst}B" }}"#);
        let recording = run(&link("300ms", "", &flow("none", &transport, r#"bulk = "10MB""#)));
        let goodput = recording.flows[0].goodput_bps;
        assert!((goodput / GOODPUT - 1.0).abs() < 0.02, "{goodput} bit/s with {burst} bytes");
        recording.links[0].max_queue_bytes
    };
    let [one, ten] = [1512, 15_120].map(longest_queue);
    // The packet that is being sent is not in the queue. There may be one more without data.
    assert!(
        one <= 1512 + 100 && (9 * 1512..=10 * 1512 + 100).contains(&ten),
        "{one} and {ten} bytes"
    );
}

#[test]
fn the_goodput_is_the_same_at_20_and_at_600_ms() {
    let goodput =
        |delay| run(&link(delay, "", &flow("none", RATE, r#"bulk = "20MB""#))).flows[0].goodput_bps;
    let [short, long] = ["10ms", "300ms"].map(goodput);
    assert!(long > 0.98 * short, "{long:.0} of {short:.0} bit/s");
}

/// One report in a round trip, with TCP's ACKs over the same link as measure.
#[test]
fn a_tenth_of_the_bytes_of_tcp_return() {
    let [(xtp, sent), (tcp, same)] =
        [("none", RATE), ("newreno", r#"recovery = "sack""#)].map(|(controller, transport)| {
            returned(&link("300ms", "", &flow(controller, transport, r#"bulk = "10MB""#)))
        });
    assert_eq!(sent, same);
    assert!(xtp * 10 < tcp, "{xtp} bytes of reports, {tcp} of ACKs");
}

/// The claim about XTP without congestion control, with TCP on the same channel as measure. Data
/// and reports are corrupted.
#[test]
fn errors_cost_no_more_than_the_packets_that_they_corrupt() {
    let goodput = |per: f64, controller, transport, back| {
        let channel = format!(
            "forward = {{ channel = {{ per = {per} }} }}\n\
             backward = {{ rate = \"{back}\", channel = {{ per = {per} }} }}"
        );
        let recording =
            run(&link("260ms", &channel, &flow(controller, transport, r#"bulk = "20MB""#)));
        let flow = &recording.flows[0];
        assert_eq!(flow.completed, flow.bytes == 20_000_000, "{flow:?}");
        assert!(flow.completed || flow.protocol.xtp().is_none(), "{flow:?}");
        flow.goodput_bps
    };
    for per in [1e-5, 1e-4, 1e-3, 1e-2] {
        for back in ["2Mbit/s", "16kbit/s"] {
            let share = goodput(per, "none", RATE, back) / (GOODPUT * (1.0 - per));
            assert!((0.97..1.005).contains(&share), "PER {per}, {back}: {share:.3}");
        }
    }
    let tcp = goodput(1e-2, "newreno", r#"recovery = "sack""#, "2Mbit/s");
    assert!(tcp < 0.2 * GOODPUT, "{tcp:.0} bit/s of TCP");
}

/// A channel of 256 kbit/s with 16 kbit/s back, as of the papers.
#[test]
fn sixteen_kilobits_are_enough_for_the_reports_of_256() {
    let transport = r#"protocol = "xtp", xtp = { rate = "250kbit/s" }"#;
    let channel = "forward = { rate = \"256kbit/s\", channel = { per = 0.001 } }\n\
                   backward = { rate = \"16kbit/s\", channel = { per = 0.001 } }";
    let recording = run(&link("260ms", channel, &flow("none", transport, r#"bulk = "5MB""#)));
    let share = recording.flows[0].goodput_bps / (250e3 * 1460.0 / 1512.0 * 0.999);
    assert!((0.97..1.005).contains(&share), "{share:.3}");
    let used = recording.links[1].utilisation;
    assert!(used < 0.1, "{used:.3} of the return channel");
}

/// Going back N, the receiver drops all that arrives above a gap.
#[test]
fn going_back_n_each_loss_costs_a_round_trip_of_data() {
    let with = |settings: &str| {
        let transport = format!(r#"protocol = "xtp", xtp = {{ rate = "1.8Mbit/s"{settings} }}"#);
        let text = flow("none", &transport, r#"bulk = "10MB""#);
        let recording = run(&link("260ms", "channel = { per = 0.001 }", &text));
        let flow = &recording.flows[0];
        assert!(flow.completed && flow.bytes == 10_000_000, "{flow:?}");
        xtp(flow).clone()
    };
    let selective = with("");
    let back = with(r#", retransmission = "go-back-n""#);
    // A round trip has 78 packets.
    assert!(back.segments_retransmitted > 40 * selective.segments_retransmitted, "{back:?}");
    for record in [selective, back] {
        assert!(record.gap_reports_sent > 0 && record.handshakes == 0, "{record:?}");
    }
}

/// The same scenario and seed, the same recording; and both engines have the same.
#[test]
fn a_seed_gives_one_recording_in_both_engines() {
    let slow = r#"protocol = "xtp", xtp = { rate = "900kbit/s" }"#;
    let both = [flow("none", slow, r#"bulk = "600kB""#), flow("cubic", "", r#"bulk = "600kB""#)];
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
    let record = xtp(&first.flows[0]);
    assert!(record.segments_retransmitted > 0 && record.requests_sent > 0, "{record:?}");
    assert!(record.reports_sent > record.gap_reports_sent, "{record:?}");
}

/// A request whose time has come before there is anything to ask about leaves when there is, and
/// not at a time that is over.
#[test]
fn time_never_runs_backwards_where_requests_are_more_frequent_than_data() {
    let transport =
        r#"protocol = "xtp", reader_rate = "98kbit/s", xtp = { request_interval = "2ms" }"#;
    let text = flow("none", transport, r#"constant = { rate = "700kbit/s" }"#);
    let scenario = parse(&link("20ms", "", &text).replace("600s", "60s"));
    let mut times = Vec::new();
    let mut observer = |observed: &Observed<'_>| times.push(observed.at);
    let options = Options { observer: Some(&mut observer), ..Options::default() };
    simulator::run(&scenario, 1, options);
    assert!(times.len() > 200 && times.is_sorted(), "{} packets", times.len());
}

/// Without a rate a whole window leaves at once, and the queue overflows. XTP does not slow down;
/// all bytes arrive.
#[test]
fn without_a_rate_the_window_leaves_at_once() {
    let transport = |buffer| format!(r#"protocol = "xtp", receive_buffer = "{buffer}""#);
    let sent = |buffer| {
        let text = link("260ms", "", &flow("none", &transport(buffer), r#"bulk = "5MB""#));
        let recording = run(&text);
        let flow = &recording.flows[0];
        assert!(flow.completed && flow.bytes == 5_000_000, "{flow:?}");
        (recording.links[0].dropped_packets, xtp(flow).clone())
    };
    // 130 kB are in flight, and the queue takes 300 kB.
    let (dropped, record) = sent("290kB");
    assert_eq!((dropped, record.segments_retransmitted), (0, 0), "{record:?}");
    let (dropped, record) = sent("1MB");
    assert!(dropped > 100 && record.segments_retransmitted >= dropped, "{dropped}, {record:?}");
}

#[test]
fn pages_come_over_connections_of_xtp() {
    let web = r#"web = { pages = 2, main_object = "20kB", embedded_objects = 4, embedded_object = "10kB", request = "300B" }"#;
    for extra in ["", "channel = { per = 0.02 }"] {
        let recording = run(&link("300ms", extra, &flow("none", XTP, web)));
        let flow = &recording.flows[0];
        assert!(flow.completed && flow.bytes == 120_000, "{flow:?}");
    }
}

/// With IPv6 a FIRST has longer addresses, and the rate counts longer headers.
#[test]
fn over_ipv6_the_rate_counts_the_longer_header() {
    let text = link("300ms", "", &flow("none", RATE, r#"bulk = "5MB""#));
    let [four, six] = ["ipv4", "ipv6"].map(|ip| {
        let recording = run(&format!("ip = \"{ip}\"\n{text}"));
        recording.flows[0].goodput_bps
    });
    let share = six / four / (1512.0 / 1532.0);
    assert!((0.999..1.001).contains(&share), "{share}");
}

/// CTIMEOUT: a synchronising handshake without an answer ends the connection.
#[test]
fn a_dead_link_ends_the_connection_and_a_short_outage_does_not() {
    let during = |outage| {
        let event = format!(r#"event = [{{ at = "5s", forward = {{ outage = "{outage}" }} }}]"#);
        let recording = run(&link("300ms", &event, &flow("none", RATE, r#"download = "20MB""#)));
        recording.flows[0].clone()
    };
    let dead = during("500s");
    assert!(!dead.completed, "{dead:?}");
    assert_eq!(dead.abort_cause.as_deref(), Some("user-timeout"), "{dead:?}");
    let short = during("20s");
    assert!(short.completed && xtp(&short).handshakes > 0, "{short:?}");
}

#[test]
fn what_xtp_cannot_do_is_refused_with_its_line_and_what_is_possible() {
    let of = |controller: &str, transport: &str| {
        refusal(&link("300ms", "", &flow(controller, transport, r#"download = "1MB""#)))
    };
    let settings =
        |settings: &str| of("none", &format!(r#"protocol = "xtp", xtp = {{ {settings} }}"#));
    let error = of("newreno", XTP);
    assert!(error.contains("test.toml:11") && error.contains("flow[0].controller"), "{error}");
    assert!(error.contains("expected \"none\", found \"newreno\""), "{error}");
    assert!(error.contains("XTP has no congestion control"), "{error}");
    let error = settings(r#"burst = "3kB""#);
    assert!(error.contains("test.toml:12") && error.contains("xtp.burst"), "{error}");
    assert!(error.contains("expected `rate` too"), "{error}");
    let error = settings(r#"rate = "1Mbit/s", burst = "1511B""#);
    assert!(error.contains("expected 1512B to 4294967295B, found \"1511B\""), "{error}");
    let error = settings(r#"rate = "1Mbit/s", burst = "4294967296B""#);
    assert!(error.contains("BURST has 32 bits"), "{error}");
    let error = settings(r#"rate = "34.4Gbit/s""#);
    assert!(error.contains("expected at most 34359738360bit/s"), "{error}");
    let error = settings(r#"retransmission = "sometimes""#);
    assert!(error.contains("go-back-n"), "{error}");
    let error = of("newreno", r#"xtp = { rate = "1Mbit/s" }"#);
    assert!(error.contains("protocol = \"xtp\""), "{error}");
    let mtu = link("300ms", "mtu = 1400", &flow("none", XTP, r#"download = "1MB""#));
    assert!(refusal(&mtu).contains("mtu of link"));
}

/// Nothing holds a sender back: what is too much is said before the run.
#[test]
fn explain_warns_of_rates_and_timers_that_do_not_fit_the_path() {
    use explain::WarningKind::{RateAboveBottleneck, ResponseBelowRtt};
    let of = |transport: &str| {
        warnings(&link("300ms", "", &flow("none", transport, r#"download = "1MB""#)))
    };
    assert_eq!(of(r#"protocol = "xtp", xtp = { rate = "1.9Mbit/s" }"#), []);
    assert_eq!(of(r#"protocol = "xtp", xtp = { rate = "2.1Mbit/s" }"#), [RateAboveBottleneck]);
    assert_eq!(of(XTP), [RateAboveBottleneck]);
    assert_eq!(of(r#"protocol = "xtp", receive_buffer = "200kB""#), []);
    for timer in ["ctimeout", "wtimer"] {
        let transport =
            format!(r#"protocol = "xtp", xtp = {{ rate = "1.9Mbit/s", {timer} = "500ms" }}"#);
        assert_eq!(of(&transport), [ResponseBelowRtt], "{timer}");
    }
}
