//! The legs of flows that gateways split: totals of their connections, and what each gateway holds.
//! A second table has what became of the connections at each gateway.

use middlebox::Admitted;
use recording::{ExtraTable, extra_table};
use runtime::{LegTotals, LimitSeries, Side};
use scenario::Scenario;
use scenario::model::Flow;
use tcp::Info;
use units::{Span, Time};

use crate::hosts::{Hosts, read_by_peer};
use crate::transports::Connection;

extra_table! {
    /// Connections at each split proxy, by their outcome.
    pub(super) Proxies("proxies") of ProxyRow {
        /// Name of the node.
        node: String,
        /// Connections that were split and accepted before the server was asked.
        early_connections: u64,
        /// Connections that were split and accepted after the server had accepted, or not at all.
        late_connections: u64,
        /// Split connections whose server could not be reached.
        failed_connections: u64,
        /// Connections that crossed unsplit because of the limit.
        passed_connections: u64,
        /// Connections that were reset because of the limit.
        refused_connections: u64,
        /// Maximum number of split connections at the same time.
        max_open_connections: u64,
    }
}

/// The table of split proxies; `None` without any.
pub(super) fn proxies(scenario: &Scenario, hosts: &Hosts<impl Connection>) -> Option<ExtraTable> {
    let mut table = Proxies::default();
    for (node, admission) in scenario.nodes.iter().zip(&hosts.admissions) {
        if node.proxy.is_none() {
            continue;
        }
        let Admitted { early, late, passed, refused, failed, max_open } = admission.admitted();
        table.push(ProxyRow {
            node: node.name.clone(),
            early_connections: early,
            late_connections: late,
            failed_connections: failed,
            passed_connections: passed,
            refused_connections: refused,
            max_open_connections: max_open.into(),
        });
    }
    table.into_table().filled()
}

extra_table! {
    /// Legs over time.
    pub(super) Series("legs_series") of SeriesRow {
        /// Number of the flow.
        flow: u32,
        /// Number of the leg, in the order in which the data passes.
        leg: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Bytes that have arrived in order at the end that receives the data.
        bytes: u64,
        /// Congestion window of the end that sends the data, in bytes: of the connection that was
        /// opened last.
        cwnd_bytes: u64,
        /// Its smoothed RTT in milliseconds; NaN before the first sample.
        srtt_ms: f64,
        /// Segments that were retransmitted since the start.
        segments_retransmitted: u64,
        /// Bytes of data at the gateway at the end of the leg: acknowledged there, and not by the
        /// next leg.
        held_bytes: u64,
    }
}

/// Samples of the legs of a run.
#[derive(Default)]
pub(super) struct Sampler {
    /// Number of legs of each flow; zero if no gateway splits it.
    legs: Vec<usize>,
    series: Series,
}

impl Sampler {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self { legs: legs(scenario), series: Series::default() }
    }

    /// Adds a row for each leg that has had a connection, here and to `limits`.
    pub(super) fn sample(
        &mut self,
        at: Time,
        hosts: &Hosts<impl Connection>,
        limits: &mut LimitSeries,
    ) {
        if hosts.splits.is_empty() {
            return;
        }
        for (flow, legs) in (0..).zip(totals(&self.legs, hosts, at)) {
            for (leg, totals) in (0..).zip(legs).filter(|(_, totals)| totals.connections > 0) {
                limits.push(at, flow as usize, leg, totals.limits);
                self.series.push(SeriesRow {
                    flow,
                    leg,
                    t_s: at.as_secs_f64(),
                    bytes: totals.bytes,
                    cwnd_bytes: totals.cwnd,
                    srtt_ms: totals.srtt_ms.unwrap_or(f64::NAN),
                    segments_retransmitted: totals.retransmitted,
                    held_bytes: totals.held,
                });
            }
        }
    }

    pub(super) fn into_table(self) -> Option<ExtraTable> {
        self.series.into_table().filled()
    }
}

/// The table of legs; `None` if no flow is split.
pub(super) fn table(
    scenario: &Scenario,
    hosts: &Hosts<impl Connection>,
    end: Time,
) -> Option<ExtraTable> {
    if hosts.splits.is_empty() {
        return None;
    }
    runtime::legs_table(scenario, &totals(&legs(scenario), hosts, end), None)
}

