//! Probes of unused capacity. No RFC knows them; the rules are those of TCP-Peach and its kin.

use std::sync::Arc;

use congestion::{Controller, Specification};
use tcp::Recovery;
use tcp::{Config, Connection};
use transport::Endpoint;
use units::{Bytes, Span};

use crate::wire::{A, B, MSS, Sent, Wire, config, ms};

/// Two ends with the controller `name`, which are connected; A has an initial window of ten.
fn wire(name: &str, config: &Config) -> Wire {
    let end = |initial_sequence| {
        let controller = Specification::named(name).unwrap().build(&config.controller());
        Connection::new(Arc::new(config.clone()), controller, initial_sequence)
    };
    let mut wire = Wire::of([end(1_000), end(2_000_000)]).open();
    wire.run_for(ms(150));
    wire.forget();
    wire
}

fn is_probe(sent: &Sent) -> bool {
    sent.is_data() && sent.segment.is_low_priority()
}

fn is_regular(sent: &Sent) -> bool {
    sent.is_data() && !sent.segment.is_low_priority()
}

fn is_answer(sent: &Sent) -> bool {
    sent.is_bare_ack() && sent.segment.is_low_priority()
}

/// Positions of the stream that what passes `filter` carries, in segments.
fn carried(wire: &Wire, filter: impl Fn(&Sent) -> bool) -> Vec<u64> {
    let offset = |sent: &Sent| u64::from(sent.segment.sequence.wrapping_sub(1_001)) / MSS;
    wire.sent(A, filter).map(offset).collect()
}

fn cwnd(wire: &Wire) -> u64 {
    wire.ends[A].controller().window().cwnd / MSS
}

#[test]
fn the_start_sends_probes_at_even_distances_for_one_round_trip() {
    // 65 segments fit the window of 65,535 bytes, and a round trip is 100 ms.
    let mut wire = wire("peach", &config());
    wire.write(A, 5 * MSS);
    wire.run();
    let times: Vec<_> = wire.sent(A, is_probe).map(|sent| sent.at.as_nanos() / 1000).collect();
    assert_eq!(times.len(), 64);
    let distance = 100_000 / 65;
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] - distance <= 1), "{times:?}");
}

#[test]
fn each_probe_is_answered_at_once_and_raises_the_window() {
    let mut wire = wire("peach", &config());
    wire.write(A, 1000 * MSS);
    wire.run_for(ms(199));
    let probes = wire.times(A, is_probe);
    let answers = wire.times(B, is_answer);
    let expected: Vec<_> = probes.iter().map(|at| at + 50).collect();
    assert_eq!(answers, expected);
    assert_eq!(cwnd(&wire), 65, "the window that the receiver advertises");
}

#[test]
fn the_receiver_takes_nothing_from_a_dummy() {
    let mut wire = wire("peach", &config()).losing(is_regular);
    wire.write(A, MSS);
    wire.run_for(ms(500));
    assert!(wire.sent(B, is_answer).count() > 0);
    assert_eq!(wire.ends[B].delivered(), 0);
}

#[test]
fn an_answer_is_no_duplicate_ack() {
    for controller in ["peach", "peach-plus", "cherry"] {
        for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
            let mut wire = wire(controller, &Config { recovery, ..config() });
            wire.write(A, 60 * MSS);
            wire.run();
            let counters = wire.ends[A].counters();
            assert!(counters.probes > 0);
            assert_eq!((counters.retransmissions, counters.fast_recoveries), (0, 0));
            assert_eq!(wire.ends[B].delivered(), 60 * MSS);
        }
    }
}

#[test]
fn a_lost_probe_is_not_missed() {
    let mut wire = wire("peach", &config()).losing(is_probe);
    wire.write(A, 60 * MSS);
    wire.run();
    let counters = wire.ends[A].counters();
    assert_eq!((counters.retransmissions, counters.timeouts), (0, 0));
    assert_eq!(wire.sent(B, is_answer).count(), 0);
}

