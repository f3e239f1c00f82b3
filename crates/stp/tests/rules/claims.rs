//! Claims of the authors of STP, over a bottleneck with a queue in each direction and packets that
//! are corrupted at random: throughput does not depend on the RTT, little traffic returns, and an
//! explicit rate holds at a severe error rate.

use stp::{Config, Kind};
use transport::Endpoint;
use units::{Bytes, Rate, Span, Time};

use crate::wire::{A, B, Fate, Sent, Wire, connection};

const IP: u64 = 20;

/// A channel: rates in bit/s, one-way delay, and the probability that a data packet is corrupted.
#[derive(Clone, Copy)]
struct Channel {
    forward: u64,
    backward: u64,
    delay: Span,
    error_rate: f64,
}

/// Measurements between 10 s and the end.
struct Outcome {
    goodput: f64,
    /// Bits per second that return, with the headers of IP.
    returned: f64,
    reports: f64,
}

/// The queues are without limit, as the rate of the sender is below that of the channel.
fn link(channel: Channel) -> impl FnMut(&Sent) -> Fate {
    let mut free = [Time::ZERO; 2];
    let mut state: u64 = 1;
    move |sent| {
        let rate = [channel.forward, channel.backward][sent.by];
        let bits = 8 * (u64::from(sent.packet.bytes()) + IP);
        let start = free[sent.by].max(sent.at);
        free[sent.by] = start + Span::from_secs_f64(bits as f64 / rate as f64);
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_corrupted = (state >> 11) as f64 / ((1u64 << 53) as f64) < channel.error_rate;
        if is_corrupted && sent.packet.kind == Kind::Data {
            return Fate::Lost;
        }
        Fate::Late(free[sent.by].since(sent.at))
    }
}

const SECONDS: u64 = 130;

fn run(channel: Channel, rate: u64) -> Outcome {
    let config = Config {
        rate: Some(Rate::from_bits_per_second(rate)),
        mss: 1464,
        receive_buffer: Bytes(4 << 20),
        ..Config::default()
    };
    let ends = [1, 2].map(|initial| connection(&config, "newreno", initial));
    let mut wire = Wire::of(ends).scripted(link(channel));
    wire.delay = channel.delay;
    wire.ends[A].write(1 << 40);
    let mut wire = wire.open();
    wire.run_until(Time::ZERO + Span::from_secs(10));
    let (before, sent) = (wire.ends[B].delivered(), wire.log.len());
    wire.run_until(Time::ZERO + Span::from_secs(SECONDS));
    assert_eq!(wire.ends[A].abort_cause(), None);
    let seconds = (SECONDS - 10) as f64;
    let back: Vec<_> = wire.log[sent..].iter().filter(|sent| sent.by == B).collect();
    let bytes: u64 = back.iter().map(|sent| u64::from(sent.packet.bytes()) + IP).sum();
    Outcome {
        goodput: 8.0 * (wire.ends[B].delivered() - before) as f64 / seconds,
        returned: 8.0 * bytes as f64 / seconds,
        reports: back.len() as f64 / seconds,
    }
}

const GEO: Channel = Channel {
    forward: 2_000_000,
    backward: 256_000,
    delay: Span::from_millis(250),
    error_rate: 0.0,
};

#[test]
fn throughput_does_not_depend_on_the_round_trip_time() {
    for error_rate in [0.0, 1e-3] {
        let of =
            |delay| run(Channel { delay: Span::from_millis(delay), error_rate, ..GEO }, 1_960_000);
        let [near, far] = [of(5), of(600)].map(|outcome| outcome.goodput);
        assert!((far / near - 1.0).abs() < 0.003, "{near} and {far} bit/s at {error_rate}");
    }
}

#[test]
fn an_explicit_rate_delivers_all_but_the_corrupted_packets_at_every_error_rate() {
    for error_rate in [0.0, 1e-5, 1e-4, 1e-3, 1e-2] {
        let outcome = run(Channel { error_rate, ..GEO }, 1_960_000);
        // Of 25 packets one has a POLL. IP has 20 bytes, and STP 12 or 16.
        let expected = 1_960_000.0 * 1464.0 / 1496.16 * (1.0 - error_rate);
        let measured = outcome.goodput;
        assert!(
            (measured / expected - 1.0).abs() < 0.003,
            "{measured} of {expected} at {error_rate}"
        );
    }
}

/// A TCP that acknowledges every second segment of 1460 bytes, at the rate of 2 Mbit/s, returns 83
/// ACKs of 52 bytes in a second: 35 kbit/s.
#[test]
fn little_traffic_returns_and_it_grows_with_the_losses() {
    let [none, few, many] =
        [0.0, 1e-3, 1e-2].map(|error_rate| run(Channel { error_rate, ..GEO }, 1_960_000));
    assert!(none.returned < 35_000.0 / 10.0, "{} bit/s", none.returned);
    assert!((none.reports - 6.5).abs() < 0.2, "{} per second", none.reports);
    assert!(few.returned > none.returned && many.returned > few.returned);
    assert!(many.returned < 35_000.0 / 2.0, "{} bit/s", many.returned);
}

/// 250 kbit/s are 21 packets in a second. A TCP with an ACK for two of them returns 4.3 kbit/s.
#[test]
fn sixteen_kilobits_are_enough_for_the_reports_of_256() {
    for error_rate in [0.0, 1e-3, 1e-2] {
        let channel = Channel { forward: 256_000, backward: 16_000, error_rate, ..GEO };
        let outcome = run(channel, 250_000);
        let expected = 250_000.0 * 1464.0 / 1496.16 * (1.0 - error_rate);
        assert!(outcome.returned < 3_000.0, "{} bit/s at {error_rate}", outcome.returned);
        let measured = outcome.goodput;
        assert!(
            (measured / expected - 1.0).abs() < 0.003,
            "{measured} of {expected} at {error_rate}"
        );
    }
}
