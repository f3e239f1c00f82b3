//! Options: MSS (RFC 9293 section 3.7.1), window scale and timestamps (RFC 7323), SACK (RFC 2018).

use tcp::Recovery;
use tcp::{Config, Flags, Segment, State};
use transport::Endpoint;
use units::{Bytes, Span};

use crate::script::Script;
use crate::wire::{A, B, Fate, MSS, Sent, Wire, config, connection, ms};

fn syns(wire: &Wire) -> Vec<Segment> {
    wire.log.iter().filter(|sent| sent.is_syn()).map(|sent| sent.segment).collect()
}

fn largest_payload(wire: &Wire, by: usize) -> u16 {
    wire.sent(by, Sent::is_data).map(|sent| sent.segment.payload).max().unwrap()
}

#[test]
fn an_option_is_used_only_if_both_ends_offer_it() {
    let all = Config { timestamps: true, window_scaling: true, ..config() };
    let none = Config { recovery: Recovery::NewReno, ..config() };
    for (a, b) in [(&all, &none), (&none, &all)] {
        let mut wire = Wire::between(a, b).open();
        wire.ends[A].write(30 * MSS);
        wire = wire.losing(|sent| sent.is_data() && sent.nth == 4);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 30 * MSS);
        for sent in wire.log.iter().filter(|sent| !sent.is_syn()) {
            assert!(!sent.segment.has_timestamps() && sent.segment.sack_blocks == 0);
        }
        let answer = syns(&wire)[1];
        assert!(!answer.has_timestamps() && !answer.sack_permitted());
        assert_eq!(answer.window_scale, Segment::NO_SCALE);
    }
}

/// RFC 2018 section 2: without the permission there are no blocks, so losses show in duplicate
/// ACKs.
#[test]
fn a_sack_sender_falls_back_to_newreno_when_the_other_end_does_not_permit_sack() {
    let mut wire = Wire::between(&config(), &Config { recovery: Recovery::NewReno, ..config() });
    wire = wire.losing(|sent| sent.is_data() && sent.nth == 4).open();
    wire.ends[A].write(30 * MSS);
    wire.run();
    let counters = wire.ends[A].counters();
    assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 0));
}

/// RFC 7323 section 2.2: the option may only answer the option.
#[test]
fn a_syn_ack_scales_windows_only_if_the_syn_did() {
    for receive_buffer in [30_000, 65_535, 1 << 20] {
        let without = Config { receive_buffer: Bytes(receive_buffer), ..config() };
        let with =
            Config { receive_buffer: Bytes(receive_buffer), window_scaling: true, ..config() };
        let mut wire = Wire::between(&without, &with).open();
        wire.run();
        assert_eq!(syns(&wire)[1].window_scale, Segment::NO_SCALE);
    }
}

/// RFC 7323 section 2.2: the window of a SYN is never scaled.
#[test]
fn a_scaled_window_lets_a_megabyte_fly() {
    let large = Config { receive_buffer: Bytes(1 << 20), window_scaling: true, ..config() };
    let mut wire = Wire::new(&large).open();
    assert_eq!(syns(&wire)[0].window, u16::MAX);
    wire.ends[A].write(20_000 * MSS);
    let mut most = 0;
    while wire.step(crate::wire::at(3_000)) {
        most = most.max(wire.ends[A].flight());
        assert!(most <= 1 << 20);
    }
    assert!(most > (1 << 20) - 2 * MSS, "{most}");
}

/// RFC 9293 section 3.7.1: 536 unless the other end says more.
#[test]
fn the_mss_is_the_smaller_one_and_536_if_none_is_given() {
    let mut wire = Wire::between(&config(), &Config { mss: 700, ..config() }).open();
    for end in [A, B] {
        wire.ends[end].write(5000);
    }
    wire.run();
    assert_eq!((largest_payload(&wire, A), largest_payload(&wire, B)), (700, 700));

    let mut end = connection(&config(), 0);
    end.connect();
    let syn = end.next_packet(crate::wire::at(0)).unwrap();
    let answer = Segment {
        acknowledgement: syn.sequence + 1,
        flags: Flags::SYN.with(Flags::ACK),
        window: 60_000,
        window_scale: Segment::NO_SCALE,
        ..Segment::default()
    };
    end.write(5000);
    end.on_segment(crate::wire::at(100), &answer);
    assert_eq!(end.next_packet(crate::wire::at(100)).unwrap().payload, 536);
}

/// RFC 9293 section 3.7.1: the MSS does not count options, so the payload has to.
#[test]
fn timestamps_take_twelve_bytes_from_every_full_segment() {
    let with = Config { timestamps: true, ..config() };
    let mut wire = Wire::new(&with).open();
    wire.ends[A].write(5000);
    wire.run();
    assert_eq!(largest_payload(&wire, A), 988);

    let mut wire = Wire::between(&with, &Config { mss: 700, ..with.clone() }).open();
    wire.ends[A].write(5000);
    wire.run();
    assert_eq!(largest_payload(&wire, A), 688, "the other end's MSS does not count them either");
}

