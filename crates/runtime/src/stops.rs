//! Where packets stop in a network with middleboxes and other state machines at its nodes.
//!
//! Tables have a row for each node that links join, and no row or column for a terminal of a beam:
//! a beam has too many. A packet from a terminal stops at its gateway, and one to a terminal goes
//! through there.

use network::NodeId;
use scenario::Scenario;

use crate::mechanisms::mtu::Gates;
use crate::topology::number;

/// Destinations of packets, and their columns in tables.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// Nodes that links join.
    linked: u16,
    /// The gateway of each terminal.
    gateways: Vec<NodeId>,
    /// The host of each address.
    addresses: Vec<NodeId>,
}

impl Columns {
    /// Those of a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let gateways = scenario.beams.iter();
        let gateways = gateways.flat_map(|beam| beam.terminals.clone().map(|_| beam.gateway));
        let hosts = scenario.addresses.iter();
        Self {
            linked: number(scenario.linked_nodes()),
            gateways: gateways.map(|gateway| NodeId(number(gateway))).collect(),
            addresses: hosts.map(|address| NodeId(number(address.node))).collect(),
        }
    }

    /// The destinations with a column of their own: nodes that links join, then addresses.
    pub fn destinations(&self) -> impl Iterator<Item = usize> + Clone {
        let linked = usize::from(self.linked);
        let addresses = linked + self.gateways.len();
        (0..linked).chain(addresses..addresses + self.addresses.len())
    }

    /// The nodes with a row of their own.
    pub fn nodes(&self) -> std::ops::Range<usize> {
        0..self.linked.into()
    }

    /// The gateway of a terminal; `None` for other nodes and for addresses.
    #[inline]
    pub fn gateway(&self, node: NodeId) -> Option<NodeId> {
        let terminal = node.0.checked_sub(self.linked)?;
        self.gateways.get(usize::from(terminal)).copied()
    }

    /// The host with an address; `None` for a node.
    #[inline]
    fn host(&self, to: NodeId) -> Option<NodeId> {
        let address = to.0.checked_sub(self.linked)?;
        self.addresses.get(usize::from(address).checked_sub(self.gateways.len())?).copied()
    }

    /// The column of a destination: that of its gateway for a terminal.
    #[inline]
    pub fn of(&self, to: NodeId) -> usize {
        match to.0.checked_sub(self.linked) {
            None => usize::from(to.0),
            Some(behind) => match self.gateways.get(usize::from(behind)) {
                Some(gateway) => usize::from(gateway.0),
                None => usize::from(to.0) - self.gateways.len(),
            },
        }
    }
}

/// The number of links between nodes. A beam counts as one.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    columns: Columns,
    /// By node and destination.
    between: Vec<Vec<u8>>,
}

impl Links {
    /// Those of a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let routes = scenario::routes(scenario);
        let columns = Columns::new(scenario);
        let hops = |from: usize, to: usize| {
            u8::try_from(routes.path(from, to, &scenario.links).len()).unwrap_or(u8::MAX)
        };
        let row = |from| columns.destinations().map(|to| hops(from, to)).collect();
        let between = columns.nodes().map(row).collect();
        Self { columns, between }
    }

    /// Number of links on the way of a packet from `from` to `to`.
    pub fn between(&self, from: NodeId, to: NodeId) -> u8 {
        let ends = [from, to].into_iter();
        let beams = ends.filter(|end| self.columns.gateway(*end).is_some()).count();
        let links = self.between[self.columns.of(from)][self.columns.of(to)];
        links.saturating_add(u8::try_from(beams).unwrap_or(u8::MAX))
    }
}

/// By node and destination, the next node with a middlebox, a decompressor, a gate, an end of a
/// tunnel, or a name in a switch on the way, or the destination.
#[derive(Clone, Debug)]
pub(crate) struct Stops {
    columns: Columns,
    next: Vec<Vec<NodeId>>,
}

impl Stops {
    /// Those of a scenario with middleboxes and the like at `nodes`.
    pub fn new(scenario: &Scenario, nodes: &[NodeId], gates: &Gates) -> Self {
        let routes = scenario::routes(scenario);
        let columns = Columns::new(scenario);
        let mut is_stop = vec![false; scenario.nodes.len()];
        nodes.iter().for_each(|node| is_stop[usize::from(node.0)] = true);
        let stop = |from: usize, to: usize| {
            let hops = routes.path(from, to, &scenario.links);
            let ends = hops.iter().find_map(|hop| {
                let node = NodeId(number(hop.to(&scenario.links)));
                let link = &scenario.links[hop.link as usize];
                let is_compressed = link.header_compression[usize::from(!hop.forward)].is_some();
                let is_gate = gates.is_at(node, NodeId(number(to)));
                (is_compressed || is_gate || is_stop[usize::from(node.0)]).then_some(node)
            });
            ends.unwrap_or(NodeId(number(to)))
        };
        // A middlebox sees what its node forwards, and not what is for the node itself: the search
        // may end there either way.
        let row = |from| columns.destinations().map(|to| stop(from, to)).collect();
        let next = columns.nodes().map(row).collect();
        Self { columns, next }
    }

    /// Returns true if a packet for `to` is at its destination in a node, which may have several
    /// addresses.
    #[inline]
    pub fn is_at(&self, node: NodeId, to: NodeId) -> bool {
        to == node || self.columns.host(to) == Some(node)
    }

    /// Returns true for a terminal of a beam.
    pub fn is_terminal(&self, node: NodeId) -> bool {
        self.columns.gateway(node).is_some()
    }

    /// The next stop of a packet from `from` to `to`.
    #[inline]
    pub fn next(&self, from: NodeId, to: NodeId) -> NodeId {
        let gateway = self.columns.gateway(from);
        if from == to || self.columns.gateway(to) == Some(from) {
            return to;
        }
        gateway.unwrap_or_else(|| self.next[usize::from(from.0)][self.columns.of(to)])
    }
}
