//! Tunnels: bytes on links, set-ups, and which mechanisms between their ends still work.

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::Options;

use super::proxy::legs;
use super::{parse, run, total};

/// A path over a satellite with a gateway on each side: server, hub, terminal, client. `nodes` and
/// `flow` are TOML.
fn path(nodes: &str, link: &str, flow: &str) -> String {
    format!(
        r#"
duration = "120s"
{nodes}
[[link]]
between = ["server", "hub"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["hub", "terminal"]
rate = "10Mbit/s"
delay = "250ms"
queue = {{ packets = 600 }}
{link}
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
name = "office"
from = "server"
to = "client"
controller = "cubic"
{flow}
"#
    )
}

const DOWNLOAD: &str = r#"traffic = { download = "2MB" }"#;

fn seconds(recording: &Recording) -> f64 {
    recording.flows[0].completion_s.unwrap()
}

/// A cell of the table of tunnels.
fn cell(recording: &Recording, column: &str) -> f64 {
    let table = recording.tables.iter().find(|one| one.name() == "tunnel").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts[0] as f64,
        Values::F64(values) => values[0],
        _ => panic!("{column} is a number"),
    }
}

fn both_engines(scenario: &Scenario) -> Recording {
    let [fast, slow] = [simulator::run, simulator::run_on_reference]
        .map(|run| run(scenario, 3, Options::default()));
    // The engines count other events.
    let whole = |recording: &Recording| Recording { events: 0, ..recording.clone() }.digest();
    assert_eq!(whole(&fast), whole(&slow));
    fast
}

/// 1368 bytes of payload with timestamps in 1480, and 1448 in 1500 (the sheet of the protocol).
#[test]
fn a_bulk_flow_through_wireguard_has_its_efficiency() {
    let bulk = |tunnel: &str, mss: u32| {
        let transport = format!(
            "transport = {{ timestamps = true, receive_buffer = \"8MB\"{} }}",
            if mss == 0 { String::new() } else { format!(", mss = {mss}") }
        );
        run(&path("", "", &format!("{tunnel}\n{transport}\ntraffic = {{ bulk = \"40MB\" }}")))
    };
    let slope = |recording: &Recording| {
        // Bytes on the satellite link per byte of payload, without the start.
        let link = recording.links.iter().find(|one| one.link == "hub-terminal").unwrap();
        recording.flows[0].bytes as f64 / link.delivered_bytes as f64
    };
    let (plain, hidden) = (slope(&bulk("", 0)), slope(&bulk("tunnel = \"wireguard\"", 0)));
    assert!((plain - 1448.0 / 1500.0).abs() < 1e-3, "{plain}");
    assert!((hidden - 1368.0 / 1480.0).abs() < 1e-3, "{hidden}");
}

/// Most ACKs on their way when 100 kB have arrived: one for each two of 74 segments.
const LAST_ACKS: f64 = 37.0;

/// Each protocol: the inner packets are those that hosts send, the outer ones longer by its bytes.
#[test]
fn packets_of_every_protocol_are_longer_on_the_links_by_its_bytes() {
    for tunnel in middlebox::Tunnel::all() {
        let name = tunnel.name();
        let flow = format!("tunnel = \"{name}\"\ntraffic = {{ download = \"100kB\" }}");
        let recording = both_engines(&parse(&path("", "", &flow)));
        assert!(recording.flows[0].completed, "{name}");
        let packets = cell(&recording, "packets");
        let added = (cell(&recording, "outer_bytes") - cell(&recording, "inner_bytes")) / packets;
        let expected = match name {
            "wireguard" => 60.0..=76.0,
            "esp" => 54.0..=57.0,
            "openvpn" => 52.0..=52.0,
            _ => 60.0..=60.0,
        };
        assert!(expected.contains(&added), "{name}: {added}");
        // All packets of both directions and the messages of the set-up, but for the last ACKs,
        // which are on their way at the end.
        let link = recording.links.iter().filter(|one| one.link == "hub-terminal");
        let sent: u64 = link.map(|one| one.delivered_packets).sum();
        let missing = packets + cell(&recording, "set_up_packets") - sent as f64;
        assert!((0.0..=LAST_ACKS).contains(&missing), "{name}: {missing}");
    }
}

