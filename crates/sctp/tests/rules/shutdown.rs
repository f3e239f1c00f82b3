//! Shutdown and abort (RFC 9260 sections 8.4 and 9).

use sctp::{Config, Kind, State};
use transport::{AbortCause, Endpoint};

use crate::wire::{A, B, MSS, Sent, Wire, at, config};

/// A writes 3 chunks and B 5. Then A closes.
fn closed(lost: impl Fn(&Sent) -> bool + 'static) -> Wire {
    let mut wire = Wire::new(&config()).losing(lost).opened();
    wire.write(A, 3 * MSS);
    wire.write(B, 5 * MSS);
    wire.close(A);
    wire.run();
    wire
}

fn assert_complete(wire: &Wire) {
    assert_eq!(wire.states(), [State::Ended; 2]);
    for (end, bytes) in [(A, 3 * MSS), (B, 5 * MSS)] {
        assert_eq!(wire.ends[end].abort_cause(), None);
        assert_eq!((wire.ends[1 - end].delivered(), wire.ends[end].acknowledged()), (bytes, bytes));
    }
}

#[test]
fn what_both_ends_have_written_arrives_before_the_association_ends() {
    let wire = closed(|_| false);
    assert_complete(&wire);
    // Data that arrives after the first SHUTDOWN is answered with another one.
    assert!(wire.ends[A].chunks().of(Kind::Shutdown) >= 1);
    for (end, kind) in [(B, Kind::ShutdownAck), (A, Kind::ShutdownComplete)] {
        assert_eq!(wire.ends[end].chunks().of(kind), 1, "{}", kind.name());
    }
}

#[test]
fn the_loss_of_any_packet_of_the_shutdown_is_repaired() {
    let kinds = [(A, Kind::Shutdown), (B, Kind::ShutdownAck), (A, Kind::ShutdownComplete)];
    for (by, kind) in kinds {
        assert_complete(&closed(move |sent| sent.is(by, kind, 1)));
        assert_complete(&closed(move |sent| sent.is_of(by, kind) && sent.nth < 4));
    }
}

#[test]
fn both_ends_may_close_at_once() {
    let mut wire = Wire::new(&config()).opened();
    for end in [A, B] {
        wire.write(end, if end == A { 3 } else { 5 } * MSS);
        wire.close(end);
    }
    wire.run();
    assert_complete(&wire);
}

#[test]
fn nothing_is_taken_from_an_application_after_a_shutdown() {
    let mut wire = closed(|_| false);
    wire.write(B, MSS);
    wire.run();
    assert_complete(&wire);
}

#[test]
fn an_abort_resets_the_other_end_even_if_the_first_one_is_lost() {
    for lost in [false, true] {
        let mut wire =
            Wire::new(&config()).losing(move |sent| lost && sent.is(A, Kind::Abort, 1)).opened();
        wire.write(B, 50 * MSS);
        wire.run_until(at(2100));
        wire.ends[A].abort();
        wire.flush();
        wire.run();
        assert_eq!(wire.states(), [State::Ended; 2]);
        assert_eq!(wire.ends[B].abort_cause(), Some(AbortCause::Reset));
    }
}

/// Section 8.1: Association.Max.Retrans, with an RTO of 1.25 s that doubles.
#[test]
fn an_end_without_answers_gives_up() {
    let config = Config { max_retries: 3, ..config() };
    let mut wire = Wire::new(&config).losing(|sent| sent.by == B && sent.at > at(1999)).opened();
    wire.write(A, MSS);
    wire.run();
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::Retransmissions));
    assert_eq!(wire.times(A, Kind::Data), [2000, 3250, 5750, 10_750]);
    assert_eq!(wire.times(A, Kind::Abort), [20_750]);
}
