//! Split proxies: which flows they split, and the transport settings of their ends.
//!
//! A flow is split where it comes from a neighbour on one side of the gateway and goes on to one on
//! the other side, as the daemon does. All other flows cross unsplit.

mod neighbours;
mod terminals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use language::error::Problem;
use language::path::Path;
use middlebox::{Accept, AtLimit, BucketSettings, Policy};
use transport::Protocol;
use units::{Bytes, Rate};

use super::gateway::{self, Side};
use super::presets::{Values, Way};
use super::{Numbers, protocols};
use crate::document::{self, Document, NamedProxy};
use crate::model::{
    Flow, Gateway, GatewayEnd, Link, Middlebox, Neighbour, Node, Preset, Proxy, Scenario, SideName,
};
use crate::routes::{Routes, routes};
use neighbours::Around;

pub(super) use terminals::at_terminals;

/// A proxy as it is written in a `[[node]]`.
pub(super) struct Written {
    /// The name of the node, or of a group of terminals.
    name: String,
    sides: [Side; 2],
}

/// The written proxies, by the number of the node. Terminals of a group share one.
pub(super) type Sides = BTreeMap<usize, Arc<Written>>;

/// Sets the proxies of nodes that links join.
pub(super) fn proxies(
    document: &Document,
    numbers: &Numbers,
    links: &[Link],
    nodes: &mut [Node],
    problems: &mut Vec<Problem>,
) -> Sides {
    let mut sides = Sides::new();
    for (i, written) in document.node.iter().enumerate() {
        let proxy = written.proxy.as_ref().and_then(NamedProxy::resolve);
        let (Some(proxy), Some(&number)) = (proxy, numbers.get(&written.name.0)) else {
            continue;
        };
        let proxy = &*proxy;
        let path = Path::entry("node", i).key("proxy");
        problems.extend(alone(written, &nodes[number], &path));
        let of_node = sides_of(&written.name.0, proxy, &path, problems);
        let around = Around { document, numbers, links, node: number };
        if let Some(neighbours) = neighbours::neighbours(proxy, &around, &path, problems) {
            let found = settle(proxy, neighbours, &of_node.sides, &path, problems);
            nodes[number].proxy = Some(Arc::new(found));
        }
        sides.insert(number, Arc::new(of_node));
    }
    sides
}

