//! Links that follow a trace.

use std::fmt::Write;

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::Options;
use units::Span;

use crate::parse;

/// A bulk flow for 20 s over a link whose forward direction follows the file `name` with `content`,
/// read as `key` again and again. Both engines must agree.
fn traced(name: &str, key: &str, content: &str) -> Recording {
    let scenario = scenario(name, key, content, "");
    ran(&scenario, 1)
}

/// A run on both engines, which must agree.
fn ran(scenario: &Scenario, seed: u64) -> Recording {
    let fast = simulator::run(scenario, seed, Options::default());
    let slow = simulator::run_on_reference(scenario, seed, Options::default());
    assert_eq!(fast.flows, slow.flows);
    assert_eq!(fast.links, slow.links);
    assert_eq!(fast.link_series, slow.link_series);
    assert_eq!(lost(&fast), lost(&slow));
    fast
}

/// Packets that each trace has lost.
fn lost(recording: &Recording) -> Vec<u64> {
    let table = recording.tables.iter().find(|table| table.name() == "trace").unwrap();
    let columns = table.columns();
    let lost = columns.iter().find(|column| column.name == "lost_packets").unwrap();
    let Values::U64(lost) = &lost.values else { panic!("a count") };
    lost.to_vec()
}

/// The scenario of `traced`, with `more` in the table of the trace or behind it.
fn scenario(name: &str, key: &str, content: &str, more: &str) -> Scenario {
    let file = std::env::temp_dir().join(format!("bentpipe-{}-{name}", std::process::id()));
    std::fs::write(&file, content).unwrap();
    let text = format!(
        r#"
duration = "20s"
[[link]]
between = ["server", "client"]
rate = "50Mbit/s"
delay = "10ms"
queue = {{ packets = 100 }}
forward = {{ trace = {{ {key} = {:?}, loop = true {more} }} }}
[[flow]]
from = "server"
to = "client"
controller = "newreno"
transport = {{ recovery = "sack", receive_buffer = "64KiB", delayed_ack = "off" }}
traffic = {{ bulk = "unlimited" }}
[record]
interval = "10ms"
"#,
        file.to_str().unwrap()
    );
    parse(&text)
}

#[test]
fn a_flow_gets_what_the_deliveries_of_mahimahi_carry() {
    // 1500 bytes in each second millisecond: 6 Mbit/s.
    let mut deliveries = String::new();
    (1..=500).for_each(|n| writeln!(deliveries, "{}", 2 * n).unwrap());
    let mut scenario = scenario("mahimahi", "deliveries", &deliveries, "");
    // The reference engine looks at all changes for each packet, and each delivery is two changes.
    scenario.duration = Span::from_secs(5);
    let recording = ran(&scenario, 1);
    assert_eq!(lost(&recording), [0], "deliveries have no losses");
    let link = &recording.links[0];
    let rate = link.delivered_bytes as f64 * 8.0 / 5.0;
    assert!(rate > 0.95 * 6e6 && rate <= 6e6, "{rate} bit/s");
}

#[test]
fn the_rtt_follows_the_delays_and_packets_keep_their_order() {
    // 20 ms for a second, 60 ms for the next; a fall of the delay reorders nothing.
    let delays = "20\n".repeat(100) + &"60\n".repeat(100);
    let recording = traced("leoreplayer", "delays", &delays);
    let flow = &recording.flows[0];
    // 10 ms back, and what up to 64 KiB before a packet take.
    let (min, max) = (flow.min_rtt_ms.unwrap(), flow.max_rtt_ms.unwrap());
    assert!((30.0..31.0).contains(&min), "{min} ms");
    assert!((70.0..90.0).contains(&max), "{max} ms");
    assert_eq!(flow.tcp().unwrap().fast_recoveries, 0, "nothing was lost or reordered");
}

#[test]
fn nothing_is_sent_while_the_rate_is_zero() {
    let rows = "t_s,rate_mbps\n0,4\n1,0\n2,4\n";
    let recording = traced("columns", "file", rows);
    let series = &recording.link_series;
    // Forward is link 0. What began before the outage may end in it.
    let busiest = |from: f64, to: f64| {
        let rows = series.link.iter().zip(&series.t_s).zip(&series.utilisation);
        let inside = rows.filter(|((link, t), _)| **link == 0 && (from..=to).contains(*t));
        inside.map(|(_, share)| *share).fold(0.0, f64::max)
    };
    assert_eq!(busiest(4.1, 4.99), 0.0, "the second second of a trace of 3 s");
    assert!(busiest(5.1, 6.9) > 0.9);
}

#[test]
fn losses_of_a_trace_are_binomial_and_the_same_for_every_controller() {
    // 2 % for 5 s and nothing for 5 s, twice.
    let rows = "t_s,loss_percent\n0,2\n5,0\n";
    let lossy = scenario("lossy", "file", rows, "");
    let recording = ran(&lossy, 1);
    let (first, after) = {
        let series = &recording.link_series;
        let rows = series.link.iter().zip(&series.t_s).zip(&series.corrupted_packets);
        let forward: Vec<_> = rows.filter(|((link, _), _)| **link == 0).collect();
        let until = |end: f64| {
            let row = forward.iter().rev().find(|((_, t), _)| **t <= end);
            row.map_or(0, |(_, lost)| **lost)
        };
        (until(5.02), until(9.9))
    };
    assert!(first > 0, "packets are lost in the first half of a round");
    assert_eq!(first, after, "and none in the second half");
    // The same seed gives the same run, byte for byte.
    assert_eq!(recording.flows, ran(&lossy, 1).flows);
    assert_ne!(recording.links[0].corrupted_packets, ran(&lossy, 2).links[0].corrupted_packets);
    assert_eq!(recording.links[1].corrupted_packets, 0);
    assert_eq!(lost(&recording), [recording.links[0].corrupted_packets], "the channel is perfect");
}

