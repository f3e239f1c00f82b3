//! Congestion control of ACKs: a table with one row for each leg of the flows that have it.

use recording::{ExtraTable, extra_table};
use scenario::Scenario;
use scenario::model::Flow;
use tcp::AckCounters;

use crate::hosts::Hosts;
use crate::transports::Connection;

use super::legs::of_senders;

extra_table! {
    /// Congestion control of ACKs (RFC 5690), as the ends that send data see it. Counters are sums
    /// over the connections of the leg.
    pub(super) AckRatios("ack_control") of AckRatio {
        /// Name of the flow.
        flow: String,
        /// Number of the leg, in the order in which the data passes; zero in flows that no gateway
        /// splits.
        [number] leg: u32,
        /// Segments for which the receiver sends an ACK at the end of the run: of the connection
        /// that was opened last.
        [measure] ratio: u32,
        /// The largest such number.
        [measure] ratio_max: u32,
        /// ACKs that were taken for lost.
        acks_missing: u64,
        /// ACKs that arrived with a mark.
        acks_marked: u64,
        /// How often the number was raised.
        increases: u64,
        /// Segments that carried it to the receiver.
        options: u64,
    }
}

/// The table; `None` if no flow asks for it.
pub(super) fn table(scenario: &Scenario, hosts: &Hosts<impl Connection>) -> Option<ExtraTable> {
    let has = |flow: &Flow| flow.transport.tcp().is_some_and(|config| config.ack_control);
    let rows = of_senders(scenario, hosts, has, |sum: &mut AckCounters, info| {
        // Without `..`, so that a new counter has to stand in the table.
        let Some(AckCounters { ratio, largest, missing, marked, increases, options }) =
            info.ack_control
        else {
            return;
        };
        sum.ratio = ratio;
        sum.largest = sum.largest.max(largest);
        sum.missing += missing;
        sum.marked += marked;
        sum.increases += increases;
        sum.options += options;
    });
    let mut table = AckRatios::default();
    for (flow, leg, sum) in rows {
        table.push(AckRatio {
            flow: flow.name.clone(),
            leg,
            ratio: sum.ratio,
            ratio_max: sum.largest,
            acks_missing: sum.missing,
            acks_marked: sum.marked,
            increases: sum.increases,
            options: sum.options,
        });
    }
    table.into_table().filled()
}
