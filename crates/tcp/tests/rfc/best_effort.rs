//! Best-effort transport of SCPS-TP: data that is given up, and holes that are passed over.

use std::ops::Range;

use tcp::{
    AckTiming, BestEffort, BestEffortCounters, Cause, Config, DelayedAck, Options, Scps, State,
};
use transport::Endpoint;
use units::{Bytes, Span, Time};

use crate::scps::scps;
use crate::wire::{A, B, Fate, MSS, Sent, Wire, ms};

/// A route with corruption, on which this is given up and waited for.
pub(crate) fn route(retransmissions: u32, timeout: u64) -> Scps {
    let best_effort =
        BestEffort { receive_timeout: ms(timeout), ..BestEffort::new(retransmissions) };
    Scps { cause: Cause::Corruption, best_effort: Some(best_effort), ..Scps::default() }
}

pub(crate) fn best_effort(retransmissions: u32, timeout: u64) -> Config {
    // An ACK comes before the timer of the sender expires.
    let delayed_ack = AckTiming::Fixed(DelayedAck { timeout: ms(50), ..DelayedAck::default() });
    Config { initial_window: 60, delayed_ack, ..scps(route(retransmissions, timeout)) }
}

/// The segment that begins `place` segments behind the first byte of A's data.
pub(crate) fn is_data_at(sent: &Sent, place: u64) -> bool {
    sent.by == A && sent.is_data() && u64::from(sent.segment.sequence) == 1_001 + place * MSS
}

/// Returns true if a segment has data of A within these segments.
fn is_within(sent: &Sent, places: Range<u64>) -> bool {
    let place = u64::from(sent.segment.sequence).wrapping_sub(1_001) / MSS;
    sent.by == A && sent.is_data() && places.contains(&place)
}

pub(crate) fn counters(wire: &Wire, end: usize) -> BestEffortCounters {
    wire.ends[end].info().best_effort.unwrap()
}

/// Bytes and holes that A has given up and B has skipped.
pub(crate) fn holes(wire: &Wire) -> [(u64, u64); 2] {
    let (a, b) = (counters(wire, A), counters(wire, B));
    [(a.given_up_bytes, a.given_up_holes), (b.skipped_bytes, b.skipped_holes)]
}

pub(crate) fn timeouts(wire: &Wire) -> u32 {
    wire.ends[A].counters().timeouts
}

