//! Whole runs on the kernel of this machine. They take real time, so each is short; where the
//! machine cannot run them they say why and are skipped.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod acm;
mod applications;
mod aqm;
mod arq;
mod beam;
mod buckets;
mod changes;
mod compression;
mod demand;
mod fec;
mod hosts;
mod impairments;
mod limits;
mod mechanisms;
mod middlebox;
mod mtu;
mod programs;
mod quic;
mod traces;
mod tunnel;

use std::io::Write;
use std::path::Path;
use std::{io, thread};

use recording::{ExtraTable, Recording, Values};
use scenario::Scenario;
use serde_json::{Value, json};
use testbed::{Options, Program, run};
use units::Span;
use wire::IpVersion;

/// Returns true and prints the reason if this machine cannot run the kernel backend.
fn is_skipped() -> bool {
    let missing = testbed::available().err();
    // Not `eprintln`, which is kept back of tests that pass.
    missing.iter().for_each(|missing| drop(writeln!(io::stderr(), "skipped: {missing}")));
    missing.is_some()
}

/// One flow over one link.
fn scenario(link: Value, flow: Value) -> Scenario {
    let mut flows = json!([{ "from": "server", "to": "client", "controller": "cubic",
                             "traffic": { "download": "1MB" } }]);
    merge(&mut flows[0], flow);
    with_flows(link, flows)
}

/// Flows over one link.
fn with_flows(link: Value, flows: Value) -> Scenario {
    let mut whole = json!({
        "duration": "20s",
        "link": [{ "between": ["server", "client"], "rate": "10Mbit/s", "delay": "20ms" }],
        "flow": flows,
    });
    merge(&mut whole["link"][0], link);
    Scenario::from_json(&whole, &[]).unwrap()
}

/// The same scenario over both versions of IP.
fn over_both(scenario: Scenario) -> [Scenario; 2] {
    [IpVersion::V4, IpVersion::V6].map(|ip| Scenario { ip, ..scenario.clone() })
}

fn merge(into: &mut Value, from: Value) {
    for (key, value) in from.as_object().unwrap() {
        into[key] = value.clone();
    }
}

/// A server of the file `payload` in a folder, and a client that compares what it gets with the
/// file.
fn fetching(folder: &Path) -> (Program, Program) {
    let serve =
        format!("python3 -m http.server 8000 --bind server --directory {}", folder.display());
    let server = Program { host: Some("server".to_owned()), ..program(&serve) };
    let fetch = "import hashlib, sys, time, urllib.request as u\n\
        for attempt in range(100):\n\
        \x20   try: page = u.urlopen('http://server:8000/payload').read(); break\n\
        \x20   except OSError: time.sleep(0.05)\n\
        sent = open(sys.argv[1], 'rb').read()\n\
        digests = [hashlib.sha256(data).hexdigest() for data in (sent, page)]\n\
        assert digests[0] == digests[1], digests";
    let file = folder.join("payload").into_os_string();
    let command = ["python3", "-c", fetch].map(Into::into).into_iter().chain([file]).collect();
    let client = Program { host: Some("client".to_owned()), command };
    (server, client)
}

/// A cell of the table of a mechanism, in this row.
fn total(tables: &[ExtraTable], table: &str, column: &str, row: usize) -> u64 {
    let table = tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts[row],
        _ => panic!("{column} is a count"),
    }
}

fn recorded(scenario: &Scenario) -> Recording {
    run(scenario, 1, Options::default()).unwrap()
}

#[test]
fn a_download_arrives_whole_and_no_faster_than_the_link() {
    if is_skipped() {
        return;
    }
    let recording = recorded(&scenario(json!({}), json!({})));
    let flow = &recording.flows[0];
    assert_eq!(recording.backend, recording::Backend::Kernel);
    assert!(flow.completed && !flow.aborted);
    assert_eq!(flow.bytes, 1_000_000);
    assert!((3e6..9.7e6).contains(&flow.goodput_bps), "{flow:?}");
    assert!((40.0..42.0).contains(&flow.min_rtt_ms.unwrap()), "{flow:?}");
    let kernel = recording.kernel.as_ref().unwrap();
    assert_eq!((kernel.lost_packets, kernel.stray_packets), (0, 0));
    assert_eq!(kernel.valid, kernel.delay_error_p99_ms <= kernel.tolerance_ms);
    let rate = kernel.rates.iter().find(|rate| rate.direction == "forward").unwrap();
    let achieved = rate.achieved_bps.unwrap();
    assert!((achieved / 10e6 - 1.0).abs() < 0.02, "{achieved}");
}

