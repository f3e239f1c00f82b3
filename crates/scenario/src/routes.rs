//! Routes of packets through the graph, for all backends.
//!
//! A route has the smallest total propagation delay, then the fewest hops. If several remain, each
//! node takes the first link in the file. The two directions of a flow have separate routes,
//! because the delays of a link may differ per direction.
//!
//! An address of a host leads packets through a node: they take the route to that node, and then
//! the one from there. On the second part they stay on it: each node has one next hop for an
//! address.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::{Address, Direction, Link, Neighbour, Node, Scenario, SideName, Way};

/// One link in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Number of the link.
    pub link: u32,
    /// From its first end to its second.
    pub forward: bool,
}

impl Hop {
    /// The values of this direction.
    pub fn direction(self, links: &[Link]) -> &Direction {
        let link = &links[self.link as usize];
        if self.forward { &link.forward } else { &link.backward }
    }

    /// The node that sends.
    pub fn from(self, links: &[Link]) -> usize {
        links[self.link as usize].ends[usize::from(!self.forward)]
    }

    /// Its two nodes by their names.
    pub fn name(self, scenario: &Scenario) -> String {
        let [from, to] = [self.from(&scenario.links), self.to(&scenario.links)];
        format!("{} -> {}", scenario.nodes[from].name, scenario.nodes[to].name)
    }

    /// The node that receives.
    pub fn to(self, links: &[Link]) -> usize {
        links[self.link as usize].ends[usize::from(self.forward)]
    }
}

/// The next hop of every node towards every end of a flow or of a tunnel, every address, every
/// middlebox, every split proxy, every router of a switch, every decompressor, and every start of a
/// link with an MTU: packets go from one of them to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// By node, then by destination: nodes that links join, then addresses.
    next: Vec<Vec<Option<Hop>>>,
    /// The gateways of terminals, whose numbers follow those of the other nodes.
    gateways: Vec<usize>,
}

/// The routes of a scenario.
pub fn routes(scenario: &Scenario) -> Routes {
    let linked = scenario.linked_nodes();
    let ends = scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]);
    let ends = ends.filter(|end| *end < linked);
    let beams = scenario.beams.iter().map(|beam| beam.gateway);
    let ends = ends.chain(beams);
    // A terminal is found by its gateway, with a proxy too.
    let nodes = scenario.nodes[..linked].iter().enumerate();
    let has_box = |node: &Node| node.middlebox.is_some() || node.proxy.is_some();
    let middleboxes = nodes.filter(|(_, node)| has_box(node)).map(|(node, _)| node);
    let decompressors = scenario.links.iter().flat_map(|link| {
        let [forward, backward] = link.header_compression.map(|one| one.is_some());
        [forward.then_some(link.ends[1]), backward.then_some(link.ends[0])].into_iter().flatten()
    });
    let gates = scenario.links.iter().flat_map(|link| {
        let starts = link.ends.into_iter().zip(link.mtu);
        starts.filter(|(_, mtu)| mtu.is_some()).map(|(node, _)| node)
    });
    let via = scenario.addresses.iter().map(|address| address.via);
    let tunnels = scenario.tunnels.iter().flat_map(|tunnel| tunnel.ends);
    let destinations = ends.chain(middleboxes).chain(decompressors).chain(gates).chain(via);
    let destinations = destinations.chain(tunnels.filter(|end| *end < linked));
    let switches = scenario.switches.iter().flat_map(|switch| switch.ends);
    let destinations = destinations.chain(switches.filter(|end| *end < linked));
    let mut routes = Routes::towards(destinations, linked, &scenario.links);
    let gateways =
        scenario.beams.iter().flat_map(|beam| beam.terminals.clone().map(|_| beam.gateway));
    routes.gateways = gateways.collect();
    for address in &scenario.addresses {
        routes.add(*address, &scenario.links);
    }
    routes
}

impl Routes {
    /// Routes to `destinations` in a graph of `nodes` nodes.
    pub(crate) fn towards(
        destinations: impl IntoIterator<Item = usize>,
        nodes: usize,
        links: &[Link],
    ) -> Self {
        let mut next = vec![vec![None; nodes]; nodes];
        let mut wanted: Vec<_> = destinations.into_iter().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let hops = outgoing(nodes, links);
        let branches = Branches::of(&hops, links);
        let needed = branches.needed(&wanted, links);
        for &to in &needed {
            let Some(last) = branches.hop_to[to] else {
                let costs = costs_to(to, &hops, links);
                for (from, row) in next.iter_mut().enumerate().filter(|(from, _)| *from != to) {
                    row[to] = hops[from].iter().copied().find(|hop| is_best(*hop, links, &costs));
                }
                continue;
            };
            let before = last.from(links);
            for (from, row) in next.iter_mut().enumerate().filter(|(from, _)| *from != to) {
                row[to] = if from == before { Some(last) } else { row[before] };
            }
        }
        for to in needed.into_iter().filter(|to| wanted.binary_search(to).is_err()) {
            next.iter_mut().for_each(|row| row[to] = None);
        }
        Self { next, gateways: Vec::new() }
    }

