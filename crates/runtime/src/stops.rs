//! Where packets stop in a network with middleboxes and other state machines at its nodes.

use network::NodeId;
use scenario::Scenario;

use crate::mechanisms::mtu::Gates;
use crate::topology::number;

/// By node and destination, the number of links between them.
pub(crate) fn links(scenario: &Scenario) -> Vec<Vec<u8>> {
    let routes = scenario::routes(scenario);
    let (nodes, all) = (0..scenario.nodes.len(), 0..scenario.destinations());
    let hops = |from: usize, to: usize| {
        u8::try_from(routes.path(from, to, &scenario.links).len()).unwrap_or(u8::MAX)
    };
    nodes.map(|from| all.clone().map(|to| hops(from, to)).collect()).collect()
}

/// By node and destination, the next node with a middlebox, a decompressor or a gate on the way, or
/// the destination.
pub(crate) fn stops(
    scenario: &Scenario,
    middleboxes: &[NodeId],
    gates: &Gates,
) -> Vec<Vec<NodeId>> {
    let routes = scenario::routes(scenario);
    let (nodes, all) = (0..scenario.nodes.len(), 0..scenario.destinations());
    let stop = |from: usize, to: usize| {
        let hops = routes.path(from, to, &scenario.links);
        let ends = hops.iter().find_map(|hop| {
            let node = NodeId(number(hop.to(&scenario.links)));
            let link = &scenario.links[hop.link as usize];
            let is_compressed = link.header_compression[usize::from(!hop.forward)].is_some();
            let is_gate = gates.is_at(node, NodeId(number(to)));
            (is_compressed || is_gate || middleboxes.contains(&node)).then_some(node)
        });
        ends.unwrap_or(NodeId(number(to)))
    };
    // A middlebox sees what its node forwards, and not what is for the node itself: the search may
    // end there either way.
    nodes.map(|from| all.clone().map(|to| stop(from, to)).collect()).collect()
}