pub(crate) fn millis(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// Runs until B has `bytes` of the stream, and returns when that is.
fn delivery(wire: &mut Wire, bytes: u64) -> u64 {
    while wire.ends[B].delivered() < bytes {
        assert!(wire.step(Time::ZERO + Span::from_secs(3600)), "{bytes} bytes never arrive");
    }
    millis(wire.now)
}

#[test]
fn what_is_lost_once_is_given_up_and_passed_over_after_the_time() {
    let mut wire = Wire::established(&best_effort(0, 400)).losing(|sent| is_data_at(sent, 2));
    let from = millis(wire.now);
    wire.write(A, 10 * MSS);
    assert_eq!(delivery(&mut wire, 2 * MSS), from + 50);
    // The segments behind it arrive at the same time as it should have.
    assert_eq!(delivery(&mut wire, 3 * MSS), from + 450);
    assert_eq!(wire.ends[B].delivered(), 10 * MSS);
    wire.close(A);
    wire.close(B);
    wire.run();
    assert_eq!(holes(&wire), [(MSS, 1); 2]);
    let hole = || std::iter::once(2 * MSS..3 * MSS);
    assert!(wire.ends[B].left_out().skipped_holes().eq(hole()));
    assert!(wire.ends[A].left_out().given_up_holes().eq(hole()));
    assert_eq!(wire.ends[B].left_out().skipped(), MSS);
    assert_eq!(wire.ends[B].info().received, 9 * MSS);
    assert_eq!((wire.ends[A].info().retransmissions, timeouts(&wire)), (0, 0));
    assert_eq!(wire.states(), [State::Closed; 2]);
}

/// Without a SYN of the other end that has the bit nothing is given up.
#[test]
fn best_effort_is_used_only_if_both_ends_offer_it() {
    let reliable = scps(Scps { best_effort: None, ..route(0, 400) });
    let both = best_effort(0, 400);
    let offers = |sent: &Sent| sent.segment.options.contains(Options::BEST_EFFORT);
    for (a, b) in [(&both, &reliable), (&reliable, &both), (&both, &both)] {
        let mut wire = Wire::between(a, b)
            .losing(|sent| is_data_at(sent, 2) && sent.nth <= 10 || is_data_at(sent, 7))
            .open();
        wire.run_for(ms(150));
        wire.write(A, 20 * MSS);
        wire.run_for(ms(10_000));
        let is_offered = [a, b].map(|end| end.scps.unwrap().best_effort.is_some());
        assert_eq!([A, B].map(|end| wire.sent(end, Sent::is_syn).all(offers)), is_offered);
        assert!(!wire.sent(A, |sent| !sent.is_syn()).any(offers));
        let agreed = is_offered == [true; 2];
        let delivered = if agreed { 20 * MSS } else { 7 * MSS };
        assert_eq!(wire.ends[B].delivered(), delivered);
        assert!([A, B].iter().all(|end| wire.ends[*end].info().best_effort.is_some() == agreed));
    }
}

/// Reports that follow an embargo count, and so does the timer. The byte behind the hole shows that
/// it is missing.
#[test]
fn a_segment_has_all_its_retransmissions() {
    for retransmissions in 0..4 {
        // Data arrives all the time, and with it reports.
        let mut config = best_effort(retransmissions, 8000);
        config.rto.granularity = ms(4000);
        let mut wire = Wire::established(&config).losing(|sent| is_data_at(sent, 3));
        for _ in 0..60 {
            wire.write(A, MSS);
            wire.run_for(ms(60));
        }
        let copies = |wire: &Wire| wire.sent(A, |sent| is_data_at(sent, 3)).count() as u32;
        assert_eq!((copies(&wire), timeouts(&wire)), (1 + retransmissions, 0));
        assert_eq!(counters(&wire, A).given_up_bytes, MSS, "{retransmissions}");
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 60 * MSS);
        assert_eq!(holes(&wire), [(MSS, 1); 2], "{retransmissions}");
        // Nothing of B arrives: the timer alone.
        let mut wire = Wire::established(&best_effort(retransmissions, 8000)).losing(|sent| {
            sent.by == B && millis(sent.at) < 9_000 || is_data_at(sent, 0) && sent.by == A
        });
        wire.write(A, 3 * MSS);
        while counters(&wire, A).given_up_bytes == 0 {
            assert!(wire.step(Time::ZERO + Span::from_secs(100)));
        }
        assert_eq!(
            (copies_at(&wire, 0), timeouts(&wire)),
            (1 + retransmissions, 1 + retransmissions)
        );
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 3 * MSS);
    }
}

fn copies_at(wire: &Wire, place: u64) -> u32 {
    wire.sent(A, |sent| is_data_at(sent, place)).count() as u32
}

/// A whole window is lost at once. What follows it shows that, and is not lost.
#[test]
fn a_window_that_is_lost_costs_one_timeout() {
    for cause in [Cause::Corruption, Cause::Congestion] {
        let config = Config { initial_window: 20, ..scps(Scps { cause, ..route(0, 300) }) };
        let mut wire = Wire::established(&config).losing(|sent| is_within(sent, 0..20));
        wire.write(A, 60 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 60 * MSS, "{cause:?}");
        assert_eq!(holes(&wire), [(20 * MSS, 1); 2], "{cause:?}");
        assert_eq!((timeouts(&wire), wire.ends[A].info().retransmissions), (1, 0), "{cause:?}");
    }
}

