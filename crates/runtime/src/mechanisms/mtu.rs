//! Links that do not take long packets, and what happened to these: a table of totals, and one of
//! samples, in runs that have such links.

use std::net::IpAddr;

use network::{Counted, NodeId, NodeReport};
use recording::extra_table;
use scenario::Scenario;
use scenario::model::{Icmp, Mtu};

use crate::address::address;
use crate::mechanisms::{self, Reports};
use crate::stops::Columns;
use crate::topology::number;

extra_table! {
    /// Totals of MTUs, one row for each direction that has one.
    pub(crate) Totals("mtu") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// Length of the longest packet in bytes.
        [measure] mtu_bytes: u64,
        /// Fate of messages: `sent` or `filtered`.
        icmp: String,
        /// Packets that were too long. The link has never seen them, and does not count them as
        /// dropped.
        too_big_packets: u64,
        /// Messages about them that were sent.
        icmp_packets: u64,
    }
}

extra_table! {
    /// Samples of these counters, at the times of the series of links.
    pub(crate) Samples("mtu_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Packets that were too long, since the start.
        too_big_packets: u64,
        /// Messages about them, since the start.
        icmp_packets: u64,
    }
}

/// The start of a port with an MTU.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    port: u16,
    mtu: Mtu,
    /// The address of its node.
    router: IpAddr,
    too_big_packets: u64,
    icmp_packets: u64,
}

impl Gate {
    /// Length of the longest packet.
    pub fn mtu(&self) -> u16 {
        self.mtu.bytes
    }

    /// The address that sends messages, unless they are filtered.
    pub fn answers(&self) -> Option<IpAddr> {
        (self.mtu.icmp == Icmp::Sent).then_some(self.router)
    }

    /// A message was sent.
    pub fn count_message(&mut self) {
        self.icmp_packets += 1;
    }
}

/// All of them in a network.
#[derive(Clone, Debug)]
pub(crate) struct Gates {
    gates: Vec<Gate>,
    columns: Columns,
    /// By node and destination, the place of the gate on the next hop; empty if there are no gates.
    next: Vec<Vec<Option<usize>>>,
}

/// Returns true if a link of the scenario has an MTU.
pub(crate) fn is_in_use(scenario: &Scenario) -> bool {
    scenario.links.iter().any(|link| link.mtu.iter().any(Option::is_some))
}

impl Gates {
    /// The gates of the scenario's links.
    pub fn new(scenario: &Scenario) -> Self {
        let mut gates = Vec::new();
        for (place, link) in scenario.links.iter().enumerate() {
            for (side, mtu) in link.mtu.into_iter().enumerate() {
                let Some(mtu) = mtu else { continue };
                gates.push(Gate {
                    port: number(2 * place + side),
                    mtu,
                    router: address(number(link.ends[side]), scenario.ip),
                    too_big_packets: 0,
                    icmp_packets: 0,
                });
            }
        }
        let columns = Columns::new(scenario);
        if gates.is_empty() {
            return Self { gates, columns, next: Vec::new() };
        }
        let routes = scenario::routes(scenario);
        let next = |from: usize, to: usize| {
            let hop = routes.next(from, to)?;
            let port = number(2 * hop.link as usize + usize::from(!hop.forward));
            gates.iter().position(|gate| gate.port == port)
        };
        let row = |from| columns.destinations().map(|to| next(from, to)).collect();
        let next = columns.nodes().map(row).collect();
        Self { gates, columns, next }
    }

    /// Returns true if no link has an MTU.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// The place of the gate that a packet from `node` to `to` meets next.
    fn place(&self, node: NodeId, to: NodeId) -> Option<usize> {
        *self.next.get(usize::from(node.0))?.get(self.columns.of(to))?
    }

    /// Returns true if the node sends packets for `to` through a gate.
    pub fn is_at(&self, node: NodeId, to: NodeId) -> bool {
        self.place(node, to).is_some()
    }

    /// The gate at `node` that does not let a packet of `bytes` for `to` pass, which it counts.
    pub fn closed_to(&mut self, node: NodeId, to: NodeId, bytes: u16) -> Option<&mut Gate> {
        let place = self.place(node, to)?;
        let gate = self.gates.get_mut(place).filter(|gate| bytes > gate.mtu.bytes)?;
        gate.too_big_packets += 1;
        Some(gate)
    }

    /// Counts of each gate.
    pub fn reports(&self) -> impl Iterator<Item = NodeReport> {
        self.gates.iter().map(|gate| {
            // Without `..`, so that a new counter has to stand in the table.
            let &Gate { port, mtu: _, router: _, too_big_packets, icmp_packets } = gate;
            let counts = vec![("too_big_packets", too_big_packets), ("icmp_packets", icmp_packets)];
            NodeReport { place: Counted::Gate(port), counts }
        })
    }
}

/// The counters of each gate with the number of its port.
fn counted(reports: &Reports<'_>) -> impl Iterator<Item = (u16, [u64; 2])> {
    let count = |report: &NodeReport| {
        ["too_big_packets", "icmp_packets"].map(|counter| report.count(counter))
    };
    reports.counted(Counted::gate).map(move |(port, report)| (port, count(report)))
}

/// Has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorder;

impl mechanisms::Recorder for Recorder {
    type Totals = Totals;
    type Samples = Samples;

    fn new(_: &Scenario) -> Self {
        Self
    }

    fn sample(&mut self, reports: &Reports<'_>, samples: &mut Samples) {
        for (port, [too_big_packets, icmp_packets]) in counted(reports) {
            let (link, t_s) = (port.into(), reports.at.as_secs_f64());
            samples.push(Sample { link, t_s, too_big_packets, icmp_packets });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        for (port, [too_big_packets, icmp_packets]) in counted(reports) {
            let (place, side) = (usize::from(port / 2), usize::from(port % 2));
            let link = &scenario.links[place];
            let Some(Mtu { bytes, icmp }) = link.mtu[side] else { continue };
            totals.push(Total {
                link: link.name.clone(),
                direction: ["forward", "backward"][side].to_owned(),
                mtu_bytes: bytes.into(),
                icmp: icmp.name().to_owned(),
                too_big_packets,
                icmp_packets,
            });
        }
        totals
    }
}
