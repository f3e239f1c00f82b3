//! Fates of packets that are offered to a direction.

use units::Rate;

use super::*;
use crate::channel::Errors;
use crate::dynamics::{Change, Timeline};
use crate::framing::Framing;
use crate::propagation::Jitter;
use crate::queue::{LowPriority, Marking, QueueLimit};

/// 1000 bytes take 1 ms; the delay is 10 ms.
fn settings() -> Settings {
    Settings::new(Rate::from_bits_per_second(8_000_000), Span::from_millis(10))
}

fn made(settings: Settings) -> Direction {
    Direction::new(settings, &Seed::new(1), 0, Time::NEVER)
}

fn link(queue: QueueLimit, channel: Errors) -> Direction {
    link_with(queue, channel, LowPriority::Ignore)
}

fn link_with(queue: QueueLimit, channel: Errors, low_priority: LowPriority) -> Direction {
    made(Settings { queue, low_priority, channel, ..settings() })
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Offers a packet and pushes out what has to make room for it.
fn offer(link: &mut Direction, now: Time, bytes: u32) -> Fate {
    let fate = link.offer(now, bytes, Priority::Normal);
    if fate == Fate::PushesOut {
        while link.push_out(bytes).is_some() {}
        return link.offer_again(now, bytes, Priority::Normal);
    }
    fate
}

fn offer_low(link: &mut Direction, now: Time, bytes: u32) -> Fate {
    link.offer(now, bytes, Priority::Low)
}

#[test]
fn a_packet_arrives_after_serialisation_and_delay() {
    let mut link = link(QueueLimit::Unlimited, Errors::Perfect);
    assert_eq!(offer(&mut link, at(5), 1000), Fate::Arrives(at(16)));
}

#[test]
fn packets_leave_one_after_the_other() {
    let mut link = link(QueueLimit::Unlimited, Errors::Perfect);
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Arrives(at(11)));
    assert_eq!(offer(&mut link, at(0), 2000), Fate::Arrives(at(13)));
    assert_eq!(offer(&mut link, at(1), 1000), Fate::Arrives(at(14)));
    assert_eq!(link.waiting(at(1)), (1, 1000));
}

#[test]
fn a_queue_of_two_packets_holds_two_beside_the_one_being_sent() {
    let mut link = link(QueueLimit::Packets(2), Errors::Perfect);
    let fates: Vec<_> = (0..4).map(|_| offer(&mut link, at(0), 1000)).collect();
    assert_eq!(fates[2], Fate::Arrives(at(13)));
    assert_eq!(fates[3], Fate::Dropped);
    assert_ne!(offer(&mut link, at(1), 1000), Fate::Dropped);
}

#[test]
fn a_queue_in_bytes_counts_bytes() {
    let mut link = link(QueueLimit::Bytes(1500), Errors::Perfect);
    offer(&mut link, at(0), 1000);
    assert_ne!(offer(&mut link, at(0), 1000), Fate::Dropped);
    assert_eq!(offer(&mut link, at(0), 501), Fate::Dropped);
    assert_ne!(offer(&mut link, at(0), 500), Fate::Dropped);
    assert_eq!(link.counters(Time::ZERO).max_waiting_bytes, 1500);
}

#[test]
fn overhead_takes_time_on_the_link() {
    let mut link = made(Settings { framing: Framing::overhead(1000), ..settings() });
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Arrives(at(12)));
}

#[test]
fn a_corrupted_packet_takes_its_time_all_the_same() {
    let mut link = link(QueueLimit::Unlimited, Errors::PacketErrors { per: 1.0 });
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Corrupted(at(11)));
    assert_eq!(link.busy_until(at(100)), Span::from_millis(1));
}

#[test]
fn busy_time_does_not_count_what_has_not_been_sent_yet() {
    let mut link = link(QueueLimit::Unlimited, Errors::Perfect);
    for _ in 0..10 {
        offer(&mut link, at(0), 1000);
    }
    assert_eq!(link.busy_until(at(4)), Span::from_millis(4));
    assert_eq!(link.busy_until(at(40)), Span::from_millis(10));
}

