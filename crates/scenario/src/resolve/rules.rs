//! Rules between several values of a scenario.

use std::collections::{BTreeMap, BTreeSet};

use language::error::Problem;
use language::path::Path;
use tcp::{AckTiming, Config, DuplicateWindow, Recovery, RecoveryExit};
use units::{Bytes, Span};

use super::{bounds, buffers};
use crate::model::{Flow, Middlebox, Scenario, Transport};
use crate::routes::{Routes, routes};

const LONGEST_PACKET: u64 = wire::ip::LONGEST_PACKET as u64;

/// The largest window without the window scale option (RFC 7323 section 2).
pub const UNSCALED_WINDOW: u64 = 65_535;

/// Checks a scenario whose names are resolved. `entries` has the `[[flow]]` of each flow.
pub(super) fn check(scenario: &Scenario, entries: &[usize], problems: &mut Vec<Problem>) {
    let routes = routes(scenario);
    let mut names = BTreeMap::new();
    let mut last = None;
    for (flow, &entry) in scenario.flows.iter().zip(entries) {
        let path = Path::entry("flow", entry);
        if let Some(first) = names.insert(flow.name.as_str(), entry)
            && first != entry
        {
            let found = format!("{:?} as in flow[{first}]", flow.name);
            problems.push(Problem::new(path.key("name"), "a unique name", found));
        }
        // All copies of one entry are right or wrong together.
        if last.replace(entry) != Some(entry) {
            check_ends(scenario, &routes, flow, &path, problems);
            let last = entries.partition_point(|other| *other <= entry) - 1;
            check_stop(flow, scenario.flows[last].start, &path, problems);
            check_segments(scenario, flow, &path.key("transport"), problems);
            let streams = flow.traffic.streams();
            let transport = path.key("transport");
            match &flow.hosts {
                None => check_transport(&flow.transport, streams, &transport, problems),
                Some(hosts) => {
                    let mut found = Vec::new();
                    for end in &hosts.ends {
                        check_transport(&end.transport, streams, &transport, &mut found);
                    }
                    // What the scenario writes is wrong at both ends.
                    let mut places = BTreeSet::new();
                    found.retain(|problem| places.insert(problem.path.to_string()));
                    problems.extend(found);
                }
            }
            problems.extend(bounds::application(scenario, flow, &path));
        }
    }
    check_memory(scenario, &routes, problems);
    check_middleboxes(scenario, &routes, problems);
    bounds::recorded(scenario, entries, &routes, problems);
}

fn check_ends(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    let name = |node: usize| &scenario.nodes[node].name;
    if flow.from == flow.to {
        let found = format!("{:?} on both ends", name(flow.to));
        let expected = "another node than `from`";
        problems.push(Problem::new(path.key("to"), expected, found));
    } else if !routes.leads(flow.from, flow.to) {
        let expected = format!("a node that {:?} can reach", name(flow.from));
        let problem = Problem::new(path.key("to"), expected, format!("{:?}", name(flow.to)));
        problems.push(problem.because("there is no route"));
    }
}

/// `latest` is the start of the last copy, which `spread` makes later than the first one.
fn check_stop(flow: &Flow, latest: Span, path: &Path, problems: &mut Vec<Problem>) {
    if let Some(stop) = flow.stop
        && stop <= latest
    {
        let of_all = if latest == flow.start { "`start`" } else { "the start of the last copy" };
        let expected = format!("a time after {of_all}, {:?}", latest.to_string());
        problems.push(Problem::new(path.key("stop"), expected, format!("{:?}", stop.to_string())));
    }
}

fn check_segments(scenario: &Scenario, flow: &Flow, path: &Path, problems: &mut Vec<Problem>) {
    let packet = scenario.packet_bytes(flow);
    if packet > LONGEST_PACKET {
        let mss = u64::from(flow.transport.plan().mss());
        let expected = format!("at most {} with this `ip`", LONGEST_PACKET - (packet - mss));
        let problem = Problem::new(path.key("mss"), expected, mss.to_string());
        problems.push(problem.because(format!("packets have at most {LONGEST_PACKET} bytes")));
    }
}