/// Reads the sides of a proxy.
fn sides_of(
    name: &str,
    proxy: &document::Proxy,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Written {
    let side = |side: SideName| {
        Side::of(proxy.side(side), side, proxy.preset, path.key(side.key()), problems)
    };
    Written { name: name.to_owned(), sides: SideName::ALL.map(side) }
}

/// A proxy between these neighbours.
fn settle(
    proxy: &document::Proxy,
    neighbours: [Vec<Neighbour>; 2],
    sides: &[Side; 2],
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Proxy {
    problems.extend(needs_links(proxy, &neighbours, path));
    if let Some(known_for) = proxy.known_for.filter(|_| proxy.accept != Accept::EarlyIfKnown) {
        let expected = "accept = \"early-if-known\", or no `known_for`";
        let found = format!("\"{known_for}\"");
        problems.push(Problem::new(path.key("known_for"), expected, found));
    }
    let limits = &proxy.limits;
    if limits.at_limit.is_some() && limits.connections.is_none() {
        let path = path.key("limits").key("at_limit");
        problems.push(Problem::new(path, "`connections` with it", "no `connections`"));
    }
    if limits.connections.is_some() {
        problems.extend(cannot_pass(limits.at_limit.unwrap_or_default(), sides, path));
    }
    let policy = Policy::default();
    let policy = Policy {
        accept: proxy.accept,
        known_for: proxy.known_for.unwrap_or(policy.known_for),
        connect_timeout: proxy.connect_timeout.unwrap_or(policy.connect_timeout),
        connections: limits.connections,
        at_limit: limits.at_limit.unwrap_or(policy.at_limit),
    };
    let relay_buffer = limits.relay_buffer;
    let preset = proxy.preset;
    // `split` sets them, when the packets are known.
    let shared_rates = [None; 2];
    Proxy { neighbours, preset, policy, relay_buffer, shared_rates }
}

/// A connection that arrives over QUIC has no packets that could cross the gateway unsplit.
fn cannot_pass(at_limit: AtLimit, sides: &[Side; 2], path: &Path) -> Option<Problem> {
    let side = sides.iter().find(|side| side.protocol() == Protocol::Quic)?;
    (at_limit == AtLimit::Pass).then(|| {
        let path = path.key("limits").key("at_limit");
        let problem = Problem::new(path, "\"refuse\"", format!("{:?}", at_limit.name()));
        let name = side.name.key();
        problem.because(format!(
            "the {name} side has protocol = \"quic\", and nothing crosses it unsplit"
        ))
    })
}

/// The problem of a node whose other settings would have no effect.
fn alone(written: &document::Node, node: &Node, path: &Path) -> Option<Problem> {
    let expected = match node.middlebox {
        _ if written.forwarding.is_some() => "a node without `forwarding`",
        None | Some(Middlebox::AckFilter(_)) => return None,
        Some(_) => "a node without a `middlebox`, or with \"ack-filter\"",
    };
    let problem = Problem::new(path.clone(), expected, format!("{:?}", node.name));
    Some(problem.because("what a proxy ends is not forwarded"))
}

/// A preset whose values are those of links, on the side of a beam.
fn needs_links(
    proxy: &document::Proxy,
    neighbours: &[Vec<Neighbour>; 2],
    path: &Path,
) -> Option<Problem> {
    let preset = proxy.preset.filter(|preset| Values::is_of_links(*preset))?;
    let side = &neighbours[SideName::Satellite.index()];
    side.iter().any(|one| matches!(one, Neighbour::Beam(_))).then(|| {
        let pepsal = Preset::Pepsal.name();
        let expected = format!("{pepsal:?}, or keys of the sides, where a side is a beam");
        let found = format!("{:?}", preset.name());
        let problem = Problem::new(path.key("preset"), expected, found);
        problem.because("the preset has the rate and the round trip of links, and a beam has none")
    })
}

/// The gateways of a flow, which the copies of its `[[flow]]` share.
struct Shared {
    entry: usize,
    ends: [usize; 2],
    gateways: Arc<Vec<Gateway>>,
}

impl Shared {
    /// The gateways of another copy; `None` if it has others. Those at terminals are its own.
    fn of_copy(&self, entry: usize, ends: [usize; 2], sides: &Sides) -> Option<Arc<Vec<Gateway>>> {
        let proxy = |node: &usize| sides.get(node).map(Arc::as_ptr);
        let is_alike =
            entry == self.entry && ends.iter().map(proxy).eq(self.ends.iter().map(proxy));
        let changed = |node| {
            let place = self.ends.iter().position(|end| *end == node)?;
            Some(ends[place])
        };
        is_alike.then(|| match self.gateways.iter().any(|one| self.ends.contains(&one.node)) {
            false => self.gateways.clone(),
            true => {
                let of_copy = |one: &Gateway| Gateway {
                    node: changed(one.node).unwrap_or(one.node),
                    ..one.clone()
                };
                self.gateways.iter().map(of_copy).collect::<Vec<_>>().into()
            }
        })
    }
}

/// Enters the gateways of all flows.
pub(super) fn split(
    scenario: &mut Scenario,
    entries: &[usize],
    sides: &Sides,
    problems: &mut Vec<Problem>,
) {
    if sides.is_empty() {
        return;
    }
    let routes = routes(scenario);
    // The nodes that split flows, or would if no tunnel hid them.
    let mut used = BTreeSet::new();
    // The flows that each node splits.
    let mut flows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut last: Option<Shared> = None;
    for (number, &entry) in entries.iter().enumerate() {
        let flow = &scenario.flows[number];
        let ends = [flow.from, flow.to];
        let alike = last.as_ref().and_then(|last| last.of_copy(entry, ends, sides));
        let gateways = match alike {
            Some(gateways) => gateways,
            // Gateways relay TCP only.
            None if !flow.transport.is_tcp() => flow.gateways.clone(),
            None => gateways(scenario, &routes, flow, entry, sides, problems),
        };
        for gateway in gateways.iter() {
            used.insert(gateway.node);
            flows.entry(gateway.node).or_default().push(number);
        }
        if flow.tunnel.is_some() {
            let ways = [(flow.from, flow.to), (flow.to, flow.from)];
            let nodes = ways.map(|(from, to)| routes.nodes(from, to, &scenario.links)).concat();
            let nodes = nodes.into_iter().filter(|node| sides.contains_key(node));
            used.extend(nodes.filter(|node| scenario.hides_from(&routes, flow, *node)));
        }
        last = Some(Shared { entry, ends, gateways: gateways.clone() });
        scenario.flows[number].gateways = gateways;
    }
    for (number, of_node) in sides {
        let flows = flows.get(number).map_or(&[][..], Vec::as_slice);
        share_rates(scenario, &routes, (*number, flows), &of_node.sides, problems);
    }
    if problems.is_empty() {
        problems.extend(unused(sides, &used, scenario, &routes));
    }
}

/// Proxies that split nothing.
fn unused(
    sides: &Sides,
    used: &BTreeSet<usize>,
    scenario: &Scenario,
    routes: &Routes,
) -> Vec<Problem> {
    let used: BTreeSet<_> =
        used.iter().filter_map(|node| sides.get(node)).map(Arc::as_ptr).collect();
    let mut found: Vec<&Arc<Written>> =
        sides.values().filter(|one| !used.contains(&Arc::as_ptr(one))).collect();
    found.dedup_by_key(|one| Arc::as_ptr(one));
    let crosses = |flow: &Flow, one: &Arc<Written>| {
        let nodes = routes.nodes(flow.from, flow.to, &scenario.links);
        let is_there = |node: &usize| sides.get(node).is_some_and(|other| Arc::ptr_eq(other, one));
        !flow.transport.is_tcp() && nodes.iter().any(is_there)
    };
    let problem = |one: &Arc<Written>| {
        let Written { name, sides: [terrestrial, _] } = &**one;
        let mut path = terrestrial.path.clone();
        path.0.pop();
        let expected = "a node that a flow over TCP crosses from one side to the other";
        let problem = Problem::new(path, expected, format!("{name:?}"));
        match scenario.flows.iter().find(|flow| crosses(flow, one)) {
            Some(flow) => problem.because(format!(
                "{:?} is over {}, which proxies do not split",
                flow.name,
                flow.transport.protocol().name()
            )),
            None => problem,
        }
    };
    found.into_iter().map(problem).collect()
}

/// Sets the rates that the connections of each side of node number `number` share. `flows`: numbers
/// of the flows that the node splits.
fn share_rates(
    scenario: &mut Scenario,
    routes: &Routes,
    (number, flows): (usize, &[usize]),
    sides: &[Side; 2],
    problems: &mut Vec<Problem>,
) {
    let mut shared = [None; 2];
    for side in sides {
        let Some(rate) =
            side.rate.or_else(|| rate_of_links(scenario, routes, (number, flows), side, problems))
        else {
            continue;
        };
        let gateways = flows.iter().flat_map(|flow| scenario.flows[*flow].gateways.iter());
        let ends = gateways.filter(|one| one.node == number).flat_map(|one| &one.ends);
        let of_side = ends.filter(|end| end.side == side.name);
        let lengths = of_side.map(|end| end.transport.plan().lengths().longest);
        let Some(longest) = lengths.max() else { continue };
        let packet = Bytes(longest + u64::from(scenario.ip.header_bytes()));
        let burst = side.burst.unwrap_or_else(|| BucketSettings::usual_burst(rate, packet));
        if burst < packet {
            let expected = format!("at least a full packet, {packet}");
            let problem = Problem::new(side.path.key("burst"), expected, format!("\"{burst}\""));
            problems.push(problem.because("a packet leaves when the bucket is that full"));
        }
        shared[side.name.index()] = Some(BucketSettings { rate, burst, packet });
    }
    if let Some(proxy) = &mut scenario.nodes[number].proxy {
        Arc::make_mut(proxy).shared_rates = shared;
    }
}

/// The rate of the links of a side, if its preset takes that: all legs must have the same.
fn rate_of_links(
    scenario: &Scenario,
    routes: &Routes,
    (number, flows): (usize, &[usize]),
    side: &Side,
    problems: &mut Vec<Problem>,
) -> Option<Rate> {
    let preset = side.preset.filter(|preset| Values::has_rate(*preset, side.name))?;
    let rate = |flow: &Flow| {
        let place = flow.gateways.iter().position(|one| one.node == number)?;
        let of_side = |end: &GatewayEnd| end.side == side.name;
        let towards = flow.gateways[place].ends.iter().position(of_side)?;
        let peer = stops(flow, flow.gateways.iter().map(|one| one.node))[place + 2 * towards];
        way(scenario, routes, flow, number, peer).packet_rate()
    };
    let mut rates = flows.iter().filter_map(|flow| rate(&scenario.flows[*flow]));
    let first = rates.next()?;
    if let Some(other) = rates.find(|other| *other != first) {
        let expected = format!("`{}.rate` with it, as legs have different rates", side.name.key());
        let found = format!("{:?} and legs of {first} and {other}", preset.name());
        problems.push(Problem::new(side.place_of_preset(), expected, found));
    }
    Some(first)
}

/// The nodes at which the connections of a flow end, in the order in which the data crosses them.
fn stops(flow: &Flow, gateways: impl Iterator<Item = usize>) -> Vec<usize> {
    [flow.from].into_iter().chain(gateways).chain([flow.to]).collect()
}

/// The way from a gateway to the other end of a leg.
fn way<'a>(
    scenario: &'a Scenario,
    routes: &Routes,
    flow: &'a Flow,
    node: usize,
    peer: usize,
) -> Way<'a> {
    let [there, back] =
        [(node, peer), (peer, node)].map(|(from, to)| routes.path(from, to, &scenario.links));
    Way { scenario, flow, there, back }
}

