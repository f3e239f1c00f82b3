//! Rates that connections share: those of a gateway's side, and of a host's route of SCPS-TP. Who
//! waits, and whose turn it is.
//!
//! A connection has a bucket of its own if the side paces connections, and one that it shares if
//! the side or the route has a rate. It sends as long as both have tokens and no other end waits
//! for the shared one. Then it waits for its turn, in which it sends one packet. Its timers and the
//! packets that arrive for it do not wait. Packets without data take tokens of the shared bucket
//! only, because pacing is of data; but they wait behind data that does.
//!
//! A meter measures how much of a shared rate is used. Controllers that need the measurement get it
//! when their end may send.

use congestion::Controller as _;
use link::Priority;
use middlebox::{Bucket, BucketSettings, Measured, Meter, Metered};
use network::{Fabric, FlowId};
use runtime::{End, EndpointId};
use scenario::Scenario;
use scenario::model::{Flow, GatewayEnd, RouteRate, SideName};
use units::Time;

use super::timers::RATE;
use super::{Body, Connection, Endpoint, Hosts, Part};
use crate::observed::Observer;
use crate::transports::Carried as _;

/// The connections that have a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// A single one.
    One,
    /// Those on a side of the gateway at this node.
    Side(usize, SideName),
    /// Those of a route of SCPS-TP, by its number.
    Route(usize),
}

/// A rate, and the connections that wait for it.
#[derive(Debug)]
pub(super) struct SharedRate {
    bucket: Bucket<EndpointId>,
    meter: Meter,
    of: Of,
    /// The time for which the schedule has an entry of it.
    armed: Time,
}

/// The rates of an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Numbers of its own and of the one that it shares.
    rates: [Option<u32>; 2],
    /// True if the endpoint waits for one of them.
    waits: bool,
    /// True if its controller needs measurements of the shared rate.
    is_measured: bool,
    /// Its state in the meter of the shared rate.
    metered: Metered,
}

/// Returns true if a route has a rate, or a gateway limits that of a side or of its connections.
pub(crate) fn has_rates(scenario: &Scenario) -> bool {
    let mut proxies = scenario.nodes.iter().filter_map(|node| node.proxy.as_deref());
    let mut ends = scenario.flows.iter().flat_map(|flow| &*flow.gateways).flat_map(|one| &one.ends);
    !scenario.route_rates.is_empty()
        || proxies.any(|proxy| proxy.shared_rates.iter().any(Option::is_some))
        || ends.any(|end| end.pacing.is_some())
}

/// The shared rates of all routes and gateways.
pub(super) fn of(scenario: &Scenario) -> Vec<SharedRate> {
    let routes = scenario.route_rates.iter().enumerate();
    let route =
        |(number, rate): (usize, &RouteRate)| SharedRate::new(rate.bucket, Of::Route(number));
    let mut rates: Vec<_> = routes.map(route).collect();
    for (node, proxy) in scenario.nodes.iter().map(|node| node.proxy.as_deref()).enumerate() {
        for (side, settings) in
            SideName::ALL.into_iter().zip(proxy.map_or([None; 2], |one| one.shared_rates))
        {
            rates.extend(settings.map(|settings| SharedRate::new(settings, Of::Side(node, side))));
        }
    }
    rates
}

/// For each flow, the numbers of the rates that hold back what its hosts send: the one at `from`,
/// and the one at `to`.
pub(super) fn of_hosts(scenario: &Scenario) -> Vec<[Option<usize>; 2]> {
    if scenario.route_rates.is_empty() {
        return Vec::new();
    }
    let routes = scenario::routes(scenario);
    let of_flow = |flow: &Flow| {
        flow.ways().map(|(from, to)| {
            flow.transport.scps()?;
            scenario.route_rate(&routes, from, to)
        })
    };
    scenario.flows.iter().map(of_flow).collect()
}

impl SharedRate {
    fn new(settings: BucketSettings, of: Of) -> Self {
        let (bucket, meter) = (Bucket::new(settings), Meter::new(settings.rate));
        Self { bucket, meter, of, armed: Time::NEVER }
    }
}

impl<C: Connection> Endpoint<C> {
    fn limit(&mut self) -> Option<&mut Limit> {
        self.extras.as_mut()?.limit.as_mut()
    }

    /// Returns true if it has a rate.
    pub(super) fn has_rate(&mut self) -> bool {
        self.limit().is_some()
    }

    /// Sends one packet, of low priority if there is no other. Returns its length and whether it
    /// has data, or `None` if there is none.
    fn send_one<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        end: &End,
        fabric: &mut F,
        observer: Option<&mut Observer<'_>>,
    ) -> Option<(u64, bool)> {
        let normal = self.connection.next_packet(now).map(|one| (one, Priority::Normal));
        let low = || self.connection.next_of_low_priority(now).map(|one| (one, Priority::Low));
        let (packet, priority) = normal.or_else(low)?;
        if let Some(observer) = observer {
            self.show(now, end, &packet, observer);
        }
        let has_data = packet.has_data();
        let bytes = self.ip_header + packet.bytes();
        if fabric.has_fields() && priority == Priority::Normal {
            self.send_with_field(now, packet, fabric);
        } else {
            fabric.send(now, self.node, self.packet(packet, priority));
        }
        Some((bytes.into(), has_data))
    }
}

impl<C: Connection> Hosts<C> {
    /// Lets an end of the gateway at node number `node` have the rates of its side.
    pub(super) fn limit_rate(&mut self, end: EndpointId, node: usize, settings: &GatewayEnd) {
        let shared = self.rate_of(Of::Side(node, settings.side));
        #[expect(clippy::cast_possible_truncation, reason = "there are not more than endpoints")]
        let own = settings.pacing.map(|pacing| {
            self.rates.push(SharedRate::new(pacing, Of::One));
            self.rates.len() as u32 - 1
        });
        self.hold_back(end, [own, shared]);
    }

