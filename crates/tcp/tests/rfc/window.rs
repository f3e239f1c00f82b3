//! Windows: the receiver's, silly ones, closed ones; Nagle; idle times (RFC 9293 section 3.8.6).

use std::sync::Arc;

use congestion::{Controller, Specification};
use tcp::{AckTiming, Config, Connection, DelayedAck};
use transport::Endpoint;
use units::{Bytes, SizeLimit, Span, Time};

use crate::script::Script;
use crate::wire::{A, B, Fate, MSS, Sent, Wire, config, ms};

/// Section 3.8.6.2.1: 65,535 bytes are 44 segments of 1460 and a rest that is not worth sending.
#[test]
fn a_window_of_65535_bytes_holds_44_full_segments() {
    let config = Config { mss: 1460, ..config() };
    let mut wire = Wire::established(&config);
    wire.write(A, 2_000_000);
    let mut most = 0;
    while wire.step(Time::ZERO + Span::from_secs(3)) {
        most = most.max(wire.ends[A].flight());
    }
    assert_eq!(most, 44 * 1460);
    assert!(wire.sent(A, Sent::is_data).all(|s| s.segment.payload == 1460));
}

/// Section 3.8.6.2.1, case 3: half of the largest window seen is worth sending.
#[test]
fn a_receiver_with_a_tiny_buffer_is_still_served() {
    for receive_buffer in [1, 100, 600, 1000, 1500] {
        let mut wire =
            Wire::established(&Config { receive_buffer: Bytes(receive_buffer), ..config() });
        wire.write(A, 20 * receive_buffer);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 20 * receive_buffer, "{receive_buffer} bytes");
    }
}

/// Section 3.8.6.2.2: the right edge moves by a segment at least. Segments of 988 bytes move it,
/// although the MSS option says 1000.
#[test]
fn every_segment_opens_the_window_again_with_timestamps_too() {
    for timestamps in [false, true] {
        let delayed_ack = AckTiming::Fixed(DelayedAck { segments: 1, ..DelayedAck::default() });
        let config = Config { timestamps, delayed_ack, ..config() };
        let mut wire = Wire::established(&config);
        wire.write(A, 30 * MSS);
        wire.forget();
        wire.run();
        let windows: Vec<_> = wire.sent(B, Sent::is_bare_ack).map(|s| s.segment.window).collect();
        // The last segment may be a short one.
        assert!(windows[..29].iter().all(|w| *w == windows[0]), "{windows:?}");
    }
}

/// Section 3.8.6.2.2: a slow reader does not make the sender send small segments.
#[test]
fn a_reader_in_small_steps_makes_no_silly_windows() {
    let config = Config { receive_buffer: Bytes(8 * MSS), reads_at_once: false, ..config() };
    let mut wire = Wire::established(&config);
    wire.write(A, 200 * MSS);
    while wire.ends[B].delivered() < 200 * MSS {
        wire.run_for(ms(10));
        wire.read(B, 100);
    }
    let small = wire.sent(A, Sent::is_data).filter(|s| s.segment.payload < 1000).count();
    let all = wire.sent(A, Sent::is_data).count();
    assert!(small * 50 < all, "{small} of {all} segments are small");
}

/// RFC 9293 section 3.8.6.2.2 leaves the moment of an update open: here two segments, or half of
/// the buffer.
#[test]
fn an_update_is_sent_when_the_window_has_opened_by_two_segments() {
    let config = Config { receive_buffer: Bytes(20 * MSS), reads_at_once: false, ..config() };
    let mut wire = Wire::established(&config);
    wire.write(A, 20 * MSS);
    wire.run_for(ms(900));
    assert_eq!(wire.ends[B].unread(), 20 * MSS);
    wire.forget();
    for (bytes, updates) in [(2 * MSS - 1, 0), (1, 1)] {
        wire.read(B, bytes);
        wire.run_for(ms(1));
        assert_eq!(wire.sent(B, Sent::is_bare_ack).count(), updates);
    }
}

