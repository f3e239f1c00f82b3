//! Controllers in whole runs: on round trips from 10 to 600 ms, with and without
//! delayed ACKs and timestamps, within bounds that the algorithms give.
//!
//! The path is a bottleneck of 10 Mbit/s with a queue in front of it, on which a bulk flow is
//! alone.

mod queueing;

use recording::Recording;

use crate::run;

const RATE: f64 = 10e6;
/// A packet of a full segment.
const PACKET: f64 = 1500.0;
const RTTS: [u64; 4] = [10, 40, 100, 600];

/// One flow on one path.
#[derive(Clone, Copy, Debug)]
struct Path {
    controller: &'static str,
    parameters: &'static str,
    rtt: u64,
    /// Packets that wait at most, in bandwidth-delay products.
    queue: f64,
    delayed_ack: bool,
    timestamps: bool,
    recovery: &'static str,
    /// Packets that errors take.
    loss: f64,
    seconds: u64,
}

impl Path {
    /// Of `controller`, in each of the combinations.
    fn each(controller: &'static str, queue: f64, seconds: u64) -> Vec<Self> {
        let mut paths = Vec::new();
        for rtt in RTTS {
            for (delayed_ack, timestamps) in
                [(true, true), (true, false), (false, true), (false, false)]
            {
                for recovery in ["sack", "linux"] {
                    paths.push(Self {
                        controller,
                        parameters: "",
                        loss: 0.0,
                        rtt,
                        queue,
                        delayed_ack,
                        timestamps,
                        recovery,
                        seconds,
                    });
                }
            }
        }
        paths
    }

    /// Packets that the path holds without a queue.
    fn bdp(&self) -> f64 {
        RATE * self.rtt as f64 / 1e3 / 8.0 / PACKET
    }

    fn mss(&self) -> f64 {
        if self.timestamps { 1448.0 } else { 1460.0 }
    }

