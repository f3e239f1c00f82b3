//! Routers with feedback of a scenario in its network, and what they did: a table of totals, and one of
//! samples, in runs that have any.

use link::{FeedbackCounters, Router};
use network::{Fabric, Packet, PortReport, QueueRouter, Topology};
use recording::{ExtraTable, extra_table};
use scenario::Scenario;
use units::Time;

use crate::nodes::Passing;

extra_table! {
    /// Totals of routers with feedback, one row for each direction that has one.
    pub(crate) Totals("feedback") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// The protocol.
        feedback: String,
        /// Packets whose field the router has treated.
        treated_packets: u64,
        /// Of these, packets whose rate it has lowered below the request.
        lowered_packets: u64,
        /// Of these, requests of Quick-Start that it has denied.
        denied_packets: u64,
        /// Reports of Approved Rate (RFC 4782) that have passed.
        reports: u64,
        /// Packets without a field of this protocol.
        other_packets: u64,
    }
}

extra_table! {
    /// Samples of routers with feedback, at the times of the series of links.
    pub(crate) Samples("feedback_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Packets whose field was treated since the start.
        treated_packets: u64,
        /// Packets without a field of this protocol since the start.
        other_packets: u64,
    }
}

/// The routers of a network, by their ports.
pub type Routers = Vec<(usize, Router)>;

/// Returns true if packets of the scenario have feedback fields: one of its links has a router that treats them, or a
/// middlebox writes loss notices into them. Without any, no field would ever come back.
pub(crate) fn is_in_use(scenario: &Scenario) -> bool {
    let mut sides = scenario.links.iter().flat_map(|link| link.sides());
    let mut middleboxes = scenario.nodes.iter().filter_map(|node| node.middlebox);
    sides.any(|(_, side)| side.feedback.is_some())
        || middleboxes.any(|middlebox| middlebox.gives_loss_notices())
}

/// The routers of an idle network.
pub fn routers(topology: &Topology) -> Routers {
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

/// Collects samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Samples);

impl Recorder {
    /// Adds a row for each port with a router.
    pub fn sample(&mut self, at: Time, ports: &[PortReport]) {
        for (link, port) in (0..).zip(ports) {
            let Some(FeedbackCounters { treated_packets, other_packets, .. }) = port.feedback
            else {
                continue;
            };
            let t_s = at.as_secs_f64();
            self.0.push(Sample { link, t_s, treated_packets, other_packets });
        }
    }

    /// All rows so far; none without routers.
    pub fn into_table(self) -> Option<ExtraTable> {
        self.0.into_table().filled()
    }
}

/// The totals of all directions with a router; none without any.
pub(crate) fn totals(scenario: &Scenario, ports: &[PortReport]) -> Option<ExtraTable> {
    let directions = scenario.links.iter().flat_map(|link| {
        link.sides().map(|(side, direction)| (&link.name, side, direction.feedback))
    });
    let mut totals = Totals::default();
    for ((link, side, feedback), port) in directions.zip(ports) {
        let (Some(feedback), Some(counters)) = (feedback, port.feedback) else { continue };
        // Without `..`, so that a new counter has to stand in the table.
        let FeedbackCounters {
            treated_packets,
            lowered_packets,
            denied_packets,
            reports,
            other_packets,
        } = counters;
        totals.push(Total {
            link: link.clone(),
            direction: side.to_owned(),
            feedback: feedback.name().to_owned(),
            treated_packets,
            lowered_packets,
            denied_packets,
            reports,
            other_packets,
        });
    }
    totals.into_table().filled()
}
