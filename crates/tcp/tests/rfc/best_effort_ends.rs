//! Best-effort transport of SCPS-TP: outages, how connections end, and that every transfer ends.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use congestion::Specification;
use proptest::prelude::*;
use tcp::{BestEffort, Cause, Config, Connection, KeepAlive, Scps, SnackForm, State};
use transport::{AbortCause, Endpoint};
use units::{Bytes, Rate, Span, Time};

use crate::best_effort::{best_effort, counters, holes, is_data_at, millis, route, timeouts};
use crate::scps::scps;
use crate::wire::{A, B, Fate, MSS, Sent, Wire, ms};

/// While the link is known to be out, nothing is given up, whatever the timers do.
#[test]
fn an_outage_gives_nothing_up() {
    for is_signalled in [false, true] {
        let outage_timeouts = if is_signalled { None } else { Some(2) };
        let route = Scps { outage_timeouts, ..route(0, 400) };
        let mut wire =
            Wire::established(&Config { initial_window: 10, max_retries: 100, ..scps(route) });
        let from = wire.now;
        let until = from + ms(60_000);
        wire = wire.scripted(move |sent| if sent.at < until { Fate::Lost } else { Fate::Arrives });
        if is_signalled {
            wire.ends[A].on_link_state(wire.now, true);
        }
        wire.write(A, 30 * MSS);
        wire.run_for(ms(59_000));
        // The first timeout gives up what it finds, and the second finds the outage.
        let given_up = counters(&wire, A).given_up_bytes;
        assert_eq!(given_up, if is_signalled { 0 } else { 10 * MSS });
        assert_eq!(timeouts(&wire), if is_signalled { 0 } else { 2 });
        if is_signalled {
            wire.run_for(ms(2_000));
            wire.ends[A].on_link_state(wire.now, false);
            wire.flush();
        }
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 30 * MSS);
        let lost = if is_signalled { 0..=0 } else { 19 * MSS..=20 * MSS };
        assert!(lost.contains(&counters(&wire, B).skipped_bytes), "{:?}", holes(&wire));
    }
}

