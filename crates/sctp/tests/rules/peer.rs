//! The SCTP of ns-2.35 over the same channel with the same losses.
//!
//! 2 Mbit/s, 250 ms, a queue without limit, packets of 1500 bytes. A packet of data is lost if its
//! random number is below the error rate, so both lose the packets with the same numbers. The
//! counts are those of 200 s from the first full packet. `ns2.tcl`, next to this file, is the
//! script, with the settings of RFC 9260.
//!
//! `docs/sctp.md` has both counts, and the test compares them with that table.
//!
//! The numbers of packets drift apart, because ns-2 and we do not always send the same packet next.
//! Single runs differ by up to 3 %, and their sums are compared.

use sctp::{Config, Kind};
use transport::Endpoint;
use units::{Bytes, Span, Time};

use crate::wire::{A, B, Fate, Sent, Wire};

/// Error rate, and packets that have arrived in ns-2 with the seeds 1, 2 and 3.
const NS2: [(f64, [u64; 3]); 6] = [
    (0.0, [32_784, 32_784, 32_784]),
    (1e-4, [32_782, 31_023, 32_585]),
    (3e-4, [30_966, 26_455, 32_758]),
    (1e-3, [16_113, 19_337, 16_331]),
    (3e-3, [10_598, 9267, 8917]),
    (1e-2, [4707, 5466, 5350]),
];

const PAGE: &str = include_str!("../../../../docs/sctp.md");

const RATE: f64 = 2e6;
const IP: u64 = 20;

fn channel(seed: u64, error_rate: f64) -> impl FnMut(&Sent) -> Fate {
    let mut free = [Time::ZERO; 2];
    let mut state = seed;
    move |sent| {
        let bits = 8 * (u64::from(sent.packet.bytes()) + IP);
        let start = free[sent.by].max(sent.at);
        free[sent.by] = start + Span::from_secs_f64(bits as f64 / RATE);
        if sent.by == A && is_full(sent) {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if ((state >> 11) as f64 / (1u64 << 53) as f64) < error_rate {
                return Fate::Lost;
            }
        }
        Fate::Late(free[sent.by].since(sent.at))
    }
}

fn is_full(sent: &Sent) -> bool {
    sent.packet.bytes() == 1480
}

fn arrived(seed: u64, error_rate: f64) -> u64 {
    let config = Config { receive_buffer: Bytes(4 << 20), streams: 1, ..Config::default() };
    let mut wire = Wire::new(&config).scripted(channel(seed, error_rate));
    wire.ends[A].write(1 << 40);
    let mut wire = wire.open();
    wire.run_until(Time::ZERO + Span::from_secs(3));
    let first = wire.sent(A, Kind::Data).find(|sent| is_full(sent)).unwrap().at;
    wire.run_until(first + Span::from_secs(200));
    wire.ends[B].delivered() / 1452
}

#[test]
fn the_throughput_over_errors_is_that_of_ns_2() {
    for (error_rate, counts) in NS2 {
        let ours = [1, 2, 3].map(|seed| arrived(seed, error_rate));
        let ratio = ours.iter().sum::<u64>() as f64 / counts.iter().sum::<u64>() as f64;
        assert!((ratio - 1.0).abs() < 0.02, "{ours:?} and {counts:?} at {error_rate}");
        let [theirs, ours] = [counts, ours].map(|[a, b, c]| format!("{a}, {b}, {c}"));
        let row = format!("| {theirs} | {ours} | {ratio:.3} |");
        assert!(PAGE.contains(&row), "docs/sctp.md lacks, at {error_rate}: {row}");
    }
}