#[test]
fn a_normal_packet_pushes_out_the_last_of_low_priority_and_all_behind_it_arrive_earlier() {
    let mut link = link_with(QueueLimit::Packets(4), Errors::Perfect, LowPriority::PushOut);
    offer(&mut link, at(0), 1000);
    offer_low(&mut link, at(0), 1000);
    offer_low(&mut link, at(0), 2000);
    offer(&mut link, at(0), 1000);
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Arrives(at(16)));
    assert_eq!(link.offer(at(0), 1000, Priority::Normal), Fate::PushesOut);
    let out: Vec<_> = std::iter::from_fn(|| link.push_out(1000)).collect();
    let pushed = PushedOut { intact: true, behind: 2, earlier: Span::from_millis(2) };
    assert_eq!(out, [pushed]);
    assert_eq!(link.offer_again(at(0), 1000, Priority::Normal), Fate::Arrives(at(15)));
    assert_eq!(link.waiting(at(0)), (4, 4000));
    assert_eq!(link.busy_until(at(100)), Span::from_millis(5));
    assert_eq!((link.line.accepted_packets, link.line.dropped_packets), (5, 1));
}

#[test]
fn a_packet_of_low_priority_pushes_nothing_out_of_a_full_queue() {
    let mut link = link_with(QueueLimit::Packets(1), Errors::Perfect, LowPriority::PushOut);
    offer(&mut link, at(0), 1000);
    offer_low(&mut link, at(0), 1000);
    assert_eq!(offer_low(&mut link, at(0), 1000), Fate::Dropped);
    assert_ne!(offer(&mut link, at(0), 1000), Fate::Dropped);
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Dropped, "a queue of normal packets");
}

#[test]
fn what_would_not_make_enough_room_stays() {
    let mut link = link_with(QueueLimit::Bytes(2000), Errors::Perfect, LowPriority::PushOut);
    offer(&mut link, at(0), 1000);
    offer(&mut link, at(0), 1500);
    offer_low(&mut link, at(0), 200);
    offer_low(&mut link, at(0), 200);
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Dropped);
    assert_eq!(link.waiting(at(0)), (3, 1900));
    assert_ne!(offer(&mut link, at(0), 500), Fate::Dropped);
    assert_eq!(link.waiting(at(0)), (2, 2000));
}

#[test]
fn a_corrupted_packet_that_is_pushed_out_was_never_sent() {
    let mut link =
        link_with(QueueLimit::Packets(1), Errors::PacketErrors { per: 1.0 }, LowPriority::PushOut);
    offer(&mut link, at(0), 1000);
    offer_low(&mut link, at(0), 1000);
    assert_eq!(link.offer(at(0), 1000, Priority::Normal), Fate::PushesOut);
    assert!(link.push_out(1000).is_some_and(|out| !out.intact && out.behind == 0));
    link.offer_again(at(0), 1000, Priority::Normal);
    assert_eq!(link.counters(at(100)).corrupted_packets, 2);
}

#[test]
fn the_other_rule_lets_low_priority_in_while_at_most_one_packet_waits() {
    let mut link = link_with(QueueLimit::Packets(100), Errors::Perfect, LowPriority::Refuse);
    for _ in 0..3 {
        assert_ne!(offer_low(&mut link, at(0), 1000), Fate::Dropped);
    }
    assert_eq!(offer_low(&mut link, at(0), 1000), Fate::Dropped);
    assert_ne!(offer(&mut link, at(0), 1000), Fate::Dropped);
    assert_eq!(link.waiting(at(0)), (3, 3000));
}

