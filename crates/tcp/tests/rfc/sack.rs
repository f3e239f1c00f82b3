//! Loss recovery with SACK (RFC 6675).

#![expect(clippy::single_range_in_vec_init, reason = "a list of one SACK block")]

use tcp::Recovery::Sack;
use tcp::{Config, Flags, Phase, Segment};
use transport::Endpoint;

use crate::script::Script;
use crate::wire::{A, B, MSS, Wire, config, ms};

/// Segments 10 to 29 are outstanding, cwnd is 20.
fn sender() -> Script {
    Script::sender(Sack, 20)
}

const NONE: [u64; 0] = [];

/// Section 2: an ACK without news about the scoreboard is no duplicate.
#[test]
fn a_duplicate_is_an_ack_with_news_in_its_blocks() {
    let mut script = sender();
    for _ in 0..5 {
        script.duplicate();
    }
    assert_eq!(script.end.phase(), Phase::Open);
    for _ in 0..5 {
        script.sack(10, &[11..12]);
    }
    assert_eq!(script.end.phase(), Phase::Open);
    script.sack(10, &[11..13]);
    assert_eq!(script.sack(10, &[11..14]), [10]);
}

/// Section 2: "regardless of" data in the segment, unlike RFC 5681.
#[test]
fn news_on_a_segment_that_carries_data_counts_as_a_duplicate() {
    let mut script = sender();
    for n in 12..=14 {
        let ack = script.sack_of(10, std::slice::from_ref(&(11..n)));
        let sequence = ack.sequence + 10 * (n as u32 - 12);
        script.receive(Segment { payload: 10, sequence, ..ack });
    }
    assert_eq!(script.end.phase(), Phase::FastRecovery);
    assert_eq!(script.end.counters().retransmissions, 1);
}

/// RFC 5681 section 4.2: out-of-order data asks for an immediate *duplicate* ACK, which carries no
/// data; one that rides on data would not count at the other end.
#[test]
fn a_receiver_that_is_sending_too_sends_its_duplicate_acks_alone() {
    let mut script = sender();
    let data = Segment { payload: 1000, flags: Flags::ACK, ..script.ack_of(11 * MSS) };
    script.receive(Segment { sequence: data.sequence + 1000, ..data });
    let first = script.segments[0];
    assert_eq!((first.payload, first.sack_blocks), (0, 1));
    assert!(script.segments.len() > 1, "the data follows");
}

#[test]
fn losses_in_both_directions_are_repaired_without_a_timeout() {
    for recovery in [tcp::Recovery::NewReno, Sack] {
        let mut wire = Wire::established(&Config { recovery, ..config() });
        wire = wire.losing(|sent| sent.is_data() && sent.nth == 30);
        wire.ends[A].write(100 * MSS);
        wire.write(B, 100 * MSS);
        wire.run();
        for end in [A, B] {
            let counters = wire.ends[end].counters();
            assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 0), "{recovery:?}");
        }
    }
}

/// Section 5 step 2: IsLost needs no three ACKs if one ACK tells of three segments.
#[test]
fn one_ack_that_reports_three_segments_above_a_hole_is_enough() {
    let mut script = sender();
    assert_eq!(script.sack(10, &[11..13])[..0], NONE);
    assert_eq!(script.end.phase(), Phase::Open, "two segments are not more than two");
    assert_eq!(script.sack(10, &[11..14])[0], 10);
}

/// Section 5 step 4.2.
#[test]
fn a_loss_sets_cwnd_and_ssthresh_to_half_the_flight() {
    let mut script = sender();
    script.sack(10, &[11..14]);
    assert_eq!((script.cwnd(), script.ssthresh()), (10, 10));
}

/// Section 5 step 3: limited transmit as the pipe allows.
#[test]
fn the_first_duplicates_let_out_what_has_left_the_pipe() {
    let mut script = sender();
    assert_eq!(script.sack(10, &[11..12]), [30]);
    assert_eq!(script.sack(10, &[11..13]), [31]);
}

/// Sections 4 (SetPipe) and 5 (step C).
#[test]
fn nothing_leaves_while_the_pipe_is_full() {
    let mut script = sender();
    assert_eq!(script.sack(10, &[11..14]), [10], "the first retransmission does not ask");
    // 16 of 20 segments are in the pipe and one again; cwnd is 10.
    for n in 15..21 {
        assert_eq!(script.sack(10, std::slice::from_ref(&(11..n))), NONE);
    }
    assert_eq!(script.sack(10, &[11..21]), NONE, "pipe = 9 + 1");
    assert_eq!(script.sack(10, &[11..22]), [30]);
    assert_eq!(script.sack(10, &[11..23]), [31]);
}

