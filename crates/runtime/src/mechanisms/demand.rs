//! Demand assignment: a table of totals, and one of samples, in runs that have it.

use link::DemandCounters;
use recording::extra_table;
use scenario::Scenario;

use crate::links::counted;
use crate::mechanisms::{self, Reports};

extra_table! {
    /// Totals of demand assignment, one row for each direction that has it.
    pub(crate) Totals("demand") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// The kind of demand assignment.
        demand: String,
        /// Requests sent.
        requests: u64,
        /// Slots requested.
        requested_slots: u64,
        /// Slots of constant rate that carried something.
        cra_slots: u64,
        /// Slots on request that carried something.
        vbdc_slots: u64,
        /// Slots of free capacity that carried something.
        fca_slots: u64,
        /// Slots on request that passed with nothing to send, or in an outage.
        unused_slots: u64,
        /// Packets sent.
        sent_packets: u64,
        /// Mean time from the arrival of a packet at the queue to the end of its last slot, in
        /// milliseconds.
        mean_access_delay_ms: f64,
        /// The longest of these times.
        max_access_delay_ms: f64,
    }
}

extra_table! {
    /// Samples of demand assignment, at the times of the series of links.
    pub(crate) Samples("demand_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Slots requested since the start.
        requested_slots: u64,
        /// Slots that carried something, since the start.
        used_slots: u64,
        /// Slots on request that passed with nothing to send, or in an outage, since the start.
        unused_slots: u64,
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
            let Some(demand) = port.counters.demand else { continue };
            let DemandCounters { requested_slots, unused_slots, .. } = demand;
            samples.push(Sample {
                link,
                t_s: reports.at.as_secs_f64(),
                requested_slots,
                used_slots: demand.cra_slots + demand.vbdc_slots + demand.fca_slots,
                unused_slots,
            });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        let all = counted(
            scenario,
            reports.ports,
            |direction| direction.demand,
            |port| port.counters.demand,
        );
        for (link, direction, demand, counters) in all {
            // Without `..`, so that a new counter has to stand in the table.
            let DemandCounters {
                requests,
                requested_slots,
                cra_slots,
                vbdc_slots,
                fca_slots,
                unused_slots,
                sent_packets,
                access_delay,
                max_access_delay,
            } = counters;
            totals.push(Total {
                link,
                direction,
                demand: demand.name().to_owned(),
                requests,
                requested_slots,
                cra_slots,
                vbdc_slots,
                fca_slots,
                unused_slots,
                sent_packets,
                mean_access_delay_ms: access_delay.as_millis_f64() / (sent_packets.max(1) as f64),
                max_access_delay_ms: max_access_delay.as_millis_f64(),
            });
        }
        totals
    }
}
