//! Middleboxes: what each sees and adds, and where it cannot help.

use middlebox::SpoofingSettings;
use serde::Serialize;
use serde_json::Value as Json;
use units::Span;

use super::FlowExplanation;
use super::loss_notice;
use super::settings::parameters;
use super::text::rate;
use super::warnings::WarningKind as Kind;
use scenario::model::{Flow, Middlebox, Scenario, Way};
use scenario::rates::framed;
use scenario::{Hop, Routes};

/// A middlebox at a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MiddleboxExplanation {
    /// Its name and its parameters.
    pub name: String,
    /// Flows whose data it sees.
    pub data_of: Vec<String>,
    /// Flows whose ACKs it sees.
    pub acks_of: Vec<String>,
    /// The most that it adds to the delay of a packet, in milliseconds.
    pub added_delay_ms: f64,
}

/// The middlebox of node number `node`.
pub(crate) fn explain(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
) -> Option<MiddleboxExplanation> {
    let middlebox = scenario.nodes[node].middlebox?;
    let passes = |from, to| sees(scenario, routes, middlebox, node, from, to);
    let names = |of: &dyn Fn(&Flow) -> bool| {
        let flows = flows.iter().filter(|(_, flow)| of(flow));
        flows.map(|(explanation, _)| explanation.name.clone()).collect()
    };
    Some(MiddleboxExplanation {
        name: described(middlebox),
        data_of: names(&|flow| passes(flow.from, flow.to)),
        acks_of: names(&|flow| passes(flow.to, flow.from)),
        added_delay_ms: middlebox.most_added_delay().as_millis_f64(),
    })
}

/// Returns true if the middlebox at `node` sees packets from one node to another.
pub(crate) fn sees(
    scenario: &Scenario,
    routes: &Routes,
    middlebox: Middlebox,
    node: usize,
    from: usize,
    to: usize,
) -> bool {
    if middlebox.is_in_queues() {
        // A terminal has a queue before its return channel, and a gateway has those of its links.
        let hops = routes.path(from, to, &scenario.links);
        return hops.iter().any(|hop| hop.from(&scenario.links) == node)
            || routes.is_terminal(node) && from == node && from != to;
    }
    routes.forwards((from, to), &scenario.links).contains(&node)
}

/// The name with the parameters, in alphabetical order.
fn described(middlebox: Middlebox) -> String {
    let values = serde_json::to_value(middlebox).unwrap_or(Json::Null);
    parameters(middlebox.name(), &values)
}

/// The warnings about the middlebox of node number `node`.
pub(crate) fn warnings(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
) -> Vec<(Kind, String)> {
    let Some(middlebox) = scenario.nodes[node].middlebox else { return Vec::new() };
    let idle = match middlebox {
        // What waits at a terminal depends on its slots.
        Middlebox::AckFilter(_) if routes.is_terminal(node) => None,
        Middlebox::AckFilter(_) => idle_filter(scenario, routes, flows, node),
        Middlebox::Snoop(_) if routes.is_terminal(node) => {
            // Behind it there are uploads only to repair.
            let uploads: Vec<_> =
                flows.iter().filter(|(_, flow)| flow.from == node).cloned().collect();
            match uploads.is_empty() {
                true => Some(NO_LOSSES.to_owned()),
                false => slow_repair(scenario, routes, &uploads, node),
            }
        }
        Middlebox::Snoop(_) => slow_repair(scenario, routes, flows, node),
        Middlebox::AckDecimation(_) => None,
        Middlebox::AckReconstruction(_) => unthinned(scenario, routes, flows, node),
        Middlebox::PacketControl(_) => steady(scenario, routes, flows, node),
        Middlebox::SpoofingProxy(settings) => narrow(scenario, routes, flows, node, &settings),
    };
    let all: Vec<_> = flows.iter().map(|(_, flow)| *flow).collect();
    let unread = loss_notice::idle(scenario, routes, &all, node);
    let idle = idle.into_iter().chain(unread);
    idle.map(|text| (Kind::MiddleboxWithoutEffect, text)).collect()
}

