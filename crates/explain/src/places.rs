//! Places on the way of packets, links and routers, that take their time for each of them.

use scenario::model::{Change, Direction, Flow, Hidden, QueueLimit, Scenario, Way as Ends};
use scenario::rates::{framed, usable_rate, usable_rate_at};
use scenario::{Hop, Routes};
use units::{Rate, Span};

use super::beam;
use super::bounds::{self, Active, Most};
use super::figures::{Load, RouteSum};
use super::mechanism::{arq, fec};

/// The links of a scenario with their load, as a flow finds them.
#[derive(Clone, Copy)]
pub(crate) struct Graph<'a> {
    pub scenario: &'a Scenario,
    pub load: &'a Load,
    /// The time of the flow.
    pub active: Active,
}

/// The way of one kind of packet through the graph.
pub(crate) struct Way {
    /// Seconds.
    pub propagation: f64,
    /// Seconds.
    pub serialisation: f64,
    pub per: f64,
    pub slowest: Place,
    /// Seconds for a packet at the place that takes the longest, at least: the mean over the time
    /// of the flow, and at any time.
    pub least_time: [f64; 2],
    /// Seconds from end to end, at least: of propagation, and of serialisation.
    pub least_delay: [f64; 2],
    /// Seconds for a packet at the slowest place, with all rates at their highest and at their
    /// lowest; `None` if no event changes a rate.
    times: Option<[f64; 2]>,
    /// Returns true if a link has the mean delay of its trace.
    pub mean_delay: bool,
}

/// A link or a router that takes its time for each packet.
#[derive(Default)]
pub(crate) struct Place {
    pub name: String,
    /// Seconds for a packet.
    pub time: f64,
    /// Seconds for a packet at least: the mean over the time of the flow, and at any time.
    pub least_time: [f64; 2],
    /// Seconds for a packet with the highest and with the lowest rate, if events change it.
    times: Option<[f64; 2]>,
    /// Flows that send their data through it.
    pub flows: usize,
    /// Sum of the mean rates of applications with a rate of their own, in bit/s.
    pub offered: f64,
    /// Routes of SCPS-TP with a rate that some of them take.
    pub routes: RouteSum,
    /// Queue before it, in bytes of such packets.
    pub queue: Option<f64>,
    /// Queues of this size before it: terminals of a beam have queues of their own.
    pub queues: usize,
    /// Returns true if the rate is the mean of a trace.
    pub mean_rate: bool,
}

/// Packets of one kind of a flow.
pub(crate) struct Packets<'a> {
    /// Length outside a tunnel.
    pub bytes: f64,
    /// Length where headers are compressed, at least.
    pub least: f64,
    pub flow: &'a Flow,
    /// Where a tunnel hides them.
    pub hidden: &'a Hidden,
}

impl Packets<'_> {
    /// Their length on a hop.
    fn on(&self, scenario: &Scenario, hop: Hop) -> f64 {
        scenario.bytes_on((self.flow, self.hidden), hop, self.bytes)
    }
}

/// Length of a full packet of a flow. QUIC finds a size that fits its tunnel.
pub(crate) fn full_packet(scenario: &Scenario, flow: &Flow, hidden: &Hidden) -> u64 {
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
    pub fn new(
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
                let forwarded = if both { other.1 } else { 0.0 };
                let own = packets.on(graph.scenario, *hop);
                places.extend(router(graph, *hop, [own, forwarded]));
            }
            places.push(link(graph, *hop, packets));
        }
        let serialisation = places.iter().map(|place| place.time).sum();
        let over = graph.scenario.bytes_over((packets.flow, packets.hidden), packets.bytes);
        let beams = beam::ways(graph.scenario, ends, over);
        propagation += beams.iter().map(|beam| beam.delay).sum::<f64>();
        let least_delay = [
            bounds::least_delay(graph.scenario, hops)
                + beams.iter().map(|beam| beam.least_delay).sum::<f64>(),
            places.iter().map(|place| place.least_time[1]).sum(),
        ];
        places.extend(beams.into_iter().map(|beam| Place {
            name: beam.name,
            time: beam.time,
            least_time: [beam.least_time; 2],
            flows: beam.flows,
            queue: beam.queue,
            queues: beam.queues,
            ..Place::default()
        }));
        let longest =
            |which: usize| places.iter().map(|place| place.least_time[which]).fold(0.0, f64::max);
        let least_time = [longest(0), longest(1)];
        let changes = places.iter().any(|place| place.times.is_some());
        let times = changes.then(|| {
            let all = places.iter().map(|place| place.times.unwrap_or([place.time; 2]));
            all.fold([0.0; 2], |[a, b]: [f64; 2], [low, high]| [a.max(low), b.max(high)])
        });
        let slowest = places.into_iter().reduce(|a, b| if b.round() > a.round() { b } else { a });
        let slowest = slowest.unwrap_or_default();
        let per = 1.0 - arrives;
        Self {
            propagation,
            serialisation,
            per,
            slowest,
            least_time,
            least_delay,
            times,
            mean_delay,
        }
    }

    /// The smallest and the largest rate of the slowest place in bit/s of packets of this length,
    /// if events change it.
    pub fn range(&self, packet: f64) -> Option<[f64; 2]> {
        let [least, most] = self.times?;
        Some([packet * 8.0 / most, packet * 8.0 / least])
    }
}

