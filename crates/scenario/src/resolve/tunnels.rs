//! Tunnels of flows: their ends, their MTU, and packets that fit. Segments of TCP are fitted in
//! `mtu`.

use std::collections::BTreeMap;

use congestion::Specification;
use language::error::Problem;
use language::path::Path;
use language::tree::Tree;
use quic::{Choice, Congestion};
use transport::Protocol;
use wire::IpVersion;

use super::beams::Ends;
use super::flows;
use crate::document::{self, Document};
use crate::model::{Flow, Inside, OuterConnection, Scenario, Tunnel};
use crate::routes::{Hop, Routes, routes};

/// MTU of a path on which no link has one.
const USUAL_MTU: u16 = 1500;
/// The least datagram of QUIC with the header of UDP (RFC 9000 section 14).
const QUIC_DATAGRAM: u16 = 1200 + wire::udp::HEADER;
/// Most tunnels: each has two numbers of flows.
const MOST_TUNNELS: usize = 10_000;

/// The key of the tunnel of an entry.
fn key(entry: usize) -> Path {
    Path::entry("flow", entry).key("tunnel")
}

/// Gives `all` flows their tunnels, which are returned without their MTU.
pub(super) fn resolve(
    document: &Document,
    named: &Ends<'_>,
    all: &mut [Flow],
    entries: &[usize],
    problems: &mut Vec<Problem>,
) -> Vec<Tunnel> {
    let mut tunnels: Vec<Tunnel> = Vec::new();
    // Those between two nodes.
    let mut between: BTreeMap<[usize; 2], Vec<usize>> = BTreeMap::new();
    let mut last = None;
    for (flow, &entry) in all.iter_mut().zip(entries) {
        let written = document.flow[entry].tunnel.as_ref().and_then(document::Tunnel::resolve);
        let Some(settings) = written else { continue };
        // What is wrong with an entry is said once.
        let mut own = Vec::new();
        let outer = outer_connection(&settings, entry, &mut own);
        let Some(ends) = ends(&settings, flow, named, entry, &mut own).filter(|_| own.is_empty())
        else {
            if last.replace(entry) != Some(entry) {
                problems.append(&mut own);
            }
            continue;
        };
        let neighbours = between.entry([ends[0].min(ends[1]), ends[0].max(ends[1])]).or_default();
        let is_same =
            |other: &&usize| without_ends(&tunnels[**other].settings) == without_ends(&settings);
        let known = neighbours.iter().find(is_same).copied();
        if known.is_none() && tunnels.len() == MOST_TUNNELS {
            let expected = format!("at most {MOST_TUNNELS} tunnels");
            problems.push(Problem::new(key(entry), expected, "more"));
            return tunnels;
        }
        flow.tunnel = Some(known.unwrap_or_else(|| {
            neighbours.push(tunnels.len());
            tunnels.push(Tunnel { ends, settings, mtu: 0, outer });
            tunnels.len() - 1
        }));
    }
    tunnels
}

/// Settings that do not name the ends: those of two tunnels with the same ends are compared.
fn without_ends(settings: &middlebox::Tunnel) -> middlebox::Tunnel {
    settings.clone().with_between(None)
}

/// The congestion control of the outer connection, if it has any. The schema has checked the name
/// of the controller; what QUIC refuses all the same is reported in its words.
fn outer_connection(
    settings: &middlebox::Tunnel,
    entry: usize,
    problems: &mut Vec<Problem>,
) -> Option<OuterConnection> {
    let settings = settings.masque()?;
    if let Some(written) = settings.without_controller() {
        let expected = "no such key, or a `controller` too";
        let problem = Problem::new(key(entry).key(written), expected, format!("`{written}` alone"));
        problems.push(problem.because("without a controller the outer connection limits nothing"));
    }
    let name = settings.controller.as_ref()?;
    let place = key(entry).key("controller");
    let controller = match Specification::named(name) {
        Ok(controller) => controller,
        Err(error) => {
            problems.push(Problem::new(place, "a controller", error.to_string()));
            return None;
        }
    };
    if let Err(unsuitable) = Choice::of(Congestion::Bentpipe, &controller) {
        let problem = Problem::new(place, unsuitable.possible(), format!("{name:?}"));
        problems.push(problem.because(unsuitable.reason()));
    }
    let (max_window, buffer) = (settings.max_window, settings.buffer_bytes());
    Some(OuterConnection { controller, max_window, buffer, capsules: settings.capsules })
}

