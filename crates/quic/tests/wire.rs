//! Two ends over a wire with delay, a rate, a queue and losses.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod logs;
mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use congestion::Specification;
use quic::{Choice, Config, Connection, Datagram, Settings};
use transport::{AbortCause, Endpoint, Exchange, Streams};
use units::{Bytes, Span, Time};

#[path = "wire/relayed.rs"]
mod relayed;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// One direction: packets leave one after the other, and some are lost.
struct Direction {
    rate: u64,
    queue: u64,
    free_at: Time,
    /// One packet of this many is lost, at random.
    loss: Option<u64>,
    random: u64,
    dropped: u64,
    /// Packets that are still to pass until one is lost.
    until_loss: Option<u32>,
}

impl Direction {
    fn departs(&mut self, now: Time, bytes: u64) -> Option<Time> {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let chosen = self.until_loss == Some(0);
        self.until_loss = self.until_loss.and_then(|packets| packets.checked_sub(1));
        let lost =
            chosen || self.loss.is_some_and(|one_in| (self.random >> 33).is_multiple_of(one_in));
        let waiting = self.free_at.since(now).as_secs_f64() * self.rate as f64 / 8.0;
        if lost || waiting > self.queue as f64 {
            self.dropped += 1;
            return None;
        }
        let took = Span::from_nanos(bytes * 8 * 1_000_000_000 / self.rate);
        self.free_at = self.free_at.max(now) + took;
        Some(self.free_at)
    }
}

struct Wire {
    ends: [Connection; 2],
    directions: [Direction; 2],
    delay: Span,
    now: Time,
    /// Packets on their way: by time and number, with the end that they go to.
    flying: BTreeMap<(Time, u64), (usize, Datagram)>,
    number: u64,
    /// When which packet of which length left which end.
    log: Vec<(Time, usize, usize)>,
    /// True if a run goes on when an end has failed.
    goes_on: bool,
}

impl Wire {
    fn new(config: Config, seed: u64, loss: Option<u64>) -> Self {
        let config = Arc::new(config);
        let ends = [0, 1].map(|offset| Connection::new(config.clone(), 2 * seed + offset));
        Self::of(ends, seed, loss)
    }

    fn of(mut ends: [Connection; 2], seed: u64, loss: Option<u64>) -> Self {
        ends[SERVER].listen();
        ends[CLIENT].connect();
        let direction = |random| Direction {
            rate: 10_000_000,
            queue: 750_000,
            free_at: Time::ZERO,
            loss,
            random,
            dropped: 0,
            until_loss: None,
        };
        Self {
            ends,
            directions: [direction(seed), direction(seed + 77)],
            delay: Span::from_millis(300),
            now: Time::ZERO,
            flying: BTreeMap::new(),
            number: 0,
            log: Vec::new(),
            goes_on: false,
        }
    }

    fn flush(&mut self) {
        for from in [CLIENT, SERVER] {
            while self.ends[from].may_send()
                && let Some(datagram) = self.ends[from].next_packet(self.now)
            {
                let bytes = datagram.bytes.len();
                self.log.push((self.now, from, bytes));
                let departs = self.directions[from].departs(self.now, bytes as u64 + 28);
                if let Some(at) = departs {
                    self.number += 1;
                    self.flying.insert((at + self.delay, self.number), (1 - from, datagram));
                }
            }
        }
    }

    /// Runs until the end `to` has `bytes`, or one has failed, or the time is over.
    fn run(&mut self, to: usize, bytes: u64) {
        let end = Time::ZERO + Span::from_secs(3_000);
        self.run_until(end, |ends, _| ends[to].delivered() >= bytes);
        assert!(self.now < end, "{} of {bytes} bytes", self.ends[to].delivered());
    }

    /// Runs until `is_done`, or one end has failed, or the time is over. Is asked after each step.
    fn run_until(
        &mut self,
        end: Time,
        mut is_done: impl FnMut(&mut [Connection; 2], Time) -> bool,
    ) {
        loop {
            self.flush();
            let failed = self.ends.iter().any(|end| end.abort_cause().is_some());
            if (failed && !self.goes_on) || is_done(&mut self.ends, self.now) {
                return;
            }
            self.flush();
            let arrival = self.flying.keys().next().map_or(Time::NEVER, |(at, _)| *at);
            let deadline = self.ends.iter().map(Endpoint::deadline).min().unwrap();
            let next = arrival.min(deadline);
            self.now = self.now.max(next.min(end));
            if next > end {
                return;
            }
            if arrival <= deadline {
                let (_, (to, datagram)) = self.flying.pop_first().unwrap();
                self.ends[to].on_packet(self.now, &datagram);
            } else {
                let now = self.now;
                self.ends
                    .iter_mut()
                    .filter(|e| e.deadline() <= now)
                    .for_each(|e| e.on_deadline(now));
            }
        }
    }

