//! Rules of the analysis, on connections that are made for them.

#![allow(clippy::unwrap_used, reason = "tests")]

mod build;

use build::{MSS, Step, Talk};
use capture::{CaptureRecord, ConnectionRecord};
use wire::tcp::flags::{ACK, RST, SYN};

/// The only connection.
fn only(record: &CaptureRecord) -> &ConnectionRecord {
    assert_eq!(record.connections.len(), 1);
    &record.connections[0]
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 0.02 * expected.abs().max(0.01))
}

/// Data of `count` segments from `start` on, sent together.
fn burst(at_ms: f64, start: u32, count: u32) -> Vec<Step> {
    (0..count).map(|n| Step::data(at_ms + f64::from(n) * 0.1, start + n * MSS, MSS)).collect()
}

#[test]
fn the_handshake_shows_where_the_capture_was_taken() {
    let mut talk = Talk::open();
    talk.all(burst(30.0, 1, 2));
    talk.take(Step::ack(50.1, 1 + 2 * MSS));
    talk.close(60.0, 1 + 2 * MSS);
    let record = talk.read();
    let one = only(&record);
    assert!(near(one.handshake_rtt_ms, 21.0) && near(one.client_rtt_ms, 1.0));
    assert_eq!(one.captured_at.as_deref(), Some("client"));
    assert_eq!((one.end.as_str(), one.client.as_str()), ("closed", "10.0.0.1:40000"));
    let data = &one.to_server;
    assert!(near(data.min_rtt_ms, 20.0), "{data:?}");
    // The ACK of the first FIN is a sample too.
    assert_eq!((data.rtt_samples, data.bytes, data.retransmissions), (2, 2 * u64::from(MSS), 0));
    assert!(near(data.missed_rtt_ms, 1.0));
    assert!(near(one.to_client.missed_rtt_ms, 20.0));
}

#[test]
fn retransmitted_data_and_data_behind_it_give_no_rtt() {
    let mut talk = Talk::open();
    talk.all(burst(30.0, 1, 3));
    // The first segment is lost; the ACK of the third one waits for its repair.
    talk.take(Step::data(330.0, 1, MSS));
    talk.take(Step::ack(350.0, 1 + 3 * MSS));
    talk.all(burst(360.0, 1 + 3 * MSS, 1));
    talk.take(Step::ack(380.0, 1 + 4 * MSS));
    let record = talk.read();
    let data = &only(&record).to_server;
    assert_eq!((data.rtt_samples, data.retransmissions, data.other_retransmissions), (1, 1, 1));
    assert!(near(data.max_rtt_ms, 20.0), "{data:?}");
    assert_eq!((data.stalls, data.stalls_by_retransmission), (1, 1));
    assert!(near(data.longest_stall_s, 0.2998), "{data:?}");
    assert!(near(data.first_loss_sent_s, 0.030) && near(data.first_loss_repeated_s, 0.330));
    assert!(near(data.first_loss_acked_s, 0.350));
    assert_eq!(data.retransmitted_bytes, u64::from(MSS));
}

#[test]
fn kinds_of_retransmissions_are_those_of_wireshark() {
    let mut talk = Talk::open();
    talk.all(burst(30.0, 1, 5));
    talk.take(Step::ack(50.0, 1));
    talk.all((0..3).map(|n| Step::ack(50.1 + f64::from(n) * 0.1, 1)));
    talk.take(Step::data(50.5, 1, MSS));
    talk.take(Step::ack(70.5, 1 + 5 * MSS));
    // All of it is acknowledged.
    talk.take(Step::data(300.0, 1, MSS));
    // Late, and not the highest one.
    talk.take(Step::data(310.0, 1 + 6 * MSS, MSS));
    talk.take(Step::data(310.1, 1 + 5 * MSS, MSS));
    let record = talk.read();
    let data = &only(&record).to_server;
    assert_eq!((data.fast_retransmissions, data.spurious_retransmissions), (1, 1));
    assert_eq!((data.out_of_order, data.filled_gaps, data.gaps), (1, 1, 1));
    // The first ACK repeats that of the SYN/ACK.
    assert_eq!((data.retransmissions, data.duplicate_acks), (2, 4));
    assert_eq!(data.repeated_segments, 2);
    assert_eq!((data.bytes, data.missing_bytes), (7 * u64::from(MSS), 0));
}

