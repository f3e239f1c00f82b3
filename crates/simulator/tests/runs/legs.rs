//! TCP at both ends, and QUIC between two gateways.

use quic::{Carriage, carriage};
use recording::Recording;
use simulator::Options;

use super::gateways::{DOWNLOAD, between, numbers};
use super::proxy::{flow, legs};
use super::{parse, run};

const QUIC: &str = "protocol = \"quic\"";
/// Windows above the bandwidth-delay product, 650 kB.
const WIDE: &str =
    "protocol = \"quic\", quic = { stream_receive_window = \"4MB\", send_window = \"4MB\" }";
const PAGE: &str = "web = { pages = 1, connections = 2 }";

/// A table over the registry, with losses in both directions. Streams compare each byte.
#[test]
fn every_controller_of_quic_completes_over_a_middle_leg() {
    let carried = congestion::entries().filter(|entry| {
        let controller = congestion::Specification::named(entry.name).unwrap();
        !matches!(carriage(&controller), Carriage::Impossible(_))
    });
    let names: Vec<_> = carried.map(|entry| entry.name).collect();
    assert!(names.len() * 10 >= congestion::entries().count() * 8, "{names:?}");
    for (number, name) in names.into_iter().enumerate() {
        let satellite = format!("{QUIC}, controller = {name:?}");
        // Each other controller sends from the other side.
        let (from, to) = if number % 2 == 0 { ("server", "client") } else { ("client", "server") };
        for traffic in ["download = \"150kB\", request = \"300B\"", PAGE] {
            let recording = run(&between(&satellite, "", 0.01, &flow(from, to, "cubic", traffic)));
            let row = &recording.flows[0];
            let case = format!("{name} from {from} with {traffic}");
            assert!(row.completed && !row.aborted, "{case}");
            assert_eq!(legs(&recording, "bytes"), [row.bytes; 3], "{case}");
            assert_eq!(legs(&recording, "discarded_bytes"), [0; 3], "{case}");
            assert_eq!(legs(&recording, "connections_aborted"), [0; 3], "{case}");
        }
    }
}

/// Each traffic, each way to accept, and 0-RTT, which saves a round trip of the middle leg.
#[test]
fn every_traffic_crosses_whenever_gateways_accept() {
    let traffics = [DOWNLOAD, "download = \"300kB\"", "bulk = \"300kB\"", PAGE];
    for traffic in traffics {
        for (from, to) in [("server", "client"), ("client", "server")] {
            for accept in ["early", "late", "early-if-known"] {
                for zero_rtt in [false, true] {
                    let satellite = format!("{QUIC}, quic = {{ zero_rtt = {zero_rtt} }}");
                    let keys = format!("accept = {accept:?}");
                    let flows = flow(from, to, "cubic", traffic);
                    let recording = run(&between(&satellite, &keys, 0.005, &flows));
                    let row = &recording.flows[0];
                    let case = format!("{traffic} from {from}, {accept}, {zero_rtt}");
                    assert!(row.completed && !row.aborted, "{case}");
                    assert_eq!(legs(&recording, "bytes"), [row.bytes; 3], "{case}");
                }
            }
        }
    }
    let seconds = |zero_rtt: bool| {
        let satellite = format!("{QUIC}, quic = {{ zero_rtt = {zero_rtt} }}");
        let flows = flow("server", "client", "cubic", "download = \"1kB\", request = \"300B\"");
        run(&between(&satellite, "", 0.0, &flows)).flows[0].completion_s.unwrap()
    };
    let [without, with] = [false, true].map(seconds);
    assert!((without - with - 0.5).abs() < 0.02, "{with} and {without} s");
}

#[test]
fn the_middle_leg_fills_the_link() {
    for (from, to, rate) in [("server", "client", 10e6), ("client", "server", 2e6)] {
        let flows = flow(from, to, "cubic", "bulk = \"unlimited\"");
        let text = between(&format!("{WIDE}, controller = \"cubic\""), "", 0.0, &flows);
        let recording = run(&text.replace("600s", "120s"));
        let share = recording.flows[0].goodput_bps / rate;
        assert!((0.85..0.97).contains(&share), "{share} of {rate} from {from}");
        // The hosts' legs have no satellite.
        let rtts = numbers(&recording, "min_rtt_ms");
        assert!(rtts[1] > 500.0 && rtts[0].max(rtts[2]) < 25.0, "{rtts:?}");
    }
}

/// A client that reads slowly: the window of the QUIC stream fills, then the send buffer of the
/// server's leg, and the server has sent what the buffers on the way take.
#[test]
fn a_slow_reader_presses_back_over_the_middle_leg() {
    let window = 300_000;
    let satellite = format!("{QUIC}, quic = {{ stream_receive_window = \"{window}B\" }}");
    let keys = "terrestrial = { receive_buffer = \"150kB\", send_buffer = \"100kB\" }, \
                limits = { relay_buffer = \"64KiB\" }";
    let flows = flow("server", "client", "cubic", "bulk = \"unlimited\"")
        + "transport = { reader_rate = \"100kbit/s\", receive_buffer = \"80kB\" }\n";
    let recording = run(&between(&satellite, keys, 0.01, &flows).replace("600s", "100s"));
    let held = legs(&recording, "held_bytes");
    // The first gateway has what its client has sent, and what the second one has not read.
    let most = [150_000 + 65_536 + window, 65_536 + 100_000];
    for (held, most) in held.iter().zip(most) {
        assert!(*held <= most && 10 * held > 8 * most, "{held} of {most} bytes are held");
    }
    let read = recording.flows[0].bytes as f64 * 8.0 / 100.0;
    assert!((85e3..101e3).contains(&read), "{read} bit/s");
    assert_eq!(legs(&recording, "connections_aborted"), [0; 3]);
}

