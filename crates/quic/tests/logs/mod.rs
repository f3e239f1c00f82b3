//! Key logs and traces of connections.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use quic::{Choice, KeyLogWriter, Logs, Maker, Settings, Sink, Traces};
use serde_json::Value;
use transport::Endpoint;

use super::{CLIENT, SERVER, Wire, config, wide};

/// A run with logs, of a download of 300 kB over a lossy wire. Returns it, and its ends dropped,
/// what they had sent.
struct Run {
    keys: String,
    /// By name of the file.
    traces: BTreeMap<String, String>,
    wire: Wire,
}

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A file in memory.
struct Appending(Files, String);

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().entry(self.1.clone()).or_default().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(settings: Settings, seed: u64) -> Run {
    let files = Files::default();
    let keys = Arc::new(KeyLogWriter::new(Appending(files.clone(), "keys".to_owned())));
    let opened = files.clone();
    let traces = Arc::new(Traces::new(move |name| -> io::Result<Sink> {
        Ok(Box::new(Appending(opened.clone(), name.to_owned())))
    }));
    let logs = Logs { keys: Some(keys.clone()), traces: Some(traces.clone()) };
    let config = Arc::new(config(settings, Choice::NewReno).logged(&logs));
    let maker = Maker::new(config, seed, 7);
    let mut ends = [maker.end(), maker.end()];
    ends.iter_mut().for_each(|end| end.identify(2, 5));
    let mut wire = Wire::of(ends, seed, Some(50));
    wire.ends[SERVER].write(300_000);
    wire.run(CLIENT, 300_000);
    traces.finish().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let mut files: BTreeMap<_, _> = files
        .lock()
        .unwrap()
        .clone()
        .into_iter()
        .map(|(name, bytes)| (name, text(bytes)))
        .collect();
    Run { keys: files.remove("keys").unwrap(), traces: files, wire }
}

/// The records of a JSON text sequence (RFC 7464 section 2.2): a separator, a text and a line feed.
fn records(sequence: &str) -> Vec<Value> {
    let (before, rest) = sequence.split_once('\u{1e}').unwrap();
    assert_eq!(before, "");
    let records = rest.split('\u{1e}');
    records.map(|one| serde_json::from_str(one.strip_suffix('\n').unwrap()).unwrap()).collect()
}

/// Lines of the format, with one random number, and all secrets that decrypt the packets of both
/// ends. The earlier connection of 0-RTT has no packets and no secrets in the log.
#[test]
fn a_key_log_has_the_secrets_of_the_recorded_connection() {
    let secrets = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    for zero_rtt in [false, true] {
        let Run { keys, .. } = logged(Settings { zero_rtt, ..wide() }, 5);
        let lines: Vec<Vec<_>> = keys.lines().map(|line| line.split(' ').collect()).collect();
        let is_hex = |word: &str| word.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        for line in &lines {
            assert!(
                matches!(line[..], [_, random, secret] if random.len() == 64
                && [64, 96].contains(&secret.len()) && is_hex(random) && is_hex(secret)),
                "{line:?}"
            );
        }
        let randoms: BTreeSet<_> = lines.iter().map(|line| line[1]).collect();
        assert_eq!(randoms.len(), 1, "{keys}");
        let labels: BTreeSet<_> = lines.iter().map(|line| line[0]).collect();
        assert!(secrets.iter().all(|label| labels.contains(label)), "{keys}");
        assert_eq!(labels.contains("CLIENT_EARLY_TRAFFIC_SECRET"), zero_rtt, "{keys}");
        assert_eq!(labels.len(), lines.len(), "each secret once");
    }
}

/// Logs change nothing, and are the same with the same seed.
#[test]
fn a_seed_gives_the_same_traces_and_the_packets_of_a_run_without_them() {
    let first = logged(wide(), 3);
    assert_eq!(first.traces, logged(wide(), 3).traces);
    assert_ne!(first.traces, logged(wide(), 4).traces);
    let names: Vec<_> = first.traces.keys().map(String::as_str).collect();
    assert_eq!(names, ["qlog-2-5-client.sqlog", "qlog-2-5-server.sqlog"]);
    let unlogged = Arc::new(config(wide(), Choice::NewReno));
    let maker = Maker::new(unlogged, 3, 7);
    let mut wire = Wire::of([maker.end(), maker.end()], 3, Some(50));
    wire.ends[SERVER].write(300_000);
    wire.run(CLIENT, 300_000);
    assert_eq!(first.wire.log, wire.log);
}

/// The events of both ends agree with each other, with quinn's counts and with the wire.
#[test]
fn traces_have_every_packet_and_every_loss() {
    let Run { traces, wire, .. } = logged(wide(), 3);
    let of = |role: &str| records(&traces[&format!("qlog-2-5-{role}.sqlog")]);
    for (end, role, other) in [(CLIENT, "client", "server"), (SERVER, "server", "client")] {
        let records = of(role);
        let head = &records[0];
        assert_eq!(
            (&head["qlog_version"], &head["qlog_format"]),
            (&"0.3".into(), &"JSON-SEQ".into())
        );
        assert_eq!(head["trace"]["vantage_point"]["type"], role);
        assert_eq!(head["trace"]["configuration"]["original_uris"], serde_json::json!([]));
        let events = &records[1..];
        let times: Vec<_> = events.iter().map(|event| event["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        let count = |name: &str| events.iter().filter(|event| event["name"] == name).count() as u64;
        let statistics = wire.ends[end].statistics();
        assert_eq!(count("transport:packet_sent"), statistics.packets_sent, "{role}");
        assert_eq!(count("recovery:packet_lost"), statistics.packets_lost, "{role}");
        // Which packet, by its type and number.
        let numbers = |records: &[Value], name: &str| -> BTreeSet<String> {
            let those = records.iter().filter(|event| event["name"] == name);
            those
                .map(|event| {
                    let header = &event["data"]["header"];
                    format!("{} {}", header["packet_type"], header["packet_number"])
                })
                .collect()
        };
        let received = numbers(events, "transport:packet_received");
        let sent = numbers(&of(other), "transport:packet_sent");
        assert!(!received.is_empty() && received.is_subset(&sent), "{role}");
    }
    // A packet leaves when its event says, and a round trip is 600 ms and more.
    let server = of("server");
    let sent: BTreeSet<_> = wire.log.iter().map(|(at, ..)| at.as_nanos()).collect();
    for event in server.iter().filter(|event| event["name"] == "transport:packet_sent") {
        let nanos = (event["time"].as_f64().unwrap() * 1e6).round() as u64;
        assert!(sent.contains(&nanos), "{event}");
    }
    let samples: Vec<_> =
        server.iter().filter_map(|event| event["data"]["latest_rtt"].as_f64()).skip(1).collect();
    assert!(
        samples.len() > 10 && samples.iter().all(|one| (600.0..1500.0).contains(one)),
        "{samples:?}"
    );
}
