//! Whatever the wire does and however the ends are configured, every byte arrives once.

use proptest::prelude::*;
use transport::Endpoint;
use units::{Bytes, Rate, Span, Time};
use xtp::{Config, Connection, Kind, Options, Packet, Retransmission, SpanOfBytes, State, Traffic};

use crate::harness::{self, Application, by_chance, by_list, fates};
use crate::wire::{A, B, Fate, Sent, Wire, config, connection, ms};

/// One end: how it is configured, and its application.
#[derive(Clone, Debug)]
struct End {
    config: Config,
    application: Application,
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
        End { config, application: Application { writes, reads, most_in_flight: 0 } }
    }
}

/// Both ends repair in the same way.
fn both_ends() -> impl Strategy<Value = [End; 2]> {
    let repairs = prop::sample::select(vec![Retransmission::Selective, Retransmission::GoBackN]);
    (64u32..1461, repairs).prop_flat_map(|(mss, repair)| [ends(mss, repair), ends(mss, repair)])
}

fn transfer(ends: &[End; 2], script: impl FnMut(&Sent) -> Fate + 'static) -> Wire {
    let connections = ends.each_ref().map(|end| connection(&end.config));
    let mut wire = Wire::of(connections).scripted(script);
    wire.delay = ms(50);
    let applications = [A, B].map(|end| {
        let buffer = ends[1 - end].config.receive_buffer.get();
        // The first packets leave before there is a window.
        let guess = u64::from(ends[end].config.initial_window * ends[end].config.mss);
        Application { most_in_flight: buffer.max(guess), ..ends[end].application.clone() }
    });
    harness::transfer(wire, applications.each_ref())
}

fn check_complete(wire: &Wire, ends: &[End; 2]) {
    for (end, other) in [(A, B), (B, A)] {
        assert_eq!(wire.ends[other].delivered(), ends[end].application.bytes());
        assert!(wire.ends[other].peer_has_finished());
        assert_eq!(wire.ends[end].acknowledged(), ends[end].application.bytes());
        assert_eq!((wire.ends[end].state(), wire.ends[end].abort_cause()), (State::Released, None));
        wire.check_counters(end);
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
            let complete = wire.ends[other].delivered() == ends[end].application.bytes();
            let never_opened = wire.ends[B].state() == State::Listen;
            prop_assert!(aborted || complete || never_opened);
            prop_assert!(wire.ends[end].state() == State::Released || never_opened);
            wire.check_counters(end);
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
