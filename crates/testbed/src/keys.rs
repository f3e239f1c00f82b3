//! Keys of packets: queues keep flows apart by them, and beams know the class of a packet.

use std::collections::BTreeMap;

use network::{Fabric, FlowId};
use scenario::Scenario;
use wire::IpPacket;

use crate::plan;

/// The keys of all packets.
///
/// A key is the hash of addresses and ports. Where packets have classes, keys are numbers in the
/// order in which connections appear: networks have a table of these.
#[derive(Debug)]
pub(crate) struct Keys {
    /// Numbers by hash and flow, if packets have classes.
    numbers: Option<BTreeMap<(u32, Option<usize>), u32>>,
    /// Number of flows of the scenario.
    flows: usize,
}

impl Keys {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let has_classes = scenario.beams.iter().any(|beam| beam.classes.len() > 1);
        Self { numbers: has_classes.then(BTreeMap::new), flows: scenario.flows.len() }
    }

    /// The key of a packet. The network learns the flow of a new one; packets of no flow, such as
    /// later fragments, have none.
    pub(crate) fn of(&mut self, packet: &IpPacket, network: &mut dyn Fabric<IpPacket>) -> u32 {
        let hash = packet.flow_key();
        let Some(numbers) = &mut self.numbers else { return hash };
        let flow = packet.ports().and_then(|ports| plan::flow_of_ports(ports, self.flows));
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let number = *numbers.entry((hash, flow)).or_insert(next);
        if number == next
            && let Some(flow) = flow
        {
            network.identify(number, FlowId(flow as u32));
        }
        number
    }
}
