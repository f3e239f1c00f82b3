//! Parts of beams that the kernel backend refuses.

use std::collections::BTreeSet;

use scenario::Scenario;
use scenario::model::Neighbour;

use crate::error::{Key, Of, Refusal};

/// Terminals of a beam that have flows. Emulations of 16 were compared with the simulator.
const MOST_TERMINALS: usize = 16;

/// Beams: each terminal with a flow is a namespace.
pub(super) fn terminals(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let ends = scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]);
    let ends: BTreeSet<_> = ends.collect();
    scenario.beams.iter().enumerate().filter_map(move |(number, beam)| {
        let active = ends.range(beam.terminals.clone()).count();
        (active > MOST_TERMINALS).then(|| Refusal {
            place: format!("beam {:?}", beam.name),
            asked: format!("{active} terminals with flows"),
            possible: format!("at most {MOST_TERMINALS}, because each is a namespace"),
            key: Some(Key { of: Of::Beam(number), path: "group".to_owned() }),
        })
    })
}

/// Terminals in the background, which were compared with packets of the simulator only.
pub(super) fn backgrounds(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let groups = scenario.beams.iter().enumerate().flat_map(|(number, beam)| {
        let groups = beam.groups.iter().enumerate().filter(|(_, group)| group.is_background);
        groups.map(move |(place, group)| (number, place, group))
    });
    groups.map(|(number, place, group)| Refusal {
        place: format!("group {:?}", group.name),
        asked: "terminals in the background".to_owned(),
        possible: "terminals with packets, or the simulator".to_owned(),
        key: Some(Key { of: Of::Beam(number), path: format!("group.{place}.background") }),
    })
}

/// Middleboxes at terminals, whose hosts are namespaces here. Of the terminals of a group, the
/// first one is named.
pub(super) fn middleboxes(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let nodes = scenario.nodes.iter().enumerate().skip(scenario.linked_nodes());
    let mut nodes: Vec<_> = nodes.filter(|(_, node)| node.middlebox.is_some()).collect();
    nodes.dedup_by_key(|(_, node)| node.entry);
    nodes.into_iter().map(|(number, node)| Refusal {
        place: format!("node {:?}, middlebox", node.name),
        asked: node.middlebox.map_or("", |one| one.name()).to_owned(),
        possible: "none at a terminal of a beam, or the simulator".to_owned(),
        key: Some(Key { of: Of::Node(number), path: "middlebox".to_owned() }),
    })
}

/// Split proxies at gateways and terminals of beams: the daemon knows neighbours over links. Of
/// the terminals of a group, the first one is named.
pub(super) fn proxies(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let is_beam = |one: &Neighbour| matches!(one, Neighbour::Beam(_));
    let nodes = scenario.nodes.iter().enumerate();
    let mut nodes: Vec<_> = nodes.filter(|(_, node)| node.proxy.is_some()).collect();
    nodes.dedup_by_key(|(_, node)| node.entry);
    nodes.into_iter().filter_map(move |(number, node)| {
        let sides = &node.proxy.as_ref()?.neighbours;
        sides.iter().flatten().any(is_beam).then(|| Refusal {
            place: format!("node {:?}, proxy", node.name),
            asked: "a split proxy at the gateway or at a terminal of a beam".to_owned(),
            possible: "a node before the gateway, or the simulator".to_owned(),
            key: Some(Key { of: Of::Node(number), path: "proxy".to_owned() }),
        })
    })
}
