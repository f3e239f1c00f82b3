//! Split proxies: which flows they split, what round trip and BDP become on each leg, and where a
//! split does not help.

use std::ops::Range;
use std::sync::Arc;

use congestion::Specification;
use serde::Serialize;

use super::figures::{Figures, Limit, Load};
use super::middlebox;
use super::scps;
use super::text::milliseconds;
use super::warnings::WarningKind as Kind;
use super::{FlowExplanation, NodeExplanation};
use scenario::model::{
    BucketSettings, Flow, FlowSettings, Gateway, GatewayEnd, Node, Preset, Proxy, Scenario,
    SideName, Transport,
};
use scenario::{Routes, Written};

/// A split proxy at a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProxyExplanation {
    /// Its preset, if it has one.
    pub preset: Option<&'static str>,
    /// Neighbours on the side that is not the satellite's.
    pub terrestrial: Vec<String>,
    /// Neighbours on the side of the satellite.
    pub satellite: Vec<String>,
    /// Flows whose connections it splits.
    pub splits: Vec<String>,
    /// Flows that cross it from one side to the other unsplit, because of their protocol.
    pub unsplit: Vec<String>,
    /// Flows that cross it unsplit, because a tunnel hides them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// When clients are accepted: "early", "late" or "early-if-known".
    pub accept: &'static str,
    /// Maximum number of split connections at the same time; `None` without a limit.
    pub connections: Option<u32>,
    /// The most that the relay holds for one direction of a connection, in bytes.
    pub relay_buffer_bytes: u64,
    /// The rate that connections on the terrestrial side share, if there is one.
    pub terrestrial_rate: Option<RateExplanation>,
    /// The rate that connections on the satellite side share, if there is one.
    pub satellite_rate: Option<RateExplanation>,
}

/// A rate that all connections on a side of a gateway share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateExplanation {
    /// Rate in bit/s of IP packets.
    pub rate_bps: f64,
    /// Size of its token bucket in bytes.
    pub burst_bytes: u64,
}

/// A leg of a flow that gateways split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LegExplanation {
    /// The node that sends the data.
    pub from: String,
    /// The node that receives the data.
    pub to: String,
    /// Transport protocol of its connections.
    pub protocol: &'static str,
    /// Controller of the end that sends the data.
    pub controller: &'static str,
    /// Loss recovery of that end.
    pub recovery: &'static str,
    /// Propagation delay there and back, in milliseconds.
    pub propagation_rtt_ms: f64,
    /// The same with the serialisation of a full packet and its ACK.
    pub base_rtt_ms: f64,
    /// The slowest place on the way of the data.
    pub bottleneck: String,
    /// Its rate in bit/s of IP packets.
    pub bottleneck_bps: f64,
    /// Bandwidth-delay product (BDP) in bytes of IP packets.
    pub bdp_bytes: f64,
    /// The largest window: the smaller one of receive and send buffer.
    pub window_bytes: u64,
    /// Payload rate that the window allows, in bit/s.
    pub window_limit_bps: f64,
    /// Probability that a full packet is corrupted, in clear sky.
    pub per: f64,
}

/// A leg as a flow of its own, with its figures.
pub(crate) struct Leg {
    pub flow: Flow,
    pub figures: Figures,
    /// Rates that the data shares with other connections, and that the ACKs share.
    limits: [Option<Limit>; 2],
}

/// The legs of a flow; empty if no gateway splits it.
pub(crate) fn legs(scenario: &Scenario, routes: &Routes, load: &Load, flow: &Flow) -> Vec<Leg> {
    if flow.gateways.is_empty() {
        return Vec::new();
    }
    let split_by = &flow.gateways;
    let gateway = |end: &GatewayEnd| (end.transport.clone(), end.controller.clone());
    let [sender, receiver] =
        flow.ends().map(|(transport, controller)| (transport.clone(), controller.clone()));
    let starts = flow.gateways.iter().map(|one| (one.node, gateway(&one.ends[1])));
    let ends = flow.gateways.iter().map(|one| (one.node, gateway(&one.ends[0])));
    let starts = [(flow.from, sender)].into_iter().chain(starts);
    let ends = ends.chain([(flow.to, receiver)]);
    let last = flow.gateways.len();
    type End = (usize, (Transport, Specification));
    let leg = |(number, (start, end)): (usize, (End, End))| {
        let ((from, (sender, controller)), (to, (receiver, _))) = (start, end);
        let transport = sender.towards(&receiver);
        let reader_rate = flow.reader_rate.filter(|_| number == last);
        let gateways = Arc::default();
        let settings = FlowSettings {
            controller,
            transport,
            reader_rate,
            ..FlowSettings::clone(&flow.settings)
        };
        let flow = Flow { from, to, gateways, settings: settings.into(), ..flow.clone() };
        let mut figures = Figures::of(scenario, routes, load, &flow);
        // What the gateways at the ends send: the data, and the ACKs.
        let sends = number.checked_sub(1).map(|gateway| &split_by[gateway]);
        let acknowledges = split_by.get(number);
        let of_data = sends.and_then(|one| {
            let shared = shared_rate(scenario, one.node, one.ends[1].side);
            let paced = pacing(scenario, one, figures.connections);
            [shared, paced].into_iter().flatten().min_by(|a, b| a.rate_bps.total_cmp(&b.rate_bps))
        });
        let of_acks =
            acknowledges.and_then(|one| shared_rate(scenario, one.node, one.ends[0].side));
        let [of_route, acks_of_route] = scps::limits(scenario, routes, &flow);
        // The hosts at both ends have routes, and gateways have rates of their sides.
        let limits = [
            of_data.or(of_route.filter(|_| number == 0)),
            of_acks.or(acks_of_route.filter(|_| number == last)),
        ];
        figures.limit(&limits);
        Leg { flow, figures, limits }
    };
    starts.zip(ends).enumerate().map(leg).collect()
}

