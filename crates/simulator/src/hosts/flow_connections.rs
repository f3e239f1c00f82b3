//! The connections of a flow, as its application opens them and acts on them.

use network::{Fabric, FlowId};
use runtime::{Connections, End, EndpointId, Pair};
use scenario::model::Gateway;
use transport::{Datagrams, Endpoint as _, Limit, Streams};
use units::{Span, Time};

use super::{Blueprint, Hosts};
use crate::simulation::Controllers;
use crate::transports::{Connection, End as Protocol};

/// The connections of one flow, as its application acts on them.
pub(crate) struct FlowConnections<'a, C: Connection> {
    pub(crate) hosts: &'a mut Hosts<C>,
    pub(crate) flow: FlowId,
    /// Blueprints of the flow's legs.
    pub(crate) blueprints: &'a [Blueprint],
    pub(crate) controllers: Option<&'a dyn Controllers>,
    pub(crate) initial_sequence: u32,
    /// Gateways that split them.
    pub(crate) gateways: &'a [Gateway],
}

impl<C: Connection> Hosts<C> {
    /// The network gets to know whose packets those of the endpoints from number `first` on are.
    /// Returns the number of endpoints.
    #[cold]
    pub(crate) fn identify<B>(&self, first: usize, fabric: &mut impl Fabric<B>) -> usize {
        for (number, endpoint) in self.endpoints.iter().enumerate().skip(first) {
            fabric.identify(u32::try_from(number).unwrap_or(u32::MAX), endpoint.flow);
        }
        self.endpoints.len()
    }
}

impl<C: Connection> FlowConnections<'_, C> {
    /// Opens a connection that gateways split: those of all its legs. Returns its two ends.
    fn open_split(&mut self) -> Pair {
        let Self { flow, blueprints, controllers, gateways, .. } = *self;
        let mut pairs = Vec::with_capacity(blueprints.len());
        for (leg, blueprint) in (0..).zip(blueprints) {
            let sequence = runtime::sequence_of_leg(self.initial_sequence, leg);
            pairs.push(self.hosts.open_pair(flow, leg, blueprint, controllers, sequence));
        }
        let opener = blueprints[0].opener;
        let whole = Pair { sender: pairs[0].sender, receiver: pairs[pairs.len() - 1].receiver };
        let server = whole.end(opener.other());
        self.hosts.join(&pairs, opener, server, gateways);
        self.hosts.limit_hosts(flow, [whole.sender, whole.receiver]);
        for end in pairs.iter().map(|pair| pair.end(opener.other())) {
            let connection = &mut self.hosts.act_on(end).connection;
            if end == server {
                connection.listen();
            } else {
                connection.listen_on_hold();
            }
        }
        // Gateways decide on the SYN, and open the other legs.
        self.hosts.act_on(whole.end(opener)).connection.connect();
        whole
    }
}

impl<C: Connection> Connections for FlowConnections<'_, C> {
    fn open(&mut self) -> Pair {
        let [blueprint] = self.blueprints else { return self.open_split() };
        let (flow, sequence) = (self.flow, self.initial_sequence);
        let pair = self.hosts.open_pair(flow, 0, blueprint, self.controllers, sequence);
        self.hosts.limit_hosts(flow, [pair.sender, pair.receiver]);
        let opener = blueprint.opener;
        self.hosts.act_on(pair.end(opener.other())).connection.listen();
        self.hosts.act_on(pair.end(opener)).connection.connect();
        pair
    }

    fn open_datagrams(&mut self) -> Pair {
        let blueprint = Blueprint::of_datagrams(self.blueprints);
        self.hosts.open_pair(self.flow, End::NO_LEG, &blueprint, None, 0)
    }

    fn write(&mut self, endpoint: EndpointId, bytes: u64) {
        self.hosts.act_on(endpoint).connection.write(bytes);
    }

    fn withdraw(&mut self, endpoint: EndpointId) -> u64 {
        self.hosts.act_on(endpoint).connection.withdraw()
    }

    fn close(&mut self, endpoint: EndpointId) {
        self.hosts.act_on(endpoint).connection.close();
    }

    fn wake_at(&mut self, endpoint: EndpointId, bytes: u64) {
        self.hosts.act_on(endpoint).wake_at = bytes;
    }

    fn delivered(&self, endpoint: EndpointId) -> u64 {
        self.hosts.connection(endpoint).delivered()
    }

    fn streams(&mut self, endpoint: EndpointId) -> Option<&mut dyn Streams> {
        self.hosts.act_on(endpoint).connection.streams()
    }

    fn connect_time(&self, now: Time, endpoint: EndpointId) -> Option<Span> {
        self.hosts.connection(endpoint).limits(now)?.time(Limit::SetUp)
    }

    fn window_restarts(&self, endpoint: EndpointId) -> Option<u32> {
        match self.hosts.connection(endpoint).end() {
            Protocol::Tcp(connection) => Some(connection.counters().restarts),
            Protocol::Ended(ended) => Some(ended.counters().restarts),
            _ => None,
        }
    }

    fn datagrams(&mut self, endpoint: EndpointId) -> Option<&mut dyn Datagrams> {
        self.hosts.act_on(endpoint).connection.datagrams()
    }

    fn wake_application(&mut self, at: Time) {
        self.hosts.wake_application(at, self.flow);
    }
}
