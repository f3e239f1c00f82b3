//! The table of the legs of flows that gateways split: one row for each leg, and what each gateway
//! holds.
//!
//! Columns are named as those of flows where they have the same meaning. A row is the sum over the
//! connections of its leg, with the RTT and the window of the connection that was opened last.

use recording::{ExtraTable, extra_table};
use scenario::Scenario;
use transport::{Limit, Limits};

extra_table! {
    /// Legs of flows.
    pub(crate) Legs("legs") of LegRow {
        /// Name of the flow.
        flow: String,
        /// Number of the leg, in the order in which the data passes.
        [number] leg: u32,
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
        [measure] cwnd_bytes: u64,
        /// Bytes of data that the gateway at the end of the leg had acknowledged, and that the next
        /// leg had not yet delivered at the end of the run. Zero on the last leg.
        held_bytes: u64,
        /// The same bytes of connections that ended before their time: they are lost.
        discarded_bytes: u64,
        /// Time in seconds of which the columns `limited_by_...` are shares, as of flows.
        limited_s: f64,
        /// Share of it that was limited by the set-up of its connections; from 0 to 1.
        limited_by_set_up: f64,
        /// Share of it that was limited by the congestion window of the data sender; from 0 to 1.
        limited_by_congestion_window: f64,
        /// Share of it that was limited by the window of the receiver; from 0 to 1.
        limited_by_receive_window: f64,
        /// Share of it that was limited by the send buffer; from 0 to 1.
        limited_by_send_buffer: f64,
        /// Share of it that was limited by the application; from 0 to 1.
        limited_by_application: f64,
        /// Share of it that was limited by repairs of losses; from 0 to 1.
        limited_by_recovery: f64,
        /// Share of it that was limited by departure times; from 0 to 1.
        limited_by_pacing: f64,
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
    /// Time of its senders by what held them back, if they measure it.
    pub limits: Option<Limits>,
}

impl LegTotals {
    /// Adds the times of another connection, which it has counted.
    pub fn add_limits(&mut self, limits: Option<Limits>) {
        self.limits =
            if self.connections > 1 { Limits::sum([self.limits, limits]) } else { limits };
    }
}

/// The table of legs, from the totals of all legs of each flow that a gateway splits; `None`
/// without such flows. `status` is the provenance of all controllers, if it is not that of the
/// simulator's.
pub fn legs_table(
    scenario: &Scenario,
    totals: &[Vec<LegTotals>],
    status: Option<&str>,
) -> Option<ExtraTable> {
    let mut table = Legs::default();
    for (flow, totals) in scenario.flows.iter().zip(totals) {
        for (number, (leg, totals)) in (0..).zip(crate::legs(flow).iter().zip(totals)) {
            let node = |node: network::NodeId, is_host: bool| {
                let name = scenario.nodes[usize::from(node.0)].name.clone();
                // The host behind a terminal has its number.
                if is_host && leg.from == leg.to { format!("host of {name}") } else { name }
            };
            let [sender, _] = leg.ends;
            let protocol = sender.transport.protocol();
            let known = sender.transport.controller_status(sender.controller);
            let limits = totals.limits;
            let share = |limit| limits.and_then(|limits| limits.share(limit)).unwrap_or(f64::NAN);
            table.push(LegRow {
                flow: flow.name.clone(),
                leg: number,
                from: node(leg.from, number == 0),
                to: node(leg.to, number > 0),
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
                limited_s: limits.map_or(f64::NAN, |limits| limits.total().as_secs_f64()),
                limited_by_set_up: share(Limit::SetUp),
                limited_by_congestion_window: share(Limit::CongestionWindow),
                limited_by_receive_window: share(Limit::ReceiveWindow),
                limited_by_send_buffer: share(Limit::SendBuffer),
                limited_by_application: share(Limit::Application),
                limited_by_recovery: share(Limit::Recovery),
                limited_by_pacing: share(Limit::Pacing),
            });
        }
    }
    table.into_table().filled()
}