/// The rate in bit/s that connections on a side of node number `node` share, and what it is called.
fn shared_rate(scenario: &Scenario, node: usize, side: SideName) -> Option<Limit> {
    let BucketSettings { rate, burst, .. } =
        scenario.nodes[node].proxy.as_ref()?.shared_rates[side.index()]?;
    let place = format!("{} ({} rate)", scenario.nodes[node].name, side.key());
    let rate_bps = rate.bits_per_second() as f64;
    Some(Limit { place, rate_bps, burst_bytes: burst.get() as f64 })
}

/// The rate in bit/s at which a gateway paces the data of a flow, and what it is called.
fn pacing(scenario: &Scenario, gateway: &Gateway, connections: u32) -> Option<Limit> {
    let GatewayEnd { side, pacing, .. } = &gateway.ends[1];
    let place = format!("{} ({} pacing)", scenario.nodes[gateway.node].name, side.key());
    let BucketSettings { rate, burst, .. } = (*pacing)?;
    let connections = f64::from(connections);
    let rate_bps = rate.bits_per_second() as f64 * connections;
    Some(Limit { place, rate_bps, burst_bytes: burst.get() as f64 * connections })
}

/// The figures of a flow whose legs are known: the tightest window is that of a leg, and rates that
/// connections share limit the whole flow.
pub(crate) fn whole(mut figures: Figures, legs: &[Leg]) -> Figures {
    legs.iter().for_each(|leg| figures.limit(&leg.limits));
    if !legs.is_empty() {
        figures.bounds = figures.bounds.of_legs(legs.iter().map(|leg| leg.figures.bounds));
    }
    let windows = legs.iter().map(|leg| &leg.figures);
    let tightest = windows.min_by(|a, b| a.window_limit_bps.total_cmp(&b.window_limit_bps));
    let Some(tightest) = tightest else { return figures };
    Figures {
        window_bytes: tightest.window_bytes,
        window_segments: tightest.window_segments,
        window_limit_bps: tightest.window_limit_bps,
        ..figures
    }
}

/// Explanations of the legs.
pub(crate) fn explain_legs(scenario: &Scenario, legs: &[Leg]) -> Vec<LegExplanation> {
    // The host behind a terminal has its number.
    let end = |flow: &Flow, node: usize, is_host: bool| match is_host && flow.from == flow.to {
        true => format!("host of {}", scenario.nodes[node].name),
        false => scenario.nodes[node].name.clone(),
    };
    let explain = |(number, Leg { flow, figures, limits: _ }): (usize, &Leg)| LegExplanation {
        from: end(flow, flow.from, number == 0),
        to: end(flow, flow.to, number > 0),
        protocol: flow.protocol().name(),
        controller: flow.controller.entry().name,
        recovery: flow.transport.recovery(),
        propagation_rtt_ms: figures.propagation_rtt_ms,
        base_rtt_ms: figures.base_rtt_ms,
        bottleneck: figures.bottleneck.clone(),
        bottleneck_bps: figures.bottleneck_bps,
        bdp_bytes: figures.bdp_bytes,
        window_bytes: figures.window_bytes,
        window_limit_bps: figures.window_limit_bps,
        per: figures.per,
    };
    legs.iter().enumerate().map(explain).collect()
}

