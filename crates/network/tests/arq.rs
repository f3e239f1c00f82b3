//! Automatic repeat request against closed forms, over a memoryless channel with PER 1e-4 to 0.2.
//!
//! The efficiency of go-back-N and selective repeat is that of Lin, Costello and Miller,
//! "Automatic-repeat-request error-control schemes", IEEE Communications Magazine 22(12), 1984.
//! Theirs is for an error that is known as soon as its frame has arrived. Here a damaged frame is
//! not known by its number, so the gap is found when the next frame arrives intact; the forms below
//! contain that wait. All tolerances are four standard errors of the measured mean.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use link::{ArqCounters, ArqSettings, Direction, Ecn, Errors, Priority, Repeat, Seed, Settings};
use network::{Fabric, Network, NodeId, Packet, PortKind, PortSpec, Topology};
use units::{Rate, Span, Time};

const PERS: [f64; 7] = [1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2];
const BYTES: u16 = 1000;
const HEADER: u32 = 14;
/// One frame takes 8 us at 1014 Mbit/s.
const FRAME: Span = Span::from_nanos(8000);
const RATE: u64 = 1_014_000_000;
const FOREVER: u32 = u32::MAX;

fn arq(repeat: Repeat, persistence: u32, timer: Span) -> ArqSettings {
    let sequence_bits = 20;
    let window = repeat.largest_window(sequence_bits);
    ArqSettings { repeat, persistence, window, sequence_bits, timer, header: HEADER }
}

/// A link with ARQ forward, errors forward, and a perfect way back.
fn link(arq: ArqSettings, per: f64, delay: Span, seed: u64) -> Network<u32> {
    let rate = Rate::from_bits_per_second(RATE);
    let channel = Errors::PacketErrors { per };
    let forward = Settings { arq: Some(arq), channel, ..Settings::new(rate, delay) };
    let backward = Settings::new(rate, delay);
    let port = |(number, settings): (u16, Settings)| {
        let direction = Direction::new(settings, &Seed::new(seed), number.into(), Time::NEVER);
        let direction = direction.deciding_at_dequeue();
        let reverse = Some(number ^ 1);
        PortSpec { to: NodeId(1 - number), kind: PortKind::Link, direction, reverse }
    };
    let ports = [(0, forward), (1, backward)].map(port).into();
    let routes = vec![vec![None, Some(0)], vec![Some(1), None]];
    Network::new(Topology { ports, routes, addresses: Vec::new(), forwarding: vec![None; 2] })
}

fn packet(body: u32) -> Packet<u32> {
    let (priority, ecn) = (Priority::Normal, Ecn::NotCapable);
    Packet { body, flow: 0, to: NodeId(1), bytes: BYTES, priority, ecn }
}

/// Lets the network run until `end`. `look` gets the packets that arrive.
fn advance(network: &mut Network<u32>, end: Time, mut look: impl FnMut(Time, u32)) {
    while network.next_event() <= end && network.next_event() != Time::NEVER {
        if let Some(out) = network.advance() {
            look(out.at, out.packet.body);
        }
    }
}

fn counters(network: &mut Network<u32>, now: Time) -> ArqCounters {
    network.report(now)[0].counters.arq.unwrap()
}

/// Bytes of a status frame take 22 / 1014 of a frame.
fn status_time() -> Span {
    Span::from_nanos(8000 * u64::from(HEADER + 8) / 1014)
}

/// Frame times from the start of a lost transmission to its repeat, if the next frame arrives.
fn round(delay: Span) -> f64 {
    let answer = 2 * FRAME.as_nanos() + 2 * delay.as_nanos() + status_time().as_nanos();
    (answer as f64 / FRAME.as_nanos() as f64).ceil()
}

/// The delay leaves the answer inside of a frame, so that no two events coincide.
const DELAY: Span = Span::from_nanos(200_000 + 1234);

/// A sender that always has packets: how many arrive in `slots` frame times.
fn arrivals(repeat: Repeat, per: f64, slots: u64) -> u64 {
    let mut network = link(arq(repeat, FOREVER, Span::from_secs(1)), per, DELAY, 11);
    for body in 0..u32::try_from(slots).unwrap() {
        network.send(Time::ZERO, NodeId(0), packet(body));
    }
    let end = Time::ZERO + Span::from_nanos(slots * FRAME.as_nanos()) + DELAY;
    let mut arrived = 0;
    advance(&mut network, end, |_, _| arrived += 1);
    assert_eq!(counters(&mut network, end).timeouts, 0, "the timer is no part of the form");
    arrived
}

/// Selective repeat, ideal window: each transmission that arrives is a packet, eta = 1 - p. With n
/// transmissions, the number is binomial.
#[test]
fn throughput_of_selective_repeat_is_one_minus_the_per() {
    for per in PERS {
        let slots = 400_000;
        let repeat = Repeat::Selective { in_order: false };
        let found = arrivals(repeat, per, slots) as f64 / slots as f64;
        let error = (per * (1.0 - per) / slots as f64).sqrt();
        // The last round of the run holds packets that wait for nothing; one frame is at each edge.
        let edge = 2.0 / slots as f64;
        assert!((found - (1.0 - per)).abs() < 4.0 * error + edge, "PER {per}: {found}");
    }
}