#[test]
fn a_run_that_is_later_than_the_scenario_tolerates_is_not_valid() {
    if is_skipped() {
        return;
    }
    let with = |delay_tolerance| Scenario { delay_tolerance, ..scenario(json!({}), json!({})) };
    let valid = |tolerance| recorded(&with(tolerance)).kernel.unwrap().valid;
    assert!(!valid(Span::from_nanos(1)));
    assert!(valid(Span::from_secs(10)));
}

#[test]
fn the_link_carries_the_headers_of_the_version_of_ip() {
    if is_skipped() {
        return;
    }
    // A queue that never overflows, so that each byte is sent once.
    let scenario = scenario(json!({ "queue": { "packets": 2000 } }), json!({}));
    for (scenario, ip_header) in over_both(scenario).iter().zip([20, 40]) {
        let recording = recorded(scenario);
        let (flow, link) = (&recording.flows[0], &recording.links[0]);
        assert_eq!(
            (flow.completed, flow.tcp().unwrap().segments_retransmitted),
            (true, 0),
            "{flow:?}"
        );
        // TCP header and timestamps; 8 bytes more of options in the SYN-ACK.
        let headers = link.delivered_packets * (ip_header + 20 + 12) + 8;
        assert_eq!(link.delivered_bytes, flow.bytes + headers, "{link:?}");
        let kernel = recording.kernel.as_ref().unwrap();
        assert_eq!((kernel.lost_packets, kernel.stray_packets), (0, 0));
    }
}

#[test]
fn a_flow_that_stops_sends_what_its_socket_has_taken_and_no_more() {
    if is_skipped() {
        return;
    }
    for (traffic, completed) in [("unlimited", true), ("100MB", false)] {
        let flow = |from: &str, to: &str, stop: &str| {
            json!({ "from": from, "to": to, "controller": "cubic", "stop": stop,
                    "traffic": { "bulk": traffic } })
        };
        // The other way, so that the link stays free for what is sent after the stop.
        let flows = [flow("server", "client", "1s"), flow("client", "server", "3s")];
        let recording = recorded(&with_flows(json!({}), json!(flows)));
        let flow = &recording.flows[0];
        assert!(!flow.aborted && !recording.partial);
        assert_eq!((flow.completed, flow.completion_s.is_some()), (completed, completed));
        assert!((3.0..6.0).contains(&recording.simulated_s), "{}", recording.simulated_s);
        // Over the time until its end, so that more would be faster than the link.
        assert!((1e6..1e7).contains(&flow.goodput_bps), "{flow:?}");
    }
}

#[test]
fn a_download_that_stops_before_its_request_arrives_sends_nothing() {
    if is_skipped() {
        return;
    }
    let traffic = json!({ "download": "1MB", "request": "100B" });
    let flow = json!({ "stop": "300ms", "traffic": traffic });
    let recording = recorded(&scenario(json!({ "delay": "200ms" }), flow));
    assert!(!recording.flows[0].completed && recording.flows[0].bytes == 0);
}