/// The proxy of node number `node`.
pub(crate) fn explain(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
) -> Option<ProxyExplanation> {
    let proxy = scenario.nodes[node].proxy.as_ref()?;
    let splits = splits(flows, node).map(|(explanation, _)| explanation.name.clone()).collect();
    let is_hidden = |flow: &Flow| scenario.hides_from(routes, flow, node);
    let unsplit = flows.iter().filter(|(_, flow)| {
        let is_of_node = |one: usize| one == node;
        passes(scenario, routes, flow, is_of_node) && !is_hidden(flow)
    });
    let unsplit = unsplit.map(|(explanation, _)| explanation.name.clone()).collect();
    let hidden = flows.iter().filter(|(_, flow)| is_hidden(flow));
    let hidden = hidden.map(|(explanation, _)| explanation.name.clone()).collect();
    Some(of_proxy(scenario, proxy, [splits, unsplit, hidden]))
}

/// Returns true if a flow that is not of TCP crosses one of these proxies.
fn passes(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    is_one: impl Fn(usize) -> bool,
) -> bool {
    let crossed = || routes.crossed(flow.from, flow.to, scenario);
    !flow.transport.is_tcp() && crossed().iter().any(|(node, _)| is_one(*node))
}

/// Proxies and middleboxes in terminals: one node for neighbours of a group that have the same.
pub(crate) fn at_terminals(
    scenario: &Scenario,
    written: &Written,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
) -> Vec<NodeExplanation> {
    let groups = scenario.beams.iter().flat_map(|beam| &beam.groups);
    let nodes = groups.flat_map(|group| {
        let all = &scenario.nodes[group.terminals.clone()];
        let alike =
            |a: &Node, b: &Node| a.entry == b.entry && a.proxy.is_some() == b.proxy.is_some();
        let mut start = group.terminals.start;
        let runs = all.chunk_by(alike).map(move |run| {
            let nodes = start..start + run.len();
            start = nodes.end;
            (run, nodes)
        });
        runs.filter_map(move |(run, nodes)| {
            let (proxy, middlebox) = (run[0].proxy.as_ref(), run[0].middlebox);
            if proxy.is_none() && middlebox.is_none() {
                return None;
            }
            let name = match run {
                _ if nodes == group.terminals => group.name.clone(),
                [one] => one.name.clone(),
                [first, .., last] => format!("{} to {}", first.name, last.name),
                [] => return None,
            };
            Some((name, proxy, nodes))
        })
    });
    let explain = |(name, proxy, nodes): (String, Option<&Arc<Proxy>>, Range<usize>)| {
        let named = |is_wanted: &dyn Fn(&Flow) -> bool| -> Vec<String> {
            let all = scenario.flows.iter().zip(&written.entries);
            let mut entries: Vec<_> =
                all.filter(|(flow, _)| is_wanted(flow)).map(|(_, entry)| *entry).collect();
            entries.dedup();
            let listed: Vec<_> =
                written.entries.chunk_by(|a, b| a == b).map(|copies| copies[0]).collect();
            let explained = listed.iter().zip(flows).filter(|(entry, _)| entries.contains(entry));
            explained.map(|(_, (flow, _))| flow.name.clone()).collect()
        };
        let splits = named(&|flow| flow.gateways.iter().any(|one| nodes.contains(&one.node)));
        let is_hidden = |flow: &Flow| {
            let ends = [flow.from, flow.to].into_iter().filter(|end| nodes.contains(end));
            ends.into_iter().any(|end| scenario.hides_from(routes, flow, end))
        };
        let unsplit = named(&|flow| {
            passes(scenario, routes, flow, |node| nodes.contains(&node)) && !is_hidden(flow)
        });
        let hidden = named(&is_hidden);
        let proxy = proxy.map(|proxy| of_proxy(scenario, proxy, [splits, unsplit, hidden]));
        // The copies of flows at the first terminal stand for those at the others.
        let first = at_terminal(scenario, written, flows, nodes.start);
        let middlebox = middlebox::explain(scenario, routes, &first, nodes.start);
        NodeExplanation { name, forwarding: None, middlebox, proxy }
    };
    nodes.map(explain).collect()
}

