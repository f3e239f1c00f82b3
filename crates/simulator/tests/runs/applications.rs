//! Videos and speed tests over real connections.

use recording::{Recording, Values};
use simulator::Options;

use crate::{parse, run};

fn text(link: &str, flow: &str) -> String {
    format!(
        r#"
duration = "400s"
[[link]]
between = ["server", "client"]
{link}
[[flow]]
from = "server"
to = "client"
{flow}
"#
    )
}

/// A cell of a table with one row for each flow.
fn cell(recording: &Recording, table: &str, column: &str) -> f64 {
    column_of(recording, table, column)[0]
}

fn column_of(recording: &Recording, table: &str, column: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    let column = columns.iter().find(|one| one.name == column).unwrap();
    match &column.values {
        Values::F64(values) => values.to_vec(),
        Values::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Values::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        _ => panic!("{} has no numbers", column.name),
    }
}

const NEAR: &str = "rate = \"20Mbit/s\"\ndelay = \"20ms\"";
const GEO: &str = "rate = \"20Mbit/s\"\ndelay = \"300ms\"\nqueue = { bdp = 1 }";

/// Each transport with a stream carries the same video; those with streams like HTTP/3.
#[test]
fn a_video_plays_over_every_transport() {
    let controllers = [
        ("tcp", "cubic"),
        ("quic", "cubic"),
        ("stp", "newreno"),
        ("scps-tp", "newreno"),
        ("xtp", "none"),
        ("sctp", "none"),
    ];
    for (protocol, controller) in controllers {
        let extra = if protocol == "xtp" { ", xtp = { rate = \"15Mbit/s\" }" } else { "" };
        let flow = format!(
            "controller = \"{controller}\"\ntransport = {{ protocol = \"{protocol}\"{extra} }}\n\
             traffic = {{ video = {{ length = \"60s\", rule = \"bola-e\" }} }}"
        );
        let recording = run(&text(NEAR, &flow));
        let of = |column| cell(&recording, "video", column);
        assert!(recording.flows[0].completed, "{protocol}: {:?}", recording.flows[0]);
        assert_eq!((of("fetched"), of("stalls")), (15.0, 0.0), "{protocol}");
        assert!((of("played_s") - 60.0).abs() < 1e-6, "{protocol}: {}", of("played_s"));
        // A segment of 150 kB at 20 Mbit/s, set-up and slow start.
        assert!((0.06..0.5).contains(&of("start_up_s")), "{protocol}: {}", of("start_up_s"));
        assert!(of("mean_bitrate_bps") > 3.5e6, "{protocol}: {}", of("mean_bitrate_bps"));
        let bytes: f64 = column_of(&recording, "video_segment_series", "bytes").iter().sum();
        assert_eq!(bytes, recording.flows[0].bytes as f64, "{protocol}");
        assert_eq!(of("window_restarts").is_nan(), !["tcp", "scps-tp"].contains(&protocol));
    }
}

/// RFC 5681 section 4.1: over GEO the window starts again for each segment that follows a pause
/// longer than the RTO, and segments come later.
#[test]
fn the_window_starts_again_after_pauses_unless_the_host_keeps_it() {
    let with = |restart: bool| {
        let flow = format!(
            "controller = \"cubic\"\ntransport = {{ idle_restart = {restart} }}\n\
             traffic = {{ video = {{ length = \"120s\", rule = \"throughput\", buffer = \"12s\" }} }}"
        );
        // Without losses, which a whole window in a burst has in a short queue.
        let recording = run(&text(&GEO.replace("{ bdp = 1 }", "\"unlimited\""), &flow));
        let segments = column_of(&recording, "video_segment_series", "download_ms");
        let mean = segments[5..].iter().sum::<f64>() / (segments.len() - 5) as f64;
        (cell(&recording, "video", "window_restarts"), mean, cell(&recording, "video", "stalls"))
    };
    let (restarts, slow, _) = with(true);
    let (none, fast, _) = with(false);
    assert!(restarts >= 5.0 && none == 0.0, "{restarts} and {none}");
    assert!(slow > fast * 1.2, "{slow} and {fast} ms, {restarts}");
}

/// Over a link below the lowest bit rate each segment stalls, and the sums agree.
#[test]
fn a_video_over_a_slow_link_stalls() {
    let flow = "controller = \"cubic\"\ntraffic = { video = { length = \"40s\" } }";
    // Without losses, which cost the RTO.
    let link = "rate = \"200kbit/s\"\ndelay = \"100ms\"\nqueue = \"unlimited\"";
    let recording = run(&text(link, flow));
    let of = |column| cell(&recording, "video", column);
    // 1.2 Mbit in 6.2 s with headers, for 4 s of video.
    assert_eq!(of("stalls"), 9.0);
    assert!((19.0..30.0).contains(&of("stalled_s")), "{}", of("stalled_s"));
    assert_eq!(of("mean_bitrate_bps"), 300e3);
    let stalls: f64 = column_of(&recording, "video_stall_series", "duration_s").iter().sum();
    assert!((stalls - of("stalled_s")).abs() < 1e-9);
    let all = of("start_up_s") + of("played_s") + of("stalled_s");
    assert!((all - recording.flows[0].completion_s.unwrap()).abs() < 1e-6, "{all}");
}

