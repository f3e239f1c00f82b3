//! Random reordering and duplication: a table of totals, and one of samples, in runs that have one
//! of both.

use link::ImpairmentCounters;
use recording::{ExtraTable, TableDefinition, extra_table};
use scenario::Scenario;

use crate::links::counted;
use crate::mechanisms::{self, Reports};

extra_table! {
    /// Totals of random reordering and duplication, one row for each direction that has one of
    /// both.
    pub(crate) Totals("impairments") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// Packets that were sent at once, without the delay of the direction, corrupted ones
        /// included.
        reordered_packets: u64,
        /// Copies of packets that have arrived. The delivered packets of the direction include
        /// them.
        duplicated_packets: u64,
    }
}

extra_table! {
    /// Samples of random reordering and duplication, at the times of the series of links.
    pub(crate) Samples("impairments_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Packets that were sent at once since the start.
        reordered_packets: u64,
        /// Copies of packets that have arrived since the start.
        duplicated_packets: u64,
    }
}

/// Collects samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Samples);

impl mechanisms::Recorder for Recorder {
    const TABLES: [TableDefinition; 2] = [Totals::DEFINITION, Samples::DEFINITION];

    fn new(_: &Scenario) -> Self {
        Self::default()
    }

    fn sample(&mut self, reports: &Reports<'_>) {
        for (link, port) in (0..).zip(reports.ports) {
            let Some(counters) = port.counters.impairments else { continue };
            let ImpairmentCounters { reordered_packets, duplicated_packets } = counters;
            let t_s = reports.at.as_secs_f64();
            self.0.push(Sample { link, t_s, reordered_packets, duplicated_packets });
        }
    }

    fn into_table(self) -> Option<ExtraTable> {
        self.0.into_table().filled()
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Option<ExtraTable> {
        let mut totals = Totals::default();
        let all = counted(scenario, reports.ports, |_| Some(()), |port| port.counters.impairments);
        for (link, direction, (), counters) in all {
            let ImpairmentCounters { reordered_packets, duplicated_packets } = counters;
            totals.push(Total { link, direction, reordered_packets, duplicated_packets });
        }
        totals.into_table().filled()
    }
}
