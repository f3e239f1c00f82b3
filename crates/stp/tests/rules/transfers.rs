//! Whatever the wire does and however the ends are configured, every byte arrives once.

use proptest::prelude::*;
use stp::{Config, Connection, Kind, State};
use transport::Endpoint;
use units::{Bytes, Rate, Span, Time};

use crate::harness::{self, Application, by_chance, by_list, fates};
use crate::wire::{A, B, Fate, Sent, Wire, config, connection, ms};

/// One end: how it is configured, and its application.
#[derive(Clone, Debug)]
struct End {
    config: Config,
    controller: &'static str,
    initial: u32,
    application: Application,
}

prop_compose! {
    fn configs(mss: u32)(
        rate in prop::option::of(100_000u64..10_000_000),
        packets in prop_oneof![1u64..10, 10u64..200],
        initial_window in 1u32..20,
        packets_per_poll in 1u32..40,
        intervals in [1u64..2000, 1u64..2000, 1u64..2000],
        [reads_at_once, fast_connect, probing] in any::<[bool; 3]>(),
    ) -> Config {
        let [poll_interval, keep_alive, set_up_interval] = intervals.map(ms);
        Config {
            rate: rate.map(Rate::from_bits_per_second),
            mss,
            receive_buffer: Bytes(packets * u64::from(mss)),
            reads_at_once,
            initial_window,
            packets_per_poll,
            poll_interval,
            keep_alive,
            set_up_interval,
            fast_connect,
            probing,
            no_response: Span::from_secs(100_000),
            set_up_attempts: 65_535,
            ..config()
        }
    }
}

prop_compose! {
    fn ends(mss: u32)(
        config in configs(mss),
        controller in prop::sample::select(vec!["newreno", "bic", "ck-stp", "veno"]),
        initial in prop_oneof![any::<u32>(), u32::MAX - 50..u32::MAX],
        writes in prop::collection::vec(prop_oneof![1u64..200, 1u64..30_000], 0..6),
        reads in 1u64..4_000,
    ) -> End {
        End { config, controller, initial, application: Application { writes, reads, most_in_flight: 0 } }
    }
}

fn both_ends() -> impl Strategy<Value = [End; 2]> {
    (64u32..1461).prop_flat_map(|mss| [ends(mss), ends(mss)])
}

fn transfer(ends: &[End; 2], script: impl FnMut(&Sent) -> Fate + 'static) -> Wire {
    let connections =
        ends.each_ref().map(|end| connection(&end.config, end.controller, end.initial));
    let mut wire = Wire::of(connections).scripted(script);
    wire.delay = ms(50);
    let applications = [A, B].map(|end| {
        let buffer = ends[1 - end].config.receive_buffer.get();
        // The packet of the BGN leaves before there is a credit.
        let guess = u64::from(ends[end].config.mss);
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
        mut ends in both_ends(), seed: u64, percent in 5u64..90, attempts in 1u32..5,
    ) {
        for end in &mut ends {
            end.config.set_up_attempts = attempts;
            end.config.no_response = Span::from_secs(7);
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
fn packets() -> impl Strategy<Value = stp::Packet> {
    let kind = prop::sample::select(Kind::ALL.to_vec());
    let near = prop_oneof![0u32..40, any::<u32>()];
    (
        kind,
        [near.clone(), near.clone(), near],
        any::<[u16; stp::MAX_LIST]>(),
        0..=stp::MAX_LIST,
        any::<[bool; 3]>(),
        0u16..2000,
    )
        .prop_map(|(kind, [number, poll, credit], list, listed, flags, payload)| stp::Packet {
            kind,
            number,
            poll,
            credit,
            list: list.map(|distance| distance % 64),
            listed: listed as u8,
            payload,
            flags: stp::Flags::default()
                .with_if(flags[0], stp::Flags::END_OF_STREAM)
                .with_if(flags[1], stp::Flags::POLL)
                .with_if(flags[2], stp::Flags::ABORT),
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn packets_that_make_no_sense_do_no_harm(
        opens: bool, packets in prop::collection::vec(packets(), 1..40), probing: bool,
    ) {
        let mut end = connection(&Config { probing, ..config() }, "newreno", 0);
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
