//! The figures that determine the throughput of a flow, computed from the scenario.

use std::collections::BTreeSet;

use serde::Serialize;

use super::bounds::{self, Active, Bounds};
use super::places::{Graph, Packets, Way, full_packet, range_of_delays};
use scenario::model::{Flow, Scenario, Traffic, Way as Ends};
use scenario::{Hop, Routes};

/// Figures of a flow before it runs. Times are without any queue, and links as they are at
/// the start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Bytes of a full segment's IP packet.
    pub packet_bytes: u64,
    /// Propagation delay there and back, in milliseconds.
    pub propagation_rtt_ms: f64,
    /// The same with the serialisation of a full packet and its ACK.
    pub base_rtt_ms: f64,
    /// The slowest place on the way of the data.
    pub bottleneck: String,
    /// Flows whose data passes there.
    pub bottleneck_flows: usize,
    /// Its rate in bit/s of IP packets.
    pub bottleneck_bps: f64,
    /// Capacity of its queue, in bytes of IP packets; `None` is unlimited.
    pub bottleneck_queue_bytes: Option<f64>,
    /// Time that a full packet takes there, in milliseconds.
    pub segment_time_ms: f64,
    /// The slowest place on the way of the ACKs.
    pub return_bottleneck: String,
    /// Its rate in bit/s of IP packets.
    pub return_bottleneck_bps: f64,
    /// Bandwidth-delay product (BDP) in bytes of IP packets: bottleneck rate x base RTT.
    pub bdp_bytes: f64,
    /// The same in full segments.
    pub bdp_segments: f64,
    /// The largest window: the smaller one of receive and send buffer.
    pub window_bytes: u64,
    /// Full segments that fit into it.
    pub window_segments: u64,
    /// Connections that share the bottleneck for one flow.
    pub connections: u32,
    /// Payload rate that the bottleneck carries, in bit/s.
    pub capacity_bps: f64,
    /// Payload rate that the window allows, of all connections: window / base RTT.
    pub window_limit_bps: f64,
    /// Payload rate at which the ACKs fill the return way.
    pub ack_limit_bps: f64,
    /// Mean and maximum of the application's rate, in bit/s; `None` if it writes as fast as
    /// TCP takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<Offered>,
    /// Probability that a full packet is corrupted, in clear sky.
    pub per: f64,
    /// Probability that an ACK is corrupted, in clear sky.
    pub ack_per: f64,
    /// True if `bottleneck_bps` is the mean rate of a trace.
    pub mean_rate: bool,
    /// True if the round-trip times include the mean delay of a trace.
    pub mean_delay: bool,
    /// The smallest and the largest rate of the slowest place in bit/s, if events or modems change
    /// rates on the way of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_range_bps: Option<[f64; 2]>,
    /// The shortest and the longest propagation delay there and back in milliseconds, if events
    /// change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_range_ms: Option<[f64; 2]>,
    /// False for datagrams, which no window bounds and no receiver acknowledges.
    #[serde(skip)]
    pub has_window: bool,
    /// Rates of SCPS-TP's routes whose data meets at the slowest link or router.
    #[serde(skip)]
    pub rated: Option<Rated>,
    /// Number of queues of `bottleneck_queue_bytes` before the bottleneck: one for each terminal of
    /// a beam that flows send data to.
    #[serde(skip)]
    pub bottleneck_queues: usize,
    /// Bounds that hold in every run.
    #[serde(skip)]
    pub bounds: Bounds,
}

/// Routes of SCPS-TP with a rate whose data meets at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Rated {
    /// The place.
    pub place: String,
    /// Its rate in bit/s of IP packets.
    pub place_bps: f64,
    /// Capacity of its queue, in bytes of IP packets; `None` is unlimited.
    pub queue_bytes: Option<f64>,
    /// The rates.
    pub routes: RouteSum,
}

/// Sums over routes with a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RouteSum {
    /// Number of routes.
    pub count: usize,
    /// Their rates, in bit/s.
    pub rate_bps: f64,
    /// Size of their buckets, in bytes.
    pub burst_bytes: f64,
}

/// A limit of a rate at a place that is no link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub place: String,
    /// In bit/s of IP packets.
    pub rate_bps: f64,
    /// Bytes of IP packets that pass at once after a pause.
    pub burst_bytes: f64,
}