    fn seconds(&self) -> f64 {
        self.now.since(Time::ZERO).as_secs_f64()
    }
}

fn wide() -> Settings {
    Settings {
        stream_receive_window: Bytes(8_000_000),
        send_window: Bytes(8_000_000),
        ..Settings::default()
    }
}

fn laboratory(name: &str) -> Choice {
    Choice::Laboratory(Specification::named(name).unwrap())
}

fn config(settings: Settings, choice: Choice) -> Config {
    Config::new(settings, choice, None).unwrap()
}

#[test]
fn both_ends_get_exactly_the_bytes_that_the_other_wrote() {
    for choice in [Choice::NewReno, Choice::Cubic, laboratory("hybla")] {
        for loss in [None, Some(50)] {
            let mut wire = Wire::new(config(wide(), choice.clone()), 7, loss);
            wire.ends[CLIENT].write(1_000);
            wire.ends[SERVER].write(1_000_000);
            wire.ends[SERVER].close();
            wire.run(CLIENT, 1_000_000);
            wire.run(SERVER, 1_000);
            let delivered = [CLIENT, SERVER].map(|end| wire.ends[end].delivered());
            assert_eq!(delivered, [1_000_000, 1_000], "{choice:?} with {loss:?}");
            let lost = wire.ends[SERVER].counters().retransmissions;
            let dropped = wire.directions[SERVER].dropped;
            assert_eq!(lost > 0, dropped > 0, "{lost} of {dropped}");
        }
    }
}

/// Lengths and times of all packets are those of the seed, although the keys of TLS are random.
/// The n-th packet of each end is lost: of the handshake, of the data and of the acknowledgements.
#[test]
fn the_loss_of_any_packet_is_repaired() {
    for by in [CLIENT, SERVER] {
        let mut lost = 0;
        for nth in 0..24 {
            let mut wire = Wire::new(config(wide(), Choice::NewReno), 3, None);
            wire.directions[by].until_loss = Some(nth);
            for end in [CLIENT, SERVER] {
                wire.ends[end].write(20_000);
            }
            wire.run(CLIENT, 20_000);
            wire.run(SERVER, 20_000);
            let delivered = [CLIENT, SERVER].map(|end| wire.ends[end].delivered());
            assert_eq!(delivered, [20_000; 2], "packet {nth} of {by}");
            assert_eq!(wire.ends.each_ref().map(Endpoint::abort_cause), [None, None]);
            lost += wire.directions[by].dropped;
        }
        assert!(lost >= 18, "{by} sent {lost} packets");
    }
}

#[test]
fn a_seed_gives_the_same_packets_at_the_same_times() {
    let log = |seed| {
        let mut wire = Wire::new(config(wide(), laboratory("bbr")), seed, Some(100));
        wire.ends[SERVER].write(500_000);
        wire.run(CLIENT, 500_000);
        wire.log
    };
    let first = log(3);
    assert_eq!(first, log(3));
    assert_ne!(first, log(4));
    let ends = [CLIENT, SERVER].map(|from| first.iter().filter(|(_, by, _)| *by == from).count());
    assert!(ends[CLIENT] > 100 && ends[SERVER] > 300, "{ends:?}");
}

/// RFC 9000 section 14.1: a client's first datagram has 1200 bytes or more. The transfer begins
/// after the handshake, 1.2 s for the server's first data at the client.
#[test]
fn the_handshake_takes_a_round_trip() {
    let mut wire = Wire::new(config(wide(), Choice::Cubic), 1, None);
    wire.ends[SERVER].write(1);
    wire.flush();
    assert_eq!(wire.log[0].2, 1200);
    wire.run(CLIENT, 1);
    let seconds = wire.seconds();
    assert!((1.2..1.25).contains(&seconds), "{seconds}");
}

