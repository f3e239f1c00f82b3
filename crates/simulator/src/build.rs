//! From a scenario to the blueprints of its connections.

use std::collections::BTreeSet;
use std::sync::Arc;

use congestion::{Detector, PathHints};
use link::Seed;
use network::NodeId;
use quic::Logs;
use runtime::{Leg, LegEnd, number};
use scenario::model::{HintSource, Transport};
use scenario::{Scenario, path_hints};
use wire::IpVersion;

use crate::hosts::{Blueprint, BlueprintEnd};
use crate::transports::Shared;

/// How the connections of each leg of each flow are made. Flows whose legs are alike share their
/// blueprints, as the copies of one entry do: ten thousand flows have one configuration, not ten
/// thousand. Copies at other hosts share the ends. Each sender with a detector has its own, which
/// collects its detections.
pub(crate) fn blueprints(scenario: &Scenario, seed: &Seed, logs: &Logs) -> Vec<Arc<[Blueprint]>> {
    // Those of the flow before, leg by leg.
    let mut last: Vec<Leg<'_>> = Vec::new();
    let mut blueprints: Vec<Arc<[Blueprint]>> = Vec::with_capacity(scenario.flows.len());
    let hinted = scenario.flows.iter().any(|flow| flow.path_hints.is_some());
    let routes = hinted.then(|| scenario::routes(scenario));
    for flow in &scenario.flows {
        let legs = runtime::legs(flow);
        let before = blueprints.last().cloned().unwrap_or_default();
        let is_alike = |(before, leg): (&Leg<'_>, &Leg<'_>)| before.is_like(leg) && !detects(leg);
        if legs.len() == last.len() && last.iter().zip(&legs).all(is_alike) && !legs.is_empty() {
            blueprints.push(before);
            continue;
        }
        let made = legs.iter().enumerate().map(|(number, leg)| {
            let known = last.get(number).zip(before.get(number));
            if let Some((_, made)) = known.filter(|(other, _)| is_alike((other, leg))) {
                return made.clone();
            }
            let like = known.filter(|(other, _)| other.has_like_ends(leg) && is_plain(leg));
            let hinted = routes.as_ref().filter(|_| leg.ends[0].path_hints.is_some());
            let hints = || path_hints(scenario, hinted?, flow, seed);
            let ends = like.map(|(_, made)| made.ends.clone());
            blueprint(leg, ends, hints(), (seed, scenario.ip), logs)
        });
        blueprints.push(made.collect());
        last = legs;
    }
    blueprints
}

/// The nodes between which hosts send packets, first that of the sender, each pair once.
pub(crate) fn ways(blueprints: &[Arc<[Blueprint]>]) -> Vec<[NodeId; 2]> {
    // Without a list of all flows, of which there may be a million.
    let ways: BTreeSet<_> = blueprints
        .iter()
        .flat_map(|legs| legs.iter())
        .flat_map(|leg| leg.paths.iter().copied().chain([[leg.from, leg.to]]))
        .flat_map(|[from, to]| [[from, to], [to, from]])
        .collect();
    ways.into_iter().collect()
}

/// Returns true if nothing about the ends of a leg depends on where they are. Those of QUIC draw
/// random numbers from a stream of their own.
fn is_plain(leg: &Leg<'_>) -> bool {
    let is_quic = |end: &LegEnd<'_>| matches!(end.transport, Transport::Quic(_));
    !leg.ends.iter().any(|end| is_quic(end) || end.path_hints.is_some())
}

fn detects(leg: &Leg<'_>) -> bool {
    detector(&leg.ends[0]).is_some()
}

/// The detector of path changes of a sender.
fn detector(sender: &LegEnd<'_>) -> Option<Detector> {
    match sender.path_hints?.source {
        HintSource::Detector { detector, .. } => Some(detector),
        HintSource::Schedule { .. } | HintSource::Clock { .. } => None,
    }
}

fn blueprint(
    leg: &Leg<'_>,
    known: Option<Arc<[BlueprintEnd; 2]>>,
    hints: Option<PathHints>,
    (seed, ip): (&Seed, IpVersion),
    logs: &Logs,
) -> Blueprint {
    let ends = known.unwrap_or_else(|| ends(leg, hints, (seed, ip), logs).into());
    let Leg {
        from,
        to,
        opener,
        ends: _,
        streams: _,
        initial_sequence: _,
        is_between_gateways: _,
        paths,
    } = *leg;
    let paths = paths.iter().map(|path| path.ends.map(|end| NodeId(number(end)))).collect();
    Blueprint { ends, ip, from, to, opener, paths }
}

/// The ends of the connections of a leg.
fn ends(
    leg: &Leg<'_>,
    hints: Option<PathHints>,
    (seed, ip): (&Seed, IpVersion),
    logs: &Logs,
) -> [BlueprintEnd; 2] {
    let [first, last] = leg.ends;
    let announced = hints.map(|hints| first.controller.hinted(hints));
    let detecting = || detector(&first).map(|detector| first.controller.detecting(detector));
    let controller = announced.or_else(detecting);
    let first = LegEnd { controller: controller.as_ref().unwrap_or(first.controller), ..first };
    let leg = &Leg { ends: [first, last], ..*leg };
    let end = |(end, shared): (LegEnd<'_>, Shared)| BlueprintEnd {
        settings: end.transport.plan().controller(),
        controller: end.controller.clone(),
        is_of_flow: end.is_of_flow,
        reader_rate: end.reader_rate,
        shared,
    };
    let [of_first, of_last] = Shared::of(leg, seed, ip, logs);
    [(first, of_first), (last, of_last)].map(end)
}