/// The answer may be dropped on its way, and so the ACK that was due stays due.
#[test]
fn an_answer_does_not_stand_in_for_the_ack_that_is_delayed() {
    let mut wire = wire("peach", &config()).losing(is_answer);
    wire.write(A, MSS);
    wire.run();
    let acks = wire.times(B, |sent| sent.is_bare_ack() && !is_answer(sent));
    assert_eq!(acks.len(), 1);
    assert_eq!(wire.ends[A].counters().retransmissions, 0);
}

#[test]
fn a_copy_of_unacknowledged_data_repairs_a_loss_without_a_retransmission() {
    let lost = |sent: &Sent| is_regular(sent) && sent.nth == 1;
    let mut wire = wire("peach-plus", &config()).losing(lost);
    wire.write(A, MSS);
    wire.run();
    assert_eq!(wire.ends[B].delivered(), MSS);
    assert_eq!(wire.ends[A].counters().retransmissions, 0);
}

/// Karn's rule: nobody knows which of the two the ACK is for.
#[test]
fn data_that_a_probe_has_repeated_is_not_timed() {
    let mut wire = wire("peach-plus", &config());
    let start = wire.now;
    wire = wire.losing(move |sent| sent.is_data() && sent.at < start + ms(60));
    wire.write(A, MSS);
    wire.run();
    assert_eq!(wire.ends[B].delivered(), MSS);
    assert_eq!(wire.ends[A].rtt().srtt(), Some(ms(100)));
}

