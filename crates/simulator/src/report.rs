//! Records of a run: totals at its end, and series if the scenario sets them.

mod ack_control;
mod best_effort;
mod delivery;
mod detections;
mod legs;
mod loss_notices;
mod path_mtu;

use network::{Fabric, FlowId, NodeReport, PortReport, QueueReport};
use recording::{
    Backend, FlowSample, FlowSeries, Recording, SharedFigures, TableDefinition, jain_index,
};
use runtime::{
    Application, BeamSampler, EndpointId, FlowState, LimitSeries, LinkRecorder, LinkSamples, Pair,
    link_records, link_tables,
};
use scenario::Scenario;
use sketch::Summary;
use transport::{Counters, Limits};
use units::{Span, Time};

use crate::hosts::{Body, Hosts};
use crate::transports::{self, Connection};

/// The tables that mechanisms add to recordings, in the simulator and on the testbed. A run has
/// those of its mechanisms.
pub fn tables() -> impl Iterator<Item = &'static TableDefinition> {
    const OWN: [TableDefinition; 9] = [
        legs::Proxies::DEFINITION,
        legs::Series::DEFINITION,
        delivery::Deliveries::DEFINITION,
        path_mtu::Discoveries::DEFINITION,
        ack_control::AckRatios::DEFINITION,
        loss_notices::Notices::DEFINITION,
        best_effort::Losses::DEFINITION,
        detections::Changes::DEFINITION,
        detections::Detections::DEFINITION,
    ];
    static TABLES: [&[TableDefinition]; 2] = [runtime::TABLES, &OWN];
    let of_beams = runtime::BEAM_TABLES.into_iter().flatten();
    TABLES.into_iter().flatten().chain(application_tables()).chain(of_beams)
}

/// The tables that applications add to recordings, such as that of calls.
pub fn application_tables() -> impl Iterator<Item = &'static TableDefinition> {
    runtime::APPLICATION_TABLES.iter().copied().flatten()
}

pub(crate) use detections::tables as detection_tables;

/// Rows of samples between two looks at the progress: some milliseconds.
const ROWS_AT_A_TIME: usize = 1 << 15;

/// Collects series while a run goes on.
pub(crate) struct Recorder {
    interval: Option<Span>,
    events: bool,
    next_sample: Time,
    last_sample: Time,
    last_rows: Vec<Option<FlowSample>>,
    /// Starts of all flows, if samples are taken.
    starts: Vec<Time>,
    flows: FlowSeries,
    links: LinkRecorder,
    legs: legs::Sampler,
    limits: LimitSeries,
    delivery: delivery::Recorder,
    beams: BeamSampler,
    observes: bool,
}