/// Without a queue, a set-up delays everything by its round trips of 522 ms.
#[test]
fn a_set_up_delays_the_first_packet_by_its_round_trips() {
    for tunnel in middlebox::Tunnel::all() {
        let name = tunnel.name();
        let time = |established: bool| {
            let tunnel = format!("{{ name = \"{name}\", established = {established} }}");
            let flow = format!("tunnel = {tunnel}\ntraffic = {{ download = \"1kB\" }}");
            seconds(&run(&path("", "", &flow)))
        };
        let trips = tunnel.flights().round_trips() as f64;
        let added = time(false) - time(true);
        // Serialisation of its messages.
        assert!((added - trips * 0.522).abs() < 0.012 * trips, "{name}: {added}");
    }
}

/// A lost message of the set-up costs a timeout, and the transfer goes on.
#[test]
fn a_set_up_survives_an_outage() {
    let outage = r#"event = [{ at = "1ms", outage = "3s" }]"#;
    for tunnel in middlebox::Tunnel::all() {
        let flow = format!("start = \"10ms\"\ntunnel = \"{}\"\n{DOWNLOAD}", tunnel.name());
        let queue = format!("{outage}\nqueue = {{ packets = 4 }}");
        let text = path("", "", &flow).replace("queue = { packets = 600 }", &queue);
        let recording = run(&text);
        assert!(recording.flows[0].bytes > 100_000, "{}", tunnel.name());
    }
}

const PROXIES: &str = r#"
[[node]]
name = "hub"
proxy = {}
[[node]]
name = "terminal"
proxy = {}
"#;

