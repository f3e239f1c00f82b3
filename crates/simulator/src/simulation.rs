//! The loop: whatever comes first, a packet or a timer, happens.

use std::sync::Arc;

use congestion::{External, Settings};
use link::Seed;
use network::{Advance, Fabric, FlowId, Packet};
use runtime::{Application, Cast, EndpointId};
use scenario::Scenario;
use transport::AbortCause;
use units::{Span, Time};
use wire::feedback::Field;

use crate::build;
use crate::hosts::{Blueprint, Body, FlowConnections, Hosts, Part, Timer};
use crate::observed::Observer;
use crate::report::{self, Recorder};
use crate::runs::Run;
use crate::seed_use::SeedUse;
use crate::signals::Signals;
use crate::split::Found;
use crate::transports::{Carried, Connection};

/// Events between two calls of [`Options::progress`]: some ten milliseconds.
const EVENTS_PER_REPORT: u64 = 1 << 18;

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time so far.
    pub now: Time,
    /// Upper bound of simulated time.
    pub duration: Span,
    /// Fraction of the bytes of all transfers that has arrived; `None` if one has no size.
    pub transferred: Option<f64>,
    /// Events so far.
    pub events: u64,
}

/// Options of a run.
#[derive(Default)]
pub struct Options<'a> {
    /// Called now and then; the run stops, marked as partial, when it returns `false`.
    pub progress: Option<&'a mut dyn FnMut(&Progress) -> bool>,
    /// Called for each packet that a host sends or receives.
    pub observer: Option<&'a mut Observer<'a>>,
    /// Controllers from elsewhere for some of the flows.
    pub controllers: Option<&'a dyn Controllers>,
    /// Logs of connections of QUIC.
    pub logs: quic::Logs,
}

/// Gives flows other controllers than the scenario does.
pub trait Controllers {
    /// Name of the controller of `flow` in recordings, counted in the order of the scenario, and
    /// its status; `None` when it has that of the scenario.
    fn describe(&self, flow: usize) -> Option<(&str, &str)>;

    /// The controller of one end of a connection of `flow`.
    fn build(&self, flow: usize, settings: &Settings) -> Option<Box<dyn External>>;

    /// Returns true if one of them cannot go on. Asked after each event: the run stops, marked as
    /// partial.
    fn failed(&self) -> bool;
}

pub(crate) struct Simulation<'a, F, C: Connection> {
    scenario: &'a Scenario,
    seed: Seed,
    now: Time,
    end: Time,
    /// The earliest time at which there may be more to do than what happens then: to take a
    /// sample, or to stop.
    horizon: Time,
    fabric: F,
    hosts: Hosts<C>,
    applications: Vec<Application>,
    /// For each flow, those of its legs.
    blueprints: Vec<Arc<[Blueprint]>>,
    /// Signals of gateways.
    signals: Signals,
    /// Flows that are not over yet; those without an end never are.
    unfinished: usize,
    recorder: Recorder,
    options: Options<'a>,
    events: u64,
    /// The port that the last event was about; `u32::MAX`, behind all, if it was a timer.
    last_port: u32,
    /// Number of events at which the run looks up from its work.
    next_look: u64,
    /// Reports of progress that were due because of the number of events.
    reports: u64,
    /// Endpoints whose flows the network knows.
    identified: usize,
}

