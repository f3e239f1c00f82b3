//! The applications on the hosts, and the samples of their connections.

use std::sync::atomic::{AtomicBool, Ordering};

use link::Seed;
use network::{FlowId, Schedule};
use quic::Logs;
use recording::{ExtraTable, FlowRecord, FlowSample, FlowSeries, ProtocolRecord, UdpRecord};
use runtime::{
    Application, Cast, Connections, EndpointId, FlowState, LimitSeries, Pair, quic_record,
    tcp_record,
};
use rustix::event::Timespec;
use scenario::Scenario;
use scenario::model::Flow;
use sketch::Sketch;
use transport::{Counters, Datagrams, Limits, Protocol, Streams};
use units::{Span, Time};

use crate::clock::Clock;
use crate::error::{Doing, KernelError};
use crate::lab::Lab;
use crate::legs::{self, Watches};
use crate::sockets::{Event, Sockets};
use crate::sys;
use crate::watch::Watch;

/// How often the kernel is asked whether a sender recovers from a loss, which it does not count: no
/// recovery is shorter than a round trip.
const LOOK: Span = Span::from_millis(10);
/// The longest sleep; then it looks whether it shall stop.
const LONGEST_SLEEP: Span = Span::from_millis(20);
/// Before all others on the machine but the emulator.
const PRIORITY: i32 = 1;

/// Results of the flows.
#[derive(Debug)]
pub(crate) struct Carried {
    pub(crate) end: Time,
    /// All that was to be done is done, or the time is up.
    pub(crate) complete: bool,
    pub(crate) flows: Vec<FlowRecord>,
    pub(crate) series: FlowSeries,
    pub(crate) limits: LimitSeries,
    /// For each flow, the largest window that its receiver advertised.
    pub(crate) windows: Vec<u32>,
    /// The table of legs, if a flow is split.
    pub(crate) legs: Option<ExtraTable>,
    /// The tables of applications.
    pub(crate) applications: Vec<ExtraTable>,
}

/// The applications of a run.
struct Hosts<'a> {
    sockets: Sockets<'a>,
    timers: Schedule,
    /// The first thing that the machine refused.
    failed: Option<KernelError>,
}

/// Runs the applications of a scenario until they are done, the time is up or `stop` is set. Takes
/// the calling thread for good: it moves from namespace to namespace.
pub(crate) fn carry(
    scenario: &Scenario,
    seed: u64,
    lab: &Lab<'_>,
    logs: &Logs,
    stop: &AtomicBool,
) -> Result<Carried, KernelError> {
    // Without the right to it the run goes on; the machine is then hopefully idle.
    let _ = sys::schedule_first(PRIORITY);
    let sockets = Sockets::new(lab.plan, lab.namespaces, lab.clock, seed, logs)?;
    let mut watches = Watches::new();
    for (host, namespace) in lab.plan.hosts.iter().zip(lab.namespaces) {
        if host.gateway.is_some() {
            let watch = Watch::new(namespace, lab.plan.ip).doing(|| "watch a proxy".to_owned())?;
            watches.push((host.node.into(), watch));
        }
    }
    let hosts = Hosts { sockets, timers: Schedule::new(), failed: None };
    Run::new(scenario, seed, hosts, watches, lab.clock).until_over(stop)
}

struct Run<'a> {
    scenario: &'a Scenario,
    seed: Seed,
    clock: Clock,
    hosts: Hosts<'a>,
    applications: Vec<Application>,
    unfinished: usize,
    has_endless: bool,
    next_sample: Time,
    next_look: Time,
    last_rows: Vec<Option<FlowSample>>,
    series: FlowSeries,
    limits: LimitSeries,
    watches: Watches,
}

