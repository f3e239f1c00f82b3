//! Messages that do not depend on each other over the one stream of TCP, as in docs/sctp.md: all
//! wait for a lost one.

use tcp::{Config, Recovery};
use transport::Endpoint;

use crate::wire::{A, B, Fate, Sent, Wire, at, config, ms};

/// A loss with probability `per`, by a linear congruential generator: that of the messages of SCTP.
fn lossy(seed: u64, per: f64) -> impl FnMut(&Sent) -> Fate {
    let mut state = seed;
    move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (state >> 11) as f64 / (1u64 << 53) as f64;
        if number < per { Fate::Lost } else { Fate::Arrives }
    }
}

/// Messages of `bytes` every 100 ms for 2000 s over a path with a delay of 250 ms: the mean time
/// from writing until delivery in milliseconds, and how many of 1000 need more than 20 ms longer
/// than the path.
fn delivery(recovery: Recovery, bytes: u64, per: f64) -> (u64, u64) {
    const MESSAGES: u64 = 20_000;
    let config = Config { recovery, ..config() };
    let mut wire = Wire::new(&config).delayed(ms(250)).open();
    wire.run_until(at(2990));
    let mut wire = wire.scripted(lossy(1, per));
    let (mut total, mut late, mut count) = (0, 0, 0);
    let mut tick = 3000;
    while count < MESSAGES {
        wire.run_until(at(tick));
        if tick % 100 == 0 && tick < 3000 + 100 * MESSAGES {
            wire.write(A, bytes);
        }
        while count < wire.ends[B].delivered() / bytes {
            let needed = tick - (3000 + 100 * count);
            total += needed;
            late += u64::from(needed > 270);
            count += 1;
        }
        tick += 5;
    }
    (total / MESSAGES, 1000 * late / MESSAGES)
}

#[test]
fn all_messages_wait_for_a_lost_one() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sctp.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut missing = Vec::new();
    let rows = [500, 100].map(|bytes| [Recovery::Sack, Recovery::Linux].map(|one| (one, bytes)));
    for (recovery, bytes) in rows.into_iter().flatten() {
        let cells = [0.0, 1e-3, 1e-2, 3e-2].map(|per| {
            let (mean, late) = delivery(recovery, bytes, per);
            let late =
                if late == 0 { "0".to_owned() } else { format!("{}.{}", late / 10, late % 10) };
            format!("{mean} ms, {late} %")
        });
        let row = format!("| `{}` | {bytes} bytes | {} |", recovery.name(), cells.join(" | "));
        if !page.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "docs/sctp.md lacks\n{}", missing.join("\n"));
}
