//! The vectors were recorded on Linux 6.18.44, with segments whose ratio of window to memory is 160
//! of 256.

use super::*;
use crate::buffers::Growth::{FreeBsd14, Linux4_19, Linux5_15, Linux6_12, Linux6_16, Linux6_18};
use crate::timestamps::echoed;
use units::{Bytes, Span};

const MSS: u64 = 1448;

fn tuning(growth: Growth) -> ReceiveTuning {
    ReceiveTuning { default: growth.usual_default(), max: growth.usual_maximum(), growth }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// An open buffer of an end whose application reads at once, and what has arrived.
struct End {
    buffer: ReceiveBuffer,
    next: u64,
}

impl End {
    fn new(growth: Growth) -> Self {
        let tuning = tuning(growth);
        let mut buffer = ReceiveBuffer::new(&tuning, 1460);
        let window = ReceiveBuffer::first_window(&tuning, MSS);
        buffer.open(at(0), MSS, window, ReceiveBuffer::shift(&tuning));
        Self { buffer, next: 1 }
    }

    /// A round of `segments` full segments, one round trip of 600 ms after the other. Returns the
    /// window.
    fn round(&mut self, number: u64, segments: u64) -> u64 {
        let now = at(600 * number);
        for _ in 0..segments {
            self.next += MSS;
            let echo = Some(echoed(now, Span::from_millis(600)));
            let next = self.next;
            let arrival = Arrival { length: MSS, received: next, echo, next, edge: next };
            self.buffer.on_arrival(now, &arrival, 65_160);
            self.buffer.on_read(MSS, self.next, self.next, 0);
        }
        self.buffer.window(0)
    }
}

#[test]
fn sizes_that_a_kernel_has_chosen_are_found_within_a_byte() {
    for (before, read, size) in [
        (17_376, 59_368, 1_108_201),
        (60_624, 202_720, 3_689_683),
        (81_960, 204_168, 2_601_680),
        (15_928, 59_368, 1_226_217),
        (204_168, 386_616, 3_448_284),
    ] {
        let found = space_of(wanted(Linux6_18, before, read, MSS, 0), 160);
        assert!(found.abs_diff(size) <= 1, "{found} for {before} and {read}, not {size}");
    }
}

#[test]
fn the_first_windows_and_the_scale_are_those_of_the_defaults() {
    let newest = tuning(Linux6_18);
    assert_eq!(ReceiveBuffer::first_window(&newest, 1460), 64_240);
    assert_eq!(ReceiveBuffer::first_window(&newest, MSS), 65_160);
    assert_eq!((ReceiveBuffer::shift(&newest), ReceiveBuffer::shift(&tuning(Linux6_12))), (10, 7));
    let end = End::new(Linux6_18);
    assert_eq!((end.buffer.soft, end.buffer.expected), (64_088, 14_480));
}

#[test]
fn a_full_segment_costs_2304_bytes_and_a_small_one_hardly_less() {
    assert_eq!((memory_of(MSS), ratio(MSS)), (2304, 160));
    assert_eq!((memory_of(536), ratio(536)), (1280, 107));
    assert_eq!((memory_of(100), ratio(100)), (1280, 20));
}

#[test]
fn half_of_a_buffer_before_6_6_is_window_whatever_segments_cost() {
    assert_eq!(tuning(Linux6_12).largest_window(1448), (6 << 20) * 160 / 256);
    for growth in [Linux4_19, Linux5_15] {
        assert_eq!(tuning(growth).largest_window(1448), 3 << 20);
        assert_eq!(tuning(growth).largest_window(536), 3 << 20);
        let mut end = End::new(growth);
        for number in 1..12 {
            end.round(number, 10 << number);
        }
        assert_eq!((end.buffer.size, end.buffer.clamp), (6 << 20, 3 << 20));
    }
}

#[test]
fn before_4_20_the_first_window_has_twenty_segments_and_the_buffer_room_for_more() {
    let oldest = tuning(Linux4_19);
    assert_eq!(ReceiveBuffer::first_window(&oldest, 1460), 29_200);
    assert_eq!(ReceiveBuffer::first_window(&oldest, 8960), 3 * 8960);
    assert_eq!(ReceiveBuffer::first_window(&tuning(Linux5_15), 1460), 64_240);
    let end = End::new(Linux4_19);
    // 1448 bytes, room for 320 of headers, 320 behind and 256 of the description, 160 times.
    assert_eq!((end.buffer.size, end.buffer.clamp), (375_040, 187_520 - MSS));
    assert_eq!((end.buffer.soft, end.buffer.expected), (28_960, 28_960));
    // A segment counts with 2984 bytes, of which half are at least 1448.
    assert_eq!(End::new(Linux5_15).buffer.space_for(10 * MSS + 1), 29_840);
}

#[test]
fn freebsd_grows_by_half_when_three_eighths_arrive_in_half_a_round_trip() {
    let bsd = tuning(FreeBsd14);
    assert_eq!((ReceiveBuffer::first_window(&bsd, MSS), ReceiveBuffer::shift(&bsd)), (65_536, 6));
    assert_eq!(bsd.largest_window(MSS as u32), 2 << 20);
    let mut end = End::new(FreeBsd14);
    assert_eq!(end.buffer.window(0), 65_536);
    // 17 segments have 24,616 bytes, and three eighths are 24,576. The one that ends the
    // measurement does not count.
    for (segments, size) in [(16, 65_536), (17, 98_304), (25, 98_304), (26, 147_456)] {
        let number = end.buffer.since.1.since(Time::ZERO).as_nanos() / 600_000_000 + 1;
        end.round(number, 1);
        end.round(number, segments);
        end.round(number + 1, 1);
        assert_eq!((end.buffer.size, end.buffer.window(0)), (size, size), "{segments}");
    }
    for number in 20..60 {
        end.round(number, 5000);
    }
    assert_eq!((end.buffer.size, end.buffer.window(0)), (2 << 20, 2 << 20));
}

#[test]
fn freebsd_does_not_grow_while_there_is_a_gap_and_closes_the_window_of_data_that_nobody_reads() {
    let mut end = End::new(FreeBsd14);
    end.round(1, 100);
    let before = end.buffer.size;
    let (next, received) = (end.next, end.next + 500 * MSS);
    let echo = Some(echoed(at(1200), Span::from_millis(600)));
    let arrival = Arrival { length: MSS, received, echo, next, edge: received };
    end.buffer.on_arrival(at(1200), &arrival, 0);
    assert_eq!(end.buffer.size, before);
    let mut full = End::new(FreeBsd14);
    for number in 1..=44 {
        let next = 1 + number * MSS;
        let arrival = Arrival { length: MSS, received: next, echo, next, edge: next };
        full.buffer.on_arrival(at(0), &arrival, 0);
    }
    // 1824 bytes are free: FreeBSD offers a segment where Linux offers nothing below a sixteenth.
    assert_eq!(full.buffer.window(0), 1792);
}

#[test]
fn the_window_never_limits_a_slow_start_but_for_the_rule_that_is_late() {
    // Ten segments, then twice as many in each round.
    for (growth, late) in [(Linux6_12, false), (Linux6_18, false), (Linux6_16, true)] {
        let mut end = End::new(growth);
        let mut below = 0;
        for round in 1..=9 {
            let segments = 10 << (round - 1);
            let window = end.round(round, segments);
            below += u32::from(window < 2 * segments * MSS && 2 * segments * MSS < 3_000_000);
        }
        assert_eq!(below > 0, late, "{growth:?}: {below} rounds");
    }
}

#[test]
fn the_buffer_ends_at_its_maximum_and_never_shrinks() {
    let mut end = End::new(Linux6_12);
    for round in 1..=14 {
        end.round(round, 10 << (round - 1).min(10));
    }
    assert_eq!(end.buffer.size, 6 << 20);
    let window = end.buffer.window(0);
    // 160 of 256 parts of 6 MiB, less the segment that has just arrived: the window at which a
    // kernel stopped.
    assert_eq!(window, 3_930_752);
    end.round(15, 10);
    assert_eq!(end.buffer.size, 6 << 20);
}

#[test]
fn data_that_nobody_reads_takes_the_window_and_small_segments_take_more() {
    for (length, least) in [(MSS, 55_000), (200, 6000)] {
        let mut end = End::new(Linux6_18);
        let mut arrived = 0;
        while end.buffer.admits(length) && arrived < 10_000_000 {
            end.next += length;
            let next = end.next;
            let arrival = Arrival { length, received: next, echo: None, next, edge: next };
            end.buffer.on_arrival(at(1), &arrival, 65_160);
            arrived += length;
            if end.buffer.window(0) == 0 {
                break;
            }
        }
        assert!((least..131_072).contains(&arrived), "{arrived} bytes of segments of {length}");
    }
}

#[test]
fn a_fixed_maximum_ends_growth() {
    let fixed = ReceiveTuning { max: Bytes(200_000), ..tuning(Linux6_18) };
    let mut buffer = ReceiveBuffer::new(&fixed, 1460);
    buffer.open(at(0), MSS, 65_160, 10);
    let mut end = End { buffer, next: 1 };
    for round in 1..=12 {
        end.round(round, 1000);
    }
    assert_eq!(end.buffer.size, 200_000);
}
