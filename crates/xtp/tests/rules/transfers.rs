//! Whatever the wire does and however the ends are configured, every byte arrives once.

use proptest::prelude::*;
use units::{Bytes, Rate, Span, Time};
use xtp::{Config, Connection, Kind, Options, Packet, Retransmission, SpanOfBytes, State, Traffic};

use crate::wire::{A, B, Fate, Sent, Wire, config, connection, ms};

/// One end: how it is configured and what it has to say.
#[derive(Clone, Debug)]
struct End {
    config: Config,
    writes: Vec<u64>,
    /// Bytes that a slow reader takes at each event.
    reads: u64,
}

impl End {
    fn bytes(&self) -> u64 {
        self.writes.iter().sum()
    }
}

prop_compose! {
    fn configs(mss: u32, retransmission: Retransmission)(
        rate in prop::option::of(100_000u64..10_000_000),
        burst in prop::option::of(1u64..10),
        packets in prop_oneof![1u64..10, 10u64..200],
        initial_window in 1u32..20,
        request_interval in prop::option::of(1u64..2000),
        intervals in [1u64..3000, 1u64..10_000],
        [reads_at_once, fast_nak] in any::<[bool; 2]>(),
    ) -> Config {
        let [wtimer, ctimer] = intervals.map(ms);
        Config {
            rate: rate.map(Rate::from_bits_per_second),
            burst: burst.map(|packets| Bytes(packets * u64::from(mss + 52))),
            mss,
            receive_buffer: Bytes(packets * u64::from(mss)),
            reads_at_once,
            initial_window,
            retransmission,
            fast_nak,
            request_interval: request_interval.map(ms),
            wtimer,
            ctimer,
            ctimeout: Span::from_secs(100_000),
            ..config()
        }
    }
}

prop_compose! {
    fn ends(mss: u32, retransmission: Retransmission)(
        config in configs(mss, retransmission),
        writes in prop::collection::vec(prop_oneof![1u64..200, 1u64..30_000], 0..6),
        reads in 1u64..4_000,
    ) -> End {
        End { config, writes, reads }
    }
}

/// Both ends repair in the same way.
fn both_ends() -> impl Strategy<Value = [End; 2]> {
    let repairs = prop::sample::select(vec![Retransmission::Selective, Retransmission::GoBackN]);
    (64u32..1461, repairs).prop_flat_map(|(mss, repair)| [ends(mss, repair), ends(mss, repair)])
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        1 => (1u64..400).prop_map(|late| Fate::Late(ms(late))),
        1 => (0u64..4000).prop_map(|later| Fate::Twice(ms(later))),
    ];
    prop::collection::vec(fate, 0..150)
}

/// Runs until nothing happens any more; the ends write one piece after the other and then close.
fn transfer(ends: &[End; 2], script: impl FnMut(&Sent) -> Fate + 'static) -> Wire {
    let connections = ends.each_ref().map(|end| connection(&end.config));
    let mut wire = Wire::of(connections).scripted(script);
    wire.delay = ms(50);
    let mut wire = wire.open();
    let mut next = [0, 0];
    let limit = Time::ZERO + Span::from_secs(50_000);
    let mut steps = 0;
    loop {
        steps += 1;
        assert!(steps < 500_000, "nothing comes to an end");
        // A slow reader comes back after 20 ms at the latest.
        let unread = wire.ends.iter().any(|end| end.unread() > 0);
        let until = if unread { wire.now + ms(20) } else { limit };
        let moved = wire.step(until);
        if unread && !moved {
            wire.now = until;
        }
        let mut acted = false;
        for end in [A, B] {
            acted |= act(&mut wire, &ends[end], end, &mut next[end]);
            assert!(wire.ends[end].acknowledged() <= ends[end].bytes());
            assert!(wire.ends[1 - end].delivered() <= ends[end].bytes());
            let buffer = ends[1 - end].config.receive_buffer.get();
            // The first packets leave before there is a window.
            let guess = u64::from(ends[end].config.initial_window * ends[end].config.mss);
            let limit = buffer.max(guess);
            assert!(wire.ends[end].flight() <= limit, "beyond the credit");
        }
        if !moved && !acted {
            return wire;
        }
    }
}

/// The application at `end` reads, and writes its next piece when half of the others have arrived. Returns
/// whether it did anything.
fn act(wire: &mut Wire, spec: &End, end: usize, next: &mut usize) -> bool {
    let reads = wire.ends[end].unread() > 0;
    if reads {
        wire.read(end, spec.reads);
    }
    let written: u64 = spec.writes[..(*next).min(spec.writes.len())].iter().sum();
    if wire.ends[end].acknowledged() < written / 2 && !wire.ends[end].is_aborted() {
        return reads;
    }
    match spec.writes.get(*next) {
        Some(bytes) => wire.write(end, *bytes),
        None if *next == spec.writes.len() => wire.close(end),
        None => return reads,
    }
    *next += 1;
    true
}

