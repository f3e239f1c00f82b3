//! Whatever the wire does and however the ends are configured, every byte arrives once.

use std::sync::Arc;

use congestion::{Controller, Specification};
use proptest::prelude::*;
use tcp::Recovery;
use tcp::{
    AckTiming, BestEffort, Cause, Config, Connection, DelayedAck, Options, Scps, SnackForm, State,
};
use transport::Endpoint;
use units::{Bytes, Rate, SizeLimit, Span, Time};

use crate::wire::{A, B, Fate, Sent, Wire, config, ms};

/// One end: how it is configured and what it has to say.
#[derive(Clone, Debug)]
struct End {
    config: Config,
    controller: &'static str,
    initial_sequence: u32,
    writes: Vec<u64>,
    /// Bytes that a slow reader takes at each event.
    reads: u64,
}

impl End {
    fn connection(&self) -> Connection {
        let controller = Specification::named(self.controller).unwrap();
        let controller = controller.build(&self.config.controller());
        Connection::new(Arc::new(self.config.clone()), controller, self.initial_sequence)
    }

    fn bytes(&self) -> u64 {
        self.writes.iter().sum()
    }
}

fn switches() -> impl Strategy<Value = [bool; 7]> {
    any::<[bool; 7]>()
}

prop_compose! {
    fn routes()(
        is_simple: bool,
        is_corruption: bool,
        rate in prop::option::of(20_000u64..10_000_000),
        floor in 0u64..300,
        outage_timeouts in prop::option::of(1u32..5),
        best_effort in prop::option::of((0u32..4, 1u64..3000, prop::option::of(1u64..5000))),
    ) -> Scps {
        Scps {
            snack: if is_simple { SnackForm::Simple } else { SnackForm::Vector },
            cause: if is_corruption { Cause::Corruption } else { Cause::Congestion },
            rate: rate.map(Rate::from_bits_per_second),
            ack_floor: ms(floor),
            outage_timeouts,
            best_effort: best_effort.map(|(retransmissions, timeout, threshold)| BestEffort {
                retransmissions,
                receive_timeout: ms(timeout),
                receive_threshold: threshold.map(Bytes),
            }),
            ..Scps::default()
        }
    }
}

prop_compose! {
    fn configs()(
        recovery in prop::sample::select(vec![
            Recovery::Reno,
            Recovery::NewReno,
            Recovery::Sack,
            Recovery::Linux,
        ]),
        mss in 64u32..1461,
        receive_buffer in prop_oneof![500u64..10_000, 10_000u64..65_536, 65_536u64..300_000],
        send_buffer in prop::option::of(200u64..20_000),
        segments in 1u32..4,
        timeout in 0u64..500,
        duplicate_threshold in 1u32..6,
        switches in switches(),
        rto_min in prop::sample::select(vec![1, 200, 1000]),
        granularity in prop::sample::select(vec![0, 1, 500]),
        persist in 1u64..2000,
        scps in prop::option::weighted(0.4, routes()),
    ) -> Config {
        let [timestamps, reads_at_once, window_validation, limited_transmit, nagle, idle, scaling] =
            switches;
        let mut base = config();
        base.rto.min = ms(rto_min);
        base.rto.granularity = ms(granularity);
        Config {
            recovery: if scps.is_some() { Recovery::Snack } else { recovery },
            scps,
            mss,
            receive_buffer: Bytes(if scaling { receive_buffer } else { receive_buffer.min(65_535) }),
            send_buffer: send_buffer.map_or(SizeLimit::UNLIMITED, |bytes| SizeLimit::of(Bytes(bytes))),
            reads_at_once,
            window_scaling: scaling,
            timestamps,
            delayed_ack: AckTiming::Fixed(DelayedAck { segments, timeout: ms(timeout) }),
            dupthresh: duplicate_threshold,
            window_validation,
            limited_transmit,
            nagle,
            idle_restart: idle,
            persist_timeout: ms(persist),
            max_retries: 255,
            ..base
        }
    }
}

prop_compose! {
    fn ends()(
        config in configs(),
        controller in prop::sample::select(vec![
            "reno", "newreno", "adalr", "peach", "peach-plus", "cherry", "cherry", "bbr",
        ]),
        initial_sequence in prop_oneof![any::<u32>(), u32::MAX - 50_000..u32::MAX],
        writes in prop::collection::vec(prop_oneof![1u64..200, 1u64..30_000], 0..6),
        reads in 1u64..4_000,
    ) -> End {
        End { config, controller, initial_sequence, writes, reads }
    }
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
    let mut wire = Wire::of(ends.each_ref().map(End::connection)).scripted(script);
    wire.ends[B].listen();
    wire.ends[A].connect();
    wire.flush();
    let mut next = [0, 0];
    let limit = Time::ZERO + Span::from_secs(200_000);
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
            check(&wire, &ends[end], &ends[1 - end], end);
        }
        if !moved && !acted {
            return wire;
        }
    }
}

