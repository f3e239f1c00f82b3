//! Packets of both priorities through both engines: with queues that give normal packets the
//! room of others, a packet that was accepted may still be dropped, and those behind it move.

use link::{Channel, Errors, Limit, Link, LowPriority, Priority, Purpose, Settings, stream};
use network::oracle::SlowNetwork;
use network::{Ecn, Fabric, LaneKind, LaneReport, LaneSpec, Network, NodeId, Packet, Topology};
use proptest::prelude::*;
use units::{Rate, Span, Time};

#[derive(Clone, Debug)]
struct Hop {
    rate_kbps: u32,
    delay_us: u32,
    limit: Limit,
    low_priority: LowPriority,
    per: f64,
}

/// When after the packet before, its bytes, and whether it is of low priority.
type Sending = (u32, u16, bool);

fn hop() -> impl Strategy<Value = Hop> {
    let limit = prop_oneof![
        (1u32..10).prop_map(Limit::Packets),
        (1000u64..10_000).prop_map(Limit::Bytes),
        Just(Limit::Unlimited),
    ];
    let rule = prop::sample::select(vec![
        LowPriority::Ignore,
        LowPriority::PushOut,
        LowPriority::PushOut,
        LowPriority::Refuse,
    ]);
    let per = prop_oneof![Just(0.0), Just(0.3)];
    let delay = prop_oneof![Just(0u32), Just(1000), 0u32..5000];
    // Round numbers on purpose: they make events coincide.
    (prop_oneof![Just(8000u32), 500u32..9000], delay, limit, rule, per).prop_map(
        |(rate_kbps, delay_us, limit, low_priority, per)| Hop {
            rate_kbps,
            delay_us,
            limit,
            low_priority,
            per,
        },
    )
}

fn sendings() -> impl Strategy<Value = Vec<Sending>> {
    let wait = prop_oneof![2 => Just(0u32), 1 => Just(1000), 2 => 0u32..3000];
    let bytes = prop_oneof![Just(1000u16), 40u16..1500];
    prop::collection::vec((wait, bytes, any::<bool>()), 1..150)
}

/// A chain of nodes with a lane from each to the next.
fn chain(hops: &[Hop]) -> (Topology, Vec<Channel>) {
    let channel = |(number, hop): (usize, &Hop)| {
        let errors = Errors::Packet { per: hop.per };
        Channel::new(errors, stream(1, Purpose::Channel, number as u64))
    };
    let channels: Vec<_> = hops.iter().enumerate().map(channel).collect();
    let lane = |(number, hop): (usize, &Hop)| LaneSpec {
        to: NodeId(number as u16 + 1),
        kind: LaneKind::Link,
        link: Link::new(
            Settings {
                rate: Rate::from_bits_per_second(u64::from(hop.rate_kbps) * 1000),
                delay: Span::from_nanos(u64::from(hop.delay_us) * 1000),
                limit: hop.limit,
                low_priority: hop.low_priority,
                marking: None,
                framing: 0,
            },
            channels[number].clone(),
        ),
    };
    let lanes = hops.iter().enumerate().map(lane).collect();
    let nodes = hops.len() + 1;
    let row = |from: usize| (0..nodes).map(|to| (to > from).then_some(from as u16)).collect();
    let routes = (0..nodes).map(row).collect();
    (Topology { lanes, routes, forwarding: vec![None; nodes] }, channels)
}

/// What comes out of the chain, and what its lanes report after each packet that goes in.
fn run(
    mut fabric: impl Fabric<u32>,
    last: NodeId,
    sendings: &[Sending],
) -> (Vec<(Time, u32)>, Vec<LaneReport>) {
    let (mut deliveries, mut reports) = (Vec::new(), Vec::new());
    let mut now = Time::ZERO;
    let mut deliver = |fabric: &mut dyn Fabric<u32>, until: Time| {
        while fabric.next_event() <= until && fabric.next_event() != Time::NEVER {
            deliveries.extend(fabric.advance().map(|out| (out.at, out.packet.body)));
        }
    };
    for (number, (wait, bytes, low)) in sendings.iter().enumerate() {
        now += Span::from_nanos(u64::from(*wait) * 1000);
        deliver(&mut fabric, now);
        let priority = if *low { Priority::Low } else { Priority::Normal };
        let packet =
            Packet { body: number as u32, to: last, bytes: *bytes, ecn: Ecn::NotCapable, priority };
        fabric.send(now, NodeId(0), packet);
        reports.extend(fabric.report(now));
    }
    deliver(&mut fabric, Time::NEVER);
    reports.extend(fabric.report(now + Span::from_secs(1000)));
    (deliveries, reports)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn both_engines_push_out_the_same_packets_and_deliver_the_rest_at_the_same_times(
        hops in prop::collection::vec(hop(), 1..4), sendings in sendings(),
    ) {
        let (topology, channels) = chain(&hops);
        let last = NodeId(hops.len() as u16);
        let fast = run(Network::new(topology.clone()), last, &sendings);
        let slow = run(SlowNetwork::new(topology, channels), last, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        for report in &fast.1[fast.1.len() - hops.len()..] {
            let counters = report.counters;
            let out = report.delivered_packets + counters.damaged_packets;
            prop_assert_eq!(out, counters.accepted_packets, "what was accepted came out");
        }
    }
}