impl Recorder {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let interval = scenario.record.interval;
        let delivery = delivery::Recorder::new(scenario);
        let starts = scenario.flows.iter().map(|flow| Time::ZERO + flow.start);
        Self {
            interval,
            events: scenario.record.events,
            next_sample: interval.map_or(Time::NEVER, |_| Time::ZERO),
            last_sample: Time::ZERO,
            last_rows: vec![
                None;
                if interval.is_some() || scenario.record.events {
                    scenario.flows.len()
                } else {
                    0
                }
            ],
            starts: interval.map_or_else(Vec::new, |_| starts.collect()),
            flows: FlowSeries::default(),
            links: LinkRecorder::new(scenario),
            legs: legs::Sampler::new(scenario),
            limits: LimitSeries::default(),
            beams: BeamSampler::new(scenario),
            observes: scenario.record.events || delivery.is_active(),
            delivery,
        }
    }

    #[inline]
    pub(crate) fn next_sample(&self) -> Time {
        self.next_sample
    }

    pub(crate) fn last_sample(&self) -> Time {
        self.last_sample
    }

    /// Returns true if [`observe`](Self::observe) must be called after each event of an endpoint.
    #[inline]
    pub(crate) fn observes(&self) -> bool {
        self.observes
    }

    /// Takes the samples that are due up to `now`, but not more than a few thousand rows of them.
    /// Returns whether none is left: between two events there may be millions. Nothing has happened
    /// since the last event, so the state is that of each sample's time.
    pub(crate) fn sample_some_until<C: Connection, F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        hosts: &Hosts<C>,
        applications: &[Application],
        fabric: &mut F,
    ) -> bool {
        let first = self.flows.len() + self.links.rows();
        while self.next_sample <= now {
            let Some(interval) = self.interval else { return true };
            if self.flows.len() + self.links.rows() - first > ROWS_AT_A_TIME {
                return false;
            }
            self.sample(self.next_sample, hosts, applications, fabric);
            self.next_sample += interval;
        }
        true
    }

    /// The last sample, at the end of the run, so that the series ends with the totals. Those due
    /// before have been taken.
    pub(crate) fn sample_end<C: Connection, F: Fabric<Body<C::Packet>>>(
        &mut self,
        end: Time,
        hosts: &Hosts<C>,
        applications: &[Application],
        fabric: &mut F,
    ) {
        if self.interval.is_some() && self.last_sample < end {
            self.sample(end, hosts, applications, fabric);
        }
    }

    fn sample<C: Connection, F: Fabric<Body<C::Packet>>>(
        &mut self,
        at: Time,
        hosts: &Hosts<C>,
        applications: &[Application],
        fabric: &mut F,
    ) {
        for (flow, application) in applications.iter().enumerate() {
            if self.starts[flow] <= at {
                let state = flow_state(application, hosts);
                if !state.is_split {
                    self.limits.push(at, flow, 0, limits(at, application, hosts));
                }
                let sample = self.with_rates(state.sample(at, flow));
                self.last_rows[flow] = Some(sample);
                self.flows.push(sample);
            }
        }
        self.legs.sample(at, hosts, &mut self.limits);
        fabric.settle(at, 0);
        self.links.sample(at, &fabric.report(at), &fabric.node_reports());
        self.beams.sample(at, fabric.beam_counts(at));
        self.last_sample = at;
    }

    /// Records what an event of `endpoint` has changed: its delivery times, and a row of its flow.
    pub(crate) fn observe(
        &mut self,
        now: Time,
        endpoint: EndpointId,
        hosts: &Hosts<impl Connection>,
        applications: &[Application],
    ) {
        self.look_at_delivery(now, endpoint, hosts, applications);
        if self.events {
            self.record_event(now, endpoint, hosts, applications);
        }
    }

    /// Takes the delivery times that end with what `endpoint` has received.
    #[inline]
    pub(crate) fn look_at_delivery(
        &mut self,
        now: Time,
        endpoint: EndpointId,
        hosts: &Hosts<impl Connection>,
        applications: &[Application],
    ) {
        if self.delivery.is_active() {
            self.delivery.look(now, endpoint, hosts, applications);
        }
    }

    /// A row for the flow of `endpoint`, if anything about it has changed.
    fn record_event(
        &mut self,
        now: Time,
        endpoint: EndpointId,
        hosts: &Hosts<impl Connection>,
        applications: &[Application],
    ) {
        let flow = hosts.endpoints[endpoint.index()].flow.0 as usize;
        let sample = flow_state(&applications[flow], hosts).sample(now, flow);
        let timeless = |sample: FlowSample| FlowSample {
            t_s: 0.0,
            goodput_bps: 0.0,
            throughput_bps: 0.0,
            ..sample
        };
        if self.last_rows[flow].is_none_or(|last| timeless(last) != timeless(sample)) {
            let sample = self.with_rates(sample);
            self.last_rows[flow] = Some(sample);
            self.flows.push(sample);
        }
    }

    /// Fills in the rates since the flow's row before.
    fn with_rates(&self, sample: FlowSample) -> FlowSample {
        let last = &self.last_rows[sample.flow as usize];
        last.as_ref().map_or(sample, |last| sample.with_rates_since(last))
    }

    #[expect(clippy::too_many_arguments, reason = "all that a run leaves behind")]
    pub(crate) fn finish(
        self,
        scenario: &Scenario,
        end: Time,
        hosts: &Hosts<impl Connection>,
        applications: &[Application],
        ports: &[PortReport],
        nodes: &[NodeReport],
        queues: &[QueueReport],
    ) -> Recording {
        let mut shared = SharedFigures::default();
        let flows: Vec<_> = scenario
            .flows
            .iter()
            .zip(applications)
            .zip((0..).map(FlowId))
            .map(|((flow, application), number)| {
                let limits = limits(end, application, hosts);
                let state = FlowState { limits, ..flow_state(application, hosts) };
                let rtt = rtt_summary(number, application, hosts);
                let status = flow.transport.controller_status(&flow.controller);
                let by_protocol = |end| hosts.connection(end).end();
                let ends = application
                    .pairs()
                    .iter()
                    .map(|pair| [pair.sender, pair.receiver].map(by_protocol));
                let ends: Vec<_> = ends.collect();
                let is_aborted = application.aborted().is_some();
                let protocol = transports::record(flow, &state.sent, &ends, is_aborted);
                let mut record = state.record(end, flow, application, rtt, status.into(), protocol);
                shared.share(&mut record);
                record
            })
            .collect();
        let mut tables = link_tables(scenario, end, ports, nodes);
        let LinkSamples { series: link_series, tables: sampled } = self.links.finish();
        tables.extend(sampled);
        tables.extend(legs::table(scenario, hosts, end));
        tables.extend(self.legs.into_table());
        tables.extend(self.limits.into_table());
        tables.extend(self.delivery.into_table(scenario));
        tables.extend(legs::proxies(scenario, hosts));
        tables.extend(path_mtu::table(scenario, hosts));
        tables.extend(ack_control::table(scenario, hosts));
        tables.extend(loss_notices::table(scenario, hosts));
        tables.extend(best_effort::table(scenario, hosts, applications));
        tables.extend(runtime::application_tables(scenario, applications, end));
        tables.extend(self.beams.into_tables());
        Recording {
            scenario: scenario.name.clone(),
            backend: Backend::Simulator,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            simulated_s: end.as_secs_f64(),
            jain_index: jain_index(flows.iter().map(|flow| flow.goodput_bps)),
            flows,
            links: link_records(scenario, end, ports, queues),
            flow_series: self.flows,
            link_series,
            tables,
            ..Recording::default()
        }
    }
}

