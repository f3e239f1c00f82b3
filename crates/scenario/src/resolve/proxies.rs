//! Split proxies: which flows they split, and the TCP settings of their ends.
//!
//! A flow is split where it comes from a neighbour on one side of the gateway and goes on to one on the
//! other side, as the daemon does. All other flows cross unsplit.

use std::collections::BTreeMap;
use std::sync::Arc;

use congestion::{Ecn, Specification, Value};
use middlebox::{Accept, BucketSettings, Policy, Preset};
use tcp::{Config, DuplicateWindow, Recovery, RecoveryExit};
use transport::SavedPath;
use units::{Bytes, Rate, SizeLimit};

use super::{Numbers, flows, rules};
use crate::document::{self, Document};
use crate::error::Problem;
use crate::model::{
    Flow, Gateway, GatewayEnd, Link, Middlebox, Node, OwnSettings, Proxy, Scenario, SideName,
};
use crate::path::Path;
use crate::routes::{Hop, Routes, routes};

/// Send buffer where neither the side nor the flow has a limit: the maximum of Linux (tcp_wmem). Without
/// any, a proxy would never press back.
const SEND_BUFFER: Bytes = Bytes(4 << 20);

/// What is written of the sides of the proxies, by the number of the node.
pub(super) type Sides = BTreeMap<usize, [Side; 2]>;