#[test]
fn losses_of_a_trace_are_counted_apart_from_those_of_the_channel_and_from_frames_of_arq() {
    let rows = "t_s,loss_percent\n0,2\n10,2\n";
    // The table of the trace ends, and the direction goes on.
    let more =
        |keys: &str| scenario("apart", "file", rows, &format!("}}, {keys} = {{ per = 0.01 "));
    let recording = ran(&more("channel"), 1);
    let [lost_packets] = lost(&recording)[..] else { panic!("one trace") };
    let link = &recording.links[0];
    let (all, sent) = (link.corrupted_packets, link.corrupted_packets + link.delivered_packets);
    assert!(sent > 1000, "{sent}");
    // Four standard deviations.
    let near = |found: u64, share: f64| {
        let mean = sent as f64 * share;
        (found as f64 - mean).abs() < 4.0 * (mean * (1.0 - share)).sqrt()
    };
    assert!(near(lost_packets, 0.99 * 0.02), "{lost_packets} of {sent}");
    assert!(near(all - lost_packets, 0.01), "{all} and {lost_packets} of {sent}");
    let repeated = scenario("repeated", "file", rows, "}, arq = { name = \"selective-repeat\" ");
    let recording = ran(&repeated, 1);
    assert_eq!(recording.links[0].corrupted_packets, 0, "frames are not packets");
    let [lost_packets] = lost(&recording)[..] else { panic!("one trace") };
    assert!(lost_packets > 10, "{lost_packets}");
}

#[test]
fn the_share_of_lost_packets_is_that_of_the_trace() {
    let (mut lost, mut sent) = (0, 0);
    for seed in 1..=10 {
        let lossy = scenario("share", "file", "t_s,loss_ratio\n0,0.02\n10,0.02\n", "");
        let link = &simulator::run(&lossy, seed, Options::default()).links[0];
        lost += link.corrupted_packets;
        sent += link.corrupted_packets + link.delivered_packets;
    }
    let (mean, deviation) = (sent as f64 * 0.02, (sent as f64 * 0.02 * 0.98).sqrt());
    assert!(sent > 10_000, "{sent}");
    assert!((lost as f64 - mean).abs() < 4.0 * deviation, "{lost} of {sent}");
}

#[test]
fn each_seed_starts_at_another_time_of_the_trace_and_a_fixed_phase_at_its_beginning() {
    // 10 ms, 11 ms, ... 29 ms, each for a second: the first RTT shows where a run has started.
    let delays: String = (10..30).map(|ms| format!("{ms}\n").repeat(100)).collect();
    let first = |more: &str, seed: u64| {
        let scenario = scenario("phases", "delays", &delays, more);
        let scenario = Scenario { duration: Span::from_millis(200), ..scenario };
        let recording = simulator::run(&scenario, seed, Options::default());
        let table = recording.tables.iter().find(|table| table.name() == "trace").unwrap();
        let (starts, rtt) = (table.columns(), recording.flows[0].min_rtt_ms.unwrap());
        let Values::F64(starts) = &starts[2].values else { panic!("seconds") };
        assert_eq!(starts.len(), 1, "one direction has a trace");
        assert_eq!(starts[0] == 0.0, more.is_empty(), "{starts:?}");
        // Each second has its delay, in addition to the 10 ms back. A run may see two of them.
        let delay = 20.0 + starts[0].floor();
        let next = 20.0 + (starts[0] + 0.1).floor().rem_euclid(20.0);
        assert!((delay.min(next)..delay.max(next) + 1.0).contains(&rtt), "{rtt} ms at {starts:?}");
        rtt.floor() as u64
    };
    let found: Vec<_> = (1..=400).map(|seed| first(", phase = \"random\"", seed)).collect();
    // 10 ms back.
    let mut quarters = [0; 4];
    found.iter().for_each(|rtt| quarters[((rtt - 20) / 5) as usize] += 1);
    // Four standard deviations of a count around 100.
    assert!(quarters.iter().all(|count| (65..=135).contains(count)), "{quarters:?}");
    assert_eq!(found[6], first(", phase = \"random\"", 7), "one seed has one start");
    assert!((1..=3).all(|seed| first("", seed) == 20));
}

#[test]
fn where_packets_overtake_tcp_retransmits_what_was_never_lost() {
    let delays = "60\n".repeat(100) + &"20\n".repeat(100);
    let reordered = |more: &str| {
        let recording = ran(&scenario("overtaken", "delays", &delays, more), 1);
        assert_eq!(recording.links[0].corrupted_packets + recording.links[0].dropped_packets, 0);
        let tcp = recording.flows[0].tcp().unwrap();
        (tcp.fast_recoveries, tcp.segments_retransmitted)
    };
    assert_eq!(reordered(""), (0, 0));
    // The table of the trace ends, and the direction goes on.
    let (recoveries, retransmitted) =
        reordered("}, reorder = true, ecn_marking = { packets = 1000 ");
    // The delay falls ten times in 20 s.
    assert!((5..=10).contains(&recoveries), "{recoveries}");
    assert!(retransmitted >= recoveries);
}
