use units::{Bytes, Span};

use super::*;
use crate::config::Recovery;

const MSS: u64 = 1000;

fn config() -> Config {
    Config {
        recovery: Recovery::Sack,
        mss: MSS as u32,
        receive_buffer: Bytes(20 * MSS),
        window_scaling: false,
        timestamps: false,
        ..Config::default()
    }
}

fn receiver(config: &Config) -> Receiver {
    let mut receiver = Receiver::new(config, u64::from(u16::MAX));
    receiver.syn_received();
    receiver
}

/// Segment number `n`, counted from zero, arrives at time zero.
fn arrive(receiver: &mut Receiver, config: &Config, n: u64) {
    receiver.on_data(Time::ZERO, config, 1 + n * MSS, MSS, false);
}

fn blocks(receiver: &Receiver) -> Vec<(u64, u64)> {
    let segments = |range: Range| ((range.start - 1) / MSS, (range.end - 1) / MSS);
    receiver.sack_ranges().map(segments).collect()
}

#[test]
fn every_second_segment_is_acknowledged_at_once_and_a_single_one_after_the_timeout() {
    let config = config();
    let mut receiver = receiver(&config);
    arrive(&mut receiver, &config, 0);
    assert!(!receiver.ack_is_due());
    assert_eq!(receiver.deadline(), Time::ZERO + Span::from_millis(200));
    arrive(&mut receiver, &config, 1);
    assert!(receiver.ack_is_due());
}

#[test]
fn data_above_a_gap_and_data_that_fills_it_are_acknowledged_at_once() {
    let config = config();
    let mut receiver = receiver(&config);
    arrive(&mut receiver, &config, 1);
    assert!(receiver.ack_is_due());
    receiver.ack_sent();
    arrive(&mut receiver, &config, 0);
    assert!(receiver.ack_is_due());
    assert_eq!(receiver.delivered(), 2 * MSS);
}

#[test]
fn the_first_sack_block_is_the_one_that_grew_last() {
    let config = config();
    let mut receiver = receiver(&config);
    for n in [2, 5, 8, 3] {
        arrive(&mut receiver, &config, n);
    }
    assert_eq!(blocks(&receiver), [(2, 4), (8, 9), (5, 6)]);
    arrive(&mut receiver, &config, 4);
    assert_eq!(blocks(&receiver), [(2, 6), (8, 9)]);
    arrive(&mut receiver, &config, 0);
    arrive(&mut receiver, &config, 1);
    assert_eq!(blocks(&receiver), [(8, 9)]);
}

#[test]
fn a_segment_that_covers_what_waits_and_reaches_more_of_it_takes_it_all() {
    let config = config();
    let mut receiver = receiver(&config);
    receiver.on_data(Time::ZERO, &config, 1 + 100, 100, false);
    arrive(&mut receiver, &config, 1);
    arrive(&mut receiver, &config, 0);
    assert_eq!((receiver.delivered(), receiver.has_gaps()), (2 * MSS, false));
}

#[test]
fn data_beyond_the_window_is_dropped() {
    let config = config();
    let mut receiver = receiver(&config);
    arrive(&mut receiver, &config, 20);
    assert!(receiver.ack_is_due() && !receiver.has_gaps());
    arrive(&mut receiver, &config, 19);
    assert!(receiver.has_gaps());
}

#[test]
fn a_duplicate_is_acknowledged_at_once_and_delivered_once() {
    let config = config();
    let mut receiver = receiver(&config);
    arrive(&mut receiver, &config, 0);
    receiver.ack_sent();
    arrive(&mut receiver, &config, 0);
    assert!(receiver.ack_is_due());
    assert_eq!(receiver.delivered(), MSS);
}

#[test]
fn the_window_closes_while_nobody_reads_and_opens_by_whole_segments() {
    let config = Config { reads_at_once: false, ..config() };
    let mut receiver = receiver(&config);
    for n in 0..20 {
        arrive(&mut receiver, &config, n);
    }
    let limit = u64::from(u16::MAX);
    assert_eq!(receiver.window(&config, 0, limit), 0);
    receiver.read(&config, MSS - 1);
    assert_eq!(receiver.window(&config, 0, limit), 0, "a silly window");
    receiver.read(&config, 1);
    assert_eq!(receiver.window(&config, 0, limit), MSS);
}

#[test]
fn a_window_that_is_asked_for_again_is_the_same_and_one_after_news_is_another() {
    let config = Config { reads_at_once: false, ..config() };
    let limit = u64::from(u16::MAX);
    let mut receiver = receiver(&config);
    for n in 0..4 {
        arrive(&mut receiver, &config, n);
        let window = receiver.window(&config, 3, limit);
        assert_eq!(window, (19 - n) * MSS / 8 * 8);
        assert_eq!(receiver.window(&config, 3, limit), window);
        receiver.advertised = None;
        assert_eq!(receiver.window(&config, 3, limit), window, "computed twice");
    }
    receiver.read(&config, 4 * MSS);
    assert_eq!(receiver.window(&config, 3, limit), 20 * MSS);
}

#[test]
fn the_right_edge_of_the_window_never_moves_back() {
    let config = Config { receive_buffer: Bytes(100 * MSS), ..config() };
    let mut receiver = Receiver::new(&config, u64::MAX);
    receiver.syn_received();
    let before = receiver.right_edge;
    receiver.window(&config, 7, 1 << 23);
    assert!(receiver.right_edge >= before);
}

#[test]
fn a_fin_counts_when_everything_before_it_has_arrived() {
    let config = config();
    let mut receiver = receiver(&config);
    receiver.on_data(Time::ZERO, &config, 1 + MSS, 500, true);
    assert!(!receiver.finished());
    arrive(&mut receiver, &config, 0);
    assert!(receiver.finished());
    assert_eq!(receiver.delivered(), MSS + 500);
    assert_eq!(receiver.next(), 1 + MSS + 500 + 1);
}
