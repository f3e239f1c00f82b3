//! Undo by the echoed timestamp (Eifel, RFC 3522 and RFC 4015), with each controller: a reduction
//! for an original that was only late leaves no smaller window behind, and nothing is retransmitted
//! after it.

#![expect(clippy::single_range_in_vec_init, reason = "a list of one SACK block")]

use std::sync::Arc;

use congestion::{Controller, Specification, Value};
use tcp::{Config, Connection, Options, Phase, Recovery, Segment};
use transport::Endpoint;

use crate::script::Script;
use crate::wire::{MSS, config, ms};

/// How the reduction comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Three segments overtake the first.
    Reordering,
    /// The ACKs of a round trip are late.
    Delay,
}

/// Controllers whose window does not come back, with the reason.
const STAYS_SMALL: &[(&str, Cause, &str)] = &[
    (
        "cdg",
        Cause::Delay,
        "Hayes and Armitage 2011: backs off from a longer round trip, whatever was lost",
    ),
    (
        "bbr/picoquic",
        Cause::Delay,
        "picoquic, bbr1.c: a timeout ends startup, and the model bounds the window that returns",
    ),
];

/// Controllers and their variants.
pub fn forms() -> Vec<(String, Specification)> {
    let mut forms = Vec::new();
    for entry in congestion::entries() {
        let plain = Specification::named(entry.name).unwrap();
        for (variant, _) in congestion::variants(entry.name) {
            let mut one = plain.clone();
            one.set("variant", Value::Word(variant.into())).unwrap();
            forms.push((format!("{}/{variant}", entry.name), one));
        }
        forms.push((entry.name.to_owned(), plain));
    }
    forms
}

fn start(specification: &Specification) -> Script {
    let config = Config {
        recovery: Recovery::Linux,
        timestamps: true,
        window_scaling: true,
        // Twelve bytes of each segment are the option.
        mss: MSS as u32 + 12,
        ..config()
    };
    let controller = specification.build(&config.controller());
    let mut script =
        Script::of(&config, Connection::new(Arc::new(config.clone()), controller, 1_000));
    // Whole segments.
    script.window = 65_000;
    script.end.write(3_000 * MSS);
    script.sent();
    script
}

/// `segment` with the time of the other end, and the echo of what was sent at `sent`.
fn stamped(script: &Script, mut segment: Segment, sent: u32) -> Segment {
    segment.options = Options::default().with_if(true, Options::TIMESTAMPS);
    segment.timestamp = (script.now.as_nanos() / 1_000_000) as u32;
    segment.echo = sent;
    segment
}

/// A round trip of 100 ms in which everything that is outstanding is acknowledged, four segments at
/// a time.
fn round(script: &mut Script) -> Vec<u64> {
    let stamp = (script.now.as_nanos() / 1_000_000) as u32;
    let mut sent = script.wait(ms(100));
    let end = script.first() + script.end.info().unacked / MSS;
    while script.first() < end {
        let next = (script.first() + 4).min(end);
        let segment = stamped(script, script.ack_of(next * MSS), stamp);
        sent.extend(script.receive(segment));
    }
    sent
}

#[test]
fn a_late_original_leaves_no_controller_with_a_smaller_window() {
    let mut wrong = Vec::new();
    for (name, specification) in forms() {
        for cause in [Cause::Reordering, Cause::Delay] {
            let mut script = start(&specification);
            for _ in 0..3 {
                round(&mut script);
            }
            let before = *script.end.controller().window();
            let stamp = (script.now.as_nanos() / 1_000_000) as u32;
            // Those that are paced need time.
            script.wait(ms(40));
            let (first, outstanding) = (script.first(), script.end.info().unacked / MSS);
            assert!(outstanding >= 4, "{name}: {outstanding}");
            script.wait(ms(60));
            if cause == Cause::Reordering {
                let sack = script.sack_of(first, &[first + 1..first + 4]);
                let sack = stamped(&script, sack, stamp);
                script.receive(sack);
            } else {
                while script.end.phase() == Phase::Open {
                    script.time_out();
                }
            }
            assert_ne!(script.end.phase(), Phase::Open, "{name} {cause:?}");
            let timeouts = script.end.counters().timeouts;
            script.wait(ms(20));
            let end = first + script.end.info().unacked / MSS;
            let ack = stamped(&script, script.ack_of((first + outstanding) * MSS), stamp);
            let mut sent = script.receive(ack);
            assert_eq!(script.end.phase(), Phase::Open, "{name} {cause:?}");
            let window = *script.end.controller().window();
            let mut most = window.cwnd;
            for _ in 0..4 {
                sent.extend(round(&mut script));
                most = most.max(script.end.controller().window().cwnd);
            }
            let stays = STAYS_SMALL.iter().any(|(other, when, _)| *other == name && *when == cause);
            // The long round trip may end a slow start, at the window that is back.
            let ssthresh = before.ssthresh.min(before.cwnd);
            let is_back = most >= before.cwnd * 8 / 10 && window.ssthresh >= ssthresh;
            if is_back == stays {
                wrong.push(format!("{name} {cause:?}: {before:?} {window:?} {most}"));
            }
            assert!(sent.iter().all(|number| *number >= end), "{name} {cause:?}: {sent:?} {end}");
            assert_eq!(script.end.counters().timeouts, timeouts, "{name} {cause:?}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
