//! Open-loop runs: arrivals from a list go through a direction with active queue management.

use proptest::prelude::*;
use units::{Rate, Span, Time};

use super::*;
use crate::direction::{Direction, Settings};
use crate::priority::Priority;
use crate::queue::{AqmCounters, Ecn};
use crate::stream::Seed;

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub at: Time,
    pub flow: u32,
    pub bytes: u32,
    pub ecn: Ecn,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    Sent { delay: Span, ecn: Ecn },
    Dropped,
}

impl Outcome {
    pub fn delay(self) -> Option<Span> {
        match self {
            Self::Sent { delay, .. } => Some(delay),
            Self::Dropped => None,
        }
    }

    pub fn is_marked(self) -> bool {
        matches!(self, Self::Sent { ecn: Ecn::Marked, .. })
    }
}

pub(super) fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

pub(super) fn random() -> Xoshiro256PlusPlus {
    crate::stream::stream(1, crate::stream::Purpose::Queue, 0)
}

pub(super) fn surroundings(limit: QueueLimit) -> Surroundings {
    Surroundings { limit, rate: Rate::from_bits_per_second(8_000_000), random: random() }
}

pub(super) fn packet(ticket: u32, since: Time) -> Queued {
    let (priority, ecn) = (Priority::Normal, Ecn::NotCapable);
    Queued { ticket, flow: 0, bytes: 1000, unframed: 1000, priority, ecn, since }
}

/// Packets of 1000 bytes of one flow, one every `micros`, from 0 to before `until`.
pub(super) fn steady(micros: u64, until: Span, flow: u32, ecn: Ecn) -> Vec<Arrival> {
    let number = until.as_nanos() / 1000 / micros;
    (0..number).map(|n| Arrival { at: at(n * micros), flow, bytes: 1000, ecn }).collect()
}

/// Sends `arrivals` through a link of 8 Mbit/s, on which 1000 bytes take 1 ms.
pub(super) fn drive(
    aqm: Aqm,
    limit: QueueLimit,
    arrivals: &[Arrival],
) -> (Vec<Outcome>, AqmCounters) {
    let rate = Rate::from_bits_per_second(8_000_000);
    let settings = Settings { aqm: Some(aqm), queue: limit, ..Settings::new(rate, Span::ZERO) };
    let mut link = Direction::new(settings, &Seed::new(1), 0, Time::NEVER);
    let mut arrivals: Vec<_> = arrivals.to_vec();
    arrivals.sort_by_key(|arrival| arrival.at);
    let mut outcomes = vec![None; arrivals.len()];
    let mut waits = vec![Time::ZERO; arrivals.len()];
    let mut serve = |link: &mut Direction, now: Time, waits: &[Time]| {
        while let Some(served) = link.serve(now) {
            let crate::queue::Content::Packet(packet) = served.content else { panic!("no ARQ") };
            let ticket = packet.ticket as usize;
            let crate::direction::Fate::Arrives(left) = served.fate else { panic!("perfect") };
            let sending = Span::from_nanos(u64::from(packet.bytes) * 1000);
            let delay = left.since(waits[ticket] + sending);
            let before = outcomes[ticket].replace(Outcome::Sent { delay, ecn: packet.ecn });
            assert_eq!(before, None, "each packet leaves once");
        }
        while let Some(ticket) = link.take_dropped() {
            let before = outcomes[ticket as usize].replace(Outcome::Dropped);
            assert_eq!(before, None, "each packet leaves once");
        }
    };
    for (ticket, arrival) in (0..).zip(&arrivals) {
        let Arrival { at, flow, bytes, ecn } = *arrival;
        waits[ticket as usize] = at;
        serve(&mut link, at, &waits);
        let priority = Priority::Normal;
        link.enqueue(Queued { ticket, flow, bytes, unframed: bytes, priority, ecn, since: at });
        serve(&mut link, at, &waits);
    }
    let end = Time::from_nanos(u64::MAX / 4);
    serve(&mut link, end, &waits);
    assert_eq!(link.waiting(end), (0, 0));
    let outcomes = outcomes.into_iter().map(|one| one.expect("each packet leaves")).collect();
    (outcomes, link.counters(end).aqm.unwrap())
}