/// A load that does not depend on TCP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Offered {
    /// Mean rate in bit/s.
    pub mean_bps: f64,
    /// Rate in bit/s while something is written.
    pub peak_bps: f64,
    /// Mean rate of all flows with such a load whose data passes the bottleneck.
    pub bottleneck_bps: f64,
}

/// Mean rate and peak rate in bit/s that an application with a rate of its own writes.
fn offered(traffic: &Traffic) -> Option<(f64, f64)> {
    let writes = traffic.writes()?;
    let peak = writes.rate.bits_per_second() as f64;
    Some((writes.share() * peak, peak))
}

impl Figures {
    /// The figures of `flow`.
    pub(crate) fn of(scenario: &Scenario, routes: &Routes, load: &Load, flow: &Flow) -> Self {
        Self::on(scenario, routes, load, flow, flow.ways())
    }

    /// The figures of `flow` with data and ACKs on these ways.
    pub(crate) fn on(
        scenario: &Scenario,
        routes: &Routes,
        load: &Load,
        flow: &Flow,
        ways: [Ends; 2],
    ) -> Self {
        let transport = flow.transport.plan();
        let hidden = ways.map(|way| scenario.hidden(routes, flow, way));
        let packet = full_packet(scenario, flow, &hidden[0]);
        let ack = scenario.ack_bytes(flow) as f64;
        let counted = f64::from(transport.packets_per_ack());
        let active = Active::of(scenario, flow);
        let graph = Graph { scenario, load, active };
        let hops = ways.map(|(from, to)| routes.path(from, to, &scenario.links));
        let headers = scenario.packet_bytes(flow) - u64::from(transport.full_payload());
        let data = Packets {
            bytes: packet as f64,
            least: (packet - headers) as f64,
            flow,
            hidden: &hidden[0],
        };
        // What a router forwards the other way for each packet, if both ways lead through it.
        let there = Way::new(graph, (ways[0], &hops[0]), &data, (&hops[1], ack / counted));
        let per_ack = transport.packets_per_ack_at(there.slowest.time);
        let other = (&*hops[0], packet as f64 * per_ack);
        let acks = Packets { bytes: ack, least: 0.0, flow, hidden: &hidden[1] };
        let back = Way::new(graph, (ways[1], &hops[1]), &acks, other);
        let propagation = there.propagation + back.propagation;
        let rtt = propagation + there.serialisation + back.serialisation;
        let buffers = transport.window(flow.traffic.streams());
        let window_segments = buffers / u64::from(transport.full_payload());
        let connections = flow.traffic.connections();
        let payload = (packet - headers) as f64 * 8.0;
        let window = (window_segments as f64) * payload * f64::from(connections);
        let bounds = bounds::of(graph, routes, (flow, ways), [&data, &acks], [payload, window]);
        Self {
            packet_bytes: packet,
            propagation_rtt_ms: propagation * 1e3,
            base_rtt_ms: rtt * 1e3,
            bottleneck_bps: packet as f64 * 8.0 / there.slowest.time,
            bottleneck_flows: there.slowest.flows,
            bottleneck_queue_bytes: there.slowest.queue,
            segment_time_ms: there.slowest.time * 1e3,
            bottleneck: there.slowest.name.clone(),
            return_bottleneck_bps: ack * 8.0 / back.slowest.time,
            return_bottleneck: back.slowest.name,
            bdp_bytes: packet as f64 * rtt / there.slowest.time,
            bdp_segments: rtt / there.slowest.time,
            window_bytes: buffers,
            window_segments,
            connections,
            capacity_bps: payload / there.slowest.time,
            window_limit_bps: window / rtt,
            ack_limit_bps: payload * per_ack / back.slowest.time,
            offered: offered(&flow.traffic).map(|(mean_bps, peak_bps)| Offered {
                mean_bps,
                peak_bps,
                bottleneck_bps: there.slowest.offered,
            }),
            per: there.per,
            ack_per: back.per,
            mean_rate: there.slowest.mean_rate,
            mean_delay: there.mean_delay || back.mean_delay,
            rate_range_bps: there.range(packet as f64),
            rtt_range_ms: range_of_delays(scenario, &hops, propagation),
            has_window: flow.protocol().entry().has_stream,
            rated: (there.slowest.routes.count > 0).then(|| Rated {
                place: there.slowest.name.clone(),
                place_bps: packet as f64 * 8.0 / there.slowest.time,
                queue_bytes: there.slowest.queue,
                routes: there.slowest.routes,
            }),
            bottleneck_queues: there.slowest.queues,
            bounds,
        }
    }

