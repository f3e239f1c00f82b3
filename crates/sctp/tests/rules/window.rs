//! The window of the receiver, and zero window probes (RFC 9260 sections 6.1 and 6.2).

use sctp::{Config, Kind};
use transport::Endpoint as _;
use units::Bytes;

use crate::wire::{A, B, MSS, Wire, at, config};

fn slow_reader(lost: impl Fn(&crate::wire::Sent) -> bool + 'static) -> Wire {
    let config = Config { receive_buffer: Bytes(5 * MSS), reads_at_once: false, ..config() };
    let mut wire = Wire::new(&config).losing(lost).opened();
    wire.write(A, 20 * MSS);
    wire.run_until(at(10_000));
    assert_eq!(wire.ends[B].unread(), 5 * MSS);
    wire
}

#[test]
fn a_closed_window_is_probed_ever_more_slowly_and_costs_no_congestion_window() {
    let mut wire = slow_reader(|_| false);
    let window = wire.ends[A].sample().cwnd;
    wire.run_until(at(70_000));
    let times = wire.times(A, Kind::Data);
    let probes = &times[5..];
    assert!((4..12).contains(&probes.len()), "{probes:?}");
    let pauses: Vec<_> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.is_sorted() && pauses[0] >= 1000, "{pauses:?}");
    assert_eq!(wire.ends[A].sample().cwnd, window);
    assert_eq!(wire.ends[A].abort_cause(), None);
    assert_eq!(wire.ends[B].unread(), 5 * MSS);
}

#[test]
fn reading_opens_the_window() {
    let mut wire = slow_reader(|_| false);
    for _ in 0..4 {
        wire.read(B, 5 * MSS);
        wire.run_until(wire.now + crate::wire::ms(2000));
    }
    assert_eq!(wire.ends[B].delivered() + wire.ends[B].unread(), 20 * MSS);
}

#[test]
fn a_lost_window_update_is_found_by_a_probe() {
    let mut wire = slow_reader(|sent| sent.has(B, Kind::Sack) && sent.at == at(10_000));
    wire.read(B, 5 * MSS);
    wire.run_until(at(60_000));
    assert_eq!(wire.ends[B].unread(), 5 * MSS);
    assert_eq!(wire.ends[B].delivered(), 5 * MSS);
}