/// The gateways of a flow.
fn gateways(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    entry: usize,
    sides: &Sides,
    problems: &mut Vec<Problem>,
) -> Arc<Vec<Gateway>> {
    let seen = |from: usize, to: usize| {
        let mut crossed = routes.crossed(from, to, scenario);
        crossed.retain(|(node, _)| !scenario.hides_from(routes, flow, *node));
        crossed
    };
    let there = seen(flow.from, flow.to);
    let mut back = seen(flow.to, flow.from);
    back.iter_mut().for_each(|(_, sides)| sides.reverse());
    back.reverse();
    if let Some((node, _)) = difference(&there, &back) {
        let path = Path::entry("flow", entry).key("to");
        let expected = format!(
            "data and ACKs that cross the proxy at {:?} both, between the same sides",
            scenario.nodes[node].name
        );
        let found = format!("{:?}", scenario.nodes[flow.to].name);
        problems.push(Problem::new(path, expected, found));
    }
    if !there.is_empty() && flow.is_best_effort() {
        let table = Path::entry("flow", entry).key("transport").key("scps");
        problems.push(protocols::no_best_effort(&table));
    }
    let stops = stops(flow, there.iter().map(|(node, _)| *node));
    let end = |node: usize, peer: usize, side: SideName, problems: &mut Vec<Problem>| {
        let side = &sides[&node].sides[side.index()];
        let values = Values::of(side, &way(scenario, routes, flow, node, peer));
        gateway::end(flow, side, values, scenario.ip, problems)
    };
    let gateway = |(place, (node, [before, after])): (usize, (usize, [SideName; 2]))| Gateway {
        node,
        // The gateway is the stop behind `place`.
        ends: [
            end(node, stops[place], before, problems),
            end(node, stops[place + 2], after, problems),
        ],
        relay_buffer: scenario.nodes[node].proxy.as_ref().map_or(Bytes(0), |one| one.relay_buffer),
    };
    let gateways: Vec<_> = there.into_iter().enumerate().map(gateway).collect();
    problems.extend(detour(scenario, routes, flow, &gateways, entry));
    problems.extend(discord(scenario, flow, &gateways, sides, entry));
    problems.extend(unlike_tickets(scenario, &gateways, sides));
    // Flows without gateways share the list of none.
    if gateways.is_empty() { flow.gateways.clone() } else { gateways.into() }
}

