//! The legs of flows that gateways split: a table with one row for each leg, and what each gateway holds.
//!
//! Columns are named as those of flows where they have the same meaning. A row is the sum over the
//! connections of its leg, with the RTT and the window of the connection that was opened last.

use recording::{ExtraTable, extra_table};
use scenario::Scenario;
use scenario::model::Flow;
use tcp::Connection as Tcp;
use transport::{Endpoint as _, Sample};
use units::Span;

use crate::hosts::Hosts;
use crate::transports::Connection;
use runtime::{Leg, Side};

extra_table! {
    /// Legs of flows.
    Legs("legs") of LegRow {
        /// Name of the flow.
        flow: String,
        /// Number of the leg, in the order in which the data passes.
        leg: u32,
        /// Node that sends the data.
        from: String,
        /// Node that receives the data.
        to: String,
        /// Controller of the end that sends the data.
        controller: String,
        /// Provenance of that controller.
        controller_status: String,
        /// Loss recovery of that end.
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

/// Sums over the connections of a leg.
#[derive(Clone, Debug, Default)]
struct Totals {
    last: Option<Sample>,
    connections: u32,
    aborted: u32,
    bytes: u64,
    sent: transport::Counters,
    held: u64,
    discarded: u64,
}

/// The table of legs; `None` if no flow is split.
pub(super) fn table(scenario: &Scenario, hosts: &Hosts) -> Option<ExtraTable> {
    if hosts.splits.is_empty() {
        return None;
    }
    let legs = |flow: &Flow| match flow.gateways.len() {
        0 => Vec::new(),
        gateways => vec![Totals::default(); gateways + 1],
    };
    let mut totals: Vec<_> = scenario.flows.iter().map(legs).collect();
    for (number, end) in hosts.ends.iter() {
        let Some(leg) = totals[end.flow.0 as usize].get_mut(usize::from(end.leg)) else { continue };
        let connection = hosts.connection(number);
        match end.side {
            Side::Sender => leg.add_sender(connection, hosts.connection(end.peer)),
            Side::Receiver => {
                let Connection::Tcp(receiver) = connection;
                leg.bytes += receiver.delivered() + receiver.unread();
            }
        }
    }
    for split in &hosts.splits {
        let end = hosts.ends.get(split.ends()[0]);
        let leg = &mut totals[end.flow.0 as usize][usize::from(end.leg)];
        leg.held += split.held(split.ends().map(|end| tcp(hosts, end)))[0];
        leg.discarded += split.discarded()[0];
    }
    let mut table = Legs::default();
    for (flow, totals) in scenario.flows.iter().zip(totals) {
        for (number, (leg, totals)) in (0..).zip(runtime::legs(flow).iter().zip(totals)) {
            table.push(row(scenario, flow, number, leg, totals));
        }
    }
    table.into_table().filled()
}

fn tcp(hosts: &Hosts, end: runtime::EndpointId) -> &Tcp {
    let Connection::Tcp(connection) = hosts.connection(end);
    connection
}

impl Totals {
    fn add_sender(&mut self, sender: &Connection, receiver: &Connection) {
        self.connections += 1;
        let is_aborted = sender.abort_cause().or(receiver.abort_cause()).is_some();
        self.aborted += u32::from(is_aborted);
        let sent = sender.counters();
        self.sent.segments += sent.segments;
        self.sent.retransmissions += sent.retransmissions;
        self.sent.timeouts += sent.timeouts;
        self.sent.fast_recoveries += sent.fast_recoveries;
        self.sent.probes += sent.probes;
        self.last = Some(sender.sample());
    }
}

fn row(scenario: &Scenario, flow: &Flow, number: u32, leg: &Leg<'_>, totals: Totals) -> LegRow {
    let node = |node: network::NodeId| scenario.nodes[usize::from(node.0)].name.clone();
    let [sender, _] = leg.ends;
    let known = sender.controller.entry();
    let milliseconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_millis_f64);
    let Totals { last, connections, aborted, bytes, sent, held, discarded } = totals;
    LegRow {
        flow: flow.name.clone(),
        leg: number,
        from: node(leg.from),
        to: node(leg.to),
        controller: known.name.to_owned(),
        controller_status: known.status.to_string(),
        recovery: sender.transport.recovery.name().to_owned(),
        connections,
        connections_aborted: aborted,
        bytes,
        segments_sent: sent.segments,
        segments_retransmitted: sent.retransmissions,
        probes_sent: sent.probes,
        timeouts: sent.timeouts.into(),
        fast_recoveries: sent.fast_recoveries.into(),
        srtt_ms: milliseconds(last.and_then(|last| last.srtt)),
        min_rtt_ms: milliseconds(last.and_then(|last| last.min_rtt)),
        cwnd_bytes: last.map_or(0, |last| last.cwnd),
        held_bytes: held,
        discarded_bytes: discarded,
    }
}