/// The explained flows with their copies at a terminal.
pub(crate) fn at_terminal<'a>(
    scenario: &'a Scenario,
    written: &Written,
    flows: &[(FlowExplanation, &'a Flow)],
    terminal: usize,
) -> Vec<(FlowExplanation, &'a Flow)> {
    let all = scenario.flows.iter().zip(&written.entries);
    let mut own: Vec<(usize, &Flow)> = all
        .filter(|(flow, _)| [flow.from, flow.to].contains(&terminal))
        .map(|(flow, entry)| (*entry, flow))
        .collect();
    own.dedup_by_key(|(entry, _)| *entry);
    let entries = written.entries.chunk_by(|a, b| a == b).map(|copies| copies[0]);
    let explained: Vec<_> = entries.zip(flows).collect();
    let of = |(entry, flow): (usize, &'a Flow)| {
        let found = explained.iter().find(|(other, _)| *other == entry)?;
        Some((found.1.0.clone(), flow))
    };
    own.into_iter().filter_map(of).collect()
}

/// A proxy that splits flows, lets others pass, and does not see those in tunnels.
fn of_proxy(
    scenario: &Scenario,
    proxy: &Proxy,
    [splits, unsplit, hidden]: [Vec<String>; 3],
) -> ProxyExplanation {
    let names = |side: SideName| -> Vec<String> {
        let neighbours = &proxy.neighbours[side.index()];
        neighbours.iter().map(|one| one.name(scenario).to_owned()).collect()
    };
    let rate = |side: SideName| {
        let shared = proxy.shared_rates[side.index()]?;
        let rate_bps = shared.rate.bits_per_second() as f64;
        Some(RateExplanation { rate_bps, burst_bytes: shared.burst.get() })
    };
    ProxyExplanation {
        preset: proxy.preset.map(Preset::name),
        terrestrial: names(SideName::Terrestrial),
        satellite: names(SideName::Satellite),
        splits,
        unsplit,
        hidden,
        accept: proxy.policy.accept.name(),
        connections: proxy.policy.connections,
        relay_buffer_bytes: proxy.relay_buffer.get(),
        terrestrial_rate: rate(SideName::Terrestrial),
        satellite_rate: rate(SideName::Satellite),
    }
}

/// The flows that node number `node` splits.
fn splits<'a>(
    flows: &'a [(FlowExplanation, &'a Flow)],
    node: usize,
) -> impl Iterator<Item = &'a (FlowExplanation, &'a Flow)> {
    flows.iter().filter(move |(_, flow)| flow.gateways.iter().any(|one| one.node == node))
}

/// A leg with this share of the whole round trip is hardly shorter than the path.
const MOST_OF_THE_PATH: f64 = 0.9;

/// The warnings about the proxy of node number `node`.
pub(crate) fn warnings(
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
) -> impl Iterator<Item = (Kind, String)> {
    let useless = without_effect(flows, node).map(|text| (Kind::ProxyWithoutEffect, text));
    let mut all = splits(flows, node).map(|(_, flow)| *flow);
    let found = all.find_map(|flow| without_sack(flow, node));
    useless.into_iter().chain(found.map(|text| (Kind::ProxyWithoutSack, text)))
}

/// A side of node number `node` sends to an end that does not offer SACK, which its recovery needs.
fn without_sack(flow: &Flow, node: usize) -> Option<String> {
    let number = flow.gateways.iter().position(|one| one.node == node)?;
    let [_, side] = &flow.gateways[number].ends;
    let (receiver, has_key) = match flow.gateways.get(number + 1) {
        Some(next) => (&next.ends[0].transport, "the side of the next proxy"),
        None => (flow.ends()[1].0, "the flow"),
    };
    let (sender, receiver) = (side.transport.tcp()?, receiver.tcp()?);
    sender.lacks_sack(receiver).then(|| {
        format!(
            "{}: `recovery = \"{}\"` of its {} side works as \"newreno\", because the receiver offers no SACK: {has_key} \
             has `recovery = \"{}\"`; set `recovery = \"sack\"` there",
            flow.name,
            sender.recovery.name(),
            side.side.key(),
            receiver.recovery.name(),
        )
    })
}

/// The split of node number `node` helps none of its flows.
fn without_effect(flows: &[(FlowExplanation, &Flow)], node: usize) -> Option<String> {
    let useless = |explanation: &FlowExplanation| {
        let first = explanation.legs.first()?;
        let is_same = |leg: &LegExplanation| {
            (leg.controller, leg.recovery) == (first.controller, first.recovery)
        };
        let rtts = explanation.legs.iter().map(|leg| leg.base_rtt_ms);
        let longest = rtts.clone().fold(0.0, f64::max);
        let sum: f64 = rtts.sum();
        let helps = longest < MOST_OF_THE_PATH * sum || !explanation.legs.iter().all(is_same);
        (!helps).then_some((first.controller, longest, sum))
    };
    let split: Vec<_> = splits(flows, node).map(|(explanation, _)| explanation).collect();
    let found = split.iter().map(|one| useless(one)).collect::<Option<Vec<_>>>()?;
    let (controller, longest, sum) = *found.first()?;
    Some(format!(
        "the split hardly helps: all legs use {controller}, and the longest has {} of a round trip of {}; set \
         another `controller` on the satellite side, or put the proxy where it divides the delay",
        milliseconds(longest),
        milliseconds(sum),
    ))
}