/// Both ends of a leg with QUIC must remember earlier connections, or none.
fn unlike_tickets(scenario: &Scenario, gateways: &[Gateway], sides: &Sides) -> Option<Problem> {
    gateways.windows(2).find_map(|pair| {
        let ends =
            [(&pair[0], 1), (&pair[1], 0)].map(|(one, place)| (one.node, one.ends[place].side));
        let [here, there] = ends.map(|(node, side)| &sides[&node].sides[side.index()]);
        let remembers = |side: &Side| side.quic().map(|settings| settings.zero_rtt);
        let (here_has, there_has) = (remembers(here)?, remembers(there)?);
        (here_has != there_has).then(|| {
            let path = there.path.key("quic").key("zero_rtt");
            let peer = &scenario.nodes[pair[0].node].name;
            let expected = format!("{here_has}, as at the {} side of {peer:?}", here.name.key());
            Problem::new(path, expected, there_has.to_string())
        })
    })
}

/// Both ends of a leg must speak the same protocol.
fn discord(
    scenario: &Scenario,
    flow: &Flow,
    gateways: &[Gateway],
    sides: &Sides,
    entry: usize,
) -> Option<Problem> {
    // The ends in the order of the data; a host has no side.
    let of_gateway = |one: &Gateway| one.ends.each_ref().map(|end| (one.node, Some(end.side)));
    let of_gateways = gateways.iter().flat_map(of_gateway);
    let ends = [(flow.from, None)].into_iter().chain(of_gateways).chain([(flow.to, None)]);
    let ends: Vec<_> = ends.collect();
    let side = |(node, name): (usize, Option<SideName>)| {
        name.map(|name| &sides[&node].sides[name.index()])
    };
    let protocol = |end| side(end).map_or(flow.protocol(), Side::protocol);
    let name = |(node, side): (usize, Option<SideName>)| match side {
        Some(side) => format!("the {} side of {:?}", side.key(), scenario.nodes[node].name),
        None => format!("the host {:?}", scenario.nodes[node].name),
    };
    let leg = ends.chunks(2).find(|leg| protocol(leg[0]) != protocol(leg[1]))?;
    // TCP needs no reason, so the end with the other protocol is at fault.
    let is_other = |end: &&(usize, Option<SideName>)| protocol(**end) != Protocol::Tcp;
    let fault = *leg.iter().find(is_other)?;
    let peer = *leg.iter().find(|end| **end != fault)?;
    let path = match side(fault) {
        Some(side) => side.place_of_protocol(),
        None => Path::entry("flow", entry).key("transport").key("protocol"),
    };
    let (here, there) = (protocol(fault).name(), protocol(peer).name());
    let peers = name(peer);
    let expected = match (side(fault), side(peer)) {
        (Some(_), None) => format!(
            "a second proxy with the same protocol before {peers}{}",
            match protocol(fault).entry().has_segments_of_tcp {
                true => ", or its sides and `flow.transport.protocol` with it",
                // Connections of hosts with another protocol are not split.
                false => "",
            }
        ),
        (None, _) => format!("{there:?}, or {peers} with the same `protocol`"),
        (Some(_), Some(_)) => format!("{peers} with the same protocol"),
    };
    let problem = Problem::new(path, expected, format!("{here:?}"));
    Some(problem.because(format!("{peers} has protocol = {there:?}, and a leg has one protocol")))
}