    /// Takes in limits of the data and of the ACKs.
    pub(crate) fn limit(&mut self, [of_data, of_acks]: &[Option<Limit>; 2]) {
        if let Some(Limit { rate_bps, burst_bytes, .. }) = of_data {
            let burst_bps = burst_bytes * 8.0 / self.bounds.seconds;
            let most = (rate_bps + burst_bps) * self.capacity_bps / self.bottleneck_bps;
            self.bounds.capacity_bps = self.bounds.capacity_bps.min(most);
        }
        if let Some(Limit { place, rate_bps, .. }) = of_data
            && *rate_bps < self.bottleneck_bps
        {
            self.bounds.bottleneck_bps = f64::INFINITY;
            self.rate_range_bps = None;
            let share = rate_bps / self.bottleneck_bps;
            place.clone_into(&mut self.bottleneck);
            self.bottleneck_bps = *rate_bps;
            self.mean_rate = false;
            // What waits is in send buffers.
            self.bottleneck_queue_bytes = None;
            self.segment_time_ms /= share;
            self.bdp_bytes *= share;
            self.bdp_segments *= share;
            self.capacity_bps *= share;
        }
        if let Some(Limit { place, rate_bps, .. }) = of_acks
            && *rate_bps < self.return_bottleneck_bps
        {
            let share = rate_bps / self.return_bottleneck_bps;
            place.clone_into(&mut self.return_bottleneck);
            self.return_bottleneck_bps = *rate_bps;
            self.ack_limit_bps *= share;
        }
    }

    /// Bytes of the bandwidth-delay product with the lowest rate and the shortest delay that events
    /// set.
    pub(crate) fn least_bdp_bytes(&self) -> f64 {
        let rate = self.rate_range_bps.map_or(1.0, |[least, _]| least / self.bottleneck_bps);
        let delay = self.rtt_range_ms.map_or(1.0, |[least, _]| least / self.propagation_rtt_ms);
        self.bdp_bytes * rate.min(1.0) * delay
    }

    /// The shortest round trip of a full packet, and the longest without queues and jitter, in
    /// milliseconds.
    pub(crate) fn rtts_ms(&self) -> [f64; 2] {
        let serialised = self.base_rtt_ms - self.propagation_rtt_ms;
        let most = self.rtt_range_ms.map_or(self.propagation_rtt_ms, |[_, most]| most);
        [self.bounds.least_rtt_ms, most + serialised]
    }

    /// The payload rate that the application asks for at most.
    pub(crate) fn wanted(&self) -> f64 {
        self.offered.map_or(f64::INFINITY, |offered| offered.peak_bps)
    }
}

/// Flows through each direction of each link.
pub(crate) struct Load(Vec<[Passing; 2]>);

/// Flows that send their data through one place.
#[derive(Clone, Copy, Default)]
pub(crate) struct Passing {
    pub flows: usize,
    /// Sum of the mean rates of applications with a rate of their own, in bit/s.
    pub offered: f64,
    /// Routes of SCPS-TP with a rate that some of them take.
    pub routes: RouteSum,
}

impl Load {
    pub fn of(scenario: &Scenario, routes: &Routes) -> Self {
        let mut load = vec![[Passing::default(); 2]; scenario.links.len()];
        for flow in &scenario.flows {
            let [(from, to), _] = flow.ways();
            for hop in routes.path(from, to, &scenario.links) {
                let passing = &mut load[hop.link as usize][usize::from(hop.forward)];
                passing.flows += 1;
                passing.offered += offered(&flow.traffic).map_or(0.0, |(mean, _)| mean);
            }
        }
        for rate in &scenario.route_rates {
            let takes = |flow: &&Flow| {
                flow.transport.scps().is_some() && routes.next(flow.from, flow.to) == Some(rate.hop)
            };
            let flows = scenario.flows.iter().filter(takes);
            let hops = flows.flat_map(|flow| routes.path(flow.from, flow.to, &scenario.links));
            let places: BTreeSet<_> = hops.map(|hop| (hop.link, hop.forward)).collect();
            for (link, forward) in places {
                let sum = &mut load[link as usize][usize::from(forward)].routes;
                sum.count += 1;
                sum.rate_bps += rate.bucket.rate.bits_per_second() as f64;
                sum.burst_bytes += rate.bucket.burst.get() as f64;
            }
        }
        Self(load)
    }

    pub fn on(&self, hop: Hop) -> Passing {
        self.0[hop.link as usize][usize::from(hop.forward)]
    }
}
