//! Tunnels, and what they carried: a table of totals, and one of samples, in runs that have any.

use network::Counted;
use recording::extra_table;
use scenario::Scenario;

use crate::mechanisms::{self, Reports};

extra_table! {
    /// Totals of tunnels, one row for each.
    pub(crate) Totals("tunnel") of Total {
        /// One of its ends.
        from: String,
        /// The other one.
        to: String,
        /// The protocol.
        protocol: String,
        /// Length of the longest packet inside, in bytes.
        [measure] mtu_bytes: u64,
        /// Packets that it carried.
        packets: u64,
        /// Bytes of these packets.
        inner_bytes: u64,
        /// Bytes of the outer packets.
        outer_bytes: u64,
        /// Messages of the set-up.
        set_up_packets: u64,
        /// Packets that were discarded because too many waited for the set-up.
        discarded_packets: u64,
        /// Packets that were longer than its MTU.
        too_big_packets: u64,
        /// Time in seconds at which an end could send for the first time. Zero for a tunnel that
        /// existed, or that was never used.
        opened_s: f64,
    }
}

extra_table! {
    /// Samples of these counters, at the times of the series of links.
    pub(crate) Samples("tunnel_series") of Sample {
        /// Number of the tunnel: its row in the table `tunnel`.
        tunnel: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Packets that it carried, since the start.
        packets: u64,
        /// Bytes of these packets, since the start.
        inner_bytes: u64,
        /// Bytes of the outer packets, since the start.
        outer_bytes: u64,
    }
}

/// Has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorder;

impl mechanisms::Recorder for Recorder {
    type Totals = Totals;
    type Samples = Samples;

    fn new(_: &Scenario) -> Self {
        Self
    }

    fn sample(&mut self, reports: &Reports<'_>, samples: &mut Samples) {
        for (tunnel, report) in reports.counted(Counted::tunnel) {
            samples.push(Sample {
                tunnel: tunnel.into(),
                t_s: reports.at.as_secs_f64(),
                packets: report.count("packets"),
                inner_bytes: report.count("inner_bytes"),
                outer_bytes: report.count("outer_bytes"),
            });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        for (number, report) in reports.counted(Counted::tunnel) {
            let tunnel = &scenario.tunnels[usize::from(number)];
            let [from, to] = tunnel.ends.map(|end| scenario.nodes[end].name.clone());
            totals.push(Total {
                from,
                to,
                protocol: tunnel.settings.name().to_owned(),
                mtu_bytes: tunnel.mtu.into(),
                packets: report.count("packets"),
                inner_bytes: report.count("inner_bytes"),
                outer_bytes: report.count("outer_bytes"),
                set_up_packets: report.count("set_up_packets"),
                discarded_packets: report.count("discarded_packets"),
                too_big_packets: report.count("too_big_packets"),
                opened_s: report.count("opened_ns") as f64 / 1e9,
            });
        }
        totals
    }
}
