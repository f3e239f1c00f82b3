//! The table of the legs of flows that gateways split: one row for each leg, and what each gateway holds.
//!
//! Columns are named as those of flows where they have the same meaning. A row is the sum over the
//! connections of its leg, with the RTT and the window of the connection that was opened last.

use recording::{ExtraTable, extra_table};
use scenario::Scenario;

extra_table! {
    /// Legs of flows.
    pub(crate) Legs("legs") of LegRow {
        /// Name of the flow.
        flow: String,
        /// Number of the leg, in the order in which the data passes.
        leg: u32,
        /// Node that sends the data.
        from: String,
        /// Node that receives the data.
        to: String,
        /// Protocol of its connections.
        protocol: String,
        /// Controller of the end that sends the data.
        controller: String,
        /// Provenance of that controller.
        controller_status: String,
        /// Loss recovery of that end. Empty for QUIC, which has its own.
        recovery: String,
        /// Number of connections.
        connections: u32,
        /// Number of connections that ended before their time.
        connections_aborted: u32,
        /// Bytes that have arrived in order at the end that receives the data.
        bytes: u64,
        /// Segments that the end that sends the data has sent.
        segments_sent: u64,
        /// Segments that it retransmitted.
        segments_retransmitted: u64,
        /// Probes that it sent.
        probes_sent: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Fast recoveries.
        fast_recoveries: u64,
        /// Smoothed RTT of the end that sends the data, in milliseconds.
        srtt_ms: f64,
        /// Smallest RTT sample of that end, in milliseconds.
        min_rtt_ms: f64,
        /// Its congestion window in bytes.
        cwnd_bytes: u64,
        /// Bytes of data that the gateway at the end of the leg had acknowledged, and that the next leg had
        /// not yet delivered at the end of the run. Zero on the last leg.
        held_bytes: u64,
        /// The same bytes of connections that ended before their time: they are lost.
        discarded_bytes: u64,
    }
}

/// Totals of a leg, over its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LegTotals {
    /// Number of connections.
    pub connections: u32,
    /// Number of connections that ended before their time.
    pub aborted: u32,
    /// Bytes that have arrived at the end that receives the data.
    pub bytes: u64,
    /// Segments that the end that sends the data has sent.
    pub segments: u64,
    /// Segments that it retransmitted.
    pub retransmitted: u64,
    /// Probes that it sent.
    pub probes: u64,
    /// Its retransmission timeouts.
    pub timeouts: u64,
    /// Its fast recoveries.
    pub fast_recoveries: u64,
    /// Smoothed RTT of its last connection, in milliseconds.
    pub srtt_ms: Option<f64>,
    /// Smallest RTT sample of its last connection, in milliseconds.
    pub min_rtt_ms: Option<f64>,
    /// Congestion window of its last connection in bytes.
    pub cwnd: u64,
    /// Bytes at the gateway at the end of the leg.
    pub held: u64,
    /// Bytes that were lost there.
    pub discarded: u64,
}

/// The table of legs, from the totals of all legs of each flow that a gateway splits; `None` without such
/// flows. `status` is the provenance of all controllers, if it is not that of the simulator's.
pub fn legs_table(
    scenario: &Scenario,
    totals: &[Vec<LegTotals>],
    status: Option<&str>,
) -> Option<ExtraTable> {
    let mut table = Legs::default();
    for (flow, totals) in scenario.flows.iter().zip(totals) {
        for (number, (leg, totals)) in (0..).zip(crate::legs(flow).iter().zip(totals)) {
            let node = |node: network::NodeId| scenario.nodes[usize::from(node.0)].name.clone();
            let [sender, _] = leg.ends;
            let protocol = sender.transport.protocol();
            let known = sender.transport.controller_status(sender.controller);
            table.push(LegRow {
                flow: flow.name.clone(),
                leg: number,
                from: node(leg.from),
                to: node(leg.to),
                protocol: protocol.name().to_owned(),
                controller: sender.controller.entry().name.to_owned(),
                controller_status: status.map_or(known.to_string(), str::to_owned),
                recovery: sender.transport.recovery().to_owned(),
                connections: totals.connections,
                connections_aborted: totals.aborted,
                bytes: totals.bytes,
                segments_sent: totals.segments,
                segments_retransmitted: totals.retransmitted,
                probes_sent: totals.probes,
                timeouts: totals.timeouts,
                fast_recoveries: totals.fast_recoveries,
                srtt_ms: totals.srtt_ms.unwrap_or(f64::NAN),
                min_rtt_ms: totals.min_rtt_ms.unwrap_or(f64::NAN),
                cwnd_bytes: totals.cwnd,
                held_bytes: totals.held,
                discarded_bytes: totals.discarded,
            });
        }
    }
    table.into_table().filled()
}