/// The link is out with only the FIN outstanding, and the receiver behind: it answers no other
/// probe.
#[test]
fn a_fin_is_the_probe_of_a_receiver_that_is_behind() {
    let route = Scps { outage_timeouts: Some(1), ..route(0, 30_000) };
    let mut wire = Wire::established(&scps(route));
    let from = wire.now;
    wire = wire.scripted(move |sent| {
        let is_out = (from + ms(60)..from + ms(45_000)).contains(&sent.at);
        if is_out || is_data_at(sent, 3) || is_data_at(sent, 4) {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    });
    wire.write(A, 5 * MSS);
    wire.close(A);
    wire.close(B);
    wire.run();
    assert_eq!(wire.states(), [State::Closed; 2]);
    assert!(wire.ends.iter().all(|end| end.abort_cause().is_none()));
    assert_eq!(wire.ends[B].delivered(), 5 * MSS);
}

/// The other end is gone. What is given up delays the end of the connection, and does not prevent
/// it.
#[test]
fn an_end_that_is_gone_ends_the_connection() {
    for retransmissions in [0, 1] {
        for user_timeout in [None, Some(ms(4000))] {
            let config =
                Config { user_timeout, max_retries: 5, ..best_effort(retransmissions, 400) };
            let mut wire = Wire::established(&config).losing(|_| true);
            wire.write(A, 10_000 * MSS);
            let from = wire.now;
            wire.run();
            let cause = match user_timeout {
                None => AbortCause::Retransmissions,
                Some(_) => AbortCause::UserTimeout,
            };
            assert_eq!(wire.ends[A].abort_cause(), Some(cause), "{retransmissions}");
            // All but the last segment of the window.
            let given_up = counters(&wire, A).given_up_bytes;
            if user_timeout.is_some() {
                let last = wire.log.last().unwrap().at.since(from);
                assert!(last <= ms(6000), "{last}");
            } else {
                assert_eq!(given_up, 65_000, "{retransmissions}");
            }
        }
    }
}

/// The receiver moves, so the user timeout begins again, although its ACKs stay below what was
/// given up.
#[test]
fn the_user_timeout_counts_from_the_progress_of_the_receiver() {
    let config = Config { user_timeout: Some(ms(900)), ..best_effort(0, 800) };
    let lost = |sent: &Sent| sent.nth.is_multiple_of(4) && sent.by == A && sent.is_data();
    let mut wire = Wire::established(&config).losing(lost);
    for _ in 0..120 {
        wire.write(A, MSS);
        wire.run_for(ms(50));
    }
    wire.close(A);
    wire.close(B);
    wire.run();
    assert!(wire.ends.iter().all(|end| end.abort_cause().is_none()));
    assert_eq!(wire.ends[B].delivered(), 120 * MSS);
}

/// A hole shares a timer with keep-alive, which still finds an end that is gone.
#[test]
fn keep_alive_looks_at_its_time_after_a_hole() {
    let keep_alive = KeepAlive { idle: ms(5000), interval: ms(1000), probes: 2 };
    let config = Config { keep_alive: Some(keep_alive), ..best_effort(0, 700) };
    for has_hole in [false, true] {
        let mut wire = Wire::established(&config)
            .losing(move |sent| has_hole && is_data_at(sent, 2) || millis(sent.at) > 3_000);
        wire.write(A, 10 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 10 * MSS);
        assert_eq!(counters(&wire, B).skipped_bytes, if has_hole { MSS } else { 0 });
        let probes = wire.times(B, |sent| millis(sent.at) > 3_000);
        let quiet = wire.times(A, Sent::is_data).into_iter().max().unwrap() + 50;
        assert_eq!(probes[0], quiet.max(150) + 5000, "{has_hole}");
        assert_eq!(wire.ends[B].abort_cause(), Some(AbortCause::KeepAlive), "{has_hole}");
    }
}

/// The counts of a connection that was reset are still known.
#[test]
fn an_abort_keeps_the_counts() {
    let mut wire = Wire::established(&best_effort(0, 400)).losing(|sent| is_data_at(sent, 2));
    wire.write(A, 10 * MSS);
    wire.run_for(ms(600));
    wire.ends[A].abort();
    wire.flush();
    wire.run();
    assert!(wire.ends.iter().all(|end| end.abort_cause().is_some()));
    assert_eq!(holes(&wire), [(MSS, 1); 2]);
    assert!(wire.ends.iter().all(|end| end.deadline() == Time::NEVER));
}

/// The receiver is gone before its timer expires: nothing is delivered after the reset.
#[test]
fn no_hole_is_passed_after_a_reset() {
    let mut wire = Wire::established(&best_effort(0, 400)).losing(|sent| is_data_at(sent, 2));
    wire.write(A, 10 * MSS);
    wire.run_for(ms(120));
    wire.ends[B].abort();
    wire.flush();
    wire.run();
    assert_eq!((wire.ends[B].delivered(), counters(&wire, B).skipped_bytes), (2 * MSS, 0));
}

/// One end with this controller.
fn with(controller: &str, config: &Config, sequence: u32) -> Connection {
    let controller = Specification::named(controller).unwrap().build(&config.controller());
    Connection::new(Arc::new(config.clone()), controller, sequence)
}

/// Losses in both directions with every controller, both causes and both forms of reports.
#[test]
fn every_controller_ends_a_transfer_over_losses() {
    for entry in congestion::entries() {
        for (cause, snack, retransmissions) in [
            (Cause::Congestion, SnackForm::Simple, 0),
            (Cause::Congestion, SnackForm::Vector, 2),
            (Cause::Corruption, SnackForm::Vector, 0),
            (Cause::Corruption, SnackForm::Simple, 1),
        ] {
            let route = Scps { cause, snack, ..route(retransmissions, 300) };
            let config = Config { timestamps: true, ..scps(route) };
            let ends = [1_000, 2_000_000].map(|sequence| with(entry.name, &config, sequence));
            let mut state = 7_u64;
            let mut wire = Wire::of(ends).scripted(move |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if (state >> 33) % 100 < 4 { Fate::Lost } else { Fate::Arrives }
            });
            wire = wire.open();
            for end in [A, B] {
                wire.write(end, 300 * MSS);
                wire.close(end);
            }
            wire.run();
            let name = (entry.name, cause, retransmissions);
            assert!(wire.ends.iter().all(|end| end.failure().is_none()), "{name:?}");
            for (end, other) in [(A, B), (B, A)] {
                assert_eq!(wire.ends[end].delivered(), 300 * MSS, "{name:?}");
                let skipped = counters(&wire, end).skipped_bytes;
                let given_up = counters(&wire, other).given_up_bytes;
                assert!(given_up > 0 || retransmissions > 0, "{name:?}: nothing is given up");
                assert!(skipped > 0 || retransmissions > 0, "{name:?}: nothing is missing");
            }
        }
    }
}

