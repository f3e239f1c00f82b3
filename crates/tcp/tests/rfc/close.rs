//! Close (RFC 9293 section 3.6).

use tcp::{Config, Flags, State};
use transport::Endpoint;
use units::{Bytes, Span};

use crate::wire::{A, B, Fate, MSS, Sent, Wire, config, ms};

#[test]
fn the_end_that_closes_first_waits_and_the_other_does_not() {
    for (first, last) in [(A, B), (B, A)] {
        let mut wire = Wire::established(&config());
        wire.close(first);
        wire.run_for(ms(60));
        assert_eq!(wire.ends[first].state(), State::FinWait1);
        assert_eq!(wire.ends[last].state(), State::CloseWait);
        wire.run_for(ms(100));
        assert_eq!(wire.ends[first].state(), State::FinWait2);
        wire.close(last);
        assert_eq!(wire.ends[last].state(), State::LastAck);
        wire.run_for(ms(60));
        assert_eq!(wire.ends[first].state(), State::TimeWait);
        wire.run_for(ms(60));
        assert_eq!(wire.ends[last].state(), State::Closed);
        wire.run_for(Span::from_secs(240));
        assert_eq!(wire.states(), [State::Closed; 2]);
    }
}

/// RFC 9293 section 3.6, case 3.
#[test]
fn both_may_close_at_once() {
    let mut wire = Wire::established(&config());
    wire.ends[A].close();
    wire.ends[B].close();
    wire.flush();
    wire.run_for(ms(60));
    assert_eq!(wire.states(), [State::Closing; 2]);
    wire.run_for(ms(60));
    assert_eq!(wire.states(), [State::TimeWait; 2]);
}

/// RFC 9293 section 3.10.5: where both ends have closed, an ABORT sends no reset.
#[test]
fn an_abort_sends_a_reset_unless_both_ends_have_closed() {
    let both = |wire: &mut Wire| {
        wire.ends[A].close();
        wire.ends[B].close();
        wire.flush();
    };
    let prepared = |closing: &dyn Fn(&mut Wire), wait: u64| {
        let mut wire = Wire::established(&config());
        closing(&mut wire);
        wire.run_for(ms(wait));
        wire
    };
    let cases = [
        (State::Established, prepared(&|_| {}, 1)),
        (State::FinWait1, prepared(&|wire| wire.close(A), 1)),
        (State::FinWait2, prepared(&|wire| wire.close(A), 160)),
        (State::CloseWait, prepared(&|wire| wire.close(B), 60)),
        (State::Closing, prepared(&both, 60)),
        (State::TimeWait, prepared(&both, 120)),
    ];
    for (state, mut wire) in cases {
        assert_eq!(wire.ends[A].state(), state);
        wire.ends[A].abort();
        wire.flush();
        let resets = wire.sent(A, |sent| sent.segment.flags.contains(Flags::RST)).count();
        let both_have_closed = matches!(state, State::Closing | State::TimeWait);
        assert_eq!(resets, usize::from(!both_have_closed), "{state:?}");
        assert_eq!(wire.ends[A].state(), State::Closed);
    }
    let mut wire = prepared(&|wire| wire.close(B), 60);
    wire.ends[A].close();
    assert_eq!(wire.ends[A].state(), State::LastAck);
    wire.ends[A].abort();
    wire.flush();
    assert_eq!(wire.sent(A, |sent| sent.segment.flags.contains(Flags::RST)).count(), 0);
}

#[test]
fn a_half_closed_connection_still_carries_data_the_other_way() {
    let mut wire = Wire::established(&config());
    wire.close(A);
    wire.run_for(ms(200));
    wire.write(B, 30 * MSS);
    wire.close(B);
    wire.run_for(Span::from_secs(5));
    assert_eq!(wire.ends[A].delivered(), 30 * MSS);
    assert_eq!(wire.states(), [State::TimeWait, State::Closed]);
}

/// Number and length of the data segments, and which segments had the FIN.
fn close_after(segments: u64) -> (Vec<(usize, bool)>, Wire) {
    let mut wire = Wire::established(&config());
    wire.ends[A].write(segments * MSS);
    wire.close(A);
    wire.run_for(Span::from_secs(2));
    let fins = wire.sent(A, |sent| sent.is_fin()).map(|s| (s.nth, s.is_data())).collect();
    (fins, wire)
}

#[test]
fn a_fin_rides_on_data_that_waits_and_goes_alone_after_data_that_leaves_at_once() {
    for (segments, rides) in [(5, false), (10, false), (11, true), (30, true)] {
        let (fins, wire) = close_after(segments);
        assert_eq!(fins.len(), 1, "{fins:?}");
        assert_eq!(fins[0].1, rides, "after {segments} segments: {fins:?}");
        assert_eq!(wire.ends[B].delivered(), segments * MSS);
        assert!(wire.ends[B].peer_has_finished());
    }
}

#[test]
fn a_lost_fin_is_sent_again() {
    for end in [A, B] {
        let mut wire = Wire::established(&config());
        wire = wire.losing(move |sent| sent.by == end && sent.is_fin() && sent.nth == 1);
        wire.close(A);
        wire.run_for(ms(2000));
        wire.close(B);
        wire.run_for(ms(2000));
        assert_eq!(wire.states(), [State::TimeWait, State::Closed]);
        assert_eq!(wire.sent(end, |sent| sent.is_fin()).count(), 2);
    }
}

