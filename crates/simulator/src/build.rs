//! From a scenario to the blueprints of its connections.

use std::sync::Arc;

use congestion::{Detector, PathHints};
use network::NodeId;
use quic::Logs;
use runtime::{Leg, LegEnd, number};
use scenario::model::HintSource;
use scenario::{Scenario, path_hints};
use wire::IpVersion;

use crate::hosts::{Blueprint, BlueprintEnd};
use crate::transports::Shared;

/// How the connections of each leg of each flow are made. Legs that are alike share a blueprint, as
/// the copies of one entry do: ten thousand flows have one configuration, not ten thousand. Each
/// sender with a detector has its own, which collects its detections.
pub(crate) fn blueprints(scenario: &Scenario, seed: u64, logs: &Logs) -> Vec<Vec<Arc<Blueprint>>> {
    // Those of the flow before, leg by leg.
    let mut last: Vec<(Leg<'_>, Arc<Blueprint>)> = Vec::new();
    let mut blueprints = Vec::with_capacity(scenario.flows.len());
    let hinted = scenario.flows.iter().any(|flow| flow.path_hints.is_some());
    let routes = hinted.then(|| scenario::routes(scenario));
    for flow in &scenario.flows {
        let mut made = Vec::new();
        for (number, leg) in runtime::legs(flow).into_iter().enumerate() {
            let alike =
                last.get(number).filter(|(before, _)| before.is_like(&leg) && !detects(&leg));
            let shared = alike.map(|(_, blueprint)| blueprint.clone());
            let hinted = routes.as_ref().filter(|_| leg.ends[0].path_hints.is_some());
            let hints = || path_hints(scenario, hinted?, flow, seed);
            let new = || Arc::new(blueprint(&leg, hints(), (seed, scenario.ip), logs));
            made.push((leg, shared.unwrap_or_else(new)));
        }
        blueprints.push(made.iter().map(|(_, blueprint)| blueprint.clone()).collect());
        last = made;
    }
    blueprints
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
    hints: Option<PathHints>,
    (seed, ip): (u64, IpVersion),
    logs: &Logs,
) -> Blueprint {
    let [first, last] = leg.ends;
    let announced = hints.map(|hints| first.controller.hinted(hints));
    let detecting = || detector(&first).map(|detector| first.controller.detecting(detector));
    let controller = announced.or_else(detecting);
    let first = LegEnd { controller: controller.as_ref().unwrap_or(first.controller), ..first };
    let leg = &Leg { ends: [first, last], ..*leg };
    let [first, last] = Shared::of(leg, seed, ip, logs);
    let end = |end: LegEnd<'_>, shared: Shared| BlueprintEnd {
        settings: end.transport.plan().controller(),
        controller: end.controller.clone(),
        is_of_flow: end.is_of_flow,
        reader_rate: end.reader_rate,
        shared,
    };
    let Leg {
        from,
        to,
        opener,
        ends,
        streams: _,
        initial_sequence: _,
        is_between_gateways: _,
        paths,
    } = *leg;
    let paths = paths.iter().map(|path| path.ends.map(|end| NodeId(number(end)))).collect();
    Blueprint { ends: [end(ends[0], first), end(ends[1], last)], ip, from, to, opener, paths }
}
