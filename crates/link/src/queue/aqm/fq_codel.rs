//! FQ-CoDel, flow queueing with CoDel (RFC 8290): packets are hashed into queues by flow, each
//! queue has its own CoDel, and the queues are served by deficit round robin.
//!
//! A queue that becomes active is a new one and is served before all old ones, for one quantum. So
//! a flow that sends less than its share waits for no other (section 4.2).
//!
//! Decisions:
//! - A flow is what a router sees as one: addresses, protocol and ports. The network hands in one
//!   number for them. The hash is that of the run's seed, so two flows may share a queue, as in a
//!   router.
//! - A packet that exceeds the limit drops half of the packets of the queue with the most bytes, at
//!   most 64, from its head (section 4.1). These are drops of a full queue and not of CoDel.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::{Bytes, Rate, Span, Time};

use super::codel::{Codel, CodelSettings};
use super::store::Store;
use super::{KEY, KIND, Surroundings};
use crate::mechanism::{Mechanism, Provenance};
use crate::queue::{Decisions, Discipline, QueueLimit, Queued};

/// Packets that a full queue drops from the longest flow, at most (RFC 8290 section 4.1).
const MOST_DROPPED_AT_ONCE: usize = 64;

pub(super) const ABOUT: Mechanism = Mechanism {
    name: "fq-codel",
    key: KEY,
    kind: KIND,
    source: "Hoeiland-Joergensen, McKenney, Taht, Gettys and Dumazet, The Flow Queue CoDel Packet Scheduler and Active Queue Management Algorithm, RFC 8290, 2018",
    status: Provenance::Published,
    hurts: "An RTT far above `interval`, as for CoDel. Tunnels and proxies that look like one flow share one queue, and delay-based controllers measure only their own queue.",
};

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct FqCodelSettings {
    /// Queue delay that may stay for an interval, in the queue of each flow.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub target: Span,
    /// Time for which the queue delay of a flow must exceed the target before its first drop: about
    /// the largest usual RTT. The default suits no geostationary link.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub interval: Span,
    /// Number of queues into which flows are hashed.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65_536)))]
    pub flows: u32,
    /// Bytes that a queue may send in its turn: about one packet. The default is an Ethernet frame.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1MB")))]
    pub quantum: Bytes,
    /// Mark packets of flows with ECN (RFC 3168) and drop only others.
    pub ecn: bool,
    /// Mark every ECN-capable packet that has waited longer than this. Default: none.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub ce_threshold: Option<Span>,
}

impl Default for FqCodelSettings {
    fn default() -> Self {
        let CodelSettings { target, interval, ecn, ce_threshold } = CodelSettings::default();
        Self { target, interval, flows: 1024, quantum: Bytes(1514), ecn, ce_threshold }
    }
}

impl FqCodelSettings {
    /// An empty queue outside of a link.
    pub fn queue(self, limit: QueueLimit, random: Xoshiro256PlusPlus) -> Box<dyn Discipline> {
        // The rate is that of algorithms which need it.
        let rate = Rate::from_bits_per_second(0);
        Box::new(FqCodelQueue::new(self, Surroundings { limit, rate, random }))
    }
}

/// The queue of one flow.
#[derive(Clone, Debug, Default)]
struct Flow {
    store: Store,
    codel: Codel,
    /// Bytes that it may still send.
    deficit: i64,
    is_active: bool,
}

/// The queues of all flows.
#[derive(Clone, Debug)]
pub(crate) struct FqCodelQueue {
    codel: CodelSettings,
    quantum: i64,
    limit: QueueLimit,
    /// Makes the hash another one for each seed.
    perturbation: u64,
    flows: Vec<Flow>,
    /// Numbers of queues that have become active and are served first.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: usize,
    bytes: u64,
    decisions: Decisions,
}

