//! Routers with feedback of a scenario in its network, and what they did: a table of totals, and
//! one of samples, in runs that have any.

use link::{FeedbackCounters, Router};
use network::{Fabric, Packet, PortReport, QueueRouter, Topology};
use scenario::Scenario;
use units::Time;

use crate::mechanisms::port_counters;
use crate::nodes::Passing;

port_counters! {
    "feedback" of feedback, FeedbackCounters in |port: &PortReport| port.feedback, |direction| direction.feedback.map(|feedback| feedback.name());
    totals {
        /// Packets whose field the router has treated.
        treated_packets,
        /// Of these, packets whose rate it has lowered below the request.
        lowered_packets,
        /// Of these, requests of Quick-Start that it has denied.
        denied_packets,
        /// Reports of Approved Rate (RFC 4782) that have passed.
        reports,
        /// Packets without a field of this protocol.
        other_packets,
    }
    "feedback_series" { treated_packets, other_packets }
}

/// The routers of a network, by their ports.
pub(crate) type Routers = Vec<(usize, Router)>;

/// Returns true if packets of the scenario have feedback fields: one of its links has a router that
/// treats them, or a middlebox writes loss notices into them. Without any, no field would ever come
/// back.
pub(crate) fn is_in_use(scenario: &Scenario) -> bool {
    let mut sides = scenario.links.iter().flat_map(|link| link.sides());
    let mut middleboxes = scenario.nodes.iter().filter_map(|node| node.middlebox);
    sides.any(|(_, side)| side.feedback.is_some())
        || middleboxes.any(|middlebox| middlebox.gives_loss_notices())
}

/// The routers of an idle network.
pub(crate) fn routers(topology: &Topology) -> Routers {
    let ports = topology.ports.iter().enumerate();
    ports.filter_map(|(number, port)| Some((number, Router::of(&port.direction)?))).collect()
}

/// Sets the routers of an idle network.
pub(crate) fn set_routers<B>(routers: Routers, fabric: &mut (impl Fabric<Passing<B>> + ?Sized)) {
    for (port, router) in routers {
        fabric.route(port, Box::new(AtPort(router)));
    }
}

/// The router of one port.
#[derive(Clone, Debug)]
struct AtPort(Router);

impl<B> QueueRouter<Passing<B>> for AtPort {
    fn arrive(&mut self, now: Time, packet: &Packet<Passing<B>>) {
        self.0.on_arrival(now, u32::from(packet.bytes), &packet.body.field);
    }

    fn depart(&mut self, now: Time, packet: &mut Packet<Passing<B>>) {
        // As long as it arrived: a compressor has already taken bytes away.
        let bytes = packet.body.compressed.map_or(packet.bytes, |on_link| on_link.bytes);
        self.0.on_departure(now, bytes.into(), &mut packet.body.field);
    }

    fn note_queue(&mut self, bytes: u64) {
        self.0.note_queue(bytes);
    }

    fn counters(&self) -> FeedbackCounters {
        self.0.counters()
    }

    fn boxed_clone(&self) -> Box<dyn QueueRouter<Passing<B>>> {
        Box::new(self.clone())
    }
}
