//! ACK congestion control (RFC 5690): both SYNs permit it, and the receiver sends an ACK for as
//! many segments as the data sender asks for.

use congestion::Ecn;
use tcp::{Config, Recovery};
use transport::Endpoint;

use crate::wire::{A, B, Fate, MSS, Sent, Wire, config};

fn controlled() -> Config {
    Config { ack_control: true, ..config() }
}

/// Agreement of the ends of a wire.
fn agreed(wire: &Wire) -> [bool; 2] {
    [A, B].map(|end| wire.ends[end].info().ack_control.is_some())
}

/// ACKs of data that B sends: all but those of the set-up.
fn acks(wire: &Wire) -> usize {
    wire.sent(B, Sent::is_bare_ack).count()
}

/// Section 4.1.
#[test]
fn both_ends_have_to_permit_it() {
    for (a, b, permits) in [(true, true, true), (true, false, false), (false, true, false)] {
        let of = |ack_control| Config { ack_control, ..config() };
        let mut wire = Wire::between(&of(a), &of(b)).open();
        wire.write(A, 40 * MSS);
        wire.run();
        assert_eq!(agreed(&wire), [permits; 2], "{a} {b}");
        let syns: Vec<_> = wire.log.iter().filter(|sent| sent.is_syn()).collect();
        let permitted = [syns[0].segment, syns[1].segment].map(|syn| syn.permits_ack_control());
        assert_eq!(permitted, [a, permits], "an answer agrees, and offers nothing");
        // Without a lost ACK there is nothing to ask for, so both are the same.
        assert!(wire.log.iter().all(|sent| sent.segment.ack_ratio().is_none()));
        assert_eq!(wire.ends[B].delivered(), 40 * MSS);
    }
}

/// Sections 4.3 to 4.7, with every recovery: the data arrives, and the ACKs become fewer.
#[test]
fn after_lost_acks_the_receiver_acknowledges_more_segments_at_a_time() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Linux] {
        for timestamps in [false, true] {
            let run = |ack_control| {
                let config = Config { ack_control, recovery, timestamps, ..config() };
                // Half of the ACKs are lost from the first window on.
                let lost = |sent: &Sent| {
                    sent.by == B && sent.is_bare_ack() && sent.nth > 4 && sent.nth.is_multiple_of(2)
                };
                let mut wire = Wire::new(&config).open().losing(lost);
                wire.write(A, 1000 * MSS);
                wire.run();
                assert_eq!(wire.ends[B].delivered(), 1000 * MSS);
                wire
            };
            let (with, without) = (run(true), run(false));
            let counters = with.ends[A].info().ack_control.unwrap();
            assert!(counters.missing > 5 && counters.largest >= 8, "{recovery:?} {counters:?}");
            assert!(2 * acks(&with) < acks(&without), "{} of {}", acks(&with), acks(&without));
            let reported: Vec<_> =
                with.log.iter().filter_map(|sent| sent.segment.ack_ratio()).collect();
            assert_eq!(reported.len() as u64, counters.options);
            assert_eq!(reported[0], 4, "{reported:?}");
            let asking = with.sent(A, |sent| sent.segment.ack_ratio().is_some());
            assert!(asking.into_iter().all(|sent| sent.is_bare_ack()), "data stays full");
        }
    }
}

/// The sender takes no ACK of a repair for the loss of others.
#[test]
fn the_acks_of_a_repair_show_no_lost_acks() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Linux] {
        let config = Config { recovery, ..controlled() };
        let script = |sent: &Sent| match sent.nth {
            nth if sent.by == A && sent.is_data() && nth % 31 == 0 => Fate::Lost,
            _ => Fate::Arrives,
        };
        let mut wire = Wire::new(&config).open().scripted(script);
        wire.write(A, 600 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 600 * MSS, "{recovery:?}");
        let counters = wire.ends[A].info().ack_control.unwrap();
        assert_eq!((counters.missing, counters.largest), (0, 2), "{recovery:?} {counters:?}");
    }
}

/// ACKs have ECT, and their marks raise R and nothing else (RFC 3168 would echo them to the
/// receiver).
#[test]
fn marks_of_acks_raise_the_ratio_and_are_not_echoed() {
    for (ecn, marks) in [(Ecn::Classic, true), (Ecn::EachMark, true), (Ecn::Accurate, false)] {
        let config = Config { ecn, ..controlled() };
        let script = |sent: &Sent| match sent.by == B && sent.is_bare_ack() {
            true if sent.segment.is_ecn_capable() && sent.nth.is_multiple_of(8) => Fate::Marked,
            _ => Fate::Arrives,
        };
        let mut wire = Wire::new(&config).open().scripted(script);
        wire.write(A, 600 * MSS);
        wire.run();
        let counters = wire.ends[A].info().ack_control.unwrap();
        assert_eq!(counters.marked > 0, marks, "{ecn:?} {counters:?}");
        assert_eq!(counters.largest > 2, marks, "{ecn:?} {counters:?}");
        if marks {
            let echoes = wire.sent(A, |s| s.segment.flags.contains(tcp::Flags::ECE)).count();
            assert_eq!(echoes, 1, "{ecn:?}: only the SYN has the bit");
        }
        assert_eq!(wire.ends[B].delivered(), 600 * MSS);
    }
}
