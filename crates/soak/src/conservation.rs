//! No packet appears or disappears: what hosts send is received, dropped, corrupted, or on its way.

use recording::{Recording, Values};
use scenario::{Routes, Scenario, routes};
use simulator::Observed;

use crate::beams;

/// Packets that each node has sent and received as a host, by the first or the last hop.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    sent: Vec<u64>,
    received: Vec<u64>,
}

impl Ledger {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let zeros = vec![0; scenario.nodes.len()];
        Self { sent: zeros.clone(), received: zeros }
    }

    pub(crate) fn enter(&mut self, observed: &Observed<'_>) {
        if observed.from == observed.to {
            // Between a terminal and the host behind it.
            return;
        }
        let node = usize::from(observed.node);
        let ledger =
            if observed.node == observed.from { &mut self.sent } else { &mut self.received };
        ledger[node] += 1;
    }

    /// A sum that does not add up, if there is one.
    pub(crate) fn imbalance(&self, scenario: &Scenario, recording: &Recording) -> Option<String> {
        if !scenario.beams.is_empty() {
            let passed = unsplit(scenario, recording);
            let ledgers = [&self.sent, &self.received, &passed];
            return beams::imbalance(scenario, recording, ledgers.map(Vec::as_slice));
        }
        // Ends of tunnels send messages of their own and discard packets. The recording has these
        // counts for each tunnel, and not for each node.
        if scenario.flows.iter().any(|flow| flow.tunnel.is_some()) {
            return None;
        }
        let routes: Routes = routes(scenario);
        let compressed = Compressed::of(scenario, recording);
        let (too_big, messages) = gates(scenario, recording);
        let let_pass = unsplit(scenario, recording);
        let (probes, heard) = probes(scenario, recording);
        let links = 2 * scenario.links.len();
        let policed = policed(scenario, recording);
        let record = |port: usize| &recording.links[port];
        let copies = copies(scenario, recording);
        // Copies are made on the way: the port was not offered them.
        let handled = |port: usize| {
            let link = record(port);
            let lost = link.dropped_packets + link.corrupted_packets;
            link.delivered_packets + lost - copies[port] + policed.get(port).copied().unwrap_or(0)
        };
        let mut forwarding = links;
        // Packets that all ports were offered: what hosts send, and what arrives to go on.
        let mut offered = 0;
        for (node, settings) in scenario.nodes.iter().enumerate() {
            let outgoing = (0..links).filter(|port| start(scenario, *port) == node);
            let incoming = (0..links).filter(|port| end(scenario, *port) == node);
            let arrived: u64 = incoming.map(|port| record(port).delivered_packets).sum();
            let absorbed = self.received[node] + compressed.absorbed[node] + heard[node];
            let Some(passing) = arrived.checked_sub(absorbed) else {
                return Some(format!("{} received more than links delivered", settings.name));
            };
            // A middlebox may hold packets back, and make others.
            let passing = match passed(recording, &settings.name) {
                Some((received, _)) if received != passing => {
                    let name = &settings.name;
                    return Some(format!("{received} packets of {passing} at {name}"));
                }
                Some((_, sent)) => sent,
                None => passing,
            };
            // What is too long goes no further.
            let Some(passing) = passing.checked_sub(too_big[node]) else {
                return Some(format!("more than {passing} packets too long at {}", settings.name));
            };
            let mut goes_out = self.sent[node] + passing;
            if settings.forwarding.is_some() {
                if handled(forwarding) > passing {
                    return Some(format!("{} forwards more than arrives", settings.name));
                }
                offered += passing;
                goes_out = self.sent[node] + record(forwarding).delivered_packets;
                forwarding += 1;
            }
            goes_out += compressed.feedback[node] + messages[node] + let_pass[node] + probes[node];
            let came_out: u64 = outgoing.map(handled).sum();
            if came_out > goes_out {
                let name = &settings.name;
                return Some(format!("{came_out} packets of the {goes_out} that {name} sends"));
            }
            offered += goes_out;
        }
        let unrouted = scenario.flows.iter().any(|flow| routes.next(flow.from, flow.to).is_none());
        (offered != recording.packet_hops && !unrouted)
            .then(|| format!("{} hops of {offered} packets at ports", recording.packet_hops))
    }
}