impl<'a> Run<'a> {
    fn new(
        scenario: &'a Scenario,
        seed: u64,
        mut hosts: Hosts<'a>,
        watches: Watches,
        clock: Clock,
    ) -> Self {
        let seed = Seed::new(seed);
        let applications = runtime::applications(scenario, &seed);
        for (number, flow) in (0..).zip(&scenario.flows) {
            hosts.timers.push(Time::ZERO + flow.start, number);
            if let Some(stop) = flow.stop {
                hosts.timers.push(Time::ZERO + stop, number);
            }
        }
        let flows = &scenario.flows;
        Self {
            scenario,
            seed,
            clock,
            hosts,
            unfinished: flows.iter().filter(|flow| !Application::is_endless(flow)).count(),
            has_endless: flows.iter().any(Application::is_endless),
            next_sample: scenario.record.interval.map_or(Time::NEVER, |_| Time::ZERO),
            next_look: Time::ZERO,
            last_rows: vec![None; applications.len()],
            applications,
            series: FlowSeries::default(),
            limits: LimitSeries::default(),
            watches,
        }
    }

    fn until_over(mut self, stop: &AtomicBool) -> Result<Carried, KernelError> {
        let end = Time::ZERO + self.scenario.duration;
        let mut happened = Vec::new();
        loop {
            let now = self.clock.now();
            let is_over = now >= end || (self.unfinished == 0 && !self.has_endless);
            if is_over || stop.load(Ordering::Relaxed) {
                return Ok(self.finish(now.min(end), is_over));
            }
            self.expire(now);
            self.look(now);
            if let Some(failed) = self.hosts.failed.take() {
                return Err(failed);
            }
            let due = [self.hosts.timers.next_time(), self.hosts.sockets.next_timer()];
            let next = [self.next_sample, self.next_look, end].into_iter().chain(due);
            let next = next.fold(Time::NEVER, Time::min);
            let sleep = next.since(self.clock.now()).min(LONGEST_SLEEP);
            let timeout = Timespec { tv_sec: 0, tv_nsec: sleep.as_nanos() as i64 };
            happened.clear();
            self.hosts.sockets.wait(timeout, &mut happened)?;
            let now = self.clock.now();
            self.hosts.sockets.expire(now, &mut happened);
            for event in &happened {
                self.handle(now, *event);
            }
        }
    }