#[test]
fn the_receive_buffer_bounds_the_throughput() {
    if is_skipped() {
        return;
    }
    let transport = json!({ "receive_buffer": "32KiB", "initial_window": 4 });
    let flow = json!({ "transport": transport, "traffic": { "bulk": "1MB" } });
    let recording = recorded(&scenario(json!({ "delay": "40ms" }), flow));
    let bound = 32.0 * 1024.0 * 8.0 / 0.08;
    let goodput = recording.flows[0].goodput_bps;
    assert!((0.75 * bound..bound).contains(&goodput), "{goodput} of {bound}");
    let settings = &recording.kernel.as_ref().unwrap().settings;
    let window = settings.iter().find(|s| s.setting == "transport.receive_buffer").unwrap();
    assert_eq!(window.asked, "32KiB");
    let largest = window.largest_window_bytes.unwrap();
    // By at most the growth of one ACK, two segments, before the bound is set for the second time.
    assert!((24 << 10..=(32 << 10) + 2 * 1460).contains(&largest), "{largest}");
}

/// A send buffer of 400 kB of memory, and 600 ms for a round trip. The kernel tunes it by its own
/// rules, with the values of the scenario.
#[test]
fn a_send_buffer_that_tunes_itself_bounds_the_throughput_as_in_the_simulator() {
    if is_skipped() {
        return;
    }
    let send = json!({ "default": "16KiB", "max": "400kB" });
    let transport = json!({ "receive_buffer": { "max": "8MiB" }, "send_buffer": send, "recovery": "linux",
                            "delayed_ack": "linux", "nagle": true });
    let traffic = json!({ "bulk": "3MB", "write": "64KiB" });
    let flow = json!({ "transport": transport, "traffic": traffic });
    let link = json!({ "delay": "300ms", "rate": "50Mbit/s", "queue": { "packets": 4000 } });
    let scenario = scenario(link, flow);
    let recording = recorded(&scenario);
    // That of the simulator, whose test has the same number: `buffers::a_small_send_buffer_...`.
    let found = recording.flows[0].completion_s.unwrap();
    assert!((found / 6.03 - 1.0).abs() < 0.1, "{found} s");
    let settings = &recording.kernel.as_ref().unwrap().settings;
    let verdict = |name: &str| settings.iter().find(|s| s.setting == name).unwrap();
    assert_eq!(verdict("transport.send_buffer").asked, "16KiB to 400kB");
    assert!(verdict("transport.receive_buffer").kernel.contains("tcp_rmem"));
}

#[test]
fn a_slow_reader_closes_the_window() {
    if is_skipped() {
        return;
    }
    let buffer = 64 * 1024;
    let transport = json!({ "receive_buffer": "64KiB", "reader_rate": "2Mbit/s" });
    let flow = json!({ "transport": transport, "traffic": { "download": "750kB" } });
    let mut scenario = scenario(json!({}), flow);
    scenario.record.interval = Some(Span::from_millis(20));
    let recording = recorded(&scenario);
    let (flow, series) = (&recording.flows[0], &recording.flow_series);
    assert!(flow.completed && flow.tcp().unwrap().segments_retransmitted == 0, "{flow:?}");
    // 3 s of reading, and a round trip and a half before it.
    assert!((3.05..3.2).contains(&flow.completion_s.unwrap()), "{flow:?}");
    // Sent and not read: no more than the buffer, but for what the kernel takes of the memory of
    // its packets.
    let unread = series.sent_bytes.iter().zip(&series.delivered_bytes).map(|(s, d)| s - d);
    let most = unread.max().unwrap();
    assert!((buffer / 2..=buffer * 3 / 2).contains(&most), "{most}");
}

#[test]
fn what_the_link_damages_is_sent_again() {
    if is_skipped() {
        return;
    }
    for scenario in over_both(scenario(json!({ "channel": { "per": 0.02 } }), json!({}))) {
        let recording = recorded(&scenario);
        let (flow, link) = (&recording.flows[0], &recording.links[0]);
        assert!(flow.completed && flow.bytes == 1_000_000, "{flow:?}");
        assert!(link.corrupted_packets > 0);
        assert!(flow.tcp().unwrap().segments_retransmitted >= 1, "{flow:?}");
        assert!(
            flow.tcp().unwrap().fast_recoveries + flow.tcp().unwrap().timeouts >= 1,
            "{flow:?}"
        );
        let sent = link.delivered_packets + link.corrupted_packets + link.dropped_packets;
        assert!(sent >= flow.tcp().unwrap().segments_sent, "{sent} packets, {flow:?}");
        // All but SYN-ACK and FIN carry data.
        let lost = link.corrupted_packets + link.dropped_packets;
        assert!(flow.tcp().unwrap().segments_retransmitted + 2 >= lost, "{lost} lost, {flow:?}");
        assert_eq!(recording.kernel.as_ref().unwrap().stray_packets, 0);
    }
}

