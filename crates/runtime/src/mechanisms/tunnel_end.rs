//! Outer connections of tunnels with congestion control: a table of totals of their ends, and one
//! of samples, in runs that have any.

use network::Counted;
use recording::extra_table;
use scenario::Scenario;

use crate::mechanisms::{self, Reports};

extra_table! {
    /// Totals of the ends of outer connections, two rows for each tunnel whose outer connection has
    /// a controller.
    pub(crate) Totals("tunnel_end") of Total {
        /// Number of the tunnel: its row in the table `tunnel`.
        [number] tunnel: u32,
        /// The node that sends.
        node: String,
        /// The congestion controller.
        controller: String,
        /// Packets that the other end acknowledges: those with content, and PINGs of probes.
        packets: u64,
        /// Packets with an ACK only.
        ack_packets: u64,
        /// Packets that it found lost.
        lost_packets: u64,
        /// Packets whose content was retransmitted, with capsules.
        retransmitted_packets: u64,
        /// Probe timeouts.
        probe_timeouts: u64,
        /// Packets that found the buffer full.
        dropped_packets: u64,
        /// The most that waited in the buffer, in bytes.
        [measure] max_queue_bytes: u64,
        /// Congestion window at the end, in bytes.
        [measure] window_bytes: u64,
        /// Smoothed round-trip time of the outer connection at the end, in seconds. Zero before the
        /// first ACK.
        srtt_s: f64,
    }
}

extra_table! {
    /// Samples of the ends of outer connections, at the times of the series of links.
    pub(crate) Samples("tunnel_end_series") of Sample {
        /// Number of the end: its row in the table `tunnel_end`.
        end: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Congestion window in bytes.
        window_bytes: u64,
        /// Bytes without an ACK.
        flight_bytes: u64,
        /// Bytes that wait in the buffer.
        queue_bytes: u64,
        /// Smoothed round-trip time in seconds. Zero before the first ACK.
        srtt_s: f64,
        /// Packets found lost since the start.
        lost_packets: u64,
    }
}

/// Has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorder;

/// A number of nanoseconds in seconds.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl mechanisms::Recorder for Recorder {
    type Totals = Totals;
    type Samples = Samples;

    fn new(_: &Scenario) -> Self {
        Self
    }

    fn sample(&mut self, reports: &Reports<'_>, samples: &mut Samples) {
        for (end, (_, report)) in (0..).zip(reports.counted(Counted::tunnel_end)) {
            samples.push(Sample {
                end,
                t_s: reports.at.as_secs_f64(),
                window_bytes: report.count("window"),
                flight_bytes: report.count("in_flight"),
                queue_bytes: report.count("queue"),
                srtt_s: seconds(report.count("srtt_ns")),
                lost_packets: report.count("lost"),
            });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        for (number, report) in reports.counted(Counted::tunnel_end) {
            let tunnel = &scenario.tunnels[usize::from(number / 2)];
            let Some(outer) = &tunnel.outer else { continue };
            let node = tunnel.ends[usize::from(number % 2)];
            totals.push(Total {
                tunnel: u32::from(number / 2),
                node: scenario.nodes[node].name.clone(),
                controller: outer.controller.entry().name.to_owned(),
                packets: report.count("packets"),
                ack_packets: report.count("acks"),
                lost_packets: report.count("lost"),
                retransmitted_packets: report.count("retransmissions"),
                probe_timeouts: report.count("probe_timeouts"),
                dropped_packets: report.count("dropped"),
                max_queue_bytes: report.count("max_queue"),
                window_bytes: report.count("window"),
                srtt_s: seconds(report.count("srtt_ns")),
            });
        }
        totals
    }
}
