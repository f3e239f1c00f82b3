//! Loss of each type of PDU while data flows.

use stp::{Config, Kind};
use transport::Endpoint;

use crate::wire::{A, B, Fate, MSS, Sent, Wire, at, config, ms};

/// `A` sends 100 packets, all at once if nothing is lost.
fn transfer(config: &Config, lost: impl Fn(&Sent) -> bool + 'static) -> Wire {
    let mut wire = Wire::new(&Config { initial_window: 100, ..config.clone() }).losing(lost).open();
    wire.run_until(at(1000));
    wire.write(A, 100 * MSS);
    wire.run_until(at(10_000));
    assert_eq!(wire.ends[B].delivered(), 100 * MSS);
    assert_eq!(wire.ends[A].acknowledged(), 100 * MSS);
    assert_eq!(wire.ends[A].flight(), 0);
    wire
}

fn data(wire: &Wire, number: u32) -> Vec<u64> {
    let of = |sent: &&Sent| sent.packet.number == 7 + number;
    wire.sent(A, Kind::Data).filter(of).map(|sent| sent.at.as_nanos() / 1_000_000).collect()
}

#[test]
fn without_loss_there_is_a_poll_for_25_packets_and_a_stat_for_each() {
    let wire = transfer(&config(), |_| false);
    let polls: Vec<_> =
        wire.sent(A, Kind::Data).filter(|sent| sent.packet.polls()).map(|s| s.nth).collect();
    assert_eq!(polls, [25, 50, 75, 100]);
    assert_eq!(wire.ends[A].pdus().of(Kind::Poll), 0, "all of them on data");
    assert_eq!(wire.ends[B].pdus().of(Kind::Stat), 4);
    assert_eq!(wire.ends[B].pdus().of(Kind::Ustat), 0);
}

#[test]
fn a_lost_packet_is_repaired_one_round_trip_after_it_was_sent() {
    let wire = transfer(&config(), |sent| sent.is(A, Kind::Data, 10));
    assert_eq!(wire.ends[B].pdus().of(Kind::Ustat), 1);
    assert_eq!(data(&wire, 9), [1000, 1500], "once, whatever the STATs say of it");
    assert_eq!(wire.sent(A, Kind::Data).count(), 101);
}

#[test]
fn a_stat_takes_the_place_of_a_lost_ustat() {
    let wire = transfer(&config(), |sent| sent.is(A, Kind::Data, 10) || sent.is(B, Kind::Ustat, 1));
    assert_eq!(data(&wire, 9), [1000, 1500], "by the STAT of packet 25");
}

#[test]
fn a_lost_retransmission_is_found_by_the_next_poll() {
    let wire =
        transfer(&config(), |sent| sent.is(A, Kind::Data, 10) || sent.is(A, Kind::Data, 101));
    // Packet 100 has sent the last POLL at 1000 ms, so Timer_POLL sends the next one at 1750 ms.
    assert_eq!(data(&wire, 9), [1000, 1500, 2250]);
}

#[test]
fn a_packet_that_was_sent_after_the_poll_is_not_lost() {
    // The STATs of the POLLs on packets 50, 75 and 100 name the gap too, after its retransmission.
    let wire = transfer(&config(), |sent| sent.is(A, Kind::Data, 10));
    assert_eq!(wire.sent(B, Kind::Stat).filter(|sent| sent.packet.listed > 0).count(), 4);
    assert_eq!(data(&wire, 9).len(), 2);
}

#[test]
fn the_last_packet_is_found_by_timer_poll() {
    let wire = transfer(&config(), |sent| sent.is(A, Kind::Data, 100));
    // Its POLL is lost with it. The one before was sent at 1000 ms too.
    assert_eq!(wire.times(A, Kind::Poll)[0], 1750);
    assert_eq!(data(&wire, 99), [1000, 2250]);
}

#[test]
fn a_lost_poll_is_followed_by_another() {
    let wire = transfer(&config(), |sent| sent.is(A, Kind::Data, 100) || sent.is(A, Kind::Poll, 1));
    assert_eq!(wire.times(A, Kind::Poll)[..2], [1750, 2500]);
    assert_eq!(data(&wire, 99), [1000, 3000]);
}

#[test]
fn a_lost_stat_costs_nothing_if_another_follows() {
    let wire = transfer(&config(), |sent| sent.is(B, Kind::Stat, 1));
    assert_eq!(wire.sent(A, Kind::Data).count(), 100);
    let wire = transfer(&config(), |sent| sent.is(B, Kind::Stat, 4));
    assert_eq!(wire.sent(A, Kind::Data).count(), 100);
    assert_eq!(wire.times(A, Kind::Poll)[0], 1750);
}

#[test]
fn packets_and_polls_that_come_late_or_twice_do_no_harm() {
    let mut wire = Wire::new(&Config { initial_window: 100, ..config() })
        .scripted(|sent| match sent.nth % 7 {
            0 => Fate::Late(ms(40)),
            3 => Fate::Twice(ms(90)),
            _ => Fate::Arrives,
        })
        .open();
    wire.run_until(at(1000));
    wire.write(A, 100 * MSS);
    wire.run_until(at(10_000));
    assert_eq!(wire.ends[B].delivered(), 100 * MSS);
    assert_eq!(wire.ends[A].acknowledged(), 100 * MSS);
}

#[test]
fn many_gaps_take_several_stats_and_all_are_repaired_at_once() {
    let wire = transfer(&config(), |sent| {
        let is_odd = sent.packet.kind == Kind::Data && sent.nth < 100 && sent.nth % 2 == 1;
        is_odd || sent.packet.kind == Kind::Ustat
    });
    assert_eq!(wire.sent(A, Kind::Data).count(), 150);
    assert!(wire.sent(B, Kind::Stat).any(|sent| sent.packet.list().len() == stp::MAX_LIST));
}