fn check_counters(wire: &Wire, end: usize) {
    let counters = transport::Endpoint::counters(&wire.ends[end]);
    let data: Vec<_> =
        wire.log.iter().filter(|sent| sent.by == end && sent.packet.payload > 0).collect();
    let bytes: u64 = data.iter().map(|sent| u64::from(sent.packet.payload)).sum();
    assert_eq!((counters.segments, counters.bytes), (data.len() as u64, bytes));
    let mut numbers: Vec<_> = data.iter().map(|sent| sent.packet.seq).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(counters.retransmissions, (data.len() - numbers.len()) as u64);
}

/// For the first packets what `fates` say; after them all is well.
fn by_list(fates: Vec<Fate>) -> impl FnMut(&Sent) -> Fate {
    let mut fates = fates.into_iter();
    move |_| fates.next().unwrap_or(Fate::Arrives)
}

/// Each packet is lost with `percent`, by a fixed hash.
fn by_chance(seed: u64, percent: u64) -> impl FnMut(&Sent) -> Fate {
    let mut state = seed;
    move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33) % 100 < percent { Fate::Lost } else { Fate::Arrives }
    }
}

fn check_complete(wire: &Wire, ends: &[End; 2]) {
    for (end, other) in [(A, B), (B, A)] {
        assert_eq!(wire.ends[other].delivered(), ends[end].bytes());
        assert!(wire.ends[other].peer_has_finished());
        assert_eq!(wire.ends[end].acknowledged(), ends[end].bytes());
        assert_eq!((wire.ends[end].state(), wire.ends[end].abort_cause()), (State::Released, None));
        check_counters(wire, end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order_whatever_the_wire_does(
        ends in both_ends(), fates in fates(),
    ) {
        check_complete(&transfer(&ends, by_list(fates)), &ends);
    }

    #[test]
    fn every_transfer_ends_over_a_bad_channel(
        ends in both_ends(), seed: u64, percent in 1u64..50,
    ) {
        check_complete(&transfer(&ends, by_chance(seed, percent)), &ends);
    }

    #[test]
    fn a_channel_that_is_too_bad_ends_in_a_complete_transfer_or_an_abort(
        mut ends in both_ends(), seed: u64, percent in 5u64..90, timeout in 1u64..20,
    ) {
        for end in &mut ends {
            end.config.ctimeout = Span::from_secs(timeout);
        }
        let wire = transfer(&ends, by_chance(seed, percent));
        let aborted = wire.ends.iter().any(Connection::is_aborted);
        for (end, other) in [(A, B), (B, A)] {
            let complete = wire.ends[other].delivered() == ends[end].bytes();
            let never_opened = wire.ends[B].state() == State::Listen;
            prop_assert!(aborted || complete || never_opened);
            prop_assert!(wire.ends[end].state() == State::Released || never_opened);
            check_counters(&wire, end);
        }
    }
}

/// No bytes of a stranger make an end panic or deliver what was not sent.
fn packets() -> impl Strategy<Value = Packet> {
    let near = prop_oneof![
        8 => 0u64..40_000,
        4 => (0u64..40).prop_map(|packets| packets * 1000),
        1 => any::<u64>(),
    ];
    let spans = prop::collection::vec([near.clone(), near.clone()], 0..8);
    (
        prop::sample::select(Kind::ALL.to_vec()),
        [near.clone(), near.clone(), near],
        [prop_oneof![0u32..40, any::<u32>()], prop_oneof![0u32..10, any::<u32>()]],
        spans,
        any::<[u32; 4]>(),
        any::<u16>(),
        0u16..2000,
    )
        .prop_map(
            |(kind, [seq, rseq, alloc], [sync, echo], spans, traffic, options, payload)| {
                let spans: Box<[_]> =
                    spans.into_iter().map(|[left, right]| SpanOfBytes { left, right }).collect();
                let [in_rate, in_burst, out_rate, out_burst] = traffic;
                Packet {
                    kind,
                    seq,
                    rseq,
                    alloc,
                    sync,
                    echo,
                    payload,
                    options: Options::of(options),
                    traffic: Traffic { in_rate, in_burst, out_rate, out_burst },
                    spans: (kind == Kind::Ecntl).then_some(spans),
                    ip_extra: 0,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn packets_that_make_no_sense_do_no_harm(
        opens: bool,
        goes_back: bool,
        packets in prop::collection::vec(packets(), 1..40),
    ) {
        let retransmission =
            if goes_back { Retransmission::GoBackN } else { Retransmission::Selective };
        let mut end = connection(&Config { retransmission, ..config() });
        if opens { end.connect() } else { end.listen() }
        end.write(30_000);
        let mut now = Time::ZERO;
        for packet in &packets {
            while end.next_packet(now).is_some() {}
            end.on_packet(now, packet);
            now += ms(100);
            if end.deadline() <= now {
                end.on_deadline(now);
            }
            prop_assert!(end.acknowledged() <= 30_000);
        }
    }
}
