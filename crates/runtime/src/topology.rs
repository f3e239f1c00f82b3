//! From a scenario to its network.

use link::{Direction, QueueLimit, Seed, Settings, Trace};
use network::{NodeId, PortKind, PortSpec, Topology};
use scenario::model::{self, Scenario};
use units::{Bytes, Span, Time};

use crate::mechanisms::middlebox::is_filtered;

/// The number of a node, address or port in the network. The language bounds how many there are.
///
/// # Panics
/// Never for those of a scenario.
pub fn number(number: impl TryInto<u16>) -> u16 {
    number.try_into().ok().expect("a scenario has fewer nodes and ports")
}

/// For each node and destination, the port to take.
fn routes(scenario: &Scenario) -> Vec<Vec<Option<u16>>> {
    let routes = scenario::routes(scenario);
    // The network knows the gateways of beams and not their terminals.
    let linked = scenario.linked_nodes();
    let addresses = scenario.nodes.len()..scenario.destinations();
    let (nodes, all) = (0..linked, (0..linked).chain(addresses));
    let row = |from| all.clone().map(|to| routes.next(from, to).map(port_of)).collect();
    nodes.map(row).collect()
}

/// The number of the port of a link in one direction.
pub(crate) fn port_of(hop: scenario::Hop) -> u16 {
    number(2 * hop.link + u32::from(!hop.forward))
}

/// The network of a scenario: the ports of link `n` are `2 n` forward and `2 n + 1` backward, then
/// one port for each node with limited forwarding.
pub fn topology(scenario: &Scenario, seed: &Seed) -> Topology {
    let mut ports: Vec<PortSpec> = Vec::new();
    let end = Time::ZERO + scenario.duration;
    let mut add = |to: usize, kind, settings, decides_at_dequeue: bool| {
        let mut direction = Direction::new(settings, seed, ports.len() as u64, end);
        if decides_at_dequeue {
            direction = direction.deciding_at_dequeue();
        }
        // The two directions of a link are neighbours.
        let reverse = (kind == PortKind::Link).then_some(number(ports.len() ^ 1));
        ports.push(PortSpec { to: NodeId(number(to)), kind, direction, reverse });
        number(ports.len() - 1)
    };
    let delay = scenario.event_delay(seed);
    for link in &scenario.links {
        let [first, second] = link.ends;
        let repeats = link.forward.arq.is_some() || link.backward.arq.is_some();
        let sides = [(first, second, &link.forward), (second, first, &link.backward)];
        for ((from, to, settings), compression) in sides.into_iter().zip(link.header_compression) {
            let timeline = settings.timeline.later(delay);
            let trace = Trace { timeline: settings.trace.of_run(seed), ..settings.trace.clone() };
            let settings = Settings { timeline, trace, ..settings.clone() };
            let decides_late = repeats || compression.is_some() || is_filtered(scenario, from);
            add(to, PortKind::Link, settings, decides_late);
        }
    }
    let nodes = scenario.nodes[..scenario.linked_nodes()].iter().enumerate();
    let forwarding = nodes
        .map(|(node, limit)| {
            Some(add(node, PortKind::Forwarding, settings(limit.forwarding?), false))
        })
        .collect();
    let addresses = scenario.addresses.iter().map(|address| NodeId(number(address.node))).collect();
    Topology { ports, routes: routes(scenario), addresses, forwarding }
}

/// A router's forwarding: a rate and memory, and no delay.
fn settings(limit: model::Forwarding) -> Settings {
    let model::Forwarding { rate, buffer: Bytes(bytes) } = limit;
    Settings { queue: QueueLimit::Bytes(bytes), ..Settings::new(rate, Span::ZERO) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(phase: &str, controller: &str) -> Scenario {
        let text = format!(
            r#"
duration = "300s"
phase = "{phase}"
[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "1ms"
event = [{{ at = "20s", every = "15s", outage = "50ms" }}]
[[link]]
between = ["gateway", "client"]
rate = "10Mbit/s"
delay = "20ms"
event = [{{ at = "20s", every = "15s", delay = "30ms" }}, {{ at = "100s", delay = "10ms" }}]
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
traffic = {{ bulk = "unlimited" }}
"#
        );
        Scenario::parse(&text, "phase.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// The first event of each direction of each link, in nanoseconds.
    fn firsts(scenario: &Scenario, seed: &Seed) -> Vec<u64> {
        let ports = topology(scenario, seed).ports;
        let first = |port: &PortSpec| port.direction.changes().and_then(|mut all| all.next());
        ports.iter().map(|port| first(port).map_or(0, |(at, _)| at.as_nanos())).collect()
    }

    #[test]
    fn events_of_all_links_are_later_together_by_a_time_that_only_the_seed_decides() {
        let random = scenario("random", "cubic");
        let mut different = std::collections::BTreeSet::new();
        for seed in (1..=20).map(Seed::new) {
            let delay = random.event_delay(&seed).as_nanos();
            assert!(delay < 15_000_000_000);
            assert_eq!(firsts(&random, &seed), [20_000_000_000 + delay; 4], "{seed:?}");
            assert_eq!(firsts(&random, &seed), firsts(&scenario("random", "hybla"), &seed));
            assert_eq!(firsts(&scenario("fixed", "cubic"), &seed), [20_000_000_000; 4]);
            different.insert(delay);
        }
        assert_eq!(different.len(), 20);
    }
}
