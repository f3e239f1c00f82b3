//! Forward error correction: a table of totals, and one of samples, in runs that have it.

use link::FecCounters;
use network::PortReport;
use recording::{ExtraTable, extra_table};
use scenario::Scenario;
use units::Time;

use crate::links::counted;

extra_table! {
    /// Totals of forward error correction, one row for each direction that has it.
    pub(crate) Totals("fec") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// The code.
        fec: String,
        /// Data packets sent.
        data_packets: u64,
        /// Parity packets sent.
        parity_packets: u64,
        /// Data and parity packets that the channel corrupted.
        corrupted_packets: u64,
        /// Blocks that were closed.
        blocks: u64,
        /// Blocks that the timer closed before they were full.
        short_blocks: u64,
        /// Packets that were rebuilt.
        repaired_packets: u64,
        /// Packets that could not be rebuilt.
        lost_packets: u64,
        /// Packets that waited at the far end for a missing one.
        held_packets: u64,
    }
}

extra_table! {
    /// Samples of forward error correction, at the times of the series of links.
    pub(crate) Samples("fec_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Parity packets since the start.
        parity_packets: u64,
        /// Packets rebuilt since the start.
        repaired_packets: u64,
        /// Packets that could not be rebuilt, since the start.
        lost_packets: u64,
        /// Packets that waited at the far end for a missing one, since the start.
        held_packets: u64,
    }
}

/// Collects samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Samples);

impl Recorder {
    /// Adds a row for each port with FEC.
    pub fn sample(&mut self, at: Time, ports: &[PortReport]) {
        for (link, port) in (0..).zip(ports) {
            let Some(fec) = port.counters.fec else { continue };
            let FecCounters {
                parity_packets, repaired_packets, lost_packets, held_packets, ..
            } = fec;
            self.0.push(Sample {
                link,
                t_s: at.as_secs_f64(),
                parity_packets,
                repaired_packets,
                lost_packets,
                held_packets,
            });
        }
    }

    /// All rows so far; none without FEC.
    pub fn into_table(self) -> Option<ExtraTable> {
        self.0.into_table().filled()
    }
}

/// The totals of all directions with FEC; none without any.
pub(crate) fn totals(scenario: &Scenario, ports: &[PortReport]) -> Option<ExtraTable> {
    let mut totals = Totals::default();
    let all = counted(scenario, ports, |direction| direction.fec, |port| port.fec);
    for (link, direction, fec, counters) in all {
        // Without `..`, so that a new counter has to stand in the table.
        let FecCounters {
            data_packets,
            parity_packets,
            corrupted_packets,
            blocks,
            short_blocks,
            repaired_packets,
            lost_packets,
            held_packets,
        } = counters;
        totals.push(Total {
            link,
            direction,
            fec: fec.name().to_owned(),
            data_packets,
            parity_packets,
            corrupted_packets,
            blocks,
            short_blocks,
            repaired_packets,
            lost_packets,
            held_packets,
        });
    }
    totals.into_table().filled()
}