fn difference<T: PartialEq + Copy>(a: &[T], b: &[T]) -> Option<T> {
    let missing = |all: &[T], one: &T| !all.contains(one);
    let first = a.iter().find(|one| missing(b, one));
    let pair = || a.iter().zip(b).find(|(a, b)| a != b).map(|(a, _)| a);
    first.or_else(|| b.iter().find(|one| missing(a, one))).or_else(pair).copied()
}

/// The way over the gateways must be the way without them: among equal routes, another one might
/// lead to a gateway than through it.
fn detour(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    gateways: &[Gateway],
    entry: usize,
) -> Option<Problem> {
    let nodes = || gateways.iter().map(|gateway| gateway.node);
    let stops: Vec<_> = [flow.from].into_iter().chain(nodes()).chain([flow.to]).collect();
    let links = &scenario.links;
    let by_legs = |stops: &[usize]| -> Vec<_> {
        stops.windows(2).flat_map(|ends| routes.path(ends[0], ends[1], links)).collect()
    };
    let reversed: Vec<_> = stops.iter().rev().copied().collect();
    let is_same = by_legs(&stops) == routes.path(flow.from, flow.to, links)
        && by_legs(&reversed) == routes.path(flow.to, flow.from, links);
    (!is_same).then(|| {
        let path = Path::entry("flow", entry).key("to");
        let found = format!("{:?}", scenario.nodes[flow.to].name);
        let problem = Problem::new(path, "one route that is best, over the proxy", found);
        problem.because("routes of equal delay lead to the proxy and through it on different links")
    })
}
