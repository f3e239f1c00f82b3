//! Streams: a loss delays its own stream only (RFC 9260 section 6.6), and fragments (section 6.9).

use sctp::{Config, Kind};
use transport::{Endpoint, Exchange, Streams as _};
use units::Bytes;

use crate::wire::{A, B, Fate, MSS, Sent, Wire, at, config};

fn arrived(wire: &mut Wire, end: usize) -> Vec<u64> {
    std::iter::from_fn(|| wire.ends[end].take_arrived()).map(|Exchange(number)| number).collect()
}

#[test]
fn a_lost_message_delays_the_answers_of_other_streams_by_nothing() {
    for (streams, before) in [(10, vec![1, 2, 3]), (1, vec![])] {
        let config = Config { streams, ..config() };
        let mut wire = Wire::new(&config).losing(|sent| sent.is(B, Kind::Data, 1)).opened();
        for _ in 0..4 {
            wire.ends[A].ask(100);
        }
        wire.flush();
        wire.run_until(at(2300));
        let asked = arrived(&mut wire, B);
        assert_eq!(asked, [0, 1, 2, 3]);
        for number in asked {
            wire.ends[B].answer(Exchange(number), MSS);
        }
        wire.flush();
        wire.run_until(at(2600));
        assert_eq!(arrived(&mut wire, A), before, "with {streams} streams");
        wire.run_until(at(9000));
        let rest = arrived(&mut wire, A);
        assert_eq!(before.len() + rest.len(), 4);
        assert_eq!(rest[0], 0, "the lost one");
    }
}

#[test]
fn answers_of_several_streams_take_turns() {
    let mut wire = Wire::new(&config()).opened();
    for _ in 0..2 {
        wire.ends[A].ask(100);
    }
    wire.flush();
    wire.run_until(at(2300));
    wire.ends[B].answer(Exchange(0), 50 * MSS);
    wire.ends[B].answer(Exchange(1), 2 * MSS);
    wire.flush();
    wire.run_until(at(20_000));
    assert_eq!(arrived(&mut wire, A), [1, 0]);
}

#[test]
fn a_long_message_is_sent_in_fragments_with_consecutive_numbers() {
    let config = Config { message_size: Some(Bytes(2500)), streams: 2, ..config() };
    let mut wire = Wire::new(&config).opened();
    wire.write(A, 5000);
    wire.run_until(at(9000));
    let sent: Vec<_> = wire
        .sent(A, Kind::Data)
        .flat_map(|sent| sent.packet.data())
        .map(|data| (data.tsn, data.stream, data.ssn, data.payload, data.flags.byte()))
        .collect();
    let expected = [
        (7, 0, 0, 1000, 2),
        (8, 0, 0, 1000, 0),
        (9, 0, 0, 500, 1),
        (10, 1, 0, 1000, 2),
        (11, 1, 0, 1000, 0),
        (12, 1, 0, 500, 1),
    ];
    assert_eq!(sent, expected);
    assert_eq!(wire.ends[B].delivered(), 5000);
}

/// A loss with probability `per`, by a linear congruential generator.
fn lossy(seed: u64, per: f64) -> impl FnMut(&Sent) -> Fate {
    let mut state = seed;
    move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (state >> 11) as f64 / (1u64 << 53) as f64;
        if number < per { Fate::Lost } else { Fate::Arrives }
    }
}

/// Messages of 500 bytes every 100 ms for 2000 s: the mean time from writing until delivery in
/// milliseconds, and how many of 1000 need more than 20 ms longer than the path.
fn delivery(streams: u32, per: f64) -> (u64, u64) {
    const MESSAGES: u64 = 20_000;
    let config = Config { streams, ..config() };
    let mut wire = Wire::new(&config).opened().scripted(lossy(1, per));
    let (mut total, mut late, mut count) = (0, 0, 0);
    let mut tick = 3000;
    while count < MESSAGES {
        wire.run_until(at(tick));
        if tick % 100 == 0 && tick < 3000 + 100 * MESSAGES {
            wire.ends[A].ask(500);
            wire.flush();
        }
        for number in arrived(&mut wire, B) {
            let needed = tick - (3000 + 100 * number);
            total += needed;
            late += u64::from(needed > 270);
            count += 1;
        }
        tick += 5;
    }
    (total / count, 1000 * late / count)
}

/// The table of docs/sctp.md. With streams about the lost messages wait, and with one all that were
/// sent until the repair.
#[test]
fn messages_of_other_streams_do_not_wait_for_a_lost_one() {
    let table = [
        (0.0, [(250, 0), (250, 0), (250, 0)]),
        (1e-3, [(253, 8), (250, 1), (250, 1)]),
        (1e-2, [(290, 86), (259, 12), (259, 12)]),
        (3e-2, [(368, 234), (281, 46), (280, 45)]),
    ];
    for (per, expected) in table {
        let found = [1, 10, 100].map(|streams| delivery(streams, per));
        assert_eq!(found, expected, "PER {per}");
    }
}
