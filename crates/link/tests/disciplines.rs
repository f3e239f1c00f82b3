//! A direction whose queue is a discipline: what it is handed, when it is served, and what is
//! counted.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::collections::VecDeque;

use link::{
    Change, Content, Direction, Discipline, Ecn, Errors, Fate, Framing, Priority, Queued, Seed,
    Served, Settings, Timeline,
};
use units::{Rate, Span, Time};

/// First in, first out. It drops what finds `most` packets waiting, and what has waited for longer
/// than `longest` when its turn comes.
#[derive(Clone, Debug)]
struct Fifo {
    packets: VecDeque<Queued>,
    most: usize,
    longest: Span,
}

impl Discipline for Fifo {
    fn enqueue(&mut self, packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        if waits && self.packets.len() >= self.most {
            dropped.push(packet.ticket);
        } else {
            self.packets.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<u32>) -> Option<Queued> {
        while let Some(packet) = self.packets.pop_front() {
            if now.since(packet.since) <= self.longest {
                return Some(packet);
            }
            dropped.push(packet.ticket);
        }
        None
    }

    fn waiting(&self) -> (usize, u64) {
        let bytes = self.packets.iter().map(|packet| u64::from(packet.bytes)).sum();
        (self.packets.len(), bytes)
    }

    fn boxed_clone(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

/// 1000 bytes take 1 ms; the delay is 10 ms.
fn settings() -> Settings {
    Settings::new(Rate::from_bits_per_second(8_000_000), Span::from_millis(10))
}

fn link(settings: Settings, most: usize, longest: Span) -> Direction {
    let fifo = Fifo { packets: VecDeque::new(), most, longest };
    Direction::new(settings, &Seed::new(1), 0, Time::NEVER).with_discipline(Box::new(fifo))
}

fn patient(settings: Settings) -> Direction {
    link(settings, usize::MAX, Span::from_secs(1000))
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn enqueue(link: &mut Direction, now: Time, ticket: u32) {
    let (priority, ecn) = (Priority::Normal, Ecn::default());
    link.enqueue(Queued {
        ticket,
        flow: 0,
        bytes: 1000,
        unframed: 1000,
        priority,
        ecn,
        since: now,
    });
}

/// All that is sent until `now`: tickets and fates.
fn served(link: &mut Direction, now: Time) -> Vec<(u32, Fate)> {
    std::iter::from_fn(|| link.serve(now))
        .map(|Served { content, fate }| match content {
            Content::Packet(packet) => (packet.ticket, fate),
            other => panic!("no ARQ: {other:?}"),
        })
        .collect()
}

#[test]
fn packets_are_served_one_after_the_other_each_when_its_time_has_come() {
    let mut link = patient(settings());
    enqueue(&mut link, at(5), 0);
    assert_eq!(served(&mut link, at(5)), [(0, Fate::Arrives(at(16)))]);
    enqueue(&mut link, at(5), 1);
    enqueue(&mut link, at(5), 2);
    assert_eq!(served(&mut link, at(5)), []);
    assert_eq!(link.next_service(), at(6));
    assert_eq!(link.waiting(at(5)), (2, 2000));
    assert_eq!(served(&mut link, at(6)), [(1, Fate::Arrives(at(17)))]);
    assert_eq!(link.next_service(), at(7));
    assert_eq!(served(&mut link, at(9)), [(2, Fate::Arrives(at(18)))], "its turn was at 7 ms");
    assert_eq!(link.next_service(), Time::NEVER, "nothing waits");
    assert_eq!(link.waiting(at(9)), (0, 0));
    assert_eq!(link.busy_until(at(100)), Span::from_millis(3));
    let counters = link.counters(at(100));
    assert_eq!((counters.accepted_packets, counters.max_waiting_bytes), (3, 2000));
}

#[test]
fn a_packet_for_a_free_transmitter_does_not_wait_and_others_do() {
    let mut link = link(settings(), 0, Span::from_secs(1));
    enqueue(&mut link, at(0), 0);
    assert_eq!(served(&mut link, at(0)), [(0, Fate::Arrives(at(11)))]);
    enqueue(&mut link, at(0), 1);
    assert_eq!(link.take_dropped(), Some(1), "no room to wait");
    assert_eq!(link.take_dropped(), None, "each once");
    enqueue(&mut link, at(1), 2);
    assert_eq!(served(&mut link, at(1)), [(2, Fate::Arrives(at(12)))], "just free again");
    let counters = link.counters(at(100));
    assert_eq!((counters.accepted_packets, counters.dropped_packets), (2, 1));
    assert_eq!(counters.max_waiting_bytes, 0);
}

#[test]
fn what_a_discipline_drops_when_its_turn_comes_was_never_sent() {
    let mut link = link(settings(), usize::MAX, Span::from_millis(2));
    enqueue(&mut link, at(0), 0);
    let mut sent = served(&mut link, at(0));
    (1..5).for_each(|ticket| enqueue(&mut link, at(0), ticket));
    sent.extend(served(&mut link, at(100)));
    let sent: Vec<_> = sent.into_iter().map(|(ticket, _)| ticket).collect();
    assert_eq!(sent, [0, 1, 2]);
    let mut dropped: Vec<_> = std::iter::from_fn(|| link.take_dropped()).collect();
    dropped.sort_unstable();
    assert_eq!(dropped, [3, 4]);
    let counters = link.counters(at(100));
    assert_eq!((counters.accepted_packets, counters.dropped_packets), (3, 2));
    assert_eq!(link.busy_until(at(100)), Span::from_millis(3));
    assert_eq!(link.next_service(), Time::NEVER);
}

#[test]
fn packets_dropped_one_after_the_other_count_once_each_whenever_their_tickets_are_taken() {
    let mut full = link(settings(), 1, Span::from_secs(1));
    enqueue(&mut full, at(0), 0);
    served(&mut full, at(0));
    (1..5).for_each(|ticket| enqueue(&mut full, at(0), ticket));
    assert_eq!(full.counters(at(0)).dropped_packets, 3, "when they come");
    let mut slow = link(settings(), usize::MAX, Span::ZERO);
    for round in 0..3 {
        enqueue(&mut slow, at(10 * round), 0);
        served(&mut slow, at(10 * round));
        enqueue(&mut slow, at(10 * round), 1);
        served(&mut slow, at(10 * round + 5));
    }
    let counters = slow.counters(at(100));
    assert_eq!((counters.accepted_packets, counters.dropped_packets), (3, 3), "at their turn");
}

#[test]
fn the_discipline_sees_bytes_with_overhead_and_the_channel_without() {
    let per = |bytes| Errors::BitErrors { ber: 0.5, ecc_threshold: 0.0 }.packet_error_rate(bytes);
    assert_eq!((per(0), per(1000)), (0.0, 1.0), "so that the channel tells them apart");
    let channel = Errors::BitErrors { ber: 0.5, ecc_threshold: 0.0 };
    let mut link = patient(Settings { framing: Framing::overhead(1000), channel, ..settings() });
    let (priority, ecn) = (Priority::Normal, Ecn::default());
    let empty =
        |ticket| Queued { ticket, flow: 0, bytes: 0, unframed: 0, priority, ecn, since: at(0) };
    link.enqueue(empty(0));
    assert_eq!(served(&mut link, at(0)), [(0, Fate::Arrives(at(11)))]);
    (1..3).for_each(|ticket| link.enqueue(empty(ticket)));
    assert_eq!(link.waiting(at(0)), (2, 2000));
    assert_eq!(link.counters(at(0)).max_waiting_bytes, 2000);
}

#[test]
fn corrupted_packets_of_a_discipline_are_counted_when_they_arrive() {
    let mut link = patient(Settings { channel: Errors::PacketErrors { per: 1.0 }, ..settings() });
    enqueue(&mut link, at(0), 0);
    assert_eq!(served(&mut link, at(0)), [(0, Fate::Corrupted(at(11)))]);
    let counts = [10, 11].map(|millis| link.counters(at(millis)).corrupted_packets);
    assert_eq!(counts, [0, 1]);
}

#[test]
fn changes_hold_for_what_a_discipline_sends_after_them() {
    let outage = Some(Span::from_millis(8));
    let change = |at, rate, delay, outage| {
        let at = Span::from_millis(at);
        Change { at, every: None, rate, delay, outage, loss: None }
    };
    let slower = change(1, Some(Rate::from_bits_per_second(4_000_000)), None, outage);
    let longer = change(5, None, Some(Span::from_millis(30)), None);
    let timeline = Timeline::new(vec![slower, longer]);
    let mut link = patient(Settings { timeline, ..settings() });
    enqueue(&mut link, at(0), 0);
    assert_eq!(served(&mut link, at(0)), [(0, Fate::Arrives(at(11)))]);
    enqueue(&mut link, at(0), 1);
    assert_eq!(served(&mut link, at(8)), [], "an outage until 9 ms");
    assert_eq!(served(&mut link, at(9)), [(1, Fate::Arrives(at(41)))]);
}

#[test]
fn only_a_direction_with_a_discipline_is_scheduled() {
    let mut plain = Direction::new(settings(), &Seed::new(1), 0, Time::NEVER);
    assert!(!plain.is_scheduled() && patient(settings()).is_scheduled());
    assert_eq!((plain.next_service(), plain.take_dropped()), (Time::NEVER, None));
    assert_eq!(plain.serve(at(100)), None);
    assert_eq!(patient(settings()).offer(at(0), 1000, Priority::Normal), Fate::Scheduled);
}