/// Rules that only a recovery without SACK has.
fn check_recovery(transport: &Config, path: &Path, problems: &mut Vec<Problem>) {
    let found = transport.recovery.name();
    let counts = matches!(transport.recovery, Recovery::Reno | Recovery::NewReno);
    if transport.duplicate_window != DuplicateWindow::Advertised && !counts {
        let expected = "\"advertised\", or the recovery \"reno\" or \"newreno\"";
        problems.push(Problem::new(path.key("duplicate_window"), expected, found));
    }
    if transport.recovery_exit != RecoveryExit::Ssthresh && transport.recovery != Recovery::NewReno
    {
        let expected = "\"ssthresh\", or the recovery \"newreno\"";
        problems.push(Problem::new(path.key("recovery_exit"), expected, found));
    }
    if transport.sack_compression.is_some() && counts {
        let expected = "none, or the recovery \"sack\" or \"linux\"";
        let problem = Problem::new(path.key("sack_compression"), expected, found);
        problems.push(problem.because("without SACK each duplicate ACK counts"));
    }
}

/// Rules of the settings of connections with this number of streams. The window has room for a
/// segment.
pub(super) fn check_transport(
    transport: &Transport,
    streams: u64,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    if let Transport::Tcp(config) = transport {
        return check_tcp(config, path, problems);
    }
    let (size, mss) = (transport.plan().window(streams), transport.plan().mss());
    if size < u64::from(mss) {
        let expected = format!("room for a segment of {mss} bytes");
        let place = path.key("receive_buffer");
        problems.push(Problem::new(place, expected, format!("\"{size}B\"")));
    }
}

fn check_tcp(transport: &Config, path: &Path, problems: &mut Vec<Problem>) {
    let buffer = transport.receive_buffer;
    if !transport.window_scaling && buffer.get() > UNSCALED_WINDOW {
        let problem = Problem::new(
            path.key("receive_buffer"),
            "at most 65535B without `window_scaling`",
            format!("{:?}", buffer.to_string()),
        );
        problems.push(problem.because("the window field has 16 bits (RFC 9293 section 3.1)"));
    }
    for (key, buffer) in
        [("receive_buffer", Some(buffer)), ("send_buffer", transport.send_buffer.size())]
    {
        if let Some(Bytes(size)) = buffer
            && size < u64::from(transport.mss)
        {
            let expected = format!("room for a segment of {} bytes", transport.mss);
            problems.push(Problem::new(path.key(key), expected, format!("\"{size}B\"")));
        }
    }
    buffers::check(transport, path, problems);
    check_recovery(transport, path, problems);
    if transport.ack_control && transport.delayed_ack == AckTiming::Linux {
        let expected = "false, or another `delayed_ack` than \"linux\"";
        let problem = Problem::new(path.key("ack_control"), expected, "true");
        problems.push(problem.because("Linux decides by itself when it acknowledges"));
    }
    let rto = &transport.rto;
    if rto.min > rto.max {
        let expected = format!("at most `max`, {:?}", rto.max.to_string());
        let found = format!("{:?}", rto.min.to_string());
        problems.push(Problem::new(path.key("rto").key("min"), expected, found));
    }
}

/// A router that cannot hold one packet of a flow drops all of them.
fn check_memory(scenario: &Scenario, routes: &Routes, problems: &mut Vec<Problem>) {
    let mut largest = vec![0; scenario.nodes.len()];
    for flow in &scenario.flows {
        let packet = scenario.longest_packet_bytes(flow);
        for (from, to) in flow.all_ways().flatten() {
            for hops in scenario.routes_of(routes, (from, to)) {
                for hop in hops.iter().skip(1) {
                    let node = &mut largest[hop.from(&scenario.links)];
                    *node = packet.max(*node);
                }
            }
        }
    }
    for (node, packet) in scenario.nodes.iter().zip(largest) {
        if let Some(forwarding) = &node.forwarding
            && forwarding.buffer.get() < packet
        {
            let path = node.place().key("forwarding").key("buffer");
            let expected = format!("room for a packet of {packet} bytes");
            let found = format!("{:?}", forwarding.buffer.to_string());
            problems.push(Problem::new(path, expected, found));
        }
    }
}

