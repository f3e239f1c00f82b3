//! Set-up and close, with each packet of them lost once.

use transport::{AbortCause, Endpoint};
use units::{Rate, Span};
use xtp::{Config, Kind, Options, State};

use crate::wire::{A, B, Wire, config, connection, ms};

const DONE: [State; 2] = [State::Released; 2];

/// 20 packets each way over `wire`, which has just been opened.
fn exchange(mut wire: Wire) -> Wire {
    wire.ends[A].write(20_000);
    wire.ends[A].close();
    wire.ends[B].write(20_000);
    wire.ends[B].close();
    let mut wire = wire.open();
    wire.run();
    assert_eq!(wire.states(), DONE, "{:?}", wire.ends);
    assert_eq!(wire.ends.each_ref().map(|end| end.delivered()), [20_000; 2]);
    assert!(!wire.ends.iter().any(xtp::Connection::is_aborted));
    wire
}

#[test]
fn a_first_with_data_opens_a_connection_in_one_round_trip() {
    let wire = exchange(Wire::new(&config()));
    let first = wire.sent(A, Kind::First).next().unwrap();
    // Addresses and the traffic specifier have 40 bytes.
    assert_eq!((first.packet.payload, first.packet.bytes()), (960, 32 + 40 + 960));
    assert_eq!(wire.times(B, Kind::Tcntl), [250]);
    assert!(wire.sent(A, Kind::Data).any(|sent| sent.at.as_nanos() == 0), "data follows at once");
}

/// The n-th packet of each type of each end is lost.
#[test]
fn the_loss_of_any_packet_is_repaired() {
    for by in [A, B] {
        for kind in Kind::ALL {
            let mut lost = 0;
            for nth in 1..=25 {
                let wire =
                    exchange(Wire::new(&config()).losing(move |sent| sent.is(by, kind, nth)));
                lost += usize::from(wire.sent(by, kind).count() >= nth as usize);
            }
            let never = (by == A && kind == Kind::Tcntl) || (by == B && kind == Kind::First);
            // Only losses make ECNTLs.
            assert_eq!(lost == 0, never || kind == Kind::Ecntl, "{by} {kind:?}");
        }
    }
}

#[test]
fn the_loss_of_a_report_of_a_gap_is_repaired() {
    for by in [A, B] {
        for nth in 1..=3 {
            let other = 1 - by;
            let wire = exchange(Wire::new(&config()).losing(move |sent| {
                sent.is(other, Kind::Data, 4) || sent.is(by, Kind::Ecntl, nth)
            }));
            assert!(wire.sent(by, Kind::Ecntl).next().is_some());
        }
    }
}

#[test]
fn an_end_that_gets_no_answer_to_first_gives_up_after_ctimeout() {
    let config = Config { ctimeout: Span::from_secs(10), ..config() };
    let mut wire = Wire::new(&config).losing(|sent| sent.by == A).open();
    wire.run();
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::UserTimeout));
    // WTIMER is 2 s, and doubles with each attempt. CTIMEOUT runs from its first expiry.
    assert_eq!(wire.times(A, Kind::First), [0, 2000, 6000]);
    assert_eq!(wire.now.as_nanos(), 12_000_000_000);
}

#[test]
fn each_end_sends_at_the_smaller_rate_of_both() {
    let fast = Config { rate: Some(Rate::from_bits_per_second(8_000_000)), ..config() };
    let slow = Config { rate: Some(Rate::from_bits_per_second(1_052 * 8)), ..config() };
    for ends in [[&fast, &slow], [&slow, &fast]] {
        let mut wire = Wire::of(ends.map(connection));
        for end in [A, B] {
            wire.ends[end].write(20_000);
        }
        let mut wire = wire.open();
        wire.run_until(crate::wire::at(3_000));
        for end in [A, B] {
            let start = wire.sent(end, Kind::Data).position(|sent| sent.at > crate::wire::at(600));
            let times = &wire.times(end, Kind::Data)[start.unwrap()..];
            assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1000), "{times:?}");
        }
    }
}

#[test]
fn an_abort_ends_both_ends() {
    let mut wire = Wire::new(&config()).open();
    wire.write(A, 100_000);
    wire.run_until(crate::wire::at(600));
    wire.ends[A].abort();
    wire.flush();
    wire.run();
    let causes = wire.ends.each_ref().map(|end| end.abort_cause());
    assert_eq!((wire.states(), causes), (DONE, [Some(AbortCause::Reset); 2]));
    let end = wire.sent(A, Kind::Cntl).last().unwrap();
    assert_eq!(end.packet.options, Options::END);
}

#[test]
fn an_abort_that_is_lost_is_reported_to_the_end_that_goes_on() {
    let mut wire = Wire::new(&config())
        .losing(|sent| sent.packet.options == Options::END && sent.at == crate::wire::at(700))
        .open();
    wire.write(B, 1_000_000);
    wire.run_until(crate::wire::at(700));
    wire.ends[A].abort();
    wire.flush();
    wire.run();
    assert_eq!(wire.ends[B].abort_cause(), Some(AbortCause::Reset));
}

#[test]
fn a_silent_peer_is_found_by_ctimer() {
    let config = Config { ctimer: ms(5_000), ctimeout: ms(3_000), ..config() };
    let mut wire = Wire::new(&config).losing(|sent| sent.at > crate::wire::at(1_000)).open();
    wire.write(A, 3_000);
    wire.run();
    let causes = wire.ends.each_ref().map(|end| end.abort_cause());
    assert_eq!(causes, [Some(AbortCause::UserTimeout); 2]);
}