/// Share of the packets that were dropped.
pub(super) fn drop_rate(outcomes: &[Outcome]) -> f64 {
    let dropped = outcomes.iter().filter(|one| **one == Outcome::Dropped).count();
    dropped as f64 / outcomes.len() as f64
}

/// Mean queue delay of the packets that were sent, in milliseconds.
pub(super) fn mean_delay_ms(outcomes: &[Outcome]) -> f64 {
    let delays: Vec<_> = outcomes.iter().filter_map(|one| one.delay()).collect();
    delays.iter().map(|delay| delay.as_millis_f64()).sum::<f64>() / delays.len() as f64
}

#[test]
fn names_are_those_of_scenarios_and_stand_in_their_order() {
    let names = Aqm::all().map(|aqm| aqm.name());
    assert_eq!(names, ["codel", "dualpi2", "fq-codel", "pie", "red"]);
}

#[test]
fn no_algorithm_touches_a_queue_that_drains() {
    // One packet in 2 ms, on a link that sends one per millisecond.
    let arrivals = steady(2000, Span::from_secs(20), 0, Ecn::Capable);
    for aqm in Aqm::all() {
        let (outcomes, counters) = drive(aqm, QueueLimit::Packets(100), &arrivals);
        let expected = Outcome::Sent { delay: Span::ZERO, ecn: Ecn::Capable };
        assert!(outcomes.iter().all(|one| *one == expected), "{}", aqm.name());
        assert_eq!(counters.decisions, Decisions::default(), "{}", aqm.name());
        assert_eq!(counters.sent_packets, arrivals.len() as u64);
    }
}

#[test]
fn all_algorithms_keep_an_overloaded_queue_shorter_than_its_limit() {
    let arrivals = steady(800, Span::from_secs(60), 0, Ecn::NotCapable);
    for aqm in Aqm::all() {
        let (outcomes, counters) = drive(aqm, QueueLimit::Packets(10_000), &arrivals);
        let late = &outcomes[outcomes.len() / 2..];
        // CoDel takes long where no flow responds.
        assert!(mean_delay_ms(late) < 300.0, "{}: {} ms", aqm.name(), mean_delay_ms(late));
        // Four of five packets fit into the link.
        assert!((drop_rate(late) - 0.2).abs() < 0.02, "{}: {}", aqm.name(), drop_rate(late));
        let dropped = outcomes.iter().filter(|one| **one == Outcome::Dropped).count();
        assert_eq!(counters.decisions.dropped_packets, dropped as u64, "{}", aqm.name());
    }
}

/// RFC 8289 section 4.4: a queue that holds no more than a largest packet is good, however long it
/// waits.
#[test]
fn codel_spares_a_queue_of_one_packet_that_never_empties() {
    for aqm in [Aqm::Codel(CodelSettings::default()), Aqm::FqCodel(FqCodelSettings::default())] {
        let mut queue = AnyDiscipline::new(aqm, surroundings(QueueLimit::Unlimited));
        let mut dropped = Vec::new();
        queue.enqueue(packet(0, at(0)), true, &mut dropped);
        for round in 1..1000 {
            queue.enqueue(packet(round, at(u64::from(round) * 1000)), true, &mut dropped);
            let late = at(u64::from(round) * 1000 + 50_000);
            assert!(queue.dequeue(late, &mut dropped).is_some());
        }
        assert_eq!(dropped, [0; 0], "{}", aqm.name());
    }
}

/// The bytes of a limit are those of all packets that wait, and of no other.
#[test]
fn a_queue_with_a_limit_of_bytes_takes_packets_again_when_others_have_left() {
    for aqm in Aqm::all() {
        let mut queue = AnyDiscipline::new(aqm, surroundings(QueueLimit::Bytes(3000)));
        let mut dropped = Vec::new();
        for round in 0..20 {
            (0..3).for_each(|n| queue.enqueue(packet(3 * round + n, at(0)), true, &mut dropped));
            assert_eq!(queue.waiting(), (3, 3000), "{}", aqm.name());
            while queue.dequeue(at(0), &mut dropped).is_some() {}
        }
        assert_eq!(dropped, [0; 0], "{}", aqm.name());
    }
}