/// Go-back-N: a packet takes X = 1 + sum of F rounds of K + G frame times. F is geometric, with
/// mean p / (1 - p): its failures as the oldest frame. K is the round trip. G, geometric too, is
/// the number of lost frames that follow at once and delay the discovery. So eta = 1 / (1 + p /
/// (1 - p) (K + p / (1 - p))), which without G is the form of Lin, Costello and Miller, (1 - p) /
/// (1 - p + p K). The number of arrivals is a renewal process, with variance n Var(X) / E(X)^3.
#[test]
fn throughput_of_go_back_n_is_that_of_its_rounds() {
    for per in PERS {
        let slots = 400_000;
        let found = arrivals(Repeat::GoBackN, per, slots) as f64 / slots as f64;
        let (odds, spread) = (per / (1.0 - per), per / (1.0 - per).powi(2));
        let cost = round(DELAY) + odds;
        let mean = 1.0 + odds * cost;
        let variance = odds * spread + spread * cost * cost;
        let error = (variance / mean.powi(3) / slots as f64).sqrt();
        let edge = (round(DELAY) + 2.0) / mean / slots as f64;
        assert!(
            (found - 1.0 / mean).abs() < 4.0 * error + edge,
            "PER {per}: {found}, {}",
            1.0 / mean
        );
    }
}

/// A packet is given up after N + 1 lost transmissions: with probability p^(N + 1).
#[test]
fn residual_loss_is_the_per_to_the_power_of_the_transmissions() {
    let repeats = [Repeat::GoBackN, Repeat::Selective { in_order: true }];
    for repeat in repeats.into_iter().chain([Repeat::Selective { in_order: false }]) {
        for (per, persistence) in [
            (1e-4, 0),
            (1e-3, 0),
            (1e-2, 0),
            (1e-2, 1),
            (0.03, 1),
            (0.1, 1),
            (0.1, 2),
            (0.2, 2),
            (0.2, 3),
            (0.3, 1),
        ] {
            let (packets, delay) = (200_000_u32, Span::from_nanos(20_123));
            let mut network = link(arq(repeat, persistence, Span::from_secs(1)), per, delay, 5);
            for body in 0..packets {
                network.send(Time::ZERO, NodeId(0), packet(body));
            }
            let (mut arrived, end) = (0, Time::ZERO + Span::from_secs(100));
            advance(&mut network, end, |_, _| arrived += 1);
            let counters = counters(&mut network, end);
            assert_eq!(counters.given_up_packets, u64::from(packets) - arrived);
            assert_eq!(counters.frames, u64::from(packets));
            let loss = per.powf(f64::from(persistence) + 1.0);
            let found = 1.0 - arrived as f64 / f64::from(packets);
            let error = (loss * (1.0 - loss) / f64::from(packets)).sqrt();
            assert!(
                (found - loss).abs() < 4.0 * error,
                "{repeat:?}, PER {per}, {persistence}: {found}"
            );
            if repeat != Repeat::GoBackN {
                assert_repeats(&counters, per, persistence);
            }
        }
    }
}

/// Selective repeat: the k-th repeat follows k lost transmissions, so that a packet has p + p^2 +
/// ... + p^N of them. The empty frames of given-up packets are none of these: p^(N + 1) / (1 - p)
/// for each packet.
fn assert_repeats(counters: &ArqCounters, per: f64, persistence: u32) {
    let packets = counters.frames as f64;
    let per_packet = |lost: u32| per.powi(lost.try_into().unwrap());
    let (mut mean, mut square) = (0.0, 0.0);
    for repeat in 1..=persistence {
        mean += per_packet(repeat);
        square += f64::from(2 * repeat - 1) * per_packet(repeat);
    }
    let found = counters.repeated_frames as f64 / packets;
    let error = ((square - mean * mean) / packets).sqrt();
    assert!((found - mean).abs() <= 4.0 * error, "PER {per}, {persistence}: {found}, {mean}");
    let skips = per_packet(persistence + 1) / (1.0 - per);
    let found = counters.skip_frames as f64 / packets;
    let error = (skips * (1.0 + per) / (1.0 - per) / packets).sqrt();
    assert!((found - skips).abs() <= 4.0 * error, "PER {per}, {persistence}: {found}, {skips}");
}

