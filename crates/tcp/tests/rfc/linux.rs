//! Loss recovery as in Linux: RACK-TLP (RFC 8985), proportional rate reduction (RFC 9937), and what
//! takes needless reductions back (RFC 3708, RFC 5682).

#![expect(clippy::single_range_in_vec_init, reason = "a list of one SACK block")]

use congestion::Controller;
use tcp::{AckTiming, Config, Flags, Phase, Recovery};
use transport::{Endpoint, Estimator, RtoConfig};
use units::{Bytes, SizeLimit, Span, Time};

use crate::script::Script;
use crate::wire::{A, Fate, MSS, Sent, Wire, config, ms};

const NONE: [u64; 0] = [];

fn linux() -> Config {
    Config { recovery: Recovery::Linux, ..config() }
}

/// Segments 10 to 29 are outstanding, sent 100 ms ago, and cwnd is 20. The RTT is 100 ms.
fn sender() -> Script {
    let mut script = Script::new(&linux());
    script.end.write(1_000 * MSS);
    assert_eq!(script.sent().len(), 10);
    script.wait(ms(100));
    for n in 1..=10 {
        assert_eq!(script.ack(n).len(), 2);
    }
    assert_eq!(script.wait(ms(100)), NONE);
    script
}

/// RFC 8985 section 6.2 step 4: no reordering was seen, and DupThresh segments have overtaken.
#[test]
fn three_segments_above_a_hole_mean_a_loss_at_once() {
    let mut script = sender();
    assert_eq!(script.sack(10, &[11..14])[0], 10);
    assert_eq!((script.end.phase(), script.ssthresh()), (Phase::FastRecovery, 10));
}

/// RFC 8985 section 6.2 step 5.
#[test]
fn fewer_mean_a_loss_after_a_quarter_of_the_round_trip() {
    let mut script = sender();
    assert_eq!(script.sack(10, &[11..12]), [30], "limited transmit");
    // And 2 ms, as in Linux.
    assert_eq!(script.end.deadline(), script.now + ms(27));
    assert_eq!(script.wait(ms(26)), NONE);
    assert_eq!(script.wait(ms(1)), [10]);
    assert_eq!(script.end.phase(), Phase::FastRecovery);
}

/// The receiver was waiting with the ACK of a segment when one after the next came: that is no
/// reordering (RFC 8985 section 6.2 step 3 goes through what an ACK brings in order).
#[test]
fn a_delayed_ack_that_a_gap_hurries_is_no_reordering() {
    let mut script = sender();
    script.sack(11, &[12..13]);
    script.sack(11, &[12..14]);
    assert_eq!(script.sack(11, &[12..15])[0], 11);
    assert_eq!(script.end.phase(), Phase::FastRecovery);
}

/// RFC 8985 section 6.2 steps 3 and 4.
#[test]
fn once_reordering_was_seen_three_segments_mean_nothing() {
    let mut script = sender();
    script.sack(10, &[11..12]);
    script.ack(12);
    script.sack(12, &[13..20]);
    assert_eq!(script.end.phase(), Phase::Open);
    assert_eq!(script.wait(ms(27))[0], 12);
}

/// RFC 6937 section 3: one for two that arrive, until ssthresh is what is in the network.
#[test]
fn the_window_falls_in_the_measure_in_which_data_arrives() {
    let mut script = sender();
    let mut sent = script.sack(10, &[11..14]);
    assert_eq!(sent, [10, 30], "half of three, rounded up");
    for n in 15..=30 {
        sent.extend(script.sack(10, &[11..n]));
    }
    assert_eq!(sent.len(), 10, "half of the 19 that have arrived: {sent:?}");
    script.ack(30);
    assert_eq!((script.end.phase(), script.cwnd(), script.ssthresh()), (Phase::Open, 10, 10));
}