impl FqCodelQueue {
    pub(super) fn new(settings: FqCodelSettings, mut surroundings: Surroundings) -> Self {
        let FqCodelSettings { target, interval, flows, quantum, ecn, ce_threshold } = settings;
        Self {
            codel: CodelSettings { target, interval, ecn, ce_threshold },
            quantum: i64::try_from(quantum.get()).unwrap_or(i64::MAX),
            limit: surroundings.limit,
            perturbation: surroundings.random.next_u64(),
            flows: vec![Flow::default(); flows as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            decisions: Decisions::default(),
        }
    }

    /// The number of the queue for packets of `flow`.
    fn classify(&self, flow: u32) -> u32 {
        let mixed = crate::stream::mix(self.perturbation ^ u64::from(flow));
        let queues = self.flows.len() as u64;
        #[expect(clippy::cast_possible_truncation, reason = "less than the number of queues")]
        let number = ((u128::from(mixed) * u128::from(queues)) >> 64) as u32;
        number
    }

    /// The queue is full: the flow with the most bytes loses half of its packets.
    fn drop_from_longest(&mut self, dropped: &mut Vec<u32>) {
        let Some(longest) = self.flows.iter_mut().max_by_key(|flow| flow.store.bytes()) else {
            return;
        };
        let number = longest.store.len().div_ceil(2).min(MOST_DROPPED_AT_ONCE);
        for packet in std::iter::from_fn(|| longest.store.pop()).take(number) {
            self.packets -= 1;
            self.bytes -= u64::from(packet.bytes);
            dropped.push(packet.ticket);
        }
    }
}

impl Discipline for FqCodelQueue {
    fn enqueue(&mut self, packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        let is_full = waits && self.limit.is_full((self.packets, self.bytes), packet.bytes);
        let number = self.classify(packet.flow);
        let flow = &mut self.flows[number as usize];
        flow.codel.note(&packet);
        flow.store.push(packet);
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        if !flow.is_active {
            flow.is_active = true;
            flow.deficit = self.quantum;
            self.new.push_back(number);
        }
        if is_full {
            self.drop_from_longest(dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<u32>) -> Option<Queued> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = &mut self.flows[number as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = (flow.store.len(), flow.store.bytes());
            let Flow { store, codel, .. } = flow;
            let sent = codel.dequeue(&self.codel, store, now, &mut self.decisions, dropped);
            self.packets -= before.0 - store.len();
            self.bytes -= before.1 - store.bytes();
            let Some(packet) = sent else {
                list.pop_front();
                // A new queue that is empty becomes an old one, so that a flow cannot gain by
                // pausing for an instant (section 4.2).
                if is_new && !self.old.is_empty() {
                    self.old.push_back(number);
                } else {
                    flow.is_active = false;
                }
                continue;
            };
            flow.deficit -= i64::from(packet.bytes);
            return Some(packet);
        }
    }

    fn remove(&mut self, ticket: u32, flow: u32) -> Option<Queued> {
        let number = self.classify(flow);
        let packet = self.flows[number as usize].store.remove(ticket)?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    fn waiting(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    fn decisions(&self) -> Decisions {
        self.decisions
    }

    fn boxed_clone(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Arrival, Outcome, at, drive, packet, random, steady, surroundings};
    use super::*;
    use crate::queue::Ecn;
    use crate::queue::aqm::Aqm;

    fn queue(limit: QueueLimit) -> FqCodelQueue {
        FqCodelQueue::new(FqCodelSettings::default(), surroundings(limit))
    }

    fn of_flow(flow: u32, bytes: u32, ticket: u32) -> Queued {
        Queued { flow, bytes, ..packet(ticket, Time::ZERO) }
    }

    #[test]
    fn two_flows_get_the_same_bytes_whatever_the_size_of_their_packets() {
        let mut queue = queue(QueueLimit::Unlimited);
        let none = &mut Vec::new();
        (0..1000).for_each(|ticket| queue.enqueue(of_flow(1, 1500, ticket), true, none));
        (0..5000).for_each(|ticket| queue.enqueue(of_flow(2, 300, ticket), true, none));
        let mut bytes = [0, 0];
        for _ in 0..1200 {
            let sent = queue.dequeue(at(0), none).unwrap();
            bytes[sent.flow as usize - 1] += sent.bytes;
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 1514, "{bytes:?}");
    }

    #[test]
    fn a_flow_that_sends_less_than_its_share_waits_for_one_packet_at_most() {
        // The queue of the first flow stands; the second sends a packet in 100 ms.
        let mut arrivals = steady(900, Span::from_secs(20), 1, Ecn::NotCapable);
        let sparse = (1..199).map(|n| Arrival {
            at: at(n * 100_250),
            flow: 2,
            bytes: 100,
            ecn: Ecn::NotCapable,
        });
        arrivals.extend(sparse);
        arrivals.sort_by_key(|arrival| arrival.at);
        let aqm = Aqm::FqCodel(FqCodelSettings::default());
        let (outcomes, _) = drive(aqm, QueueLimit::Packets(1000), &arrivals);
        let of = |flow: u32| {
            let all = arrivals.iter().zip(&outcomes).filter(move |(one, _)| one.flow == flow);
            all.map(|(_, outcome)| *outcome)
        };
        let longest = |flow: u32| of(flow).filter_map(Outcome::delay).max();
        assert!(of(2).all(|outcome| outcome != Outcome::Dropped));
        assert!(longest(2) <= Some(Span::from_millis(1)), "{:?}", longest(2));
        assert!(longest(1) > Some(Span::from_millis(20)), "{:?}", longest(1));
    }

    #[test]
    fn a_full_queue_takes_from_the_flow_with_the_most_bytes_and_from_its_head() {
        let mut queue = queue(QueueLimit::Packets(20));
        let mut dropped = Vec::new();
        (0..4).for_each(|ticket| queue.enqueue(of_flow(1, 1000, ticket), true, &mut dropped));
        (4..20).for_each(|ticket| queue.enqueue(of_flow(2, 1000, ticket), true, &mut dropped));
        assert!(dropped.is_empty());
        queue.enqueue(of_flow(1, 1000, 20), true, &mut dropped);
        assert_eq!(dropped, [4, 5, 6, 7, 8, 9, 10, 11], "half of the sixteen");
        assert_eq!(queue.waiting(), (13, 13_000));
        assert_eq!(queue.decisions(), Decisions::default());
    }

    #[test]
    fn at_most_64_packets_are_dropped_at_once() {
        let mut queue = queue(QueueLimit::Packets(500));
        let mut dropped = Vec::new();
        (0..501).for_each(|ticket| queue.enqueue(of_flow(1, 1000, ticket), true, &mut dropped));
        assert_eq!(dropped.len(), 64);
    }

    #[test]
    fn a_new_flow_that_has_sent_all_takes_its_turn_among_the_old_ones() {
        let mut queue = queue(QueueLimit::Unlimited);
        let none = &mut Vec::new();
        for flow in [1, 3, 4] {
            (0..10).for_each(|ticket| queue.enqueue(of_flow(flow, 1500, ticket), true, none));
        }
        (0..9).for_each(|_| assert!(queue.dequeue(at(0), none).is_some()));
        queue.enqueue(of_flow(2, 1500, 90), true, none);
        assert_eq!(queue.dequeue(at(0), none).unwrap().flow, 2, "a new flow is first");
        queue.dequeue(at(0), none);
        queue.enqueue(of_flow(2, 1500, 91), true, none);
        assert_ne!(queue.dequeue(at(0), none).unwrap().flow, 2, "and is no new one soon after");
    }

    #[test]
    fn flows_are_spread_over_all_queues_and_the_seed_changes_how() {
        let one = queue(QueueLimit::Unlimited);
        let mut other = surroundings(QueueLimit::Unlimited);
        other.random = random();
        other.random.next_u64();
        let other = FqCodelQueue::new(FqCodelSettings::default(), other);
        let numbers =
            |queue: &FqCodelQueue| (0..100).map(|f| queue.classify(f)).collect::<Vec<_>>();
        assert_ne!(numbers(&one), numbers(&other));
        let distinct: std::collections::BTreeSet<_> = numbers(&one).into_iter().collect();
        assert!(distinct.len() > 85, "{}", distinct.len());
    }

    /// RFC 8290 section 4.1: most bytes, and not most packets.
    #[test]
    fn a_flow_of_many_small_packets_is_not_the_longest() {
        let mut queue = queue(QueueLimit::Packets(35));
        let mut dropped = Vec::new();
        (0..30).for_each(|ticket| queue.enqueue(of_flow(1, 100, ticket), true, &mut dropped));
        (30..35).for_each(|ticket| queue.enqueue(of_flow(2, 1500, ticket), true, &mut dropped));
        queue.enqueue(of_flow(1, 100, 35), true, &mut dropped);
        assert_eq!(dropped, [30, 31, 32]);
    }

    /// RFC 8290 section 4.2: a turn is one quantum, and the packet that exceeds it.
    #[test]
    fn a_turn_ends_with_its_quantum() {
        let mut queue = queue(QueueLimit::Unlimited);
        let none = &mut Vec::new();
        for flow in [1, 2] {
            (0..100).for_each(|ticket| queue.enqueue(of_flow(flow, 300, ticket), true, none));
        }
        let flows: Vec<_> = (0..120).map(|_| queue.dequeue(at(0), none).unwrap().flow).collect();
        let turns: Vec<_> = flows.chunk_by(|a, b| a == b).map(<[u32]>::len).collect();
        let whole = &turns[..turns.len() - 1];
        assert!(whole.iter().all(|packets| (5..=6).contains(packets)), "{turns:?}");
    }
}