/// The number of legs of each flow; zero if no gateway splits it.
fn legs(scenario: &Scenario) -> Vec<usize> {
    let of = |flow: &Flow| match flow.gateways.len() {
        0 => 0,
        gateways => gateways + 1,
    };
    scenario.flows.iter().map(of).collect()
}

/// The totals of the legs of each flow at `at`, which has this number of legs.
fn totals(legs: &[usize], hosts: &Hosts<impl Connection>, at: Time) -> Vec<Vec<LegTotals>> {
    let mut totals: Vec<_> = legs.iter().map(|legs| vec![LegTotals::default(); *legs]).collect();
    for (number, end) in hosts.ends.iter() {
        let Some(leg) = totals[end.flow.0 as usize].get_mut(usize::from(end.leg)) else { continue };
        let connection = &hosts.endpoints[number.index()].connection;
        match end.side {
            Side::Sender => {
                let peer = &hosts.endpoints[end.peer.index()].connection;
                add_sender(leg, connection, peer, at);
            }
            Side::Receiver => leg.bytes += connection.delivered() + connection.unread(),
        }
    }
    for split in hosts.splits.iter().filter(|split| !split.is_passed()) {
        let end = hosts.ends.get(split.ends()[0]);
        // None if a gateway before it lets the connection pass.
        let Some(leg) = totals[end.flow.0 as usize].get_mut(usize::from(end.leg)) else { continue };
        let ends = split.ends().map(|end| &hosts.endpoints[end.index()].connection);
        let read = split.ends().map(|end| read_by_peer(&hosts.endpoints, end));
        leg.held += split.held(ends, read)[0];
        leg.discarded += split.discarded()[0];
    }
    totals
}

/// A value for each leg of the flows that have one, to which `add` adds what the data senders know:
/// flow, leg and value.
pub(super) fn of_senders<'a, T: Clone + Default>(
    scenario: &'a Scenario,
    hosts: &Hosts<impl Connection>,
    has: impl Fn(&Flow) -> bool,
    mut add: impl FnMut(&mut T, &Info),
) -> impl Iterator<Item = (&'a Flow, u32, T)> {
    let legs = |flow: &Flow| match has(flow) {
        true => vec![T::default(); flow.gateways.len() + 1],
        false => Vec::new(),
    };
    let is_empty = !scenario.flows.iter().any(&has);
    let flows = if is_empty { &[][..] } else { &scenario.flows };
    let mut rows: Vec<_> = flows.iter().map(legs).collect();
    let ends = hosts.ends.iter().filter(|_| !is_empty);
    for (number, end) in ends.filter(|(_, end)| end.side == Side::Sender) {
        // None of a connection that crosses a gateway unsplit.
        let row = rows[end.flow.0 as usize].get_mut(usize::from(end.leg));
        let connection = hosts.endpoints[number.index()].connection.tcp();
        if let (Some(row), Some(connection)) = (row, connection) {
            add(row, &connection.info());
        }
    }
    flows
        .iter()
        .zip(rows)
        .flat_map(|(flow, legs)| (0..).zip(legs).map(move |(leg, value)| (flow, leg, value)))
}

fn add_sender<C: Connection>(leg: &mut LegTotals, sender: &C, receiver: &C, at: Time) {
    leg.connections += 1;
    leg.add_limits(sender.limits(at));
    let is_aborted = sender.abort_cause().or(receiver.abort_cause()).is_some();
    leg.aborted += u32::from(is_aborted);
    let sent = sender.counters();
    leg.segments += sent.segments;
    leg.retransmitted += sent.retransmissions;
    leg.timeouts += u64::from(sent.timeouts);
    leg.fast_recoveries += u64::from(sent.fast_recoveries);
    leg.probes += sent.probes;
    let last = sender.sample();
    leg.srtt_ms = last.srtt.map(Span::as_millis_f64);
    leg.min_rtt_ms = last.min_rtt.map(Span::as_millis_f64);
    leg.cwnd = last.cwnd;
}