/// A rate that falls makes the rule give a download up, over a new connection.
#[test]
fn a_download_is_given_up_when_the_rate_falls() {
    let link = "rate = \"8Mbit/s\"\ndelay = \"50ms\"\n\
                [[link.event]]\nat = \"12s\"\nrate = \"400kbit/s\"";
    let flow = "controller = \"cubic\"\n\
                traffic = { video = { length = \"60s\", rule = \"throughput\", buffer = \"60s\" } }";
    let recording = run(&text(link, flow));
    let of = |column| cell(&recording, "video", column);
    assert!(of("given_up") >= 1.0 && of("fetched") == 15.0, "{}", of("given_up"));
    assert!(recording.flows[0].completed);
}

#[test]
fn both_engines_play_the_same_video() {
    let flow = "controller = \"cubic\"\ntraffic = { video = { length = \"30s\" } }";
    let link = format!("{GEO}\nchannel = {{ per = 1e-3 }}");
    let scenario = parse(&text(&link, flow));
    let fast = simulator::run(&scenario, 5, Options::default());
    let slow = simulator::run_on_reference(&scenario, 5, Options::default());
    assert_eq!(fast.flows, slow.flows);
    assert_eq!(format!("{:?}", fast.tables), format!("{:?}", slow.tables));
}

/// Both directions are measured, and a queue of a BDP doubles the latency under load.
#[test]
fn a_speed_test_measures_both_rates_and_the_latency_under_load() {
    let link = "rate = \"20Mbit/s\"\ndelay = \"50ms\"\nqueue = { bdp = 1 }\n\
                backward = { rate = \"4Mbit/s\" }";
    let flow = "controller = \"cubic\"\ntraffic = { speedtest = {} }";
    let recording = run(&text(link, flow));
    let of = |column| cell(&recording, "speedtest", column);
    assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
    let share = |rate: f64, of_link: f64| rate / of_link;
    assert!((0.85..0.97).contains(&share(of("download_bps"), 20e6)), "{}", of("download_bps"));
    // Data behind holes of the warm-up counts when the holes are filled.
    assert!((0.85..1.0).contains(&share(of("upload_bps"), 4e6)), "{}", of("upload_bps"));
    assert!((100.0..103.0).contains(&of("idle_latency_ms")), "{}", of("idle_latency_ms"));
    assert!((130.0..320.0).contains(&of("download_latency_ms")), "{}", of("download_latency_ms"));
    assert!(of("p95_upload_latency_ms") >= of("upload_latency_ms"));
    let rpm = of("responsiveness_rpm");
    assert!((150.0..450.0).contains(&rpm), "{rpm}");
    // Five seconds of probes, ten each way and a pause of three.
    assert!((28.0..30.0).contains(&recording.flows[0].completion_s.unwrap()));
}

/// Probes that wait in a queue of five seconds are waited for, so that they count.
#[test]
fn a_long_queue_costs_responsiveness() {
    let rpm = |queue: &str| {
        let link = format!("rate = \"5Mbit/s\"\ndelay = \"20ms\"\nqueue = {{ packets = {queue} }}");
        let flow = "controller = \"cubic\"\ntraffic = { speedtest = { connections = 4 } }";
        let recording = run(&text(&link, flow));
        cell(&recording, "speedtest", "responsiveness_rpm")
    };
    let (short, long) = (rpm("20"), rpm("1000"));
    assert!(short > 4.0 * long, "{short} and {long}");
}

#[test]
fn settings_that_cannot_be_are_refused_with_place_and_reason() {
    let rows = [
        (
            "video = { ladder = [\"1Mbit/s\", \"500kbit/s\"] }",
            "above \"1Mbit/s\", found \"500kbit/s\"",
        ),
        ("video = { ladder = [] }", "flow[0].traffic.video.ladder"),
        ("video = { buffer = \"5s\" }", "at least two segments, \"8s\""),
        ("video = { rule = \"bola-x\" }", "did you mean"),
        ("video = { segment = \"100ms\", length = \"90000s\" }", "at most 100000 segments"),
        ("speedtest = { warm_up = \"10s\" }", "less than `duration`, \"10s\""),
        ("speedtest = { connections = 0 }", "from 1 to 64"),
    ];
    for (traffic, expected) in rows {
        let text = text(NEAR, &format!("controller = \"cubic\"\ntraffic = {{ {traffic} }}"));
        let error = scenario::Scenario::parse(&text, "test.toml", &[]).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("test.toml:"), "{traffic}: {error}");
    }
}
