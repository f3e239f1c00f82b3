//! ARQ: both engines carry the same frames, and what is sent comes out.

use std::collections::BTreeSet;

use generate::{RandomDirection, changing, managed, prioritised, repeating};
use link::{Direction, Seed};
use network::reference::ReferenceNetwork;
use network::{
    Ecn, Fabric, Network, NodeId, Packet, PortKind, PortReport, PortSpec, QueueReport, Topology,
};
use proptest::prelude::*;
use units::{Span, Time};

use super::{Sending, cases, sendings};
use generate::micros;
use link::Priority;

/// A chain of links with two directions each: port `2 n` leads to the right, `2 n + 1` back.
fn chain(hops: &[[RandomDirection; 2]]) -> Topology {
    let mut ports = Vec::new();
    for (number, sides) in hops.iter().enumerate() {
        let settings = sides.each_ref().map(RandomDirection::settings);
        let is_repeating = settings.iter().any(|side| side.arq.is_some());
        for (side, settings) in settings.into_iter().enumerate() {
            let port = 2 * number + side;
            let mut direction = Direction::new(settings, &Seed::new(1), port as u64, Time::NEVER);
            if is_repeating {
                direction = direction.deciding_at_dequeue();
            }
            let to = NodeId((number + 1 - side) as u16);
            let reverse = Some((port ^ 1) as u16);
            ports.push(PortSpec { to, kind: PortKind::Link, direction, reverse });
        }
    }
    let nodes = hops.len() + 1;
    let port = |from: usize, to: usize| match from.cmp(&to) {
        std::cmp::Ordering::Less => Some(2 * from as u16),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(2 * from as u16 - 1),
    };
    let routes = (0..nodes).map(|from| (0..nodes).map(|to| port(from, to)).collect()).collect();
    Topology { ports, routes, addresses: Vec::new(), forwarding: vec![None; nodes] }
}

pub(super) type Outcome = (Vec<(Time, u32, Ecn)>, Vec<PortReport>, Vec<QueueReport>);

/// Packets with an even number go to the right, and every third with an odd number back.
pub(super) fn is_back(number: usize) -> bool {
    number % 6 == 1 || number % 6 == 3
}

fn run(mut fabric: impl Fabric<u32>, nodes: usize, sendings: &[Sending]) -> Outcome {
    let (mut deliveries, mut reports, mut queues) = (Vec::new(), Vec::new(), Vec::new());
    let mut now = Time::ZERO;
    let mut deliver = |fabric: &mut dyn Fabric<u32>, until: Time| {
        while fabric.next_event() <= until && fabric.next_event() != Time::NEVER {
            let out = fabric.advance();
            deliveries.extend(out.map(|out| (out.at, out.packet.body, out.packet.ecn)));
        }
    };
    for (number, (wait, bytes, low)) in sendings.iter().enumerate() {
        now += micros(*wait);
        deliver(&mut fabric, now);
        let priority = if *low { Priority::Low } else { Priority::Normal };
        let (body, flow) = (number as u32, number as u32 % 3);
        let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Scalable][number % 7 % 3];
        let ends = [NodeId(0), NodeId(nodes as u16 - 1)];
        let [from, to] = if is_back(number) { [ends[1], ends[0]] } else { ends };
        let packet = Packet { body, flow, to, bytes: *bytes, ecn, priority };
        fabric.send(now, from, packet);
        reports.extend(fabric.report(now));
        queues.extend(fabric.queue_reports(now));
    }
    let end = now + Span::from_secs(1000);
    deliver(&mut fabric, end);
    reports.extend(fabric.report(end));
    queues.extend(fabric.queue_reports(end));
    (deliveries, reports, queues)
}

pub(super) fn run_both(hops: &[[RandomDirection; 2]], sendings: &[Sending]) -> [Outcome; 2] {
    let (topology, nodes) = (chain(hops), hops.len() + 1);
    let fast = run(Network::new(topology.clone()), nodes, sendings);
    [fast, run(ReferenceNetwork::new(topology), nodes, sendings)]
}

/// A hop of these two directions, in any order.
pub(super) fn hop_of(
    own: impl Strategy<Value = RandomDirection>,
    other: impl Strategy<Value = RandomDirection>,
) -> impl Strategy<Value = [RandomDirection; 2]> {
    (own, other, any::<bool>())
        .prop_map(|(first, second, turned)| if turned { [second, first] } else { [first, second] })
}

fn hop() -> impl Strategy<Value = [RandomDirection; 2]> {
    hop_of(repeating(), prop_oneof![repeating(), changing(), managed(), prioritised()])
}

/// Returns true if the queue of a direction keeps the order of packets.
pub(super) fn is_fifo(direction: &RandomDirection) -> bool {
    !matches!(direction.aqm, Some(link::Aqm::FqCodel(_) | link::Aqm::DualPi2(_)))
}

/// The packets that came out of a direction, in the order of their arrival. None comes out twice.
pub(super) fn out_of(side: usize, out: &[(Time, u32, Ecn)]) -> Vec<u32> {
    let is_mine = |body: &u32| is_back(*body as usize) == (side == 1);
    let bodies: Vec<_> = out.iter().map(|(_, body, _)| *body).filter(is_mine).collect();
    let different: BTreeSet<_> = bodies.iter().collect();
    assert_eq!(different.len(), bodies.len(), "a packet came out twice");
    bodies
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn both_engines_repeat_the_same_frames(
        hops in prop::collection::vec(hop(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
    }

    #[test]
    fn what_is_accepted_and_not_given_up_comes_out_once_and_in_order(
        hop in hop(), sendings in sendings(),
    ) {
        let hops = [hop];
        let (out, reports, _) = run(Network::new(chain(&hops)), 2, &sendings);
        for (side, direction) in hops[0].iter().enumerate() {
            let Some(arq) = direction.arq else { continue };
            let bodies = out_of(side, &out);
            let in_order = arq.repeat != link::Repeat::Selective { in_order: false };
            prop_assert!(!in_order || !is_fifo(direction) || bodies.is_sorted());
            let report = &reports[reports.len() - 2 + side];
            let counters = report.counters.arq.unwrap();
            let accepted = report.counters.accepted_packets;
            let (waiting, lost) = (report.waiting_packets as u64, counters.given_up_packets);
            prop_assert_eq!(waiting, 0, "the window opened again");
            prop_assert!(report.delivered_packets <= accepted);
            // The last repeat of a packet that was given up may arrive after all.
            prop_assert!(report.delivered_packets + lost >= accepted);
            prop_assert_eq!(counters.frames, accepted);
        }
    }
}