/// Copies of packets that have arrived, for each port.
pub(crate) fn copies(scenario: &Scenario, recording: &Recording) -> Vec<u64> {
    let mut copies = vec![0; recording.links.len()];
    let Some(table) = recording.tables.iter().find(|table| table.name() == "impairments") else {
        return copies;
    };
    let columns = table.columns();
    let column = columns.iter().find(|column| column.name == "duplicated_packets");
    let Some(Values::U64(counts)) = column.map(|column| &column.values) else {
        panic!("no counts of copies")
    };
    // One row for each direction that reorders or duplicates at random, in the order of the
    // directions.
    let directions = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let impaired = directions
        .enumerate()
        .filter(|(_, one)| one.reordering.is_some() || one.duplication.is_some());
    for ((port, _), count) in impaired.zip(counts.iter()) {
        copies[port] = *count;
    }
    copies
}

/// Packets that were too long for a link and the messages about them, for each node. Hosts send no
/// packets that are too long for their own links.
fn gates(scenario: &Scenario, recording: &Recording) -> (Vec<u64>, Vec<u64>) {
    let zeros = vec![0; scenario.nodes.len()];
    let (mut too_big, mut messages) = (zeros.clone(), zeros);
    let Some(table) = recording.tables.iter().find(|table| table.name() == "mtu") else {
        return (too_big, messages);
    };
    let columns = table.columns();
    // One row for each direction that has an MTU, in the order of the directions.
    let ports = (0..2 * scenario.links.len())
        .filter(|port| scenario.links[port / 2].mtu[port % 2].is_some());
    for (row, port) in ports.enumerate() {
        let count = |name: &str| {
            let column = columns.iter().find(|column| column.name == name);
            let Some(Values::U64(counts)) = column.map(|column| &column.values) else {
                panic!("no counts of {name}")
            };
            counts[row]
        };
        too_big[start(scenario, port)] += count("too_big_packets");
        messages[start(scenario, port)] += count("icmp_packets");
    }
    (too_big, messages)
}

/// Packets of BFD that routers of switches have sent and received, for each node.
fn probes(scenario: &Scenario, recording: &Recording) -> (Vec<u64>, Vec<u64>) {
    let zeros = vec![0; scenario.nodes.len()];
    let (mut sent, mut received) = (zeros.clone(), zeros);
    let Some(table) = recording.tables.iter().find(|table| table.name() == "switch") else {
        return (sent, received);
    };
    let columns = table.columns();
    let counts = |name: &str| {
        let column = columns.iter().find(|column| column.name == name);
        let Some(Values::U64(counts)) = column.map(|column| &column.values) else {
            panic!("no counts of {name}")
        };
        counts
    };
    // One row for each path of each router, in the order of the scenario.
    let routers = scenario.switches.iter().flat_map(|switch| {
        switch.ends.into_iter().flat_map(|end| std::iter::repeat_n(end, switch.via.len()))
    });
    let counts = counts("sent_probes").iter().zip(counts("received_probes").iter());
    for (node, (out, heard)) in routers.zip(counts) {
        sent[node] += out;
        received[node] += heard;
    }
    (sent, received)
}

