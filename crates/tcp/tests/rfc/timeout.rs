//! The retransmission timer (RFC 6298) and what a timeout does (RFC 5681 section 3.1).

use std::sync::Arc;

use congestion::{Settings, Specification};
use tcp::Recovery::{NewReno, Reno, Sack};
use tcp::{Config, Connection, Flags, Phase, SsthreshBasis, State};
use transport::{AbortCause, Endpoint};
use units::{Span, Time};

use crate::script::Script;
use crate::wire::{A, B, MSS, Sent, Wire, config, ms};

/// Rules 5.1 and 5.3.
#[test]
fn the_timer_starts_with_the_first_segment_and_again_with_each_new_ack() {
    let mut script = Script::new(&config());
    assert_eq!(script.end.deadline(), Time::NEVER);
    script.end.write(3 * MSS);
    script.sent();
    let rto = script.end.rtt().rto();
    assert_eq!(script.end.deadline(), script.now + rto);
    let armed = script.end.deadline();
    script.wait(ms(50));
    script.end.write(MSS);
    script.sent();
    assert_eq!(script.end.deadline(), armed, "more data does not restart it");
    script.ack(1);
    assert_eq!(script.end.deadline(), script.now + script.end.rtt().rto());
    // Rule 5.2.
    script.ack(4);
    assert_eq!(script.end.deadline(), Time::NEVER);
}

/// Rules 5.4 to 5.6.
#[test]
fn a_timeout_sends_the_first_segment_and_doubles_the_timer() {
    let mut script = Script::sender(NewReno, 20);
    let rto = script.end.rtt().rto();
    assert_eq!(script.time_out(), [10]);
    assert_eq!(script.end.rtt().rto(), rto * 2);
    assert_eq!(script.end.deadline(), script.now + rto * 2);
    assert_eq!(script.time_out(), [10]);
    assert_eq!(script.end.deadline(), script.now + rto * 4);
}

/// Rule 2.5, and the end of the back-off: section 5, last paragraph.
#[test]
fn the_back_off_is_bounded_and_ends_with_a_sample_of_new_data() {
    let mut base = config();
    base.rto.max = Span::from_secs(5);
    let mut script = Script::with(&base, 10);
    for _ in 0..8 {
        script.time_out();
    }
    assert_eq!(script.end.rtt().rto(), Span::from_secs(5));
    script.wait(ms(100));
    script.ack(10);
    assert_eq!(script.end.rtt().rto(), Span::from_secs(5), "Karn: no sample");
    script.wait(ms(100));
    script.ack(11);
    assert_eq!(script.end.rtt().rto(), ms(1000), "segment 10 was sent once");
}

/// Rule 2.4.
#[test]
fn the_rto_is_never_below_its_minimum() {
    for min in [200, 1000, 3000] {
        let mut config = config();
        config.rto.min = ms(min);
        let mut wire = Wire::established(&config);
        wire.write(A, 500 * MSS);
        wire.run();
        assert!(wire.ends[A].rtt().rto() >= ms(min));
        assert!(wire.ends[A].rtt().rto() < ms(min + 150));
    }
}

/// Section 3, Karn's algorithm.
#[test]
fn a_segment_that_was_sent_twice_is_no_sample() {
    for recovery in [Reno, NewReno, Sack] {
        let mut script = Script::sender(recovery, 20);
        let srtt = script.end.rtt().srtt();
        script.time_out();
        script.wait(ms(700));
        script.ack(11);
        assert_eq!(script.end.rtt().srtt(), srtt, "{recovery:?}");
    }
}

/// RFC 5681 section 3.1, equation 4.
#[test]
fn a_timeout_sets_cwnd_to_one_segment_and_ssthresh_to_half_the_flight() {
    let mut script = Script::sender(NewReno, 20);
    script.time_out();
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 10));
    assert_eq!(script.end.phase(), Phase::Timeout);
    script.time_out();
    assert_eq!(script.ssthresh(), 10, "held constant while the same segment times out again");
}

/// The flight of a recovery is still that of the window before the loss.
#[test]
fn a_timeout_in_a_recovery_halves_the_window_again_only_if_a_loss_halves_the_window() {
    for (ssthresh_basis, ssthresh) in [(SsthreshBasis::FlightSize, 10), (SsthreshBasis::Cwnd, 5)] {
        let mut script = Script::with(&Config { recovery: Sack, ssthresh_basis, ..config() }, 20);
        script.sack(10, std::slice::from_ref(&(11..14)));
        assert_eq!((script.end.phase(), script.cwnd()), (Phase::FastRecovery, 10));
        script.time_out();
        assert_eq!(script.ssthresh(), ssthresh);
    }
}