    fn expire(&mut self, now: Time) {
        while let Some((_, flow)) = self.hosts.timers.peek().filter(|(at, _)| *at <= now) {
            self.hosts.timers.pop();
            let number = flow as usize;
            let seed = self.seed.clone();
            let cast = Cast { flow: &self.scenario.flows[number], number, seed: &seed };
            self.act(FlowId(flow as u32), |application, connections| {
                application.on_timer(now, &cast, connections);
            });
        }
    }

    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Received(number) => {
                let endpoint = &self.hosts.sockets.endpoints[number.index()];
                if endpoint.received >= endpoint.wake_at || endpoint.has_arrived() {
                    self.act(endpoint.flow, |application, connections| {
                        application.on_received(now, number, connections);
                    });
                }
            }
            Event::Failed(number, cause) => {
                let flow = self.hosts.sockets.endpoints[number.index()].flow;
                self.act(flow, |application, _| {
                    application.abort(cause);
                });
            }
        }
    }

    /// Lets an application act, and sees whether that was its end.
    fn act(&mut self, flow: FlowId, act: impl FnOnce(&mut Application, &mut dyn Connections)) {
        let application = &mut self.applications[flow.0 as usize];
        let was_over = application.is_over();
        act(application, &mut FlowConnections { hosts: &mut self.hosts, flow });
        let is_over = application.is_over();
        let is_endless = Application::is_endless(&self.scenario.flows[flow.0 as usize]);
        self.unfinished -= usize::from(is_over && !was_over && !is_endless);
    }

    /// Asks the kernel how senders are, and takes the samples that are due.
    fn look(&mut self, now: Time) {
        if now >= self.next_look {
            self.look_at_senders(|application| !application.is_over());
            self.look_at_gateways();
            self.next_look = now + LOOK;
        }
        if now >= self.next_sample {
            self.sample(now);
            let interval = self.scenario.record.interval.unwrap_or(Span::MAX);
            while self.next_sample <= now {
                self.next_sample += interval;
            }
        }
    }

    fn look_at_senders(&mut self, wanted: impl Fn(&Application) -> bool) {
        for application in self.applications.iter().filter(|a| wanted(a)) {
            for pair in application.pairs() {
                self.hosts.sockets.look_at(pair.sender);
            }
        }
    }

    fn look_at_gateways(&mut self) {
        for (_, watch) in &mut self.watches {
            if let Err(error) = watch.look().doing(|| "list the connections of a proxy".to_owned())
            {
                self.hosts.failed.get_or_insert(error);
            }
        }
    }

    fn sample(&mut self, now: Time) {
        self.look_at_senders(|_| true);
        for flow in 0..self.applications.len() {
            if Time::ZERO + self.scenario.flows[flow].start > now {
                continue;
            }
            let state = self.totals(flow, now).state;
            if !state.is_split {
                self.limits.push(now, flow, 0, state.limits);
            }
            let sample = state.sample(now, flow);
            let last = self.last_rows[flow].as_ref();
            let sample = last.map_or(sample, |last| sample.with_rates_since(last));
            self.last_rows[flow] = Some(sample);
            self.series.push(sample);
        }
    }

    fn totals(&self, flow: usize, now: Time) -> Totals {
        let endpoints = &self.hosts.sockets.endpoints;
        let application = &self.applications[flow];
        let sender = application.pairs().last();
        let sender = sender.map(|pair| endpoints[pair.sender.index()].sample());
        let mut state = FlowState {
            delivered: 0,
            sent: Counters::default(),
            is_split: false,
            sender,
            limits: None,
        };
        let (mut rtt, mut window) = (Sketch::default(), 0);
        for pair in application.pairs() {
            state.delivered += endpoints[pair.receiver.index()].received;
            let sender = &endpoints[pair.sender.index()];
            state.sent += sender.counters();
            if let Some(samples) = sender.rtt_samples() {
                rtt.merge(samples);
            }
            window = sender.largest_window.max(window);
        }
        let (scenario, hosts) = (self.scenario, &self.hosts.sockets);
        let legs = legs::beyond_the_first(&scenario.flows[flow], application, hosts, &self.watches);
        if let Some(legs) = legs {
            let most = state.sent.bytes.max(legs.bytes);
            state.sent += legs;
            state.sent.bytes = most;
            state.is_split = true;
        }
        let of_pair = |pair: &Pair| endpoints[pair.sender.index()].limits(now);
        state.limits = Limits::sum(application.pairs().iter().map(of_pair));
        Totals { state, rtt, window }
    }

    fn finish(mut self, end: Time, complete: bool) -> Carried {
        self.look_at_senders(|_| true);
        self.look_at_gateways();
        if self.scenario.record.interval.is_some() {
            self.sample(end);
        }
        let flows = self.scenario.flows.iter().enumerate();
        Carried {
            end,
            complete,
            flows: flows.map(|(number, flow)| self.record(end, number, flow)).collect(),
            windows: (0..self.applications.len())
                .map(|flow| self.totals(flow, end).window)
                .collect(),
            legs: legs::table(
                self.scenario,
                &self.applications,
                &self.hosts.sockets,
                &self.watches,
            ),
            applications: runtime::application_tables(self.scenario, &self.applications, end),
            series: self.series,
            limits: self.limits,
        }
    }

    fn quic_error(&self, flow: usize) -> Option<String> {
        let application = &self.applications[flow];
        application.aborted()?;
        let endpoints = &self.hosts.sockets.endpoints;
        quic::reason(application.ends().filter_map(|end| endpoints[end.index()].connection()))
    }

    fn record(&self, end: Time, number: usize, flow: &Flow) -> FlowRecord {
        let application = &self.applications[number];
        let Totals { state, rtt, window: _ } = self.totals(number, end);
        let (status, protocol) = match flow.protocol() {
            Protocol::Quic => {
                let endpoints = &self.hosts.sockets.endpoints;
                let pairs = application.pairs().iter().filter_map(|pair| {
                    let [sender, receiver] =
                        [pair.sender, pair.receiver].map(|end| endpoints[end.index()].connection());
                    Some([sender?, receiver?])
                });
                // The controllers of QUIC are the simulator's.
                let status = flow.transport.controller_status(&flow.controller).to_string().into();
                let record = quic_record(&state.sent, pairs, self.quic_error(number));
                (status, ProtocolRecord::Quic(record))
            }
            Protocol::Udp => {
                let endpoints = &self.hosts.sockets.endpoints;
                let receivers = application.pairs().iter().map(|pair| pair.receiver.index());
                let answers = receivers.map(|end| endpoints[end].counters().segments).sum();
                let record =
                    UdpRecord { datagrams_sent: state.sent.segments, answers_sent: answers };
                let status = flow.transport.controller_status(&flow.controller).to_string().into();
                (status, ProtocolRecord::Udp(record))
            }
            // The plan rejects the others.
            _ => (legs::STATUS.into(), ProtocolRecord::Tcp(tcp_record(flow, &state.sent))),
        };
        state.record(end, flow, application, rtt.summary(0), status, protocol)
    }
}

