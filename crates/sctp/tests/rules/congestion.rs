//! Congestion control of a path (RFC 9260 section 7.2), and Max.Burst (section 6.1).

use sctp::{Config, Kind};
use transport::Endpoint as _;
use units::Bytes;

use crate::wire::{A, MSS, Wire, at, config};

/// A chunk with its header.
const CHUNK: u64 = MSS + 16;

fn cwnd(wire: &Wire) -> u64 {
    wire.ends[A].sample().cwnd
}

/// One chunk for each SACK, which come for every second packet: the window grows by half in a round
/// trip.
#[test]
fn slow_start_grows_by_half_in_a_round_trip() {
    let mut wire = Wire::new(&config()).opened();
    assert_eq!(cwnd(&wire), 4 * CHUNK);
    wire.write(A, 10_000 * MSS);
    let mut expected = 4.0;
    for round_trip in 1..6 {
        wire.run_until(at(2000 + 500 * round_trip + 240));
        expected *= 1.5;
        let found = cwnd(&wire) as f64 / CHUNK as f64;
        assert!((found - expected).abs() <= 1.0, "{found} chunks, expected {expected}");
    }
}

#[test]
fn an_event_releases_four_packets_at_most() {
    let mut wire = Wire::new(&Config { sack_frequency: 20, ..config() }).opened();
    wire.write(A, 10_000 * MSS);
    wire.run_until(at(9000));
    let times = wire.times(A, Kind::Data);
    let most = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
    assert_eq!(most, Some(4));
}

#[test]
fn small_messages_share_packets_and_each_fits_its_window() {
    let config = Config { message_size: Some(Bytes(100)), ..config() };
    let mut wire = Wire::new(&config).opened();
    wire.write(A, 32 * 100);
    wire.run_until(at(9000));
    // A chunk of 100 bytes takes 116, so 8 fit the space of one with 1000.
    let packets: Vec<_> = wire.sent(A, Kind::Data).map(|sent| sent.packet.data().count()).collect();
    assert_eq!(packets, [8; 4]);
    assert_eq!(wire.ends[1].delivered(), 3200);
}