/// quinn's default window of a stream is 1.25 MB, which 16.7 Mbit/s fill at 600 ms. Credit returns
/// later: another driver of the same quinn took 59.0 s for 100 MB over 250 and 10 Mbit/s, 13.6
/// Mbit/s.
#[test]
fn quinns_default_window_limits_the_rate_on_a_geo_path() {
    let mut wire = Wire::new(config(Settings::default(), Choice::Cubic), 1, None);
    for (direction, rate) in wire.directions.iter_mut().zip([10_000_000, 250_000_000]) {
        direction.rate = rate;
        direction.queue = rate * 3 / 40;
    }
    wire.ends[SERVER].write(100_000_000);
    wire.run(CLIENT, 100_000_000);
    let rate = 800.0 / wire.seconds();
    assert!((13.4..13.8).contains(&rate), "{rate} Mbit/s");
    let rtt = wire.ends[SERVER].rtt_samples().summary(0).unwrap();
    assert!((0.6e9..0.65e9).contains(&rtt.mean), "{rtt:?}");
}

/// The receiver acknowledges each second packet, or each eleventh if the sender asks for it.
#[test]
fn the_ack_threshold_makes_acks_rarer() {
    let acks = |ack_threshold| {
        let settings = Settings { ack_threshold, ..wide() };
        let mut wire = Wire::new(config(settings, Choice::Cubic), 1, None);
        wire.ends[SERVER].write(2_000_000);
        wire.run(CLIENT, 2_000_000);
        wire.ends[CLIENT].statistics().acks_sent
    };
    let (usual, rare) = (acks(None), acks(Some(10)));
    assert!(rare * 3 < usual, "{rare} and {usual} ACKs");
}

#[test]
fn silence_ends_a_connection_after_the_idle_timeout() {
    let mut wire = Wire::new(config(wide(), Choice::Cubic), 1, None);
    wire.ends[SERVER].write(100_000_000);
    wire.run(CLIENT, 1_000_000);
    wire.directions.iter_mut().for_each(|direction| direction.loss = Some(1));
    let broken = wire.seconds();
    wire.run(CLIENT, 100_000_000);
    let causes = wire.ends.each_ref().map(|end| end.abort_cause());
    assert!(causes.contains(&Some(AbortCause::IdleTimeout)), "{causes:?}");
    let silent = wire.seconds() - broken;
    assert!((29.0..40.0).contains(&silent), "{silent}");
}

/// A packet that was changed on its way is as good as lost.
#[test]
fn a_corrupted_packet_is_not_delivered() {
    let mut wire = Wire::new(config(wide(), Choice::Cubic), 1, None);
    wire.ends[SERVER].write(300_000);
    wire.run(CLIENT, 100_000);
    for (_, datagram) in wire.flying.values_mut() {
        *datagram.bytes.last_mut().unwrap() ^= 1;
    }
    wire.run(CLIENT, 300_000);
    assert_eq!(wire.ends[CLIENT].delivered(), 300_000);
    assert!(wire.ends[SERVER].counters().retransmissions > 0);
}

/// A server that answers all requests with `bytes`, until the client has `answers` of them. Returns
/// them with the time of their arrival.
fn serve(wire: &mut Wire, bytes: u64, answers: usize) -> Vec<(Exchange, Time)> {
    let mut arrived = Vec::new();
    while arrived.len() < answers {
        wire.run_until(Time::ZERO + Span::from_secs(3_000), |ends, _| {
            ends.iter().any(Streams::has_arrived)
        });
        while let Some(exchange) = wire.ends[SERVER].take_arrived() {
            wire.ends[SERVER].answer(exchange, bytes);
        }
        let taken = std::iter::from_fn(|| wire.ends[CLIENT].take_arrived());
        arrived.extend(taken.map(|exchange| (exchange, wire.now)));
    }
    arrived
}

/// More requests than the 100 streams that quinn's server allows at a time.
#[test]
fn every_request_has_its_answer() {
    for loss in [None, Some(30)] {
        let mut wire = Wire::new(config(wide(), Choice::Cubic), 5, loss);
        for _ in 0..150 {
            wire.ends[CLIENT].ask(300);
        }
        let mut answered = serve(&mut wire, 3_000, 150);
        answered.sort();
        let numbers: Vec<_> = answered.iter().map(|(exchange, _)| exchange.0).collect();
        assert_eq!(numbers, (0..150).collect::<Vec<_>>());
        let delivered = [CLIENT, SERVER].map(|end| wire.ends[end].delivered());
        assert_eq!(delivered, [450_000, 45_000]);
        let lost = wire.directions.iter().map(|direction| direction.dropped).sum::<u64>();
        assert_eq!(lost > 0, loss.is_some());
    }
}

