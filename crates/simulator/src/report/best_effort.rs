//! Data that best-effort transport gave up and skipped: a table with one row for each flow that has
//! it.

use recording::{ExtraTable, extra_table};
use runtime::Application;
use scenario::Scenario;
use tcp::BestEffortCounters;

use crate::hosts::Hosts;
use crate::transports::Connection;

extra_table! {
    /// Best-effort transport: sums over the connections of the flow, of the data and not of
    /// requests.
    pub(super) Losses("best_effort") of Loss {
        /// Name of the flow.
        flow: String,
        /// Bytes that the data sender has given up. Some of them may have arrived.
        given_up_bytes: u64,
        /// Holes that they make in the stream.
        given_up_holes: u64,
        /// Bytes that the receiver has passed over: the application does not have them.
        skipped_bytes: u64,
        /// Holes that they make in the stream.
        skipped_holes: u64,
    }
}

/// The table; `None` if no flow has best-effort transport.
pub(super) fn table(
    scenario: &Scenario,
    hosts: &Hosts<impl Connection>,
    applications: &[Application],
) -> Option<ExtraTable> {
    let mut table = Losses::default();
    let flows = scenario.flows.iter().zip(applications);
    for (flow, application) in flows.filter(|(flow, _)| flow.is_best_effort()) {
        let mut sum = BestEffortCounters::default();
        for pair in application.pairs() {
            let ends = [pair.sender, pair.receiver].map(|end| hosts.connection(end).tcp());
            let [Some(sender), Some(receiver)] = ends else { continue };
            let counts = |end: &tcp::Connection| end.info().best_effort.unwrap_or_default();
            let (sent, received) = (counts(sender), counts(receiver));
            sum.given_up_bytes += sent.given_up_bytes;
            sum.given_up_holes += sent.given_up_holes;
            sum.skipped_bytes += received.skipped_bytes;
            sum.skipped_holes += received.skipped_holes;
        }
        table.push(Loss {
            flow: flow.name.clone(),
            given_up_bytes: sum.given_up_bytes,
            given_up_holes: sum.given_up_holes,
            skipped_bytes: sum.skipped_bytes,
            skipped_holes: sum.skipped_holes,
        });
    }
    table.into_table().filled()
}

/// Bytes of the data of a flow that its receivers have passed over.
pub(super) fn skipped(application: &Application, hosts: &Hosts<impl Connection>) -> u64 {
    let receivers = application.pairs().iter().map(|pair| hosts.connection(pair.receiver).tcp());
    receivers.flatten().map(|end| end.left_out().skipped()).sum()
}
