//! The end of streams, END and ENDAK.

use stp::{Kind, State};
use transport::{AbortCause, Endpoint};

use crate::wire::{A, B, MSS, Sent, Wire, at, config};

/// Both ends write and close at once.
fn both_close(lost: impl Fn(&Sent) -> bool + 'static) -> Wire {
    let mut wire = Wire::new(&config()).losing(lost).open();
    wire.run_until(at(600));
    for end in [A, B] {
        wire.write(end, 3 * MSS);
        wire.close(end);
    }
    wire.run();
    wire
}

fn assert_complete(wire: &Wire) {
    assert_eq!(wire.states(), [State::Released; 2]);
    for end in [A, B] {
        assert_eq!(wire.ends[end].abort_cause(), None);
        assert_eq!((wire.ends[end].delivered(), wire.ends[end].acknowledged()), (3 * MSS, 3 * MSS));
    }
}

#[test]
fn both_streams_end_and_then_the_connection() {
    assert_complete(&both_close(|_| false));
}

#[test]
fn one_direction_may_end_long_before_the_other() {
    let mut wire = Wire::new(&config()).open();
    wire.run_until(at(600));
    wire.write(A, MSS);
    wire.close(A);
    wire.run_until(at(5000));
    assert!(wire.ends[B].peer_has_finished());
    assert_eq!(wire.states(), [State::Open; 2]);
    wire.write(B, 20 * MSS);
    wire.close(B);
    wire.run_until(at(9000));
    assert_eq!(wire.ends[A].delivered(), 20 * MSS);
    assert_eq!(wire.states(), [State::Released; 2]);
}

#[test]
fn a_lost_end_is_repeated() {
    for end in [A, B] {
        assert_complete(&both_close(move |sent| sent.is(end, Kind::End, 1)));
    }
    assert_complete(&both_close(|sent| sent.packet.kind == Kind::End && sent.nth < 4));
}

#[test]
fn a_lost_endak_is_asked_for_again() {
    let wire = both_close(|sent| sent.packet.kind == Kind::EndAck && sent.nth == 1);
    assert_complete(&wire);
}

#[test]
fn an_end_that_heard_no_end_is_told_again_when_it_asks() {
    let is_lost =
        |sent: &Sent| sent.is_of(A, Kind::Stat) || sent.is_of(A, Kind::End) && sent.nth < 5;
    let mut wire = Wire::new(&config()).losing(is_lost).open();
    wire.run_until(at(600));
    wire.close(A);
    wire.close(B);
    wire.run();
    assert_eq!(wire.states(), [State::Released; 2]);
    assert_eq!(wire.ends[B].abort_cause(), None);
}

#[test]
fn an_abort_resets_the_other_end() {
    let mut wire = Wire::new(&config()).open();
    wire.run_until(at(600));
    wire.write(B, 50 * MSS);
    wire.run_until(at(700));
    wire.ends[A].abort();
    wire.flush();
    wire.run();
    assert_eq!(wire.ends[B].abort_cause(), Some(AbortCause::Reset));
    assert_eq!(wire.states(), [State::Released; 2]);
}

#[test]
fn a_lost_abort_is_repeated_for_whatever_comes() {
    let mut wire = Wire::new(&config()).losing(|sent| sent.is(A, Kind::End, 1)).open();
    wire.run_until(at(600));
    wire.write(B, 50 * MSS);
    wire.run_until(at(700));
    wire.ends[A].abort();
    wire.flush();
    wire.run();
    assert_eq!(wire.ends[B].abort_cause(), Some(AbortCause::Reset));
}

#[test]
fn an_end_that_is_not_answered_gives_up() {
    let mut wire = Wire::new(&config()).losing(|sent| sent.by == B && sent.at >= at(600)).open();
    wire.run_until(at(600));
    wire.write(A, MSS);
    wire.run();
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::UserTimeout));
    // The first POLL comes 750 ms after the data, and the connection ends 7 s later.
    assert_eq!(wire.times(A, Kind::End), [8350]);
}
