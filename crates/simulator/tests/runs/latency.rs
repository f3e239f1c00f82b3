//! Distributions of RTT and queueing delay in the totals, against all values of the run.

use std::collections::VecDeque;

use congestion::entries;
use recording::Recording;
use simulator::{Observed, Options};
use sketch::RELATIVE_ERROR;
use tcp::Segment;

use crate::parse;

const RATE_BPS: u64 = 4_000_000;
const DELAY_NS: u64 = 30_000_000;
const IP_HEADER: u64 = 20;
const TICK_NS: u64 = 1_000_000;

/// One flow over one link whose queue overflows. Another flow elsewhere keeps the run going until
/// all packets have arrived.
fn scenario(controller: &str) -> String {
    format!(
        r#"
duration = "30s"
[[link]]
between = ["server", "client"]
rate = "4Mbit/s"
delay = "30ms"
queue = {{ packets = 40 }}
[[flow]]
from = "server"
to = "client"
controller = {{ {controller} }}
stop = "20s"
transport = {{ recovery = "sack" }}
traffic = {{ bulk = "unlimited" }}
[[link]]
between = ["other-server", "other-client"]
rate = "1Mbit/s"
delay = "1ms"
[[flow]]
from = "other-server"
to = "other-client"
controller = "newreno"
traffic = {{ constant = {{ rate = "1kbit/s" }} }}
"#
    )
}

/// A packet capture at both hosts, in nanoseconds.
#[derive(Default)]
struct Capture {
    /// Packets of each direction on their way, data first.
    sent: [VecDeque<(u64, Segment)>; 2],
    /// Queueing delay of each packet that arrived.
    delays: [Vec<u64>; 2],
    /// When the SYN was sent.
    syn: Option<u64>,
    /// Highest acknowledgement number so far.
    acknowledged: u32,
    /// RTT of each ACK of new data.
    rtts: Vec<u64>,
}

impl Capture {
    fn observe(&mut self, observed: &Observed<'_>) {
        let (at, segment) = (observed.at.as_nanos(), *observed.segment().unwrap());
        if observed.from.max(observed.to) > 1 {
            return; // the other flow
        }
        let side = usize::from(!observed.by_data_sender);
        if observed.node == observed.from {
            self.sent[side].push_back((at, segment));
            self.syn.get_or_insert(at);
            return;
        }
        // Links keep the order of packets, so all before it were dropped.
        let sent = loop {
            let (sent, other) = self.sent[side].pop_front().expect("it was sent");
            if other == segment {
                break sent;
            }
        };
        let bits = (u64::from(segment.bytes()) + IP_HEADER) * 8;
        let alone = bits * 1_000_000_000 / RATE_BPS + DELAY_NS;
        self.delays[side].push((at - sent).saturating_sub(alone));
        if side == 1 {
            self.acknowledge(at, &segment);
        }
    }

    /// RFC 7323 section 4.1 with a clock of 1 ms; the SYN is timed to the nanosecond.
    fn acknowledge(&mut self, at: u64, ack: &Segment) {
        if self.rtts.is_empty() {
            self.rtts.push(at - self.syn.expect("a SYN was sent"));
            self.acknowledged = ack.acknowledgement;
        } else if ack.acknowledgement.wrapping_sub(self.acknowledged).cast_signed() > 0 {
            self.acknowledged = ack.acknowledgement;
            self.rtts.push((at / TICK_NS - u64::from(ack.echo)) * TICK_NS);
        }
    }
}

/// Median, 95th and 99th percentile by nearest rank, and the maximum, in milliseconds.
fn percentiles(values: &[u64]) -> [f64; 4] {
    let mut values = values.to_vec();
    values.sort_unstable();
    let rank = |percent: usize| (percent * values.len()).div_ceil(100);
    [50, 95, 99, 100].map(|percent| values[rank(percent) - 1] as f64 / 1e6)
}

fn mean(values: &[u64]) -> f64 {
    values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64 / 1e6
}