/// RFC 9000 section 2.2: streams are independent. One packet is lost of ten objects that are all on
/// their way. Over streams the objects arrive without it that have no byte in it; over one stream
/// those wait that come after it.
#[test]
fn a_loss_on_one_stream_does_not_delay_the_others() {
    let (objects, bytes) = (10, 20_000);
    // All objects fit the initial window, so that a smaller window after the loss delays nothing.
    let new = |until_loss| {
        let config = Config::new(wide(), Choice::NewReno, Some(2_000_000)).unwrap();
        let mut wire = Wire::new(config, 1, None);
        wire.directions[SERVER].until_loss = until_loss;
        wire
    };
    let over_streams = |until_loss| {
        let mut wire = new(until_loss);
        for _ in 0..objects {
            wire.ends[CLIENT].ask(300);
        }
        let mut arrived = serve(&mut wire, bytes, objects);
        arrived.sort();
        let times = arrived.into_iter().map(|(_, at)| at).collect::<Vec<_>>();
        (times, wire.directions[SERVER].dropped)
    };
    let over_one_stream = |until_loss| {
        let mut wire = new(until_loss);
        wire.ends[SERVER].write(objects as u64 * bytes);
        let times = (1..=objects as u64).map(|number| {
            wire.run(CLIENT, number * bytes);
            wire.now
        });
        (times.collect::<Vec<_>>(), wire.directions[SERVER].dropped)
    };
    let delayed = |[without, with]: [(Vec<Time>, u64); 2]| {
        assert_eq!((without.1, with.1), (0, 1));
        // At least by the round trip of the retransmission.
        let is_late = |(late, usual): (&Time, &Time)| late.since(*usual) > Span::from_millis(300);
        with.0.iter().zip(&without.0).filter(|pair| is_late(*pair)).count()
    };
    let of_streams = delayed([None, Some(40)].map(over_streams));
    let of_one_stream = delayed([None, Some(40)].map(over_one_stream));
    assert!((1..=2).contains(&of_streams), "{of_streams} objects are late");
    assert!(of_one_stream >= 7, "{of_one_stream} objects are late");
}

/// A connection without open requests may end at any time, and that is no failure. A client that
/// needs it no longer closes it (RFC 9114 section 5.2).
#[test]
fn a_connection_without_open_requests_ends_without_a_failure() {
    for closes in [false, true] {
        let mut wire = Wire::new(config(wide(), Choice::Cubic), 1, None);
        wire.ends[CLIENT].ask(300);
        serve(&mut wire, 1_000, 1);
        assert!(wire.ends[CLIENT].is_open());
        let answered = wire.now;
        if closes {
            wire.ends[CLIENT].close();
        }
        let is_over = |ends: &mut [Connection; 2], _| ends.iter().all(|end| !end.is_open());
        wire.run_until(Time::ZERO + Span::from_secs(100), is_over);
        let silence = wire.now.since(answered).as_secs_f64();
        // The search for the path MTU goes on for some round trips after the answer.
        let expected = if closes { 0.3..0.31 } else { 29.0..34.0 };
        assert!(expected.contains(&silence), "{silence} s");
        assert_eq!(wire.ends.each_ref().map(Endpoint::abort_cause), [None, None]);
    }
}

/// RFC 9001 section 4.6: with 0-RTT the first packets have the request, and its answer arrives
/// after one round trip. The address token lets the server send more than three times the bytes of
/// the first flight (RFC 9000 section 8.1).
#[test]
fn zero_rtt_saves_a_round_trip() {
    let time = |zero_rtt, answer: u64| {
        let settings = Settings { zero_rtt, ..wide() };
        let config = Config::new(settings, Choice::NewReno, Some(1_000_000)).unwrap();
        let mut wire = Wire::new(config, 1, None);
        wire.ends[CLIENT].ask(300);
        serve(&mut wire, answer, 1);
        wire.seconds()
    };
    for answer in [1_000, 50_000] {
        let [with, without] = [true, false].map(|zero_rtt| time(zero_rtt, answer));
        // 10 Mbit/s, and some kilobytes of handshake.
        let sent = answer as f64 * 8.0 / 10e6;
        let spent = with - 0.6 - sent;
        assert!((0.0..0.02).contains(&spent), "{with} s for {answer} bytes");
        assert!((without - with - 0.6).abs() < 0.02, "{with} and {without} s for {answer} bytes");
    }
}

/// Counts the probe timeouts that quinn writes to its log.
struct Log(Arc<AtomicU32>);