/// RFC 6937 section 3.1: the slow start reduction bound.
#[test]
fn after_many_losses_the_window_climbs_back_with_each_ack_that_makes_progress() {
    let mut script = sender();
    // 13 of 20 are lost, and the pipe is empty but for what this ACK lets out.
    assert_eq!(script.sack(10, &[23..30]), [10, 11, 12, 13, 14, 15, 16]);
    assert_eq!(script.sack(11, &[23..30]), [17, 18]);
    assert_eq!(script.sack(12, &[23..30]), [19, 20]);
}

/// Linux: the timer restarts with the retransmission of the first segment, and with a SACK of data
/// that was sent before it (`tcp_clean_rtx_queue`). A SACK of later data does not restart it.
#[test]
fn the_timer_starts_with_the_retransmission_of_the_first_segment() {
    let mut script = sender();
    script.sack(10, &[11..14]);
    assert_eq!(script.end.deadline(), script.now + script.end.rtt().rto());
    script.wait(ms(200));
    assert_eq!(script.sack(10, &[11..20]), [31, 32, 33]);
    let before = script.now + script.end.rtt().rto();
    assert_eq!(script.end.deadline(), before, "what was sent before it arrives");
    script.wait(ms(100));
    assert_eq!(script.sack(10, &[11..20, 31..32])[0], 10, "it was lost again");
    assert_eq!(script.end.deadline(), script.now + script.end.rtt().rto());
}

/// RFC 8985 section 6.2: a retransmission is a segment like any other.
#[test]
fn retransmissions_that_are_lost_again_and_again_are_found_without_a_timeout() {
    // Segment 31 starts at byte 30,001 and is lost three times.
    let mut times = 0;
    let mut wire = Wire::established(&linux()).scripted(move |sent| {
        let start = sent.segment.sequence.wrapping_sub(1_001);
        let lost = sent.by == A && sent.is_data() && start == 30_000 && times < 3;
        times += u32::from(lost);
        if lost { Fate::Lost } else { Fate::Arrives }
    });
    wire.write(A, 300 * MSS);
    wire.run();
    let counters = wire.ends[A].counters();
    assert_eq!((counters.timeouts, counters.retransmissions), (0, 3));
    assert_eq!(wire.ends[A].acknowledged(), 300 * MSS);
}

/// A transfer of `segments` in one window over a wire that loses the data segments with these
/// numbers, counted from one with retransmissions.
fn tail(segments: u64, lost: &'static [usize]) -> Wire {
    tail_of(&linux(), segments, lost)
}

fn tail_of(config: &Config, segments: u64, lost: &'static [usize]) -> Wire {
    let mut wire = Wire::established(config);
    wire = wire.losing(move |sent| sent.by == A && sent.is_data() && lost.contains(&sent.nth));
    wire.write(A, segments * MSS);
    wire.run();
    assert_eq!(wire.ends[A].acknowledged(), segments * MSS);
    wire
}

fn cwnd(wire: &Wire) -> u64 {
    wire.ends[A].controller().window().cwnd / MSS
}

/// RFC 8985 section 7: the probe's SACK shows what else is lost.
#[test]
fn a_lost_tail_is_repaired_without_a_timeout() {
    for lost in [&[9, 10][..], &[8, 9, 10], &[3, 4, 5, 6, 7, 8, 9, 10]] {
        let wire = tail(10, lost);
        let counters = wire.ends[A].counters();
        assert_eq!(counters.timeouts, 0, "{lost:?}");
        assert_eq!(counters.retransmissions, lost.len() as u64, "{lost:?}");
        assert!(cwnd(&wire) < 10, "a loss is a loss: {lost:?}");
    }
}

/// `tcp_schedule_loss_probe`: 2 SRTT, and 2 ms or, for a single segment, the smallest RTO.
#[test]
fn the_probe_leaves_after_two_round_trips() {
    let wire = tail(10, &[9, 10]);
    let data = wire.times(A, Sent::is_data);
    assert_eq!(data[10] - data[9], 302, "after the last ACK, at 100 ms");
    for (least, after) in [(30, 230), (80, 280), (150, 300)] {
        let rto = RtoConfig { min: ms(least), ..config().rto };
        let wire = tail_of(&Config { rto, ..linux() }, 1, &[1]);
        let data = wire.times(A, Sent::is_data);
        assert_eq!(data[1] - data[0], after, "2 * 100 and {least} ms, at most an RTO");
    }
}