/// Time until `at` by what held the senders of a flow back, on its first leg.
fn limits(at: Time, application: &Application, hosts: &Hosts<impl Connection>) -> Option<Limits> {
    let of_pair = |pair: &Pair| hosts.connection(pair.sender).limits(at);
    Limits::sum(application.pairs().iter().map(of_pair))
}

/// State of the connections of a flow.
fn flow_state<C: Connection>(application: &Application, hosts: &Hosts<C>) -> FlowState {
    let sender = application.pairs().last().map(|pair| hosts.connection(pair.sender).sample());
    let mut state = FlowState {
        delivered: 0,
        sent: Counters::default(),
        is_split: false,
        sender,
        limits: None,
    };
    for pair in application.pairs() {
        state.delivered += hosts.connection(pair.receiver).delivered();
        let (mut legs, mut most) = (0, 0);
        for end in hosts.senders(pair.sender) {
            let sent = *hosts.endpoints[end.index()].connection.counters();
            state.sent += Counters { bytes: 0, ..sent };
            most = most.max(sent.bytes);
            legs += 1;
        }
        state.sent.bytes += most;
        state.is_split |= legs > 1;
    }
    if C::MAY_BE_OTHERS {
        // The application does not have what its connection has passed over.
        state.delivered -= best_effort::skipped(application, hosts);
    }
    state
}

/// Key figures of the RTT samples of all connections of a flow, in nanoseconds.
fn rtt_summary(
    number: FlowId,
    application: &Application,
    hosts: &Hosts<impl Connection>,
) -> Option<Summary> {
    let mut samples =
        application.pairs().iter().map(|pair| hosts.connection(pair.sender).rtt_samples());
    let ended = hosts.ended_samples(number);
    if application.pairs().len() == 1 && ended.is_none() {
        return samples.next()?.summary(0);
    }
    let mut all = ended.cloned().unwrap_or_default();
    samples.for_each(|samples| all.merge(samples));
    all.summary(0)
}