/// A spoofing proxy must see all packets of a connection in both directions: what it acknowledges
/// must not take another route.
fn check_spoofing(scenario: &Scenario, routes: &Routes, node: usize, problems: &mut Vec<Problem>) {
    let links = &scenario.links;
    let name = |node: usize| format!("{:?}", scenario.nodes[node].name);
    let forwards = |from, to| routes.forwards((from, to), links).contains(&node);
    let others: Vec<_> = links.iter().filter(|link| !link.ends.contains(&node)).cloned().collect();
    for flow in &scenario.flows {
        let (from, to) = (flow.from, flow.to);
        if !forwards(from, to) && !forwards(to, from) {
            continue;
        }
        // Terminals have one way to their gateway.
        let [start, end] = [from, to].map(|end| scenario.anchor(end));
        let around = Routes::towards([end], scenario.linked_nodes(), &others);
        let is_terminal = scenario.beam_of(node).is_some();
        let around = around.next(start, end).filter(|_| !is_terminal);
        let why = match (forwards(from, to) && forwards(to, from), around) {
            (false, _) => "data and ACKs take different routes",
            (true, Some(_)) => "packets may take a route around it",
            (true, None) => continue,
        };
        let path = scenario.nodes[node].place().key("middlebox");
        let expected = "a node on every route of the flows that it acknowledges";
        let found = format!("\"spoofing-proxy\" at {}", name(node));
        let reason = format!("between {} and {} {why}", name(from), name(to));
        problems.push(Problem::new(path, expected, found).because(reason));
        return;
    }
}

/// A middlebox that no packet meets would change nothing, and the user would compare two equal
/// runs.
fn check_middleboxes(scenario: &Scenario, routes: &Routes, problems: &mut Vec<Problem>) {
    let links = &scenario.links;
    let ways = scenario.flows.iter().flat_map(|flow| flow.all_ways().flatten());
    let (mut sends, mut forwards) = (BTreeSet::new(), BTreeSet::new());
    for way in ways {
        for nodes in scenario.routes_of(routes, way) {
            let mut nodes = nodes.iter().map(|hop| hop.from(links));
            sends.extend(nodes.next());
            forwards.extend(nodes);
        }
        if way.1 < scenario.nodes.len() {
            forwards.extend(routes.forwards(way, links));
        }
    }
    let is_used = |number: usize, middlebox: Middlebox| {
        forwards.contains(&number) || (middlebox.is_in_queues() && sends.contains(&number))
    };
    let mut entries = BTreeSet::new();
    for (i, node) in scenario.nodes.iter().enumerate() {
        let Some(middlebox) = node.middlebox else { continue };
        // Terminals of a group have one `[[node]]`.
        let alike = || scenario.nodes.iter().enumerate().filter(|(_, one)| one.entry == node.entry);
        let is_terminal = i >= scenario.linked_nodes();
        if is_terminal && !entries.insert(node.entry) {
            continue;
        }
        if let Middlebox::SpoofingProxy(_) = middlebox {
            check_spoofing(scenario, routes, i, problems);
        }
        if is_used(i, middlebox) || is_terminal && alike().any(|(i, _)| is_used(i, middlebox)) {
            continue;
        }
        let expected = match middlebox.is_in_queues() {
            true => "a node that sends or forwards packets of a flow",
            false => "a node that forwards packets of a flow",
        };
        let path = node.place().key("middlebox");
        let found = format!("{:?} at {:?}", middlebox.name(), node.name);
        let problem = Problem::new(path, expected, found);
        let others = forwards.range(..scenario.linked_nodes());
        let others = others.map(|node| format!("{:?}", scenario.nodes[*node].name));
        let others: Vec<_> = others.collect();
        problems.push(problem.because(match others.is_empty() {
            true => "no node forwards packets of a flow".into(),
            false => format!("packets of flows pass {}", others.join(", ")),
        }));
    }
}