/// State of a flow, with what only the testbed knows.
struct Totals {
    state: FlowState,
    /// RTT samples of QUIC.
    rtt: Sketch,
    /// The largest window that a receiver advertised, in bytes.
    window: u32,
}

impl Hosts<'_> {
    /// A pair of ends, with a note if the machine refused it.
    fn opened(&mut self, opened: Result<Pair, (Pair, KernelError)>) -> Pair {
        opened.unwrap_or_else(|(pair, error)| {
            self.failed.get_or_insert(error);
            pair
        })
    }
}

/// The connections of one flow, as its application acts on them.
struct FlowConnections<'h, 'a> {
    hosts: &'h mut Hosts<'a>,
    flow: FlowId,
}

impl Connections for FlowConnections<'_, '_> {
    fn open(&mut self) -> Pair {
        let opened = self.hosts.sockets.open(self.flow);
        self.hosts.opened(opened)
    }

    fn open_datagrams(&mut self) -> Pair {
        let opened = self.hosts.sockets.open_datagrams(self.flow);
        self.hosts.opened(opened)
    }

    fn write(&mut self, endpoint: EndpointId, bytes: u64) {
        // An endpoint that fails during a call reports that with its next event.
        let _ = self.hosts.sockets.write(endpoint, bytes);
    }

    fn withdraw(&mut self, endpoint: EndpointId) -> u64 {
        self.hosts.sockets.withdraw(endpoint)
    }

    fn close(&mut self, endpoint: EndpointId) {
        let _ = self.hosts.sockets.close(endpoint);
    }

    fn wake_at(&mut self, endpoint: EndpointId, bytes: u64) {
        self.hosts.sockets.endpoints[endpoint.index()].wake_at = bytes;
    }

    fn delivered(&self, endpoint: EndpointId) -> u64 {
        self.hosts.sockets.endpoints[endpoint.index()].received
    }

    fn streams(&mut self, endpoint: EndpointId) -> Option<&mut dyn Streams> {
        self.hosts.sockets.streams(endpoint)
    }

    fn connect_time(&self, now: Time, endpoint: EndpointId) -> Option<Span> {
        self.hosts.sockets.endpoints[endpoint.index()].connect_time(now)
    }

    /// The kernel does not count them.
    fn window_restarts(&self, _endpoint: EndpointId) -> Option<u32> {
        None
    }

    fn datagrams(&mut self, endpoint: EndpointId) -> Option<&mut dyn Datagrams> {
        self.hosts.sockets.datagrams(endpoint)
    }

    fn wake_application(&mut self, at: Time) {
        self.hosts.timers.push(at, self.flow.0.into());
    }
}
