use super::*;
use crate::config::Recovery;
use crate::timestamps::echoed;

const MSS: u64 = 1000;

/// A receiver, and ACKs that it has sent: their times in microseconds and numbers.
struct Host {
    config: Config,
    receiver: Receiver,
    acks: Vec<(u64, u64)>,
}

impl Host {
    fn new(offload: Option<ReceiveOffload>, compression: Option<SackCompression>) -> Self {
        let config = Config {
            recovery: Recovery::Sack,
            mss: MSS as u32,
            receive_offload: offload,
            sack_compression: compression,
            ..Config::default()
        };
        let mut receiver = Receiver::new(&config, 1 << 30);
        receiver.syn_received();
        receiver.open(Time::ZERO, MSS, 65_535, 0);
        Self { config, receiver, acks: Vec::new() }
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_nanos(1000 * micros)
    }

    fn acknowledge(&mut self, micros: u64) {
        if self.receiver.ack_is_due() {
            self.receiver.ack_sent();
            self.acks.push((micros, (self.receiver.next() - 1) / MSS));
        }
    }

    /// Timers run until `micros`.
    fn wait(&mut self, micros: u64) {
        let deadline = self.receiver.deadline();
        if deadline <= Self::at(micros) {
            self.receiver.on_deadline(Span::from_secs(1));
            self.acknowledge((deadline.since(Time::ZERO)).as_nanos() / 1000);
        }
    }

    /// Segment `n` of `length` bytes arrives.
    fn segment(&mut self, micros: u64, n: u64, length: u64, timestamp: u32, ends: bool) {
        self.wait(micros);
        let (now, start) = (Self::at(micros), 1 + n * MSS);
        let expected = self.receiver.next();
        self.receiver.on_data(now, &self.config, start, length, false);
        let echo = Some(echoed(now, Span::from_millis(600)));
        let srtt = Some(Span::from_millis(600));
        let taken = Taken { start, length, timestamp, ends, sack: true, echo, srtt };
        self.receiver.hold_back(now, &taken, expected);
        self.acknowledge(micros);
    }

    fn full(&mut self, micros: u64, n: u64) {
        self.segment(micros, n, MSS, 1, false);
    }
}

fn offload() -> Option<ReceiveOffload> {
    Some(ReceiveOffload::default())
}

#[test]
fn one_ack_answers_a_batch_when_its_window_ends() {
    let mut host = Host::new(offload(), None);
    for n in 0..5 {
        host.full(10 * n, n);
    }
    assert_eq!(host.acks, []);
    host.full(60, 5);
    host.full(61, 6);
    host.wait(1000);
    assert_eq!(host.acks, [(50, 5), (110, 7)]);
    let mut plain = Host::new(None, None);
    for n in 0..4 {
        plain.full(10 * n, n);
    }
    assert_eq!(plain.acks, [(10, 2), (30, 4)]);
}

#[test]
fn a_single_segment_waits_for_the_second_as_without_offload() {
    let mut host = Host::new(offload(), None);
    host.full(0, 0);
    host.wait(1000);
    assert_eq!(host.acks, []);
    host.full(1000, 1);
    host.wait(2000);
    assert_eq!(host.acks, [(1050, 2)]);
}

/// Each with the time of the ACK of four segments at 0, 10, 20 and 30 us.
#[test]
fn a_batch_ends_with_a_push_a_short_segment_another_timestamp_and_its_size() {
    let four = |length, timestamp, ends, size| {
        let offload = ReceiveOffload { size: Bytes(size), ..ReceiveOffload::default() };
        let mut host = Host::new(Some(offload), None);
        for n in 0..3 {
            host.full(10 * n, n);
        }
        host.segment(30, 3, length, timestamp, ends);
        host.wait(1000);
        host.acks
    };
    assert_eq!(four(MSS, 1, false, 65_536), [(50, 4)]);
    assert_eq!(four(MSS, 1, true, 65_536), [(30, 4)], "PSH");
    assert_eq!(four(900, 1, false, 65_536), [(30, 3)], "a short segment");
    assert_eq!(four(MSS, 1, false, 4 * MSS), [(30, 4)], "the largest batch");
    // The fourth begins a batch, and the ACK of the batch before covers it.
    assert_eq!(four(MSS, 2, false, 65_536), [(50, 4)], "another timestamp");
}

#[test]
fn segments_above_a_gap_are_a_batch_too() {
    let mut host = Host::new(offload(), None);
    for n in 1..5 {
        host.full(10 * n, n);
    }
    host.wait(1000);
    assert_eq!(host.acks, [(60, 0)]);
}

#[test]
fn duplicates_behind_the_third_are_one_ack() {
    let mut host = Host::new(None, Some(SackCompression::default()));
    for n in 1..9 {
        host.full(10 * n, n);
    }
    host.wait(10_000);
    assert_eq!(host.acks, [(10, 0), (20, 0), (30, 0), (1040, 0)]);
}

#[test]
fn the_ack_leaves_for_the_duplicate_behind_the_last_that_may_wait() {
    let mut host = Host::new(None, Some(SackCompression::default()));
    for n in 1..=49 {
        host.full(n, n);
    }
    host.wait(10_000);
    assert_eq!(host.acks, [(1, 0), (2, 0), (3, 0), (48, 0), (1049, 0)]);
}

#[test]
fn a_third_block_leaves_at_once() {
    let mut host = Host::new(None, Some(SackCompression::default()));
    for (micros, n) in [(1, 1), (2, 3), (3, 4), (4, 5), (5, 8)] {
        host.full(micros, n);
    }
    assert_eq!(host.acks, [(1, 0), (2, 0), (3, 0), (5, 0)]);
}

#[test]
fn a_batch_above_a_gap_is_one_duplicate() {
    let mut host = Host::new(offload(), Some(SackCompression::default()));
    for batch in 0..4 {
        for n in 1..=4 {
            host.full(200 * batch + n, 4 * batch + n);
        }
    }
    host.wait(10_000);
    assert_eq!(host.acks, [(51, 0), (251, 0), (451, 0), (1601, 0)]);
}