#[test]
fn a_queue_marks_the_packets_of_those_who_heed_it() {
    if is_skipped() {
        return;
    }
    let link = json!({ "queue": { "packets": 60 }, "ecn_marking": { "packets": 10, "weight": 1 } });
    let losses = |ecn: bool| {
        let flow = json!({ "transport": { "ecn": ecn }, "traffic": { "download": "2MB" } });
        over_both(scenario(link.clone(), flow)).map(|scenario| {
            let recording = recorded(&scenario);
            (
                recording.links[0].dropped_packets,
                recording.flows[0].tcp().unwrap().segments_retransmitted,
            )
        })
    };
    assert_eq!(losses(true), [(0, 0); 2]);
    let unmarked = losses(false);
    assert!(unmarked.iter().all(|(dropped, again)| *dropped > 0 && *again > 0), "{unmarked:?}");
}

#[test]
fn the_initial_window_is_that_of_the_scenario() {
    if is_skipped() {
        return;
    }
    for segments in [2, 20] {
        let flow = json!({ "transport": { "initial_window": segments },
                           "traffic": { "download": "200kB" } });
        let mut scenario = scenario(json!({ "rate": "100Mbit/s", "delay": "50ms" }), flow);
        scenario.record.interval = Some(Span::from_millis(10));
        for scenario in over_both(scenario) {
            let series = recorded(&scenario).flow_series;
            let mut windows = series.cwnd_bytes.iter().zip(&series.sent_bytes);
            let (cwnd, sent) = windows.find(|(_, sent)| **sent > 0).unwrap();
            assert_eq!((*cwnd, *sent), (segments * 1448, segments * 1448), "{:?}", scenario.ip);
        }
    }
}

#[test]
fn a_window_that_is_paced_fits_a_queue_that_its_bursts_do_not() {
    if is_skipped() {
        return;
    }
    let dropped = |pacing: &str| {
        let link = json!({ "delay": "100ms", "queue": { "packets": 12 } });
        let flow = json!({ "controller": "newreno", "transport": { "pacing": pacing },
                           "traffic": { "download": "150kB" } });
        let recording = recorded(&scenario(link, flow));
        (recording.flows[0].completed, recording.links[0].dropped_packets)
    };
    assert_eq!(dropped("linux"), (true, 0));
    let (completed, lost) = dropped("controller");
    assert!(completed && lost > 0, "{lost} dropped");
}

#[test]
fn without_delayed_acks_each_segment_is_acknowledged() {
    if is_skipped() {
        return;
    }
    let acks_per_segment = |delayed_ack: &str| {
        let flow = json!({ "transport": { "delayed_ack": delayed_ack } });
        over_both(scenario(json!({ "queue": { "packets": 1000 } }), flow)).map(|scenario| {
            let recording = recorded(&scenario);
            let [data, acks] = [0, 1].map(|link| recording.links[link].delivered_packets as f64);
            acks / data
        })
    };
    let (each, second) = (acks_per_segment("off"), acks_per_segment("200ms"));
    assert!(each.iter().all(|share| *share > 0.95), "{each:?}");
    assert!(second.iter().all(|share| *share < 0.7), "{second:?}");
}

