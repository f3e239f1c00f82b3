//! Explicit loss notices: a table with one row for each leg of the flows that take them.

use recording::{ExtraTable, extra_table};
use scenario::Scenario;
use scenario::model::Flow;
use tcp::NoticeCounters;

use crate::hosts::Hosts;
use crate::transports::Connection;

use super::legs::of_senders;

extra_table! {
    /// Explicit loss notices, as the ends that send data see them: sums over the connections of the
    /// leg.
    pub(super) Notices("loss_notices") of Notice {
        /// Name of the flow.
        flow: String,
        /// Number of the leg, in the order in which the data passes; zero in flows that no gateway
        /// splits.
        [number] leg: u32,
        /// ACKs with a notice that have arrived.
        notices: u64,
        /// Recoveries that began without a reduction of the window.
        spared_recoveries: u64,
        /// Of these, recoveries that have reduced it later, for a loss without a notice.
        withdrawn_recoveries: u64,
    }
}

/// The table; `None` if no flow takes notices.
pub(super) fn table(scenario: &Scenario, hosts: &Hosts<impl Connection>) -> Option<ExtraTable> {
    let has = |flow: &Flow| flow.transport.tcp().is_some_and(|config| config.eln);
    let rows = of_senders(scenario, hosts, has, |sum: &mut NoticeCounters, info| {
        // Without `..`, so that a new counter has to stand in the table.
        let NoticeCounters { notices, spared, withdrawn } = info.loss_notices.unwrap_or_default();
        sum.notices += notices;
        sum.spared += spared;
        sum.withdrawn += withdrawn;
    });
    let mut table = Notices::default();
    for (flow, leg, sum) in rows {
        table.push(Notice {
            flow: flow.name.clone(),
            leg,
            notices: sum.notices,
            spared_recoveries: sum.spared,
            withdrawn_recoveries: sum.withdrawn,
        });
    }
    table.into_table().filled()
}
