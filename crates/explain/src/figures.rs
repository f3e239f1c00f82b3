//! The figures that determine the throughput of a flow, computed from the scenario.

use std::collections::BTreeSet;

use serde::Serialize;

use super::beam;
use super::mechanism::{arq, fec};
use scenario::model::{Direction, Flow, Hidden, QueueLimit, Scenario, Traffic, Way as Ends};
use scenario::rates::{framed, usable_rate};
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
    /// False for datagrams, which no window bounds and no receiver acknowledges.
    #[serde(skip)]
    pub has_window: bool,
    /// Rates of SCPS-TP's routes whose data meets at the slowest link or router.
    #[serde(skip)]
    pub rated: Option<Rated>,
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
        let graph = Graph { scenario, load };
        let hops = ways.map(|(from, to)| routes.path(from, to, &scenario.links));
        let data = Packets { bytes: packet as f64, flow, hidden: &hidden[0] };
        // What a router forwards the other way for each packet, if both ways lead through it.
        let there = Way::new(graph, (ways[0], &hops[0]), &data, (&hops[1], ack / counted));
        let per_ack = transport.packets_per_ack_at(there.slowest.time);
        let other = (&*hops[0], packet as f64 * per_ack);
        let acks = Packets { bytes: ack, flow, hidden: &hidden[1] };
        let back = Way::new(graph, (ways[1], &hops[1]), &acks, other);
        let propagation = there.propagation + back.propagation;
        let rtt = propagation + there.serialisation + back.serialisation;
        let buffers = transport.window(flow.traffic.streams());
        let window_segments = buffers / u64::from(transport.full_payload());
        let connections = flow.traffic.connections();
        let headers = scenario.packet_bytes(flow) - u64::from(transport.full_payload());
        let payload = (packet - headers) as f64 * 8.0;
        let window = (window_segments as f64) * payload * f64::from(connections);
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
            has_window: flow.protocol().entry().has_stream,
            rated: (there.slowest.routes.count > 0).then(|| Rated {
                place: there.slowest.name.clone(),
                place_bps: packet as f64 * 8.0 / there.slowest.time,
                queue_bytes: there.slowest.queue,
                routes: there.slowest.routes,
            }),
        }
    }

    /// Takes in limits of the data and of the ACKs.
    pub(crate) fn limit(&mut self, [of_data, of_acks]: &[Option<Limit>; 2]) {
        if let Some(Limit { place, rate_bps }) = of_data
            && *rate_bps < self.bottleneck_bps
        {
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
        if let Some(Limit { place, rate_bps }) = of_acks
            && *rate_bps < self.return_bottleneck_bps
        {
            let share = rate_bps / self.return_bottleneck_bps;
            place.clone_into(&mut self.return_bottleneck);
            self.return_bottleneck_bps = *rate_bps;
            self.ack_limit_bps *= share;
        }
    }

    /// The payload rate that nothing here rules out.
    pub(crate) fn goodput_bound(&self) -> f64 {
        self.capacity_bps.min(self.window_limit_bps).min(self.ack_limit_bps)
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
struct Passing {
    flows: usize,
    /// Sum of the mean rates of applications with a rate of their own, in bit/s.
    offered: f64,
    /// Routes of SCPS-TP with a rate that some of them take.
    routes: RouteSum,
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

    fn on(&self, hop: Hop) -> Passing {
        self.0[hop.link as usize][usize::from(hop.forward)]
    }
}

#[derive(Clone, Copy)]
struct Graph<'a> {
    scenario: &'a Scenario,
    load: &'a Load,
}

/// The way of one kind of packet through the graph.
struct Way {
    /// Seconds.
    propagation: f64,
    /// Seconds.
    serialisation: f64,
    per: f64,
    slowest: Place,
    /// Returns true if a link has the mean delay of its trace.
    mean_delay: bool,
}

/// A link or a router that takes its time for each packet.
pub(crate) struct Place {
    pub name: String,
    /// Seconds for a packet.
    pub time: f64,
    /// Flows that send their data through it.
    flows: usize,
    /// Sum of the mean rates of applications with a rate of their own, in bit/s.
    offered: f64,
    /// Routes of SCPS-TP with a rate that some of them take.
    routes: RouteSum,
    /// Queue before it, in bytes of such packets.
    pub queue: Option<f64>,
    /// Returns true if the rate is the mean of a trace.
    mean_rate: bool,
}

/// Packets of one kind of a flow.
struct Packets<'a> {
    /// Length outside a tunnel.
    bytes: f64,
    flow: &'a Flow,
    /// Where a tunnel hides them.
    hidden: &'a Hidden,
}

impl Packets<'_> {
    /// Their length on a hop.
    fn on(&self, scenario: &Scenario, hop: Hop) -> f64 {
        scenario.bytes_on((self.flow, self.hidden), hop, self.bytes)
    }
}

/// Length of a full packet of a flow. QUIC finds a size that fits its tunnel.
fn full_packet(scenario: &Scenario, flow: &Flow, hidden: &Hidden) -> u64 {
    let packet = scenario.packet_bytes(flow);
    let tunnel = scenario.tunnel_of(flow).filter(|_| !hidden.is_empty());
    tunnel.map_or(packet, |tunnel| packet.min(tunnel.mtu.into()))
}