/// Nothing is behind it: the receiver would wait for ever.
#[test]
fn the_last_segment_is_not_given_up() {
    for retransmissions in [0, 2] {
        let mut copies = 0;
        let mut wire =
            Wire::established(&best_effort(retransmissions, 400)).scripted(move |sent| {
                copies += u32::from(is_data_at(sent, 4));
                if is_data_at(sent, 4) && copies <= 6 { Fate::Lost } else { Fate::Arrives }
            });
        wire.write(A, 5 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 5 * MSS);
        assert_eq!((holes(&wire), copies_at(&wire, 4)), ([(0, 0); 2], 7));
        // Once there is more, it may be.
        let mut wire = Wire::established(&best_effort(retransmissions, 400))
            .losing(|sent| is_data_at(sent, 4));
        wire.write(A, 5 * MSS);
        wire.run_for(ms(2000));
        assert_eq!((counters(&wire, A).given_up_bytes, wire.ends[B].delivered()), (0, 4 * MSS));
        wire.write(A, MSS);
        wire.run();
        assert_eq!((holes(&wire), wire.ends[B].delivered()), ([(MSS, 1); 2], 6 * MSS));
    }
}

/// The FIN is behind the last segment, and nothing is behind the FIN.
#[test]
fn a_fin_is_retransmitted_until_it_arrives() {
    for lost in 0..6 {
        let mut fins = 0;
        let mut wire = Wire::established(&best_effort(0, 400)).scripted(move |sent| {
            let is_fin = sent.by == A && sent.is_fin();
            fins += u32::from(is_fin);
            let is_lost = is_fin && fins <= lost || is_data_at(sent, 4);
            if is_lost { Fate::Lost } else { Fate::Arrives }
        });
        wire.write(A, 5 * MSS);
        wire.close(A);
        wire.close(B);
        wire.run();
        assert_eq!(wire.states(), [State::Closed; 2], "{lost}");
        assert!(wire.ends.iter().all(|end| end.abort_cause().is_none()));
        assert_eq!((holes(&wire), wire.ends[B].delivered()), ([(MSS, 1); 2], 5 * MSS));
        assert_eq!(wire.sent(A, Sent::is_fin).count() as u32, 1 + lost, "{lost}");
    }
}

/// All of the stream is lost but the FIN.
#[test]
fn a_stream_of_which_nothing_arrives_ends() {
    for retransmissions in [0, 1] {
        let mut wire =
            Wire::established(&best_effort(retransmissions, 400)).losing(|sent| sent.is_data());
        for end in [A, B] {
            wire.write(end, 5 * MSS + 3);
            wire.close(end);
        }
        wire.run();
        assert_eq!(wire.states(), [State::Closed; 2]);
        assert!(wire.ends.iter().all(|end| end.abort_cause().is_none()));
        for end in [A, B] {
            let BestEffortCounters { given_up_bytes, skipped_bytes, .. } = counters(&wire, end);
            assert_eq!((given_up_bytes, skipped_bytes), (5 * MSS + 3, 5 * MSS + 3));
            assert_eq!(wire.ends[end].delivered(), 5 * MSS + 3);
            assert_eq!(wire.ends[end].info().received, 0);
        }
    }
}

/// The last data in the window counts as last: otherwise SND.UNA would reach its end, and nothing
/// could be sent.
#[test]
fn the_last_segment_in_the_window_is_not_given_up() {
    for retransmissions in [0, 1] {
        let mut copies = 0;
        let config = Config { receive_buffer: Bytes(8 * MSS), ..best_effort(retransmissions, 400) };
        let mut wire = Wire::established(&config).scripted(move |sent| {
            copies += u32::from(is_within(sent, 7..8));
            let is_lost = is_within(sent, 0..7) || is_within(sent, 7..8) && copies <= 5;
            if is_lost { Fate::Lost } else { Fate::Arrives }
        });
        wire.write(A, 20 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 20 * MSS);
        assert_eq!((holes(&wire), copies_at(&wire, 7)), ([(7 * MSS, 1); 2], 6));
    }
}