/// RFC 8985 section 7.3: only one probe; the timer does the rest.
#[test]
fn when_the_probe_is_lost_too_the_timer_expires() {
    let wire = tail(10, &[10, 11]);
    assert_eq!(wire.ends[A].counters().timeouts, 1);
}

/// RFC 8985 section 7.3: new data, if there is any, is the better probe.
#[test]
fn a_probe_carries_new_data_when_the_window_of_the_receiver_allows() {
    let mut script = sender();
    assert_eq!(script.wait(ms(102)), [30]);
    assert_eq!(script.end.counters().retransmissions, 0);
    script.ack(31);
    assert!(script.cwnd() >= 20, "{}", script.cwnd());
}

/// RFC 8985 section 7.4: the report of a duplicate says that nothing was lost.
#[test]
fn a_needless_probe_reduces_nothing() {
    let mut wire = Wire::established(&linux());
    // The ACKs of the last segments are lost.
    wire = wire.losing(|sent| sent.by != A && sent.is_bare_ack() && sent.nth == 5);
    wire.write(A, 10 * MSS);
    wire.run();
    assert_eq!(wire.ends[A].counters().retransmissions, 1);
    wire.write(A, 2 * MSS);
    wire.run();
    assert!(cwnd(&wire) >= 10, "{}", cwnd(&wire));
    assert_eq!(wire.ends[A].controller().window().ssthresh, u64::MAX);
}

/// RFC 8985 section 7.4: what only the probe has repaired was a loss too.
#[test]
fn a_probe_that_repairs_a_loss_is_answered_by_a_reduction() {
    // A window that is not used would shrink before the probe is answered.
    let mut wire = tail_of(&Config { idle_restart: false, ..linux() }, 10, &[10]);
    assert_eq!(wire.ends[A].controller().window().ssthresh, u64::MAX, "not yet known");
    let before = cwnd(&wire);
    wire.write(A, 2 * MSS);
    wire.run();
    assert_eq!(wire.ends[A].controller().window().ssthresh / MSS, before / 2);
    assert_eq!(wire.ends[A].counters().fast_recoveries, 0);
}

/// RFC 3708: all that was sent again had arrived.
#[test]
fn a_reduction_for_a_segment_that_was_only_late_is_taken_back() {
    let mut wire = Wire::established(&linux()).scripted(|sent| {
        let late = sent.by == A && sent.is_data() && sent.nth == 35;
        if late { Fate::Late(ms(90)) } else { Fate::Arrives }
    });
    wire.write(A, 200 * MSS);
    let mut lowest = u64::MAX;
    while wire.step(Time::ZERO + ms(100_000)) {
        lowest = lowest.min(cwnd(&wire));
    }
    let counters = wire.ends[A].counters();
    assert_eq!((counters.fast_recoveries, counters.retransmissions), (1, 1));
    assert_eq!(wire.ends[A].controller().window().ssthresh, u64::MAX, "as before");
}

/// RFC 5682 section 3: the originals arrive after all.
#[test]
fn a_timeout_for_segments_that_were_only_late_is_taken_back() {
    // Timestamps tell which copy of the first segment is acknowledged (RFC 8985 section 6.2 step
    // 2).
    let mut wire = Wire::established(&Config { timestamps: true, ..linux() });
    wire.write(A, 20 * MSS);
    wire.run();
    let before = cwnd(&wire);
    let from = wire.now + ms(1);
    // A hand-over: all that is sent within 1.5 s arrives at its end, or two seconds from now.
    let end = from + ms(1500);
    wire = wire.scripted(move |sent| {
        let late = sent.by == A && sent.at < end;
        if late { Fate::Late(end.since(sent.at) + ms(500)) } else { Fate::Arrives }
    });
    wire.write(A, 400 * MSS);
    wire.run();
    let counters = wire.ends[A].counters();
    assert!(counters.timeouts >= 1);
    assert!(counters.retransmissions <= 2 + u64::from(counters.timeouts), "{counters:?}");
    assert!(cwnd(&wire) >= before, "{} and {before}", cwnd(&wire));
    assert_eq!(wire.ends[A].controller().window().ssthresh, u64::MAX);
}

