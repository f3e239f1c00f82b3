//! The legs of flows that gateways split: totals of their connections, and what each gateway holds.

use recording::ExtraTable;
use runtime::{LegTotals, Side};
use scenario::Scenario;
use scenario::model::Flow;
use tcp::Info;
use units::Span;

use crate::hosts::Hosts;
use crate::transports::Connection;

/// The table of legs; `None` if no flow is split.
pub(super) fn table(scenario: &Scenario, hosts: &Hosts<impl Connection>) -> Option<ExtraTable> {
    if hosts.splits.is_empty() {
        return None;
    }
    let legs = |flow: &Flow| match flow.gateways.len() {
        0 => Vec::new(),
        gateways => vec![LegTotals::default(); gateways + 1],
    };
    let mut totals: Vec<_> = scenario.flows.iter().map(legs).collect();
    for (number, end) in hosts.ends.iter() {
        let Some(leg) = totals[end.flow.0 as usize].get_mut(usize::from(end.leg)) else { continue };
        let connection = hosts.connection(number);
        match end.side {
            Side::Sender => add_sender(leg, connection, hosts.connection(end.peer)),
            Side::Receiver => leg.bytes += connection.delivered() + connection.unread(),
        }
    }
    for split in &hosts.splits {
        let end = hosts.ends.get(split.ends()[0]);
        let leg = &mut totals[end.flow.0 as usize][usize::from(end.leg)];
        if let [Some(first), Some(last)] = split.ends().map(|end| hosts.connection(end).tcp()) {
            leg.held += split.held([first, last])[0];
        }
        leg.discarded += split.discarded()[0];
    }
    runtime::legs_table(scenario, &totals, None)
}

/// A value for each leg of each flow, to which `add` adds what the data senders know: flow, leg and value.
pub(super) fn of_senders<'a, T: Clone + Default>(
    scenario: &'a Scenario,
    hosts: &Hosts<impl Connection>,
    mut add: impl FnMut(&mut T, &Info),
) -> impl Iterator<Item = (&'a Flow, u32, T)> {
    let legs = |flow: &Flow| vec![T::default(); flow.gateways.len() + 1];
    let mut rows: Vec<_> = scenario.flows.iter().map(legs).collect();
    for (number, end) in hosts.ends.iter().filter(|(_, end)| end.side == Side::Sender) {
        let row = &mut rows[end.flow.0 as usize][usize::from(end.leg)];
        if let Some(connection) = hosts.connection(number).tcp() {
            add(row, &connection.info());
        }
    }
    let flows = scenario.flows.iter().zip(rows);
    flows.flat_map(|(flow, legs)| (0..).zip(legs).map(move |(leg, value)| (flow, leg, value)))
}

fn add_sender<C: Connection>(leg: &mut LegTotals, sender: &C, receiver: &C) {
    leg.connections += 1;
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