/// Section 3.8.6.1.
#[test]
fn a_closed_window_is_probed_with_back_off_for_as_long_as_the_other_end_answers() {
    let config = Config { receive_buffer: Bytes(4 * MSS), reads_at_once: false, ..config() };
    let mut wire = Wire::established(&config);
    wire.write(A, 10 * MSS);
    wire.run_for(ms(400));
    assert_eq!(wire.ends[B].unread(), 4 * MSS);
    wire.forget();
    wire.run_for(Span::from_secs(1000));
    let probes = wire.times(A, Sent::is_data);
    let gaps: Vec<_> = probes.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect();
    assert_eq!(gaps[..6], [2, 4, 8, 16, 32, 60]);
    assert!(gaps[6..].iter().all(|gap| *gap == 60), "once a minute for ever");
    assert!(wire.sent(A, Sent::is_data).all(|s| s.segment.payload == 1), "one byte");
    assert!(wire.ends[A].abort_cause().is_none(), "answered probes are no failure");
    assert_eq!(wire.ends[A].counters().timeouts, 0);
    wire.read(B, 4 * MSS);
    wire.run_for(Span::from_secs(2));
    assert_eq!(wire.ends[B].delivered() + wire.ends[B].unread(), 8 * MSS);
}

#[test]
fn a_lost_window_update_is_found_by_the_probe() {
    let config = Config { receive_buffer: Bytes(4 * MSS), reads_at_once: false, ..config() };
    let mut wire = Wire::established(&config);
    wire.write(A, 10 * MSS);
    wire.run_for(ms(400));
    wire = wire.scripted(|_| Fate::Lost);
    wire.read(B, 4 * MSS);
    wire = wire.scripted(|_| Fate::Arrives);
    wire.run_for(Span::from_secs(2));
    assert_eq!(wire.ends[B].unread(), 3 * MSS + 1, "the byte of the probe and three segments");
    for _ in 0..2 {
        wire.read(B, 4 * MSS);
        wire.run_for(Span::from_secs(2));
    }
    wire.read(B, 4 * MSS);
    assert_eq!(wire.ends[B].delivered(), 10 * MSS);
}

/// The byte of a probe counts once, whether the probe or its answer is lost.
#[test]
fn a_probe_that_is_taken_in_is_delivered_once() {
    for lost in [A, B] {
        let config = Config { receive_buffer: Bytes(2 * MSS), reads_at_once: false, ..config() };
        let mut wire = Wire::established(&config);
        wire.write(A, 5 * MSS);
        wire.run_for(ms(400));
        wire = wire.scripted(move |sent| match sent.at < crate::wire::at(3000) {
            true if sent.by == lost => Fate::Lost,
            _ => Fate::Arrives,
        });
        wire.read(B, 10);
        for _ in 0..200 {
            wire.run_for(ms(100));
            wire.read(B, 300);
        }
        assert_eq!(wire.ends[B].delivered(), 5 * MSS);
        assert_eq!(wire.ends[A].acknowledged(), 5 * MSS);
    }
}

/// Section 3.7.4.
#[test]
fn nagle_holds_small_segments_back_while_anything_is_outstanding() {
    for (nagle, expected) in [(true, vec![100, 300]), (false, vec![100, 100, 100, 100])] {
        let mut wire = Wire::established(&Config { nagle, ..config() });
        for _ in 0..4 {
            wire.write(A, 100);
            wire.run_for(ms(10));
        }
        wire.run_for(Span::from_secs(1));
        let payloads: Vec<_> = wire.sent(A, Sent::is_data).map(|s| s.segment.payload).collect();
        assert_eq!(payloads, expected);
    }
}

/// RFC 5681 section 4.1.
#[test]
fn an_idle_sender_starts_again_from_the_initial_window() {
    for (idle_restart, sent) in [(true, 10), (false, 40)] {
        let mut wire = Wire::established(&Config { idle_restart, ..config() });
        wire.write(A, 300 * MSS);
        wire.run_for(Span::from_secs(3));
        assert!(wire.ends[A].controller().window().cwnd > 40 * MSS);
        wire.forget();
        wire.write(A, 40 * MSS);
        assert_eq!(wire.sent(A, Sent::is_data).count(), sent);
    }
}

#[test]
fn a_pause_shorter_than_the_rto_is_not_idle() {
    let mut wire = Wire::established(&config());
    wire.write(A, 300 * MSS);
    while wire.ends[A].acknowledged() < 300 * MSS {
        wire.run_for(ms(10));
    }
    wire.run_for(ms(700));
    wire.forget();
    wire.write(A, 40 * MSS);
    assert_eq!(wire.sent(A, Sent::is_data).count(), 40);
}

/// RFC 5681 section 4.2, and RFC 9293 section 3.8.6.3.
#[test]
fn an_ack_waits_for_a_second_segment_or_for_its_timer() {
    let mut wire = Wire::established(&config());
    wire.forget();
    let start = wire.now.as_nanos() / 1_000_000;
    wire.write(A, 3 * MSS);
    wire.run();
    assert_eq!(wire.times(B, Sent::is_bare_ack), [start + 50, start + 250]);
}

