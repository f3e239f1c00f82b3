//! The fast engine and the slow one, packet by packet.

mod assigned;
mod buckets;
mod changes;
mod coding;
mod disciplines;
mod looking;
mod priorities;
mod repeats;

use generate::{RandomDirection, micros};
use link::{Direction, Priority, Seed};
use network::reference::ReferenceNetwork;
use network::{
    Ecn, Fabric, Network, NodeId, Packet, PortKind, PortReport, PortSpec, QueueReport, Topology,
};
use proptest::prelude::*;
use units::{Span, Time};

/// When after the packet before, its bytes, and whether it is of low priority.
type Sending = (u32, u16, bool);

/// Packets that came out, and the reports of ports after each packet that went in.
type Outcome = (Vec<(Time, u32, Ecn)>, Vec<PortReport>, Vec<QueueReport>);

/// Random cases of each test: 256, or `PROPTEST_CASES`. `make nightly` draws 1000.
fn cases() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// Round numbers on purpose: they make events coincide.
fn sendings() -> impl Strategy<Value = Vec<Sending>> {
    let wait = prop_oneof![2 => Just(0u32), 1 => Just(1000), 2 => 0u32..3000];
    let bytes = prop_oneof![Just(1000u16), 40u16..1500];
    prop::collection::vec((wait, bytes, any::<bool>()), 1..150)
}

/// A chain of nodes with a port from each to the next.
fn chain(hops: &[RandomDirection]) -> Topology {
    let port = |(number, hop): (usize, &RandomDirection)| {
        let direction = Direction::new(hop.settings(), &Seed::new(1), number as u64, Time::NEVER);
        let to = NodeId(number as u16 + 1);
        PortSpec { to, kind: PortKind::Link, direction, reverse: None }
    };
    let ports = hops.iter().enumerate().map(port).collect();
    let nodes = hops.len() + 1;
    let row = |from: usize| (0..nodes).map(|to| (to > from).then_some(from as u16)).collect();
    let routes = (0..nodes).map(row).collect();
    Topology { ports, routes, addresses: Vec::new(), forwarding: vec![None; nodes] }
}

fn run(mut fabric: impl Fabric<u32>, last: NodeId, sendings: &[Sending]) -> Outcome {
    let (mut deliveries, mut reports, mut queues) = (Vec::new(), Vec::new(), Vec::new());
    let mut now = Time::ZERO;
    let mut deliver = |fabric: &mut dyn Fabric<u32>, until: Time| {
        while fabric.next_event() <= until && fabric.next_event() != Time::NEVER {
            deliveries
                .extend(fabric.advance().map(|out| (out.at, out.packet.body, out.packet.ecn)));
        }
    };
    for (number, (wait, bytes, low)) in sendings.iter().enumerate() {
        now += micros(*wait);
        deliver(&mut fabric, now);
        let priority = if *low { Priority::Low } else { Priority::Normal };
        let (body, flow) = (number as u32, number as u32 % 3);
        let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Scalable][number % 7 % 3];
        let packet = Packet { body, flow, to: last, bytes: *bytes, ecn, priority };
        fabric.send(now, NodeId(0), packet);
        reports.extend(fabric.report(now));
        queues.extend(fabric.queue_reports(now));
    }
    deliver(&mut fabric, Time::NEVER);
    // After the last packet: some directions have a slot of demand assignment in minutes.
    let last = deliveries.last().map_or(now, |(at, _, _)| now.max(*at));
    let end = last + Span::from_secs(1000);
    reports.extend(fabric.report(end));
    queues.extend(fabric.queue_reports(end));
    (deliveries, reports, queues)
}

/// The outcomes of the fast engine and of the slow one.
fn run_both(hops: &[RandomDirection], sendings: &[Sending]) -> [Outcome; 2] {
    let topology = chain(hops);
    let last = NodeId(hops.len() as u16);
    [
        run(Network::new(topology.clone()), last, sendings),
        run(ReferenceNetwork::new(topology), last, sendings),
    ]
}
