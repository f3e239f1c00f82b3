//! The fast engine and the slow one, packet by packet.

mod changes;
mod disciplines;
mod priorities;

use link::{Change, Direction, Errors, LowPriority, Priority, QueueLimit, Settings, Timeline};
use network::reference::ReferenceNetwork;
use network::{
    Ecn, Fabric, FlowId, Network, NodeId, Packet, PortKind, PortReport, PortSpec, Topology,
};
use proptest::prelude::*;
use units::{Rate, Span, Time};

#[derive(Clone, Debug)]
struct Hop {
    rate_kbps: u32,
    delay_us: u32,
    limit: QueueLimit,
    low_priority: LowPriority,
    per: f64,
    changes: Vec<Change>,
}

/// When after the packet before, its bytes, and whether it is of low priority.
type Sending = (u32, u16, bool);

/// What came out, and what the ports reported after each packet that went in.
type Outcome = (Vec<(Time, u32)>, Vec<PortReport>);

// Round numbers on purpose in what follows: they make events coincide.

fn rate_kbps() -> impl Strategy<Value = u32> {
    prop_oneof![Just(8000u32), 500u32..9000]
}

fn delay_us() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0u32), Just(1000), 0u32..5000]
}

fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1u32..10).prop_map(QueueLimit::Packets),
        (1000u64..10_000).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited),
    ]
}

fn per() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(0.3)]
}

fn sendings() -> impl Strategy<Value = Vec<Sending>> {
    let wait = prop_oneof![2 => Just(0u32), 1 => Just(1000), 2 => 0u32..3000];
    let bytes = prop_oneof![Just(1000u16), 40u16..1500];
    prop::collection::vec((wait, bytes, any::<bool>()), 1..150)
}

fn rate(kbps: u32) -> Rate {
    Rate::from_bits_per_second(u64::from(kbps) * 1000)
}

fn micros(micros: u32) -> Span {
    Span::from_nanos(u64::from(micros) * 1000)
}

/// A chain of nodes with a port from each to the next.
fn chain(hops: &[Hop]) -> Topology {
    let port = |(number, hop): (usize, &Hop)| {
        let settings = Settings {
            queue: hop.limit,
            low_priority: hop.low_priority,
            channel: Errors::PacketErrors { per: hop.per },
            timeline: Timeline::new(hop.changes.clone()),
            ..Settings::new(rate(hop.rate_kbps), micros(hop.delay_us))
        };
        let direction = Direction::new(settings, 1, number as u64, Time::NEVER);
        PortSpec { to: NodeId(number as u16 + 1), kind: PortKind::Link, direction }
    };
    let ports = hops.iter().enumerate().map(port).collect();
    let nodes = hops.len() + 1;
    let row = |from: usize| (0..nodes).map(|to| (to > from).then_some(from as u16)).collect();
    let routes = (0..nodes).map(row).collect();
    Topology { ports, routes, forwarding: vec![None; nodes] }
}

fn run(mut fabric: impl Fabric<u32>, last: NodeId, sendings: &[Sending]) -> Outcome {
    let (mut deliveries, mut reports) = (Vec::new(), Vec::new());
    let mut now = Time::ZERO;
    let mut deliver = |fabric: &mut dyn Fabric<u32>, until: Time| {
        while fabric.next_event() <= until && fabric.next_event() != Time::NEVER {
            deliveries.extend(fabric.advance().map(|out| (out.at, out.packet.body)));
        }
    };
    for (number, (wait, bytes, low)) in sendings.iter().enumerate() {
        now += micros(*wait);
        deliver(&mut fabric, now);
        let priority = if *low { Priority::Low } else { Priority::Normal };
        let (body, flow, ecn) = (number as u32, FlowId(0), Ecn::NotCapable);
        let packet = Packet { body, flow, to: last, bytes: *bytes, ecn, priority };
        fabric.send(now, NodeId(0), packet);
        reports.extend(fabric.report(now));
    }
    deliver(&mut fabric, Time::NEVER);
    reports.extend(fabric.report(now + Span::from_secs(1000)));
    (deliveries, reports)
}

/// The outcomes of the fast engine and of the slow one.
fn run_both(hops: &[Hop], sendings: &[Sending]) -> [Outcome; 2] {
    let topology = chain(hops);
    let last = NodeId(hops.len() as u16);
    [
        run(Network::new(topology.clone()), last, sendings),
        run(ReferenceNetwork::new(topology), last, sendings),
    ]
}
