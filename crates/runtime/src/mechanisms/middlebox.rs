//! Middleboxes of a scenario in its network, and what they did: a table of totals, and one of
//! samples, in runs that have any.

use middlebox::{AckFilter, Middlebox, Visible};
use network::{Counted, Fabric, NodeId, Packet, QueueFilter};
use recording::extra_table;
use scenario::Scenario;

use crate::mechanisms::{self, Reports};
use crate::topology::number;

extra_table! {
    /// Totals of middleboxes, one row for each of their counters.
    pub(crate) Totals("middlebox") of Total {
        /// Name of the node.
        node: String,
        /// The middlebox.
        middlebox: String,
        /// Name of the counter.
        counter: String,
        /// How many.
        packets: u64,
    }
}

extra_table! {
    /// Samples of the counters of middleboxes, at the times of the series of links.
    pub(crate) Samples("middlebox_series") of Sample {
        /// Name of the node.
        node: String,
        /// Name of the counter.
        counter: String,
        /// Seconds since the start of the run.
        t_s: f64,
        /// How many since the start.
        packets: u64,
    }
}

/// Counters of middleboxes: each of them has some of these.
pub const COUNTERS: [&str; 15] = [
    "filtered",
    "received",
    "sent",
    "decimated",
    "reconstructed",
    "dropped",
    "answered",
    "stale",
    "retransmitted",
    "suppressed",
    "uncached",
    "notices",
    "promised",
    "kept",
    "broken",
];

/// The filter of one queue.
#[derive(Clone, Debug)]
struct Filter(AckFilter);

impl<B: Visible> QueueFilter<B> for Filter {
    fn join(&mut self, ticket: u32, packet: &Packet<B>, removed: &mut Vec<u32>) {
        if let Some(header) = packet.body.header() {
            self.0.join(ticket, &header, removed);
        }
    }

    fn leave(&mut self, ticket: u32, packet: &Packet<B>) {
        if let Some(header) = packet.body.header() {
            self.0.leave(ticket, &header);
        }
    }

    fn boxed_clone(&self) -> Box<dyn QueueFilter<B>> {
        Box::new(self.clone())
    }
}

/// Ports of the links that leave a node.
fn outgoing(scenario: &Scenario, node: usize) -> impl Iterator<Item = usize> {
    let links = scenario.links.iter().enumerate();
    links.flat_map(move |(number, link)| {
        let sides = [(2 * number, link.ends[0]), (2 * number + 1, link.ends[1])];
        sides.into_iter().filter(move |(_, from)| *from == node).map(|(port, _)| port)
    })
}

/// Returns true if a middlebox takes packets out of the queue before a port of a link that leaves
/// `node`.
pub(crate) fn is_filtered(scenario: &Scenario, node: usize) -> bool {
    scenario.nodes[node].middlebox.is_some_and(|middlebox| middlebox.is_in_queues())
}

/// Returns true if a middlebox sees the packets that its node forwards.
pub(crate) fn has_devices(scenario: &Scenario) -> bool {
    let middleboxes = scenario.nodes.iter().filter_map(|node| node.middlebox);
    middleboxes.into_iter().any(|middlebox| !middlebox.is_in_queues())
}

/// The filter of a queue at a node, if its middlebox works there.
pub(crate) fn filter_at<B: Visible>(
    scenario: &Scenario,
    node: usize,
) -> Option<Box<dyn QueueFilter<B>>> {
    let Some(Middlebox::AckFilter(settings)) = scenario.nodes[node].middlebox else { return None };
    Some(Box::new(Filter(AckFilter::new(settings))))
}

/// Sets the filters of the scenario's middleboxes at nodes that links join, before any packet is
/// sent.
pub(crate) fn set_filters<B: Visible>(scenario: &Scenario, fabric: &mut (impl Fabric<B> + ?Sized)) {
    for node in 0..scenario.linked_nodes() {
        for port in outgoing(scenario, node) {
            let Some(filter) = filter_at(scenario, node) else { break };
            fabric.filter(port, filter);
        }
    }
}

/// A middlebox of the scenario.
#[derive(Clone, Debug)]
struct Known {
    id: NodeId,
    node: String,
    middlebox: &'static str,
    /// Ports whose filters are its own.
    ports: Vec<usize>,
}

/// The middleboxes whose counters are found in reports.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    known: Vec<Known>,
}

impl Recorder {
    /// The counters of all middleboxes.
    fn counts<'a>(
        &'a self,
        reports: &'a Reports<'_>,
    ) -> impl Iterator<Item = (&'a Known, &'static str, u64)> {
        self.known.iter().flat_map(move |known| {
            let filtered =
                known.ports.iter().map(|port| reports.ports[*port].filtered_packets).sum();
            let of_queues = (!known.ports.is_empty()).then_some(("filtered", filtered));
            let own = reports.nodes.iter().filter(|report| report.place == Counted::Node(known.id));
            let own = own.flat_map(|report| report.counts.iter().copied());
            of_queues.into_iter().chain(own).map(move |(counter, number)| (known, counter, number))
        })
    }
}

impl mechanisms::Recorder for Recorder {
    type Totals = Totals;
    type Samples = Samples;

    fn new(scenario: &Scenario) -> Self {
        let nodes = scenario.nodes.iter().enumerate();
        let known = nodes.filter_map(|(id, node)| {
            let middlebox = node.middlebox?;
            let ports = if middlebox.is_in_queues() {
                outgoing(scenario, id).collect()
            } else {
                Vec::new()
            };
            let (node, middlebox) = (node.name.clone(), middlebox.name());
            Some(Known { id: NodeId(number(id)), node, middlebox, ports })
        });
        Self { known: known.collect() }
    }

    fn sample(&mut self, reports: &Reports<'_>, samples: &mut Samples) {
        for (known, counter, packets) in self.counts(reports) {
            samples.push(Sample {
                node: known.node.clone(),
                counter: counter.to_owned(),
                t_s: reports.at.as_secs_f64(),
                packets,
            });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        for (known, counter, packets) in Self::new(scenario).counts(reports) {
            debug_assert!(COUNTERS.contains(&counter), "{counter} is not in the list");
            totals.push(Total {
                node: known.node.clone(),
                middlebox: known.middlebox.to_owned(),
                counter: counter.to_owned(),
                packets,
            });
        }
        totals
    }
}
