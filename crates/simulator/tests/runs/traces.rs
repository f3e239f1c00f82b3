//! Links that follow a trace.

use std::fmt::Write;

use recording::Recording;
use simulator::Options;

use crate::parse;

/// A bulk flow for 20 s over a link whose forward direction follows the file `name` with `content`, read as
/// `key` again and again. Both engines must agree.
fn traced(name: &str, key: &str, content: &str) -> Recording {
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
forward = {{ trace = {{ {key} = {:?}, loop = true }} }}
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
    let scenario = parse(&text);
    let fast = simulator::run(&scenario, 1, Options::default());
    let slow = simulator::run_on_reference(&scenario, 1, Options::default());
    assert_eq!(fast.flows, slow.flows);
    assert_eq!(fast.links, slow.links);
    assert_eq!(fast.link_series, slow.link_series);
    fast
}

#[test]
fn a_flow_gets_what_the_deliveries_of_mahimahi_carry() {
    // 1500 bytes in each second millisecond: 6 Mbit/s.
    let mut deliveries = String::new();
    (1..=500).for_each(|n| writeln!(deliveries, "{}", 2 * n).unwrap());
    let link = &traced("mahimahi", "deliveries", &deliveries).links[0];
    let rate = link.delivered_bytes as f64 * 8.0 / 20.0;
    assert!(rate > 0.95 * 6e6 && rate <= 6e6, "{rate} bit/s");
}

#[test]
fn the_rtt_follows_the_delays_and_packets_keep_their_order() {
    // 20 ms for a second, 60 ms for the next; a fall of the delay reorders nothing.
    let delays = "20\n".repeat(100) + &"60\n".repeat(100);
    let recording = traced("leoreplayer", "delays", &delays);
    let flow = &recording.flows[0];
    // 10 ms back, and what up to 64 KiB before a packet take.
    let (min, max) = (flow.min_rtt_ms.unwrap(), flow.rtt.as_ref().unwrap().max_rtt_ms);
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
