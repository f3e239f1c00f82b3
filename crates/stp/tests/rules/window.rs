//! Credit, idle connections, and data that waits.

use stp::{Config, Kind};
use transport::Endpoint;
use units::Bytes;

use crate::wire::{A, B, MSS, Wire, at, config};

fn slow_reader(packets: u64) -> Wire {
    let mut wire = Wire::new(&Config {
        receive_buffer: Bytes(packets * MSS),
        reads_at_once: false,
        ..config()
    })
    .open();
    wire.run_until(at(1000));
    wire
}

#[test]
fn no_more_is_sent_than_the_credit_and_timer_poll_finds_that_it_opens() {
    let mut wire = slow_reader(4);
    wire.write(A, 6 * MSS);
    wire.run_until(at(1600));
    assert_eq!(wire.sent(A, Kind::Data).count(), 4);
    assert_eq!(wire.times(A, Kind::Poll), [1000], "when the window closes");
    wire.run_until(at(1990));
    wire.read(B, 2 * MSS);
    wire.run_until(at(5000));
    // The POLL of 1750 ms arrives behind the reader.
    assert_eq!(wire.times(A, Kind::Data)[4..], [2250; 2]);
    assert_eq!(wire.ends[B].unread(), 4 * MSS);
}

#[test]
fn a_closed_window_may_stay_closed_for_long() {
    let mut wire = slow_reader(2);
    wire.write(A, 3 * MSS);
    wire.run_until(at(60_000));
    assert_eq!(wire.ends[A].abort_cause(), None);
    assert_eq!(wire.ends[B].unread(), 2 * MSS);
    let polls = wire.sent(A, Kind::Poll).count();
    assert!((75..82).contains(&polls), "{polls} in 59 s, one in 750 ms");
    wire.read(B, 2 * MSS);
    wire.run_until(at(62_000));
    assert_eq!(wire.ends[B].unread(), MSS);
}

#[test]
fn the_end_of_the_stream_waits_for_credit_too() {
    let mut wire = slow_reader(1);
    wire.write(A, MSS);
    wire.run_until(at(2000));
    wire.close(A);
    wire.run_until(at(3000));
    assert!(!wire.ends[B].peer_has_finished());
    wire.read(B, MSS);
    wire.run_until(at(5000));
    assert!(wire.ends[B].peer_has_finished());
}

#[test]
fn an_idle_connection_polls_every_15_s() {
    let mut wire = Wire::new(&config()).open();
    wire.run_until(at(40_000));
    assert_eq!(wire.times(A, Kind::Poll), [15_500, 31_000]);
    assert_eq!(wire.times(B, Kind::Poll), [15_250, 30_750]);
}

#[test]
fn withdrawn_data_is_not_sent() {
    let mut wire = Wire::new(&config()).open();
    wire.run_until(at(1000));
    wire.write(A, 50 * MSS);
    assert_eq!(wire.ends[A].withdraw(), 10 * MSS, "the window has let out ten");
    wire.close(A);
    wire.run_until(at(5000));
    assert_eq!(wire.ends[B].delivered(), 10 * MSS);
    assert!(wire.ends[B].peer_has_finished());
}