#[test]
fn series_grow_and_end_with_the_totals() {
    if is_skipped() {
        return;
    }
    let mut scenario = scenario(json!({}), json!({}));
    scenario.record.interval = Some(Span::from_millis(50));
    let recording = recorded(&scenario);
    let (flow, series) = (&recording.flows[0], &recording.flow_series);
    assert!(series.len() > 15, "{}", series.len());
    assert!(series.t_s.is_sorted() && series.delivered_bytes.is_sorted());
    assert_eq!(series.delivered_bytes.last(), Some(&flow.bytes));
    assert_eq!(series.retransmitted.last(), Some(&flow.tcp().unwrap().segments_retransmitted));
    let srtts: Vec<_> = series.srtt_ms.iter().filter(|srtt| srtt.is_finite()).collect();
    assert!(srtts.iter().all(|srtt| **srtt >= 40.0) && srtts.len() > 10, "{srtts:?}");
    // At least the second of the scenario, and no more above it than the path has waited.
    let rtos = series.rto_ms.iter().zip(&series.srtt_ms).filter(|(_, srtt)| srtt.is_finite());
    assert!(rtos.clone().all(|(rto, srtt)| *rto >= 1000.0 && *rto < 970.0 + srtt), "{rtos:?}");
    assert!(recording.link_series.utilisation.iter().any(|share| *share > 0.9));
}

#[test]
fn the_least_retransmission_timeout_of_the_route_holds_over_ipv6() {
    if is_skipped() {
        return;
    }
    let flow = json!({ "transport": { "rto": { "min": "3s" } } });
    let [_, mut scenario] = over_both(scenario(json!({}), flow));
    scenario.record.interval = Some(Span::from_millis(50));
    let series = recorded(&scenario).flow_series;
    let rtos = series.rto_ms.iter().zip(&series.srtt_ms).filter(|(_, srtt)| srtt.is_finite());
    // 40 ms of the path are in the smoothed RTT already.
    assert!(rtos.clone().count() > 10);
    assert!(rtos.clone().all(|(rto, srtt)| *rto >= 3000.0 && *rto < 2970.0 + srtt), "{rtos:?}");
}

#[test]
fn web_pages_come_as_in_the_simulator() {
    if is_skipped() {
        return;
    }
    let web = json!({ "pages": 2, "interval": "1s", "main_object": "10kB", "embedded_objects": 3,
                      "embedded_object": "5kB", "connections": 2 });
    let recording = recorded(&scenario(json!({}), json!({ "traffic": { "web": web } })));
    let flow = &recording.flows[0];
    assert!(flow.completed);
    assert_eq!((flow.bytes, flow.pages.len()), (2 * (10_000 + 3 * 5_000), 2));
    // Handshake, main object, embedded objects on the first page; the connections stay.
    assert!(flow.pages[0].response_s.unwrap() > 0.12);
    assert!(flow.pages[1].response_s.unwrap() < flow.pages[0].response_s.unwrap());
}

#[test]
fn a_constant_rate_arrives_as_it_is_written() {
    if is_skipped() {
        return;
    }
    let traffic = json!({ "constant": { "rate": "2Mbit/s", "message": "1000B" } });
    let flow = json!({ "stop": "3s", "transport": { "nagle": false }, "traffic": traffic });
    let recording = recorded(&scenario(json!({}), flow));
    let flow = &recording.flows[0];
    // A message every 4 ms. The clock may pass the stop before the last, or the first may be late.
    let offered = flow.offered_bytes.unwrap();
    assert!((745_000..=750_000).contains(&offered), "{offered}");
    assert!(flow.completed && flow.bytes == offered, "{flow:?}");
    assert!((3.015..3.2).contains(&flow.completion_s.unwrap()), "{flow:?}");
    // A write is a segment, but for those of the set-up.
    assert!((720..=offered / 1000).contains(&flow.tcp().unwrap().segments_sent), "{flow:?}");
}

#[test]
fn a_burst_after_a_silence_starts_with_a_small_window_only_where_tcp_restarts() {
    if is_skipped() {
        return;
    }
    // 100 kB in each burst, and silences that are longer than the retransmission timeout.
    let pattern = json!({ "rate": "20Mbit/s", "on": "40ms", "off": "1460ms",
                          "distribution": "constant" });
    let completion = |idle_restart: bool| {
        let transport = json!({ "idle_restart": idle_restart, "rto": { "min": "200ms" } });
        let flow =
            json!({ "stop": "5s", "transport": transport, "traffic": { "on_off": pattern } });
        let recording = recorded(&scenario(json!({ "delay": "100ms" }), flow));
        let flow = &recording.flows[0];
        assert_eq!((flow.bytes, flow.offered_bytes), (400_000, Some(400_000)));
        assert!(flow.completed);
        flow.burst_completion_s.unwrap()
    };
    let (restarted, kept) = (completion(true), completion(false));
    // 100 ms on the way, 80 ms on the link; the first burst opens the window in both.
    assert!((0.18..0.6).contains(&kept), "{kept}");
    assert!(restarted > kept + 0.2, "{restarted} and {kept}");
}