#[test]
fn sequence_numbers_wrap() {
    for first in [u32::MAX, u32::MAX - 10 * MSS, 0x7fff_f000] {
        let mut talk = Talk::new();
        talk.first = [first, first];
        talk.handshake(0.0);
        for round in 0..40 {
            let (at, start) = (30.0 + 30.0 * f64::from(round), 1 + 10 * MSS * round);
            talk.all(burst(at, start, 10));
            talk.take(Step::ack(at + 20.9, start + 10 * MSS));
        }
        let record = talk.read();
        let data = &only(&record).to_server;
        assert_eq!((data.bytes, data.retransmissions), (400 * u64::from(MSS), 0), "{first}");
        assert_eq!((data.rtt_samples, data.gaps, data.unseen_acks), (40, 0, 0), "{first}");
        assert_eq!(data.max_flight_bytes, Some(10 * u64::from(MSS)));
    }
}

#[test]
fn more_than_four_gigabytes_are_one_connection() {
    let mut talk = Talk::open();
    let length = 65_000_u32;
    for round in 0..70_000_u32 {
        let (at, start) = (30.0 + f64::from(round), 1_u32.wrapping_add(length.wrapping_mul(round)));
        talk.take(Step::data(at, start, length));
        talk.take(Step::ack(at + 0.5, start.wrapping_add(length)));
    }
    let record = talk.read();
    let data = &only(&record).to_server;
    assert_eq!((data.bytes, data.gaps, data.retransmissions), (70_000 * 65_000, 0, 0));
    assert_eq!(data.segments_longer_than_mss, 70_000);
    assert!(only(&record).notes[0].starts_with("70000 segments are longer than the MSS"));
}

#[test]
fn a_window_without_room_for_a_segment_limits() {
    let mut talk = Talk::open();
    // The window of the SYN/ACK is not scaled; that of later segments is 4 * 2500.
    let window = |step: Step| Step { window: 2500, ..step };
    talk.take(Step::data(30.0, 1, MSS));
    talk.take(window(Step::ack(50.0, 1 + MSS)));
    talk.all(burst(51.0, 1 + MSS, 6));
    // 10,000 - 6 * 1460 = 1240 bytes are left for 20 ms.
    talk.take(window(Step::ack(71.5, 1 + 7 * MSS)));
    let record = talk.read();
    let data = &only(&record).to_server;
    assert_eq!((data.max_window_bytes, data.window_full), (Some(60_000), 0));
    assert!(near(data.window_limited_s, 0.02), "{data:?}");

    // A window of zero, a probe, and the end of it.
    let next = 1 + 7 * MSS;
    talk.all(burst(80.0, next, 1));
    talk.take(Step { window: 0, ..Step::ack(100.0, next + MSS) });
    talk.take(Step::data(500.0, next + MSS, 1));
    talk.take(Step { window: 0, ..Step::ack(520.0, next + MSS) });
    talk.take(window(Step::ack(900.0, next + MSS)));
    let record = talk.read();
    let data = &only(&record).to_server;
    assert_eq!((data.zero_windows, data.zero_window_probes), (2, 1));
    assert!((data.zero_window_s - 0.8).abs() < 0.01, "{data:?}");
    assert_eq!((data.stalls, data.stalls_by_window), (2, 2));
}

#[test]
fn without_a_syn_windows_are_unknown() {
    let mut talk = Talk::new();
    talk.all(burst(30.0, 1, 2));
    talk.take(Step::ack(50.0, 1 + 2 * MSS));
    let record = talk.read();
    let one = only(&record);
    assert!(!one.client_known);
    assert_eq!((one.to_server.window_limited_s, one.to_server.max_window_bytes), (None, None));
    assert_eq!(one.to_server.rtt_samples, 1);
    assert_eq!(one.to_server.mss, None);
    let note = "The SYN was not captured: the scale of the window and its limits are unknown.";
    assert!(one.notes.iter().any(|found| found == note), "{:?}", one.notes);
}