#[test]
fn where_bytes_are_counted_it_lets_low_priority_in_up_to_2000_bytes() {
    let mut link = link_with(QueueLimit::Bytes(100_000), Errors::Perfect, LowPriority::Refuse);
    offer(&mut link, at(0), 1000);
    offer(&mut link, at(0), 2000);
    assert_ne!(offer_low(&mut link, at(0), 1), Fate::Dropped);
    assert_eq!(offer_low(&mut link, at(0), 1), Fate::Dropped);
}

#[test]
fn a_queue_that_ignores_priority_drops_what_comes_last() {
    let mut link = link(QueueLimit::Packets(1), Errors::Perfect);
    offer(&mut link, at(0), 1000);
    offer_low(&mut link, at(0), 1000);
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Dropped);
}

#[test]
fn corrupted_packets_are_counted_when_they_arrive() {
    let mut link = link(QueueLimit::Unlimited, Errors::PacketErrors { per: 1.0 });
    let fates = [offer(&mut link, at(0), 1000), offer(&mut link, at(0), 2000)];
    assert_eq!(fates, [Fate::Corrupted(at(11)), Fate::Corrupted(at(13))]);
    let just_before = at(0) + Span::from_nanos(12_999_999);
    let counts = [at(10), at(11), just_before, at(13)].map(|now| link.counters(now));
    assert_eq!(counts.map(|counters| counters.corrupted_packets), [0, 1, 1, 2]);
}

/// With one seed, the channel corrupts the same packets with and without losses of a trace.
#[test]
fn what_is_missing_is_what_the_channel_has_corrupted_and_what_the_trace_has_lost() {
    let sent = 2000;
    let missing = |per: f64, loss: f64, aqm: Option<crate::Aqm>| {
        let channel = Errors::PacketErrors { per };
        let delay = Some(Span::from_millis(10));
        let loss = (loss > 0.0).then_some(loss);
        let change = Change { at: Span::ZERO, every: None, rate: None, delay, outage: None, loss };
        let timeline = Timeline::new(vec![change]);
        let trace = crate::Trace { timeline, ..crate::Trace::default() };
        let mut link = made(Settings { channel, trace, aqm, ..settings() });
        let mut arrived = 0;
        for number in 0..sent {
            let now = at(number);
            let fate = match link.offer(now, 500, Priority::Normal) {
                Fate::Scheduled => {
                    let (ticket, flow, ecn) = (0, 0, crate::Ecn::NotCapable);
                    let priority = Priority::Normal;
                    let packet = crate::Queued {
                        ticket,
                        flow,
                        bytes: 500,
                        unframed: 500,
                        priority,
                        ecn,
                        since: now,
                    };
                    link.enqueue(packet);
                    link.serve(now).unwrap().fate
                }
                fate => fate,
            };
            arrived += u64::from(matches!(fate, Fate::Arrives(_)));
        }
        let counters = link.counters(at(2 * sent));
        assert_eq!(counters.dropped_packets, 0);
        assert_eq!(arrived + counters.corrupted_packets, sent);
        (counters.corrupted_packets, counters.lost_packets)
    };
    for aqm in [None, Some(crate::Aqm::all()[0])] {
        let (channel, none) = missing(0.05, 0.0, aqm);
        assert!(channel > 0);
        assert_eq!(none, 0, "there are no losses of a trace");
        let (all, lost) = missing(0.05, 0.1, aqm);
        assert!(lost > 0);
        assert_eq!(channel + lost, all);
        let (all, lost) = missing(0.0, 0.1, aqm);
        assert!(lost > 0);
        assert_eq!(lost, all);
    }
}

#[test]
fn packets_that_a_trace_has_lost_are_counted_when_they_would_have_arrived() {
    let loss = Some(1.0);
    let change =
        Change { at: Span::ZERO, every: None, rate: None, delay: None, outage: None, loss };
    let mut link = made(Settings { timeline: Timeline::new(vec![change]), ..settings() });
    let fates = [offer(&mut link, at(0), 1000), offer(&mut link, at(0), 2000)];
    assert_eq!(fates, [Fate::Corrupted(at(11)), Fate::Corrupted(at(13))]);
    let counts = [at(10), at(11), at(12), at(13)].map(|now| link.counters(now).lost_packets);
    assert_eq!(counts, [0, 1, 1, 2]);
}