/// Two full packets must fit the window of the outer connection (RFC 9002 section 7.2), and one its
/// buffer.
fn check_outer(ip: IpVersion, tunnel: &Tunnel, entry: usize, problems: &mut Vec<Problem>) {
    let Some(outer) = &tunnel.outer else { return };
    let packet = u64::from(tunnel.outer(ip, tunnel.mtu));
    let payload = packet - u64::from(ip.header_bytes() + wire::udp::HEADER);
    let limits = [
        ("max_window", outer.max_window, 2 * payload, "two full packets"),
        ("buffer", Some(outer.buffer), packet, "one full packet"),
    ];
    for (name, written, least, packets) in limits {
        if let Some(written) = written.filter(|written| written.get() < least) {
            let expected = format!("at least {least}B");
            let problem = Problem::new(key(entry).key(name), expected, written.to_string());
            problems.push(problem.because(format!("it has room for {packets}")));
        }
    }
}

/// The nodes at the ends of a tunnel. Each terminal of a group has a tunnel of its own.
fn ends(
    settings: &middlebox::Tunnel,
    flow: &Flow,
    named: &Ends<'_>,
    entry: usize,
    problems: &mut Vec<Problem>,
) -> Option<[usize; 2]> {
    let Some(names) = settings.between() else { return Some([flow.from, flow.to]) };
    let place = key(entry).key("between");
    let mut nodes = names.iter().enumerate().map(|(i, name)| {
        let nodes = flows::end(&name.0, named, place.index(i), problems)?;
        // Of a group, the terminal of the flow.
        let own = [flow.from, flow.to].into_iter().find(|end| nodes.contains(end));
        own.or(Some(nodes.start).filter(|_| nodes.len() == 1)).or_else(|| {
            let expected = "a group with an end of the flow";
            let problem = Problem::new(place.index(i), expected, format!("{:?}", name.0));
            problems.push(problem.because("each of its terminals has a tunnel of its own"));
            None
        })
    });
    let (first, second) = (nodes.next()??, nodes.next()??);
    if first == second {
        let found = format!("{:?} twice", names[0].0);
        problems.push(Problem::new(place, "two different nodes", found));
        return None;
    }
    Some([first, second])
}

/// Checks the way of each flow through its tunnel, and sets the MTU of each tunnel.
pub(super) fn lead(
    scenario: &mut Scenario,
    entries: &[usize],
    tree: &Tree,
    problems: &mut Vec<Problem>,
) {
    if scenario.tunnels.is_empty() {
        return;
    }
    let routes = routes(scenario);
    // Copies share a tunnel, but for those at different terminals. What is wrong is said once.
    let (mut last, mut wrong) = (None, None);
    for (number, &entry) in entries.iter().enumerate() {
        let tunnel = scenario.flows[number].tunnel;
        let is_known = last.replace((entry, tunnel)) == Some((entry, tunnel));
        if tunnel.is_none() || is_known || wrong == Some(entry) {
            continue;
        }
        let found = problems.len();
        lead_flow(scenario, &routes, (number, entry), tree, problems);
        wrong = (problems.len() > found).then_some(entry).or(wrong);
    }
}

fn lead_flow(
    scenario: &mut Scenario,
    routes: &Routes,
    (number, entry): (usize, usize),
    tree: &Tree,
    problems: &mut Vec<Problem>,
) {
    let flow = &scenario.flows[number];
    let Some(tunnel) = flow.tunnel.map(|tunnel| &scenario.tunnels[tunnel]) else { return };
    let found = problems.len();
    problems.extend(unsuitable(scenario, flow, tunnel, entry));
    problems.extend(astray(scenario, routes, flow, tunnel, entry));
    if problems.len() > found {
        return;
    }
    let mtu = mtu(scenario, routes, tunnel, entry, tree, problems);
    let place = flow.tunnel;
    if let Some(tunnel) = place.and_then(|place| scenario.tunnels.get_mut(place)) {
        tunnel.mtu = mtu;
        check_outer(scenario.ip, tunnel, entry, problems);
    }
}

/// A flow whose packets this tunnel cannot carry.
fn unsuitable(scenario: &Scenario, flow: &Flow, tunnel: &Tunnel, entry: usize) -> Option<Problem> {
    let name = flow.protocol().name();
    if tunnel.settings.carries_udp_only()
        && !matches!(flow.protocol(), Protocol::Udp | Protocol::Quic)
    {
        let expected = "\"connect-ip\", or a flow over \"quic\" or \"udp\"";
        let problem = Problem::new(key(entry).key("method"), expected, "\"connect-udp\"");
        return Some(problem.because(format!("a flow over {name:?} has no payload of UDP")));
    }
    let routers = scenario.links.iter().flat_map(|link| link.sides());
    let mut routers = routers.filter_map(|(_, side)| side.feedback);
    if let Some(feedback) = routers.next() {
        let problem =
            Problem::new(key(entry), "no tunnel", format!("{:?}", tunnel.settings.name()));
        let reason =
            format!("routers with feedback = {:?} do not see its packets", feedback.name());
        return Some(problem.because(reason));
    }
    (!flow.paths.is_empty()).then(|| {
        let problem =
            Problem::new(key(entry), "no tunnel", format!("{:?}", tunnel.settings.name()));
        problem.because("transport.sctp.paths gives the flow several paths, and a tunnel has one")
    })
}

