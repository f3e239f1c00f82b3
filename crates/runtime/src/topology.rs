//! From a scenario to its network.

use link::{Direction, QueueLimit, Settings};
use network::{NodeId, PortKind, PortSpec, Topology};
use scenario::model::{self, Scenario};
use units::{Bytes, Span, Time};

/// The number of a node or port in the network. The language bounds how many there are.
pub(crate) fn number(number: impl TryInto<u16>) -> u16 {
    number.try_into().ok().expect("a scenario has fewer nodes and ports")
}

/// For each node and destination, the port to take.
fn routes(scenario: &Scenario) -> Vec<Vec<Option<u16>>> {
    let routes = scenario::routes(scenario);
    let nodes = 0..scenario.nodes.len();
    let port = |hop: scenario::Hop| number(2 * hop.link + u32::from(!hop.forward));
    let row = |from| nodes.clone().map(|to| routes.next(from, to).map(port)).collect();
    nodes.clone().map(row).collect()
}

/// The network of a scenario: the ports of link `n` are `2 n` forward and `2 n + 1` backward, then
/// one port for each node with limited forwarding.
pub fn topology(scenario: &Scenario, seed: u64) -> Topology {
    let mut ports: Vec<PortSpec> = Vec::new();
    let end = Time::ZERO + scenario.duration;
    let mut add = |to: usize, kind, settings| {
        let direction = Direction::new(settings, seed, ports.len() as u64, end);
        ports.push(PortSpec { to: NodeId(number(to)), kind, direction });
        number(ports.len() - 1)
    };
    for link in &scenario.links {
        for (to, settings) in [(link.ends[1], &link.forward), (link.ends[0], &link.backward)] {
            add(to, PortKind::Link, settings.clone());
        }
    }
    let nodes = scenario.nodes.iter().enumerate();
    let forwarding = nodes
        .map(|(node, limit)| Some(add(node, PortKind::Forwarding, settings(limit.forwarding?))))
        .collect();
    Topology { ports, routes: routes(scenario), forwarding }
}

/// A router's forwarding: a rate and memory, and no delay.
fn settings(limit: model::Forwarding) -> Settings {
    let model::Forwarding { rate, buffer: Bytes(bytes) } = limit;
    Settings { queue: QueueLimit::Bytes(bytes), ..Settings::new(rate, Span::ZERO) }
}
