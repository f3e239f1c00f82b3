//! Random reordering and duplication: a table of totals, and one of samples, in runs that have one
//! of both.

use link::ImpairmentCounters;
use recording::extra_table;
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
        for (link, port) in (0..).zip(reports.ports) {
            let Some(counters) = port.counters.impairments else { continue };
            let ImpairmentCounters { reordered_packets, duplicated_packets } = counters;
            let t_s = reports.at.as_secs_f64();
            samples.push(Sample { link, t_s, reordered_packets, duplicated_packets });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        let all = counted(scenario, reports.ports, |_| Some(()), |port| port.counters.impairments);
        for (link, direction, (), counters) in all {
            let ImpairmentCounters { reordered_packets, duplicated_packets } = counters;
            totals.push(Total { link, direction, reordered_packets, duplicated_packets });
        }
        totals
    }
}
