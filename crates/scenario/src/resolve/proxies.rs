//! Split proxies: which flows they split, and the TCP settings of their ends.
//!
//! A flow is split where it comes from a neighbour on one side of the gateway and goes on to one on
//! the other side, as the daemon does. All other flows cross unsplit.

use std::collections::BTreeMap;
use std::sync::Arc;

use language::error::Problem;
use language::path::Path;
use middlebox::{Accept, AtLimit, BucketSettings, Policy};
use transport::Protocol;
use units::{Bytes, Rate, Span};

use super::gateway::{self, Side};
use super::presets::{Values, Way};
use super::{Numbers, flows, protocols};
use crate::document::{self, Document, NamedProxy};
use crate::model::{
    Flow, Gateway, GatewayEnd, Link, Middlebox, Neighbour, Node, Preset, Proxy, Scenario, SideName,
};
use crate::routes::{Routes, routes};

/// The shortest delay to a geostationary satellite: 35 786 km at the speed of light are 119.4 ms.
const GEO_HOP: Span = Span::from_millis(119);

/// The written sides of the proxies, by the number of the node.
pub(super) type Sides = BTreeMap<usize, [Side; 2]>;

/// Sets the proxies of nodes.
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
        sides.insert(
            number,
            SideName::ALL.map(|name| {
                Side::of(proxy.side(name), name, proxy.preset, path.key(name.key()), problems)
            }),
        );
        let around = Around { document, numbers, links, node: number };
        let Some(neighbours) = neighbours(proxy, &around, &path, problems) else {
            continue;
        };
        problems.extend(needs_links(proxy, &neighbours, &path));
        if let Some(known_for) = proxy.known_for.filter(|_| proxy.accept != Accept::EarlyIfKnown) {
            let expected = "accept = \"early-if-known\", or no `known_for`";
            problems.push(Problem::new(
                path.key("known_for"),
                expected,
                format!("\"{known_for}\""),
            ));
        }
        let limits = &proxy.limits;
        if limits.at_limit.is_some() && limits.connections.is_none() {
            let path = path.key("limits").key("at_limit");
            problems.push(Problem::new(path, "`connections` with it", "no `connections`"));
        }
        if limits.connections.is_some() {
            let at_limit = limits.at_limit.unwrap_or_default();
            problems.extend(cannot_pass(at_limit, &sides[&number], &path));
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
        let proxy = Proxy { neighbours, preset, policy, relay_buffer, shared_rates };
        nodes[number].proxy = Some(Arc::new(proxy));
    }
    sides
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
        let expected = format!("{pepsal:?}, or keys of the sides, at the gateway of a beam");
        let found = format!("{:?}", preset.name());
        let problem = Problem::new(path.key("preset"), expected, found);
        problem.because("the preset has the rate and the round trip of links, and a beam has none")
    })
}

/// The graph that a proxy is in, and its node.
struct Around<'a> {
    document: &'a Document,
    numbers: &'a Numbers,
    links: &'a [Link],
    node: usize,
}