    /// The node that links join at which a node is: the gateway of a terminal.
    fn place(&self, node: usize) -> usize {
        node.checked_sub(self.next.len()).map_or(node, |terminal| self.gateways[terminal])
    }

    /// The place of a destination in a row.
    fn column(&self, to: usize) -> usize {
        match to.checked_sub(self.next.len()) {
            None => to,
            Some(terminal) => match self.gateways.get(terminal) {
                Some(gateway) => *gateway,
                None => to - self.gateways.len(),
            },
        }
    }

    /// Returns true if packets can go from one node to another.
    pub fn leads(&self, from: usize, to: usize) -> bool {
        let is_beam = from != to && self.place(from) == self.column(to);
        is_beam || self.next(from, to).is_some()
    }

    /// Adds an address as the next destination.
    fn add(&mut self, address: Address, links: &[Link]) {
        let Address { node: host, via } = address;
        let last: Vec<_> = self.path(via, host, links).iter().map(|hop| hop.from(links)).collect();
        for (node, row) in self.next.iter_mut().enumerate() {
            let hop = if node == host || last.contains(&node) { row[host] } else { row[via] };
            row.push(hop);
        }
    }

    /// Returns true if packets on one of these ways take `hop`.
    pub fn passes(&self, ways: impl IntoIterator<Item = Way>, hop: Hop, links: &[Link]) -> bool {
        ways.into_iter().any(|(from, to)| self.path(from, to, links).contains(&hop))
    }

    /// The hop that `node` takes towards `to`; `None` at the destination and where no route leads.
    /// The hops of a terminal are those of its gateway.
    pub fn next(&self, node: usize, to: usize) -> Option<Hop> {
        self.next[self.place(node)][self.column(to)]
    }

    /// The hops over links from `from` to `to`; empty where no route leads. Beams are no links.
    pub fn path(&self, from: usize, to: usize, links: &[Link]) -> Vec<Hop> {
        let mut node = from;
        let mut path = Vec::new();
        while let Some(hop) = self.next(node, to) {
            path.push(hop);
            node = hop.to(links);
        }
        path
    }

    /// Returns true for a terminal of a beam.
    pub fn is_terminal(&self, node: usize) -> bool {
        node.checked_sub(self.next.len()).is_some_and(|place| place < self.gateways.len())
    }

    /// The nodes on the way from `from` to `to`, both included; a terminal is joined to its
    /// gateway. None are between a terminal and the host behind it.
    pub fn nodes(&self, from: usize, to: usize, links: &[Link]) -> Vec<usize> {
        if from == to {
            return vec![from];
        }
        let hops = self.path(from, to, links).into_iter().map(|hop| hop.to(links));
        let before = self.is_terminal(from).then_some(from).into_iter();
        let after = self.is_terminal(to).then_some(to);
        before.chain([self.place(from)]).chain(hops).chain(after).collect()
    }

    /// The nodes that forward packets from `from` to `to`. The host behind a terminal is the end,
    /// and the terminal forwards.
    pub fn forwards(&self, (from, to): Way, links: &[Link]) -> Vec<usize> {
        let mut nodes = self.nodes(from, to, links);
        if !self.is_terminal(to) {
            nodes.pop();
        }
        if !nodes.is_empty() && !self.is_terminal(from) {
            nodes.remove(0);
        }
        if from == to { Vec::new() } else { nodes }
    }

    /// The split proxies that packets from `from` to `to` cross from one side to the other, with
    /// the sides on which they come and go.
    pub fn crossed(
        &self,
        from: usize,
        to: usize,
        scenario: &Scenario,
    ) -> Vec<(usize, [SideName; 2])> {
        let sides = self.way(from, to, scenario);
        let sides = sides.windows(3).filter_map(|way| {
            let &[before, Neighbour::Node(node), after] = way else { return None };
            let proxy = scenario.nodes[node].proxy.as_ref()?;
            let (before, after) = (proxy.side_of(before)?, proxy.side_of(after)?);
            (before != after).then_some((node, [before, after]))
        });
        sides.collect()
    }