/// RFC 5682 section 3 step 3a.
#[test]
fn a_timeout_for_segments_that_were_lost_stands() {
    let wire = tail(10, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert!(wire.ends[A].counters().timeouts >= 1);
    assert!(wire.ends[A].controller().window().ssthresh <= 5 * MSS);
}

/// F-RTO is for timeouts outside of a recovery.
#[test]
fn a_timeout_within_a_recovery_is_not_doubted_and_reduces_ssthresh_no_further() {
    let mut script = sender();
    script.sack(10, &[11..14]);
    script.sack(10, &[11..24]);
    assert_eq!(script.time_out(), [10]);
    assert_eq!(script.ssthresh(), 10);
    // The originals of 24 to 26, which were not sent again.
    script.ack(27);
    assert_eq!(script.end.phase(), Phase::Timeout);
}

/// RFC 8985 section 6.3; Linux lets one segment out on top of what it spares.
#[test]
fn a_timeout_spares_what_was_sent_a_moment_ago() {
    let mut script = Script::new(&linux());
    script.end.write(10 * MSS);
    script.sent();
    script.wait(ms(100));
    script.ack(10);
    script.end.write(5 * MSS);
    script.sent();
    // The probe after 202 ms.
    assert_eq!(script.wait(ms(950)), [14]);
    script.end.write(2 * MSS);
    assert_eq!(script.sent(), [15, 16]);
    // The timer waits for another probe, at the latest an RTO after the first segment was sent.
    // There is none, because one is out.
    assert_eq!(script.wait(ms(50)), NONE);
    assert_eq!(script.wait(ms(1)), [10]);
    let mut sent = script.ack(11);
    sent.extend(script.ack(15));
    assert!(!sent.contains(&15) && !sent.contains(&16), "{sent:?}");
}

#[test]
fn sack_blocks_are_samples_of_the_round_trip_time() {
    let mut script = sender();
    let before = script.end.rtt().srtt();
    script.wait(ms(50));
    script.sack(10, &[11..12]);
    assert!(script.end.rtt().srtt() > before);
}

/// Linux: half of cwnd, whatever the application has filled of it.
#[test]
fn a_loss_halves_the_window_and_not_the_flight() {
    let mut script = Script::new(&linux());
    script.end.write(20 * MSS);
    script.sent();
    script.wait(ms(100));
    (1..=20).for_each(|n| _ = script.ack(n));
    let before = script.cwnd();
    script.end.write(6 * MSS);
    script.sent();
    script.wait(ms(100));
    script.sack(20, &[21..24]);
    assert_eq!((script.end.phase(), script.ssthresh()), (Phase::FastRecovery, before / 2));
    assert!(before > 12);
}

/// RFC 8985 section 6.2 step 4; in Linux only where reordering was seen.
#[test]
fn a_duplicate_report_widens_the_reordering_window() {
    for reorders in [false, true] {
        let mut script = sender();
        if reorders {
            script.sack(10, &[13..14]);
            script.sack(10, &[11..12, 13..14]);
            assert_eq!(script.wait(ms(27))[0], 10);
        } else {
            assert_eq!(script.sack(10, &[11..14])[0], 10);
        }
        script.sack(14, &[10..11]);
        assert_eq!((script.end.phase(), script.cwnd() >= 20), (Phase::Open, true), "undone");
        script.sack(14, &[15..16]);
        let window = if reorders { ms(50) } else { ms(25) };
        assert_eq!(script.end.deadline(), script.now + window + ms(2), "{reorders}");
    }
}

/// Without SACK at the other end there is nothing to go by.
#[test]
fn a_peer_without_sack_gets_newreno() {
    let mut wire =
        Wire::between(&linux(), &Config { recovery: Recovery::NewReno, ..config() }).open();
    wire.run_for(ms(150));
    wire = wire.losing(|sent| sent.is_data() && sent.nth == 30);
    wire.write(A, 100 * MSS);
    wire.run();
    let counters = wire.ends[A].counters();
    assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 0));
    assert_eq!(wire.ends[A].acknowledged(), 100 * MSS);
}

