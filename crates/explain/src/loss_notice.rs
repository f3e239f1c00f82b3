//! Explicit loss notification before a run: flows without a gateway that reports errors, and losses
//! that are no errors.

use super::middlebox::sees;
use scenario::Routes;
use scenario::model::{Flow, Scenario};

/// The nodes that report errors to the sender of `flow`, in the order of its data.
fn gateways(scenario: &Scenario, routes: &Routes, flow: &Flow) -> Vec<usize> {
    let nodes = routes.forwards((flow.from, flow.to), &scenario.links);
    nodes
        .into_iter()
        .filter(|node| {
            let middlebox = scenario.nodes[*node].middlebox;
            let giving = middlebox.filter(|middlebox| middlebox.gives_loss_notices());
            giving.is_some_and(|one| sees(scenario, routes, one, *node, flow.to, flow.from))
        })
        .collect()
}

fn takes_notices(flow: &Flow) -> bool {
    flow.transport.tcp().is_some_and(|config| config.eln)
}

/// The warnings about a flow whose sender takes loss notices.
pub(crate) fn flow(scenario: &Scenario, routes: &Routes, flow: &Flow) -> Option<String> {
    if !takes_notices(flow) {
        return None;
    }
    let Some(gateway) = gateways(scenario, routes, flow).pop() else {
        return Some(
            "eln has no effect: no node that data and ACKs pass has snoop with eln = true".into(),
        );
    };
    let links = &scenario.links;
    let hops = routes.path(flow.from, flow.to, links);
    let before = hops.iter().skip(1).take_while(|hop| hop.from(links) != gateway);
    let queues: Vec<_> = before.map(|hop| links[hop.link as usize].name.as_str()).collect();
    (!queues.is_empty()).then(|| {
        format!(
            "eln takes what the queue of {} drops for errors, and does not reduce the window: put snoop at \
             the end of the first link of the sender",
            queues.join(", ")
        )
    })
}

/// A gateway whose reports of errors no sender reads.
pub(crate) fn idle(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[&Flow],
    node: usize,
) -> Option<String> {
    let gives = scenario.nodes[node].middlebox.is_some_and(|one| one.gives_loss_notices());
    let takes =
        |flow: &&Flow| takes_notices(flow) && gateways(scenario, routes, flow).contains(&node);
    (gives && !flows.iter().any(takes)).then(|| {
        "eln has no effect: no flow whose data and ACKs pass has transport.eln = true".to_owned()
    })
}
