//! Flows with QUIC, in both engines, with TCP on the same link, and with every controller.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use congestion::{Specification, entries};
use explain::explain;
use quic::{Carriage, carriage};
use recording::{Recording, Table, Values};
use scenario::{Loaded, Scenario};
use simulator::Options;

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn run(text: &str) -> Recording {
    run_with_seed(text, 1)
}

fn run_with_seed(text: &str, seed: u64) -> Recording {
    simulator::run(&parse(text), seed, Options::default())
}

/// Error message of the language for `text`.
fn refusal(text: &str) -> String {
    Scenario::parse(text, "test.toml", &[]).unwrap_err().to_string()
}

/// A flow over 4 Mbit/s and 600 ms with a queue of one BDP. `extra` is TOML of the link.
fn geo(extra: &str, flow: &str) -> String {
    format!(
        r#"
duration = "600s"
[[link]]
between = ["server", "client"]
rate = "4Mbit/s"
delay = "300ms"
queue = {{ packets = 200 }}
{extra}
{flow}
"#
    )
}

fn flow(controller: &str, transport: &str, traffic: &str) -> String {
    format!(
        r#"
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ {transport} }}
traffic = {{ {traffic} }}
"#
    )
}

/// A window of 1.5 BDP, which the queue can hold.
const QUIC: &str = r#"protocol = "quic", quic = { stream_receive_window = "450kB" }"#;
/// TCP that counts all bytes that an ACK acknowledges and paces, as QUIC does.
const TCP: &str = r#"recovery = "sack", receive_buffer = "450kB", abc_limit = 2, pacing = "linux""#;

