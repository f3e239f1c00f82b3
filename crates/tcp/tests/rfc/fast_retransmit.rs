//! Fast retransmit and fast recovery without SACK (RFC 5681 section 3.2, RFC 6582, RFC 3042).

use std::sync::Arc;

use congestion::{Specification, Value};
use tcp::Recovery::{self, NewReno, Reno};
use tcp::{Config, Connection, DuplicateWindow, Phase, RecoveryExit, Segment};
use transport::Endpoint;

use crate::script::Script;
use crate::wire::{MSS, config, ms};

fn newreno() -> Script {
    let mut script = Script::sender(NewReno, 20);
    assert_eq!((script.first(), script.cwnd()), (10, 20));
    // Segments 10 to 29 are outstanding.
    script.offer(60_000);
    script.duplicate();
    script
}

/// Two duplicate ACKs and the third; what the third lets out.
fn lose_first(script: &mut Script) -> Vec<u64> {
    script.duplicate();
    script.duplicate();
    script.duplicate()
}

#[test]
fn the_third_duplicate_ack_and_no_earlier_one_retransmits() {
    for recovery in [Reno, NewReno] {
        let mut script = Script::sender(recovery, 20);
        assert_eq!(script.duplicate(), [30]);
        assert_eq!(script.duplicate(), [31]);
        assert_eq!(script.duplicate(), [10], "fast retransmit");
        assert_eq!(script.end.phase(), Phase::FastRecovery);
        assert_eq!(script.end.counters().fast_recoveries, 1);
    }
}

/// RFC 3042 section 2.
#[test]
fn limited_transmit_sends_one_new_segment_for_each_of_the_first_two_duplicates() {
    for (limited_transmit, sent) in [(true, vec![30]), (false, vec![])] {
        let config = Config { recovery: NewReno, limited_transmit, ..config() };
        let mut script = Script::with(&config, 20);
        assert_eq!(script.duplicate(), sent);
    }
}

/// RFC 3042 section 2: only if the receiver's window allows it.
#[test]
fn limited_transmit_respects_the_receivers_window() {
    let mut script = Script::sender(NewReno, 20);
    script.offer(20 * MSS);
    assert_eq!(script.duplicate(), [0; 0], "this one changes the window and is no duplicate");
    assert_eq!(script.duplicate(), [0; 0]);
    assert_eq!(script.duplicate(), [0; 0]);
    assert_eq!(script.duplicate(), [10]);
}

/// RFC 5681 section 3.2 step 2: the flight size without what limited transmit added.
#[test]
fn a_loss_halves_the_flight_without_limited_transmit() {
    let mut script = Script::sender(NewReno, 20);
    lose_first(&mut script);
    assert_eq!(script.ssthresh(), 10);
    assert_eq!(script.cwnd(), 13, "ssthresh and the three segments that have left");
}

/// RFC 5681 section 3.2 step 2, for segments that are far from full.
#[test]
fn limited_transmit_counts_the_bytes_that_it_sent() {
    let mut script = Script::new(&Config { recovery: NewReno, ..config() });
    for _ in 0..4 {
        script.end.write(10);
        script.sent();
    }
    for _ in 0..2 {
        script.duplicate();
        script.end.write(10);
        script.sent();
    }
    assert_eq!(script.end.flight(), 60);
    script.duplicate();
    assert_eq!(script.end.phase(), Phase::FastRecovery);
    assert_eq!(script.ssthresh(), 2, "two segments at least");
}

/// RFC 5681 section 3.2 steps 4 and 6.
#[test]
fn every_further_duplicate_inflates_the_window_until_the_ack_deflates_it() {
    let mut script = Script::sender(NewReno, 20);
    lose_first(&mut script);
    // 22 segments are outstanding; cwnd is 13 and grows by one each time.
    for _ in 14..=22 {
        assert_eq!(script.duplicate(), [0; 0]);
    }
    assert_eq!(script.duplicate(), [32]);
    assert_eq!(script.duplicate(), [33]);
    script.ack(32);
    assert_eq!((script.cwnd(), script.end.phase()), (10, Phase::Open));
}

/// RFC 5681 section 2: what a duplicate ACK is.
#[test]
fn an_ack_with_data_or_a_new_window_or_with_nothing_outstanding_is_no_duplicate() {
    let mut script = Script::sender(NewReno, 20);
    for window in [50_000, 49_000, 48_000, 47_000] {
        script.offer(window);
        script.duplicate();
    }
    for n in 0..4 {
        let data = Segment { payload: 100, ..script.ack_of(10 * MSS) };
        script.receive(Segment { sequence: data.sequence + 100 * n, ..data });
    }
    assert_eq!(script.end.phase(), Phase::Open);

    let mut script = Script::new(&Config { recovery: NewReno, ..config() });
    for _ in 0..5 {
        script.duplicate();
    }
    script.end.write(20 * MSS);
    assert_eq!(script.sent().len(), 10);
    assert_eq!(script.end.phase(), Phase::Open);
}

/// RFC 5681 section 3.2 step 6.
#[test]
fn reno_leaves_recovery_with_the_first_new_ack() {
    let mut script = Script::sender(Reno, 20);
    lose_first(&mut script);
    script.ack(15);
    assert_eq!((script.end.phase(), script.cwnd()), (Phase::Open, 10));
}

/// RFC 5681 has no `recover`: three duplicates after a partial ACK are another loss.
#[test]
fn reno_halves_its_window_once_for_each_loss_in_one_flight() {
    let mut script = Script::sender(Reno, 20);
    lose_first(&mut script);
    script.ack(15);
    assert_eq!(lose_first(&mut script), [15]);
    assert_eq!(script.end.counters().fast_recoveries, 2);
    assert_eq!(script.end.counters().timeouts, 0);
}