/// Section 4, NextSeg: (1) lost, (2) new, (3) not sacked below the highest sacked, (4) rescue.
#[test]
fn the_next_segment_is_lost_then_new_then_doubtful_then_the_last() {
    let mut script = sender();
    script.offer(20 * MSS);
    // 10, 12 and 13 are lost; 27 and 29 are not known to be.
    let first = script.sack(10, &[14..27, 11..12, 28..29]);
    assert_eq!(first[..3], [10, 12, 13], "rule 1");
    assert_eq!(first[3..], [27, 29], "rule 2 has no window; rules 3 and 4");
    assert_eq!(script.sack(10, &[12..13]), NONE, "a rescue is made once");

    let mut script = sender();
    let first = script.sack(10, &[14..27, 11..12, 28..29]);
    assert_eq!(first, [10, 12, 13, 30, 31, 32, 33, 34], "rule 2 comes before rule 3");
}

/// Section 4: a rescue does not move HighRxt.
#[test]
fn a_rescue_leaves_the_holes_below_it_to_be_sent_again() {
    let mut script = sender();
    script.offer(20 * MSS);
    assert_eq!(script.sack(10, &[11..14]), [10]);
    // With the window closed to new data, the last segment is the rescue.
    assert_eq!(script.sack(10, &[11..21]), NONE);
    assert_eq!(script.sack(10, &[11..22]), [29]);
    assert_eq!(script.sack(10, &[11..22, 25..29]), [22, 23, 24]);
}

/// Section 5: recovery lasts until HighACK reaches RecoveryPoint.
#[test]
fn recovery_ends_when_all_that_was_outstanding_is_acknowledged() {
    let mut script = sender();
    script.sack(10, &[11..14]);
    script.ack(29);
    assert_eq!(script.end.phase(), Phase::FastRecovery);
    script.ack(30);
    assert_eq!((script.end.phase(), script.cwnd()), (Phase::Open, 10));
}

/// RFC 6298 rule 5.3 holds for every partial ACK with SACK.
#[test]
fn every_partial_ack_restarts_the_timer() {
    let mut script = sender();
    script.sack(10, &[11..14, 15..20]);
    for n in [14, 20] {
        script.wait(ms(100));
        script.ack(n);
        assert_eq!(script.end.deadline(), script.now + script.end.rtt().rto());
    }
}

/// Section 5.1: the scoreboard outlives a timeout, and what was sacked is not sent again.
#[test]
fn after_a_timeout_only_the_holes_are_sent_again() {
    let mut script = sender();
    script.sack(10, &[12..13]);
    let mut sent = script.time_out();
    for n in [11, 13, 14, 16, 20, 30] {
        sent.extend(script.ack(n));
    }
    let old: Vec<_> = sent.iter().filter(|n| **n < 30).collect();
    assert!(!old.contains(&&12), "{old:?}");
    assert_eq!(script.end.counters().timeouts, 1);
}

/// Section 5 step C: cwnd - pipe >= 1 SMSS, however short what is left to send.
#[test]
fn lost_data_goes_before_the_short_end_of_the_stream() {
    let mut script = Script::new(&config());
    script.end.write(10 * MSS);
    assert_eq!(script.sent().len(), 10);
    script.offer(60_000);
    script.ack(0);
    // Segments 0 and 1 are lost; cwnd is 5 and the pipe 4.5 after the retransmission of 0.
    script.end.write(100);
    let mut half = script.sack_of(0, &[2..5]);
    half.sack[0].end += 500;
    let sent = script.receive(half);
    assert_eq!(sent[0], 0);
    assert!(!sent.contains(&10), "{sent:?}");
    let sent = script.sack(0, &[2..7]);
    assert_eq!(sent[..1], [1]);
}

/// Blocks that make no sense (D-SACK below, beyond what was sent) do no harm.
#[test]
fn blocks_outside_of_what_is_outstanding_are_ignored() {
    let mut script = sender();
    for block in [0..5, 5..10, 35..40, 1_000..2_000, 9..10] {
        script.sack(10, &[block]);
    }
    assert_eq!(script.end.phase(), Phase::Open);
    script.sack(10, &[11..14]);
    assert_eq!(script.end.phase(), Phase::FastRecovery);
}