impl Place {
    /// Seconds for a packet of each flow: what makes a place the bottleneck.
    fn round(&self) -> f64 {
        self.time * self.flows.max(1) as f64
    }
}

impl Way {
    /// The way of packets along `hops`. For each of them, a router that is also
    /// on the `other` way forwards the bytes of `other` there.
    fn new(
        graph: Graph<'_>,
        (ends, hops): (Ends, &[Hop]),
        packets: &Packets<'_>,
        other: (&[Hop], f64),
    ) -> Self {
        let links = &graph.scenario.links;
        let mut places = Vec::new();
        let mut arrives = 1.0;
        let (mut propagation, mut mean_delay) = (0.0, false);
        for (i, hop) in hops.iter().enumerate() {
            let direction = hop.direction(links);
            propagation += direction.delay.as_secs_f64();
            mean_delay |= direction.trace.mean_delay().is_some();
            #[expect(clippy::cast_possible_truncation, reason = "a packet has at most 65535 bytes")]
            let bytes = packets.on(graph.scenario, *hop) as u32;
            arrives *= 1.0 - loss(direction, bytes);
            // The first node sends; only the nodes between forward.
            if i > 0 {
                let node = hop.from(links);
                let both = other.0.iter().skip(1).any(|hop| hop.from(links) == node);
                let forwarded = packets.on(graph.scenario, *hop) + if both { other.1 } else { 0.0 };
                places.extend(router(graph, *hop, forwarded));
            }
            places.push(link(graph, *hop, packets));
        }
        let serialisation = places.iter().map(|place| place.time).sum();
        let over = graph.scenario.bytes_over((packets.flow, packets.hidden), packets.bytes);
        let beams = beam::ways(graph.scenario, ends, over);
        propagation += beams.iter().map(|beam| beam.delay).sum::<f64>();
        places.extend(beams.into_iter().map(|beam| Place {
            name: beam.name,
            time: beam.time,
            flows: beam.flows,
            offered: 0.0,
            routes: RouteSum::default(),
            queue: beam.queue,
            mean_rate: false,
        }));
        let nowhere = Place {
            name: String::new(),
            time: 0.0,
            flows: 0,
            offered: 0.0,
            routes: RouteSum::default(),
            queue: None,
            mean_rate: false,
        };
        let slowest = places.into_iter().reduce(|a, b| if b.round() > a.round() { b } else { a });
        let slowest = slowest.unwrap_or(nowhere);
        Self { propagation, serialisation, per: 1.0 - arrives, slowest, mean_delay }
    }
}

/// Probability that a direction loses a packet of `bytes`, in clear sky, after all repairs.
fn loss(direction: &Direction, bytes: u32) -> f64 {
    match (&direction.arq, &direction.fec) {
        (Some(arq), _) => arq::loss(direction, arq, bytes),
        (None, Some(code)) => fec::loss(direction, code, bytes),
        (None, None) => direction.packet_error_rate(bytes),
    }
}

/// The link into which the sender of a flow's data puts its packets; `None` within one node.
pub(crate) fn first_place(
    scenario: &Scenario,
    (routes, load): (&Routes, &Load),
    flow: &Flow,
) -> Option<Place> {
    let [(from, to), _] = flow.ways();
    let hop = routes.path(from, to, &scenario.links).into_iter().next()?;
    let hidden = scenario.hidden(routes, flow, (from, to));
    let bytes = full_packet(scenario, flow, &hidden) as f64;
    Some(link(Graph { scenario, load }, hop, &Packets { bytes, flow, hidden: &hidden }))
}

fn link(graph: Graph<'_>, hop: Hop, packets: &Packets<'_>) -> Place {
    let direction = hop.direction(&graph.scenario.links);
    let packet = packets.bytes;
    let framed = framed(direction, packets.on(graph.scenario, hop));
    let passing = graph.load.on(hop);
    Place {
        name: hop.name(graph.scenario),
        time: framed * 8.0 / usable_rate(direction),
        flows: passing.flows,
        offered: passing.offered,
        routes: passing.routes,
        queue: match direction.queue {
            QueueLimit::Packets(packets) => Some(f64::from(packets) * packet),
            QueueLimit::Bytes(bytes) => Some(bytes as f64 * packet / framed),
            QueueLimit::Unlimited => None,
        },
        mean_rate: direction.trace.mean_rate().is_some(),
    }
}

/// A router's own limit, before it sends on `hop`.
fn router(graph: Graph<'_>, hop: Hop, forwarded: f64) -> Option<Place> {
    let node = &graph.scenario.nodes[hop.from(&graph.scenario.links)];
    let limit = node.forwarding.as_ref()?;
    let passing = graph.load.on(hop);
    Some(Place {
        name: format!("forwarding at {}", node.name),
        time: forwarded * 8.0 / limit.rate.bits_per_second() as f64,
        flows: passing.flows,
        offered: passing.offered,
        routes: passing.routes,
        queue: Some(limit.buffer.get() as f64),
        mean_rate: false,
    })
}
