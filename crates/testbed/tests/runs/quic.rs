//! QUIC over UDP sockets in the namespaces. The receiving end compares each byte with that of its
//! position, and panics if they differ.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::{fs, io};

use congestion::Specification;
use quic::{Carriage, KeyLogWriter, Logs, Sink, Traces, carriage};
use recording::Recording;
use serde_json::{Value, json};
use testbed::{Options, run};

use super::{is_skipped, merge, over_both, recorded, scenario, with_flows};

/// A flow with QUIC.
fn flow(controller: Value, settings: Value) -> Value {
    json!({ "controller": controller, "transport": { "protocol": "quic", "quic": settings } })
}

fn lost_nothing(recording: &Recording) -> bool {
    let kernel = recording.kernel.as_ref().unwrap();
    (kernel.lost_packets, kernel.stray_packets) == (0, 0)
}

#[test]
fn quic_carries_each_byte_over_both_versions_of_ip() {
    if is_skipped() {
        return;
    }
    for (ip, header) in
        over_both(scenario(json!({}), flow(json!("cubic"), json!({})))).iter().zip([20, 40])
    {
        let recording = recorded(ip);
        let record = &recording.flows[0];
        assert!(record.completed && !record.aborted && record.bytes == 1_000_000, "{record:?}");
        assert!((2e6..9.7e6).contains(&record.goodput_bps), "{record:?}");
        assert!(record.throughput_bps >= record.goodput_bps, "{record:?}");
        assert!(record.min_rtt_ms.unwrap() >= 40.0 && record.mean_rtt_ms.is_some(), "{record:?}");
        assert_eq!(record.protocol.name(), "quic");
        let counts = record.protocol.quic().unwrap();
        // At most 1452 bytes of payload, less than that of data.
        assert!(counts.segments_sent > 1_000_000 / 1452, "{counts:?}");
        assert!(lost_nothing(&recording), "{:?}", recording.kernel);
        let link = &recording.links[0];
        let largest = 1452 + 8 + header;
        assert!(link.delivered_bytes <= link.delivered_packets * largest, "{link:?}");
        assert!(link.delivered_bytes > record.bytes, "{link:?}");
        let settings = &recording.kernel.as_ref().unwrap().settings;
        assert!(settings.iter().all(|setting| setting.verdict == "applied"), "{settings:?}");
        assert!(settings.iter().any(|s| s.setting == "transport.quic.initial_rtt"));
    }
}

#[test]
fn pages_are_fetched_on_streams() {
    if is_skipped() {
        return;
    }
    let pages = json!({ "web": { "pages": 2, "interval": "500ms", "embedded_objects": 4,
                                 "main_object": "20kB", "embedded_object": "10kB" } });
    let mut flow = flow(json!("cubic"), json!({}));
    merge(&mut flow, json!({ "traffic": pages }));
    let recording = recorded(&scenario(json!({}), flow));
    let record = &recording.flows[0];
    assert!(record.completed && !record.aborted, "{record:?}");
    assert_eq!(record.pages.len(), 2);
    // Request and answer of the page, and then those of all its objects.
    assert!(record.pages.iter().all(|page| page.response_s.is_some_and(|time| time > 0.08)));
    assert!(lost_nothing(&recording), "{:?}", recording.kernel);
}

#[test]
fn zero_rtt_saves_a_round_trip() {
    if is_skipped() {
        return;
    }
    let time = |settings: Value| {
        let mut flow = flow(json!("cubic"), settings);
        merge(&mut flow, json!({ "traffic": { "download": "5kB" } }));
        let link = json!({ "delay": "500ms" });
        recorded(&scenario(link, flow)).flows[0].completion_s.unwrap()
    };
    // A round trip of a second for the request and its answer, and one for the handshake.
    assert!((1.0..2.0).contains(&time(json!({ "zero_rtt": true }))));
    assert!(time(json!({})) >= 2.0);
}

#[test]
fn quic_and_tcp_share_a_link() {
    if is_skipped() {
        return;
    }
    let whole = |protocol: &str, controller: &str| {
        json!({ "from": "server", "to": "client", "controller": controller,
                "transport": { "protocol": protocol }, "traffic": { "bulk": "1MB" } })
    };
    let flows = json!([whole("quic", "hybla"), whole("tcp", "reno"), whole("quic", "bbr")]);
    let recording = recorded(&with_flows(json!({}), flows));
    let names: Vec<_> = recording.flows.iter().map(|flow| flow.protocol.name()).collect();
    assert_eq!(names, ["quic", "tcp", "quic"]);
    assert!(recording.flows.iter().all(|flow| flow.completed && flow.bytes == 1_000_000));
    let rate: f64 = recording.flows.iter().map(|flow| flow.goodput_bps).sum();
    assert!(rate < 2.0 * 10e6, "each within its own time: {rate}");
}

