//! MTU of the directions of links, and segments that fit the links and the tunnels of their hosts.

use std::sync::Arc;

use language::error::Problem;
use language::path::Path;
use language::tree::Tree;
use tcp::Config;
use wire::IpVersion;

use super::sides::{Sides, report};
use crate::document;
use crate::model::{Flow, Gateway, Mtu, Scenario, Transport};
use crate::routes::{Routes, routes};

/// The least MTU of IPv4 for TCP: headers, and the 48 bytes of options and data that the smallest
/// segment of Linux has (`tcp_min_snd_mss`). RFC 791 section 3.2 has 68 for IPv4 alone.
const LEAST_IPV4: u16 = 88;
/// The least MTU of IPv6 (RFC 8200 section 5).
const LEAST_IPV6: u16 = 1280;

/// MTU of both directions.
pub(super) fn resolve(
    sides: &Sides<'_>,
    ip: IpVersion,
    problems: &mut Vec<Problem>,
) -> [Option<Mtu>; 2] {
    [0, 1].map(|side| {
        let written = sides.value(side, |one| &one.mtu)?;
        let found = written.resolve();
        let place = sides.place(side, "mtu", |one| &one.mtu);
        let place = match written {
            document::Mtu::Bytes(_) => place,
            document::Mtu::Table(_) => place.key("bytes"),
        };
        report(too_small(found, ip, place), problems);
        Some(found)
    })
}

/// The least MTU of a link or a tunnel.
pub(super) fn least(ip: IpVersion) -> u16 {
    match ip {
        IpVersion::V4 => LEAST_IPV4,
        IpVersion::V6 => LEAST_IPV6,
    }
}

fn too_small(found: Mtu, ip: IpVersion, path: Path) -> Option<Problem> {
    let (version, because) = match ip {
        IpVersion::V4 => ("ipv4", "a segment of TCP has 48 bytes or more"),
        IpVersion::V6 => ("ipv6", "no link of IPv6 has less (RFC 8200 section 5)"),
    };
    let least = least(ip);
    (found.bytes < least).then(|| {
        let expected = format!("at least {least} with ip = {version:?}");
        Problem::new(path, expected, found.bytes.to_string()).because(because)
    })
}

/// A host knows the MTU of its own link, and neither sends nor announces larger segments (RFC 9293
/// section 3.7.1). The same holds for the tunnel of its flow: it is an interface of the host, or a
/// router at which it begins limits the segments. The default `mss` becomes what fits. One that is
/// written and does not fit is a problem.
pub(super) fn fit_segments(
    scenario: &mut Scenario,
    entries: &[usize],
    tree: &Tree,
    problems: &mut Vec<Problem>,
) {
    if scenario.links.iter().all(|link| link.mtu == [None; 2]) && scenario.tunnels.is_empty() {
        return;
    }
    let routes = routes(scenario);
    // Flows of one entry share their settings, and go on to.
    let mut fitted: Option<(usize, Flow)> = None;
    for (number, entry) in entries.iter().enumerate() {
        let own = scenario.flows[number].gateways.clone();
        let alike = fitted.as_ref().filter(|(before, first)| {
            before == entry && has_like_gateways(scenario, &first.gateways, &own)
        });
        let (flow, gateways) = match alike {
            Some((_, first)) => (first.clone(), of_copy(&first.gateways, own)),
            None => {
                let flow = fit_flow(scenario, &routes, number, *entry, tree, problems);
                let gateways = flow.gateways.clone();
                (flow, gateways)
            }
        };
        scenario.flows[number].settings = flow.settings.clone();
        scenario.flows[number].gateways = gateways;
        fitted = Some((*entry, flow));
    }
}

/// Returns true if two copies have the same gateways, or those of terminals with the same proxy.
fn has_like_gateways(scenario: &Scenario, first: &[Gateway], second: &[Gateway]) -> bool {
    let entry = |node: usize| scenario.beam_of(node).and(scenario.nodes[node].entry);
    let is_alike = |(a, b): (&Gateway, &Gateway)| {
        a.node == b.node || entry(a.node).is_some() && entry(a.node) == entry(b.node)
    };
    first.len() == second.len() && first.iter().zip(second).all(is_alike)
}

