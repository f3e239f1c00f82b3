//! Path MTU discovery (RFC 1191, RFC 8201, RFC 4821).

use tcp::Recovery::{Linux, NewReno, Reno, Sack};
use tcp::{Config, Phase, Recovery, Segment};
use transport::{Endpoint, KnownPath, MtuProbing, PathMtuCounters};

use units::Time;

use crate::script::Script;
use crate::wire::{MSS, config, ms};

const ALL: [Recovery; 4] = [Reno, NewReno, Sack, Linux];

/// A sender with segments 10 to 29 outstanding.
fn sender(recovery: Recovery) -> Script {
    Script::with(&Config { recovery, ..config() }, 20)
}

/// The message that segment `quoted` was too large for a link that takes `mss`.
fn message(script: &mut Script, quoted: u64, mss: u64) -> Vec<Segment> {
    let quoted = Segment { sequence: 1_001 + (quoted * MSS) as u32, ..Segment::default() };
    let now = script.now;
    script.end.on_segment(now, &quoted.too_big(1, mss as u16, 556));
    std::iter::from_fn(|| script.end.next_packet(now)).collect()
}

fn counters(script: &Script) -> PathMtuCounters {
    script.end.info().path_mtu.unwrap()
}

/// RFC 1191 section 6.4: at once, in segments that fit, and without a reduction.
#[test]
fn what_was_too_large_is_sent_again_at_once_and_cwnd_keeps_its_segments() {
    for recovery in ALL {
        let mut script = sender(recovery);
        let (una, before) = (script.first() * MSS, script.cwnd());
        let small = MSS - 100;
        let again = message(&mut script, 12, small);
        assert_eq!(script.end.info().mss, small, "{recovery:?}");
        assert_eq!(script.end.info().cwnd, before * small, "{recovery:?}");
        assert_eq!(again[0].sequence, 1_001 + una as u32, "{recovery:?}");
        assert_eq!(again.len() as u64, before, "{recovery:?}: as many as cwnd holds");
        assert!(again.iter().all(|one| u64::from(one.payload) == small), "{recovery:?}");
        assert_eq!(script.end.counters().timeouts, 0);
        assert_eq!(script.end.counters().fast_recoveries, 0);
        assert_eq!(script.end.phase(), Phase::Timeout, "{recovery:?}: as ACKs allow");
    }
}

/// The messages about the other segments of the window.
#[test]
fn further_messages_change_nothing() {
    for recovery in ALL {
        let mut script = sender(recovery);
        assert!(!message(&mut script, 12, MSS - 100).is_empty());
        for quoted in 13..20 {
            assert!(message(&mut script, quoted, MSS - 100).is_empty(), "{recovery:?}");
        }
        let PathMtuCounters { reductions, ignored_messages, .. } = counters(&script);
        assert_eq!((reductions, ignored_messages), (1, 7), "{recovery:?}");
    }
}

/// RFC 5927 section 4.1.
#[test]
fn a_message_about_nothing_that_is_outstanding_is_ignored() {
    for recovery in ALL {
        for quoted in [9, 31, 1_000_000] {
            let mut script = sender(recovery);
            assert!(message(&mut script, quoted, 500).is_empty(), "{recovery:?} {quoted}");
            assert_eq!(script.end.info().mss, MSS, "{recovery:?} {quoted}");
            assert_eq!(counters(&script).ignored_messages, 1, "{recovery:?} {quoted}");
        }
    }
}

/// `tcp_mtu_probing`: the third timeout is 3 s after the first retransmission or later.
#[test]
fn segments_are_small_after_three_seconds_of_timeouts_if_black_holes_are_looked_for() {
    for (mtu_probing, recovery) in
        ALL.into_iter().flat_map(|one| [(MtuProbing::Off, one), (MtuProbing::BlackHole, one)])
    {
        let mut script = Script::with(&Config { recovery, mtu_probing, ..config() }, 20);
        let first = script.now;
        while script.now.since(first) < ms(30_000) {
            script.now = script.end.deadline();
            script.end.on_deadline(script.now);
            while script.end.next_packet(script.now).is_some() {}
        }
        let is_small = script.end.info().mss < MSS;
        assert_eq!(is_small, mtu_probing == MtuProbing::BlackHole, "{recovery:?}");
    }
}

fn known(size: u64) -> KnownPath {
    KnownPath { mss: size, expires: Time::NEVER }
}

/// RFC 1191 section 6.2: a message is about a path, and all connections on it are told.
#[test]
fn an_idle_connection_takes_the_size_that_another_one_has_found() {
    for recovery in ALL {
        let mut script = Script::new(&Config { recovery, ..config() });
        let before = script.cwnd();
        script.end.know_path(known(MSS - 100));
        script.end.write(100 * MSS);
        assert_eq!(script.sent().len() as u64, before, "{recovery:?}");
        assert!(
            script.segments.iter().all(|one| u64::from(one.payload) == MSS - 100),
            "{recovery:?}"
        );
        assert_eq!(script.end.counters().retransmissions, 0, "{recovery:?}");
    }
}

/// Its own message says what of its segments is lost.
#[test]
fn a_connection_with_data_outstanding_waits_for_a_message_of_its_own() {
    for recovery in ALL {
        let mut script = sender(recovery);
        script.end.know_path(known(MSS - 100));
        assert_eq!(script.end.info().mss, MSS, "{recovery:?}");
        assert!(!message(&mut script, 12, MSS - 100).is_empty(), "{recovery:?}");
        assert_eq!(script.end.known_path().unwrap().mss, MSS - 100, "{recovery:?}");
    }
}