/// The shortest and the longest propagation delay of both ways in milliseconds, if events change
/// it. `propagation` is that at the start, in seconds.
pub(crate) fn range_of_delays(
    scenario: &Scenario,
    hops: &[Vec<Hop>; 2],
    propagation: f64,
) -> Option<[f64; 2]> {
    let mut range = [propagation; 2];
    for direction in hops.iter().flatten().map(|hop| hop.direction(&scenario.links)) {
        let start = direction.delay.as_secs_f64();
        let set = within(scenario, direction.timeline.changes());
        let delays = set.filter_map(|change| change.delay).map(Span::as_secs_f64);
        let [least, most] = delays.fold([start; 2], |[a, b], one| [a.min(one), b.max(one)]);
        range = [range[0] + least - start, range[1] + most - start];
    }
    (range[0] < range[1]).then(|| range.map(|seconds| seconds * 1e3))
}

/// The changes before the end of the run.
fn within<'a>(scenario: &'a Scenario, changes: &'a [Change]) -> impl Iterator<Item = &'a Change> {
    changes.iter().filter(|change| change.at < scenario.duration)
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
    let graph = Graph { scenario, load, active: Active::of(scenario, flow) };
    Some(link(graph, hop, &Packets { bytes, least: bytes, flow, hidden: &hidden }))
}

fn link(graph: Graph<'_>, hop: Hop, packets: &Packets<'_>) -> Place {
    let direction = hop.direction(&graph.scenario.links);
    let packet = packets.bytes;
    let bytes = packets.on(graph.scenario, hop);
    let framed = framed(direction, bytes);
    let passing = graph.load.on(hop);
    let time_at = |rate: Rate| framed * 8.0 / usable_rate_at(direction, rate);
    let modem = direction.channel.rates().map_or(&[][..], |rates| rates.changes());
    let changes = direction.timeline.changes().iter().chain(modem);
    let changes = changes.filter(|change| change.at < graph.scenario.duration);
    let times = changes.filter_map(|change| change.rate).map(time_at);
    let start = time_at(direction.rate);
    let times = times.fold([start; 2], |[a, b], time| [a.min(time), b.max(time)]);
    let compression = &graph.scenario.links[hop.link as usize].header_compression;
    let is_compressed = compression[usize::from(!hop.forward)].is_some();
    let least = if is_compressed { packets.least } else { framed };
    let parity = direction.fec.map_or(0.0, |fec| {
        #[expect(clippy::cast_possible_truncation, reason = "a packet has at most 65535 bytes")]
        let each = direction.framing.bytes(fec.parity_bytes(bytes as u32));
        f64::from(fec.depth * fec.parity) * f64::from(each)
    });
    let most = Most::of(graph.scenario, direction, graph.active, [framed, parity]);
    Place {
        name: hop.name(graph.scenario),
        time: framed * 8.0 / usable_rate(direction),
        least_time: [most.mean_bps, most.peak_bps].map(|bps| least * 8.0 / bps),
        times: (times[0] < times[1]).then_some(times),
        flows: passing.flows,
        offered: passing.offered,
        routes: passing.routes,
        queue: match direction.queue {
            QueueLimit::Packets(packets) => Some(f64::from(packets) * packet),
            QueueLimit::Bytes(bytes) => Some(bytes as f64 * packet / framed),
            QueueLimit::Unlimited => None,
        },
        queues: 1,
        mean_rate: direction.trace.mean_rate().is_some() || direction.trace.silent_share > 0.0,
    }
}

/// A router's own limit, before it sends on `hop`: bytes of a packet, and of those which it
/// forwards the other way for each packet.
fn router(graph: Graph<'_>, hop: Hop, forwarded: [f64; 2]) -> Option<Place> {
    let node = &graph.scenario.nodes[hop.from(&graph.scenario.links)];
    let limit = node.forwarding.as_ref()?;
    let passing = graph.load.on(hop);
    let time_of = |bytes: f64| bytes * 8.0 / limit.rate.bits_per_second() as f64;
    Some(Place {
        name: format!("forwarding at {}", node.name),
        time: time_of(forwarded.iter().sum()),
        least_time: [time_of(forwarded[0]); 2],
        times: None,
        flows: passing.flows,
        offered: passing.offered,
        routes: passing.routes,
        queue: Some(limit.buffer.get() as f64),
        queues: 1,
        mean_rate: false,
    })
}
