//! Calls and messages, over datagrams and over streams.

use recording::{Recording, Values};
use simulator::Options;

use crate::{parse, run};

/// A link of one way `delay`, and a flow of `traffic` with `transport`; keys of the link as TOML.
fn text(link: &str, transport: &str, traffic: &str) -> String {
    format!(
        r#"
duration = "60s"
[[link]]
between = ["server", "client"]
{link}
[[flow]]
from = "server"
to = "client"
{transport}
traffic = {{ {traffic} }}
"#
    )
}

const UDP: &str = "transport = { protocol = \"udp\" }";
const TCP: &str = "controller = \"newreno\"";

/// A cell of a table, by its row.
fn cell(recording: &Recording, table: &str, column: &str, row: usize) -> f64 {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    let column = columns.iter().find(|one| one.name == column).unwrap();
    match &column.values {
        Values::F64(values) => values[row],
        Values::U64(values) => values[row] as f64,
        _ => panic!("{} has no numbers", column.name),
    }
}

fn call(link: &str, keys: &str) -> Recording {
    run(&text(link, UDP, &format!("call = {{ duration = \"20s\"{keys} }}")))
}

/// The packets of both directions have the delay of the link and their own time on it.
#[test]
fn a_call_has_the_delay_of_its_path_and_the_mos_of_the_e_model() {
    let recording = call("rate = \"1Mbit/s\"\ndelay = \"190ms\"", "");
    let flow = &recording.flows[0];
    assert!(flow.completed && flow.bytes == 1000 * 172, "{flow:?}");
    // The last packet is sent after 19.98 s.
    assert!((flow.completion_s.unwrap() - 20.1716).abs() < 1e-6, "{flow:?}");
    for row in [0, 1] {
        let of = |column| cell(&recording, "call", column, row);
        assert_eq!((of("sent_packets"), of("arrived_packets"), of("loss")), (1000.0, 1000.0, 0.0));
        // 200 bytes at 1 Mbit/s.
        assert!((of("mean_delay_ms") - 191.6).abs() < 1e-6);
        assert!((of("mouth_to_ear_ms") - 251.6).abs() < 1e-6);
        // G.107: 4.03 at 250 ms with the default echo, 4.18 without.
        assert!((of("mos") - 4.02).abs() < 0.01, "{}", of("mos"));
        assert!((of("mos_without_echo") - 4.17).abs() < 0.01, "{}", of("mos_without_echo"));
    }
}

/// A share of the packets is lost, and those behind the jitter buffer are too.
#[test]
fn loss_and_jitter_cost_opinion() {
    let plain = "rate = \"1Mbit/s\"\ndelay = \"190ms\"";
    let lossy = call(&format!("{plain}\nchannel = {{ per = 0.02 }}"), "");
    let loss = cell(&lossy, "call", "loss", 0);
    assert!((0.01..0.03).contains(&loss), "{loss}");
    let concealed = call(&format!("{plain}\nchannel = {{ per = 0.02 }}"), ", codec = \"g711-plc\"");
    let [bare, better] = [&lossy, &concealed].map(|one| cell(one, "call", "mos", 0));
    assert!(bare < 3.0 && better > 3.5, "{bare} and {better}");
    let late = call(&format!("{plain}\nforward.jitter = \"100ms\""), "");
    let of = |column| cell(&late, "call", column, 0);
    assert!(of("late_packets") > 100.0 && of("arrived_packets") == 1000.0);
    assert!((of("loss") - of("late_packets") / 1000.0).abs() < 1e-9);
    assert_eq!(cell(&late, "call", "late_packets", 1), 0.0);
}

#[test]
fn both_engines_carry_the_same_call() {
    let traffic = "call = { codec = \"opus\", duration = \"5s\" }";
    let link = "rate = \"64kbit/s\"\ndelay = \"250ms\"\nchannel = { per = 0.05 }";
    let scenario = parse(&text(link, UDP, traffic));
    let fast = simulator::run(&scenario, 3, Options::default());
    let slow = simulator::run_on_reference(&scenario, 3, Options::default());
    assert_eq!((&fast.flows, &fast.links), (&slow.flows, &slow.links));
    // Cells without a value are not equal to themselves.
    assert_eq!(format!("{:?}", fast.tables), format!("{:?}", slow.tables));
    assert!(cell(&fast, "call", "mos", 0).is_nan());
}