#[test]
fn corrupted_packets_behind_one_that_is_pushed_out_arrive_earlier() {
    let mut link =
        link_with(QueueLimit::Packets(3), Errors::PacketErrors { per: 1.0 }, LowPriority::PushOut);
    offer(&mut link, at(0), 1000);
    offer(&mut link, at(0), 1000);
    offer_low(&mut link, at(0), 2000);
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Corrupted(at(15)));
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Corrupted(at(14)));
    let counts = [10, 11, 12, 13, 14].map(|millis| link.counters(at(millis)));
    assert_eq!(counts.map(|counters| counters.corrupted_packets), [0, 1, 2, 3, 4]);
}

#[test]
fn a_long_average_queue_marks_and_a_full_one_drops() {
    let ecn_marking = Some(Marking { packets: 1.0, weight: 1.0 });
    let mut link = made(Settings { ecn_marking, queue: QueueLimit::Packets(3), ..settings() });
    let fates: Vec<_> = (0..5).map(|_| offer(&mut link, at(0), 1000)).collect();
    let arrives = [11, 12, 13].map(|millis| Fate::Arrives(at(millis)));
    assert_eq!(fates[..3], arrives);
    assert_eq!(fates[3..], [Fate::Marked(at(14)), Fate::Dropped]);
}

/// 1000 bytes take 1 ms, and 100 of framing a tenth more. Marks and limits count what is on the
/// link.
#[test]
fn framing_counts_in_times_and_limits_and_not_in_what_can_be_damaged() {
    let certain = Errors::BitErrors { ber: 1.0, ecc_threshold: 0.0 };
    let queue = QueueLimit::Bytes(2200);
    let mut link = made(Settings {
        framing: Framing::overhead(100),
        queue,
        channel: certain.clone(),
        ..settings()
    });
    let late = |tenths: u64| at(10) + Span::from_nanos(1_100_000 * tenths);
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Corrupted(late(1)));
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Corrupted(late(2)));
    assert_eq!(offer(&mut link, at(0), 1001), Fate::Dropped, "1100 of 2200 bytes are taken");
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Corrupted(late(3)));
    assert_eq!(link.waiting(at(0)), (2, 2200));
    let mut empty =
        made(Settings { framing: Framing::overhead(100), channel: certain, ..settings() });
    let alone = at(10) + Span::from_nanos(100_000);
    assert_eq!(offer(&mut empty, at(0), 0), Fate::Arrives(alone), "framing alone is not damaged");
}

#[test]
fn a_packet_that_pushes_others_out_can_be_marked() {
    let ecn_marking = Some(Marking { packets: 0.5, weight: 1.0 });
    let (queue, low_priority) = (QueueLimit::Packets(1), LowPriority::PushOut);
    let mut link = made(Settings { ecn_marking, queue, low_priority, ..settings() });
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Arrives(at(11)));
    assert_eq!(offer_low(&mut link, at(0), 1000), Fate::Arrives(at(12)));
    assert_eq!(offer(&mut link, at(0), 1000), Fate::Marked(at(12)));
}

#[test]
fn jitter_and_changes_are_the_dynamics_of_a_direction() {
    let event =
        Change { at: Span::ZERO, every: None, rate: None, delay: None, outage: None, loss: None };
    let timeline = Timeline::new(vec![event]);
    let jitter = Jitter::UpTo(Span::from_nanos(1));
    assert_eq!(settings().dynamics(), None);
    assert_eq!(Settings { jitter, ..settings() }.dynamics(), Some("jitter"));
    assert_eq!(Settings { timeline, ..settings() }.dynamics(), Some("event"));
}
