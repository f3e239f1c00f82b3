//! Tunnels: bytes around packets, the set-up, and which mechanisms see one flow.

use serde::Serialize;
use units::Span;

use super::text::{milliseconds, rate as rate_text};
use super::warnings::WarningKind as Kind;
use scenario::model::{Aqm, Beam, Direction, Flow, Link, Node, Scenario, Tunnel};
use scenario::{Hop, Routes};

/// The tunnel of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunnelExplanation {
    /// The protocol.
    pub protocol: &'static str,
    /// The end that the data enters.
    pub from: String,
    /// The end at which the data leaves.
    pub to: String,
    /// Length of the longest packet inside, in bytes.
    pub mtu_bytes: u16,
    /// Length of a full packet of the flow, in bytes.
    pub packet_bytes: u64,
    /// Length of the outer packet around it, in bytes.
    pub outer_bytes: u64,
    /// True if it exists when the run starts.
    pub established: bool,
    /// Round trips of its set-up.
    pub round_trips: usize,
    /// Duration of its set-up without queues and losses, in milliseconds. Zero if it exists.
    pub set_up_ms: f64,
    /// Congestion controller of its outer connection, if that has one.
    pub controller: Option<&'static str>,
    /// Largest payload of outer packets per second that the largest window of the outer connection
    /// lets through, in bits; if it has one.
    pub window_bps: Option<f64>,
    /// True if lost packets of its outer connection are retransmitted, and all come out in order.
    pub capsules: bool,
    /// Mechanisms between its ends that see one flow, and no TCP.
    pub hidden_from: Vec<String>,
}

/// The tunnel of a flow, if it has one. `packet` is the length of its full packets.
pub(crate) fn explain(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    packet: u64,
) -> Option<TunnelExplanation> {
    let tunnel = scenario.tunnel_of(flow)?;
    let inside = tunnel.inside(routes, &scenario.links, (flow.from, flow.to))?;
    let [from, to] = [inside.enters, 1 - inside.enters].map(|end| tunnel.ends[end]);
    let settings = &tunnel.settings;
    let (established, round_trips) = (settings.is_established(), settings.flights().round_trips());
    let trips = if established { 0 } else { round_trips };
    let length = u16::try_from(packet).unwrap_or(u16::MAX);
    let name = |node: usize| scenario.nodes[node].name.clone();
    let trip_ms = round_trip_ms(scenario, routes, tunnel, |link| link.delay);
    // Events may shorten it.
    let least_ms = round_trip_ms(scenario, routes, tunnel, Direction::least_delay);
    let outer = tunnel.outer.as_ref();
    let window = outer.and_then(|outer| outer.max_window).filter(|_| trip_ms > 0.0);
    Some(TunnelExplanation {
        protocol: settings.name(),
        from: name(from),
        to: name(to),
        mtu_bytes: tunnel.mtu,
        packet_bytes: packet,
        outer_bytes: tunnel.outer(scenario.ip, length).into(),
        established,
        round_trips,
        set_up_ms: trips as f64 * trip_ms,
        controller: outer.map(|outer| outer.controller.entry().name),
        window_bps: window
            .map(|bytes| 8e3 * bytes.get() as f64 / least_ms)
            .filter(|rate| rate.is_finite()),
        capsules: outer.is_some_and(|outer| outer.capsules),
        hidden_from: hidden_from(scenario, routes, flow),
    })
}

/// Propagation delay between the ends and back, where links have this `delay`.
fn round_trip_ms(
    scenario: &Scenario,
    routes: &Routes,
    tunnel: &Tunnel,
    delay: impl Fn(&Direction) -> Span,
) -> f64 {
    let [first, second] = tunnel.ends;
    let ways = [(first, second), (second, first)];
    let beams: f64 = ways.iter().map(|way| scenario.beam_delay(*way).as_millis_f64()).sum();
    let hops = ways.iter().flat_map(|(from, to)| routes.path(*from, *to, &scenario.links));
    let links: f64 = hops.map(|hop| delay(hop.direction(&scenario.links)).as_millis_f64()).sum();
    beams + links
}