#[test]
fn a_download_ends_with_all_bytes_and_packets_have_their_lengths() {
    let recording = run(&geo("", &flow("cubic", QUIC, r#"download = "2MB""#)));
    let flow = &recording.flows[0];
    assert!(flow.completed, "{flow:?}");
    assert_eq!(flow.bytes, 2_000_000);
    let quic = flow.protocol.quic().unwrap();
    assert_eq!(quic.segments_retransmitted, 0);
    // Between 1200 and 1452 bytes of UDP payload, with a header of QUIC in each.
    assert!((1380..1750).contains(&quic.segments_sent), "{flow:?}");
    let srtt = flow.srtt_ms.unwrap();
    assert!((600.0..1000.0).contains(&srtt), "{srtt}");
    let link = &recording.links[0];
    // 28 bytes of IP and UDP for each packet, and QUIC's own.
    let overhead = link.delivered_bytes as f64 / 2e6;
    assert!((1.04..1.07).contains(&overhead), "{overhead}");
}

/// RFC 9002 section 7.1: a mark reduces the window, and nothing is lost.
#[test]
fn a_marked_packet_reduces_the_window_without_a_loss() {
    let windows = ["", "ecn_marking = { packets = 20 }"].map(|marking| {
        let traffic = r#"download = "8MB""#;
        let recording = run(&geo(marking, &flow("cubic", QUIC, traffic)));
        let (flow, link) = (&recording.flows[0], &recording.links[0]);
        assert!(flow.completed, "{flow:?}");
        let quic = flow.protocol.quic().unwrap();
        assert_eq!((quic.segments_retransmitted, link.dropped_packets), (0, 0));
        flow.cwnd_bytes
    });
    let [without, with] = windows;
    assert!(with < without, "{with} of {without}");
}

/// The same scenario and seed, the same recording; and both engines have the same.
#[test]
fn a_seed_gives_one_recording_in_both_engines() {
    let lossy = "channel = { per = 0.01 }";
    let both = [flow("bbr", QUIC, r#"bulk = "600kB""#), flow("cubic", TCP, r#"bulk = "600kB""#)];
    let text = geo(lossy, &both.concat());
    let mut first = run(&text);
    assert_eq!(first.digest(), run(&text).digest());
    let mut reference = simulator::run_on_reference(&parse(&text), 1, Options::default());
    // The reference engine has more events.
    (first.events, reference.events) = (0, 0);
    assert_eq!(first.digest(), reference.digest());
    assert_ne!(first.digest(), run_with_seed(&text, 2).digest());
    for flow in &first.flows {
        assert!(flow.completed && flow.bytes == 600_000, "{flow:?}");
        let quic = flow.protocol.quic().map(|quic| quic.segments_retransmitted);
        let tcp = flow.tcp().map(|tcp| tcp.segments_retransmitted);
        assert!(quic.or(tcp) > Some(0), "{flow:?}");
    }
}

/// Controllers with another goodput over QUIC than over TCP, and the ratio. They answer small
/// changes of the RTT, which follow from the pacing, and quinn paces at another rate than Linux:
/// 1.25 cwnd per RTT at all times. LeoCC and Copa measure RTTs for their model, too.
const DIFFERENT: [(&str, f64); 6] = [
    ("cdg", 1.205),
    ("copa", 0.844),
    ("copa2", 1.143),
    ("leocc", 1.072),
    ("nv", 1.36),
    ("vegas", 0.941),
];

/// Without losses on the link, and with a window that the queue can hold.
#[test]
fn every_controller_has_the_goodput_that_it_has_over_tcp() {
    let mut failed = Vec::new();
    for entry in entries() {
        let specification = Specification::named(entry.name).unwrap();
        if matches!(carriage(&specification), Carriage::Impossible(_)) {
            continue;
        }
        let [quic, tcp] = [QUIC, TCP].map(|transport| {
            let text = geo("", &flow(entry.name, transport, r#"bulk = "9MB""#));
            let recording = run(&text);
            assert!(recording.flows[0].completed, "{} with {transport}", entry.name);
            recording.flows[0].goodput_bps
        });
        let ratio = quic / tcp;
        let expected = DIFFERENT.iter().find(|(name, _)| *name == entry.name);
        let expected = expected.map_or(1.0, |(_, share)| *share);
        if (ratio - expected).abs() > 0.05 {
            failed.push(format!("{}: {quic:.0} over QUIC and {tcp:.0} over TCP", entry.name));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The key of TCP, with any controller: half of the saved window fills the link after the first
/// round trip of data.
#[test]
fn careful_resume_shortens_a_download_over_quic_as_over_tcp() {
    let saved = r#", careful_resume = { saved_cwnd = "600kB", saved_rtt = "600ms" }"#;
    for controller in ["newreno", "cubic", "adalr"] {
        let [quic, tcp] = [QUIC, TCP].map(|transport| {
            ["", saved].map(|saved| {
                let transport = format!("{transport}{saved}");
                let recording = run(&geo("", &flow(controller, &transport, r#"download = "1MB""#)));
                recording.flows[0].completion_s.unwrap()
            })
        });
        for (name, [plain, resumed]) in [("QUIC", quic), ("TCP", tcp)] {
            assert!(resumed < 0.85 * plain, "{controller}, {name}: {plain} s, {resumed} s");
        }
        assert!((quic[1] - tcp[1]).abs() < 0.7, "{controller}: {quic:?}, {tcp:?}");
    }
    let own = format!("{}{saved}", of_quinn());
    let error = refusal(&geo("", &flow("cubic", &own, r#"download = "1MB""#)));
    assert!(error.contains("flow[0].transport.careful_resume"), "{error}");
    assert!(error.contains("no careful_resume with transport.quic.congestion"), "{error}");
    // The window of a stream is smaller than the jump.
    let saved = saved.replace("600kB", "1MB");
    let text = geo("", &flow("cubic", &format!("{QUIC}{saved}"), r#"download = "1MB""#));
    let loaded = Loaded::parse(&text, "test.toml", &[]).unwrap();
    let explained = explain(&loaded.scenario, &loaded.written).to_string();
    assert!(explained.contains("careful_resume jumps to"), "{explained}");
}

/// Settings with quinn's own controllers.
/// A path without queues, over which a download takes round trips only.
fn wide(transport: &str, controller: &str) -> f64 {
    let text = geo("", &flow(controller, transport, "download = \"100kB\""))
        .replace("4Mbit/s", "100Gbit/s")
        .replace("packets = 200", "packets = 1000");
    run(&text).flows[0].completion_s.unwrap()
}

#[test]
fn an_initial_window_of_the_whole_download_takes_no_further_round_trip() {
    for source in ["bentpipe", "quinn"] {
        for controller in ["newreno", "cubic"] {
            let with = |window: &str| {
                let keys = format!("congestion = \"{source}\"{window}");
                wide(&format!("protocol = \"quic\", quic = {{ {keys} }}"), controller)
            };
            let round_trips = |window| (with(window) / 0.6).round();
            let [plain, large] = ["", ", initial_window = \"150kB\""].map(round_trips);
            assert!(large < plain, "{source} {controller}: {large} and {plain}");
            assert!((large - 1.0).abs() < 1.1, "{source} {controller}: {large} round trips");
        }
    }
}

#[test]
fn an_initial_window_below_a_packet_is_refused() {
    let transport = "protocol = \"quic\", quic = { initial_window = \"100B\" }";
    let error = refusal(&geo("", &flow("cubic", transport, "download = \"1kB\"")));
    assert!(error.contains("initial_window: expected"), "{error}");
}

fn of_quinn() -> String {
    QUIC.replace("quic = {", r#"quic = { congestion = "quinn","#)
}

/// NewReno and CUBIC of quinn are other code than the laboratory's: same file, other recording, and
/// the status names quinn.
#[test]
fn the_controllers_of_quinn_are_quinns_own() {
    let lossy = "channel = { per = 0.002 }";
    for controller in ["newreno", "cubic"] {
        let [own, quinns] = [QUIC, of_quinn().as_str()].map(|transport| {
            let text = geo(lossy, &flow(controller, transport, r#"bulk = "3MB""#));
            let recording = run(&text);
            let flow = &recording.flows[0];
            assert!(flow.completed && flow.bytes == 3_000_000, "{flow:?}");
            assert!(flow.protocol.quic().unwrap().fast_recoveries > 0, "{flow:?}");
            recording
        });
        let [own, quinns] = [own, quinns].map(|recording| recording.flows[0].clone());
        assert_ne!(own.completion_s, quinns.completion_s);
        assert!(own.controller == controller && quinns.controller == controller);
        assert!(!own.controller_status.contains("quinn"), "{own:?}");
        assert_eq!(quinns.controller_status, "from an implementation (quinn-proto 0.11.19)");
    }
}

/// Pages with `settings` of web traffic.
fn web(settings: &str) -> String {
    format!(
        r#"web = {{ pages = 2, main_object = "1kB", embedded_objects = 6, request = "300B", {settings} }}"#
    )
}

/// A page takes a round trip for the connection, one for the main object and one for all others.
/// The second page needs no connection.
#[test]
fn requests_of_a_page_share_a_connection_and_each_has_a_stream() {
    for transport in [QUIC, TCP] {
        let six = if transport == TCP { ", connections = 6" } else { "" };
        let settings = format!(r#"embedded_object = "1kB"{six}"#);
        let recording = run(&geo("", &flow("newreno", transport, &web(&settings))));
        let flow = &recording.flows[0];
        assert!(flow.completed, "{flow:?}");
        assert_eq!((flow.bytes, flow.pages.len()), (14_000, 2));
        let [first, second] = [0, 1].map(|page| flow.pages[page].response_s.unwrap());
        // The five other connections of TCP are opened with the embedded objects.
        let expected = if transport == TCP { [2.4, 1.2] } else { [1.8, 1.2] };
        for (found, expected) in [(first, expected[0]), (second, expected[1])] {
            assert!((0.0..0.06).contains(&(found - expected)), "{transport}: {flow:?}");
        }
    }
}

/// With 0-RTT the first request leaves with the first packets: one round trip less for each
/// connection, in pages and downloads, and the same recording for the same seed.
#[test]
fn zero_rtt_saves_a_round_trip_of_each_connection() {
    let zero_rtt = QUIC.replace("quic = {", "quic = { zero_rtt = true,");
    let run_with = |transport: &str, traffic: &str| {
        let text = geo("", &flow("newreno", transport, traffic));
        let recording = run(&text);
        assert_eq!(recording.digest(), run(&text).digest());
        assert!(recording.flows[0].completed, "{transport}: {:?}", recording.flows[0]);
        recording
    };
    let near = |time: f64, expected: f64| {
        assert!((0.0..0.06).contains(&(time - expected)), "{time} s, not {expected} s");
    };
    // The second page has a connection of its own, too.
    let pages = web(r#"embedded_object = "1kB", keep_alive = "5s""#);
    let pages = run_with(&zero_rtt, &pages);
    assert_eq!(pages.flows[0].bytes, 14_000);
    for page in &pages.flows[0].pages {
        near(page.response_s.unwrap(), 1.2);
    }
    for (transport, expected) in [(QUIC, 1.2), (zero_rtt.as_str(), 0.6)] {
        let download = run_with(transport, r#"download = "5kB""#);
        near(download.flows[0].completion_s.unwrap(), expected);
    }
    // The sender of a bulk transfer is the client: its data arrives after half a round trip.
    for (transport, expected) in [(QUIC, 0.9), (zero_rtt.as_str(), 0.3)] {
        let bulk = run_with(transport, r#"bulk = "5kB""#);
        near(bulk.flows[0].completion_s.unwrap(), expected);
    }
}

/// Keys of HTTP/1.1 have their effect: more connections, and one request at a time.
#[test]
fn pages_over_quic_honour_connections_and_pipelining() {
    let time = |settings: &str| {
        let settings = format!(r#"embedded_object = "1kB", {settings}"#);
        let recording = run(&geo("", &flow("newreno", QUIC, &web(&settings))));
        assert_eq!(recording.flows[0].bytes, 14_000);
        recording.flows[0].pages[0].response_s.unwrap()
    };
    let near =
        |time: f64, expected: f64| assert!((0.0..0.08).contains(&(time - expected)), "{time}");
    near(time("connections = 1"), 1.8);
    // Six requests, one after the other.
    near(time("pipelining = false"), 1.2 + 6.0 * 0.6);
    // Three connections take two requests each, and two of them are new.
    near(time("connections = 3, pipelining = false"), 2.4 + 0.6);
    near(time("connections = 3"), 2.4);
}

/// Connections that are idle for too long, or longer than `keep_alive`, are opened again for the
/// next page.
#[test]
fn a_page_after_a_long_pause_opens_another_connection() {
    let cases = [
        (r#"interval = "20s""#, 1.2),
        (r#"interval = "60s""#, 1.8),
        (r#"interval = "20s", keep_alive = "5s""#, 1.8),
    ];
    for (pause, expected) in cases {
        let settings = format!(r#"embedded_object = "1kB", {pause}"#);
        let recording = run(&geo("", &flow("newreno", QUIC, &web(&settings))));
        let flow = &recording.flows[0];
        assert!(flow.completed && flow.abort_cause.is_none(), "{flow:?}");
        let second = flow.pages[1].response_s.unwrap();
        assert!((0.0..0.06).contains(&(second - expected)), "{pause}: {second}");
    }
}

/// All objects arrive, also with more of them than quinn's server allows streams at a time. Pages
/// take longer than their interval, so each begins with the end of the one before.
#[test]
fn pages_arrive_with_losses() {
    let lossy = "channel = { per = 0.02 }";
    let traffic = r#"web = { pages = 3, interval = "20s", main_object = "20kB", embedded_objects = 120, embedded_object = "5kB" }"#;
    let recording = run(&geo(lossy, &flow("newreno", QUIC, traffic)));
    let flow = &recording.flows[0];
    assert!(flow.completed, "{flow:?}");
    assert_eq!(flow.bytes, 3 * 620_000);
    let objects = flow.pages.iter().flat_map(|page| &page.objects);
    assert_eq!(objects.filter(|object| object.response_s.is_some()).count(), 3 * 121);
    assert!(flow.protocol.quic().unwrap().segments_retransmitted > 0);
}

/// Columns of `flows` with what quinn counts; those of TCP are null.
#[test]
fn counters_of_quic_are_columns() {
    let outage = r#"event = [{ at = "4s", forward = { outage = "6s" } }]"#;
    let transport = QUIC.replace("quic = {", "quic = { ack_threshold = 10,");
    let both =
        [flow("newreno", &transport, r#"bulk = "2MB""#), flow("newreno", TCP, r#"bulk = "500kB""#)];
    let recording = run(&geo(outage, &both.concat()));
    let quic = recording.flows[0].protocol.quic().unwrap();
    assert!(recording.flows[0].completed && quic.timeouts > 0, "{quic:?}");
    assert!(quic.ack_frequency_sent > 0 && quic.segments_retransmitted > 0, "{quic:?}");
    assert!(quic.acks_sent > 0 && quic.acks_sent < quic.segments_sent / 4, "{quic:?}");
    assert!(quic.immediate_acks_sent >= quic.timeouts && quic.mtu_probes_sent > 0, "{quic:?}");
    let columns = Table::Flows.columns(&recording);
    let values = |name: &str| {
        let column = columns.iter().find(|column| column.name == name).unwrap();
        match &column.values {
            Values::U64OrUnset(values) => [values[0], values[1]],
            other => panic!("{name}: {other:?}"),
        }
    };
    assert_eq!(values("timeouts")[0], quic.timeouts);
    assert_eq!(values("timeouts")[1], recording.flows[1].tcp().unwrap().timeouts);
    for (name, count) in [
        ("persistent_congestions", quic.persistent_congestions),
        ("acks_sent", quic.acks_sent),
        ("ack_frequency_sent", quic.ack_frequency_sent),
        ("immediate_acks_sent", quic.immediate_acks_sent),
        ("mtu_probes_sent", quic.mtu_probes_sent),
        ("mtu_probes_lost", quic.mtu_probes_lost),
        ("black_holes", quic.black_holes),
    ] {
        assert_eq!(values(name), [count, u64::MAX], "{name}");
    }
}

/// A path that falls silent ends the connection after quinn's idle timeout of 30 s. The effective
/// idle timeout is three probe timeouts at least (RFC 9000 section 10.1), so a shorter one has no
/// effect on datagrams that take longer.
#[test]
fn datagrams_that_take_longer_than_the_idle_timeout_arrive() {
    let with = |timeout: &str| {
        let transport = format!(r#"protocol = "quic", quic = {{ idle_timeout = "{timeout}" }}"#);
        let recording = run(&geo("", &flow("cubic", &transport, r#"download = "200kB""#)));
        let flow = &recording.flows[0];
        let quic = flow.protocol.quic().unwrap();
        (flow.completed, flow.completion_s, quic.segments_retransmitted)
    };
    let usual = with("30s");
    assert!(usual.0 && usual.2 == 0, "{usual:?}");
    assert_eq!(with("50ms"), usual);
}

#[test]
fn a_dead_link_ends_the_connection_after_the_idle_timeout() {
    let dead = r#"event = [{ at = "5s", forward = { outage = "900s" } }]"#;
    let recording = run(&geo(dead, &flow("cubic", QUIC, r#"download = "50MB""#)));
    let flow = &recording.flows[0];
    assert!(!flow.completed, "{flow:?}");
    assert_eq!(flow.abort_cause.as_deref(), Some("idle-timeout"));
}

#[test]
fn what_quic_cannot_do_is_refused_with_its_line() {
    let download = r#"download = "1MB""#;
    let of = |controller: &str, transport: &str| {
        refusal(&geo("", &flow(controller, transport, download)))
    };
    let error = of("dctcp", QUIC);
    assert!(error.contains("test.toml:") && error.contains("ECN marks"), "{error}");
    assert!(of("xcp", QUIC).contains("feedback that routers write"));
    let error = of("hybla", &of_quinn());
    assert!(error.contains(r#""newreno" or "cubic" with transport.quic.congestion"#), "{error}");
    assert!(of("bbr", &of_quinn()).contains("no seed controls"));
    let text = geo("", &flow("cubic", &of_quinn(), download))
        .replace(r#""cubic""#, r#"{ name = "cubic", abe = "on" }"#);
    let error = refusal(&text);
    assert!(error.contains("flow[0].controller") && error.contains("are fixed"), "{error}");
    let error = of("cubic", &QUIC.replace("quic = {", r#"quic = { congestion = "quin","#));
    assert!(error.contains(r#""quinn""#), "{error}");
    let error = of("cubic", r#"protocol = "quic", recovery = "sack""#);
    assert!(error.contains("recovery") && error.contains("quic"), "{error}");
    let error = of("cubic", r#"quic = { stream_receive_window = "1MB" }"#);
    assert!(error.contains("quic"), "{error}");
    let error = of("cubic", r#"protocol = "quic", quic = { ack_delay = "25ms" }"#);
    assert!(error.contains("ack_threshold"), "{error}");
    let error = of("cubic", r#"protocol = "quic", quic = { send_window = "0B" }"#);
    assert!(error.contains("send_window"), "{error}");
    let error = refusal(&geo("mtu = 1400", &flow("cubic", QUIC, download)));
    assert!(error.contains("mtu of link"), "{error}");
}

/// quinn's defaults on a GEO path: said before the run.
#[test]
fn explain_warns_of_quinns_default_windows() {
    let wide = geo("", &flow("cubic", r#"protocol = "quic""#, r#"download = "1MB""#))
        .replace("4Mbit/s", "50Mbit/s");
    let loaded = Loaded::parse(&wide, "test.toml", &[]).unwrap();
    let explained = explain(&loaded.scenario, &loaded.written).to_string();
    assert!(explained.contains("at most 16"), "{explained}");
    assert!(explained.contains("stream_receive_window"), "{explained}");
    assert!(!explained.contains("dupthresh"), "{explained}");
}

/// The objects of a page have a stream each, and share the window of the connection.
#[test]
fn explain_takes_all_streams_of_a_page_for_its_window() {
    let explained = |settings: &str, traffic: &str| {
        let transport = format!(r#"protocol = "quic", quic = {{ {settings} }}"#);
        let text = geo("", &flow("cubic", &transport, traffic)).replace("4Mbit/s", "50Mbit/s");
        let loaded = Loaded::parse(&text, "test.toml", &[]).unwrap();
        explain(&loaded.scenario, &loaded.written).to_string()
    };
    // Six streams of 1.25 MB hold twice the BDP of 3.75 MB.
    let large = r#"embedded_object = "5MB""#;
    assert!(!explained("", &web(large)).contains("below the BDP"));
    let one = explained("", &web(&format!("{large}, pipelining = false")));
    assert!(one.contains("smallest of stream_receive_window"), "{one}");
    let narrow = explained(r#"receive_window = "1MB""#, &web(large));
    assert!(narrow.contains("the window of 1MB"), "{narrow}");
    assert!(narrow.contains("smallest of 6 x stream_receive_window"), "{narrow}");
}

/// The example of a connection that quinn ends itself: found at the client, whose queue has lost
/// thousands of packets.
#[test]
fn too_many_gaps_end_the_connection_of_the_example() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quic-too-many-gaps.toml");
    let example = std::fs::read_to_string(path).unwrap();
    let recording = run(&example);
    let flow = &recording.flows[0];
    assert_eq!(flow.abort_cause.as_deref(), Some("protocol-error"));
    let error = flow.protocol.quic().unwrap().error.as_deref();
    assert!(
        error.is_some_and(|error| error.ends_with("too many gaps in stream buffer")),
        "{error:?}"
    );
    assert!(recording.links[0].dropped_packets > 1024, "{:?}", recording.links[0]);
    // A queue of two products loses less.
    let deep = example.replace("9375kB", "37500kB");
    let recording = run(&deep);
    assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
    assert_eq!(recording.flows[0].protocol.quic().unwrap().error, None);
}