/// What is written of a side.
pub(super) struct Side {
    path: Path,
    controller: Option<Specification>,
    recovery: Option<Recovery>,
    initial_window: Option<u32>,
    send_buffer: Option<Bytes>,
    receive_buffer: Option<Bytes>,
    mss: Option<u32>,
    careful_resume: Option<SavedPath>,
    pacing_rate: Option<Rate>,
    rate: Option<Rate>,
    burst: Option<Bytes>,
    /// What decides where nothing is written.
    preset: Option<Preset>,
}

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
        let (Some(proxy), Some(&number)) = (&written.proxy, numbers.get(&written.name.0)) else {
            continue;
        };
        let path = Path::entry("node", i).key("proxy");
        problems.extend(alone(written, &nodes[number], &path));
        if let Some(reason) = proxy.preset.and_then(Preset::refusal) {
            let known = Preset::mechanisms().map(|one| format!("{:?}", one.name)).join(", ");
            let found = serde_json::to_value(proxy.preset).unwrap_or_default().to_string();
            let problem = Problem::new(path.key("preset"), known, found);
            problems.push(problem.because(reason));
        }
        sides.insert(
            number,
            SideName::ALL.map(|side| Side {
                preset: proxy.preset.filter(|_| side == SideName::Satellite),
                ..resolved(proxy.side(side), path.key(side.key()), problems)
            }),
        );
        let Some(neighbours) = neighbours(proxy, number, numbers, links, &path, problems) else {
            continue;
        };
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
        let policy = Policy::default();
        let policy = Policy {
            accept: proxy.accept,
            known_for: proxy.known_for.unwrap_or(policy.known_for),
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

fn resolved(side: &document::ProxySide, path: Path, problems: &mut Vec<Problem>) -> Side {
    let document::ProxySide { towards: _, tcp, recovery, careful_resume, rate, burst } = side;
    if let (Some(burst), None) = (burst, rate) {
        let path = path.key("burst");
        problems.push(Problem::new(path, "`rate` with it, or no `burst`", format!("\"{burst}\"")));
    }
    let middlebox::SplitSide {
        controller,
        initial_window,
        send_buffer,
        receive_buffer,
        mss,
        pacing_rate,
    } = tcp;
    let place = path.key("controller");
    let controller = controller.as_ref().and_then(|one| flows::controller(one, &place, problems));
    if controller == Some(Specification::unlimited()) {
        let problem = Problem::new(place, "a congestion controller", "\"none\"");
        problems.push(problem.because("gateways split TCP, and it is for SCPS-TP only"));
    }
    Side {
        controller,
        recovery: *recovery,
        initial_window: *initial_window,
        send_buffer: *send_buffer,
        receive_buffer: *receive_buffer,
        mss: *mss,
        careful_resume: *careful_resume,
        pacing_rate: *pacing_rate,
        rate: *rate,
        burst: *burst,
        preset: None,
        path,
    }
}

/// The neighbours of node number `node` on each side.
fn neighbours(
    proxy: &document::Proxy,
    node: usize,
    numbers: &Numbers,
    links: &[Link],
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<[Vec<usize>; 2]> {
    let other_end = |link: &Link| match link.ends {
        [a, b] if a == node => Some(b),
        [a, b] if b == node => Some(a),
        _ => None,
    };
    let mut all: Vec<_> = links.iter().filter_map(other_end).collect();
    all.sort_unstable();
    all.dedup();
    let before = problems.len();
    let named = SideName::ALL.map(|side| {
        let towards = proxy.side(side).towards.as_ref()?;
        let mut of_side = Vec::new();
        for (i, name) in towards.iter().enumerate() {
            let path = path.key(side.key()).key("towards").index(i);
            let Some(number) = flows::node(&name.0, numbers, path.clone(), problems) else {
                continue;
            };
            if !all.contains(&number) {
                let found = format!("{:?}", name.0);
                problems.push(Problem::new(path, "a node that a link joins with this one", found));
            }
            of_side.push(number);
        }
        Some(of_side)
    });
    let rest = |taken: &[usize]| all.iter().copied().filter(|one| !taken.contains(one)).collect();
    let found: [Vec<usize>; 2] = match named {
        [Some(terrestrial), Some(satellite)] => [terrestrial, satellite],
        [Some(terrestrial), None] => {
            let satellite = rest(&terrestrial);
            [terrestrial, satellite]
        }
        [None, Some(satellite)] => [rest(&satellite), satellite],
        [None, None] => {
            let path = path.key(SideName::Satellite.key()).key("towards");
            problems.push(Problem::new(
                path,
                "the neighbours on the side of the satellite",
                "nothing",
            ));
            return None;
        }
    };
    if problems.len() > before {
        return None;
    }
    let twice = found[1].iter().position(|one| found[0].contains(one));
    if let Some(place) = twice {
        let path = path.key(SideName::Satellite.key()).key("towards").index(place);
        let name = numbers.iter().find(|(_, number)| **number == found[1][place]);
        let found = name.map_or_else(String::new, |(name, _)| format!("{name:?}"));
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
            _ if scenario.flows[number].own != OwnSettings::Tcp => Arc::default(),
            _ => gateways(scenario, &routes, &scenario.flows[number], *entry, sides, problems),
        };
        used.extend(gateways.iter().map(|gateway| gateway.node));
        last = Some((*entry, gateways.clone()));
        scenario.flows[number].gateways = gateways;
    }
    for (number, of_node) in sides {
        share_rates(scenario, *number, of_node, problems);
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
    number: usize,
    sides: &[Side; 2],
    problems: &mut Vec<Problem>,
) {
    let mut shared = [None; 2];
    for (name, side) in SideName::ALL.into_iter().zip(sides) {
        let Some(rate) = side.rate else { continue };
        let gateways = scenario.flows.iter().flat_map(|flow| flow.gateways.iter());
        let ends = gateways.filter(|one| one.node == number).flat_map(|one| &one.ends);
        let segments = ends.filter(|end| end.side == name).map(|end| end.transport.mss);
        let Some(mss) = segments.max() else { continue };
        let packet = Bytes(u64::from(mss) + scenario.headers());
        let burst = side.burst.unwrap_or_else(|| BucketSettings::usual_burst(rate, packet));
        if burst < packet {
            let expected = format!("at least a full packet, {packet}");
            let problem = Problem::new(side.path.key("burst"), expected, format!("\"{burst}\""));
            problems.push(problem.because("a packet leaves when the bucket is that full"));
        }
        shared[name.index()] = Some(BucketSettings { rate, burst, packet });
    }
    if let Some(proxy) = &mut scenario.nodes[number].proxy {
        Arc::make_mut(proxy).shared_rates = shared;
    }
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
    let there = routes.crossed(flow.from, flow.to, scenario);
    let mut back = routes.crossed(flow.to, flow.from, scenario);
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
    let stops: Vec<_> = there.iter().map(|(node, _)| *node).collect();
    let stops: Vec<_> = [flow.from].into_iter().chain(stops).chain([flow.to]).collect();
    let end = |node: usize, peer: usize, side: SideName, problems: &mut Vec<Problem>| {
        let side_settings = &sides[&node][side.index()];
        let preset = side_settings.preset.filter(|_| side_settings.controller.is_none());
        let of_preset = preset.and_then(|preset| {
            let leg = [(node, peer), (peer, node)].map(|(a, b)| routes.path(a, b, &scenario.links));
            let limits = [side_settings.rate, side_settings.pacing_rate];
            preset_controller(preset, scenario, flow, &leg, limits)
        });
        let headers = scenario.headers();
        gateway_end(flow, side, side_settings, of_preset, headers, problems)
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
    gateways
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

/// The controller of a preset on a leg, with the hops from the gateway and back, and the rates of the side.
fn preset_controller(
    preset: Preset,
    scenario: &Scenario,
    flow: &Flow,
    [there, back]: &[Vec<Hop>; 2],
    limits: [Option<Rate>; 2],
) -> Option<Specification> {
    let named = |name: &str| Specification::named(name).ok();
    match preset {
        Preset::Pepsal => named("hybla"),
        // A window of the bandwidth-delay product, with the times of a full packet and its ACK.
        Preset::CkStp | Preset::Aerotcp => {
            let direction = |hop: &Hop| hop.direction(&scenario.links);
            let rates = there.iter().map(|hop| direction(hop).rate.bits_per_second());
            let rate =
                rates.chain(limits.into_iter().flatten().map(Rate::bits_per_second)).min()? as f64;
            let time = |hops: &[Hop], bytes: u64| -> f64 {
                let of = |hop: &Hop| {
                    let direction = direction(hop);
                    let bits = bytes as f64 * 8.0;
                    let sending = bits / direction.rate.bits_per_second() as f64;
                    direction.delay.as_secs_f64() + sending
                };
                hops.iter().map(of).sum()
            };
            let rtt =
                time(there, scenario.packet_bytes(flow)) + time(back, scenario.ack_bytes(flow));
            let mut controller = named("ck-stp")?;
            for (parameter, value) in [("rate", rate / 1e6), ("rtt", (rtt * 1e3).max(1.0))] {
                controller.set(parameter, Value::Number(value)).ok()?;
            }
            Some(controller)
        }
        Preset::Satpep | Preset::ScpsGateway => None,
    }
}

/// The end of a gateway on one side, for a flow. `of_preset` is the controller where none is written.
fn gateway_end(
    flow: &Flow,
    name: SideName,
    side: &Side,
    of_preset: Option<Specification>,
    headers: u64,
    problems: &mut Vec<Problem>,
) -> GatewayEnd {
    let own = side.controller.as_ref().or(of_preset.as_ref());
    let controller = own.unwrap_or(&flow.controller).clone();
    let host = &flow.transport;
    let designed = own.map_or(host.recovery, |own| own.entry().repair.into());
    let designed = match side.preset {
        Some(Preset::Aerotcp) if side.controller.is_none() => Recovery::NewReno,
        _ => designed,
    };
    let recovery = side.recovery.unwrap_or(designed);
    // Settings that only some recoveries have are not taken over by the others.
    let counts = matches!(recovery, Recovery::Reno | Recovery::NewReno);
    let send_buffer = match side.send_buffer {
        Some(size) => SizeLimit::of(size),
        None if host.send_buffer == SizeLimit::UNLIMITED => SizeLimit::of(SEND_BUFFER),
        None => host.send_buffer,
    };
    // Without `..`, so that a new option has to be considered here, and in the table of docs/path.md.
    let Config {
        // Those of the flow.
        delayed_ack,
        rto,
        ssthresh_basis,
        window_scaling,
        timestamps,
        initial_ssthresh,
        dupthresh,
        abc_limit,
        window_validation,
        persist_timeout,
        max_retries,
        keep_alive,
        user_timeout,
        pacing,
        limited_transmit,
        nagle,
        idle_restart,
        ecn,
        dsack,
        mtu_probing,
        quick_start,
        eln,
        ack_control,
        // Those of the flow if the recovery has them.
        duplicate_window,
        recovery_exit,
        // Those of the flow if the side has none.
        recovery: _,
        send_buffer: _,
        receive_buffer,
        initial_window,
        mss,
        // Those of the side alone.
        careful_resume: _,
        reads_at_once: _,
        // Gateways split TCP only.
        scps,
    } = (**host).clone();
    let transport = Config {
        recovery,
        reads_at_once: false,
        send_buffer,
        receive_buffer: side.receive_buffer.unwrap_or(receive_buffer),
        initial_window: side.initial_window.unwrap_or(initial_window),
        mss: side.mss.unwrap_or(mss),
        careful_resume: side.careful_resume,
        duplicate_window: match counts {
            true => duplicate_window,
            false => DuplicateWindow::Advertised,
        },
        recovery_exit: match recovery {
            Recovery::NewReno => recovery_exit,
            _ => RecoveryExit::Ssthresh,
        },
        delayed_ack,
        rto,
        ssthresh_basis,
        window_scaling,
        timestamps,
        initial_ssthresh,
        dupthresh,
        abc_limit,
        window_validation,
        persist_timeout,
        max_retries,
        keep_alive,
        user_timeout,
        pacing,
        limited_transmit,
        nagle,
        idle_restart,
        ecn,
        dsack,
        mtu_probing,
        quick_start,
        eln,
        ack_control,
        scps,
    };
    if let Some(parameter) =
        own.and_then(Specification::only_with_marks).filter(|_| transport.ecn == Ecn::Off)
    {
        let path = side.path.key("controller").key(parameter);
        let problem = Problem::new(path, "\"off\" without ECN", "\"on\"");
        problems.push(problem.because("it has an effect for flows with transport.ecn = true only"));
    }
    // What is wrong with the flow's own settings is reported there.
    let mut of_flow = Vec::new();
    rules::check_transport(host, &side.path, &mut of_flow);
    if of_flow.is_empty() {
        rules::check_transport(&transport, &side.path, problems);
    }
    let packet = Bytes(u64::from(transport.mss) + headers);
    let pacing = side.pacing_rate.map(|rate| BucketSettings { rate, burst: packet, packet });
    GatewayEnd {
        side: name,
        controller,
        has_own_controller: own.is_some(),
        transport: Arc::new(transport),
        pacing,
    }
}