/// quinn's own controllers, over a link that loses packets.
#[test]
fn the_controllers_of_quinn_carry_quic_too() {
    if is_skipped() {
        return;
    }
    let flows: Vec<_> = ["newreno", "cubic"]
        .into_iter()
        .map(|name| {
            let mut flow = flow(json!(name), json!({ "congestion": "quinn" }));
            merge(
                &mut flow,
                json!({ "name": name, "from": "server", "to": "client", "traffic": { "download": "1MB" } }),
            );
            flow
        })
        .collect();
    let link = json!({ "forward": { "channel": { "per": 0.005 } } });
    let recording = recorded(&with_flows(link, json!(flows)));
    for record in &recording.flows {
        assert!(record.completed && record.bytes == 1_000_000, "{record:?}");
        assert!(record.controller_status.contains("quinn"), "{record:?}");
        let counts = record.protocol.quic().unwrap();
        assert!(counts.segments_retransmitted > 0 && counts.fast_recoveries > 0, "{counts:?}");
        assert!(counts.acks_sent > 0 && counts.mtu_probes_sent > 0, "{counts:?}");
    }
}

/// 1 MB over 600 ms: the simulator takes 2.6 s with what was saved, and 5.2 s without it.
#[test]
fn careful_resume_saves_round_trips() {
    if is_skipped() {
        return;
    }
    let time = |saved: Value| {
        let mut flow = flow(json!("cubic"), json!({}));
        merge(&mut flow, json!({ "traffic": { "download": "1MB" } }));
        merge(&mut flow["transport"], saved);
        let link = json!({ "delay": "300ms", "queue": { "packets": 1000 } });
        recorded(&scenario(link, flow)).flows[0].completion_s.unwrap()
    };
    let saved = json!({ "careful_resume": { "saved_cwnd": "600kB", "saved_rtt": "600ms" } });
    let (without, with) = (time(json!({})), time(saved));
    assert!(with < 0.7 * without, "{with:.2} s instead of {without:.2} s");
}

/// Each controller that quinn can carry, at once.
#[test]
fn every_controller_carries_quic() {
    if is_skipped() {
        return;
    }
    let all = congestion::entries().map(|entry| Specification::named(entry.name).unwrap());
    // That one is for the rate of SCPS-TP.
    let others = all.filter(|one| *one != Specification::unlimited());
    let carried = others.filter(|one| !matches!(carriage(one), Carriage::Impossible(_)));
    let names: Vec<_> = carried.map(|one| one.entry().name).collect();
    let flows = names.iter().map(|name| {
        let mut flow = flow(json!(name), json!({}));
        merge(
            &mut flow,
            json!({ "name": name, "from": "server", "to": "client",
                    "traffic": { "download": "50kB" } }),
        );
        flow
    });
    let flows: Vec<_> = flows.collect();
    assert!(flows.len() > 20, "{names:?}");
    let link = json!({ "rate": "50Mbit/s", "queue": { "packets": 2000 } });
    let recording = recorded(&with_flows(link, json!(flows)));
    for record in &recording.flows {
        assert!(record.completed && record.bytes == 50_000, "{record:?}");
        assert!(record.protocol.quic().unwrap().segments_sent > 30, "{record:?}");
    }
}

#[test]
fn what_a_link_loses_is_retransmitted() {
    if is_skipped() {
        return;
    }
    let link = json!({ "forward": { "channel": { "per": 0.02 } } });
    let recording = recorded(&scenario(link, flow(json!("reno"), json!({}))));
    let (record, link) = (&recording.flows[0], &recording.links[0]);
    assert!(record.completed && link.corrupted_packets > 0, "{record:?} {link:?}");
    let counts = record.protocol.quic().unwrap();
    assert!(counts.segments_retransmitted > 0 && counts.fast_recoveries > 0, "{counts:?}");
}

