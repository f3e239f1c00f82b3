//! Where packets stop on their way: at each gateway that they cross from one side to the other, and
//! at their destination.
//!
//! A proxy keeps the addresses of both ends, so the addresses of a packet say which way it goes,
//! also if a proxy sent it.

use std::collections::BTreeMap;

use scenario::Scenario;
use scenario::model::{Neighbour, SideName};
use wire::IpPacket;

/// The ways between hosts that lead over gateways.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// By the nodes of source and destination.
    stops: BTreeMap<(u16, u16), Vec<Stop>>,
}

/// A gateway on a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    node: u16,
    /// The side on which packets come.
    comes: SideName,
}

impl Ways {
    /// The ways between `hosts`.
    pub(crate) fn new(scenario: &Scenario, hosts: &[u16]) -> Self {
        if scenario.nodes.iter().all(|node| node.proxy.is_none()) {
            return Self::default();
        }
        let routes = scenario::routes(scenario);
        let mut stops = BTreeMap::new();
        for from in hosts {
            for to in hosts.iter().filter(|to| *to != from) {
                let ends = [*from, *to].map(usize::from);
                let crossed = routes.crossed(ends[0], ends[1], scenario).into_iter();
                let mut on_the_way: Vec<_> = crossed
                    .filter_map(|(node, [comes, _])| {
                        let node = u16::try_from(node).ok()?;
                        hosts.contains(&node).then_some(Stop { node, comes })
                    })
                    .collect();
                // One for the gateway itself arrives on the side of the hop before.
                let last = routes.path(ends[0], ends[1], &scenario.links).last().copied();
                let comes = last.and_then(|hop| {
                    let proxy = scenario.nodes[ends[1]].proxy.as_ref()?;
                    proxy.side_of(Neighbour::Node(hop.from(&scenario.links)))
                });
                on_the_way.extend(comes.map(|comes| Stop { node: *to, comes }));
                if !on_the_way.is_empty() {
                    stops.insert((*from, *to), on_the_way);
                }
            }
        }
        Self { stops }
    }

    /// The stops of a packet.
    fn of(&self, packet: &IpPacket) -> Option<&[Stop]> {
        if self.stops.is_empty() {
            return None;
        }
        let ends = (runtime::node(packet.source())?, runtime::node(packet.destination())?);
        self.stops.get(&ends).map(Vec::as_slice)
    }

    /// Where a packet for the host at `to` that leaves `node` stops next.
    pub(crate) fn next(&self, node: u16, to: u16, packet: &IpPacket) -> u16 {
        let Some(stops) = self.of(packet) else { return to };
        let passed = stops.iter().position(|stop| stop.node == node).map_or(0, |place| place + 1);
        stops.get(passed).map_or(to, |stop| stop.node)
    }

    /// The side of the gateway `node` on which a packet arrives.
    pub(crate) fn side(&self, node: u16, packet: &IpPacket) -> Option<SideName> {
        self.of(packet)?.iter().find(|stop| stop.node == node).map(|stop| stop.comes)
    }
}