impl<'a, C: Connection, F: Fabric<Body<C::Packet>>> Simulation<'a, F, C> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        seed: Seed,
        mut fabric: F,
        options: Options<'a>,
    ) -> Self {
        let applications = runtime::applications(scenario, &seed);
        let mut hosts = Hosts::new(scenario);
        for (number, flow) in (0..).map(FlowId).zip(&scenario.flows) {
            hosts.wake_application(Time::ZERO + flow.start, number);
            if let Some(stop) = flow.stop {
                hosts.wake_application(Time::ZERO + stop, number);
            }
        }
        let signals = Signals::new(scenario, &seed, &mut hosts);
        let blueprints = build::blueprints(scenario, &seed, &options.logs);
        if !C::MAY_BE_OTHERS && scenario.nodes.iter().all(|node| node.proxy.is_none()) {
            fabric.expect_only(&build::ways(&blueprints));
        }
        Self {
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            horizon: Time::ZERO,
            fabric,
            hosts,
            blueprints,
            signals,
            unfinished: applications.len(),
            applications,
            recorder: Recorder::new(scenario),
            next_look: if options.controllers.is_some() { 1 } else { EVENTS_PER_REPORT },
            options,
            events: 0,
            last_port: u32::MAX,
            reports: 0,
            identified: 0,
            scenario,
            seed,
        }
    }

    /// Runs to the end. Inlined into its callers, where the compiler knows the options of a run:
    /// the loop has 5 % fewer instructions.
    #[inline(always)]
    pub(crate) fn run(mut self) -> Run {
        let partial = !self.run_events();
        self.fabric.settle(self.now, self.last_port);
        self.recorder.sample_end(self.now, &self.hosts, &self.applications, &mut self.fabric);
        let ports = self.fabric.report(self.now);
        let nodes = self.fabric.node_reports();
        let queues = self.fabric.queue_reports(self.now);
        let beams = self.fabric.beam_reports(self.now);
        let trials = self.fabric.trials();
        let (settled, packet_hops) = (self.fabric.settled(), self.fabric.hops());
        // The records of flows take its place.
        drop(self.fabric);
        let mut recording = self.recorder.finish(
            self.scenario,
            self.now,
            &self.hosts,
            &self.applications,
            &ports,
            &nodes,
            &queues,
        );
        recording.seed = self.seed.number();
        recording.tables.extend(runtime::trace_table(self.scenario, &self.seed, &ports));
        let senders = self.blueprints.iter().map(|legs| &legs[0].ends[0].controller);
        recording.tables.extend(report::detection_tables(self.scenario, &self.seed, senders));
        recording.tables.extend(runtime::beam_tables(self.scenario, self.now, &beams));
        debug_assert!(
            recording.tables.iter().all(|table| crate::tables().any(|one| one.describes(table))),
            "a table that `tables` does not list"
        );
        recording.events = self.events + settled;
        recording.packet_hops = packet_hops;
        recording.partial = partial;
        for (number, flow) in recording.flows.iter_mut().enumerate() {
            let foreign = self.options.controllers.and_then(|others| others.describe(number));
            if let Some((controller, status)) = foreign {
                flow.controller = controller.to_owned().into();
                flow.controller_status = status.to_owned().into();
            }
        }
        (recording, SeedUse::new(self.seed, trials))
    }

    /// Returns whether the run came to its end.
    fn run_events(&mut self) -> bool {
        loop {
            let packet = self.fabric.next_event();
            let timer = self.hosts.next_timer();
            let next = packet.min(timer);
            if next >= self.horizon {
                if let Some(is_complete) = self.ends_before(next) {
                    return is_complete;
                }
                // A sample starts the transmissions that are due: there may be other events now.
                continue;
            }
            debug_assert!(next >= self.now, "time never runs backwards");
            if packet <= timer {
                // Nothing else happens before the horizon.
                self.advance(timer.min(self.horizon - Span::from_nanos(1)));
            } else {
                self.now = next;
                self.events += 1;
                self.last_port = u32::MAX;
                self.expire();
            }
            if C::MAY_BE_OTHERS && self.signals.watches() {
                self.signals.look(self.now, &self.fabric, &mut self.hosts);
            }
            if self.events >= self.next_look && !self.look() {
                return false;
            }
        }
    }

    /// Takes the samples that are due until `next`. If the run ends before, returns whether it came
    /// to its end; `None` when it goes on, and `next` is before the new horizon.
    #[cold]
    #[inline(never)]
    fn ends_before(&mut self, next: Time) -> Option<bool> {
        let is_over = self.unfinished == 0;
        let until = if is_over { self.now } else { next.min(self.end) };
        while !self.recorder.sample_some_until(
            until,
            &self.hosts,
            &self.applications,
            &mut self.fabric,
        ) {
            self.now = self.recorder.last_sample();
            if !self.report_progress() {
                return Some(false);
            }
        }
        if is_over {
            return Some(true);
        }
        if next > self.end {
            self.now = self.end;
            self.last_port = u32::MAX;
            return Some(true);
        }
        let behind_the_end = self.end + Span::from_nanos(1);
        self.horizon = self.recorder.next_sample().min(behind_the_end);
        None
    }

    /// Notes that this number of flows are over.
    fn finish(&mut self, flows: usize) {
        self.unfinished -= flows;
        if self.unfinished == 0 {
            self.horizon = Time::ZERO;
        }
    }

    /// Lets packets arrive at the ends of ports, up to and including `until`, but none after one
    /// that is at its destination.
    #[inline]
    fn advance(&mut self, until: Time) {
        let has_more = self.fabric.has_more_for_hosts();
        let has_fields = self.fabric.has_fields();
        let Self { hosts, options, .. } = self;
        let receive = |at, packet: &Packet<Body<C::Packet>>, field: &Field| {
            if let Some(observer) = &mut options.observer {
                hosts.show_received(at, packet, observer);
            }
            if has_more {
                return hosts.receive_more(at, packet, has_fields.then_some(field));
            }
            hosts.receive(at, packet)
        };
        let Advance { at, events, port, seen } =
            C::Packet::advance(&mut self.fabric, until, receive);
        self.now = at;
        self.events += events;
        self.last_port = port;
        let Some((number, wakes)) = seen else { return };
        if wakes {
            self.wake_reader(number);
        }
        self.flush(number);
        if self.recorder.observes() {
            self.recorder.observe(self.now, number, &self.hosts, &self.applications);
        }
    }

    /// Notifies the application that reads at `number`.
    #[inline(never)]
    fn wake_reader(&mut self, number: EndpointId) {
        if self.hosts.pass_astray(self.now, &mut self.fabric) {
            return;
        }
        let endpoint = &self.hosts.endpoints[number.index()];
        match endpoint.extras.as_deref() {
            None => self.wake(number),
            Some(extras) => match extras.part {
                Part::End => self.start_reading(number),
                Part::Fragile => self.attend(number),
                Part::Gateway(split) => self.relay(split),
            },
        }
    }

    /// There may be more for a slow reader.
    fn start_reading(&mut self, number: EndpointId) {
        self.hosts.start_reading(self.now, number);
        if C::MAY_BE_OTHERS {
            self.wake_behind_hole(number);
        }
    }

    /// An application may learn that data is missing, without reading: what it waits for has come
    /// then.
    fn wake_behind_hole(&mut self, number: EndpointId) {
        let endpoint = &self.hosts.endpoints[number.index()];
        if endpoint.connection.delivered() >= endpoint.wake_at {
            self.wake(number);
        }
    }

    /// A packet has arrived at an end whose connection it may have ended.
    #[cold]
    fn attend(&mut self, number: EndpointId) {
        let endpoint = &self.hosts.endpoints[number.index()];
        if let Some(cause) = endpoint.connection.failure() {
            self.abort(endpoint.flow, cause);
        } else if endpoint.has_reader() {
            self.hosts.start_reading(self.now, number);
        } else if endpoint.connection.delivered() >= endpoint.wake_at
            || endpoint.connection.has_arrived()
        {
            self.wake(number);
        }
    }

    /// Something has happened at one of a gateway's ends of a split connection.
    #[cold]
    fn relay(&mut self, split: u32) {
        match self.hosts.relay(self.now, split) {
            Found::Nothing => {}
            Found::Broken(cause) => {
                let [end, _] = self.hosts.splits[split as usize].ends();
                self.abort(self.hosts.endpoints[end.index()].flow, cause);
            }
            Found::Passes => self.hosts.pass(self.now, split, &mut self.fabric),
        }
        self.flush_touched();
    }

    /// A connection of a flow has ended before its time.
    #[cold]
    fn abort(&mut self, flow: FlowId, cause: AbortCause) {
        let number = flow.0 as usize;
        if self.applications[number].abort(cause) {
            let counts = !Application::is_endless(&self.scenario.flows[number]);
            self.finish(usize::from(counts));
        }
    }

    fn wake(&mut self, endpoint: EndpointId) {
        let now = self.now;
        let flow = self.hosts.endpoints[endpoint.index()].flow;
        let endpoint = self.hosts.name(endpoint);
        let (application, mut connections) = self.flow(flow);
        let was_over = application.is_over();
        application.on_received(now, endpoint, &mut connections);
        let is_over = application.is_over();
        self.finish(usize::from(!was_over && is_over));
        self.flush_touched();
    }

    fn expire(&mut self) {
        match self.hosts.take_timer() {
            None => {}
            Some((_, Timer::Application(flow))) => self.expire_application(flow),
            Some((_, Timer::Endpoint(number))) => self.expire_endpoint(number),
            Some((_, Timer::Reader(number))) => self.read(number),
            Some((_, Timer::Rate(number))) => self.take_turns(number),
            Some((_, Timer::Signal(number))) => self.hear(number),
            Some((at, Timer::Error(number))) => {
                self.signals.find_error(at, number, &mut self.hosts);
            }
        }
    }

    /// A signal of a gateway arrives.
    #[cold]
    #[inline(never)]
    fn hear(&mut self, number: u32) {
        let signal = self.signals.get(number);
        self.hosts.on_signal(self.now, &signal);
        self.flush_touched();
    }

    /// A rate has tokens for connections that wait.
    #[cold]
    fn take_turns(&mut self, rate: u32) {
        while let Some(number) = self.hosts.next_turn(self.now, rate) {
            let observer = self.options.observer.as_deref_mut();
            self.hosts.take_turn(self.now, (number, rate), &mut self.fabric, observer);
            if self.recorder.observes() {
                self.recorder.observe(self.now, number, &self.hosts, &self.applications);
            }
        }
    }

    /// An application that reads slowly has read another piece, or a gateway looks whether a server
    /// has answered.
    fn read(&mut self, number: EndpointId) {
        self.hosts.finish_reading(self.now, number);
        if let Part::Gateway(split) = self.hosts.endpoints[number.index()].part() {
            return self.relay(split);
        }
        let endpoint = &self.hosts.endpoints[number.index()];
        if endpoint.connection.delivered() >= endpoint.wake_at {
            self.wake(number);
        }
        self.flush(number);
        self.recorder.look_at_delivery(self.now, number, &self.hosts, &self.applications);
    }

    fn expire_application(&mut self, flow: FlowId) {
        let now = self.now;
        let number = flow.0 as usize;
        let seed = self.seed.clone();
        let cast = Cast { flow: &self.scenario.flows[number], number, seed: &seed };
        let (application, mut connections) = self.flow(flow);
        let was_over = application.is_over();
        application.on_timer(now, &cast, &mut connections);
        let is_over = application.is_over();
        self.finish(usize::from(!was_over && is_over));
        self.flush_touched();
    }

    /// The application of a flow, and what it acts on.
    fn flow(&mut self, flow: FlowId) -> (&mut Application, FlowConnections<'_, C>) {
        let number = flow.0 as usize;
        let connections = FlowConnections {
            hosts: &mut self.hosts,
            flow,
            blueprints: &self.blueprints[number],
            controllers: self.options.controllers,
            initial_sequence: self.scenario.flows[number].initial_sequence,
            gateways: &self.scenario.flows[number].gateways,
        };
        (&mut self.applications[number], connections)
    }

    fn expire_endpoint(&mut self, number: EndpointId) {
        let endpoint = &mut self.hosts.endpoints[number.index()];
        endpoint.connection.on_deadline(self.now);
        if let Some(cause) = endpoint.connection.abort_cause() {
            let (part, flow) = (endpoint.part(), endpoint.flow);
            match part {
                Part::Gateway(split) => self.relay(split),
                Part::End | Part::Fragile => self.abort(flow, cause),
            }
        }
        if C::MAY_BE_OTHERS && self.is_best_effort(number) {
            self.start_reading(number);
        }
        self.flush(number);
        if self.recorder.observes() {
            self.recorder.observe(self.now, number, &self.hosts, &self.applications);
        }
        if C::MAY_BE_OTHERS {
            self.hosts.delete_if_over(self.now, number);
        }
    }

    /// Returns true if a timer of an end may pass a hole.
    fn is_best_effort(&self, number: EndpointId) -> bool {
        let flow = self.hosts.endpoints[number.index()].flow;
        self.scenario.flows[flow.0 as usize].is_best_effort()
    }

    fn flush_touched(&mut self) {
        if self.identified != self.hosts.endpoints.len() {
            self.identified = self.hosts.identify(self.identified, &mut self.fabric);
        }
        while let Some(number) = self.hosts.take_touched() {
            self.flush(number);
            self.recorder.look_at_delivery(self.now, number, &self.hosts, &self.applications);
        }
    }

    #[inline]
    fn flush(&mut self, number: EndpointId) {
        let observer = self.options.observer.as_deref_mut();
        self.hosts.flush(self.now, number, &mut self.fabric, observer);
    }

    /// Fraction of the bytes of all finite transfers that has arrived.
    fn transferred(&self) -> Option<f64> {
        let mut expected = 0.0;
        let mut delivered = 0.0;
        for (flow, application) in self.scenario.flows.iter().zip(&self.applications) {
            expected += Application::size(flow)? as f64;
            let receivers = application.pairs().iter().map(|pair| pair.receiver);
            delivered +=
                receivers.map(|r| self.hosts.connection(r).delivered() as f64).sum::<f64>();
        }
        Some(delivered / expected)
    }

    /// Returns whether the run goes on.
    #[cold]
    #[inline(never)]
    fn look(&mut self) -> bool {
        let failed = self.options.controllers.map(|controllers| controllers.failed());
        let due = self.events / EVENTS_PER_REPORT;
        let reports = due > self.reports;
        self.reports = due;
        self.next_look = match failed {
            Some(_) => self.events + 1,
            None => (due + 1) * EVENTS_PER_REPORT,
        };
        failed != Some(true) && (!reports || self.report_progress())
    }

    fn report_progress(&mut self) -> bool {
        let progress = Progress {
            now: self.now,
            duration: self.scenario.duration,
            transferred: self.transferred(),
            events: self.events,
        };
        self.options.progress.as_mut().is_none_or(|report| report(&progress))
    }
}

#[cfg(test)]
mod tests;
