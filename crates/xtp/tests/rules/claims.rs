//! XTP without congestion control over a bottleneck with a queue in each direction and data packets
//! that are corrupted at random: an explicit rate is kept at every error rate and round-trip time,
//! and little traffic returns. Going back N, each loss costs a round trip of data.

use transport::Endpoint;
use units::{Bytes, Rate, Span, Time};
use xtp::{Config, Kind, Retransmission};

use crate::wire::{A, B, Fate, Sent, Wire, connection};

const IP: u64 = 20;
const MSS: u32 = 1448;
/// Of a full packet with its header and that of IP, the payload.
const SHARE: f64 = 1448.0 / 1500.0;

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

/// Data behind a gap may wait for two seconds at both ends of the measurement, which are 0.4 %.
const SECONDS: u64 = 610;

fn run(channel: Channel, rate: u64, retransmission: Retransmission) -> Outcome {
    let config = Config {
        rate: Some(Rate::from_bits_per_second(rate)),
        mss: MSS,
        receive_buffer: Bytes(4 << 20),
        retransmission,
        ..Config::default()
    };
    let mut wire = Wire::of([connection(&config), connection(&config)]).scripted(link(channel));
    wire.delay = channel.delay;
    wire.ends[A].write(1 << 40);
    let mut wire = wire.open();
    wire.run_until(Time::ZERO + Span::from_secs(10));
    let (before, sent) = (wire.ends[B].delivered(), wire.log.len());
    wire.run_until(Time::ZERO + Span::from_secs(SECONDS));
    assert_eq!(wire.ends[A].abort_cause(), None);
    assert_eq!(wire.ends[A].sent().handshakes, 0, "no report was missed");
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

const RATE: u64 = 1_960_000;

#[test]
fn an_explicit_rate_delivers_all_but_the_corrupted_packets_at_every_error_rate() {
    for error_rate in [0.0, 1e-5, 1e-4, 1e-3, 1e-2] {
        let outcome = run(Channel { error_rate, ..GEO }, RATE, Retransmission::Selective);
        let expected = RATE as f64 * SHARE * (1.0 - error_rate);
        let measured = outcome.goodput;
        assert!(
            (measured / expected - 1.0).abs() < 0.005,
            "{measured} of {expected} at {error_rate}"
        );
    }
}

#[test]
fn throughput_does_not_depend_on_the_round_trip_time() {
    let of = |delay| {
        let channel = Channel { delay: Span::from_millis(delay), error_rate: 1e-3, ..GEO };
        run(channel, RATE, Retransmission::Selective).goodput
    };
    let (near, far) = (of(5), of(600));
    assert!((far / near - 1.0).abs() < 0.005, "{near} and {far} bit/s");
}

/// A TCP that acknowledges every second segment of 1460 bytes, at the rate of 2 Mbit/s, returns 83
/// ACKs of 52 bytes in a second: 35 kbit/s, of which 16 kbit/s carry less than half.
#[test]
fn sixteen_kilobits_are_enough_for_the_reports_of_two_megabits() {
    for error_rate in [0.0, 1e-3, 1e-2] {
        let channel = Channel { backward: 16_000, error_rate, ..GEO };
        let outcome = run(channel, RATE, Retransmission::Selective);
        let expected = RATE as f64 * SHARE * (1.0 - error_rate);
        let Outcome { goodput, returned, reports } = outcome;
        assert!(
            (goodput / expected - 1.0).abs() < 0.005,
            "{goodput} of {expected} at {error_rate}"
        );
        assert!(returned < 6_000.0, "{returned} bit/s at {error_rate}");
        // One in a round trip, and one for each gap.
        let gaps = RATE as f64 / 12_000.0 * error_rate;
        assert!((1.8..2.1 + gaps).contains(&reports), "{reports} per second at {error_rate}");
    }
}

#[test]
fn going_back_n_each_loss_costs_a_round_trip_of_data() {
    for error_rate in [1e-4, 1e-3, 1e-2] {
        let channel = Channel { error_rate, ..GEO };
        let [selective, back] = [Retransmission::Selective, Retransmission::GoBackN]
            .map(|retransmission| run(channel, RATE, retransmission).goodput);
        // A round trip has 82 packets. The share that is of use, if losses are independent:
        let share = 1.0 / (1.0 + 82.0 * error_rate / (1.0 - error_rate));
        let measured = back / selective;
        assert!(measured < 1.05 * share, "{measured} of {share} at {error_rate}");
        assert!(measured > 0.6 * share, "{measured} of {share} at {error_rate}");
    }
}
