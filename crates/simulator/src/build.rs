//! From a scenario to the blueprints of its connections.

use std::sync::Arc;

use runtime::{Leg, LegEnd};
use scenario::Scenario;
use wire::IpVersion;

use crate::hosts::{Blueprint, BlueprintEnd};
use crate::transports::Path;

/// How the connections of each leg of each flow are made. Legs that are alike share a blueprint, as
/// the copies of one entry do: ten thousand flows have one configuration, not ten thousand.
pub(crate) fn blueprints(scenario: &Scenario, seed: u64) -> Vec<Vec<Arc<Blueprint>>> {
    // Those of the flow before, leg by leg.
    let mut last: (Option<&quic::Settings>, Vec<(Leg<'_>, Arc<Blueprint>)>) = (None, Vec::new());
    let mut blueprints = Vec::with_capacity(scenario.flows.len());
    for flow in &scenario.flows {
        let mut made = Vec::new();
        for (number, leg) in runtime::legs(flow).into_iter().enumerate() {
            let (settings, legs) = &last;
            let is_like =
                |before: &Leg<'_>| before.is_like(&leg) && *settings == flow.quic.as_deref();
            let alike = legs.get(number).filter(|(before, _)| is_like(before));
            let shared = alike.map(|(_, blueprint)| blueprint.clone());
            let path = || Path::of(flow, seed).map(Arc::new);
            let new = || Arc::new(blueprint(&leg, path(), scenario.ip));
            made.push((leg, shared.unwrap_or_else(new)));
        }
        blueprints.push(made.iter().map(|(_, blueprint)| blueprint.clone()).collect());
        last = (flow.quic.as_deref(), made);
    }
    blueprints
}

fn blueprint(leg: &Leg<'_>, path: Option<Arc<Path>>, ip: IpVersion) -> Blueprint {
    let end = |end: LegEnd<'_>| BlueprintEnd {
        settings: end.transport.controller(),
        config: end.transport.clone(),
        controller: end.controller.clone(),
        is_of_flow: end.is_of_flow,
        reader_rate: end.reader_rate,
        path: path.clone(),
    };
    let Leg { from, to, opener, ends, initial_sequence: _ } = *leg;
    Blueprint { ends: ends.map(end), ip, from, to, opener }
}