const NO_LOSSES: &str =
    "snoop in a terminal repairs nothing: between it and the host behind it no packet is lost";

/// From this share of the round trip on, a repair by Snoop is hardly earlier than one by the
/// sender.
const MOST_OF_THE_PATH: f64 = 0.7;

/// Snoop where no flow has a short way to its receiver.
fn slow_repair(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
) -> Option<String> {
    let links = &scenario.links;
    let delay = |from: usize, to: usize| behind(scenario, routes, (from, to), from).delay_ms;
    // Routes lead to the ends of flows only; the rest of the way of the data is there, that of the
    // ACKs is the whole way without the part behind the node.
    let rest = |from: usize, to: usize| behind(scenario, routes, (from, to), node).delay_ms;
    let share = |flow: &Flow| {
        let whole = delay(flow.from, flow.to) + delay(flow.to, flow.from);
        let local = rest(flow.from, flow.to) + delay(flow.to, flow.from) - rest(flow.to, flow.from);
        (local / whole, local, whole)
    };
    let passing = flows
        .iter()
        .filter(|(_, flow)| routes.forwards((flow.from, flow.to), links).contains(&node));
    let shares = passing.map(|(explanation, flow)| (explanation, share(flow)));
    let least = shares.min_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let (explanation, (share, local, whole)) = least?;
    (share >= MOST_OF_THE_PATH).then(|| {
        format!(
            "snoop repairs losses of {} within {local:.0}ms of a round trip of {whole:.0}ms: hardly \
             earlier than the sender, whose RTO may expire meanwhile; put it before the lossy hop only, \
             near the receiver",
            explanation.name
        )
    })
}

/// The part of a way behind a node.
struct Behind {
    hops: Vec<Hop>,
    /// True if a beam is part of it.
    has_beam: bool,
    /// Propagation delay in milliseconds.
    delay_ms: f64,
}

/// The part of a way behind a node on it; nothing for other nodes. The host behind a terminal is
/// the end of the way.
fn behind(scenario: &Scenario, routes: &Routes, (from, to): Way, node: usize) -> Behind {
    let links = &scenario.links;
    let all = routes.path(from, to, links);
    let is_first = node == from && routes.is_terminal(from);
    let hops: Vec<_> = match is_first {
        true => all,
        false => all.into_iter().skip_while(|hop| hop.from(links) != node).collect(),
    };
    let nodes = routes.nodes(from, to, links);
    let is_on_way = nodes.contains(&node) && from != to;
    let before = is_on_way && is_first;
    let after = is_on_way && routes.is_terminal(to) && node != to;
    let delay =
        |end: usize| scenario.beam_of(end).map_or(Span::ZERO, |(_, beam)| beam.forward.delay);
    let beams = [(before, from), (after, to)].into_iter().filter(|(is_behind, _)| *is_behind);
    let beams: f64 = beams.map(|(_, end)| delay(end).as_millis_f64()).sum();
    let delays = hops.iter().map(|hop| hop.direction(links).delay.as_millis_f64());
    let delay_ms = beams + delays.sum::<f64>();
    Behind { hops, has_beam: before || after, delay_ms }
}

/// Packet control before hops whose delay never varies. The wait for slots and frames of a beam
/// does.
fn steady(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
) -> Option<String> {
    let links = &scenario.links;
    let varies = |hop: &Hop| {
        let direction = hop.direction(links);
        !direction.jitter.is_none()
            || direction.arq.is_some()
            || direction.fec.is_some()
            || direction.demand.is_some()
            || !direction.trace.timeline.is_empty()
            || !direction.timeline.is_empty()
    };
    let forwarded = flows
        .iter()
        .map(|(_, flow)| (flow.from, flow.to))
        .filter(|way| routes.forwards(*way, links).contains(&node));
    let mut parts = forwarded.map(|way| behind(scenario, routes, way, node));
    (!parts.any(|part| part.has_beam || part.hops.iter().any(varies))).then(|| {
        "packet-control has no hop with a varying delay behind it: there are no spurious timeouts, and it only \
         delays duplicate ACKs"
            .to_owned()
    })
}

