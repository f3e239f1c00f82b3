//! Connections that gateways split, among those of hosts: how their legs are joined, and how a
//! connection crosses a gateway unsplit.

use std::iter::successors;

use link::Priority;
use network::{Fabric, NodeId, Packet};
use runtime::{EndpointId, Pair, Side};
use scenario::model::Gateway;
use units::Time;

use super::{Body, Connection, Endpoint, Extras, Hosts, Part, READER};
use crate::split::{Found, Split};

/// The bytes that the other end of a connection has read.
pub(crate) fn read_by_peer<C: Connection>(endpoints: &[Endpoint<C>], end: EndpointId) -> u64 {
    endpoints[endpoints[end.index()].peer.index()].connection.delivered()
}

impl<C: Connection> Hosts<C> {
    /// Gives an endpoint a part in a flow that gateways split.
    pub(super) fn assign(&mut self, endpoint: EndpointId, part: Part) {
        let extras = &mut self.endpoints[endpoint.index()].extras;
        match extras {
            Some(extras) => extras.part = part,
            None => *extras = Some(Box::new(Extras { part, ..Extras::default() })),
        }
    }

    /// Joins the connections of the legs of a flow at its gateways.
    pub(super) fn join(
        &mut self,
        pairs: &[Pair],
        opener: Side,
        server: EndpointId,
        gateways: &[Gateway],
    ) {
        let server = self.endpoints[server.index()].node;
        let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return };
        self.assign(first.sender, Part::Fragile);
        self.assign(last.receiver, Part::Fragile);
        for (legs, gateway) in pairs.windows(2).zip(gateways) {
            let ends = [legs[0].receiver, legs[1].sender];
            #[expect(clippy::cast_possible_truncation, reason = "memory is full before")]
            let number = self.splits.len() as u32;
            let relay_buffer = gateway.relay_buffer.get();
            self.splits.push(Split::new(ends, opener, server, gateway.node, relay_buffer));
            for (end, settings) in ends.into_iter().zip(&gateway.ends) {
                self.assign(end, Part::Gateway(number));
                self.limit_rate(end, gateway.node, settings);
            }
        }
    }

    /// The ends that send the data of the connection that begins at `sender`: one for each leg.
    pub(crate) fn senders(&self, sender: EndpointId) -> impl Iterator<Item = EndpointId> {
        successors(Some(self.located(sender)), |end| {
            let peer = self.endpoints[end.index()].peer;
            match self.endpoints[peer.index()].part() {
                Part::Gateway(split) => Some(self.splits[split as usize].ends()[1]),
                Part::End | Part::Fragile => None,
            }
        })
    }

    /// Lets a gateway do what has become possible for a split connection. Both of its ends count as
    /// touched.
    pub(crate) fn relay(&mut self, now: Time, number: u32) -> Found {
        let split = &mut self.splits[number as usize];
        let ends = split.ends();
        self.touched.extend(ends);
        // TCP knows what was acknowledged.
        let read = match C::MAY_BE_OTHERS {
            true => ends.map(|end| read_by_peer(&self.endpoints, end)),
            false => [0; 2],
        };
        let Ok(pair) = self.endpoints.get_disjoint_mut(ends.map(EndpointId::index)) else {
            return Found::Nothing;
        };
        let ends = pair.map(|endpoint| &mut endpoint.connection);
        let before = split.deadline();
        let found = split.drive(now, ends, read, &mut self.admissions[split.gateway()]);
        if let Some(deadline) = split.deadline().filter(|_| before.is_none()) {
            let (near, _) = split.near();
            self.timers.push(deadline, READER | u64::from(near.0));
        }
        found
    }

    /// Lets a connection cross a gateway unsplit: its SYN goes on to the server, or to the next
    /// gateway.
    ///
    /// The two ends of a connection have neighbouring numbers, by which middleboxes know them. So
    /// the far end takes the number of the gateway's end, and the application reaches it by its old
    /// one.
    pub(crate) fn pass<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        number: u32,
        fabric: &mut F,
    ) {
        let split = &self.splits[number as usize];
        let ((near, place), node) = (split.near(), split.gateway());
        let client = self.ends.get(near).peer;
        let unused = split.ends()[1 - place];
        let far = self.ends.get(unused).peer;
        let gateway = self.endpoints[near.index()].connection.tcp();
        let Some(syn) = gateway.and_then(tcp::Connection::held_syn).copied() else { return };
        self.endpoints.swap(near.index(), far.index());
        let [first, last] = [client, near].map(|end| self.endpoints[end.index()].node);
        for (end, peer, peer_node) in [(client, near, last), (near, client, first)] {
            let endpoint = &mut self.endpoints[end.index()];
            (endpoint.peer, endpoint.peer_node) = (peer, peer_node);
        }
        match self.endpoints[near.index()].part() {
            Part::Gateway(next) => self.splits[next as usize].replace(far, near),
            Part::End | Part::Fragile => drop(self.moved.insert(far, near)),
        }
        for end in [client, near, unused, far] {
            self.ends.leave_leg(end);
        }
        let packet = self.endpoints[client.index()].packet(syn.into(), Priority::Normal);
        #[expect(clippy::cast_possible_truncation, reason = "nodes have numbers of 16 bits")]
        let node = NodeId(node as u16);
        if fabric.has_fields() {
            fabric.send_with(now, node, packet, self.field);
        } else {
            fabric.send(now, node, packet);
        }
    }

    /// A gateway sends on the packet that has just reached it for an endpoint which had moved: the
    /// client has retransmitted its SYN before it was known that the connection crosses unsplit.
    /// Returns whether there was one.
    pub(crate) fn pass_astray<F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        fabric: &mut F,
    ) -> bool {
        let Some(packet) = self.astray.take() else { return false };
        let to = self.endpoints[packet.body.endpoint.index()].node;
        let node = packet.to;
        let packet = Packet { to, ..packet };
        if fabric.has_fields() {
            fabric.send_with(now, node, packet, self.field);
        } else {
            fabric.forward(now, node, packet);
        }
        true
    }

    /// The number of the endpoint that an application knows by this one.
    #[inline]
    pub(crate) fn located(&self, endpoint: EndpointId) -> EndpointId {
        if self.moved.is_empty() { endpoint } else { self.moved_to(endpoint) }
    }

    #[cold]
    fn moved_to(&self, endpoint: EndpointId) -> EndpointId {
        self.moved.get(&endpoint).copied().unwrap_or(endpoint)
    }

    /// The number by which an application knows the endpoint.
    #[inline]
    pub(crate) fn name(&self, endpoint: EndpointId) -> EndpointId {
        if self.moved.is_empty() { endpoint } else { self.moved_from(endpoint) }
    }

    #[cold]
    fn moved_from(&self, endpoint: EndpointId) -> EndpointId {
        let found = self.moved.iter().find(|(_, place)| **place == endpoint);
        found.map_or(endpoint, |(name, _)| *name)
    }
}