impl Around<'_> {
    /// The neighbours over links, and the beams of the gateway.
    fn neighbours(&self) -> Vec<Neighbour> {
        let nodes = self.links.iter().filter_map(|link| other_end(link, self.node));
        let mut all: Vec<_> = nodes.map(Neighbour::Node).collect();
        all.sort_unstable();
        all.dedup();
        let beams = self.document.beam.iter().enumerate();
        let own = beams.filter(|(_, beam)| self.numbers.get(&beam.gateway.0) == Some(&self.node));
        all.extend(own.map(|(beam, _)| Neighbour::Beam(beam)));
        all
    }

    /// The neighbour with a name. A node comes before a beam of the same name.
    fn named(
        &self,
        name: &str,
        path: Path,
        all: &[Neighbour],
        problems: &mut Vec<Problem>,
    ) -> Option<Neighbour> {
        let beam = self.document.beam.iter().position(|beam| beam.name.0 == name);
        let found = match (self.numbers.get(name), beam) {
            (Some(node), _) => Neighbour::Node(*node),
            (None, Some(beam)) => Neighbour::Beam(beam),
            (None, None) => return flows::unknown(name, self.names(), path, problems),
        };
        if !all.contains(&found) {
            let expected = match found {
                Neighbour::Node(_) => "a node that a link joins with this one",
                Neighbour::Beam(_) => "a beam whose gateway this node is",
            };
            problems.push(Problem::new(path, expected, format!("{name:?}")));
        }
        Some(found)
    }

    /// The names of all nodes and of the beams of this one.
    fn names(&self) -> Vec<&str> {
        let beams = self.document.beam.iter();
        let own = beams.filter(|beam| self.numbers.get(&beam.gateway.0) == Some(&self.node));
        let nodes = self.numbers.keys().map(String::as_str);
        nodes.chain(own.map(|beam| beam.name.0.as_str())).collect()
    }

    /// The name of a neighbour.
    fn name(&self, neighbour: Neighbour) -> &str {
        match neighbour {
            Neighbour::Beam(beam) => &self.document.beam[beam].name.0,
            Neighbour::Node(node) => self
                .numbers
                .iter()
                .find(|(_, number)| **number == node)
                .map_or("", |(name, _)| name),
        }
    }

    /// Those of the neighbours `all` that must be on the side of the satellite, where no side is
    /// written; the reason if there is none.
    fn satellite(&self, all: &[Neighbour]) -> Result<Vec<Neighbour>, String> {
        let node = self.node;
        let has_proxy = |neighbour: &Neighbour| {
            let Neighbour::Node(number) = neighbour else { return false };
            let of_number = |one: &&document::Node| self.numbers.get(&one.name.0) == Some(number);
            let written = self.document.node.iter().find(of_number);
            written.and_then(|one| one.proxy.as_ref()?.resolve()).is_some()
        };
        let is_far = |neighbour: &Neighbour| {
            let Neighbour::Node(number) = neighbour else { return false };
            let between = |link: &&Link| other_end(link, node) == Some(*number);
            let links = self.links.iter().filter(between);
            links.flat_map(|link| [&link.forward, &link.backward]).any(|one| one.delay >= GEO_HOP)
        };
        let is_beam = |neighbour: &Neighbour| matches!(neighbour, Neighbour::Beam(_));
        let of = |wanted: &dyn Fn(&Neighbour) -> bool| -> Vec<Neighbour> {
            all.iter().copied().filter(|one| wanted(one)).collect()
        };
        let (with_proxy, far, beams) = (of(&has_proxy), of(&is_far), of(&is_beam));
        match (with_proxy.as_slice(), far.as_slice(), beams.as_slice()) {
            ([], [], [_, ..]) => Ok(beams),
            (_, _, [_, ..]) => Err("the node is the gateway of a beam, and has another neighbour \
                                    with a proxy of its own or over a satellite"
                .to_owned()),
            ([only], _, []) | ([], [only], []) if all.len() > 1 => Ok(vec![*only]),
            ([], [], []) => Err(format!(
                "no neighbour has a proxy of its own, and no link of the node has a delay of {GEO_HOP} or more"
            )),
            ([], _, []) => {
                Err(format!("{} links of the node have a delay of {GEO_HOP} or more", far.len()))
            }
            _ => Err(format!("{} neighbours have a proxy of their own", with_proxy.len())),
        }
    }
}

/// The node at the other end of a link of `node`.
fn other_end(link: &Link, node: usize) -> Option<usize> {
    match link.ends {
        [a, b] if a == node => Some(b),
        [a, b] if b == node => Some(a),
        _ => None,
    }
}