/// A spoofing proxy whose store is less than what the hop behind it needs.
fn narrow(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
    settings: &SpoofingSettings,
) -> Option<String> {
    let links = &scenario.links;
    let limits = flows.iter().filter_map(|(explanation, flow)| {
        let (there, back) = ((flow.from, flow.to), (flow.to, flow.from));
        let part = behind(scenario, routes, there, node);
        let is_behind = !part.hops.is_empty() || part.has_beam;
        if !is_behind || !routes.forwards(there, links).contains(&node) {
            return None;
        }
        let whole = behind(scenario, routes, back, flow.to).delay_ms;
        let before = whole - behind(scenario, routes, back, node).delay_ms;
        let round_trip = (part.delay_ms + before) / 1e3;
        let limit = settings.store.get() as f64 * 8.0 / round_trip;
        (limit < explanation.figures.capacity_bps).then_some((explanation, limit, round_trip))
    });
    let least = limits.min_by(|a, b| a.1.total_cmp(&b.1));
    let (explanation, limit, round_trip) = least?;
    Some(format!(
        "spoofing-proxy: a store of {} and a round trip of {:.0}ms behind it limit {} to {}; set `store` to \
         the bandwidth-delay product",
        settings.store,
        1e3 * round_trip,
        explanation.name,
        rate(limit)
    ))
}

/// Reconstruction of ACKs that nothing before it has thinned out.
fn unthinned(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
) -> Option<String> {
    let links = &scenario.links;
    let is_thinned = flows.iter().any(|(_, flow)| {
        let way = routes.nodes(flow.to, flow.from, links);
        way.into_iter().take_while(|at| *at != node).any(|at| {
            matches!(
                scenario.nodes[at].middlebox,
                Some(Middlebox::AckFilter(_) | Middlebox::AckDecimation(_))
            )
        })
    });
    (!is_thinned).then(|| {
        "ack-reconstruction has no ack-filter or ack-decimation before it on the way of the ACKs: it \
         only acts on ACKs that are lost or delayed"
            .to_owned()
    })
}

/// An ACK filter before whose links no queue of ACKs forms.
fn idle_filter(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
    node: usize,
) -> Option<String> {
    let links = &scenario.links;
    let of_acks = flows.iter().filter_map(|(explanation, flow)| {
        let hops = routes.path(flow.to, flow.from, links);
        let hop = *hops.iter().find(|hop| hop.from(links) == node)?;
        Some((explanation, flow, hop))
    });
    let mut slowest: Option<(f64, String)> = None;
    for (explanation, flow, hop) in of_acks {
        let carries_data =
            flows.iter().any(|(_, other)| routes.path(other.from, other.to, links).contains(&hop));
        let ack = framed(hop.direction(links), scenario.ack_bytes(flow) as f64);
        let bytes = f64::from(flow.transport.plan().full_payload());
        let figures = &explanation.figures;
        let segments = flow.transport.plan().packets_per_ack_at(figures.segment_time_ms / 1e3);
        let acks_bps = figures.capacity_bps / (8.0 * bytes * segments) * ack * 8.0;
        let limit = hop.direction(links).rate.bits_per_second() as f64;
        if carries_data || acks_bps >= limit || hop.direction(links).changes().next().is_some() {
            return None;
        }
        let place = format!(
            "the ACKs of {} take at most {} of {}",
            explanation.name,
            rate(acks_bps),
            rate(limit)
        );
        if slowest.as_ref().is_none_or(|(share, _)| acks_bps / limit > *share) {
            slowest = Some((acks_bps / limit, place));
        }
    }
    let why = slowest.map_or("no ACK leaves this node".into(), |(_, place)| place);
    Some(format!("ack-filter finds no ACKs that wait: {why}"))
}