/// The application at `end` reads, and writes its next piece when half of the others have gone out.
/// Returns whether it did anything.
fn act(wire: &mut Wire, spec: &End, end: usize, next: &mut usize) -> bool {
    let reads = !spec.config.reads_at_once && wire.ends[end].unread() > 0;
    if reads {
        wire.read(end, spec.reads);
    }
    let written: u64 = spec.writes[..(*next).min(spec.writes.len())].iter().sum();
    if wire.ends[end].acknowledged() < written / 2 && wire.ends[end].abort_cause().is_none() {
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

fn check(wire: &Wire, spec: &End, peer: &End, end: usize) {
    let connection = &wire.ends[end];
    let window = connection.controller().window();
    assert!(window.cwnd >= window.mss, "cwnd {} below a segment", window.cwnd);
    assert!(connection.acknowledged() <= spec.bytes());
    assert!(wire.ends[1 - end].delivered() <= spec.bytes());
    if spec.controller != "adalr" {
        // The SYN or the FIN, and the byte of a window probe.
        assert!(connection.flight() <= peer.config.receive_buffer.get() + 2, "beyond the window");
    }
}

fn check_counters(wire: &Wire, end: usize, spec: &End) {
    let counters = wire.ends[end].counters();
    let data =
        |probes| wire.sent(end, move |s| s.is_data() && s.segment.is_low_priority() == probes);
    // The receiver takes nothing from dummies.
    let useful = wire.sent(end, |s| !s.segment.options.contains(Options::DUMMY));
    let bytes: u64 = useful.map(|s| u64::from(s.segment.payload)).sum();
    let sent = data(false).count() as u64;
    assert_eq!((counters.segments, counters.bytes), (sent, bytes), "counted, and on the wire");
    assert_eq!(counters.probes, data(true).count() as u64);
    assert!(counters.retransmissions <= counters.segments);
    let least = wire.ends[end].acknowledged().div_ceil(u64::from(spec.config.mss));
    assert!(counters.segments + counters.probes >= least);
    assert!(wire.log.iter().all(|s| s.segment.option_bytes() <= 40));
}

/// For the first segments what `fates` say; after them all is well.
fn by_list(fates: Vec<Fate>) -> impl FnMut(&Sent) -> Fate {
    let mut fates = fates.into_iter();
    move |_| fates.next().unwrap_or(Fate::Arrives)
}

/// Each segment is lost with `percent`, by a fixed hash.
fn by_chance(seed: u64, percent: u64) -> impl FnMut(&Sent) -> Fate {
    let mut state = seed;
    move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33) % 100 < percent { Fate::Lost } else { Fate::Arrives }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order_whatever_the_wire_does(
        a in ends(), b in ends(), fates in fates(),
    ) {
        let ends = [a, b];
        let wire = transfer(&ends, by_list(fates));
        for (end, other) in [(A, B), (B, A)] {
            prop_assert_eq!(wire.ends[other].delivered(), ends[end].bytes());
            prop_assert!(wire.ends[other].peer_has_finished());
            // When both close at once, the ACK of one FIN may be lost while the other is answered.
            // The peer is then gone and answers the FIN with a reset.
            let left_alone =
                wire.ends[end].abort_cause().is_some() && wire.ends[other].state() == State::Closed;
            let acknowledged = wire.ends[end].acknowledged();
            prop_assert!(left_alone || acknowledged == ends[end].bytes());
            check_counters(&wire, end, &ends[end]);
        }
    }

    #[test]
    fn a_bad_channel_ends_in_a_complete_transfer_or_an_abort(
        a in ends(), b in ends(), seed: u64, percent in 5u64..60, threshold in 1u32..8,
    ) {
        let mut ends = [a, b];
        for end in &mut ends {
            end.config.max_retries = threshold;
        }
        let wire = transfer(&ends, by_chance(seed, percent));
        let aborted = wire.ends.iter().any(|end| end.abort_cause().is_some());
        for (end, other) in [(A, B), (B, A)] {
            prop_assert!(aborted || wire.ends[other].delivered() == ends[end].bytes());
            check_counters(&wire, end, &ends[end]);
        }
    }
}

/// Shrunk from a case of the property: both ends of ADaLR had sent beyond the window, and numbered
/// their ACKs by SND.NXT, so that each refused all that the other said.
#[test]
fn two_ends_that_send_beyond_the_window_hear_each_other() {
    let end = |mss: u32, buffer: u64, bytes: u64, reads: u64| {
        let mut base = config();
        base.rto.min = ms(1);
        base.rto.granularity = ms(0);
        let config = Config {
            recovery: Recovery::Reno,
            mss,
            receive_buffer: Bytes(buffer),
            reads_at_once: false,
            window_scaling: false,
            timestamps: false,
            delayed_ack: AckTiming::Fixed(DelayedAck { segments: 1, timeout: ms(0) }),
            dupthresh: 1,
            window_validation: false,
            limited_transmit: false,
            nagle: false,
            idle_restart: false,
            persist_timeout: ms(1),
            max_retries: 255,
            ..base
        };
        End { config, controller: "adalr", initial_sequence: 0, writes: vec![bytes], reads }
    };
    let ends = [end(570, 969, 5401, 1), end(521, 521, 1938, 521)];
    let mut fates = vec![Fate::Arrives; 3];
    fates.push(Fate::Late(ms(1)));
    let wire = transfer(&ends, by_list(fates));
    for (end, other) in [(A, B), (B, A)] {
        assert_eq!(wire.ends[other].delivered(), ends[end].bytes());
    }
}