/// A proxy splits where it sees TCP: outside the tunnel, or at its end.
#[test]
fn a_proxy_inside_a_tunnel_does_not_split() {
    let of = |tunnel: &str| parse(&path(PROXIES, "", &format!("{tunnel}\n{DOWNLOAD}")));
    let gateways = |scenario: &Scenario| scenario.flows[0].gateways.len();
    let plain = of("");
    assert_eq!(gateways(&plain), 2);
    let whole = of("tunnel = \"wireguard\"");
    assert_eq!(gateways(&whole), 0);
    let around = of(r#"tunnel = { name = "wireguard", between = ["hub", "terminal"] }"#);
    assert_eq!(gateways(&around), 2);
    let half = of(r#"tunnel = { name = "wireguard", between = ["server", "terminal"] }"#);
    assert_eq!(gateways(&half), 1);
    let runs = [&plain, &whole, &around, &half].map(both_engines);
    assert!(runs.iter().all(|run| run.flows[0].completed));
    let [plain, whole, around, _] = &runs;
    assert_eq!(legs(plain, "bytes").len(), 3);
    assert!(whole.tables.iter().all(|table| table.name() != "legs"));
    // The proxies spare round trips to everyone who is not hidden from them.
    assert!(seconds(whole) > seconds(plain) + 0.5, "{} {}", seconds(whole), seconds(plain));
    assert!(seconds(around) < seconds(whole), "{} {}", seconds(around), seconds(whole));
}

/// Header compression and an ACK filter have nothing to read, and a fair queue sees one flow.
#[test]
fn mechanisms_between_the_ends_see_no_tcp() {
    let compressed = r#"header_compression = "rohc""#;
    let run_with = |nodes: &str, link: &str, tunnel: &str| {
        both_engines(&parse(&path(nodes, link, &format!("{tunnel}\n{DOWNLOAD}"))))
    };
    let hidden = "tunnel = { name = \"wireguard\", established = true }";
    let bytes =
        |recording: &Recording| total(recording, "header_compression", "compressed_packets");
    assert!(bytes(&run_with("", compressed, "")) > 100);
    assert_eq!(bytes(&run_with("", compressed, hidden)), 0);
    let filter = "[[node]]\nname = \"terminal\"\nmiddlebox = \"ack-filter\"";
    let slow = "backward = { rate = \"64kbit/s\" }";
    let filtered = |recording: &Recording| {
        let table = recording.tables.iter().find(|one| one.name() == "middlebox").unwrap();
        let columns = table.columns();
        let Values::U64(counts) = &columns.last().unwrap().values else { panic!() };
        counts[0]
    };
    assert!(filtered(&run_with(filter, slow, "")) > 20);
    assert_eq!(filtered(&run_with(filter, slow, hidden)), 0);
}

/// Eight flows in a tunnel and one outside share a fair queue: the tunnel has one share.
#[test]
fn a_fair_queue_gives_a_tunnel_one_share() {
    let shares = |tunnel: &str| {
        let flow = format!("count = 8\n{tunnel}\ntraffic = {{ bulk = \"unlimited\" }}");
        let other = r#"
[[flow]]
name = "other"
from = "server"
to = "client"
controller = "cubic"
traffic = { bulk = "unlimited" }
"#;
        let text = path("", "aqm = \"fq-codel\"", &flow) + other;
        let text = text.replace("250ms", "20ms").replace("\"120s\"", "\"60s\"");
        let recording = both_engines(&parse(&text));
        let goodput: Vec<_> = recording.flows.iter().map(|flow| flow.bytes as f64).collect();
        goodput[8] / goodput.iter().sum::<f64>()
    };
    let (apart, hidden) = (shares(""), shares("tunnel = \"wireguard\""));
    assert!((apart - 1.0 / 9.0).abs() < 0.03, "{apart}");
    assert!((hidden - 0.5).abs() < 0.06, "{hidden}");
}

/// WireGuard copies ECN into the outer header and back (RFC 6040), and OpenVPN does not.
#[test]
fn marks_pass_only_tunnels_that_copy_them() {
    let of = |tunnel: &str| {
        let flow = format!(
            "tunnel = {{ name = \"{tunnel}\", established = true }}\n\
             transport = {{ ecn = true, receive_buffer = \"8MB\" }}\ntraffic = {{ bulk = \"20MB\" }}"
        );
        let text = path("", "aqm = \"codel\"", &flow).replace("250ms", "25ms");
        let recording = both_engines(&parse(&text));
        let marked = total(&recording, "aqm", "marked_packets");
        (marked, recording.flows[0].tcp().unwrap().segments_retransmitted)
    };
    let (marked, retransmitted) = of("wireguard");
    assert!(marked > 0 && retransmitted == 0, "{marked} {retransmitted}");
    let (marked, retransmitted) = of("openvpn");
    assert!(marked == 0 && retransmitted > 0, "{marked} {retransmitted}");
}

/// QUIC probes for the size of the path, and the tunnel discards what is too long for it.
#[test]
fn quic_finds_the_size_that_the_tunnel_takes() {
    let flow = "transport = { protocol = \"quic\" }\ntunnel = \"wireguard\"\ntraffic = { download = \"2MB\" }";
    let recording = both_engines(&parse(&path("", "", flow)));
    assert!(recording.flows[0].completed);
    assert!(cell(&recording, "too_big_packets") >= 1.0);
}

/// Calls go through tunnels, too: CONNECT-UDP carries their payload without headers.
#[test]
fn datagrams_pass_a_masque_proxy_without_their_headers() {
    let call = |method: &str| {
        let text = path(
            "",
            "",
            &format!(
                "transport = {{ protocol = \"udp\" }}\n\
             tunnel = {{ name = \"masque\", method = \"{method}\" }}\ntraffic = {{ call = {{}} }}"
            ),
        );
        both_engines(&parse(
            &text.replace("controller = \"cubic\"\n", "").replace("\"120s\"", "\"5s\""),
        ))
    };
    let [whole, payload] = ["connect-ip", "connect-udp"].map(|method| {
        let recording = call(method);
        assert!(recording.flows[0].bytes > 10_000, "{method}");
        cell(&recording, "outer_bytes") / cell(&recording, "packets")
    });
    assert!((whole - payload - 28.0).abs() < 1e-9, "{whole} {payload}");
}

/// A path between two hosts without a queue that counts: 500 ms there and back.
fn outer_path(channel: &str, tunnel: &str, flow: &str) -> Recording {
    both_engines(&parse(&format!(
        r#"
duration = "60s"
[record]
interval = "100ms"
[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
delay = "250ms"
queue = {{ packets = 900 }}
{channel}
[[flow]]
from = "server"
to = "client"
controller = "cubic"
transport = {{ receive_buffer = "16MB", recovery = "linux" }}
tunnel = {{ name = "masque", established = true{tunnel} }}
{flow}
"#
    )))
}

/// A column of the table of ends of outer connections: of the server, and of the client.
fn ends(recording: &Recording, column: &str) -> [f64; 2] {
    let table = recording.tables.iter().find(|one| one.name() == "tunnel_end").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => [counts[0] as f64, counts[1] as f64],
        Values::F64(values) => [values[0], values[1]],
        _ => panic!("{column} is a number"),
    }
}

/// Sixteen full packets of 1472 bytes in a round trip of 500 ms and the time of two packets: the
/// second of them brings the ACK. The inner flow could have 40 times as much.
#[test]
fn the_largest_window_of_the_outer_connection_binds_the_inner_flow() {
    let window = ", controller = \"cubic\", max_window = \"23552B\"";
    let recording = outer_path("", window, "traffic = { bulk = \"1MB\" }");
    let full = 1500.0 * 8.0 / 20e6;
    let [ack, delivered] = [64.0 * 8.0 / 20e6, 16.0 * 1388.0];
    let round = 0.5 + 2.0 * full + ack;
    let expected = delivered / round;
    let bytes = &recording.flows[0];
    let rate = bytes.bytes as f64 / bytes.completion_s.unwrap();
    // The inner slow start takes the first round trips, and the last window is not full.
    assert!((0.94 * expected..=expected).contains(&rate), "{rate} of {expected}");
    assert_eq!(ends(&recording, "window_bytes")[0], 23_552.0);
    assert_eq!(ends(&recording, "lost_packets"), [0.0; 2]);
}

/// RFC 9221: a lost DATAGRAM frame is lost for the flow inside, which retransmits.
#[test]
fn a_lost_outer_packet_is_a_loss_of_the_inner_flow() {
    let channel = "forward = { channel = { per = 0.001 } }";
    let of = |tunnel: &str| {
        let recording = outer_path(channel, tunnel, "traffic = { bulk = \"10MB\" }");
        assert!(recording.flows[0].completed, "{tunnel}");
        let retransmitted = recording.flows[0].tcp().unwrap().segments_retransmitted as f64;
        (retransmitted, ends(&recording, "lost_packets")[0], recording)
    };
    let (inner, outer, frames) = of(", controller = \"cubic\", buffer = \"20MB\"");
    assert!(outer > 3.0 && inner == outer, "{inner} {outer}");
    assert_eq!(ends(&frames, "retransmitted_packets")[0], 0.0);
    // In capsules nothing is lost inside, if the buffer has room for all.
    let keys = ", controller = \"cubic\", buffer = \"20MB\", capsules = true";
    let (inner, outer, capsules) = of(keys);
    assert!(outer > 3.0 && inner == 0.0, "{inner} {outer}");
    assert_eq!(ends(&capsules, "retransmitted_packets")[0], outer);
    // 15 - 5 bytes more around each packet.
    let added = |run: &Recording| {
        let acks: f64 = ends(run, "ack_packets").iter().sum();
        (cell(run, "outer_bytes") - cell(run, "inner_bytes") - 64.0 * acks) / cell(run, "packets")
    };
    assert!(added(&capsules) > added(&frames) + 9.0);
}

/// Controllers that QUIC carries, inside CUBIC: all keep the data whole, and both engines agree.
#[test]
fn every_controller_of_quic_can_limit_an_outer_connection() {
    let channel = "forward = { channel = { per = 0.0005 } }";
    for entry in congestion::entries() {
        let specification = congestion::Specification::named(entry.name).unwrap();
        if matches!(quic::carriage(&specification), quic::Carriage::Impossible(_)) {
            continue;
        }
        let tunnel = format!(", controller = \"{}\"", entry.name);
        let recording = outer_path(channel, &tunnel, "traffic = { bulk = \"2MB\" }");
        let bytes = recording.flows[0].bytes;
        assert!(bytes > 500_000, "{}: {bytes} bytes", entry.name);
    }
}

/// The set-up, flows of both directions, proxies at the ends, and an outage.
#[test]
fn an_outer_connection_survives_what_a_tunnel_does() {
    for capsules in [false, true] {
        let tunnel = format!(
            r#"{{ name = "masque", controller = "newreno-sat", buffer = "200kB", capsules = {capsules} }}"#
        );
        let other = r#"
[[flow]]
from = "client"
to = "server"
controller = "cubic"
traffic = { bulk = "500kB" }
"#;
        let flow = format!("tunnel = {tunnel}\n{DOWNLOAD}{other}tunnel = {tunnel}");
        let outage = r#"event = [{ at = "3s", outage = "2s" }]"#;
        let recording = both_engines(&parse(&path("", outage, &flow)));
        assert!(recording.flows.iter().all(|flow| flow.completed), "capsules: {capsules}");
        assert!(ends(&recording, "probe_timeouts").iter().sum::<f64>() >= 1.0);
    }
}