    fn run(&self) -> Recording {
        let Self {
            controller,
            parameters,
            rtt,
            delayed_ack,
            timestamps,
            recovery,
            loss,
            seconds,
            ..
        } = *self;
        let delayed_ack = if delayed_ack { "200ms" } else { "off" };
        let queue = ((self.queue * self.bdp()) as u64).max(4);
        let delay = rtt as f64 / 2.0;
        run(&format!(
            r#"
duration = "{seconds}s"
[[link]]
between = ["server", "client"]
delay = "{delay}ms"
forward = {{ rate = "10Mbit/s", queue = {{ packets = {queue} }}, channel = {{ per = {loss:?} }} }}
backward = {{ rate = "10Mbit/s" }}
[[flow]]
from = "server"
to = "client"
controller = {{ name = "{controller}"{parameters} }}
transport = {{ recovery = "{recovery}", delayed_ack = "{delayed_ack}", timestamps = {timestamps}, receive_buffer = "64MiB" }}
traffic = {{ bulk = "unlimited" }}
[record]
interval = "10ms"
"#
        ))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Means over the second half: utilisation of the bottleneck and packets that wait.
fn steady(recording: &Recording, seconds: u64) -> (f64, f64) {
    let series = &recording.link_series;
    let rows = || {
        (0..series.t_s.len())
            .filter(|&i| series.link[i] == 0 && series.t_s[i] > seconds as f64 / 2.0)
    };
    let utilisation = mean(rows().map(|i| series.utilisation[i]));
    (utilisation, mean(rows().map(|i| f64::from(series.queue_packets[i]))))
}

/// Brakmo and Peterson 1995: between alpha = 1 and beta = 3 segments wait, and so the link is busy.
/// The one that is being sent is one of them. A segment in each round trip fills a GEO path in
/// minutes.
#[test]
fn vegas_fills_an_empty_link_and_keeps_alpha_to_beta_segments_in_the_queue() {
    for path in Path::each("vegas", 4.0, 60) {
        let path = Path { seconds: if path.rtt == 600 { 1500 } else { path.seconds }, ..path };
        let (utilisation, waiting) = steady(&path.run(), path.seconds);
        assert!(utilisation > 0.99, "{utilisation} {path:?}");
        assert!((0.0..=3.0).contains(&waiting), "{waiting} {path:?}");
    }
}

/// Ha and Rhee 2011: the window that ends slow start is one that the path carries. An ACK for every
/// segment shows a train, 1.2 ms apart. Those for every second one come too late for a train, and
/// the delay shows one round trip later.
#[test]
fn hystart_leaves_slow_start_beside_the_bandwidth_delay_product() {
    for path in Path::each("cubic", 1.0, 20) {
        let path = Path { parameters: ", slow_start = \"hystart\"", ..path };
        let recording = path.run();
        let series = &recording.flow_series;
        let left = series.ssthresh_bytes.iter().find(|left| (1..u64::MAX).contains(*left));
        let share = *left.unwrap() as f64 / path.mss() / path.bdp();
        let most = if path.delayed_ack { 2.5 } else { 1.6 };
        assert!((1.0..most).contains(&share), "{share} {path:?}");
    }
}

/// draft-chung-ccwg-search: slow start does not end before the pipe is full. It looks back by the
/// RTT that there is, which grows with the queue, and so a loss may come first.
#[test]
fn search_leaves_slow_start_beyond_the_bandwidth_delay_product() {
    for path in Path::each("cubic", 3.5, 15) {
        if path.rtt < 100 {
            // Fewer segments than bins.
            continue;
        }
        let path = Path { parameters: ", slow_start = \"search\"", ..path };
        let recording = path.run();
        let series = &recording.flow_series;
        let left = series.ssthresh_bytes.iter().position(|left| (1..u64::MAX).contains(left));
        let share = series.ssthresh_bytes[left.unwrap()] as f64 / path.mss() / path.bdp();
        assert!(share >= 1.0, "{share} {path:?}");
    }
}

/// beta = RTTmin / RTTmax, from 0.5 to 0.8: with a queue of q products it is 1 / (1 + q). The first
/// losses halve, as there is no throughput to compare.
#[test]
fn htcp_leaves_the_ratio_of_the_round_trips() {
    for (queue, beta) in [(0.1, 0.8), (0.5, 0.667), (1.0, 0.5)] {
        for path in Path::each("htcp", queue, 240) {
            if path.rtt == 10 || path.recovery == "sack" {
                // A queue of four packets is none of 0.1 products; and with this recovery, cwnd
                // goes through values of its own.
                continue;
            }
            let recording = path.run();
            let series = &recording.flow_series;
            let mut left = Vec::new();
            for i in 1..series.t_s.len() {
                let (before, after) = (series.ssthresh_bytes[i - 1], series.ssthresh_bytes[i]);
                if before != after {
                    left.push(after as f64 / series.cwnd_bytes[i - 1] as f64);
                }
            }
            let last = left.last().unwrap();
            assert!((last - beta).abs() < 0.02, "{beta}: {left:?} {path:?}");
        }
    }
}

/// Cardwell et al. 2016: what is in flight stays below two products and three bursts, the link is
/// busy but for the probes, and each ten seconds four segments measure the round trip again.
#[test]
fn bbr_keeps_two_products_in_flight_and_probes_the_round_trip() {
    for path in Path::each("bbr", 4.0, 60) {
        let recording = path.run();
        let series = &recording.flow_series;
        let flights: Vec<f64> = (0..series.t_s.len())
            .filter(|i| series.t_s[*i] > 20.0)
            .map(|i| series.flight_bytes[i] as f64 / path.mss())
            .collect();
        let most = flights.iter().fold(0.0, |most: f64, flight| most.max(*flight));
        assert!(most <= 2.0 * path.bdp() + 4.0, "{most} {path:?}");
        let probes = flights.windows(2).filter(|pair| pair[0] > 4.5 && pair[1] <= 4.5).count();
        assert_eq!(probes, 4, "{path:?}");
        // Each probe costs 200 ms and two round trips.
        let (utilisation, _) = steady(&recording, path.seconds);
        let least = 0.98 - (0.2 + 2.0 * path.rtt as f64 / 1e3) / 10.0;
        assert!(utilisation > least, "{utilisation} {path:?}");
    }
}

/// RFC 9438 equation 1: between two losses cwnd is C (t - K)^3 + W_max, whatever the round trip, K
/// and W_max are. The third difference of a cubic function is 6 C h^3.
#[test]
fn cubic_follows_its_curve() {
    let mut seen = [0, 0];
    for path in Path::each("cubic", 1.0, 100) {
        if path.rtt < 100 {
            // The Reno-friendly region.
            continue;
        }
        let recording = path.run();
        let series = &recording.flow_series;
        let rows = series.t_s.len();
        let losses: Vec<usize> = (1..rows)
            .filter(|&i| series.ssthresh_bytes[i] != series.ssthresh_bytes[i - 1])
            .filter(|&i| series.t_s[i] > 30.0)
            .collect();
        let step = if path.rtt == 100 { 200 } else { 360 };
        let recovery = 3 * path.rtt as usize / 10;
        let epochs = losses.windows(2).filter(|pair| pair[1] - pair[0] > 3 * step + recovery);
        let cwnd = |row: usize| series.cwnd_bytes[row] as f64 / path.mss();
        let expected = 6.0 * 0.4 * (step as f64 / 100.0).powi(3);
        for epoch in epochs {
            let end = epoch[1] - 1;
            let [d, c, b, a] = [0, 1, 2, 3].map(|steps| cwnd(end - steps * step));
            let third = d - 3.0 * c + 3.0 * b - a;
            seen[usize::from(path.rtt == 600)] += 1;
            assert!((third / expected - 1.0).abs() < 0.15, "{third} {expected} {path:?}");
        }
    }
    assert!(seen.iter().all(|epochs| *epochs > 10), "{seen:?}");
}