/// The neighbours of the node on each side.
fn neighbours(
    proxy: &document::Proxy,
    around: &Around<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<[Vec<Neighbour>; 2]> {
    let all = around.neighbours();
    let before = problems.len();
    let named = SideName::ALL.map(|side| {
        let towards = proxy.side(side).towards.as_ref()?;
        let path = path.key(side.key()).key("towards");
        let names = towards.iter().enumerate();
        let of_side =
            names.filter_map(|(i, name)| around.named(&name.0, path.index(i), &all, problems));
        Some(of_side.collect::<Vec<_>>())
    });
    let rest = |taken: &[Neighbour]| -> Vec<_> {
        all.iter().copied().filter(|one| !taken.contains(one)).collect()
    };
    let found: [Vec<Neighbour>; 2] = match named {
        [Some(terrestrial), Some(satellite)] => [terrestrial, satellite],
        [Some(terrestrial), None] => {
            let satellite = rest(&terrestrial);
            [terrestrial, satellite]
        }
        [None, Some(satellite)] => [rest(&satellite), satellite],
        [None, None] => match around.satellite(&all) {
            Ok(satellite) => [rest(&satellite), satellite],
            Err(reason) => {
                let path = path.key(SideName::Satellite.key()).key("towards");
                let expected = "the neighbours on the side of the satellite";
                problems.push(Problem::new(path, expected, "nothing").because(reason));
                return None;
            }
        },
    };
    if problems.len() > before {
        return None;
    }
    let twice = found[1].iter().position(|one| found[0].contains(one));
    if let Some(place) = twice {
        let path = path.key(SideName::Satellite.key()).key("towards").index(place);
        let found = format!("{:?}", around.name(found[1][place]));
        problems.push(Problem::new(path, "a neighbour that is not on the other side", found));
        return None;
    }
    let (empty, full) = match (found[0].is_empty(), found[1].is_empty()) {
        (true, _) => (SideName::Terrestrial, SideName::Satellite),
        (_, true) => (SideName::Satellite, SideName::Terrestrial),
        _ => return Some(found),
    };
    let expected = format!("a neighbour for the {} side", empty.key());
    let problem = Problem::new(path.key(full.key()).key("towards"), expected, "all neighbours");
    problems.push(problem);
    None
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
    let mut used: Vec<usize> = Vec::new();
    let mut last: Option<(usize, Arc<[Gateway]>)> = None;
    for (number, entry) in entries.iter().enumerate() {
        let gateways = match &last {
            Some((before, gateways)) if before == entry => gateways.clone(),
            // Gateways relay TCP only.
            _ if !scenario.flows[number].transport.is_tcp() => Arc::default(),
            _ => gateways(scenario, &routes, &scenario.flows[number], *entry, sides, problems),
        };
        used.extend(gateways.iter().map(|gateway| gateway.node));
        let flow = &scenario.flows[number];
        used.extend(sides.keys().filter(|node| scenario.hides_from(&routes, flow, **node)));
        last = Some((*entry, gateways.clone()));
        scenario.flows[number].gateways = gateways;
    }
    for (number, of_node) in sides {
        share_rates(scenario, &routes, *number, of_node, problems);
    }
    for (number, [terrestrial, _]) in sides {
        if used.contains(number) || !problems.is_empty() {
            continue;
        }
        let name = &scenario.nodes[*number].name;
        let mut path = terrestrial.path.clone();
        path.0.pop();
        let expected = "a node that a flow crosses from one side to the other";
        problems.push(Problem::new(path, expected, format!("{name:?}")));
    }
}

/// Sets the rates that the connections of each side of node number `number` share.
fn share_rates(
    scenario: &mut Scenario,
    routes: &Routes,
    number: usize,
    sides: &[Side; 2],
    problems: &mut Vec<Problem>,
) {
    let mut shared = [None; 2];
    for side in sides {
        let Some(rate) =
            side.rate.or_else(|| rate_of_links(scenario, routes, number, side, problems))
        else {
            continue;
        };
        let gateways = scenario.flows.iter().flat_map(|flow| flow.gateways.iter());
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
    number: usize,
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
    let mut rates = scenario.flows.iter().filter_map(rate);
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
) -> Arc<[Gateway]> {
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
        let side = &sides[&node][side.index()];
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
    let gateways: Arc<[Gateway]> = there.into_iter().enumerate().map(gateway).collect();
    problems.extend(detour(scenario, routes, flow, &gateways, entry));
    problems.extend(discord(scenario, flow, &gateways, sides, entry));
    problems.extend(unlike_tickets(scenario, &gateways, sides));
    gateways
}

/// Both ends of a leg with QUIC must remember earlier connections, or none.
fn unlike_tickets(scenario: &Scenario, gateways: &[Gateway], sides: &Sides) -> Option<Problem> {
    gateways.windows(2).find_map(|pair| {
        let ends =
            [(&pair[0], 1), (&pair[1], 0)].map(|(one, place)| (one.node, one.ends[place].side));
        let [here, there] = ends.map(|(node, side)| &sides[&node][side.index()]);
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
    let side =
        |(node, name): (usize, Option<SideName>)| name.map(|name| &sides[&node][name.index()]);
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