/// Compares mean, percentiles and maximum; times are rounded to nanoseconds.
fn assert_near(what: &str, found: [f64; 5], values: &[u64]) {
    const ROUNDING_MS: f64 = 3e-6;
    let [of_mean, median, p95, p99, max] = found;
    assert!((of_mean - mean(values)).abs() < ROUNDING_MS, "{what}: a mean of {of_mean}");
    let exact = percentiles(values);
    for (found, exact) in [median, p95, p99].into_iter().zip(exact) {
        let error = (found - exact).abs();
        assert!(error <= RELATIVE_ERROR * exact + ROUNDING_MS, "{what}: {found} for {exact}");
    }
    assert!((max - exact[3]).abs() < ROUNDING_MS, "{what}: a maximum of {max} for {}", exact[3]);
}

fn run_captured(text: &str) -> (Recording, Capture) {
    let mut capture = Capture::default();
    let mut observer = |observed: &Observed<'_>| capture.observe(observed);
    let options = Options { observer: Some(&mut observer), ..Options::default() };
    let scenario = parse(text);
    let recording = simulator::run(&scenario, 1, options);
    (recording, capture)
}

#[test]
fn percentiles_are_those_of_all_packets_within_the_error_for_every_controller() {
    for entry in entries() {
        let name = entry.name;
        // What CK-STP needs to know about the path.
        let known = if name == "ck-stp" { ", rate = 4, rtt = 60" } else { "" };
        let (recording, capture) = run_captured(&scenario(&format!("name = {name:?}{known}")));
        let flow = &recording.flows[0];
        let found = [
            flow.mean_rtt_ms,
            flow.median_rtt_ms,
            flow.p95_rtt_ms,
            flow.p99_rtt_ms,
            flow.max_rtt_ms,
        ];
        let found = found.map(Option::unwrap);
        assert!(capture.rtts.len() > 50, "{name}: {} samples", capture.rtts.len());
        assert_near(&format!("RTT of {name}"), found, &capture.rtts);
        for (link, delays) in recording.links.iter().zip(&capture.delays) {
            let found = [
                link.mean_queueing_delay_ms,
                link.median_queueing_delay_ms,
                link.p95_queueing_delay_ms,
                link.p99_queueing_delay_ms,
                link.max_queueing_delay_ms,
            ];
            let found = found.map(Option::unwrap);
            assert_eq!(delays.len() as u64, link.delivered_packets, "{name}");
            assert_near(&format!("{} delay of {name}", link.direction), found, delays);
        }
    }
}

/// A constant rate of 1.5 times that of the link fills the queue, which then stays full: so the
/// percentiles of its length are known.
#[test]
fn the_length_of_a_queue_that_is_always_full_is_its_limit() {
    let text = r#"
duration = "60s"
[[link]]
between = ["server", "client"]
rate = "1Mbit/s"
delay = "1ms"
queue = { packets = 10 }
[[flow]]
from = "server"
to = "client"
controller = "newreno"
transport = { mss = 960, timestamps = false, receive_buffer = "40000B", initial_window = 40, recovery = "sack" }
traffic = { bulk = "unlimited" }
"#;
    let (recording, _) = run_captured(text);
    let link = &recording.links[0];
    let [mean, p95, p99] =
        [link.mean_queue_bytes, link.p95_queue_bytes, link.p99_queue_bytes].map(Option::unwrap);
    assert_eq!(link.max_queue_bytes, 10_000);
    assert!(p99 <= 10_000.0);
    assert!((9000.0 * (1.0 - RELATIVE_ERROR)..=10_000.0).contains(&p95));
    // 8 ms for each packet that waits, and for what is left of the one being sent.
    let (delay, bytes) = (link.max_queueing_delay_ms.unwrap(), link.max_queue_bytes as f64);
    assert!((delay - bytes * 8.0 / 1e3).abs() <= 8.0, "{delay} ms behind {bytes} B");
    assert!(mean < p95);
}