/// Data and ACKs must pass both ends, and on the route that the outer packets take.
fn astray(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    tunnel: &Tunnel,
    entry: usize,
) -> Option<Problem> {
    let name = |node: usize| format!("{:?}", scenario.nodes[node].name);
    let names = |[first, second]: [usize; 2]| format!("{} and {}", name(first), name(second));
    let links = &scenario.links;
    let place = key(entry).key("between");
    let ways = [(flow.from, flow.to), (flow.to, flow.from)];
    let paths = ways.map(|(from, to)| routes.path(from, to, links));
    let [Some(there), Some(back)] = ways.map(|way| tunnel.inside(routes, links, way)) else {
        let passed = routes.nodes(flow.from, flow.to, links).into_iter();
        let passed: Vec<_> = passed.map(name).collect();
        let problem = Problem::new(place, "two nodes that the flow passes", names(tunnel.ends));
        return Some(problem.because(format!("its data passes {}", passed.join(", "))));
    };
    let outer = |enters: usize| routes.path(tunnel.ends[enters], tunnel.ends[1 - enters], links);
    let is_same =
        |hops: &Vec<Hop>, inside: &Inside| outer(inside.enters) == hops[inside.hops.clone()];
    let leads =
        there.enters != back.enters && is_same(&paths[0], &there) && is_same(&paths[1], &back);
    (!leads).then(|| {
        let problem = Problem::new(place, "nodes with one best route", names(tunnel.ends));
        problem.because("outer packets and those of the flow would take different links")
    })
}

/// The MTU of a tunnel: that which is written, or the usual one of the program.
fn mtu(
    scenario: &Scenario,
    routes: &Routes,
    tunnel: &Tunnel,
    entry: usize,
    tree: &Tree,
    problems: &mut Vec<Problem>,
) -> u16 {
    let Tunnel { ends: [first, second], settings, .. } = tunnel;
    let ip = scenario.ip;
    let ways = [(*first, *second), (*second, *first)];
    let hops = ways.into_iter().flat_map(|(from, to)| routes.path(from, to, &scenario.links));
    let limits = hops.filter_map(|hop| {
        let link = &scenario.links[hop.link as usize];
        Some((link.mtu[usize::from(!hop.forward)]?.bytes, &link.name))
    });
    let narrowest = limits.min();
    let path = narrowest.map_or(USUAL_MTU, |(bytes, _)| bytes);
    let usual = settings.usual_mtu(ip, path);
    let Some(written) = settings.mtu() else {
        if usual < super::mtu::least(ip) {
            let problem = Problem::new(key(entry), "no tunnel", format!("{:?}", settings.name()));
            problems
                .push(problem.because(format!("packets inside would have at most {usual} bytes")));
        }
        return usual;
    };
    let (path, reason) = match narrowest {
        Some((bytes, link)) => (bytes, format!("the link {link:?} has an `mtu` of {bytes}")),
        None => (u16::MAX, "an IP packet has at most 65535 bytes".to_owned()),
    };
    let (least, largest) = (super::mtu::least(ip), settings.largest_mtu(ip, path));
    if !(least..=largest).contains(&written) {
        let place = key(entry).key("mtu");
        debug_assert!(tree.at(&place).is_some());
        let expected = format!("{least} to {largest}");
        problems.push(Problem::new(place, expected, written.to_string()).because(reason));
    }
    written
}

/// Packets that are no segments of TCP fit into the tunnel of their flow, too. QUIC finds the size
/// by itself.
pub(super) fn check_datagrams(scenario: &Scenario, entries: &[usize], problems: &mut Vec<Problem>) {
    let mut last = None;
    for (flow, &entry) in scenario.flows.iter().zip(entries) {
        let Some(tunnel) = scenario.tunnel_of(flow) else { continue };
        let longest = match flow.protocol() {
            Protocol::Quic => u64::from(scenario.ip.header_bytes() + QUIC_DATAGRAM),
            _ if flow.transport.is_tcp() => continue,
            _ => scenario.longest_packet_bytes(flow),
        };
        if longest > u64::from(tunnel.mtu) && last.replace(entry) != Some(entry) {
            let expected = format!("a tunnel for packets of {longest} bytes");
            let problem = Problem::new(key(entry), expected, format!("an MTU of {}", tunnel.mtu));
            let reason = format!("the flow has them with {:?}", flow.protocol().name());
            problems.push(problem.because(reason));
        }
    }
}
