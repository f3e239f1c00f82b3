//! Delivery times: from the first transmission of data by the sending host until the receiving
//! application has it, with the time in gateways and in repairs. It is a one-way time, and not an
//! RTT.
//!
//! A mark is set whenever the sending host has sent data for the first time. Its time is that of
//! the last byte of this data, and it counts once, however many bytes were sent. Only TCP and
//! SCPS-TP report which data they have sent.

use std::collections::VecDeque;

use recording::{ExtraTable, extra_table};
use runtime::{Application, EndpointId, Pair};
use scenario::Scenario;
use scenario::model::Flow;
use sketch::{Sketch, Summary};
use units::Time;

use crate::hosts::Hosts;
use crate::transports::Connection;

extra_table! {
    /// Delivery times of flows that a gateway splits, and of all flows with `record.delivery`: from
    /// the first transmission by the sending host to the receiving application. One-way, gateways
    /// and repairs included.
    pub(super) Deliveries("delivery") of DeliveryRow {
        /// Name of the flow.
        flow: String,
        /// Number of samples: one for each time at which the sending host has sent new data.
        samples: u64,
        /// Mean delivery time in milliseconds.
        mean_ms: f64,
        /// Median delivery time in milliseconds.
        median_ms: f64,
        /// 95th percentile of the delivery time in milliseconds.
        p95_ms: f64,
        /// 99th percentile of the delivery time in milliseconds.
        p99_ms: f64,
        /// Maximum delivery time in milliseconds.
        max_ms: f64,
    }
}

const NS_PER_MS: f64 = 1e6;

/// Data of one connection that was sent and has not yet arrived: times, and offsets of the ends.
#[derive(Default)]
struct Marks {
    waiting: VecDeque<(Time, u64)>,
    sent: u64,
}

/// The delivery times of one flow.
#[derive(Default)]
struct OfFlow {
    marks: Vec<Marks>,
    times: Sketch,
}

/// Delivery times of the flows that have them.
#[derive(Default)]
pub(super) struct Recorder {
    flows: Vec<Option<OfFlow>>,
}

impl Recorder {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let is_measured = |flow: &Flow| scenario.record.delivery || !flow.gateways.is_empty();
        // Without a place for each flow if there is nothing to measure: there may be a million.
        if !scenario.flows.iter().any(is_measured) {
            return Self::default();
        }
        let flows = scenario.flows.iter().map(|flow| is_measured(flow).then(OfFlow::default));
        Self { flows: flows.collect() }
    }

    /// Returns true if a flow is measured.
    pub(super) fn is_active(&self) -> bool {
        !self.flows.is_empty()
    }

    /// Takes what an endpoint of a flow has sent or received until `now`.
    pub(super) fn look(
        &mut self,
        now: Time,
        endpoint: EndpointId,
        hosts: &Hosts<impl Connection>,
        applications: &[Application],
    ) {
        let flow = hosts.endpoints[endpoint.index()].flow.0 as usize;
        let Some(Some(OfFlow { marks, times })) = self.flows.get_mut(flow) else { return };
        let pairs = applications[flow].pairs();
        // Either end may have moved, if the connection crosses a gateway unsplit.
        let own = |pair: &Pair| {
            [pair.sender, pair.receiver].into_iter().any(|end| hosts.located(end) == endpoint)
        };
        let Some(place) = pairs.iter().rposition(own) else { return };
        let pair = pairs[place];
        if marks.len() < pairs.len() {
            marks.resize_with(pairs.len(), Marks::default);
        }
        let Some(sender) = hosts.connection(pair.sender).tcp() else { return };
        let Marks { waiting, sent } = &mut marks[place];
        let now_sent = sender.sent_once();
        if now_sent > *sent {
            *sent = now_sent;
            waiting.push_back((now, now_sent));
        }
        let delivered = hosts.connection(pair.receiver).delivered();
        while let Some(&(at, _)) = waiting.front().filter(|(_, end)| *end <= delivered) {
            times.record(now.since(at).as_nanos());
            waiting.pop_front();
        }
    }

    pub(super) fn into_table(self, scenario: &Scenario) -> Option<ExtraTable> {
        let mut table = Deliveries::default();
        for (flow, measured) in scenario.flows.iter().zip(self.flows) {
            let Some(OfFlow { times, .. }) = measured else { continue };
            let nothing = [f64::NAN; 5];
            let figures = times.summary(0).map_or(nothing, |times| {
                let Summary { mean, median, p95, p99, max } = times.per(NS_PER_MS);
                [mean, median, p95, p99, max]
            });
            let [mean_ms, median_ms, p95_ms, p99_ms, max_ms] = figures;
            table.push(DeliveryRow {
                flow: flow.name.clone(),
                samples: times.count(),
                mean_ms,
                median_ms,
                p95_ms,
                p99_ms,
                max_ms,
            });
        }
        table.into_table().filled()
    }
}