/// The mechanisms that would see the flow without the tunnel.
fn hidden_from(scenario: &Scenario, routes: &Routes, flow: &Flow) -> Vec<String> {
    let ways = [(flow.from, flow.to), (flow.to, flow.from)];
    let hidden = ways.map(|way| scenario.hidden(routes, flow, way));
    let links = &scenario.links;
    let hops = || hidden.iter().flat_map(|one| &one.hops);
    let mut found: Vec<String> = Vec::new();
    let nodes = scenario.nodes.iter().enumerate();
    let nodes = nodes.filter(|(_, node)| node.proxy.is_some() || node.middlebox.is_some());
    for (number, node) in nodes {
        let forwards = scenario.hides_from(routes, flow, number);
        let sends = hops().any(|hop| hop.from(links) == number);
        found.extend(at_node(node, forwards, sends));
    }
    for hop in hops() {
        found.extend(on_hop(scenario, &links[hop.link as usize], *hop));
    }
    for ((_, to), hidden) in ways.into_iter().zip(&hidden) {
        let beam = scenario.beam_of(to).filter(|_| hidden.beams[1]);
        let fair = beam.filter(|(_, beam)| beam.forward.aqm.is_some());
        let name =
            |(_, beam): (usize, &Beam)| format!("fq-codel on the forward carrier of {}", beam.name);
        found.extend(fair.map(name));
    }
    found
}

/// Mechanisms at a node that forwards hidden packets, or at least sends them.
fn at_node(node: &Node, forwards: bool, sends: bool) -> Vec<String> {
    let proxy = node.proxy.as_ref().filter(|_| forwards);
    let sees = |in_queues: bool| if in_queues { sends } else { forwards };
    let middlebox = node.middlebox.filter(|one| sees(one.is_in_queues()));
    let of_proxy = proxy.map(|_| format!("the split proxy at {}", node.name));
    let of_box = middlebox.map(|one| format!("{} at {}", one.name(), node.name));
    of_proxy.into_iter().chain(of_box).collect()
}

/// Mechanisms on a hop.
fn on_hop(scenario: &Scenario, link: &Link, hop: Hop) -> Vec<String> {
    let name = hop.name(scenario);
    let scheme = link.header_compression[usize::from(!hop.forward)];
    let compression = scheme.map(|scheme| format!("{} on {name}", scheme.name()));
    let fair = match hop.direction(&scenario.links).aqm {
        Some(aqm @ Aqm::FqCodel(_)) => Some(format!("{} on {name}", aqm.name())),
        _ => None,
    };
    compression.into_iter().chain(fair).collect()
}

/// A proxy or a middlebox that has no effect on the flow.
pub(crate) fn warning(explained: &TunnelExplanation) -> Option<(Kind, String)> {
    let TunnelExplanation { protocol, from, to, hidden_from, .. } = explained;
    (!hidden_from.is_empty()).then(|| {
        let text = format!(
            "the tunnel {protocol} from {from} to {to} hides the flow from {}: they see one flow of packets that they \
             cannot read, and do nothing for its TCP; `between` can end the tunnel there",
            hidden_from.join(", ")
        );
        (Kind::TunnelHidesFlow, text)
    })
}

/// The rows of a terminal.
pub(crate) fn rows(explained: &TunnelExplanation) -> Vec<Vec<String>> {
    let TunnelExplanation {
        protocol,
        from,
        to,
        mtu_bytes,
        packet_bytes,
        outer_bytes,
        established,
        round_trips,
        set_up_ms,
        controller,
        window_bps,
        capsules,
        hidden_from,
    } = explained;
    let trips = if *round_trips == 1 { "round trip" } else { "round trips" };
    let set_up = match established {
        true => "it exists at the start".to_owned(),
        false => format!("its set-up takes {round_trips} {trips}, {}", milliseconds(*set_up_ms)),
    };
    let text = format!(
        "{protocol} from {from} to {to}: a full packet of {packet_bytes}B is {outer_bytes}B outside, at most \
         {mtu_bytes}B fit; {set_up}"
    );
    let mut rows = vec![vec!["tunnel".to_owned(), text]];
    if let Some(controller) = controller {
        let losses = match capsules {
            true => "lost packets are retransmitted, and all come out in order",
            false => "lost packets are lost",
        };
        let limit = window_bps.map_or_else(String::new, |rate| {
            format!("; its window lets at most {} through without a queue", rate_text(rate))
        });
        let text = format!("{controller} limits the outer connection; {losses}{limit}");
        rows.push(vec!["outer".to_owned(), text]);
    }
    if !hidden_from.is_empty() {
        rows.push(vec!["hidden from".to_owned(), hidden_from.join(", ")]);
    }
    rows
}
