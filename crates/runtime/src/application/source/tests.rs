use transport::{Datagrams, Streams};

use super::*;
use crate::Connections;
use crate::EndpointId;

/// A network that takes everything at once, and delivers it on a call.
#[derive(Default)]
struct Taker {
    writes: Vec<(Time, u64)>,
    now: Time,
    next: Time,
    wake_at: u64,
    delivered: u64,
    opened: u32,
}

impl Taker {
    fn written(&self) -> u64 {
        self.writes.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Connections for Taker {
    fn open(&mut self) -> Pair {
        self.opened += 1;
        Pair { sender: EndpointId(0), receiver: EndpointId(1) }
    }

    fn write(&mut self, endpoint: EndpointId, bytes: u64) {
        assert_eq!(endpoint, EndpointId(0));
        self.writes.push((self.now, bytes));
    }

    fn withdraw(&mut self, _: EndpointId) -> u64 {
        self.written()
    }

    fn close(&mut self, _: EndpointId) {}

    fn wake_at(&mut self, _: EndpointId, bytes: u64) {
        self.wake_at = bytes;
    }

    fn delivered(&self, _: EndpointId) -> u64 {
        self.delivered
    }

    fn streams(&mut self, _: EndpointId) -> Option<&mut dyn Streams> {
        None
    }

    fn window_restarts(&self, _endpoint: EndpointId) -> Option<u32> {
        None
    }

    fn open_datagrams(&mut self) -> Pair {
        unreachable!("a source looks up no name")
    }

    fn datagrams(&mut self, _endpoint: EndpointId) -> Option<&mut dyn Datagrams> {
        None
    }

    fn wake_application(&mut self, at: Time) {
        self.next = at;
    }
}

fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000)
}

/// Lets a source act, and returns what `act` does.
fn acting<T>(taker: &mut Taker, now: Time, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
    taker.now = now;
    let (pairs, lookups) = (&mut Vec::new(), &mut Vec::new());
    act(&mut Context { now, connections: taker, pairs, lookups })
}

/// Bytes that a source writes up to `end`, woken at exactly the times that it gives.
fn run(source: &mut Source, end: Span) -> Taker {
    let mut taker = Taker { wake_at: u64::MAX, ..Taker::default() };
    while taker.next <= Time::ZERO + end {
        let now = taker.next;
        acting(&mut taker, now, |context| source.on_timer(context));
    }
    taker
}

fn bursts(on: Span, off: Span, distribution: Distribution, seed: u64) -> Source {
    Source::on_off(mbit(2), Bytes(1000), OnOff { on, off, distribution }, 3, &Seed::new(seed))
}

#[test]
fn a_constant_source_writes_each_message_when_it_is_due_without_drift() {
    // 1 / 3 ms are no whole number of nanoseconds.
    let mut source = Source::constant(mbit(3), Bytes(125));
    let taker = run(&mut source, Span::from_secs(10));
    assert_eq!((taker.opened, taker.writes.len()), (1, 30_001));
    for (i, (at, bytes)) in taker.writes.iter().enumerate() {
        assert_eq!((at.as_nanos(), *bytes), (i as u64 * 1_000_000 / 3, 125));
    }
    assert_eq!(source.offered(), taker.written());
    assert_eq!(source.burst_completion_s(), None);
}

#[test]
fn a_late_clock_does_not_lower_the_rate() {
    let mut source = Source::constant(mbit(1), Bytes(125));
    let mut taker = Taker::default();
    while taker.next < Time::ZERO + Span::from_secs(1) {
        let late = taker.next + Span::from_millis(5);
        acting(&mut taker, late, |context| source.on_timer(context));
    }
    // The connection is opened late, and everything after it by as much.
    assert_eq!(taker.writes.len(), 995);
}

#[test]
fn bursts_of_constant_length_hold_exactly_what_their_rate_gives() {
    let (on, off) = (Span::from_millis(10), Span::from_millis(30));
    let taker = run(&mut bursts(on, off, Distribution::Constant, 1), Span::from_millis(49));
    // 2500 bytes in 10 ms, and the rest of a burst is a message of its own.
    let writes: Vec<_> =
        taker.writes.iter().map(|(at, n)| (at.as_nanos() / 1_000_000, *n)).collect();
    assert_eq!(writes, [(0, 1000), (4, 1000), (8, 500), (40, 1000), (44, 1000), (48, 500)]);
}

#[test]
fn bursts_below_a_byte_are_not_lost() {
    let microsecond = Span::from_nanos(1000);
    let mut source = bursts(microsecond, microsecond, Distribution::Constant, 1);
    run(&mut source, Span::from_millis(100));
    // 1 us at 2 Mbit/s is a quarter of a byte.
    assert_eq!(source.offered(), 12_500);
}