#[test]
fn one_direction_alone_has_no_rtt() {
    let mut talk = Talk::new();
    for round in 0..3000 {
        talk.take(Step::data(f64::from(round), 1 + round * MSS, MSS));
    }
    talk.take(Step::data(3500.0, 1, MSS));
    let record = talk.read();
    let one = only(&record);
    let data = &one.to_server;
    assert_eq!((data.rtt_samples, data.max_flight_bytes, data.data_segments), (0, None, 3001));
    assert_eq!((data.retransmissions, data.bytes), (1, 3000 * u64::from(MSS)));
    assert!(one.notes[0].starts_with("One direction only"), "{:?}", one.notes);
}

#[test]
fn used_ports_begin_another_connection() {
    let mut talk = Talk::open();
    talk.all(burst(30.0, 1, 1));
    talk.take(Step { flags: RST | ACK, start: 1 + MSS, ..Step::new(60.0, true) });
    talk.first = [5_000_000, 9_000_000];
    talk.handshake(1000.0);
    // A repeated SYN is the same connection.
    talk.first = [77, 78];
    let syn = |at| Step { flags: SYN, start: 0, ack: 0, ..Step::new(at, true) };
    talk.all([syn(2000.0), syn(3000.0)]);
    let record = talk.read();
    let ends: Vec<&str> = record.connections.iter().map(|one| one.end.as_str()).collect();
    assert_eq!(ends, ["reset by client", "open", "open"]);
    assert_eq!(record.connections[2].to_server.retransmissions, 1);
    assert_eq!(record.connections[2].handshake_rtt_ms, None);
}

#[test]
fn packets_that_were_captured_twice_count_once() {
    let mut talk = Talk::open();
    let mut once = Talk::open();
    for step in burst(30.0, 1, 20) {
        once.take(step);
        let (bytes, length) = talk.bytes(step);
        talk.pcap.packet(build::time(step.at_ms), &bytes, length);
        talk.pcap.packet(build::time(step.at_ms) + 1000, &bytes, length);
    }
    let (twice, once) = (talk.read(), once.read());
    let (twice, once) = (&only(&twice).to_server, &only(&once).to_server);
    assert_eq!((twice.copies, twice.retransmissions, twice.data_segments), (20, 0, 20));
    assert_eq!((once.copies, twice.bytes), (0, once.bytes));

    // A sender that gives all packets one identification retransmits.
    let mut talk = Talk::open();
    talk.all(burst(30.0, 1, 2).into_iter().chain([Step::data(300.0, 1, MSS)]));
    let mut constant = talk.pcap.0.clone();
    let mut at = 24;
    while at < constant.len() {
        let length = u32::from_le_bytes(constant[at + 8..at + 12].try_into().unwrap()) as usize;
        constant[at + 16 + 4..at + 16 + 6].copy_from_slice(&[0, 1]);
        at += 16 + length;
    }
    let record = build::read(&constant).unwrap();
    assert_eq!((only(&record).to_server.copies, only(&record).to_server.retransmissions), (0, 1));
}

#[test]
fn timestamps_give_rtts_of_retransmissions() {
    let mut talk = Talk::open();
    let stamped = |step: Step, value, echo| Step { timestamps: Some((value, echo)), ..step };
    for round in 0..10_u32 {
        let at = 100.0 * f64::from(round) + 30.0;
        // Each segment is sent twice, and the second one is acknowledged after 25 ms.
        talk.take(stamped(Step::data(at, 1 + round * MSS, MSS), 10 * round + 1, 0));
        talk.take(stamped(Step::data(at + 40.0, 1 + round * MSS, MSS), 10 * round + 2, 0));
        talk.take(stamped(Step::ack(at + 65.0, 1 + (round + 1) * MSS), round, 10 * round + 2));
    }
    let record = talk.read();
    let data = &only(&record).to_server;
    assert_eq!((data.rtt_samples, data.timestamp_rtt_samples), (0, 10));
    assert!(near(data.min_timestamp_rtt_ms, 25.0) && near(data.p95_timestamp_rtt_ms, 25.0));
}