/// Probes for capacity carry data ahead of its turn (Cherry). What was never sent is not missing.
#[test]
fn data_ahead_of_its_turn_makes_no_hole() {
    let config = Config { initial_window: 2, ..scps(route(0, 20)) };
    let ends = [1_000, 2_000_000].map(|sequence| with("cherry", &config, sequence));
    let mut wire = Wire::of(ends).open();
    wire.write(A, 200 * MSS);
    wire.run();
    assert!(wire.sent(A, |sent| sent.segment.is_low_priority()).count() > 0, "no probe");
    assert_eq!(wire.ends[B].delivered(), 200 * MSS);
    assert_eq!(holes(&wire), [(0, 0); 2]);
}

prop_compose! {
    fn configs()(
        is_simple: bool,
        is_corruption: bool,
        retransmissions in 0_u32..4,
        timeout in 1_u64..2500,
        threshold in prop::option::of(1_u64..20_000),
        floor in 0_u64..200,
        rate in prop::option::of(50_000_u64..10_000_000),
        outage_timeouts in prop::option::of(1_u32..5),
        mss in 64_u32..1461,
        buffer in 1000_u64..65_536,
        reads_at_once: bool,
    ) -> Config {
        let snack = if is_simple { SnackForm::Simple } else { SnackForm::Vector };
        let cause = if is_corruption { Cause::Corruption } else { Cause::Congestion };
        let best_effort = BestEffort {
            retransmissions,
            receive_timeout: ms(timeout),
            receive_threshold: threshold.map(Bytes),
        };
        let route = Scps {
            snack,
            cause,
            ack_floor: ms(floor),
            rate: rate.map(Rate::from_bits_per_second),
            outage_timeouts,
            best_effort: Some(best_effort),
            ..Scps::default()
        };
        let receive_buffer = Bytes(buffer);
        Config { mss, receive_buffer, reads_at_once, max_retries: 100, ..scps(route) }
    }
}

/// When which bytes of a stream arrive, as an observer of the wire sees it.
type Arrivals = Rc<RefCell<Vec<(Time, Range<u64>)>>>;

