//! SACKs, fast retransmit and T3-rtx (RFC 9260 sections 6.2, 6.3.3, 6.7 and 7.2.4).

use sctp::{Chunk, Config, Kind, Sack};
use transport::Endpoint as _;

use crate::wire::{A, B, Fate, MSS, Sent, Wire, at, config, ms};

fn sending(chunks: u64, lost: impl Fn(&Sent) -> bool + 'static) -> Wire {
    let mut wire = Wire::new(&config()).losing(lost).opened();
    wire.write(A, chunks * MSS);
    wire
}

fn sacks(wire: &Wire) -> Vec<(u64, Sack)> {
    let of = |sent: &Sent| {
        let sack = sent.packet.chunks().find_map(|chunk| match chunk {
            Chunk::Sack(sack) => Some(sack.clone()),
            _ => None,
        });
        (sent.at.as_nanos() / 1_000_000, sack.unwrap())
    };
    wire.sent(B, Kind::Sack).map(of).collect()
}

#[test]
fn a_sack_comes_for_every_second_packet_and_after_200_ms_for_a_single_one() {
    let mut wire = sending(3, |_| false);
    wire.run_until(at(4000));
    assert_eq!(wire.times(B, Kind::Sack), [2250, 2450]);
}

/// The I flag of the last chunk requests a SACK (section 9.2).
#[test]
fn the_last_chunk_is_acknowledged_at_once() {
    let mut wire = Wire::new(&config()).opened();
    wire.ends[A].write(MSS);
    wire.close(A);
    wire.run_until(at(4000));
    assert_eq!(wire.times(B, Kind::Sack), [2250]);
}

#[test]
fn a_gap_is_reported_at_once_for_every_packet_and_when_it_is_filled() {
    let mut wire = sending(4, |sent| sent.is(A, Kind::Data, 2));
    wire.run_until(at(9000));
    let gaps: Vec<_> =
        sacks(&wire).into_iter().map(|(_, sack)| (sack.cumulative, sack.gaps)).collect();
    // TSNs begin with 7.
    assert_eq!(gaps[0], (7, vec![[2, 2]]));
    assert_eq!(gaps[1], (7, vec![[2, 3]]));
    assert_eq!(gaps.last(), Some(&(10, vec![])));
}

#[test]
fn duplicates_are_reported_at_once() {
    let mut wire = Wire::new(&config())
        .scripted(
            |sent| if sent.is(A, Kind::Data, 1) { Fate::Twice(ms(10)) } else { Fate::Arrives },
        )
        .opened();
    wire.write(A, MSS);
    wire.run_until(at(4000));
    let sacks = sacks(&wire);
    assert_eq!((sacks[0].0, &sacks[0].1.duplicates), (2260, &vec![7]));
    assert_eq!(wire.ends[B].events().duplicates, 1);
}

/// Three SACKs that report the chunk missing.
#[test]
fn a_missing_chunk_is_retransmitted_after_three_indications_and_the_window_falls_once() {
    let mut wire =
        sending(200, |sent| [60, 63, 64].contains(&sent.nth) && sent.is_of(A, Kind::Data));
    wire.run_until(at(30_000));
    let counters = *wire.ends[A].counters();
    assert_eq!((counters.retransmissions, counters.timeouts, counters.fast_recoveries), (3, 0, 1));
    assert_eq!(wire.ends[B].delivered(), 200 * MSS);
}

/// Four packets leave at once, and arrive after these times in milliseconds more than usual.
fn retransmissions_with(late: [u64; 4]) -> u64 {
    let mut wire = Wire::new(&config())
        .scripted(move |sent| match sent.nth {
            nth @ 1..=4 if sent.is_of(A, Kind::Data) => Fate::Late(ms(late[nth as usize - 1])),
            _ => Fate::Arrives,
        })
        .opened();
    wire.write(A, 4 * MSS);
    wire.run_until(at(9000));
    assert_eq!(wire.ends[B].delivered(), 4 * MSS);
    wire.ends[A].counters().retransmissions
}

#[test]
fn a_chunk_that_two_others_overtake_is_not_lost_and_one_that_three_overtake_is() {
    assert_eq!(retransmissions_with([0, 1, 0, 0]), 0);
    assert_eq!(retransmissions_with([1, 0, 0, 0]), 1);
}

/// A SACK is an indication for what was sent before the chunks that it acknowledges for the first
/// time (HTNA, section 7.2.4). The fourth chunk comes first, and those of the other SACKs were sent
/// before the third.
#[test]
fn a_chunk_that_was_sent_before_is_no_indication() {
    assert_eq!(retransmissions_with([2, 1, 3, 0]), 0);
}

#[test]
fn the_loss_of_the_last_chunks_waits_for_t3() {
    let mut wire = sending(200, |sent| sent.is(A, Kind::Data, 199));
    wire.run_until(at(30_000));
    let counters = *wire.ends[A].counters();
    assert_eq!((counters.retransmissions, counters.timeouts, counters.fast_recoveries), (1, 1, 0));
    assert_eq!(wire.ends[B].delivered(), 200 * MSS);
}

#[test]
fn a_chunk_is_fast_retransmitted_once_and_then_waits_for_t3() {
    let is_lost =
        |sent: &Sent| sent.by == A && sent.tsns().contains(&(7 + 59)) && sent.at < at(8000);
    let mut wire = sending(400, is_lost);
    wire.run_until(at(60_000));
    let counters = *wire.ends[A].counters();
    let times: Vec<_> =
        wire.log.iter().filter(|sent| sent.by == A && sent.tsns().contains(&66)).collect();
    assert!(times.len() > 2, "{}", times.len());
    assert!(times[2].at.since(times[1].at) >= ms(1000), "the third waits for T3");
    assert!(counters.timeouts >= 1);
    assert_eq!(wire.ends[B].delivered(), 400 * MSS);
}

#[test]
fn t3_doubles_and_sends_one_packet() {
    let mut wire = sending(4, |sent| sent.has(A, Kind::Data) && sent.at < at(6000));
    wire.run_until(at(20_000));
    // RTO 1.25 s, 2.5 s, 5 s.
    let times = wire.times(A, Kind::Data);
    assert_eq!(times[..6], [2000, 2000, 2000, 2000, 3250, 5750]);
    assert_eq!(wire.ends[B].delivered(), 4 * MSS);
}

/// Section 6.3.1 rule C5. A round trip takes 500 ms, and 700 ms with a delayed SACK.
#[test]
fn a_retransmission_measures_no_round_trip() {
    for nth in 20..60 {
        let mut wire = sending(200, move |sent| sent.is(A, Kind::Data, nth));
        wire.run_until(at(30_000));
        assert_eq!(wire.ends[A].counters().fast_recoveries, 1);
        let longest = wire.ends[A].rtt_samples().max();
        assert!(longest <= 701_000_000, "{longest} ns after the loss of chunk {nth}");
    }
}

#[test]
fn one_per_cent_of_losses_in_both_directions_are_repaired() {
    let is_lost = |sent: &Sent| sent.at > at(2000) && sent.nth % 100 == 37;
    let mut wire = Wire::new(&Config { message_size: None, ..config() }).losing(is_lost).opened();
    for end in [A, B] {
        wire.write(end, 2000 * MSS);
    }
    wire.run_until(at(600_000));
    for end in [A, B] {
        assert_eq!(wire.ends[end].delivered(), 2000 * MSS);
        let counters = wire.ends[end].counters();
        assert!(counters.retransmissions >= 20, "{}", counters.retransmissions);
    }
}
