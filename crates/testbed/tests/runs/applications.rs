//! Calls, messages, videos and speed tests over real sockets.

use recording::{Recording, Values};
use serde_json::{Value, json};

use crate::{is_skipped, recorded, scenario};

/// A flow with an application, and `transport`, over the link of all tests.
fn with(traffic: Value, transport: Value) -> Recording {
    let udp = transport["protocol"] == "udp";
    let controller = if udp { "none" } else { "cubic" };
    let flow = json!({ "traffic": traffic, "transport": transport, "controller": controller });
    recorded(&scenario(json!({ "queue": { "packets": 100 } }), flow))
}

fn cell(recording: &Recording, table: &str, column: &str, row: usize) -> f64 {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::F64(values) => values[row],
        Values::U64(values) => values[row] as f64,
        _ => panic!("{column} is a number"),
    }
}

/// A link of 10 Mbit/s and 20 ms: 20.16 ms for a packet of 200 bytes, and 60 ms in the host.
#[test]
fn a_call_over_sockets_has_the_delay_of_the_link() {
    if is_skipped() {
        return;
    }
    let udp = json!({ "protocol": "udp" });
    let recording = with(json!({ "call": { "duration": "3s" } }), udp);
    assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
    assert_eq!(recording.flows[0].bytes, 150 * 172);
    let record = recording.flows[0].protocol.udp().unwrap();
    assert_eq!((record.datagrams_sent, record.answers_sent), (150, 150));
    for row in [0, 1] {
        let of = |column| cell(&recording, "call", column, row);
        assert_eq!(
            (of("sent_packets"), of("arrived_packets"), of("late_packets")),
            (150.0, 150.0, 0.0)
        );
        assert!((20.1..22.0).contains(&of("min_delay_ms")), "{}", of("min_delay_ms"));
        assert!((80.0..82.0).contains(&of("mouth_to_ear_ms")), "{}", of("mouth_to_ear_ms"));
        assert!(of("mos") > 4.3, "{}", of("mos"));
    }
}

#[test]
fn messages_over_sockets_have_the_delay_of_the_link() {
    if is_skipped() {
        return;
    }
    let traffic = || json!({ "messages": { "count": 60, "interval": "30ms" } });
    for transport in [json!({ "protocol": "udp" }), json!({}), json!({ "protocol": "quic" })] {
        let recording = with(traffic(), transport.clone());
        assert!(recording.flows[0].completed, "{transport}: {:?}", recording.flows[0]);
        assert_eq!(recording.flows[0].bytes, 60 * 400, "{transport}");
        for row in [0, 1] {
            let p50 = cell(&recording, "messages", "p50_delay_ms", row);
            assert!((20.0..24.0).contains(&p50), "{transport}: {p50}");
        }
        let response = cell(&recording, "responses", "p50_response_ms", 0);
        assert!((40.0..48.0).contains(&response), "{transport}: {response}");
    }
}

#[test]
fn a_video_over_sockets_plays_without_stalls() {
    if is_skipped() {
        return;
    }
    for transport in [json!({}), json!({ "protocol": "quic" })] {
        let video = json!({ "video": { "length": "6s", "segment": "1s", "rule": "bola-e" } });
        let recording = with(video, transport.clone());
        let of = |column| cell(&recording, "video", column, 0);
        assert!(recording.flows[0].completed, "{transport}: {:?}", recording.flows[0]);
        assert_eq!((of("fetched"), of("stalls")), (6.0, 0.0), "{transport}");
        assert!((5.9..6.1).contains(&of("played_s")), "{transport}: {}", of("played_s"));
        assert!((0.08..0.4).contains(&of("start_up_s")), "{transport}: {}", of("start_up_s"));
        assert!(of("window_restarts").is_nan(), "a kernel does not count them");
    }
}

#[test]
fn a_speed_test_over_sockets_measures_the_link_both_ways() {
    if is_skipped() {
        return;
    }
    let test = json!({ "speedtest": {
        "duration": "4s", "warm_up": "1s", "idle": "1s", "pause": "1s", "connections": 4,
    } });
    let recording = with(test, json!({}));
    let of = |column| cell(&recording, "speedtest", column, 0);
    assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
    for column in ["download_bps", "upload_bps"] {
        assert!((8.5e6..9.9e6).contains(&of(column)), "{column}: {}", of(column));
    }
    assert!((40.0..45.0).contains(&of("idle_latency_ms")), "{}", of("idle_latency_ms"));
    // Up to 100 packets of 1.2 ms wait.
    assert!((60.0..180.0).contains(&of("download_latency_ms")), "{}", of("download_latency_ms"));
    let rpm = of("responsiveness_rpm");
    // A full queue alone leaves 375, and lost probes wait for a timeout.
    assert!((150.0..1000.0).contains(&rpm), "{rpm}");
}