/// Extra delays in seconds of packets that are sent `gap` apart, over that of a packet without
/// loss, in the order of packets.
fn delays(arq: ArqSettings, per: f64, delay: Span, gap: Span, packets: u32) -> Vec<f64> {
    let mut network = link(arq, per, delay, 3);
    let sent = |body: u32| Time::ZERO + Span::from_nanos(gap.as_nanos() * u64::from(body));
    let mut extra = vec![f64::NAN; packets as usize];
    let mut look = |at: Time, body: u32| {
        let usual = sent(body) + FRAME + delay;
        extra[body as usize] = at.since(usual).as_secs_f64();
    };
    for body in 0..packets {
        advance(&mut network, sent(body), &mut look);
        network.send(sent(body), NodeId(0), packet(body));
    }
    advance(&mut network, Time::ZERO + Span::from_secs(1_000_000), &mut look);
    assert!(extra.iter().all(|extra| extra.is_finite()), "a packet did not arrive");
    extra
}

/// The mean, and its standard error from the means of 40 batches: neighbours wait for the same
/// frame.
fn mean(values: &[f64]) -> (f64, f64) {
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let batches: Vec<_> = values.chunks(values.len() / 40).map(average).collect();
    let all = average(&batches);
    let variance = batches.iter().map(|batch| (batch - all).powi(2)).sum::<f64>();
    (all, (variance / 39.0 / 40.0).sqrt())
}

/// Time from the start of a lost transmission to its repeat, if another frame arrives `gap` later.
fn repeat_after(delay: Span, gap: Span) -> f64 {
    let whole = FRAME + status_time() + delay + delay;
    whole.as_secs_f64() + gap.as_secs_f64()
}

const GAP: Span = Span::from_nanos(100_000);
const FAR: Span = Span::from_nanos(20_037_000);

/// Selective repeat out of order: a packet is repeated F times, F geometric, so the mean delay is R
/// p / (1 - p). R ends when the answer to the next frame that arrives is there: with frames `GAP`
/// apart, between none and `GAP` / (1 - p) after the lost one, as repeats of others arrive in
/// between.
#[test]
fn mean_delay_of_selective_repeat_is_a_round_trip_for_each_repeat() {
    for per in PERS {
        let repeat = Repeat::Selective { in_order: false };
        let extra = delays(arq(repeat, FOREVER, Span::from_secs(9)), per, FAR, GAP, 400_000);
        let (found, error) = mean(&extra);
        let repeats = per / (1.0 - per);
        let longest = Span::from_secs_f64(GAP.as_secs_f64() / (1.0 - per));
        let [least, most] = [Span::ZERO, longest].map(|gap| repeats * repeat_after(FAR, gap));
        // Repeats of one answer are sent one after the other.
        let most = most * 1.001;
        let (low, high) = (least - 4.0 * error, most + 4.0 * error);
        assert!((low..high).contains(&found), "PER {per}: {found}, not {least} to {most}");
    }
}

/// Selective repeat in order: packet n also waits for those before it. It leaves when all have
/// arrived, so P(D <= x) is the product over k of P(F R <= x + k g), which is 1 - p^(floor((x + k
/// g) / R) + 1). The mean is the integral of 1 - P(D <= x).
#[test]
fn mean_delay_in_order_is_that_of_the_slowest_before() {
    for per in PERS {
        let repeat = Repeat::Selective { in_order: true };
        let extra = delays(arq(repeat, FOREVER, Span::from_secs(9)), per, FAR, GAP, 400_000);
        let (found, error) = mean(&extra);
        let expected = |round: f64| {
            let (gap, steps) = (GAP.as_secs_f64(), 200);
            let step = round / f64::from(steps);
            let tail = |number: i32| {
                let x = (f64::from(number) + 0.5) * step;
                let within = |k: i32| {
                    let rounds = ((x + f64::from(k) * gap) / round).floor() + 1.0;
                    (-per.powf(rounds)).ln_1p()
                };
                -(0..40_000).map(within).take_while(|log| *log < -1e-14).sum::<f64>().exp_m1()
            };
            (0..).map(tail).take_while(|tail| *tail > 1e-9).sum::<f64>() * step
        };
        let longest = Span::from_secs_f64(GAP.as_secs_f64() / (1.0 - per));
        let [least, most] = [Span::ZERO, longest].map(|gap| expected(repeat_after(FAR, gap)));
        let (low, high) = (least - 4.0 * error, most * 1.001 + 4.0 * error);
        assert!((low..high).contains(&found), "PER {per}: {found}, not {least} to {most}");
    }
}

/// A frame before a silence has only the timer: the mean delay is (T + frame time) p / (1 - p).
#[test]
fn mean_delay_of_lone_frames_is_a_timer_for_each_repeat() {
    for repeat in [Repeat::GoBackN, Repeat::Selective { in_order: true }] {
        for per in PERS {
            let (timer, delay) = (Span::from_nanos(1_100_000), Span::from_nanos(500_000));
            let gap = Span::from_millis(100);
            let extra = delays(arq(repeat, FOREVER, timer), per, delay, gap, 200_000);
            let (found, error) = mean(&extra);
            let expected = (timer + FRAME).as_secs_f64() * per / (1.0 - per);
            assert!(
                (found - expected).abs() < 4.0 * error,
                "{repeat:?}, PER {per}: {found}, {expected}"
            );
        }
    }
}