#[test]
fn copies_go_through_all_unacknowledged_data_again_and_again() {
    let mut wire = wire("peach-plus", &config());
    wire.write(A, 3 * MSS);
    wire.run_for(ms(90));
    let copies = carried(&wire, is_probe);
    assert_eq!(copies[..7], [0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn supplements_come_from_the_far_end_of_what_may_be_sent() {
    let mut wire = wire("cherry", &config());
    wire.write(A, 1000 * MSS);
    wire.run_for(ms(20));
    assert_eq!(carried(&wire, is_regular), (0..10).collect::<Vec<_>>());
    // The receiver takes 65 whole segments.
    assert_eq!(carried(&wire, is_probe)[..4], [64, 63, 62, 61]);
}

/// The receiver may have it, and a FIN may not stand before what has arrived.
#[test]
fn what_a_supplement_has_carried_is_not_taken_back() {
    let mut wire = wire("cherry", &Config { reads_at_once: false, ..config() });
    wire.write(A, 1000 * MSS);
    wire.run_for(ms(20));
    assert_eq!(carried(&wire, is_probe)[0], 64);
    assert_eq!(wire.ends[A].withdraw(), 65 * MSS);
    wire.close(A);
    wire.run_for(Span::from_secs(10));
    assert_eq!(wire.ends[B].unread(), 65 * MSS);
    assert!(wire.ends[B].peer_has_finished());
}

/// Until the answer comes, its turn may come.
#[test]
fn a_supplement_is_not_sent_again_once_its_answer_has_come() {
    let mut wire = wire("cherry", &config());
    wire.write(A, 60 * MSS);
    wire.run();
    let position = |sent: &Sent| (sent.segment.sequence, sent.at);
    let probes: Vec<_> = wire.sent(A, is_probe).map(position).collect();
    let regular: Vec<_> = wire.sent(A, is_regular).map(position).collect();
    for (sequence, at) in &probes {
        let again = regular.iter().find(|(regular, _)| regular == sequence);
        assert!(again.is_none_or(|(_, again)| *again <= *at + ms(100)), "{sequence}");
    }
    assert!(regular.len() < 45, "{} of 60 segments were sent in their turn", regular.len());
    assert_eq!(wire.ends[B].delivered(), 60 * MSS);
}

/// A timeout sends again what the receiver lacks, and it does not lack what was passed over.
#[test]
fn a_supplement_that_was_passed_over_is_not_sent_again_after_a_timeout() {
    let mut wire = wire("cherry", &config());
    let start = wire.now;
    let away = move |sent: &Sent| sent.at > start + ms(130) && sent.at < start + ms(1500);
    wire = wire.losing(move |sent| is_regular(sent) && away(sent));
    wire.write(A, 80 * MSS);
    wire.run();
    assert_eq!(wire.ends[B].delivered(), 80 * MSS);
    assert!(wire.ends[A].counters().timeouts > 0);
    let answered = carried(&wire, |sent| is_probe(sent) && sent.at < start + ms(100));
    let late = carried(&wire, |sent| is_regular(sent) && sent.at > start + ms(200));
    assert!(late.len() > 10);
    let twice: Vec<_> = late.iter().filter(|segment| answered.contains(segment)).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Data that is too large for a link counts as lost, and with `recovery = "linux"` it is joined
/// before it is cut: not across what arrived ahead of its turn, which the receiver does not lack.
#[test]
fn lost_segments_are_not_joined_across_a_supplement_that_was_passed_over() {
    let small = MSS - 100;
    for recovery in [Recovery::Sack, Recovery::Linux] {
        let mut wire = wire("cherry", &Config { recovery, ..config() });
        let start = wire.now;
        // Supplements bring 50 to 64. Nothing that is sent in its turn arrives from 41 on.
        let position = |sent: &Sent| u64::from(sent.segment.sequence.wrapping_sub(1_001));
        wire = wire.losing(move |sent| match is_probe(sent) {
            true => position(sent) < 50 * MSS,
            false => sent.is_data() && position(sent) >= 41 * MSS && sent.at < start + ms(500),
        });
        wire.write(A, 80 * MSS);
        wire.run_for(ms(500));
        assert_eq!(wire.ends[A].info().acknowledged, 41 * MSS, "{recovery:?}");
        let quoted = wire.sent(A, |sent| position(sent) == 41 * MSS).next().unwrap().segment;
        wire.forget();
        let now = wire.now;
        wire.ends[A].on_segment(now, &quoted.too_big(1, small as u16, 556));
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 80 * MSS, "{recovery:?}");
        let bytes: u64 = wire.sent(A, is_regular).map(|one| u64::from(one.segment.payload)).sum();
        assert_eq!(bytes, (9 + 15) * MSS, "{recovery:?}: what the receiver lacks, once");
        let info = wire.ends[A].info();
        assert_eq!((info.unacked, info.lost), (0, 0), "{recovery:?}");
    }
}

/// With and without limited transmit a sender without duplicate ACKs sends the same.
#[test]
fn what_is_passed_over_takes_no_room_in_the_congestion_window() {
    let sent = |limited_transmit| {
        let config = Config {
            limited_transmit,
            window_scaling: true,
            receive_buffer: Bytes(100 * MSS),
            ..config()
        };
        let lost = |sent: &Sent| is_probe(sent) && !sent.nth.is_multiple_of(4);
        let mut wire = wire("cherry", &config).losing(lost);
        wire.write(A, 1000 * MSS);
        wire.run_for(ms(1000));
        assert_eq!(wire.ends[A].counters().retransmissions, 0);
        carried(&wire, is_regular)
    };
    assert_eq!(sent(true), sent(false));
}

#[test]
fn supplements_that_are_lost_are_sent_when_their_turn_comes() {
    let lost = |sent: &Sent| is_probe(sent) && sent.nth.is_multiple_of(3);
    let mut wire = wire("cherry", &config()).losing(lost);
    wire.write(A, 60 * MSS);
    wire.run();
    assert_eq!(wire.ends[B].delivered(), 60 * MSS);
    let counters = wire.ends[A].counters();
    assert_eq!((counters.retransmissions, counters.timeouts), (0, 0));
}

/// Data that arrived ahead of its turn says nothing about data sent after it, even if its turn has
/// come when the report arrives.
#[test]
fn supplements_are_no_sign_of_a_loss() {
    let mut wire = wire("cherry", &config());
    wire.write(A, 400 * MSS);
    wire.run();
    let counters = wire.ends[A].counters();
    assert!(counters.probes > 30);
    assert_eq!((counters.fast_recoveries, counters.timeouts), (0, 0));
}

#[test]
fn ends_that_do_not_probe_send_nothing_of_low_priority() {
    let mut wire = wire("newreno", &config());
    wire.write(A, 100 * MSS);
    wire.run();
    assert!(wire.log.iter().all(|sent| !sent.segment.is_low_priority()));
}