#[test]
fn what_the_kernel_does_not_take_waits_and_is_offered_all_the_same() {
    if is_skipped() {
        return;
    }
    let transport = json!({ "send_buffer": "64KiB" });
    let traffic = json!({ "constant": { "rate": "40Mbit/s" } });
    let flow = json!({ "stop": "2s", "transport": transport, "traffic": traffic });
    let recording = recorded(&scenario(json!({}), flow));
    let flow = &recording.flows[0];
    let offered = flow.offered_bytes.unwrap();
    assert!((9_800_000..=10_001_000).contains(&offered), "{offered}");
    assert!(flow.completed && flow.bytes < 3_000_000, "{flow:?}");
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    if is_skipped() {
        return;
    }
    let scenario = scenario(json!({}), json!({}));
    thread::scope(|scope| {
        let runs = [(); 2].map(|()| scope.spawn(|| recorded(&scenario)));
        for run in runs {
            let recording = run.join().unwrap();
            assert_eq!(recording.flows[0].bytes, 1_000_000);
            assert_eq!(recording.kernel.unwrap().stray_packets, 0);
        }
    });
}

#[test]
fn a_capture_holds_the_packets_at_the_data_sender_once() {
    if is_skipped() {
        return;
    }
    let flow = json!({ "traffic": { "download": "100kB" } });
    for scenario in over_both(scenario(json!({}), flow)) {
        let mut packets = Vec::new();
        let options = Options { capture: Some(&mut packets), ..Options::default() };
        let recording = run(&scenario, 1, options).unwrap();
        let blocks = blocks(&packets).len() as u64;
        let link = &recording.links;
        let sent = link[0].delivered_packets + link[0].dropped_packets;
        // What is on its way when the run ends has been seen at one end only.
        assert!(blocks >= sent + link[1].delivered_packets, "{blocks} blocks, {link:?}");
        assert!(blocks <= sent + link[1].delivered_packets + 4, "{blocks} blocks, {link:?}");
    }
}

/// A packet in a capture.
struct Block {
    /// Nanoseconds since the start.
    at: u64,
    /// Length of the packet on the wire.
    length: u32,
    /// Its first bytes.
    start: Vec<u8>,
}

/// The packets in a capture: blocks of type 6 (pcapng, enhanced packet block).
fn blocks(mut capture: &[u8]) -> Vec<Block> {
    let mut packets = Vec::new();
    while !capture.is_empty() {
        let words = |n: usize| u32::from_le_bytes(capture[4 * n..][..4].try_into().unwrap());
        if words(0) == 6 {
            let at = u64::from(words(3)) << 32 | u64::from(words(4));
            let start = capture[28..][..words(5) as usize].to_vec();
            packets.push(Block { at, length: words(6), start });
        }
        capture = &capture[words(1) as usize..];
    }
    packets
}

#[test]
fn a_run_that_shall_stop_stops_and_is_partial() {
    if is_skipped() {
        return;
    }
    let scenario = scenario(json!({}), json!({ "traffic": { "bulk": "unlimited" } }));
    let mut stop = |share: f64| share < 0.02;
    let options = Options { progress: Some(&mut stop), ..Options::default() };
    let recording = run(&scenario, 1, options).unwrap();
    assert!(recording.partial && recording.simulated_s < 2.0, "{}", recording.simulated_s);
}

/// A program for the host that receives the data.
fn program(script: &str) -> Program {
    let command = ["sh", "-c", script].map(Into::into).to_vec();
    Program { host: None, command }
}