#[test]
fn after_a_timeout_slow_start_sends_everything_again() {
    for recovery in [Reno, NewReno, Sack] {
        let mut script = Script::sender(recovery, 20);
        assert_eq!(script.time_out(), [10]);
        assert_eq!(script.ack(11), [11, 12]);
        assert_eq!(script.ack(12), [13, 14]);
        // The receiver had all the rest.
        assert_eq!(script.ack(30)[0], 30);
        assert_eq!(script.end.phase(), Phase::Open);
    }
}

/// RFC 5681: retransmissions have priority over the end of the stream, however short that is.
#[test]
fn after_a_timeout_nothing_new_is_sent_before_what_was_lost() {
    let mut script = Script::new(&Config { recovery: NewReno, ..config() });
    script.end.write(10 * MSS);
    script.sent();
    script.time_out();
    // The ACK of half a segment: cwnd grows by half a segment only.
    script.end.write(100);
    let half = script.ack_of(500);
    let sent = script.receive(half);
    assert!(sent.iter().all(|n| *n < 10), "{sent:?}");
}

/// RFC 3465 section 2.3: L is 1 in the slow start after a timeout, whatever it is otherwise.
#[test]
fn byte_counting_is_by_single_segments_after_a_timeout() {
    let config = Config { recovery: NewReno, ..config() };
    let settings = Settings { byte_counting: 2, ..config.controller() };
    let controller = Specification::named("newreno").unwrap().build(&settings);
    let end = Connection::new(Arc::new(config.clone()), controller, 1_000);
    let mut script = Script::of(&config, end);
    script.end.write(100 * MSS);
    assert_eq!(script.sent().len(), 10);
    script.ack(2);
    assert_eq!(script.cwnd(), 12, "L = 2");
    script.time_out();
    script.ack(6);
    assert_eq!(script.cwnd(), 2, "L = 1");
}

/// RFC 9293 section 3.8.3: R2.
#[test]
fn a_connection_is_aborted_after_so_many_retransmissions_of_one_segment() {
    for max_retries in [1, 3, 15] {
        let config = Config { max_retries, ..config() };
        let mut wire = Wire::established(&config);
        wire = wire.losing(|sent| sent.is_data());
        wire.forget();
        wire.write(A, MSS);
        wire.run();
        let sent = wire.sent(A, Sent::is_data).count() as u32;
        assert_eq!(sent, 1 + max_retries);
        assert!(wire.ends[A].abort_cause().is_some());
        assert_eq!(wire.ends[A].state(), State::Closed);
    }
}

#[test]
fn an_aborted_connection_answers_with_resets_only() {
    let config = Config { max_retries: 1, ..config() };
    let mut wire = Wire::established(&config).losing(|sent| sent.by == A && sent.is_data());
    wire.write(A, MSS);
    // Data of the other end arrives just before the abort; its delayed ACK comes due after it.
    wire.run_for(ms(2880));
    wire.write(B, 100);
    wire.run_for(ms(130));
    assert!(wire.ends[A].abort_cause().is_some());
    wire.forget();
    wire.run_for(Span::from_secs(20));
    // RFC 9293 section 3.10.7.1.
    assert_eq!(wire.sent(A, |_| true).count(), 1);
    assert_eq!(wire.sent(A, |sent| sent.segment.flags.contains(Flags::RST)).count(), 1);
    assert!(wire.ends[B].abort_cause() == Some(AbortCause::Reset));
    assert_eq!(wire.ends[A].deadline(), Time::NEVER);
}

#[test]
fn the_count_of_retransmissions_starts_again_with_each_new_ack() {
    let config = Config { max_retries: 2, ..config() };
    let mut wire = Wire::established(&config);
    // Each segment needs three attempts.
    wire = wire.losing(|sent| sent.by == A && sent.is_data() && sent.nth % 3 != 0);
    for _ in 0..5 {
        wire.write(A, 100);
        wire.run();
    }
    assert!(wire.ends[A].abort_cause().is_none());
    assert_eq!(wire.ends[B].delivered(), 500);
}
