//! Connections that are over: only their totals are kept.

use std::collections::BTreeMap;

use network::FlowId;
use runtime::{EndpointId, Side};
use scenario::Scenario;
use scenario::model::Flow;
use sketch::Sketch;
use transport::MtuProbing;
use units::Time;

use super::Hosts;
use crate::transports::Connection;

/// RTT samples of connections that are over, by their flows.
#[derive(Debug, Default)]
pub(super) struct EndedSamples {
    /// The run looks at nothing of a connection that is over but its totals.
    is_on: bool,
    flows: BTreeMap<u32, Sketch>,
}

impl EndedSamples {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let has_gateways = scenario.nodes.iter().any(|node| node.proxy.is_some());
        let has_mtu = scenario.links.iter().any(|link| link.mtu.iter().any(Option::is_some));
        let has_fields = scenario
            .links
            .iter()
            .any(|link| link.sides().iter().any(|(_, direction)| direction.feedback.is_some()));
        let is_plain = !has_gateways && !has_mtu && !has_fields && !scenario.record.delivery;
        let is_on = is_plain && !scenario.flows.iter().any(has_more_figures);
        Self { is_on, flows: BTreeMap::new() }
    }
}

/// Returns true if tables of a recording have figures of the flow's ends besides their totals.
fn has_more_figures(flow: &Flow) -> bool {
    flow.transport.tcp().is_some_and(|config| {
        let has_scps = config.scps.is_some();
        has_scps || config.mtu_probing != MtuProbing::Off || config.ack_control || config.eln
    })
}

impl<C: Connection> Hosts<C> {
    /// Keeps only the totals of an end if its connection is over.
    #[cold]
    pub(crate) fn delete_if_over(&mut self, now: Time, number: EndpointId) {
        let endpoint = &mut self.endpoints[number.index()];
        if !self.ended.is_on || endpoint.extras.is_some() {
            return;
        }
        let is_sender = self.ends.get(number).side == Side::Sender;
        let (flow, ended) = (endpoint.flow.0, &mut self.ended.flows);
        endpoint.connection.delete_if_over(now, |samples| {
            if is_sender && samples.count() > 0 {
                ended.entry(flow).or_default().merge(samples);
            }
        });
    }

    /// RTT samples of the data senders of a flow whose connections are over.
    pub(crate) fn ended_samples(&self, flow: FlowId) -> Option<&Sketch> {
        self.ended.flows.get(&flow.0)
    }
}