    /// The nodes on the way from `from` to `to`, both included, with the beams between them. The
    /// host behind a terminal is an end of its own.
    fn way(&self, from: usize, to: usize, scenario: &Scenario) -> Vec<Neighbour> {
        // From the gateway on.
        let beam = |end| {
            let (beam, _) = scenario.beam_of(end)?;
            Some([Neighbour::Beam(beam), Neighbour::Node(end), Neighbour::Host])
        };
        let hops = self.path(from, to, &scenario.links).into_iter();
        let nodes = hops.map(|hop| Neighbour::Node(hop.to(&scenario.links)));
        let first = Neighbour::Node(self.place(from));
        let before = beam(from).into_iter().flat_map(|way| way.into_iter().rev());
        let after = beam(to).into_iter().flatten();
        before.chain([first]).chain(nodes).chain(after).collect()
    }
}

/// Delay in nanoseconds, then hops. Compared in this order.
type Cost = (u128, u32);

/// The cost of going on from the far end of `hop`, plus that of the hop.
fn through(hop: Hop, links: &[Link], rest: Cost) -> Cost {
    (rest.0 + u128::from(hop.direction(links).delay.as_nanos()), rest.1 + 1)
}

fn is_best(hop: Hop, links: &[Link], costs: &[Option<Cost>]) -> bool {
    let rest = costs[hop.to(links)];
    rest.is_some_and(|rest| costs[hop.from(links)] == Some(through(hop, links, rest)))
}

/// The hops out of each node, in the order of the file.
fn outgoing(nodes: usize, links: &[Link]) -> Vec<Vec<Hop>> {
    let mut hops = vec![Vec::new(); nodes];
    for (i, link) in (0u32..).zip(links) {
        for forward in [true, false] {
            hops[link.ends[usize::from(!forward)]].push(Hop { link: i, forward });
        }
    }
    hops
}

/// Branches of a graph: trees that one link joins to the rest, such as a thousand homes at a
/// gateway. All routes to a node of a branch pass the node before it, so they are the routes to
/// that one, and a hop more.
struct Branches {
    /// The hop that leads to a node of a branch; `None` for nodes of the rest.
    hop_to: Vec<Option<Hop>>,
    /// Nodes of branches, those at the ends first.
    order: Vec<usize>,
}

impl Branches {
    /// Takes nodes with one link away, until none is left.
    fn of(hops: &[Vec<Hop>], links: &[Link]) -> Self {
        let mut degrees: Vec<_> = hops.iter().map(Vec::len).collect();
        let mut hop_to: Vec<Option<Hop>> = vec![None; hops.len()];
        let mut is_taken = vec![false; hops.len()];
        let mut order: Vec<_> = (0..hops.len()).filter(|node| degrees[*node] == 1).collect();
        let mut done = 0;
        while let Some(&node) = order.get(done) {
            done += 1;
            is_taken[node] = true;
            // None for the last node of a graph that is a tree.
            let Some(away) = hops[node].iter().find(|hop| !is_taken[hop.to(links)]) else {
                continue;
            };
            let before = away.to(links);
            hop_to[node] = Some(Hop { forward: !away.forward, ..*away });
            degrees[before] -= 1;
            if degrees[before] == 1 {
                order.push(before);
            }
        }
        Self { hop_to, order }
    }

    /// The destinations `wanted`, and the nodes before them: those of the rest first, and each node
    /// of a branch behind the one before it.
    fn needed(&self, wanted: &[usize], links: &[Link]) -> Vec<usize> {
        let mut is_needed = vec![false; self.hop_to.len()];
        for &to in wanted {
            let mut next = Some(to);
            while let Some(node) = next.filter(|node| !is_needed[*node]) {
                is_needed[node] = true;
                next = self.hop_to[node].map(|hop| hop.from(links));
            }
        }
        let of_rest = (0..is_needed.len()).filter(|node| self.hop_to[*node].is_none());
        let of_branches = self.order.iter().rev().copied();
        let of_branches = of_branches.filter(|node| self.hop_to[*node].is_some());
        of_rest.chain(of_branches).filter(|node| is_needed[*node]).collect()
    }
}