#[test]
fn times_without_data_in_flight_are_no_stalls() {
    let mut talk = Talk::open();
    for round in 0..5 {
        let at = 30.0 + 2000.0 * f64::from(round);
        talk.take(Step::data(at, 1 + round * MSS, MSS));
        talk.take(Step::ack(at + 20.0, 1 + (round + 1) * MSS));
    }
    // Data in flight, whose ACK comes late.
    talk.take(Step::data(12_000.0, 1 + 5 * MSS, MSS));
    talk.take(Step::ack(12_500.0, 1 + 6 * MSS));
    let record = talk.read();
    let one = only(&record);
    assert_eq!((one.idle_times, one.to_server.stalls), (5, 1));
    assert!((one.to_server.stalled_s - 0.5).abs() < 0.01);
    assert_eq!(one.to_server.stalls_by_retransmission + one.to_server.stalls_by_window, 0);
    assert!((one.to_server.longest_gap_s - 3.95).abs() < 0.05, "{one:?}");
}

#[test]
fn sack_blocks_are_not_in_flight() {
    let mut talk = Talk::open();
    talk.all(burst(30.0, 1, 4));
    talk.take(Step { sack: Some((1 + MSS, 1 + 3 * MSS)), ..Step::ack(50.0, 1) });
    talk.take(Step::data(51.0, 1 + 4 * MSS, MSS));
    let mut flights = Vec::new();
    let file = build::Temporary::new(&talk.pcap.0);
    let observe = |seen: &capture::Seen<'_>| {
        if seen.end > seen.start {
            flights.push(seen.flight.unwrap() / i64::from(MSS));
        }
    };
    capture::read_observed(&file.0, |_| true, observe).unwrap();
    assert_eq!(flights, [1, 2, 3, 4, 3]);
}

#[test]
fn memory_has_a_bound_of_connections() {
    let mut talk = Talk::new();
    let most = u32::try_from(capture::MOST_CONNECTIONS).unwrap();
    for number in 0..most + 2 {
        talk.ports =
            [u16::try_from(number % 60_000).unwrap(), u16::try_from(number / 60_000).unwrap()];
        let syn = Step { flags: SYN, start: 0, ack: 0, ..Step::new(f64::from(number), true) };
        talk.take(syn);
    }
    // The last one again, and another connection of the ports of the first one.
    talk.take(Step { start: 1, ..Step::new(200_000.0, true) });
    (talk.ports, talk.first) = ([0, 0], [5, 5]);
    talk.handshake(300_000.0);
    let record = talk.read();
    assert_eq!(record.connections.len(), capture::MOST_CONNECTIONS);
    let warning = "6 packets belong to connections beyond the first 100,000 and are left out";
    assert_eq!(record.warnings, [warning]);
    assert_eq!(record.tcp_packets, u64::from(most));
}

/// Wireshark 4.0 takes a retransmission within the RTT of the handshake for a segment out of order,
/// unless its ACK is the last one. On a long path, all repairs by SACK are.
#[test]
fn repairs_within_an_rtt_are_repeated_segments() {
    let mut talk = Talk::open();
    talk.all(burst(30.0, 1, 5));
    talk.take(Step { sack: Some((1 + 3 * MSS, 1 + 5 * MSS)), ..Step::ack(32.0, 1 + MSS) });
    talk.all([Step::data(33.0, 1 + MSS, MSS), Step::data(33.1, 1 + 2 * MSS, MSS)]);
    let record = talk.read();
    let data = &only(&record).to_server;
    assert_eq!((data.retransmissions, data.out_of_order), (0, 2));
    assert_eq!((data.repeated_segments, data.filled_gaps), (2, 0));
    assert!(near(data.first_loss_repeated_s, 0.033), "{data:?}");
}
