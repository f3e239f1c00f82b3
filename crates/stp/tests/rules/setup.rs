//! BGN and BGAK.

use stp::{Config, Kind, State};
use transport::{AbortCause, Endpoint};

use crate::wire::{A, B, MSS, Wire, config};

#[test]
fn the_bgn_carries_the_first_packet_and_the_rest_follows_after_a_round_trip() {
    let mut wire = Wire::new(&config());
    wire.ends[A].write(5 * MSS);
    let mut wire = wire.open();
    wire.run_until(crate::wire::at(300));
    assert_eq!(wire.ends[B].delivered(), MSS, "after half a round trip");
    assert_eq!(wire.ends[A].state(), State::Opening);
    wire.run_until(crate::wire::at(749));
    assert_eq!(wire.times(A, Kind::Data), [500; 4]);
    assert_eq!(wire.ends[A].acknowledged(), MSS, "by the BGAK");
    wire.run_until(crate::wire::at(750));
    assert_eq!(wire.ends[B].delivered(), 5 * MSS);
}

#[test]
fn without_fast_connect_the_bgn_carries_nothing() {
    let mut wire = Wire::new(&Config { fast_connect: false, ..config() });
    wire.ends[A].write(5 * MSS);
    let mut wire = wire.open();
    wire.run_until(crate::wire::at(600));
    assert_eq!(wire.sent(A, Kind::Begin).next().unwrap().packet.payload, 0);
    assert_eq!(wire.times(A, Kind::Data), [500; 5]);
}

#[test]
fn a_lost_bgn_is_repeated_with_its_data() {
    let mut wire = Wire::new(&config()).losing(|sent| sent.is(A, Kind::Begin, 1));
    wire.ends[A].write(MSS);
    let mut wire = wire.open();
    wire.run_until(crate::wire::at(1600));
    assert_eq!(wire.times(A, Kind::Begin), [0, 1000]);
    assert_eq!(wire.ends[B].delivered(), MSS);
    assert_eq!(wire.ends[A].acknowledged(), MSS);
    assert_eq!(wire.states(), [State::Open; 2]);
}

#[test]
fn a_lost_bgak_is_sent_again_for_the_next_bgn_and_the_data_counts_once() {
    let mut wire = Wire::new(&config()).losing(|sent| sent.is(B, Kind::BeginAck, 1));
    wire.ends[A].write(MSS);
    let mut wire = wire.open();
    wire.run_until(crate::wire::at(1600));
    assert_eq!(wire.times(B, Kind::BeginAck), [250, 1250]);
    assert_eq!(wire.ends[B].delivered(), MSS);
    assert_eq!(wire.states(), [State::Open; 2]);
}

#[test]
fn data_of_the_listener_that_passes_a_lost_bgak_is_repaired() {
    let mut wire = Wire::new(&config()).losing(|sent| sent.is(B, Kind::BeginAck, 1)).open();
    wire.run_until(crate::wire::at(260));
    wire.write(B, 3 * MSS);
    wire.run_until(crate::wire::at(4000));
    assert_eq!(wire.ends[A].delivered(), 3 * MSS);
}

#[test]
fn the_opener_gives_up_after_the_last_attempt() {
    let mut wire = Wire::new(&config()).losing(|sent| sent.by == A).open();
    wire.run();
    assert_eq!(wire.times(A, Kind::Begin), [0, 1000, 2000, 3000]);
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::Retransmissions));
}