#[test]
fn a_lost_fin_on_a_data_segment_is_repaired_with_the_data() {
    let mut wire = Wire::established(&config());
    wire = wire.losing(|sent| sent.is_data() && sent.is_fin() && sent.nth == 15);
    wire.ends[A].write(15 * MSS);
    wire.close(A);
    wire.run_for(Span::from_secs(5));
    assert_eq!(wire.sent(A, |sent| sent.is_fin()).count(), 2);
    assert_eq!(wire.ends[B].delivered(), 15 * MSS);
    assert_eq!(wire.states(), [State::FinWait2, State::CloseWait]);
}

/// RFC 9293 section 3.10.7.4, TIME-WAIT: "acknowledge it, and restart the 2 MSL timeout".
#[test]
fn a_fin_that_comes_again_restarts_time_wait() {
    let mut wire = Wire::established(&config());
    let mut acks_lost = 0;
    wire = wire.scripted(move |sent| {
        // The answer to B's FIN is lost once.
        if sent.by == A && sent.is_bare_ack() && acks_lost == 0 {
            acks_lost += 1;
            return Fate::Lost;
        }
        Fate::Arrives
    });
    let start = wire.now;
    wire.close(A);
    wire.run_for(ms(200));
    wire.close(B);
    wire.run_for(ms(60));
    assert_eq!(wire.states(), [State::TimeWait, State::LastAck]);
    assert_eq!(wire.ends[A].deadline(), start + ms(250) + Span::from_secs(240));
    wire.run_for(ms(2000));
    assert_eq!(wire.states(), [State::TimeWait, State::Closed]);
    assert_eq!(wire.ends[A].deadline(), start + ms(1250) + Span::from_secs(240));
}

#[test]
fn a_close_during_set_up_waits_for_the_data_before_it() {
    let mut wire = Wire::new(&config());
    wire.ends[A].connect();
    wire.ends[B].listen();
    wire.ends[A].write(2 * MSS);
    wire.ends[A].close();
    wire.flush();
    wire.run_for(Span::from_secs(1));
    assert_eq!(wire.ends[B].delivered(), 2 * MSS);
    assert_eq!(wire.states(), [State::FinWait2, State::CloseWait]);
}

/// As from a process that waits for connect() or accept() before it writes and closes: a SYN that
/// was lost in between, or an ACK that came late, changes nothing of it.
#[test]
fn data_written_before_the_connection_is_open_has_not_waited_for_a_window() {
    for end in [A, B] {
        for (segments, rides) in [(5, false), (10, false), (11, true), (30, true)] {
            for lost in [None, Some(A), Some(B)] {
                let mut wire = Wire::new(&config())
                    .losing(move |sent| sent.is_syn() && sent.nth == 1 && Some(sent.by) == lost);
                wire.ends[end].write(segments * MSS);
                wire.ends[A].connect();
                wire.ends[B].listen();
                wire.close(end);
                wire.run_for(Span::from_secs(20));
                // An end with two SYNs has an initial window of one segment.
                let rides = rides || wire.sent(end, Sent::is_syn).count() > 1;
                let fins: Vec<_> = wire.sent(end, Sent::is_fin).map(Sent::is_data).collect();
                assert_eq!(fins, [rides], "{segments} segments, end {end}, lost SYN of {lost:?}");
                assert_eq!(wire.ends[1 - end].delivered(), segments * MSS);
                assert!(wire.ends[1 - end].peer_has_finished());
            }
        }
    }
}

#[test]
fn what_was_never_sent_is_taken_back_and_the_fin_follows_what_was() {
    let mut wire = Wire::established(&config());
    wire = wire.losing(|sent| sent.is_data() && sent.nth == 1);
    wire.ends[A].write(1 << 40);
    wire.close(A);
    let sent = wire.sent(A, |sent| sent.is_data()).count() as u64;
    assert!(sent > 1);
    assert_eq!(wire.ends[A].withdraw(), sent * MSS);
    wire.run_for(Span::from_secs(10));
    assert_eq!(wire.ends[B].delivered(), sent * MSS);
    assert!(wire.ends[B].peer_has_finished());
    // Everything is sent, so there is nothing left to take back.
    assert_eq!(wire.ends[A].withdraw(), sent * MSS);
}

#[test]
fn data_behind_a_closed_window_is_taken_back_but_for_the_probe() {
    let config = Config { receive_buffer: Bytes(2 * MSS), reads_at_once: false, ..config() };
    for (wait, rest) in [(ms(500), 0), (Span::from_secs(3), 1)] {
        let mut wire = Wire::established(&config);
        wire.ends[A].write(9 * MSS);
        wire.close(A);
        wire.run_for(wait);
        assert_eq!(wire.ends[A].withdraw(), 2 * MSS + rest);
        wire.flush();
        wire.read(B, 2 * MSS);
        wire.run_for(Span::from_secs(10));
        wire.read(B, rest);
        assert_eq!(wire.ends[B].delivered(), 2 * MSS + rest);
        assert!(wire.ends[B].peer_has_finished());
    }
}

#[test]
fn a_closed_connection_is_silent() {
    let mut wire = Wire::established(&config());
    wire.close(A);
    wire.run_for(ms(200));
    wire.close(B);
    wire.run();
    assert_eq!(wire.states(), [State::Closed; 2]);
    wire.forget();
    for end in [A, B] {
        assert!(wire.ends[end].next_packet(wire.now).is_none());
        assert_eq!(wire.ends[end].deadline(), units::Time::NEVER);
    }
}
