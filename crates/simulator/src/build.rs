//! From a scenario to the blueprints of its connections.

use std::sync::Arc;

use quic::Logs;
use runtime::{Leg, LegEnd};
use scenario::Scenario;
use scenario::model::OwnSettings;
use wire::IpVersion;

use crate::hosts::{Blueprint, BlueprintEnd};
use crate::transports::Shared;

/// How the connections of each leg of each flow are made. Legs that are alike share a blueprint, as
/// the copies of one entry do: ten thousand flows have one configuration, not ten thousand.
pub(crate) fn blueprints(scenario: &Scenario, seed: u64, logs: &Logs) -> Vec<Vec<Arc<Blueprint>>> {
    // Those of the flow before, leg by leg.
    let mut last: (&OwnSettings, Vec<(Leg<'_>, Arc<Blueprint>)>) = (&OwnSettings::Tcp, Vec::new());
    let mut blueprints = Vec::with_capacity(scenario.flows.len());
    for flow in &scenario.flows {
        let mut made = Vec::new();
        for (number, leg) in runtime::legs(flow).into_iter().enumerate() {
            let (settings, legs) = &last;
            let is_like = |before: &Leg<'_>| before.is_like(&leg) && *settings == &flow.own;
            let alike = legs.get(number).filter(|(before, _)| is_like(before));
            let shared = alike.map(|(_, blueprint)| blueprint.clone());
            let new = || {
                let shared = Shared::of(flow, seed, scenario.ip, logs);
                Arc::new(blueprint(&leg, &shared, scenario.ip))
            };
            made.push((leg, shared.unwrap_or_else(new)));
        }
        blueprints.push(made.iter().map(|(_, blueprint)| blueprint.clone()).collect());
        last = (&flow.own, made);
    }
    blueprints
}

fn blueprint(leg: &Leg<'_>, shared: &Shared, ip: IpVersion) -> Blueprint {
    let end = |end: LegEnd<'_>| BlueprintEnd {
        settings: shared.controller().unwrap_or_else(|| end.transport.controller()),
        config: end.transport.clone(),
        controller: end.controller.clone(),
        is_of_flow: end.is_of_flow,
        reader_rate: end.reader_rate,
        shared: shared.clone(),
    };
    let Leg { from, to, opener, ends, initial_sequence: _ } = *leg;
    Blueprint { ends: ends.map(end), ip, from, to, opener }
}
