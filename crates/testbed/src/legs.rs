//! The legs of flows that gateways split: totals of their connections.
//!
//! The kernel counts a FIN as a byte, and the SYN of a connection that it opens. What has arrived
//! of a stream is never more than what its leg was given, which takes the FIN away again.

use std::net::SocketAddr;

use recording::ExtraTable;
use runtime::{Application, LegTotals, Side};
use scenario::Scenario;
use scenario::model::{Flow, Gateway};
use transport::Counters;

use crate::sockets::{Endpoint, Sockets};
use crate::watch::{Seen, Watch};

/// Status of controllers in this backend.
pub(crate) const STATUS: &str = "kernel";

/// The gateways of a run, by the numbers of their nodes.
pub(crate) type Watches = Vec<(usize, Watch)>;

/// The table of legs; `None` if no flow is split.
pub(crate) fn table(
    scenario: &Scenario,
    applications: &[Application],
    sockets: &Sockets<'_>,
    watches: &Watches,
) -> Option<ExtraTable> {
    if watches.is_empty() {
        return None;
    }
    let flows = scenario.flows.iter().zip(applications);
    let totals: Vec<_> = flows
        .map(|(flow, application)| match flow.gateways.len() {
            0 => Vec::new(),
            _ => of_flow(flow, application, sockets, watches),
        })
        .collect();
    runtime::legs_table(scenario, &totals, Some(STATUS))
}

fn of_flow(
    flow: &Flow,
    application: &Application,
    sockets: &Sockets<'_>,
    watches: &Watches,
) -> Vec<LegTotals> {
    let mut totals = vec![LegTotals::default(); flow.gateways.len() + 1];
    // A gateway opens the connection to the end that listens.
    let syn = match runtime::legs(flow)[0].opener {
        Side::Sender => 1,
        Side::Receiver => 0,
    };
    for pair in application.pairs() {
        let host = |side: Side| &sockets.endpoints[pair.end(side).index()];
        let (sender, receiver) = (host(Side::Sender), host(Side::Receiver));
        let has_failed = sender.has_failed() || receiver.has_failed();
        // Addresses of the hosts, in the order of the data.
        let ends = [Side::Sender, Side::Receiver].map(|side| sockets.address(pair.end(side)));
        let gateways: Vec<_> =
            flow.gateways.iter().map(|gateway| at_gateway(gateway, ends, watches)).collect();
        // Bytes that the leg was given.
        let mut given = sender.written();
        for (number, leg) in totals.iter_mut().enumerate() {
            let start = match number {
                0 => of_host(sender),
                _ => gateways[number - 1][1],
            };
            let (received, acknowledged) = match gateways.get(number) {
                Some([end, next]) => (end.info.bytes_received, next.info.bytes_acked),
                None => (receiver.received, u64::MAX),
            };
            let bytes = received.min(given);
            let held = bytes - acknowledged.saturating_sub(syn).min(bytes);
            let info = &start.info;
            leg.connections += 1;
            leg.add_limits(info.limits());
            leg.aborted += u32::from(has_failed);
            leg.bytes += bytes;
            leg.segments += u64::from(info.data_segments_sent);
            leg.retransmitted += u64::from(info.retransmitted_segments);
            leg.timeouts += u64::from(info.timeouts);
            leg.fast_recoveries += start.recoveries;
            leg.srtt_ms = info.srtt_ms();
            leg.min_rtt_ms = info.min_rtt_ms();
            leg.cwnd = info.cwnd_bytes();
            *if has_failed { &mut leg.discarded } else { &mut leg.held } += held;
            given = bytes;
        }
    }
    totals
}

/// The counts of the legs of a flow beyond the first, and the most bytes that one of them has sent;
/// `None` if no gateway has split a connection.
pub(crate) fn beyond_the_first(
    flow: &Flow,
    application: &Application,
    sockets: &Sockets<'_>,
    watches: &Watches,
) -> Option<Counters> {
    let mut all = Counters::default();
    for pair in application.pairs() {
        let ends = [Side::Sender, Side::Receiver].map(|side| sockets.address(pair.end(side)));
        let mut most = 0;
        for gateway in flow.gateways.iter() {
            let [_, Seen { info, recoveries }] = at_gateway(gateway, ends, watches);
            let sent = info.counters(recoveries);
            all += Counters { bytes: 0, ..sent };
            most = most.max(sent.bytes);
        }
        all.bytes += most;
    }
    (all.segments > 0).then_some(all)
}

fn of_host(endpoint: &Endpoint) -> Seen {
    Seen { info: endpoint.info, recoveries: endpoint.recoveries }
}

/// The ends of a connection at a gateway: towards the sender of the data, and towards its receiver.
fn at_gateway(gateway: &Gateway, hosts: [Option<SocketAddr>; 2], watches: &Watches) -> [Seen; 2] {
    let watch = watches.iter().find(|(node, _)| *node == gateway.node).map(|(_, watch)| watch);
    let (Some(watch), [Some(sender), Some(receiver)]) = (watch, hosts) else {
        return [Seen::default(); 2];
    };
    // A proxy has the address of the host beyond it. One that was not split has no sockets.
    [(receiver, sender), (sender, receiver)]
        .map(|ends| watch.of(&ends).copied().unwrap_or_default())
}