/// A hole that is filled in time, by a packet that was late.
#[test]
fn a_hole_that_is_filled_meanwhile_is_not_passed() {
    for (late, is_in_time) in [(399, true), (401, false)] {
        let mut wire = Wire::established(&best_effort(0, 400)).scripted(move |sent| {
            if is_data_at(sent, 2) { Fate::Late(ms(late)) } else { Fate::Arrives }
        });
        wire.write(A, 10 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 10 * MSS);
        let skipped = if is_in_time { 0 } else { MSS };
        // The sender could not know.
        assert_eq!(holes(&wire), [(MSS, 1), (skipped, skipped / MSS)], "{late}");
        assert_eq!(wire.ends[B].info().received, 10 * MSS - skipped, "{late}");
    }
}

/// Holes have a time each: with one timer for all of them, the second would wait until 750 ms.
#[test]
fn each_hole_has_its_own_time() {
    let mut wire = Wire::established(&best_effort(0, 400))
        .losing(|sent| is_data_at(sent, 2) || is_data_at(sent, 12) || is_data_at(sent, 14));
    let from = millis(wire.now);
    for _ in 0..40 {
        wire.write(A, MSS);
        wire.run_for(ms(10));
    }
    assert_eq!(delivery(&mut wire, 3 * MSS), from + 30 + 50 + 400);
    assert_eq!(wire.ends[B].delivered(), 12 * MSS);
    assert_eq!(delivery(&mut wire, 13 * MSS), from + 130 + 50 + 400);
    assert_eq!(delivery(&mut wire, 15 * MSS), from + 150 + 50 + 400);
    assert_eq!(wire.ends[B].delivered(), 40 * MSS);
    wire.run();
    assert_eq!(holes(&wire), [(3 * MSS, 3); 2]);
}

/// So much data waits that the receiver waits no longer, whatever the sender does.
#[test]
fn a_level_of_the_buffer_passes_a_hole_at_once() {
    for retransmissions in [0, 3] {
        let mut config = best_effort(retransmissions, 60_000);
        let mut route = config.scps.unwrap();
        route.best_effort.as_mut().unwrap().receive_threshold = Some(Bytes(4 * MSS));
        config.scps = Some(route);
        let mut wire = Wire::established(&config).losing(|sent| is_data_at(sent, 2));
        for _ in 0..7 {
            wire.write(A, MSS);
            wire.run_for(ms(10));
        }
        // Segments 3 to 5 wait, and then 6 arrives.
        wire.run_for(ms(39));
        assert_eq!(counters(&wire, B).skipped_bytes, 0);
        wire.run_for(ms(2));
        assert_eq!(counters(&wire, B).skipped_bytes, MSS);
        wire.write(A, 13 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 20 * MSS);
        assert_eq!(counters(&wire, B).skipped_bytes, MSS);
    }
}

/// Data in order is read first. Then there is nothing to wait for but the hole.
#[test]
fn a_hole_is_passed_when_everything_before_it_was_read() {
    let config = Config { reads_at_once: false, ..best_effort(0, 400) };
    let mut wire = Wire::established(&config).losing(|sent| is_data_at(sent, 5));
    wire.write(A, 10 * MSS);
    for _ in 0..4 {
        wire.run_for(ms(300));
        wire.read(B, MSS);
    }
    assert_eq!((wire.ends[B].unread(), counters(&wire, B).skipped_bytes), (MSS, 0));
    wire.read(B, MSS);
    let read = millis(wire.now);
    wire.run_for(ms(400));
    assert_eq!(wire.ends[B].delivered(), 6 * MSS, "the hole is told");
    assert_eq!((wire.ends[B].unread(), counters(&wire, B).skipped_bytes), (4 * MSS, MSS));
    assert!(millis(wire.now) <= read + 400);
    wire.read(B, 4 * MSS);
    wire.run();
    assert_eq!((wire.ends[B].delivered(), wire.ends[B].info().received), (10 * MSS, 9 * MSS));
}