/// RFC 5681 section 2: SMSS is what this connection can send, and windows are counted in it.
#[test]
fn the_congestion_window_counts_in_segments_of_the_agreed_size() {
    let mut wire = Wire::between(&config(), &Config { mss: 500, ..config() }).open();
    wire.ends[A].write(100 * MSS);
    wire.run_until(crate::wire::at(110));
    assert_eq!(wire.sent(A, Sent::is_data).count(), 10, "ten segments of the agreed size");
}

/// RFC 2018 section 3.
#[test]
fn a_header_holds_four_sack_blocks_and_three_beside_timestamps() {
    for (timestamps, most) in [(false, 4), (true, 3)] {
        let config = Config { timestamps, ..config() };
        let mut wire = Wire::new(&config).open();
        wire = wire.losing(|sent| sent.is_data() && sent.nth % 2 == 1 && sent.nth < 14);
        wire.ends[A].write(60 * MSS);
        wire.run();
        let largest = wire.log.iter().map(|sent| sent.segment.sack_blocks).max();
        assert_eq!(largest, Some(most));
        assert!(wire.log.iter().all(|sent| sent.segment.option_bytes() <= 40));
        assert_eq!(wire.ends[B].delivered(), 60 * MSS);
    }
}

/// RFC 2018 section 4: while anything waits above a gap, every ACK says so.
#[test]
fn every_ack_reports_a_block_while_anything_waits_above_a_gap() {
    // Six gaps; the blocks reported last are the lowest, and these are the first to be filled.
    let mut receiver = Script::new(&config());
    let number = |n: u64| 5_000_001 + (n * MSS) as u32;
    let mut arrive = |n: u64| {
        let data = Segment { sequence: number(n), payload: 1000, ..receiver.ack_of(0) };
        receiver.receive(data);
        receiver.segments.iter().map(|segment| segment.sack_blocks).collect::<Vec<_>>()
    };
    for n in [13, 11, 7, 5, 3, 1] {
        arrive(n);
    }
    for n in [0, 2, 4] {
        assert!(arrive(n)[0] > 0, "segment {n}");
    }
    assert!(arrive(6)[0] > 0, "11 and 13 still wait");
}

/// RFC 7323 section 4.1.
#[test]
fn timestamps_measure_the_round_trip_of_retransmissions_too() {
    for (timestamps, sampled) in [(true, true), (false, false)] {
        let config = Config { timestamps, ..config() };
        let mut wire = Wire::new(&config).losing(|sent| sent.is_syn() && sent.nth == 1).open();
        wire = wire.losing(|sent| sent.is_data() && sent.nth == 1);
        wire.ends[A].write(100);
        wire.run();
        assert_eq!(wire.ends[A].rtt().srtt().is_some(), sampled);
    }
}

/// RFC 7323 section 4.3: the echo is that of the first segment that a delayed ACK covers.
#[test]
fn a_delayed_ack_echoes_the_oldest_segment_so_that_the_delay_counts() {
    let mut wire = Wire::established(&Config { timestamps: true, ..config() });
    wire.write(A, 100);
    wire.run_for(ms(100));
    wire.write(A, 100);
    let sent = wire.now;
    wire.run_for(ms(1000));
    let echoes: Vec<_> = wire.log.iter().filter(|s| s.by == B).map(|s| s.segment.echo).collect();
    let oldest = sent.as_nanos() / 1_000_000 - 100;
    assert_eq!(*echoes.last().unwrap(), oldest as u32);
}

/// RFC 7323 section 4.3 rule 2: SEG.TSval >= TS.Recent.
#[test]
fn an_old_segment_does_not_turn_the_echo_back() {
    let mut wire = Wire::established(&Config { timestamps: true, ..config() });
    wire = wire.scripted(|sent| match sent.is_data() && sent.nth == 1 {
        true => Fate::Twice(ms(3000)),
        false => Fate::Arrives,
    });
    wire.write(A, 10 * MSS);
    wire.run_for(ms(2900));
    let later = wire.now;
    wire.write(A, MSS);
    // The old duplicate arrives while the new segment waits for its ACK.
    wire.run_for(ms(500));
    let (last, _) = wire.sent(B, Sent::is_bare_ack).map(|s| (s.segment.echo, s.at)).last().unwrap();
    assert_eq!(u64::from(last), later.as_nanos() / 1_000_000);
}

/// RFC 7323 section 4.3: Last.ACK.sent is the acknowledgement of the SYN-ACK at first.
#[test]
fn a_listener_echoes_the_first_data_and_not_the_ack_of_its_syn() {
    let mut wire = Wire::established(&Config { timestamps: true, ..config() });
    wire.run_for(Span::from_secs(5));
    wire.forget();
    wire.write(A, 2 * MSS);
    wire.run_for(ms(300));
    let sent = wire.sent(A, Sent::is_data).next().unwrap().segment.timestamp;
    assert_eq!(wire.sent(B, Sent::is_bare_ack).next().unwrap().segment.echo, sent);
    assert_eq!(wire.states(), [State::Established; 2]);
}
