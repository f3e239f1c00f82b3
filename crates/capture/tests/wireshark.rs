//! Random connections, segment by segment as Wireshark judges them.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests; a skipped one says why")]

mod build;
mod tshark;

use build::{MSS, Step, Talk, Temporary};
use wire::tcp::flags::{ACK, FIN};

/// Connections in the capture.
const CONNECTIONS: u32 = 120;

/// Numbers of a linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as u32) % end
    }
}

/// Random segments of a connection: new data, retransmissions, gaps, ACKs, windows of zero,
/// keep-alives.
fn talk(talk: &mut Talk, random: &mut Random, start_ms: f64) {
    let mut at = start_ms + 25.0;
    let (mut next, mut acked) = (1_u32, 1_u32);
    let windows = [0, 400, 2000, 2000, 2000, 60_000];
    let mut window = 2000;
    for _ in 0..60 {
        at += [0.05, 0.4, 2.0, 12.0, 30.0, 300.0][random.below(6) as usize];
        let length = [MSS, MSS, MSS, 700, 1][random.below(5) as usize];
        match random.below(10) {
            0..=3 => {
                talk.take(Step::data(at, next, length));
                next += length;
            }
            4 => {
                // A gap, or a retransmission.
                let skipped = random.below(3) * MSS;
                talk.take(Step::data(at, next + skipped, length));
                next += skipped + length;
            }
            5 => {
                let back = (1 + random.below(4)) * MSS;
                talk.take(Step::data(at, next.saturating_sub(back).max(1), length));
            }
            6 => talk.take(Step::data(at, next - 1, random.below(2))),
            7 => {
                window = windows[random.below(6) as usize];
                talk.take(Step { window, ..Step::ack(at, acked) });
            }
            8 => talk.take(Step { window, ..Step::ack(at, acked) }),
            _ => {
                acked = acked.max(next.saturating_sub(random.below(4) * MSS)).max(1);
                talk.take(Step { window, ..Step::ack(at, acked) });
            }
        }
    }
    talk.take(Step { flags: FIN | ACK, start: next, ..Step::new(at + 1.0, true) });
}

#[test]
fn wireshark_judges_each_segment_the_same() {
    let mut all = Talk::new();
    let mut random = Random(1);
    for number in 0..CONNECTIONS {
        all.ports = [10_000 + u16::try_from(number).unwrap(), 9];
        all.first = [random.below(u32::MAX), random.below(u32::MAX)];
        let start = 100_000.0 * f64::from(number);
        // In a quarter of them, the SYN is missing.
        if number % 4 > 0 {
            all.handshake(start);
        }
        talk(&mut all, &mut random, start);
    }
    let file = Temporary::new(&all.pcap.0);
    let Some(theirs) = tshark::tsharks(&file.0) else {
        println!("skipped: tshark cannot be run");
        return;
    };
    let found = tshark::differences(&theirs, &tshark::ours(&file.0));
    for (field, difference) in &found {
        println!("{field}: {difference:?}");
        // RTTs of retransmissions with other boundaries, and flights after them, are defined
        // differently.
        if !matches!(*field, "ack_rtt" | "bytes_in_flight") {
            assert_eq!(difference.differing, 0, "{field}: {difference:?}");
        }
    }
    // The test compares nothing unless these happen.
    let often = [
        "retransmission",
        "fast_retransmission",
        "spurious_retransmission",
        "out_of_order",
        "lost_segment",
        "ack_lost_segment",
        "duplicate_ack",
        "zero_window",
        "zero_window_probe",
        "window_full",
        "window_update",
        "keep_alive",
        "ack_rtt, unambiguous",
    ];
    for field in often {
        assert!(found[field].tshark > 4, "{field}: {:?}", found[field]);
    }
}