/// The receiver closes its window with a hole in it, and opens it while it still waits there.
#[test]
fn a_window_that_opens_below_what_was_given_up_is_used() {
    let config = Config {
        reads_at_once: false,
        receive_buffer: Bytes(8 * MSS),
        persist_timeout: ms(60_000),
        ..best_effort(0, 2000)
    };
    let mut wire = Wire::established(&config).losing(|sent| is_data_at(sent, 5));
    wire.write(A, 30 * MSS);
    wire.run_for(ms(1000));
    assert_eq!((wire.ends[A].acknowledged(), wire.ends[B].unread()), (6 * MSS, 5 * MSS));
    let sent = |wire: &Wire| wire.ends[A].counters().segments;
    assert_eq!(sent(&wire), 8);
    wire.read(B, 5 * MSS);
    wire.run_for(ms(300));
    assert_eq!(counters(&wire, B).skipped_bytes, 0);
    assert_eq!(sent(&wire), 13, "the window that B has offered");
}

/// The receiver waits longer than the timer of the sender. Nothing is lost meanwhile.
#[test]
fn the_timer_waits_for_the_receiver() {
    for timestamps in [false, true] {
        for retransmissions in [0, 1] {
            let config = Config { timestamps, ..best_effort(retransmissions, 5000) };
            let mut wire = Wire::established(&config)
                .losing(|sent| is_within(sent, 2..3) && millis(sent.at) < 1_000_000);
            wire.write(A, 10 * MSS);
            wire.run();
            assert_eq!(wire.ends[B].delivered(), 10 * MSS);
            assert_eq!(holes(&wire), [(wire.ends[A].info().mss, 1); 2]);
            // Nothing more is sent, so no report shows that the retransmission was lost.
            assert_eq!(timeouts(&wire), retransmissions, "{timestamps}, {retransmissions}");
        }
    }
}

/// So a sample of the RTT has no wait in it.
#[test]
fn the_ack_that_passes_a_hole_echoes_the_latest_segment() {
    let size = MSS - 12;
    let config = Config { timestamps: true, ..best_effort(3, 200) };
    let is_lost = move |sent: &Sent| {
        sent.by == A && sent.is_data() && sent.segment.sequence == 1_001 + 5 * size as u32
    };
    let mut wire = Wire::established(&config).losing(is_lost);
    for _ in 0..10 {
        wire.write(A, size);
        wire.run_for(ms(10));
    }
    while counters(&wire, B).skipped_bytes == 0 {
        wire.run_for(ms(1));
    }
    wire.run_for(ms(60));
    let arrived = |sent: &Sent| sent.is_data() && !is_lost(sent);
    let latest = wire.sent(A, arrived).last().unwrap().segment.timestamp;
    let passes = |sent: &Sent| sent.segment.acknowledgement == 1_001 + 10 * size as u32;
    assert_eq!(wire.sent(B, passes).next().unwrap().segment.echo, latest);
}

/// The wait of the receiver is no part of the round trip.
#[test]
fn the_wait_at_a_hole_is_not_measured() {
    for timestamps in [false, true] {
        let config = Config { timestamps, ..best_effort(0, 700) };
        // Options take a part of a full segment.
        let size = if timestamps { MSS - 12 } else { MSS };
        let lost = move |sent: &Sent| {
            let place = u64::from(sent.segment.sequence.wrapping_sub(1_001)) / size;
            sent.by == A && sent.is_data() && [20, 40, 50, 90].contains(&place)
        };
        let mut wire = Wire::established(&config).losing(lost);
        let mut largest = 0;
        for _ in 0..200 {
            wire.write(A, size);
            wire.run_for(ms(10));
            let srtt = wire.ends[A].rtt().srtt().unwrap();
            largest = largest.max(srtt.as_nanos() / 1_000_000);
        }
        wire.run();
        // 100 ms, and what the floor of ACKs adds.
        assert!(largest < 170, "{timestamps}: {largest} ms");
        assert_eq!(counters(&wire, B).skipped_bytes, 4 * size);
        assert_eq!(timeouts(&wire), 0);
    }
}
