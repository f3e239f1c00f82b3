//! From a scenario to the blueprints of its connections.

use std::sync::Arc;

use runtime::Leg;
use scenario::Scenario;
use wire::IpVersion;

use crate::hosts::Blueprint;

/// How the connections of each leg of each flow are made. Legs that are alike share a blueprint, as
/// the copies of one entry do: ten thousand flows have one configuration, not ten thousand.
pub(crate) fn blueprints(scenario: &Scenario) -> Vec<Vec<Arc<Blueprint>>> {
    let mut last: Option<(Leg<'_>, Arc<Blueprint>)> = None;
    let mut blueprints = Vec::with_capacity(scenario.flows.len());
    for flow in &scenario.flows {
        let mut of_flow = Vec::new();
        for leg in runtime::legs(flow) {
            let alike = last.as_ref().filter(|(before, _)| before.is_like(&leg));
            let shared = alike.map(|(_, blueprint)| blueprint.clone());
            let made = shared.unwrap_or_else(|| Arc::new(blueprint(&leg, scenario.ip)));
            last = Some((leg, made.clone()));
            of_flow.push(made);
        }
        blueprints.push(of_flow);
    }
    blueprints
}

fn blueprint(leg: &Leg<'_>, ip: IpVersion) -> Blueprint {
    Blueprint {
        settings: leg.transport.controller(),
        config: leg.transport.clone(),
        controller: leg.controller.clone(),
        reader_rate: leg.reader_rate,
        ip,
        from: leg.from,
        to: leg.to,
        opener: leg.opener,
    }
}
