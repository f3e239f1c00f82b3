//! Rates that a gateway's connections on a side share: who waits, and whose turn it is.
//!
//! A connection sends as long as the bucket of its side has tokens and nobody waits. Then it waits for its turn, in
//! which it sends one packet. Its timers and the packets that arrive for it do not wait.

use link::Priority;
use middlebox::Bucket;
use network::Fabric;
use runtime::{End, EndpointId};
use scenario::Scenario;
use scenario::model::SideName;
use units::Time;

use super::{BUCKET, Body, Connection, Endpoint, Hosts};
use crate::simulation::Observer;

/// The rate of one side of a gateway.
#[derive(Debug)]
pub(super) struct SideRate {
    bucket: Bucket<EndpointId>,
    /// Number of the gateway's node.
    node: usize,
    side: SideName,
    /// The time for which the schedule has an entry of it.
    armed: Time,
}

/// The rate that an endpoint shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Its number.
    rate: u32,
    /// Whether the endpoint is in the line.
    waits: bool,
}

/// Whether a gateway limits the rate of a side.
pub(crate) fn has_shared_rates(scenario: &Scenario) -> bool {
    let mut proxies = scenario.nodes.iter().filter_map(|node| node.proxy.as_deref());
    proxies.any(|proxy| proxy.shared_rates.iter().any(Option::is_some))
}

/// The rates of all gateways.
pub(super) fn of(scenario: &Scenario) -> Vec<SideRate> {
    let mut rates = Vec::new();
    for (node, proxy) in scenario.nodes.iter().map(|node| node.proxy.as_deref()).enumerate() {
        for (side, settings) in
            SideName::ALL.into_iter().zip(proxy.map_or([None; 2], |one| one.shared_rates))
        {
            let bucket = settings.map(Bucket::new);
            rates.extend(bucket.map(|bucket| SideRate { bucket, node, side, armed: Time::NEVER }));
        }
    }
    rates
}

impl<C: Connection> Endpoint<C> {
    fn limit(&mut self) -> Option<&mut Limit> {
        self.extras.as_mut()?.limit.as_mut()
    }

    /// Whether it shares a rate with others.
    pub(super) fn shares_rate(&mut self) -> bool {
        self.limit().is_some()
    }

    /// Sends one packet, of low priority if there is no other. Returns its length, or `None` if there is none.
    fn send_one<F: Fabric<Body>>(
        &mut self,
        now: Time,
        end: &End,
        fabric: &mut F,
        observer: Option<&mut Observer<'_>>,
    ) -> Option<u64> {
        let normal = self.connection.next_packet(now).map(|one| (one, Priority::Normal));
        let low = || self.connection.next_of_low_priority(now).map(|one| (one, Priority::Low));
        let (segment, priority) = normal.or_else(low)?;
        let body = Body { endpoint: self.peer, segment };
        if let Some(observer) = observer {
            self.show(now, end, &body.segment, observer);
        }
        let packet = self.packet(body, priority);
        let bytes = u64::from(packet.bytes);
        if fabric.has_fields() && priority == Priority::Normal {
            self.send_with_field(now, body, fabric);
        } else {
            fabric.send(now, self.node, packet);
        }
        Some(bytes)
    }
}

impl<C: Connection> Hosts<C> {
    /// Lets an end of a gateway share the rate of its side, if the side has one.
    pub(super) fn share_rate(&mut self, end: EndpointId, node: usize, side: SideName) {
        let found =
            (0..).zip(&self.side_rates).find(|(_, one)| (one.node, one.side) == (node, side));
        if let Some((rate, _)) = found
            && let Some(extras) = &mut self.endpoints[end.index()].extras
        {
            extras.limit = Some(Limit { rate, waits: false });
        }
    }

    /// Sends what the shared rate of `number` allows now. If there may be more, the end waits for its turn.
    #[cold]
    #[inline(never)]
    pub(super) fn send_at_shared_rate<F: Fabric<Body>>(
        &mut self,
        now: Time,
        number: EndpointId,
        fabric: &mut F,
        mut observer: Option<&mut Observer<'_>>,
    ) {
        let Self { endpoints, ends, side_rates, .. } = self;
        let endpoint = &mut endpoints[number.index()];
        let Some(Limit { rate, waits: false }) = endpoint.limit().copied() else {
            return self.arm(number);
        };
        let bucket = &mut side_rates[rate as usize].bucket;
        while endpoint.connection.may_send() {
            if !bucket.is_open(now) {
                self.wait(number, rate);
                break;
            }
            let sent = endpoint.send_one(now, ends.get(number), fabric, observer.as_deref_mut());
            let Some(bytes) = sent else { break };
            bucket.spend(bytes);
        }
        self.arm(number);
    }

    /// The end goes to the end of the line.
    fn wait(&mut self, number: EndpointId, rate: u32) {
        if let Some(limit) = self.endpoints[number.index()].limit() {
            limit.waits = true;
            self.side_rates[rate as usize].bucket.join(number);
            self.arm_rate(rate);
        }
    }

    /// Arms the timer of a shared rate.
    fn arm_rate(&mut self, number: u32) {
        let rate = &mut self.side_rates[number as usize];
        let ready_at = rate.bucket.ready_at();
        if ready_at < rate.armed {
            rate.armed = ready_at;
            self.timers.push(ready_at, BUCKET | u64::from(number));
        }
    }

    /// The timer of a shared rate has expired, or an end has had its turn: takes the next end whose turn it is.
    pub(crate) fn next_turn(&mut self, now: Time, number: u32) -> Option<EndpointId> {
        let rate = &mut self.side_rates[number as usize];
        if rate.armed <= now {
            rate.armed = Time::NEVER;
        }
        let first = rate.bucket.take_first(now);
        if first.is_none() {
            self.arm_rate(number);
        }
        first
    }

    /// An end sends a packet. If there may be more, it waits for the next turn.
    pub(crate) fn take_turn<F: Fabric<Body>>(
        &mut self,
        now: Time,
        number: EndpointId,
        fabric: &mut F,
        observer: Option<&mut Observer<'_>>,
    ) {
        let Self { endpoints, ends, side_rates, .. } = self;
        let endpoint = &mut endpoints[number.index()];
        let Some(limit) = endpoint.limit() else { return };
        limit.waits = false;
        let rate = limit.rate;
        if let Some(bytes) = endpoint.send_one(now, ends.get(number), fabric, observer) {
            side_rates[rate as usize].bucket.spend(bytes);
            if endpoint.connection.may_send() {
                self.wait(number, rate);
            }
        }
        self.arm(number);
    }
}
