//! From a scenario to the blueprints of its connections.

use std::sync::Arc;

use network::NodeId;
use scenario::{Scenario, model};
use wire::IpVersion;

use crate::hosts::Blueprint;

/// How the connections of each flow are made. Flows that are alike share a blueprint, as the copies
/// of one entry do: ten thousand flows have one configuration, not ten thousand.
pub(crate) fn blueprints(scenario: &Scenario) -> Vec<Arc<Blueprint>> {
    let flows = &scenario.flows;
    let mut blueprints: Vec<Arc<Blueprint>> = Vec::with_capacity(flows.len());
    for (number, flow) in flows.iter().enumerate() {
        let alike = number.checked_sub(1).filter(|before| are_alike(&flows[*before], flow));
        let shared = alike.map(|before| blueprints[before].clone());
        blueprints.push(shared.unwrap_or_else(|| Arc::new(blueprint(flow, scenario.ip))));
    }
    blueprints
}

fn are_alike(a: &model::Flow, b: &model::Flow) -> bool {
    (a.from, a.to) == (b.from, b.to)
        && a.transport == b.transport
        && a.reader_rate == b.reader_rate
        && a.controller == b.controller
}

fn blueprint(flow: &model::Flow, ip: IpVersion) -> Blueprint {
    Blueprint {
        settings: flow.transport.controller(),
        config: flow.transport.clone(),
        controller: flow.controller.clone(),
        reader_rate: flow.reader_rate,
        ip,
        from: NodeId(flow.from as u16),
        to: NodeId(flow.to as u16),
    }
}