impl tracing::field::Visit for Log {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let is_one = field.name() == "message" && format!("{value:?}") == "PTO fired";
        self.0.fetch_add(u32::from(is_one), Ordering::Relaxed);
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("quinn_proto")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Self(self.0.clone()));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// The probe timeouts of both ends that are counted, and those of quinn's log.
fn probe_timeouts(settings: Settings, case: u64) -> (u32, u32) {
    let logged = Arc::new(AtomicU32::new(0));
    let wire = tracing::subscriber::with_default(Log(logged.clone()), || {
        let loss = (case >= 8).then_some(4);
        let mut wire = Wire::new(config(settings, laboratory("cubic")), 1 + case, loss);
        let lost = u32::try_from(case / 2).unwrap();
        match case {
            0 => {}
            1 => wire.delay = Span::from_millis(800),
            8..10 => {}
            _ => wire.directions[usize::from(case.is_multiple_of(2))].until_loss = Some(lost),
        }
        wire.ends[SERVER].write(200_000);
        wire.run(CLIENT, 150_000);
        // An outage of two seconds.
        wire.flying.clear();
        wire.now += Span::from_secs(2);
        wire.run(CLIENT, 200_000);
        wire
    });
    let counted = wire.ends.iter().map(|end| end.counters().timeouts).sum();
    (counted, logged.load(Ordering::Relaxed))
}

/// The count is that of quinn's own log: without losses, with lost packets of the handshake, with
/// losses at random, with an RTT above the first timeout, with an outage, and with 0-RTT.
#[test]
fn probe_timeouts_are_those_of_quinns_log() {
    // Other tests of this process may meet a line of the log for the first time while the first
    // subscriber is made, which then does not get it. The next subscriber does.
    let _ = probe_timeouts(wide(), 0);
    let mut found = Vec::new();
    for (zero_rtt, ack_threshold) in [(false, None), (true, None), (false, Some(10))] {
        let settings = Settings { zero_rtt, ack_threshold, ..wide() };
        for case in 0..10 {
            let (counted, logged) = probe_timeouts(settings, case);
            found.push((zero_rtt, ack_threshold, case, counted, logged));
        }
    }
    let differ: Vec<_> = found.iter().filter(|(.., counted, logged)| counted != logged).collect();
    assert!(differ.is_empty(), "{differ:?} of {found:?}");
    assert!(found.iter().all(|(.., logged)| *logged > 0), "{found:?}");
    assert!(found.iter().any(|(.., logged)| *logged > 4), "{found:?}");
}

/// draft-ietf-quic-ack-frequency: the sender asks for fewer ACKs, and its probes for ACKs at once.
#[test]
fn statistics_count_frames_of_the_ack_frequency_extension() {
    let [plain, fewer] = [None, Some(10)].map(|ack_threshold| {
        let settings = Settings { ack_threshold, ..wide() };
        let mut wire = Wire::new(config(settings, Choice::Cubic), 1, None);
        wire.ends[SERVER].write(1_000_000);
        wire.run(CLIENT, 1_000_000);
        let of = |end: usize| wire.ends[end].statistics();
        assert!(of(SERVER).mtu_probes > 0 && of(SERVER).mtu > 1200, "{:?}", of(SERVER));
        assert_eq!((of(SERVER).black_holes, of(SERVER).persistent_congestions), (0, 0));
        (of(SERVER).ack_frequency_sent, of(SERVER).immediate_acks_sent, of(CLIENT).acks_sent)
    });
    assert_eq!(plain.0, 0);
    assert!(fewer.0 > 0, "{fewer:?}");
    // Each probe of the path MTU has one.
    assert!(plain.1 > 0 && fewer.1 > 0, "{plain:?} {fewer:?}");
    assert!(2 * fewer.2 < plain.2, "{plain:?} {fewer:?}");
}

/// Streams of the server's side, and losses of the first flight.
#[test]
fn zero_rtt_delivers_all_bytes_and_depends_on_the_seed_only() {
    let settings = Settings { zero_rtt: true, ..wide() };
    let log = |seed, lost| {
        let mut wire = Wire::new(config(settings, Choice::Cubic), seed, Some(40));
        wire.directions[CLIENT].until_loss = lost;
        wire.ends[CLIENT].write(20_000);
        wire.ends[SERVER].write(200_000);
        wire.run(CLIENT, 200_000);
        wire.run(SERVER, 20_000);
        wire.log
    };
    for lost in [None, Some(0), Some(1), Some(2)] {
        assert_eq!(log(1, lost), log(1, lost));
    }
    assert_ne!(log(1, None), log(2, None));
}
