//! Queues that decide at dequeue, through the network: a FIFO written as a discipline gives what
//! the FIFO with computed departures gives, packet by packet.

use std::collections::VecDeque;

use generate::{RandomDirection, changing, managed};
use link::{
    AqmCounters, Counters, Direction, Discipline, Ecn, LowPriority, Priority, QueueLimit, Queued,
    Seed, Settings,
};
use network::{Fabric, Network, NodeId, Packet, PortKind, PortReport, PortSpec, Topology};
use proptest::prelude::*;
use units::{Rate, Span, Time};

use super::{cases, chain, run, run_both, sendings};

/// Bytes of a packet that is not exceeded, overhead included.
const LONGEST: f64 = 1600.0;

/// Drop-tail, first in, first out.
#[derive(Clone, Debug)]
struct DropTail {
    limit: QueueLimit,
    low_priority: LowPriority,
    queue: VecDeque<Queued>,
}

impl DropTail {
    fn admits(&self, packet: &Queued) -> bool {
        let (packets, bytes) = self.waiting();
        let (has_room, is_quiet) = match self.limit {
            QueueLimit::Packets(limit) => (packets < limit as usize, packets <= 1),
            QueueLimit::Bytes(limit) => (bytes + u64::from(packet.bytes) <= limit, bytes <= 2000),
            QueueLimit::Unlimited => (true, packets <= 1),
        };
        let refuses = self.low_priority == LowPriority::Refuse;
        has_room && (is_quiet || !refuses || packet.priority == Priority::Normal)
    }
}

impl Discipline for DropTail {
    fn enqueue(&mut self, packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        if waits && !self.admits(&packet) {
            dropped.push(packet.ticket);
        } else {
            self.queue.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<u32>) -> Option<Queued> {
        let packet = self.queue.pop_front()?;
        assert!(packet.since <= now, "sent before it came");
        Some(packet)
    }

    fn waiting(&self) -> (usize, u64) {
        (self.queue.len(), self.queue.iter().map(|packet| u64::from(packet.bytes)).sum())
    }

    fn boxed_clone(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

/// The network of `hops`; where `scheduled` says so, the queue is a discipline.
fn with_disciplines(hops: &[RandomDirection], scheduled: &[bool]) -> Network<u32> {
    let mut topology = chain(hops);
    for ((port, hop), scheduled) in topology.ports.iter_mut().zip(hops).zip(scheduled) {
        if *scheduled {
            let RandomDirection { limit, low_priority, .. } = *hop;
            let discipline = DropTail { limit, low_priority, queue: VecDeque::new() };
            port.direction = port.direction.clone().with_discipline(Box::new(discipline));
        }
    }
    Network::new(topology)
}

/// Packets of 1 ms that all wait for each other, over a delay of 20 ms: besides an event for each
/// arrival there is one at the start of each 20 ms at most, and not one for each start of a
/// transmission.
#[test]
fn starts_of_transmissions_have_no_events_of_their_own() {
    let (packets, rate) = (1000, Rate::from_bits_per_second(8_000_000));
    let settings = Settings::new(rate, Span::from_millis(20));
    let direction = Direction::new(settings, &Seed::new(1), 0, Time::NEVER).deciding_at_dequeue();
    let port = PortSpec { to: NodeId(1), kind: PortKind::Link, direction, reverse: None };
    let routes = vec![vec![None, Some(0)], vec![None; 2]];
    let mut network = Network::new(Topology {
        ports: vec![port],
        routes,
        addresses: Vec::new(),
        forwarding: vec![None; 2],
    });
    for body in 0..packets {
        let (priority, ecn) = (Priority::Normal, Ecn::NotCapable);
        let packet = Packet { body, flow: 0, to: NodeId(1), bytes: 1000, priority, ecn };
        network.send(Time::ZERO, NodeId(0), packet);
    }
    let (mut events, mut arrivals) = (0, Vec::new());
    while network.next_event() != Time::NEVER {
        events += 1;
        arrivals.extend(network.advance().map(|out| (out.at, out.packet.body)));
    }
    let expected = |body: u32| (Time::ZERO + Span::from_millis(u64::from(body) + 21), body);
    assert_eq!(arrivals, (0..packets).map(expected).collect::<Vec<_>>());
    assert!(events <= packets + packets / 19, "{events} events");
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_fifo_that_decides_at_dequeue_is_the_one_with_computed_departures(
        hops in prop::collection::vec(changing(), 1..4), sendings in sendings(),
        scheduled in prop::array::uniform4(any::<bool>()),
    ) {
        let [computed, _] = run_both(&hops, &sendings);
        let network = with_disciplines(&hops, &scheduled);
        let decided = run(network, NodeId(hops.len() as u16), &sendings);
        prop_assert_eq!(&computed.0, &decided.0);
        // A FIFO with computed departures keeps no account of queue delays.
        let counted = |report: &PortReport| {
            let counters = Counters { aqm: None, ..report.counters };
            PortReport { counters, ..*report }
        };
        let queues = decided.2;
        let decided: Vec<_> = decided.1.iter().map(counted).collect();
        prop_assert_eq!(&computed.1, &decided);
        for (computed, decided) in computed.2.iter().zip(&queues) {
            prop_assert_eq!(&computed.queueing.delay, &decided.queueing.delay);
            prop_assert_eq!(computed.unqueued_packets, decided.unqueued_packets);
            if let (Some(computed), Some(decided)) = (computed.bytes(), decided.bytes()) {
                prop_assert_eq!(computed.max, decided.max);
                prop_assert!((computed.mean - decided.mean).abs() <= LONGEST, "{computed:?} {decided:?}");
            }
        }
    }

    #[test]
    fn both_engines_drop_mark_and_deliver_the_same_packets_with_active_queue_management(
        hops in prop::collection::vec(prop_oneof![managed(), changing()], 1..4),
        sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
        for report in &fast.1[fast.1.len() - hops.len()..] {
            let counters = report.counters;
            let out = report.delivered_packets + counters.corrupted_packets;
            prop_assert_eq!(out, counters.accepted_packets, "what was accepted came out");
            if let Some(AqmCounters { decisions, sent_packets, .. }) = counters.aqm {
                prop_assert!(decisions.dropped_packets <= counters.dropped_packets);
                prop_assert_eq!(sent_packets, counters.accepted_packets);
            }
        }
    }
}