/// The share of the time that renewals spend in their first phase has, over a time T, the
/// asymptotic variance ((1-p)^2 Var(on) + p^2 Var(off)) / (T E(on + off)) (Cox, Renewal Theory,
/// 1962).
#[test]
fn the_mean_rate_is_within_the_bounds_of_chance() {
    let (on, off, time) = (0.2, 0.6, 20_000.0);
    let share = on / (on + off);
    // The squared coefficient of variation.
    let cases = [
        (Distribution::Exponential, 1.0),
        (Distribution::Pareto { shape: 3.0 }, 1.0 / 3.0),
        (Distribution::Pareto { shape: 5.0 }, 1.0 / 15.0),
    ];
    for (distribution, variation) in cases {
        for seed in 0..5 {
            let (on, off) = (Span::from_secs_f64(on), Span::from_secs_f64(off));
            let mut source = bursts(on, off, distribution, seed);
            run(&mut source, Span::from_secs_f64(time));
            let measured = source.offered() as f64 * 8.0 / 2e6 / time;
            let [on, off] = [on, off].map(Span::as_secs_f64);
            let variance = variation
                * ((1.0 - share) * (1.0 - share) * on * on + share * share * off * off)
                / (time * (on + off));
            let deviations = (measured - share) / variance.sqrt();
            assert!(deviations.abs() < 4.0, "{distribution:?}, seed {seed}: {deviations}");
        }
    }
}

#[test]
fn lengths_are_distributed_as_their_name_says() {
    let n = 100_000;
    let mean = Span::from_secs(3);
    let above = |distribution, bound: f64| {
        let Some(mut lengths) = bursts(mean, mean, distribution, 7).lengths else { unreachable!() };
        let draws = (0..n).map(|_| lengths.draw(mean).as_secs_f64());
        draws.filter(|length| *length > bound).count() as f64 / f64::from(n)
    };
    // Three deviations of a share of 100,000 are at most 0.005.
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 0.005, "{share}");
    near(above(Distribution::Exponential, 3.0), (-1.0_f64).exp());
    near(above(Distribution::Exponential, 9.0), (-3.0_f64).exp());
    // With a shape of 1.5 the smallest is a third of the mean.
    let pareto = Distribution::Pareto { shape: 1.5 };
    near(above(pareto, 0.999), 1.0);
    near(above(pareto, 4.0), 0.125);
    near(above(pareto, 25.0), 0.008);
}

#[test]
fn the_bursts_of_a_flow_depend_on_its_seed_and_number_alone() {
    let source = |flow, seed| {
        let second = Span::from_secs(1);
        let pattern = OnOff { on: second, off: second, distribution: Distribution::Exponential };
        let mut source = Source::on_off(mbit(1), Bytes(1000), pattern, flow, &Seed::new(seed));
        run(&mut source, Span::from_secs(60)).writes
    };
    assert_eq!(source(0, 1), source(0, 1));
    assert_ne!(source(0, 1), source(1, 1));
    assert_ne!(source(0, 1), source(0, 2));
}

#[test]
fn a_burst_has_arrived_with_its_last_byte() {
    let (on, off) = (Span::from_millis(10), Span::from_millis(30));
    let mut source = bursts(on, off, Distribution::Constant, 1);
    let mut taker = run(&mut source, Span::from_millis(45));
    assert_eq!(taker.wake_at, 2500);
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let mut arrive = |taker: &mut Taker, ms, bytes| {
        taker.delivered = bytes;
        acting(taker, at(ms), |context| assert!(!source.on_received(context)));
        (taker.wake_at, source.burst_completion_s())
    };
    assert_eq!(arrive(&mut taker, 50, 2499), (2500, None));
    assert_eq!(arrive(&mut taker, 60, 2500), (5000, Some(0.06)));
    // The second began at 40 ms.
    assert_eq!(arrive(&mut taker, 80, 5000), (u64::MAX, Some(0.05)));
}

#[test]
fn a_source_that_stops_is_done_when_what_it_wrote_has_arrived() {
    let mut source = Source::constant(mbit(1), Bytes(125));
    let mut taker = run(&mut source, Span::from_millis(9));
    let now = taker.next;
    assert!(!acting(&mut taker, now, |context| source.stop(context)));
    assert_eq!(taker.wake_at, 1250);
    taker.delivered = 1250;
    assert!(acting(&mut taker, now, |context| source.on_received(context)));
}