#[test]
fn an_ack_rides_on_data_if_there_is_some() {
    let mut wire = Wire::established(&config());
    wire.forget();
    wire.write(A, 100);
    wire.run_for(ms(60));
    wire.write(B, 100);
    wire.run();
    assert_eq!(wire.sent(B, Sent::is_bare_ack).count(), 0);
    assert_eq!(wire.ends[A].acknowledged(), 100);
}

#[test]
fn the_send_buffer_limits_what_is_outstanding() {
    let mut wire =
        Wire::established(&Config { send_buffer: SizeLimit::of(Bytes(7 * MSS)), ..config() });
    wire.write(A, 100 * MSS);
    let mut most = 0;
    while wire.step(Time::ZERO + Span::from_secs(100)) {
        most = most.max(wire.ends[A].flight());
    }
    assert_eq!(most, 7 * MSS);
    assert_eq!(wire.ends[B].delivered(), 100 * MSS);
}

/// RFC 7661: a window that is not used says nothing about the path.
#[test]
fn the_congestion_window_grows_only_while_it_is_what_limits_the_sender() {
    // With 20 segments in flight, it grows once more when it has reached 40.
    for (window_validation, limit) in [(true, 41), (false, 1_000)] {
        let config = Config { receive_buffer: Bytes(20 * MSS), window_validation, ..config() };
        let mut wire = Wire::established(&config);
        wire.write(A, 500 * MSS);
        wire.run();
        let cwnd = wire.ends[A].controller().window().cwnd / MSS;
        assert!(cwnd <= limit && (window_validation || cwnd > 41), "{cwnd}");
    }
}

/// RFC 7661: that the window was full once says nothing of a later transfer that leaves it unused.
#[test]
fn small_transfers_after_a_large_one_do_not_grow_the_congestion_window() {
    let mut wire = Wire::established(&Config { idle_restart: false, ..config() });
    wire.write(A, 60 * MSS);
    wire.run();
    let before = wire.ends[A].controller().window().cwnd;
    assert!(before > 20 * MSS, "the large one was limited by it: {before}");
    for _ in 0..10 {
        wire.write(A, 5 * MSS);
        wire.run();
    }
    assert_eq!(wire.ends[A].controller().window().cwnd, before);
}

/// Rates of an application that sends less than the path takes are not those of the path: BBR does
/// not take the pipe for full, and objects that fit its window take no longer than the first ones.
#[test]
fn bbr_is_not_slowed_by_transfers_that_leave_the_path_unused() {
    for name in ["bbr", "bbr3"] {
        let config = Config { receive_buffer: Bytes(65_000), ..config() };
        let connect = |sequence| {
            let controller = Specification::named(name).unwrap().build(&config.controller());
            Connection::new(Arc::new(config.clone()), controller, sequence)
        };
        let mut wire = Wire::of([connect(1_000), connect(2_000_000)]).open();
        wire.run_for(ms(150));
        let mut took = Vec::new();
        for _ in 0..20 {
            let before = wire.now;
            wire.write(A, 20 * MSS);
            wire.run();
            took.push(wire.now.since(before).as_nanos() / 1_000_000);
        }
        assert!(took[19] <= took[2], "{name}: {took:?}");
    }
}

/// RFC 9293 section 3.10.7.4: an ACK of what was never sent is answered and changes nothing.
#[test]
fn an_ack_of_what_was_never_sent_is_answered_and_ignored() {
    let mut script = Script::sender(tcp::Recovery::NewReno, 20);
    script.ack(500);
    assert_eq!(script.first(), 10);
    assert_eq!(script.segments.len(), 1);
}

/// RFC 9293 section 3.10.7.4: an old segment may not turn the window back.
#[test]
fn a_reordered_ack_does_not_turn_the_window_back() {
    let mut script = Script::new(&config());
    script.end.write(100 * MSS);
    script.sent();
    script.offer(2 * MSS);
    let old = script.ack_of(MSS);
    script.offer(60 * MSS);
    script.ack(4);
    let before = script.end.flight();
    script.receive(old);
    assert_eq!(script.end.flight(), before);
    assert!(!script.ack(6).is_empty());
}

/// RFC 9293 section 3.8.6: a sender copes with a window that shrinks.
#[test]
fn a_window_that_shrinks_stops_new_data_and_not_the_connection() {
    let mut script = Script::sender(tcp::Recovery::NewReno, 20);
    script.offer(5 * MSS);
    assert_eq!(script.ack(12), [0; 0]);
    assert_eq!(script.ack(30), [30, 31, 32, 33, 34]);
}
