//! A connection whose other end misbehaves at random. Nothing that it sends may make the connection
//! panic, and after each event everything that is counted on the way is counted from scratch.

use congestion::{Ecn, Settings, Specification};
use proptest::prelude::*;
use transport::{Endpoint, MtuProbing, Pacing, RtoConfig};
use units::Bytes;

use super::*;
use crate::config::{AckTiming, DelayedAck, KeepAlive, Recovery};
use crate::scps::{BestEffort, Cause, Scps, Snack, SnackForm};
use crate::segment::{Block, Flags, Options, Segment};
use crate::timestamps::timestamp;

const OWN: u32 = u32::MAX - 20_000;
const PEER: u32 = u32::MAX / 2 - 9_000;

#[derive(Clone, Debug)]
enum Event {
    /// A segment, by its distance from what this end expects: sequence and acknowledgement number,
    /// length, bits, window, blocks from and to, and whether it has a timestamp and how old.
    Segment {
        sequence: i64,
        acknowledgement: i64,
        length: u16,
        bits: u8,
        window: u16,
        blocks: Vec<(i64, i64)>,
        clock: Option<i32>,
        marked: bool,
    },
    /// An ACK that a well-behaved end could send: so much of what is outstanding, and blocks above.
    Ack {
        share: u64,
        blocks: Vec<(u64, u64)>,
        echo: bool,
    },
    /// A message of a router about a segment at a distance from what is acknowledged.
    TooBig {
        sequence: i64,
        mss: u16,
    },
    Write(u64),
    Read(u64),
    Wait(u64),
    Deadline,
    Close,
}

