//! The congestion window, and the rate.

use stp::{Config, Kind};
use transport::Endpoint as _;
use units::{Rate, Time};

use crate::wire::{A, B, MSS, Sent, Wire, at, config, connection};

fn sending(config: &Config, lost: impl Fn(&Sent) -> bool + 'static) -> Wire {
    let mut wire = Wire::new(config).losing(lost).open();
    wire.run_until(at(1000));
    wire.write(A, 100_000 * MSS);
    wire
}

fn cwnd(wire: &Wire) -> u64 {
    wire.ends[A].sample().cwnd / MSS
}

#[test]
fn slow_start_doubles_the_window_in_each_round_trip() {
    // A POLL covers all but 5 of the 80 packets.
    let mut wire = sending(&config(), |_| false);
    for (round_trips, packets) in [(0, 10), (1, 20), (2, 40), (3, 80), (4, 155)] {
        wire.run_until(at(1000 + 500 * round_trips));
        assert_eq!(cwnd(&wire), packets);
        assert_eq!(wire.ends[A].flight() / MSS, packets);
    }
}

#[test]
fn a_loss_halves_the_window_and_others_of_the_same_window_do_not() {
    let mut wire =
        sending(&config(), |sent| sent.packet.kind == Kind::Data && (40..45).contains(&sent.nth));
    wire.run_until(at(2499));
    assert_eq!(cwnd(&wire), 40);
    wire.run_until(at(2900));
    assert_eq!(cwnd(&wire), 20);
    assert_eq!(wire.ends[A].counters().fast_recoveries, 1);
    wire.run_until(at(6000));
    assert!((22..30).contains(&cwnd(&wire)), "one in a round trip: {}", cwnd(&wire));
}

#[test]
fn a_closed_congestion_window_polls_once_in_a_round_trip() {
    let mut wire = sending(&Config { initial_window: 5, ..config() }, |_| false);
    wire.run_until(at(1400));
    assert_eq!(wire.times(A, Kind::Poll), [1000]);
}

/// SSCOP: 1500 bytes, 2 Mbit/s, a POLL for 25 packets.
#[test]
fn a_rate_spaces_packets_and_few_polls_return_little() {
    let config =
        Config { rate: Some(Rate::from_bits_per_second(2_000_000)), mss: 1468, ..config() };
    let mut wire = Wire::new(&config).open();
    wire.run_until(at(1000));
    wire.write(A, 1 << 30);
    wire.run_until(at(61_000));
    let packets = wire.ends[A].pdus().of(Kind::Data) as f64 / 60.0;
    let stats = wire.ends[B].pdus().of(Kind::Stat) as f64 / 60.0;
    // 1468 bytes of payload have 12 bytes of STP, with a POLL 16, and 20 of IP.
    assert!((packets - 166.7).abs() < 0.2, "{packets} packets per second");
    assert!((stats - 6.67).abs() < 0.1, "{stats} STATs per second, where TCP has 83 ACKs");
}

#[test]
fn losses_do_not_change_a_rate() {
    let config =
        Config { rate: Some(Rate::from_bits_per_second(2_000_000)), mss: 1468, ..config() };
    let mut wire = sending(&config, |sent| sent.packet.kind == Kind::Data && sent.nth % 10 == 0);
    wire.run_until(at(61_000));
    let packets = wire.ends[A].pdus().of(Kind::Data) as f64 / 60.0;
    assert!((packets - 166.7).abs() < 0.5, "{packets} packets per second");
    assert_eq!(wire.ends[A].counters().fast_recoveries, 0);
    let goodput = wire.ends[B].delivered() as f64 * 8.0 / 59.5;
    let expected = 2e6 * 1468.0 / 1500.16 * 0.9;
    assert!((goodput / expected - 1.0).abs() < 0.02, "{goodput} bit/s, expected {expected}");
}

/// Each controller that STP carries fills its window and reduces it after a loss, or does not by
/// its own rule.
#[test]
fn every_controller_that_is_carried_moves_data() {
    let mut carried = 0;
    for entry in congestion::entries() {
        let mut config = config();
        config.fast_connect = false;
        let ends = [1, 2].map(|initial| connection(&config, entry.name, initial));
        if stp::missing(&congestion::Controller::needs(ends[A].controller())).is_some() {
            continue;
        }
        carried += 1;
        let mut wire = Wire::of(ends).losing(|s| s.packet.kind == Kind::Data && s.nth % 400 == 399);
        wire.ends[A].write(3000 * MSS);
        let mut wire = wire.open();
        wire.close(A);
        wire.run_until(Time::ZERO + units::Span::from_secs(600));
        assert_eq!(wire.ends[B].delivered(), 3000 * MSS, "{}", entry.name);
        assert!(wire.ends[B].peer_has_finished(), "{}", entry.name);
    }
    assert!(carried > 5, "{carried}");
}