/// Fates by a fixed sequence of random numbers, with the arrivals that follow from them.
fn noisy(seed: u64, percent: u64, arrivals: [Arrivals; 2]) -> impl FnMut(&Sent) -> Fate {
    let mut state = seed;
    move |sent| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (chance, late) = ((state >> 33) % 100, ms((state >> 20) % 300));
        let first = [1_001, 2_000_001][sent.by];
        let start = u64::from(sent.segment.sequence.wrapping_sub(first));
        let range = start..start + u64::from(sent.segment.payload);
        if chance < percent {
            return Fate::Lost;
        }
        if chance < percent + 5 {
            // It may have an acknowledgement that is too old by then, and is no arrival (RFC 5961
            // section 5.2).
            return Fate::Late(late);
        }
        if sent.is_data() {
            arrivals[1 - sent.by].borrow_mut().push((sent.at + ms(50), range));
        }
        if chance < percent + 10 { Fate::Twice(late) } else { Fate::Arrives }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    /// Losses, late packets and duplicates in both directions. Every byte is delivered at most once
    /// and in order, or skipped before it arrives, and both streams end.
    #[test]
    fn what_is_delivered_and_what_is_skipped_is_what_was_sent(
        configs in [configs(), configs()],
        bytes in [0_u64..60_000, 0_u64..60_000],
        seed: u64,
        percent in 0_u64..40,
    ) {
        let arrivals: [Arrivals; 2] = Default::default();
        let mut wire = Wire::between(&configs[A], &configs[B])
            .scripted(noisy(seed, percent, arrivals.clone()))
            .open();
        for end in [A, B] {
            wire.write(end, bytes[end]);
            wire.close(end);
        }
        let mut seen = [(); 2].map(|()| BTreeSet::new());
        let mut given_up = [(); 2].map(|()| BTreeSet::new());
        let mut before = [(0, 0); 2];
        let limit = Time::ZERO + Span::from_secs(100_000);
        loop {
            let unread = wire.ends.iter().any(|end| end.unread() > 0);
            let until = if unread { wire.now + ms(20) } else { limit };
            if !wire.step(until) {
                if !unread {
                    break;
                }
                wire.now = until;
            }
            for end in [A, B] {
                let piece = 700.min(wire.ends[end].unread());
                if piece > 0 {
                    wire.read(end, piece);
                }
                let now = wire.now;
                let (delivered, skipped) = (wire.ends[end].delivered(), wire.ends[end].left_out().skipped());
                prop_assert!(delivered >= before[end].0 && skipped >= before[end].1);
                prop_assert!(skipped - before[end].1 <= delivered + wire.ends[end].unread() - before[end].0);
                before[end] = (delivered, skipped);
                let most = configs[end].scps.unwrap().best_effort.unwrap().retransmissions as usize;
                for hole in wire.ends[end].left_out().given_up_holes() {
                    if !given_up[end].insert((hole.start, hole.end)) {
                        continue;
                    }
                    // Each of its bytes was sent often enough.
                    for place in [hole.start, (hole.start + hole.end) / 2, hole.end - 1] {
                        let copies = wire.sent(end, |sent| {
                            let start = sent.segment.sequence.wrapping_sub([1_001, 2_000_001][end]);
                            let start = u64::from(start);
                            (start..start + u64::from(sent.segment.payload)).contains(&place)
                        });
                        let copies = copies.take(most + 1).count();
                        prop_assert!(copies > most, "{place} of {hole:?} was sent {copies} times");
                    }
                }
                for hole in wire.ends[end].left_out().skipped_holes() {
                    if !seen[end].insert(hole.start) {
                        continue;
                    }
                    let has_arrived = |(at, range): &(Time, Range<u64>)| {
                        *at < now && range.start < hole.end && hole.start < range.end
                    };
                    let arrived = arrivals[end].borrow();
                    prop_assert!(!arrived.iter().any(has_arrived), "{hole:?} was there at {now}");
                }
            }
        }
        for (end, other) in [(A, B), (B, A)] {
            let connection = &wire.ends[end];
            // An end that has closed and is gone answers the FIN of the other with a reset.
            let left_alone = wire.ends[other].state() == State::Closed
                && connection.failure() == Some(AbortCause::Reset);
            prop_assert!(left_alone || connection.failure().is_none());
            prop_assert!(connection.peer_has_finished());
            prop_assert_eq!(connection.delivered(), bytes[other]);
            let info = connection.info();
            let skipped = info.best_effort.unwrap().skipped_bytes;
            prop_assert_eq!((info.received + skipped, skipped), (bytes[other], connection.left_out().skipped()));
            let given_up = counters(&wire, other).given_up_bytes;
            prop_assert!(given_up <= bytes[other]);
        }
    }
}