/// QUIC gives up after its idle timeout. Both hosts are reset, and what was acknowledged and is
/// lost is counted.
#[test]
fn a_middle_leg_that_dies_is_counted() {
    for (from, to) in [("server", "client"), ("client", "server")] {
        let flows = flow(from, to, "cubic", "bulk = \"5MB\"");
        let text = between(QUIC, "", 0.0, &flows).replace(
            "delay = \"250ms\"",
            "delay = \"250ms\"\nevent = [{ at = \"3s\", outage = \"500s\" }]",
        );
        let recording = run(&text);
        let row = &recording.flows[0];
        assert!(row.aborted && !row.completed);
        assert_eq!(row.abort_cause.as_deref(), Some("idle-timeout"));
        let [bytes, lost] = ["bytes", "discarded_bytes"].map(|column| legs(&recording, column));
        assert!(lost[0] > 0 && bytes[0] <= bytes[2] + lost[0] + lost[1], "{bytes:?} {lost:?}");
    }
}

/// A server that its gateway cannot reach is given up. With an early answer the client is reset,
/// over the middle leg.
#[test]
fn a_server_out_of_reach_is_a_reset_at_the_client() {
    for (accept, aborted) in [("early", true), ("late", false)] {
        let flows = flow("server", "client", "cubic", DOWNLOAD);
        let keys = format!("accept = {accept:?}, connect_timeout = \"5s\"");
        let text = between(QUIC, &keys, 0.0, &flows).replace("600s", "40s").replacen(
            "delay = \"10ms\"",
            "delay = \"10ms\"\nevent = [{ at = \"1ms\", outage = \"500s\" }]",
            1,
        );
        let recording = run(&text);
        assert_eq!(recording.flows[0].aborted, aborted, "{accept}");
        assert_eq!(recording.flows[0].bytes, 0);
    }
}

/// Pages a minute apart: the connection between the gateways lives on, although its idle timeout is
/// shorter.
#[test]
fn silence_does_not_end_the_middle_leg() {
    let traffic =
        "web = { pages = 2, interval = \"100s\", keep_alive = \"200s\", connections = 1 }";
    let recording = run(&between(QUIC, "", 0.0, &flow("server", "client", "cubic", traffic)));
    assert!(recording.flows[0].completed);
    assert_eq!(legs(&recording, "connections"), [1; 3]);
    assert_eq!(legs(&recording, "connections_aborted"), [0; 3]);
}

/// Above its limit, a gateway refuses a connection over QUIC as one over TCP.
#[test]
fn connections_above_the_limit_are_reset() {
    for place in ["hub", "terminal"] {
        let flows = flow("server", "client", "cubic", "bulk = \"300kB\"") + "count = 3\n";
        let limit = "limits = { connections = 1, at_limit = \"refuse\" }";
        let mut text = between(QUIC, "LIMIT", 0.0, &flows);
        for (node, limit) in [(place, limit), ("", "")] {
            let start = text.find(&format!("name = {node:?}")).unwrap_or(0);
            let (before, after) = text.split_at(start);
            text = before.to_owned() + &after.replacen("LIMIT", limit, 1);
        }
        let recording = run(&text);
        let count = |is: fn(&recording::FlowRecord) -> bool| {
            recording.flows.iter().filter(|flow| is(flow)).count()
        };
        assert_eq!(count(|flow| flow.completed), 1, "{place}");
        assert_eq!(count(|flow| flow.aborted), 2, "{place}");
    }
}

/// A rate that connections share, and one for each, count the IP packets of QUIC.
#[test]
fn rates_of_a_side_apply_to_quic() {
    for (key, expected) in [("rate", 1e6), ("pacing_rate", 2e6)] {
        let flows = flow("server", "client", "cubic", "bulk = \"unlimited\"") + "count = 2\n";
        let satellite = format!("{WIDE}, {key} = \"1Mbit/s\"");
        let recording = run(&between(&satellite, "", 0.0, &flows).replace("600s", "60s"));
        let goodput: f64 = recording.flows.iter().map(|flow| flow.goodput_bps).sum();
        assert!((0.85..1.0).contains(&(goodput / expected)), "{key}: {goodput}");
    }
}

#[test]
fn both_engines_agree_and_equal_seeds_give_equal_runs() {
    let flows = flow("server", "client", "cubic", "bulk = \"1MB\"")
        + &flow("client", "server", "bbr", DOWNLOAD)
        + &flow("server", "client", "hybla", DOWNLOAD)
        + "transport = { protocol = \"quic\" }\n";
    let scenario = parse(&between(QUIC, "", 0.01, &flows));
    let whole = |recording: Recording| Recording { events: 0, ..recording }.digest();
    let runs = [1, 1, 2].map(|seed| whole(simulator::run(&scenario, seed, Options::default())));
    let slow = whole(simulator::run_on_reference(&scenario, 1, Options::default()));
    assert_eq!(runs[..2], [slow.clone(), slow.clone()]);
    assert_ne!(runs[2], slow);
}
