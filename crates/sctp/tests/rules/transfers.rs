//! Whatever the wire does and however the ends are configured, every byte arrives once and in the
//! order of its stream.

use proptest::prelude::*;
use sctp::{Config, Kind, State};
use transport::Endpoint;
use units::{Bytes, Span, Time};

use crate::oracle::Oracle;
use crate::wire::{A, B, Fate, Sent, Wire, config, connection, ms};

/// One end: how it is configured and what it writes.
#[derive(Clone, Debug)]
struct End {
    config: Config,
    initial: u32,
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
    fn configs(mss: u32)(
        packets in prop_oneof![1u64..10, 10u64..200],
        streams in 1u32..12,
        message_size in prop::option::of(prop_oneof![1u64..100, 100u64..5000]),
        [reads_at_once, unordered] in any::<[bool; 2]>(),
        sack_frequency in 1u32..5,
        sack_delay in 0u64..500,
        max_burst in 1u32..10,
        paths in 1u8..3,
        heartbeat in 1u64..30_000,
        path_max_retries in 0u32..6,
    ) -> Config {
        Config {
            mss,
            receive_buffer: Bytes(packets * u64::from(mss)),
            reads_at_once,
            paths,
            streams,
            message_size: message_size.map(Bytes),
            unordered,
            sack_delay: ms(sack_delay),
            sack_frequency,
            max_burst,
            heartbeat_interval: ms(heartbeat),
            path_max_retries,
            max_retries: 1000,
            init_max_retries: 1000,
            cookie_life: Span::from_secs(100_000),
            rto_max: Span::from_secs(5),
            ..config()
        }
    }
}

prop_compose! {
    fn ends(mss: u32)(
        config in configs(mss),
        initial in prop_oneof![any::<u32>(), u32::MAX - 50..u32::MAX],
        writes in prop::collection::vec(prop_oneof![1u64..200, 1u64..20_000], 0..6),
        reads in 1u64..4_000,
    ) -> End {
        End { config, initial, writes, reads }
    }
}

fn both_ends() -> impl Strategy<Value = [End; 2]> {
    (64u32..1453).prop_flat_map(|mss| [ends(mss), ends(mss)])
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

fn by_list(fates: Vec<Fate>) -> impl FnMut(&Sent) -> Fate {
    let mut fates = fates.into_iter();
    move |_| fates.next().unwrap_or(Fate::Arrives)
}

fn by_chance(seed: u64, percent: u64) -> impl FnMut(&Sent) -> Fate {
    let mut state = seed;
    move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33) % 100 < percent { Fate::Lost } else { Fate::Arrives }
    }
}

/// Runs until nothing happens any more. An end writes one piece after the other. Both close when
/// all that both have written has arrived, because the first SHUTDOWN ends both directions.
fn transfer(ends: &[End; 2], script: impl FnMut(&Sent) -> Fate + 'static, exact: bool) -> Wire {
    let connections = ends.each_ref().map(|end| connection(&end.config, end.initial));
    let mut wire = Wire::of(connections).scripted(script);
    wire.delays = [ms(50), ms(20)];
    if exact {
        wire.oracle = Some([Oracle::new(ends[B].initial), Oracle::new(ends[A].initial)]);
    }
    let mut wire = wire.open();
    let mut next = [0, 0];
    let mut closed = false;
    let limit = Time::ZERO + Span::from_secs(5_000);
    loop {
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
        }
        let complete = [A, B].iter().all(|end| {
            next[*end] == ends[*end].writes.len()
                && wire.ends[1 - end].delivered() == ends[*end].bytes()
        });
        if complete && !closed && wire.states().iter().all(|state| *state == State::Established) {
            closed = true;
            wire.close(A);
            wire.close(B);
            acted = true;
        }
        if !moved && !acted {
            return wire;
        }
    }
}

fn act(wire: &mut Wire, spec: &End, end: usize, next: &mut usize) -> bool {
    let reads = wire.ends[end].unread() > 0;
    if reads {
        wire.read(end, spec.reads);
    }
    let written: u64 = spec.writes[..*next].iter().sum();
    if wire.ends[end].acknowledged() < written / 2 {
        return reads;
    }
    let Some(bytes) = spec.writes.get(*next) else { return reads };
    wire.write(end, *bytes);
    *next += 1;
    true
}

fn check_counters(wire: &Wire, end: usize) {
    let counters = Endpoint::counters(&wire.ends[end]);
    let data: Vec<_> =
        wire.log.iter().filter(|sent| sent.by == end).flat_map(|sent| sent.packet.data()).collect();
    let bytes: u64 = data.iter().map(|data| u64::from(data.payload)).sum();
    assert_eq!((counters.segments, counters.bytes), (data.len() as u64, bytes));
    let mut numbers: Vec<_> = data.iter().map(|data| data.tsn).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(counters.retransmissions, (data.len() - numbers.len()) as u64);
    let with_data = wire.sent(end, Kind::Data).count() as u64;
    assert_eq!(wire.ends[end].events().data_packets, with_data);
}

fn check_complete(wire: &Wire, ends: &[End; 2]) {
    for (end, other) in [(A, B), (B, A)] {
        assert_eq!(wire.ends[other].delivered(), ends[end].bytes());
        assert_eq!(wire.ends[end].acknowledged(), ends[end].bytes());
        assert_eq!(wire.ends[end].abort_cause(), None);
        assert_eq!(wire.states(), [State::Ended; 2]);
        assert_eq!((wire.ends[end].flight(), wire.ends[end].unread()), (0, 0));
        check_counters(wire, end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_whatever_the_wire_does(ends in both_ends(), fates in fates()) {
        check_complete(&transfer(&ends, by_list(fates), false), &ends);
    }

    #[test]
    fn every_transfer_ends_over_bad_paths(ends in both_ends(), seed: u64, percent in 1u64..40) {
        check_complete(&transfer(&ends, by_chance(seed, percent), false), &ends);
    }

    /// The buffers are large, so that nothing is dropped but by the wire.
    #[test]
    fn an_application_has_what_the_order_of_streams_allows_and_no_more(
        mut ends in both_ends(), fates in fates(),
    ) {
        for end in &mut ends {
            end.config.receive_buffer = Bytes(10_000_000);
        }
        check_complete(&transfer(&ends, by_list(fates), true), &ends);
    }

    #[test]
    fn a_path_that_is_too_bad_ends_in_a_complete_transfer_or_an_abort(
        mut ends in both_ends(), seed: u64, percent in 5u64..90, retries in 0u32..5,
    ) {
        for end in &mut ends {
            end.config.max_retries = retries;
            end.config.init_max_retries = retries;
        }
        let wire = transfer(&ends, by_chance(seed, percent), false);
        for (end, other) in [(A, B), (B, A)] {
            let complete = wire.ends[other].delivered() == ends[end].bytes();
            let aborted = wire.ends.iter().any(|end| end.abort_cause().is_some());
            prop_assert!(aborted || complete);
            prop_assert!(wire.ends[end].state() == State::Ended || wire.states()[B] == State::Listen);
            check_counters(&wire, end);
        }
    }
}