fn segment() -> impl Strategy<Value = Event> {
    let near = || prop_oneof![4 => Just(0_i64), 4 => -3000_i64..3000, 1 => -3_000_000_000_i64..3_000_000_000];
    let bits = prop_oneof![8 => Just(0x10_u8), 2 => Just(0x11_u8), 2 => any::<u8>()];
    let length = prop_oneof![3 => Just(0_u16), 3 => Just(100_u16), 2 => 0_u16..1500];
    let blocks = prop::collection::vec((-500_i64..3000, -500_i64..3000), 0..4);
    let clock =
        prop_oneof![6 => Just(Some(0)), 1 => Just(None), 2 => (-100_i32..100).prop_map(Some)];
    (near(), near(), length, bits, any::<u16>(), blocks, clock, any::<bool>()).prop_map(
        |(sequence, acknowledgement, length, bits, window, blocks, clock, marked)| Event::Segment {
            sequence,
            acknowledgement,
            length,
            bits,
            window,
            blocks,
            clock,
            marked,
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let blocks = prop::collection::vec((0_u64..40, 1_u64..8), 0..4);
    prop_oneof![
        5 => segment(),
        8 => (0_u64..120, blocks, any::<bool>())
            .prop_map(|(share, blocks, echo)| Event::Ack { share, blocks, echo }),
        1 => (-200_i64..1500, 1_u16..150)
            .prop_map(|(sequence, mss)| Event::TooBig { sequence, mss }),
        3 => (1_u64..5000).prop_map(Event::Write),
        1 => (0_u64..3000).prop_map(Event::Read),
        3 => (0_u64..300).prop_map(Event::Wait),
        2 => Just(Event::Deadline),
        1 => Just(Event::Close),
    ]
}

/// Best-effort transport has its own settings in the bits that other recoveries use for theirs.
fn route(options: u16) -> Scps {
    let has = |bit: u16| options & bit != 0;
    let best_effort = BestEffort {
        retransmissions: (options >> 11 & 3).into(),
        receive_timeout: Span::from_millis(300),
        receive_threshold: has(8192).then_some(Bytes(700)),
    };
    Scps {
        snack: if has(16) { SnackForm::Simple } else { SnackForm::Vector },
        cause: if has(64) { Cause::Congestion } else { Cause::Corruption },
        outage_timeouts: has(128).then_some(2),
        best_effort: has(16384).then_some(best_effort),
        ..Scps::default()
    }
}

fn config(recovery: Recovery, options: u16) -> Config {
    let has = |bit: u16| options & bit != 0;
    let is_snack = recovery == Recovery::Snack;
    let fixed = DelayedAck { segments: 2, timeout: Span::from_millis(40) };
    Config {
        recovery,
        mss: 100,
        receive_buffer: Bytes(3000),
        reads_at_once: has(1),
        window_scaling: has(2),
        timestamps: has(4),
        scps: is_snack.then(|| route(options)),
        delayed_ack: if has(32) && !is_snack { AckTiming::Linux } else { AckTiming::Fixed(fixed) },
        ecn: match (has(8), has(1024)) {
            (false, _) => Ecn::Off,
            (true, false) => Ecn::Classic,
            (true, true) => Ecn::Accurate,
        },
        dsack: has(16) && !is_snack,
        rto: RtoConfig { min: Span::from_millis(200), ..RtoConfig::default() },
        pacing: if has(32) && !is_snack { Pacing::Linux } else { Pacing::Controller },
        limited_transmit: has(64) && !is_snack,
        nagle: has(128),
        keep_alive: has(256).then(|| KeepAlive {
            idle: Span::from_millis(700),
            interval: Span::from_millis(300),
            probes: 2,
        }),
        mtu_probing: match (has(2048) && !is_snack, has(4096)) {
            (false, _) => MtuProbing::Off,
            (true, false) => MtuProbing::BlackHole,
            (true, true) => MtuProbing::Always,
        },
        user_timeout: has(512).then(|| Span::from_secs(2)),
        ..Config::default()
    }
}

/// The connection and its clock.
struct Bench {
    end: Connection,
    now: Time,
    clock: u32,
}

impl Bench {
    fn new(recovery: Recovery, controller: &str, options: u16) -> Self {
        let config = Arc::new(config(recovery, options));
        let mss = config.mss;
        let settings = Settings {
            mss,
            initial_window: 10 * u64::from(mss),
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let Ok(specification) = Specification::named(controller) else { panic!("{controller}") };
        let controller = specification.build(&settings);
        let mut end = Connection::new(config, controller, OWN);
        end.connect();
        Self { end, now: Time::ZERO + Span::from_millis(5), clock: 1000 }
    }

    fn open(&mut self) {
        let Some(syn) = self.end.next_packet(self.now) else { panic!("no SYN") };
        self.now += Span::from_millis(50);
        let answer = Segment {
            sequence: PEER,
            acknowledgement: OWN.wrapping_add(1),
            flags: Flags::SYN.with(Flags::ACK).with(Flags::ECE),
            window: 4000,
            mss: 100,
            window_scale: 0,
            options: syn.options,
            timestamp: self.clock,
            echo: syn.timestamp,
            ..Segment::default()
        };
        self.end.on_segment(self.now, &answer);
        assert!(self.end.is_established());
    }

    fn drain(&mut self) {
        for _ in 0..1000 {
            if self.end.next_packet(self.now).is_none() {
                break;
            }
        }
        while self.end.may_have_low_priority() && self.end.next_of_low_priority(self.now).is_some()
        {
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Segment {
                sequence,
                acknowledgement,
                length,
                bits,
                window,
                blocks,
                clock,
                marked,
            } => {
                let una = self.end.halves.sender.stream().una as i64;
                let out = |number: i64| OWN.wrapping_add(number as u32);
                let mut segment = Segment {
                    sequence: PEER
                        .wrapping_add((self.end.halves.receiver.next() as i64 + sequence) as u32),
                    acknowledgement: out(una + acknowledgement),
                    flags: Flags(*bits),
                    window: *window,
                    payload: *length,
                    window_scale: Segment::NO_SCALE,
                    ..Segment::default()
                };
                if let Some((start, end)) = blocks.first().filter(|_| self.has_snack()) {
                    let (offset, size) = (start.unsigned_abs() as u16, end.unsigned_abs() as u16);
                    segment.set_snack(Snack {
                        offset: offset / 100,
                        size: size / 100,
                        bits: 8,
                        vector: 0b100,
                    });
                }
                for (start, end) in blocks.iter().filter(|_| !self.has_snack()) {
                    segment.sack[usize::from(segment.sack_blocks)] =
                        Block { start: out(una + start), end: out(una + end) };
                    segment.sack_blocks += 1;
                }
                if let Some(clock) = clock {
                    segment.options = segment.options.with_if(true, Options::TIMESTAMPS);
                    segment.timestamp = self.clock.wrapping_add_signed(*clock);
                    segment.echo = timestamp(self.now).wrapping_add_signed(*clock);
                }
                if *marked {
                    self.end.on_marked_segment(self.now, &segment);
                } else {
                    self.end.on_segment(self.now, &segment);
                }
            }
            Event::Ack { share, blocks, echo } => self.acknowledge(*share, blocks, *echo),
            Event::TooBig { sequence, mss } => {
                let una = self.end.halves.sender.stream().una as i64;
                let quoted = OWN.wrapping_add((una + sequence) as u32);
                let segment = Segment { sequence: quoted, ..Segment::default() };
                self.end.on_segment(self.now, &segment.too_big(1, *mss, 556));
            }
            Event::Write(bytes) if !self.end.closing => self.end.write(*bytes),
            Event::Write(_) => {}
            Event::Read(bytes) => self.end.read(*bytes),
            Event::Wait(millis) => {
                self.now += Span::from_millis(*millis);
                self.clock = self.clock.wrapping_add(*millis as u32);
            }
            Event::Deadline => {
                let deadline = self.end.deadline();
                if deadline != Time::NEVER {
                    self.now = self.now.max(deadline);
                }
            }
            Event::Close => self.end.close(),
        }
        if self.end.deadline() <= self.now {
            self.end.on_deadline(self.now);
        }
    }

    /// An ACK of `share` percent of the flight arrives.
    fn acknowledge(&mut self, share: u64, blocks: &[(u64, u64)], echo: bool) {
        let (una, flight) = (self.end.halves.sender.stream().una, self.end.flight());
        let number = una + flight * share.min(100) / 100;
        let mut segment = Segment {
            sequence: PEER.wrapping_add(self.end.halves.receiver.next() as u32),
            acknowledgement: OWN.wrapping_add(number as u32),
            flags: Flags::ACK.with_if(echo, Flags::ECE),
            window: 4000,
            window_scale: Segment::NO_SCALE,
            options: Options::TIMESTAMPS,
            timestamp: self.clock,
            echo: timestamp(self.now).wrapping_sub(50),
            ..Segment::default()
        };
        if let Some((offset, size)) = blocks.first().filter(|_| self.has_snack()) {
            let [offset, size] = [offset, size].map(|units| *units as u16);
            segment.set_snack(Snack { offset, size, bits: 16, vector: 0b100_1011 });
        }
        for (start, length) in blocks.iter().filter(|_| !self.has_snack()) {
            let start = number + 100 * start;
            let end = (start + 100 * length).min(self.end.halves.sender.stream().max);
            if start < end {
                segment.sack[usize::from(segment.sack_blocks)] = Block {
                    start: OWN.wrapping_add(start as u32),
                    end: OWN.wrapping_add(end as u32),
                };
                segment.sack_blocks += 1;
            }
        }
        self.end.on_segment(self.now, &segment);
    }

    fn has_snack(&self) -> bool {
        self.end.halves.config.recovery == Recovery::Snack
    }

    fn recount(&self) {
        self.end.halves.sender.recount();
        self.end.halves.receiver.recount(&self.end.halves.config);
        let info = self.end.info();
        assert!(info.sacked + info.not_sent < u64::MAX / 2, "{info:?}");
    }
}

/// A router reports a smaller MTU while segments of the old size are lost: what is retransmitted in
/// parts, and lost again, must upset no controller. Those with samples of the delivery rate compare
/// the lost bytes with what was in flight.
#[test]
fn segments_that_are_retransmitted_in_parts_upset_no_controller() {
    let ack =
        |share, blocks: &[(u64, u64)]| Event::Ack { share, blocks: blocks.into(), echo: false };
    let sacked = Event::Segment {
        sequence: 1,
        acknowledgement: 0,
        length: 0,
        bits: 16,
        window: 0,
        blocks: vec![(0, 1607)],
        clock: Some(0),
        marked: false,
    };
    let events = [
        Event::Write(3645),
        Event::Deadline,
        ack(22, &[(0, 3)]),
        sacked,
        ack(0, &[]),
        Event::Write(1961),
        Event::Wait(200),
        Event::Wait(1),
        ack(100, &[]),
        Event::Wait(4),
        ack(82, &[]),
        Event::Write(2528),
        ack(44, &[(0, 7)]),
        ack(100, &[]),
        Event::Wait(1),
        ack(58, &[]),
        Event::Deadline,
        Event::TooBig { sequence: 0, mss: 1 },
        ack(21, &[]),
        Event::Wait(200),
        Event::Wait(1),
        Event::Deadline,
    ];
    for entry in congestion::entries() {
        for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Linux] {
            let mut bench = Bench::new(recovery, entry.name, 54372);
            bench.open();
            bench.drain();
            for event in &events {
                bench.happen(event);
                bench.drain();
                bench.recount();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_the_other_end_sends_upsets_the_counting(
        recovery in prop::sample::select(vec![
            Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Linux, Recovery::Snack,
            Recovery::Snack,
        ]),
        controller in prop::sample::select(vec!["newreno", "cubic", "bbr", "bbr3", "peach", "cherry", "adalr"]),
        options: u16,
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut bench = Bench::new(recovery, controller, options);
        bench.open();
        bench.drain();
        for event in &events {
            bench.happen(event);
            bench.recount();
            bench.drain();
            bench.recount();
        }
    }

    #[test]
    fn nothing_upsets_a_connection_that_is_not_open_yet(
        listens: bool,
        options: u16,
        events in prop::collection::vec(segment(), 1..40),
    ) {
        let mut bench = Bench::new(Recovery::Sack, "newreno", options);
        if listens {
            bench.end.state = State::Listen;
            bench.end.urgent = Urgent::Nothing;
        }
        for event in &events {
            bench.drain();
            bench.happen(event);
            bench.recount();
        }
    }
}