/// Packets that policers have dropped, for each direction.
fn policed(scenario: &Scenario, recording: &Recording) -> Vec<u64> {
    let directions: Vec<_> =
        scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]).collect();
    let mut dropped = vec![0; directions.len()];
    let Some(table) = recording.tables.iter().find(|table| table.name() == "policer") else {
        return dropped;
    };
    let columns = table.columns();
    let column = columns.iter().find(|column| column.name == "dropped_packets");
    let Some(Values::U64(counts)) = column.map(|column| &column.values) else {
        panic!("no counts of packets that were policed")
    };
    // One row for each direction that has a policer, in the order of the directions.
    let policers = directions.iter().enumerate().filter(|(_, one)| one.policer.is_some());
    for ((port, _), count) in policers.zip(counts.iter()) {
        dropped[port] = *count;
    }
    dropped
}

/// SYNs that gateways have received and sent on, because the connection crosses them unsplit, for
/// each node.
fn unsplit(scenario: &Scenario, recording: &Recording) -> Vec<u64> {
    let mut syns = vec![0; scenario.nodes.len()];
    let Some(table) = recording.tables.iter().find(|table| table.name() == "proxies") else {
        return syns;
    };
    let columns = table.columns();
    let column = columns.iter().find(|column| column.name == "passed_connections");
    let Some(Values::U64(counts)) = column.map(|column| &column.values) else {
        panic!("no counts of connections that passed")
    };
    // One row for each gateway, in the order of the nodes.
    let nodes = scenario.nodes.iter().enumerate();
    let gateways = nodes.filter(|(_, node)| node.proxy.is_some());
    for ((node, _), count) in gateways.zip(counts.iter()) {
        syns[node] += count;
    }
    syns
}

/// Packets that only header compression sees, for each node.
struct Compressed {
    /// Packets that arrived, but not at their destination: those that could not be decompressed,
    /// and feedback.
    absorbed: Vec<u64>,
    /// Packets of feedback that were sent.
    feedback: Vec<u64>,
}

impl Compressed {
    fn of(scenario: &Scenario, recording: &Recording) -> Self {
        let zeros = vec![0; scenario.nodes.len()];
        let mut all = Self { absorbed: zeros.clone(), feedback: zeros };
        let name = "header_compression";
        let Some(table) = recording.tables.iter().find(|table| table.name() == name) else {
            return all;
        };
        let columns = table.columns();
        let counts = |name: &str| {
            let column = columns.iter().find(|column| column.name == name);
            let values = column.map(|column| &column.values);
            let Some(Values::U64(counts)) = values else { panic!("no counts of {name}") };
            counts
        };
        let undecodable = counts("undecodable_packets");
        let (sent, arrived) = (counts("feedback_packets"), counts("arrived_feedback_packets"));
        // One row for each direction that has it, in the order of the directions.
        let ports = (0..2 * scenario.links.len())
            .filter(|port| scenario.links[port / 2].header_compression[port % 2].is_some());
        for (row, port) in ports.enumerate() {
            let (compressor, decompressor) = (start(scenario, port), end(scenario, port));
            all.absorbed[decompressor] += undecodable[row];
            all.feedback[decompressor] += sent[row];
            all.absorbed[compressor] += arrived[row];
        }
        all
    }
}

/// Packets that the middlebox of a node has received and sent; `None` without one, and for those
/// that work in queues.
pub(crate) fn passed(recording: &Recording, node: &str) -> Option<(u64, u64)> {
    let table = recording.tables.iter().find(|table| table.name() == "middlebox")?;
    let columns = table.columns();
    let [Values::Text(nodes), Values::Text(names), Values::U64(counts)] =
        [&columns[0].values, &columns[2].values, &columns[3].values]
    else {
        return None;
    };
    let count = |counter: &str| {
        let place = nodes.iter().zip(names).position(|row| row == (&node, &counter))?;
        Some(counts[place])
    };
    count("received").zip(count("sent"))
}

/// The node at which a direction starts: the forward ones are even.
fn start(scenario: &Scenario, port: usize) -> usize {
    scenario.links[port / 2].ends[port % 2]
}

fn end(scenario: &Scenario, port: usize) -> usize {
    scenario.links[port / 2].ends[1 - port % 2]
}