/// The gateways of a copy with the settings of those of the first one.
fn of_copy(first: &Arc<Vec<Gateway>>, own: Arc<Vec<Gateway>>) -> Arc<Vec<Gateway>> {
    let pairs = || first.iter().zip(own.iter());
    if pairs().all(|(first, own)| first.node == own.node) {
        return first.clone();
    }
    pairs()
        .map(|(first, own)| Gateway { node: own.node, ..first.clone() })
        .collect::<Vec<_>>()
        .into()
}

/// A flow with segments that fit.
fn fit_flow(
    scenario: &Scenario,
    routes: &Routes,
    number: usize,
    entry: usize,
    tree: &Tree,
    problems: &mut Vec<Problem>,
) -> Flow {
    let mut flow = scenario.flows[number].clone();
    let stops = flow.stops();
    let limit = |from: usize, to: usize| own_limit(scenario, routes, &flow, (from, to));
    // The ends of a leg, and the key that sets the segments of each.
    let legs = stops.windows(2);
    let ends: Vec<_> = legs.map(|leg| [limit(leg[0], leg[1]), limit(leg[1], leg[0])]).collect();
    let last = ends.len() - 1;
    let host = [&ends[0][0], &ends[last][1]].into_iter().flatten().min_by_key(|one| one.most);
    let path = Path::entry("flow", entry).key("transport").key("mss");
    if let Some(limit) = host {
        let settings = Arc::make_mut(&mut flow.settings);
        fit(&mut settings.transport, limit, &path, tree, problems);
        if let Some(hosts) = &mut settings.hosts {
            // A problem was reported with the flow.
            let ends = Arc::make_mut(hosts).ends.iter_mut();
            ends.for_each(|end| fit(&mut end.transport, limit, &path, tree, &mut Vec::new()));
        }
    }
    let mut gateways = flow.gateways.to_vec();
    for (place, gateway) in gateways.iter_mut().enumerate() {
        let limits = [&ends[place][1], &ends[place + 1][0]];
        for (end, limit) in gateway.ends.iter_mut().zip(limits) {
            let node = scenario.nodes[gateway.node].place().key("proxy");
            let path = node.key(end.side.key()).key("mss");
            if let Some(limit) = limit {
                fit(&mut end.transport, limit, &path, tree, problems);
            }
        }
    }
    flow.gateways = gateways.into();
    flow
}

/// The largest segment of a host, and why.
struct Limit {
    most: u32,
    reason: String,
}

/// The largest segment that fits the link on which a host sends towards another one, or the tunnel
/// between them.
fn own_limit(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    way: (usize, usize),
) -> Option<Limit> {
    let headers = scenario.ip.header_bytes() + wire::tcp::HEADER;
    let limit = |mtu: u16, reason| Limit { most: mtu.saturating_sub(headers).into(), reason };
    let hidden = scenario.hidden(routes, flow, way);
    let of_tunnel = scenario.tunnel_of(flow).filter(|_| !hidden.is_empty()).map(|tunnel| {
        let (name, mtu) = (tunnel.settings.name(), tunnel.mtu);
        limit(mtu, format!("the tunnel {name:?} of the flow has an MTU of {mtu} bytes"))
    });
    // A terminal is at no link. Outer packets fit.
    let hop = routes.next(way.0, way.1).filter(|_| !routes.is_terminal(way.0));
    let of_link = hop.filter(|hop| !hidden.hops.contains(hop)).and_then(|hop| {
        let link = &scenario.links[hop.link as usize];
        let mtu = link.mtu[usize::from(!hop.forward)]?;
        Some(limit(mtu.bytes, format!("the host is at the link {:?} with an `mtu`", link.name)))
    });
    [of_link, of_tunnel].into_iter().flatten().min_by_key(|limit| limit.most)
}

fn fit(
    transport: &mut Transport,
    Limit { most, reason }: &Limit,
    path: &Path,
    tree: &Tree,
    problems: &mut Vec<Problem>,
) {
    let Transport::Tcp(config) = transport else { return };
    let mss = config.mss;
    if mss <= *most {
        return;
    }
    if tree.at(path).is_some() {
        let problem = Problem::new(path.clone(), format!("at most {most}"), mss.to_string());
        problems.push(problem.because(reason.clone()));
    } else {
        *config = Arc::new(Config { mss: *most, ..Config::clone(config) });
    }
}