/// The least cost from each node to `to` (Dijkstra, against the direction of travel).
fn costs_to(to: usize, hops: &[Vec<Hop>], links: &[Link]) -> Vec<Option<Cost>> {
    let mut costs: Vec<Option<Cost>> = vec![None; hops.len()];
    let mut open = BinaryHeap::from([Reverse(((0, 0), to))]);
    while let Some(Reverse((cost, node))) = open.pop() {
        if costs[node].is_some() {
            continue;
        }
        costs[node] = Some(cost);
        for hop in &hops[node] {
            let towards = Hop { forward: !hop.forward, ..*hop };
            open.push(Reverse((through(towards, links, cost), towards.from(links))));
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq, prop_assume, proptest};

    use super::*;

    /// The nodes on the way from `from` to `to` in a scenario with these links.
    fn way(links: &[(&str, &str, &str)], from: &str, to: &str) -> Vec<String> {
        let links: Vec<_> = links
            .iter()
            .map(|(a, b, delay)| {
                serde_json::json!({ "between": [a, b], "rate": "1Mbit/s", "delay": delay })
            })
            .collect();
        let json = serde_json::json!({
            "link": links,
            "flow": [{ "from": from, "to": to, "controller": "reno", "traffic": { "bulk": "1B" } }],
        });
        let scenario = Scenario::from_json(&json, &[]).unwrap();
        let flow = &scenario.flows[0];
        let path = routes(&scenario).path(flow.from, flow.to, &scenario.links);
        path.iter().map(|hop| scenario.nodes[hop.to(&scenario.links)].name.clone()).collect()
    }

    #[test]
    fn the_least_delay_wins_over_the_fewest_hops() {
        let links = [("a", "b", "250ms"), ("a", "c", "10ms"), ("c", "b", "10ms")];
        assert_eq!(way(&links, "a", "b"), ["c", "b"]);
    }

    #[test]
    fn among_equal_delays_the_fewest_hops_win() {
        let links = [("a", "c", "10ms"), ("c", "b", "10ms"), ("a", "b", "20ms")];
        assert_eq!(way(&links, "a", "b"), ["b"]);
    }

    #[test]
    fn among_equal_routes_the_first_link_in_the_file_wins() {
        let links = [("d", "b", "1ms"), ("c", "b", "1ms"), ("a", "d", "1ms"), ("a", "c", "1ms")];
        assert_eq!(way(&links, "a", "b"), ["d", "b"]);
        let links = [("d", "b", "1ms"), ("c", "b", "1ms"), ("a", "c", "1ms"), ("a", "d", "1ms")];
        assert_eq!(way(&links, "a", "b"), ["c", "b"]);
    }

    #[test]
    fn links_without_delay_make_no_loops() {
        let links = [("a", "c", "0s"), ("c", "d", "0s"), ("d", "a", "0s"), ("d", "b", "0s")];
        assert_eq!(way(&links, "a", "b"), ["d", "b"]);
    }

    /// The routes with a search for each destination.
    fn searched(wanted: &[usize], nodes: usize, links: &[Link]) -> Routes {
        let hops = outgoing(nodes, links);
        let mut next = vec![vec![None; nodes]; nodes];
        for &to in wanted {
            let costs = costs_to(to, &hops, links);
            for from in (0..nodes).filter(|from| *from != to) {
                next[from][to] =
                    hops[from].iter().copied().find(|hop| is_best(*hop, links, &costs));
            }
        }
        Routes { next, gateways: Vec::new() }
    }

    proptest! {
        /// Graphs with few links more than nodes have long branches.
        #[test]
        fn routes_over_branches_are_those_of_a_search(
            ends in vec((0usize..14, 0usize..14, 0u64..3, 0u64..3), 1..18),
            wanted in vec(any::<bool>(), 14),
        ) {
            let mut joined = BTreeSet::new();
            let links: Vec<_> = ends
                .iter()
                .filter(|(a, b, ..)| a != b && joined.insert([*a.min(b), *a.max(b)]))
                .map(|(a, b, there, back)| serde_json::json!({
                    "between": [format!("n{a}"), format!("n{b}")], "rate": "1Mbit/s",
                    "delay": format!("{there}ms"), "backward": { "delay": format!("{back}ms") },
                }))
                .collect();
            prop_assume!(!links.is_empty());
            let [from, to] = [0, 1].map(|end| links[0]["between"][end].clone());
            let json = serde_json::json!({
                "link": links,
                "flow": [{
                    "from": from, "to": to, "controller": "reno", "traffic": { "bulk": "1B" },
                }],
            });
            let scenario = Scenario::from_json(&json, &[]).unwrap();
            let nodes = scenario.linked_nodes();
            let wanted: Vec<_> = (0..nodes).filter(|node| wanted[*node]).collect();
            let found = Routes::towards(wanted.iter().copied(), nodes, &scenario.links);
            prop_assert_eq!(found, searched(&wanted, nodes, &scenario.links));
        }
    }

    #[test]
    fn each_direction_has_its_own_route() {
        let json = serde_json::json!({
            "link": [
                { "between": ["a", "b"], "rate": "1Mbit/s", "delay": "250ms",
                  "backward": { "delay": "1ms" } },
                { "between": ["a", "c"], "rate": "1Mbit/s", "delay": "10ms" },
                { "between": ["c", "b"], "rate": "1Mbit/s", "delay": "10ms" },
            ],
            "flow": [{ "from": "a", "to": "b", "controller": "reno", "traffic": { "bulk": "1B" } }],
        });
        let scenario = Scenario::from_json(&json, &[]).unwrap();
        let routes = routes(&scenario);
        assert_eq!(routes.path(0, 1, &scenario.links).len(), 2);
        assert_eq!(routes.path(1, 0, &scenario.links).len(), 1);
    }
}