    /// Lets the two ends of a connection of `flow` that are at hosts have the rates of their
    /// routes.
    pub(super) fn limit_hosts(&mut self, flow: FlowId, ends: [EndpointId; 2]) {
        let Some(routes) = self.host_rates.get(flow.0 as usize).copied() else { return };
        for (end, route) in ends.into_iter().zip(routes) {
            let Some(route) = route else { continue };
            self.assign(end, Part::Fragile);
            self.hold_back(end, [None, self.rate_of(Of::Route(route))]);
        }
    }

    /// Number of the rate that these connections share.
    fn rate_of(&self, of: Of) -> Option<u32> {
        (0..).zip(&self.rates).find(|(_, rate)| rate.of == of).map(|(number, _)| number)
    }

    /// An end has these rates, its own and the one that it shares.
    fn hold_back(&mut self, end: EndpointId, rates: [Option<u32>; 2]) {
        let connection = self.endpoints[end.index()].connection.tcp();
        let is_measured = connection.is_some_and(|one| one.controller().needs().utilisation);
        if let Some(extras) = &mut self.endpoints[end.index()].extras
            && rates.iter().any(Option::is_some)
        {
            extras.limit =
                Some(Limit { rates, waits: false, is_measured, metered: Metered::default() });
        }
    }

    /// Sends what the rates of `number` allow now. If there may be more, the end waits for its
    /// turn.
    #[cold]
    #[inline(never)]
    pub(super) fn send_at_rates<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        number: EndpointId,
        fabric: &mut F,
        observer: Option<&mut Observer<'_>>,
    ) {
        if self.endpoints[number.index()].limit().is_some_and(|limit| limit.waits) {
            self.arm(now, number);
        } else {
            self.send_behind(now, number, 0, fabric, observer);
        }
    }

    /// Gives the controller of `number` the measurement of its shared rate that it does not have.
    fn measure(&mut self, now: Time, number: EndpointId) {
        let Self { endpoints, rates: all, .. } = self;
        let endpoint = &mut endpoints[number.index()];
        let limit = endpoint.extras.as_mut().and_then(|extras| extras.limit.as_mut());
        let Some(Limit { rates: [_, Some(shared)], is_measured: true, metered, .. }) = limit else {
            return;
        };
        let Some(connection) = endpoint.connection.tcp_mut() else { return };
        let Some(srtt) = connection.rtt().srtt() else { return };
        let meter = &mut all[*shared as usize].meter;
        if let Some(Measured { rate, used, connections }) = meter.read(now, srtt, metered) {
            connection.on_utilisation(rate, used, connections);
        }
    }

    /// Sends what the rates of `number` allow now. The first `passed` of them allow the next
    /// packet.
    fn send_behind<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        number: EndpointId,
        mut passed: usize,
        fabric: &mut F,
        mut observer: Option<&mut Observer<'_>>,
    ) {
        self.measure(now, number);
        let Self { endpoints, ends, rates: all, .. } = self;
        let endpoint = &mut endpoints[number.index()];
        let Some(Limit { rates, .. }) = endpoint.limit().copied() else { return };
        while endpoint.connection.may_send() {
            let mut behind = rates.into_iter().skip(passed).flatten();
            let closed = behind.find(|rate| !all[*rate as usize].bucket.is_open(now));
            if let Some(rate) = closed {
                self.wait(number, rate);
                break;
            }
            let sent = endpoint.send_one(now, ends.get(number), fabric, observer.as_deref_mut());
            let Some((bytes, has_data)) = sent else { break };
            let [own, shared] = rates;
            for rate in own.filter(|_| has_data).into_iter().chain(shared) {
                all[rate as usize].bucket.spend(bytes);
            }
            if let (Some(rate), Some(limit)) = (shared, endpoint.limit()) {
                let meter = &mut all[rate as usize].meter;
                meter.on_sent(bytes, has_data, &mut limit.metered);
            }
            passed = 0;
        }
        self.arm(now, number);
    }

    /// The end goes to the end of the line.
    fn wait(&mut self, number: EndpointId, rate: u32) {
        if let Some(limit) = self.endpoints[number.index()].limit() {
            limit.waits = true;
            self.rates[rate as usize].bucket.join(number);
            self.arm_rate(rate);
        }
    }

    /// Arms the timer of a shared rate.
    fn arm_rate(&mut self, number: u32) {
        let rate = &mut self.rates[number as usize];
        let ready_at = rate.bucket.ready_at();
        if ready_at < rate.armed {
            rate.armed = ready_at;
            self.timers.push(ready_at, RATE | u64::from(number));
        }
    }

    /// The timer of a shared rate has expired, or an end has had its turn: takes the next end whose
    /// turn it is.
    pub(crate) fn next_turn(&mut self, now: Time, number: u32) -> Option<EndpointId> {
        let rate = &mut self.rates[number as usize];
        if rate.armed <= now {
            rate.armed = Time::NEVER;
        }
        let first = rate.bucket.take_first(now);
        if first.is_none() {
            self.arm_rate(number);
        }
        first
    }

    /// It is the turn of an end at rate number `rate`: it sends a packet if its other rate allows
    /// it too.
    pub(crate) fn take_turn<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        (number, rate): (EndpointId, u32),
        fabric: &mut F,
        observer: Option<&mut Observer<'_>>,
    ) {
        let Some(limit) = self.endpoints[number.index()].limit() else { return };
        limit.waits = false;
        let place = limit.rates.iter().position(|one| *one == Some(rate));
        self.send_behind(now, number, place.map_or(0, |place| place + 1), fabric, observer);
    }
}