/// Requests and answers of 20 messages, alone on the link: the delay is that of a packet.
#[test]
fn messages_have_the_delay_of_their_packets() {
    let link = "rate = \"1Mbit/s\"\ndelay = \"250ms\"";
    let traffic = "messages = { request = \"97B\", answer = \"472B\", interval = \"50ms\", \
                   count = 20, deadline = \"500ms\" }";
    let recording = run(&text(link, UDP, traffic));
    let flow = &recording.flows[0];
    assert!(flow.completed && flow.bytes == 20 * 472, "{flow:?}");
    // 125 and 500 bytes on the link.
    for (row, delay) in [(0, 254.0), (1, 251.0)] {
        for column in ["min_delay_ms", "p50_delay_ms", "p99_delay_ms", "max_delay_ms"] {
            let found = cell(&recording, "messages", column, row);
            assert!((found - delay).abs() < 1e-6, "{column}: {found}");
        }
        assert_eq!(cell(&recording, "messages", "above_150ms", row), 1.0);
        assert_eq!(cell(&recording, "messages", "above_300ms", row), 0.0);
        assert_eq!(cell(&recording, "messages", "above_deadline", row), 0.0);
    }
    assert!((cell(&recording, "responses", "p95_response_ms", 0) - 505.0).abs() < 1e-6);
    assert_eq!(cell(&recording, "responses", "above_deadline", 0), 1.0);
}

/// TCP retransmits what is lost, so that all messages arrive, some of them late.
#[test]
fn messages_over_a_stream_all_arrive_and_wait_for_the_lost() {
    let link = "rate = \"1Mbit/s\"\ndelay = \"100ms\"\nforward.channel = { per = 0.05 }";
    let traffic = "messages = { count = 200, interval = \"50ms\" }";
    let lost = |transport| {
        let recording = run(&text(link, transport, traffic));
        let [sent, arrived] =
            ["sent_messages", "arrived_messages"].map(|one| cell(&recording, "messages", one, 0));
        let flow = &recording.flows[0];
        assert!(flow.completed, "{flow:?}");
        (sent - arrived, cell(&recording, "messages", "max_delay_ms", 0))
    };
    let (of_udp, longest_of_udp) = lost(UDP);
    let (of_tcp, longest_of_tcp) = lost(TCP);
    assert!(of_udp > 2.0 && of_tcp == 0.0, "{of_udp} and {of_tcp}");
    assert!(longest_of_udp < 110.0 && longest_of_tcp > 300.0, "{longest_of_tcp}");
}

/// Nothing is lost when the run ends with packets on their way.
#[test]
fn a_call_without_an_end_lasts_until_the_flow_stops() {
    let link = "rate = \"1Mbit/s\"\ndelay = \"250ms\"";
    let whole = run(&text(link, UDP, "call = {}"));
    assert_eq!(cell(&whole, "call", "sent_packets", 0), 3001.0);
    assert_eq!(cell(&whole, "call", "loss", 0), 0.0);
    assert!(!whole.flows[0].completed);
    let stopped = text(link, UDP, "call = {}").replace("from =", "stop = \"2s\"\nfrom =");
    let stopped = run(&stopped);
    assert_eq!(cell(&stopped, "call", "sent_packets", 0), 100.0);
    assert!(stopped.flows[0].completed && stopped.simulated_s < 2.3);
}

#[test]
fn what_cannot_be_carried_is_refused_with_place_and_reason() {
    let link = "rate = \"1Mbit/s\"\ndelay = \"250ms\"";
    let refused = |transport: &str, traffic: &str| {
        let text = text(link, transport, traffic);
        scenario::Scenario::parse(&text, "test.toml", &[]).unwrap_err().to_string()
    };
    let rows = [
        (TCP, "call = {}", "transport.protocol: expected \"udp\", found \"tcp\""),
        (UDP, "download = \"1MB\"", "found \"udp\": traffic.download needs a stream of bytes"),
        (UDP, "messages = { answer = \"1473B\" }", "expected \"8B\" to \"1472B\" with UDP"),
        (UDP, "messages = { request = \"2kB\" }", "traffic.messages.request"),
        (UDP, "call = { bitrate = \"32kbit/s\" }", "expected no `bitrate` with this codec"),
        (UDP, "call = { codec = \"g279a\" }", "\"g729a\""),
        (UDP, "call = { frame = \"5ms\" }", "from 10ms to 60ms"),
        (
            "controller = \"cubic\"\ntransport = { protocol = \"udp\" }",
            "call = {}",
            "expected \"none\"",
        ),
        ("transport = { protocol = \"udp\", mss = 500 }", "call = {}", "udp has no settings"),
    ];
    for (transport, traffic, expected) in rows {
        let error = refused(transport, traffic);
        assert!(error.contains(expected) && error.contains("test.toml:"), "{traffic}: {error}");
    }
}