#[test]
fn only_packets_with_ecn_are_marked_and_marks_are_counted() {
    let mut arrivals = steady(900, Span::from_secs(30), 0, Ecn::NotCapable);
    arrivals.iter_mut().step_by(2).for_each(|arrival| arrival.ecn = Ecn::Capable);
    for aqm in Aqm::all() {
        let (outcomes, counters) = drive(aqm, QueueLimit::Packets(1000), &arrivals);
        let marked = outcomes.iter().filter(|one| one.is_marked()).count();
        assert!(marked > 0, "{}", aqm.name());
        assert_eq!(counters.decisions.marked_packets, marked as u64, "{}", aqm.name());
        let of_others = outcomes.iter().skip(1).step_by(2).filter(|one| one.is_marked());
        assert_eq!(of_others.count(), 0, "{}", aqm.name());
    }
}

#[test]
fn without_ecn_packets_are_dropped_that_could_be_marked() {
    let arrivals = steady(900, Span::from_secs(30), 0, Ecn::Capable);
    let without = [
        Aqm::Codel(CodelSettings { ecn: false, ..CodelSettings::default() }),
        Aqm::FqCodel(FqCodelSettings { ecn: false, ..FqCodelSettings::default() }),
        Aqm::Pie(PieSettings { ecn: false, ..PieSettings::default() }),
        Aqm::Red(RedSettings { ecn: false, ..RedSettings::default() }),
    ];
    for aqm in without {
        let (_, counters) = drive(aqm, QueueLimit::Packets(1000), &arrivals);
        assert_eq!(counters.decisions.marked_packets, 0, "{}", aqm.name());
        assert!(counters.decisions.dropped_packets > 0, "{}", aqm.name());
    }
}

#[test]
fn two_runs_with_one_seed_are_equal() {
    let arrivals = steady(700, Span::from_secs(10), 0, Ecn::NotCapable);
    for aqm in Aqm::all() {
        let runs = [0, 1].map(|_| drive(aqm, QueueLimit::Packets(200), &arrivals));
        assert_eq!(runs[0], runs[1], "{}", aqm.name());
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let ecn = prop::sample::select(vec![Ecn::NotCapable, Ecn::Capable, Ecn::Scalable, Ecn::Marked]);
    let one = (0u64..4000, 0u32..5, 40u32..1500, ecn);
    prop::collection::vec(one, 1..400).prop_map(|all| {
        let mut now = 0;
        let arrival = |(wait, flow, bytes, ecn)| {
            now += wait / 3;
            Arrival { at: at(now), flow, bytes, ecn }
        };
        all.into_iter().map(arrival).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The driver checks that each packet leaves once and that nothing is left.
    #[test]
    fn packets_are_sent_or_dropped_once_and_one_flow_keeps_its_order(
        arrivals in arrivals(), number in 0..Aqm::all().len(), limit in 1u32..50,
    ) {
        let aqm = Aqm::all()[number];
        let (outcomes, counters) = drive(aqm, QueueLimit::Packets(limit), &arrivals);
        let sent = outcomes.iter().filter(|one| one.delay().is_some()).count();
        prop_assert_eq!(counters.sent_packets, sent as u64);
        let mut last = std::collections::BTreeMap::new();
        for (arrival, outcome) in arrivals.iter().zip(&outcomes) {
            let Some(delay) = outcome.delay() else { continue };
            let is_scalable = matches!(arrival.ecn, Ecn::Scalable | Ecn::Marked);
            let leaves = arrival.at + delay;
            let before = last.insert((arrival.flow, is_scalable), leaves).unwrap_or(Time::ZERO);
            prop_assert!(before <= leaves, "{} reorders", aqm.name());
            prop_assert!(!outcome.is_marked() || arrival.ecn.is_capable());
        }
    }
}
