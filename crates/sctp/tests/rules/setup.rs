//! Set-up in four packets (RFC 9260 section 5).

use sctp::{Config, Kind, State};
use transport::{AbortCause, Endpoint};
use units::Span;

use crate::wire::{A, B, MSS, Wire, at, config, connection, ms};

#[test]
fn four_packets_open_an_association_and_data_goes_with_the_third() {
    let mut wire = Wire::new(&config());
    wire.ends[A].write(300);
    let mut wire = wire.open();
    wire.run_until(at(1100));
    assert_eq!(wire.times(A, Kind::Init), [0]);
    assert_eq!(wire.times(B, Kind::InitAck), [250]);
    assert_eq!(wire.times(A, Kind::CookieEcho), [500]);
    assert_eq!(wire.times(A, Kind::Data), [500]);
    assert_eq!(wire.times(B, Kind::CookieAck), [750]);
    assert_eq!(wire.ends[B].delivered(), 300);
    assert_eq!(wire.states(), [State::Established; 2]);
}

/// Until the COOKIE ACK only the packet of the COOKIE ECHO may carry data (section 5.1).
#[test]
fn other_data_waits_for_the_cookie_ack() {
    let mut wire = Wire::new(&config());
    wire.ends[A].write(10 * MSS);
    let mut wire = wire.open();
    wire.run_until(at(1100));
    let times = wire.times(A, Kind::Data);
    assert_eq!(times[0], 500);
    assert!(times.len() > 1 && times[1..].iter().all(|time| *time >= 1000), "{times:?}");
}

#[test]
fn the_loss_of_any_packet_of_the_set_up_is_repaired() {
    let lost = [(A, Kind::Init), (B, Kind::InitAck), (A, Kind::CookieEcho), (B, Kind::CookieAck)];
    for (by, kind) in lost {
        let mut wire =
            Wire::new(&config()).losing(move |sent| sent.has(by, kind) && sent.at < at(900));
        wire.ends[A].write(300);
        let mut wire = wire.open();
        wire.run_until(at(10_000));
        assert_eq!(wire.states(), [State::Established; 2], "{}", kind.name());
        assert_eq!(wire.ends[B].delivered(), 300, "{}", kind.name());
        assert_eq!(wire.ends[A].acknowledged(), 300, "{}", kind.name());
    }
}

#[test]
fn inits_back_off_and_end_with_an_abort() {
    let config = Config { init_max_retries: 3, ..config() };
    let mut wire = Wire::new(&config).losing(|_| true).open();
    wire.run();
    assert_eq!(wire.times(A, Kind::Init), [0, 1000, 3000, 7000]);
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::Retransmissions));
    assert_eq!(wire.states(), [State::Ended, State::Listen], "the other end has kept nothing");
}

/// Section 5.2.6: a new INIT follows the ERROR.
#[test]
fn a_cookie_that_is_too_old_is_replaced() {
    let config = Config { cookie_life: Span::from_secs(1), ..config() };
    let mut wire = Wire::new(&config)
        .losing(|sent| sent.has(A, Kind::CookieEcho) && sent.at < at(1600))
        .open();
    wire.run_until(at(20_000));
    assert_eq!(wire.ends[B].chunks().of(Kind::Error), 1);
    assert_eq!(wire.ends[A].chunks().of(Kind::Init), 2);
    assert_eq!(wire.states(), [State::Established; 2]);
}

#[test]
fn packets_with_another_tag_are_ignored() {
    let mut wire = Wire::new(&config()).opened();
    wire.write(A, MSS);
    let packet = wire.log.last().unwrap().packet.clone();
    for tag in [packet.tag ^ 2, 0] {
        let mut other = packet.clone();
        other.tag = tag;
        wire.ends[B].on_packet(at(2100), &other);
        assert_eq!(wire.ends[B].delivered(), 0);
    }
    wire.ends[B].on_packet(at(2100), &packet);
    assert_eq!(wire.ends[B].delivered(), MSS);
}

/// The smaller number of streams and of paths counts.
#[test]
fn streams_and_paths_are_negotiated() {
    let own = Config { streams: 7, paths: 2, ..config() };
    let other = Config { streams: 3, paths: 1, ..config() };
    let mut wire = Wire::of([connection(&own, 1), connection(&other, 2)]).opened();
    wire.write(A, 20 * MSS);
    wire.write(B, 20 * MSS);
    wire.run_until(at(9000));
    for end in [A, B] {
        assert_eq!(wire.ends[end].delivered(), 20 * MSS);
        let streams = wire.sent(end, Kind::Data).flat_map(|sent| sent.packet.data());
        assert_eq!(streams.map(|data| data.stream).max(), Some(2));
    }
    assert!(wire.log.iter().all(|sent| sent.packet.path == 0));
}

#[test]
fn the_round_trip_of_the_set_up_is_measured() {
    let wire = Wire::new(&config()).opened();
    let sample = Endpoint::sample(&wire.ends[A]);
    assert_eq!((sample.srtt, sample.rto), (Some(ms(500)), ms(1250)));
}
