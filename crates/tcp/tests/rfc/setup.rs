//! Set-up (RFC 9293 sections 3.5 and 3.8.3, RFC 6298 rule 5.7, RFC 5681 section 3.1).

use congestion::Controller;
use tcp::{Config, State};
use transport::Endpoint;
use units::Span;

use crate::wire::{A, B, Fate, MSS, Wire, config, connection, ms};

#[test]
fn three_segments_open_a_connection() {
    let mut wire = Wire::new(&config()).open();
    wire.run();
    assert_eq!(wire.states(), [State::Established; 2]);
    assert_eq!(wire.log.len(), 3);
    assert_eq!(wire.ends[A].rtt().srtt(), Some(ms(100)), "the SYN is an RTT sample");
    assert_eq!(wire.ends[B].rtt().srtt(), Some(ms(100)));
}

/// RFC 6298 rules 2.1 and 5.5.
#[test]
fn a_syn_without_an_answer_is_sent_again_with_back_off() {
    let mut wire = Wire::new(&config()).losing(|s| s.by == A && s.is_syn() && s.nth <= 3).open();
    wire.run();
    assert_eq!(wire.times(A, |sent| sent.is_syn()), [0, 1000, 3000, 7000]);
    assert_eq!(wire.states(), [State::Established; 2]);
}

/// RFC 9293 section 3.8.3: R2.
#[test]
fn a_syn_that_nobody_ever_answers_is_given_up() {
    let few = Config { max_retries: 3, ..config() };
    let mut wire = Wire::new(&few).losing(|_| true).open();
    wire.run();
    assert_eq!(wire.times(A, |sent| sent.is_syn()), [0, 1000, 3000, 7000]);
    assert!(wire.ends[A].abort_cause().is_some());
    assert_eq!(wire.ends[A].state(), State::Closed);
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    let mut wire = Wire::new(&config()).losing(|s| s.by == B && s.is_syn() && s.nth == 1).open();
    wire.run();
    assert_eq!(wire.states(), [State::Established; 2]);
}

#[test]
fn a_lost_third_ack_is_repeated_when_the_syn_ack_comes_again() {
    let mut wire = Wire::new(&config()).losing(|s| s.by == A && s.is_bare_ack() && s.nth == 1);
    wire = wire.open();
    wire.run();
    assert_eq!(wire.states(), [State::Established; 2]);
    assert_eq!(wire.times(B, |sent| sent.is_syn()), [50, 1050]);
    assert_eq!(wire.times(A, |sent| sent.is_bare_ack()), [100, 1100]);
}

#[test]
fn data_stands_in_for_a_lost_third_ack() {
    let mut wire = Wire::new(&config()).losing(|s| s.by == A && s.is_bare_ack() && s.nth == 1);
    wire = wire.open();
    wire.ends[A].write(3 * MSS);
    wire.run_for(ms(200));
    assert_eq!(wire.states(), [State::Established; 2]);
    assert_eq!(wire.ends[B].delivered(), 3 * MSS);
}

/// RFC 6298 rule 5.7.
#[test]
fn the_rto_is_three_seconds_after_a_lost_syn() {
    let mut wire = Wire::new(&config()).losing(|s| s.by == A && s.is_syn() && s.nth == 1).open();
    wire.run_for(ms(1200));
    assert_eq!(wire.ends[A].state(), State::Established);
    assert_eq!(wire.ends[A].rtt().rto(), Span::from_secs(3));
    assert_eq!(wire.ends[A].rtt().srtt(), None, "Karn: the answer may be to either SYN");
}

/// RFC 5681 section 3.1.
#[test]
fn the_initial_window_is_one_segment_after_a_lost_syn() {
    let mut wire = Wire::new(&config()).losing(|s| s.by == A && s.is_syn() && s.nth == 1).open();
    wire.ends[A].write(20 * MSS);
    wire.run_for(ms(1180));
    assert_eq!(wire.sent(A, |sent| sent.is_data()).count(), 1);
}

/// RFC 5681 section 3.1: "the SYN or SYN/ACK".
#[test]
fn the_initial_window_of_the_listener_is_one_segment_after_a_lost_syn_ack() {
    for initial in [1000, 3000] {
        // With a longer timer of its own, the listener learns of the loss from the second SYN.
        let mut slow = config();
        slow.rto.initial = ms(initial);
        let mut wire = Wire::between(&config(), &slow)
            .losing(|sent| sent.by == B && sent.is_syn() && sent.nth == 1)
            .open();
        wire.run_for(ms(1180));
        assert_eq!(wire.states(), [State::Established; 2]);
        assert_eq!(wire.ends[B].controller().window().cwnd, MSS, "RTO {initial} ms");
    }
}

/// RFC 6298 section 3.
#[test]
fn a_syn_ack_that_was_sent_twice_is_no_rtt_sample() {
    // The network makes two SYNs out of one, and the second SYN-ACK answers the second.
    let mut wire = Wire::new(&config())
        .scripted(|sent| match (sent.by, sent.is_syn()) {
            (A, true) => Fate::Twice(ms(90)),
            _ => Fate::Arrives,
        })
        .open();
    wire.run();
    assert_eq!(wire.states(), [State::Established; 2]);
    assert_eq!(wire.sent(B, |sent| sent.is_syn()).count(), 2);
    assert_eq!(wire.ends[B].rtt().srtt(), None);
}

#[test]
fn an_old_syn_does_not_disturb_an_open_connection() {
    let mut wire = Wire::new(&config())
        .scripted(|sent| if sent.is_syn() { Fate::Twice(ms(5000)) } else { Fate::Arrives })
        .open();
    wire.run_for(ms(200));
    wire.write(A, 3 * MSS);
    wire.run();
    assert_eq!(wire.states(), [State::Established; 2]);
    assert_eq!(wire.ends[B].delivered(), 3 * MSS);
}

/// RFC 9293 section 3.5, figure 7 (MUST-10).
#[test]
fn two_ends_may_open_at_once() {
    let mut wire = Wire::new(&config());
    wire.ends[A].connect();
    wire.ends[B].connect();
    wire.flush();
    wire.run_for(ms(3000));
    assert_eq!(wire.states(), [State::Established; 2]);
    wire.write(A, 3 * MSS);
    wire.write(B, 2 * MSS);
    wire.run_for(ms(500));
    assert_eq!((wire.ends[B].delivered(), wire.ends[A].delivered()), (3 * MSS, 2 * MSS));
}

/// RFC 9293 section 3.4: all arithmetic is modulo 2^32.
#[test]
fn sequence_numbers_may_wrap_at_any_moment() {
    for before in [0, 1, 2, 999, 1000, 1001, 30_000] {
        let first = u32::MAX - before;
        let ends = [connection(&config(), first), connection(&config(), first - 7)];
        let mut wire = Wire::of(ends)
            .losing(|sent| sent.is_data() && [2, 5, 6, 31].contains(&sent.nth))
            .open();
        wire.ends[A].write(40 * MSS);
        wire.ends[B].write(40 * MSS);
        wire.run();
        let delivered = wire.ends.each_ref().map(|end| end.delivered());
        assert_eq!(delivered, [40 * MSS; 2], "first number {first}");
    }
}