/// The traffic class of packets reaches quinn: it reduces the window at a mark, long before the
/// queue is full.
#[test]
fn marks_of_a_queue_reach_the_sender() {
    if is_skipped() {
        return;
    }
    let longest_queue = |marking: Value| {
        let mut link = json!({ "queue": { "packets": 1000 } });
        merge(&mut link, marking);
        let download = json!({ "traffic": { "download": "1MB" } });
        let mut flow = flow(json!("reno"), json!({}));
        merge(&mut flow, download);
        over_both(scenario(link, flow)).map(|scenario| {
            let recording = recorded(&scenario);
            assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
            recording.links[0].max_queue_bytes
        })
    };
    let marked =
        longest_queue(json!({ "forward": { "ecn_marking": { "packets": 12, "weight": 1 } } }));
    let unmarked = longest_queue(json!({}));
    for (marked, unmarked) in marked.iter().zip(unmarked) {
        assert!(2 * marked < unmarked, "{marked} of {unmarked} bytes");
    }
}

#[test]
fn a_connection_ends_when_nothing_arrives_any_more() {
    if is_skipped() {
        return;
    }
    let link = json!({ "event": [{ "at": "200ms", "forward": { "outage": "100s" } }] });
    let mut flow = flow(json!("cubic"), json!({ "idle_timeout": "1s" }));
    merge(&mut flow, json!({ "traffic": { "bulk": "100MB" } }));
    let recording = recorded(&scenario(link, flow));
    let record = &recording.flows[0];
    assert!(record.aborted && !record.completed, "{record:?}");
    assert_eq!(record.abort_cause.as_deref(), Some("idle-timeout"));
    assert!(recording.simulated_s < 19.0, "{}", recording.simulated_s);
}

/// A program that knows QUIC finds both hellos in a capture, and with the key log the frames of the
/// stream. Traces have the packets of both ends.
#[test]
fn a_capture_has_whole_packets_that_tshark_takes_for_quic() {
    if is_skipped() {
        return;
    }
    let mut packets = Vec::new();
    let name = format!("bentpipe-quic-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    let (path, secrets) = (folder.join("capture.pcapng"), folder.join("keys.log"));
    let keys = Arc::new(KeyLogWriter::new(fs::File::create(&secrets).unwrap()));
    let of_traces = folder.clone();
    let traces = Arc::new(Traces::new(move |name| {
        fs::File::create(of_traces.join(name)).map(|file| Box::new(file) as Sink)
    }));
    let logs = Logs { keys: Some(keys.clone()), traces: Some(traces.clone()) };
    let options = Options { capture: Some(&mut packets), logs, ..Options::default() };
    let small = json!({ "traffic": { "download": "20kB" } });
    let mut flow = flow(json!("cubic"), json!({}));
    merge(&mut flow, small);
    let recording = run(&scenario(json!({}), flow), 1, options).unwrap();
    assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
    keys.finish().unwrap();
    traces.finish().unwrap();
    for role in ["client", "server"] {
        let trace = fs::read_to_string(folder.join(format!("qlog-0-0-{role}.sqlog"))).unwrap();
        let sent = trace.matches("\"name\":\"transport:packet_sent\"").count();
        assert!(sent > if role == "server" { 14 } else { 5 }, "{role}: {sent}");
    }
    fs::write(&path, &packets).unwrap();
    let option = format!("tls.keylog_file:{}", secrets.display());
    let fields = ["tls.handshake.type", "quic.version", "quic.stream_data"];
    let fields = fields.into_iter().flat_map(|field| ["-e", field]);
    let shown = Command::new("tshark")
        .arg("-r")
        .arg(&path)
        .args(["-o", &option, "-Y", "quic", "-T", "fields"])
        .args(fields)
        .output();
    fs::remove_dir_all(&folder).unwrap();
    let Ok(shown) = shown else {
        drop(writeln!(io::stderr(), "skipped in part: tshark is missing"));
        return;
    };
    let text = String::from_utf8(shown.stdout).unwrap();
    let types: Vec<_> = text.lines().filter_map(|line| line.split('\t').next()).collect();
    assert!(types.len() > 20, "{text}");
    for hello in ["1", "2"] {
        assert!(types.iter().any(|found| found.split(',').any(|one| one == hello)), "{text}");
    }
    assert!(text.contains("0x00000001"), "version 1: {text}");
    let digits: usize = text.lines().filter_map(|line| Some(line.split('\t').nth(2)?.len())).sum();
    assert!(digits >= 2 * 20_000, "{digits} digits of decrypted data");
}