/// `tcp_cwnd_restart`, `tcp_current_ssthresh`: three quarters of a window that was not used stay as
/// ssthresh, if that is more than ssthresh was.
#[test]
fn an_idle_window_leaves_three_quarters_as_ssthresh() {
    for (before, rises) in [(4, true), (7, false)] {
        let mut script = Script::new(&Config {
            initial_window: 2,
            initial_ssthresh: SizeLimit::of(Bytes(before * MSS)),
            ..linux()
        });
        script.end.write(1_000 * MSS);
        script.sent();
        while script.cwnd() < 8 {
            script.wait(ms(10));
            script.ack(script.first() + 1);
        }
        script.end.withdraw();
        while script.end.flight() > 0 {
            script.ack(script.first() + 1);
        }
        let window = |script: &Script| *script.end.controller().window();
        let unused = window(&script);
        script.wait(Span::from_secs(30));
        script.end.write(MSS);
        script.sent();
        let most_of_it = unused.cwnd / 2 + unused.cwnd / 4;
        assert_eq!(most_of_it > before * MSS, rises, "{unused:?}");
        let kept = if rises { most_of_it } else { unused.ssthresh };
        assert_eq!((script.cwnd(), window(&script).ssthresh), (2, kept), "was {unused:?}");
    }
}

/// Timeouts of a sender whose RTT is 1.1 s, with an ACK each 22 ms, when `pauses` times 120 ms pass
/// without one.
fn timeouts_after_pauses(estimator: Estimator, pauses: u32) -> u32 {
    let rto = match estimator {
        Estimator::Rfc6298 => RtoConfig::default(),
        Estimator::Linux => RtoConfig { estimator, min: ms(200), ..RtoConfig::default() },
    };
    let mut script = Script::new(&Config { rto, initial_window: 50, ..linux() });
    script.offer(50 * MSS);
    script.end.write(5_000 * MSS);
    script.sent();
    script.wait(ms(1100 - 22));
    let mut next = 0;
    let mut run = |script: &mut Script, acks: u64| {
        for _ in 0..acks {
            script.wait(ms(22));
            next += 1;
            script.ack(next);
        }
    };
    run(&mut script, 3000);
    let before = script.end.counters().timeouts;
    for _ in 0..pauses {
        script.wait(ms(120));
        run(&mut script, 20);
    }
    script.end.counters().timeouts - before
}

/// RFC 6298 section 5 rule 5.3: an RTO without Linux's 200 ms counts from the last ACK of new data.
/// From the departure of the first segment it would be over with the RTT.
#[test]
fn a_pause_of_less_than_the_rtt_is_no_timeout_with_either_rto() {
    for estimator in [Estimator::Rfc6298, Estimator::Linux] {
        assert_eq!(timeouts_after_pauses(estimator, 6), 0, "{estimator:?}");
    }
}

/// `tcp_tso_autosize`: what Linux hands down in one piece is about a millisecond at twice cwnd per
/// smoothed RTT, here seven segments. The last of it has PSH (`__tcp_transmit_skb`).
#[test]
fn the_last_segment_of_each_millisecond_is_pushed() {
    let timing = AckTiming::Linux;
    let config = Config { delayed_ack: timing, initial_window: 400, ..linux() };
    let mut script = Script::new(&config);
    script.end.write(1_000 * MSS);
    assert_eq!(script.sent().len(), 66, "65,535 bytes, the window of the receiver");
    let pushed = |index: usize| script.segments[index].flags.contains(Flags::PSH);
    let found: Vec<usize> = (0..63).filter(|index| pushed(*index)).collect();
    assert_eq!(found, (0..63).skip(6).step_by(7).collect::<Vec<_>>());
}