/// RFC 6582 section 3.2 step 3.
#[test]
fn a_partial_ack_makes_newreno_send_the_next_hole_and_stay_in_recovery() {
    let mut script = Script::sender(NewReno, 20);
    lose_first(&mut script);
    assert_eq!(script.ack(15)[0], 15);
    assert_eq!(script.end.phase(), Phase::FastRecovery);
    // 13 - 5 acknowledged + 1.
    assert_eq!(script.cwnd(), 9);
    assert_eq!(script.ack(20)[0], 20);
    script.ack(32);
    assert_eq!((script.end.phase(), script.cwnd()), (Phase::Open, 10));
    assert_eq!(script.end.counters().fast_recoveries, 1);
}

/// RFC 6582 section 3.2 step 3: only the first partial ACK restarts the timer.
#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    let mut script = Script::sender(NewReno, 20);
    lose_first(&mut script);
    let armed = script.end.deadline();
    script.wait(ms(100));
    script.ack(12);
    let restarted = script.end.deadline();
    assert_eq!(restarted, script.now + script.end.rtt().rto());
    assert!(restarted > armed);
    script.wait(ms(100));
    script.ack(14);
    assert_eq!(script.end.deadline(), restarted);
    assert_eq!(script.time_out()[0], 14);
    assert_eq!(script.end.phase(), Phase::Timeout);
}

/// RFC 6582 section 3.2 step 2.
#[test]
fn duplicates_for_the_old_window_after_a_timeout_start_no_fast_retransmit() {
    for recovery in [NewReno, Recovery::Sack, Reno] {
        let mut script = Script::sender(recovery, 20);
        script.time_out();
        script.ack(12);
        for n in 14..20 {
            script.sack(12, std::slice::from_ref(&(14..n + 1)));
        }
        assert_eq!(script.end.counters().fast_recoveries, 0, "{recovery:?}");
        script.ack(30);
        script.ack(31);
        for n in 33..38 {
            script.sack(31, std::slice::from_ref(&(33..n + 1)));
        }
        assert_eq!(script.end.counters().fast_recoveries, 1, "the next window may: {recovery:?}");
    }
}

#[test]
fn the_duplicate_threshold_is_configurable() {
    for duplicate_threshold in [1, 2, 5] {
        let config = Config { recovery: NewReno, dupthresh: duplicate_threshold, ..config() };
        let mut script = Script::with(&config, 20);
        for _ in 1..duplicate_threshold {
            assert!(!script.duplicate().contains(&10));
        }
        assert_eq!(script.duplicate()[0], 10);
    }
}

#[test]
fn duplicates_that_are_spread_over_new_acks_do_not_add_up() {
    let mut script = newreno();
    script.duplicate();
    script.ack(11);
    script.duplicate();
    script.duplicate();
    assert_eq!(script.end.phase(), Phase::Open);
    assert_eq!(script.duplicate(), [11]);
}

/// RFC 3782 section 3 step 5, first option: min(ssthresh, flight size + one segment).
#[test]
fn a_recovery_may_leave_a_window_of_the_flight_size_and_one_segment() {
    // ssthresh is 10. Segments 10 to 31 were sent before the recovery, and cwnd was 13 when it
    // began. After n more duplicates it is 13 + n, so that n - 9 new segments are in flight when
    // all before are acknowledged.
    for (recovery_exit, duplicates, cwnd) in [
        (RecoveryExit::Ssthresh, 11, 10),
        (RecoveryExit::FlightSize, 11, 2 + 1),
        (RecoveryExit::FlightSize, 17, 8 + 1),
        (RecoveryExit::FlightSize, 18, 10),
        (RecoveryExit::FlightSize, 19, 10),
    ] {
        let config = Config { recovery: NewReno, recovery_exit, ..config() };
        let mut script = Script::with(&config, 20);
        lose_first(&mut script);
        for _ in 0..duplicates {
            script.duplicate();
        }
        assert_eq!((script.cwnd(), script.ssthresh()), (13 + duplicates, 10));
        assert_eq!(script.end.flight() / MSS, 13 + duplicates);
        script.ack(32);
        assert_eq!(script.end.phase(), Phase::Open);
        assert_eq!(script.cwnd(), cwnd, "{recovery_exit:?} after {duplicates} duplicates");
    }
}

/// OPNET compares the window of an ACK with the one that the sender uses. ADaLR enlarges that one
/// whenever it sizes a segment, until the next ACK.
#[test]
fn an_enlarged_window_may_decide_what_a_duplicate_ack_is() {
    use DuplicateWindow::{Advertised, Sender};
    let named = |name| Specification::named(name).unwrap();
    let mut strict = named("adalr");
    strict.set("rwnd", Value::Word("off".into())).unwrap();
    for (duplicate_window, controller, phase) in [
        (Advertised, named("adalr"), Phase::FastRecovery),
        (Sender, named("adalr"), Phase::Open),
        (Sender, strict, Phase::FastRecovery),
        (Sender, named("newreno"), Phase::FastRecovery),
    ] {
        let config = Config { recovery: NewReno, duplicate_window, ..config() };
        let state = controller.build(&config.controller());
        let end = Connection::new(Arc::new(config.clone()), state, 1_000);
        let mut script = Script::of(&config, end);
        script.end.write(1_000 * MSS);
        assert_eq!(script.sent().len(), 10);
        // The first ACK has another window than the one before.
        script.offer(60_000);
        for _ in 0..1 + 3 {
            script.duplicate();
        }
        assert_eq!(script.end.phase(), phase, "{duplicate_window:?} {controller:?}");
    }
}
