//! Random sequences of events, the same ones in each run.

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// An event of a sender.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// An ACK with its number of segments, and the RTT that it measures in microseconds.
    Ack {
        /// Segments that it acknowledges.
        segments: u64,
        /// Microseconds.
        rtt: u32,
        /// cwnd, and not the application, holds the sender back.
        limited: bool,
    },
    /// A whole window is acknowledged.
    Round {
        /// Microseconds.
        rtt: u32,
        /// Segments for each ACK.
        each: u64,
    },
    /// The same, with the interval in ACKs between two that echo a mark.
    MarkedRound {
        /// Microseconds.
        rtt: u32,
        /// Segments for each ACK.
        each: u64,
        /// ACKs for each that echoes a mark.
        every: u64,
    },
    /// Three duplicate ACKs.
    Loss,
    /// A router has marked data, and the receiver echoes it.
    Mark,
    /// The retransmission timer expires.
    Timeout,
    /// The loss or the timeout that is being repaired was none.
    Undo,
    /// Everything is acknowledged, and then nothing is sent for a time.
    Idle {
        /// Milliseconds.
        milliseconds: u64,
    },
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ack { segments, .. } => write!(f, "an ACK of {segments}"),
            Self::Round { .. } => f.write_str("a round trip"),
            Self::MarkedRound { .. } => f.write_str("a round trip with marks"),
            Self::Loss => f.write_str("a loss"),
            Self::Mark => f.write_str("a mark"),
            Self::Timeout => f.write_str("a timeout"),
            Self::Undo => f.write_str("an undo"),
            Self::Idle { .. } => f.write_str("an idle period"),
        }
    }
}

/// A connection and what happens to it.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// In order.
    pub events: Vec<Event>,
    /// Initial window in segments.
    pub window: u64,
    /// Initial slow start threshold in segments; none for an infinite one.
    pub ssthresh: Option<u64>,
}

/// Longest queues in microseconds: paths with none, and those where it is longer than the path.
const QUEUES: &[u32] = &[1, 2000, 20_000, 100_000, 500_000];

/// ACKs for each that echoes a mark: all, many, and so few that their share is below 1/64.
const MARKED: &[u64] = &[1, 2, 5, 30, 200];
/// Round trips for each with marks.
const ROUNDS: usize = 3;

/// Shape of random sequences.
#[derive(Clone)]
struct Shape {
    /// Events at most.
    most: usize,
    /// How often losses, timeouts and undos come; 1 is seldom.
    troubles: u32,
    /// Segments that an ACK covers, and those in a whole round trip.
    acked: RangeInclusive<u64>,
    each: RangeInclusive<u64>,
}

fn events(shape: Shape) -> impl Strategy<Value = Vec<Event>> {
    let path = (20_000_u32..1_000_000, prop::sample::select(QUEUES), 1_u64..50);
    path.prop_flat_map(move |(base, longest, stretch)| {
        let Shape { most, troubles, acked, each } = shape.clone();
        let rtt = (0..longest).prop_map(move |queue| base + queue);
        let event = prop_oneof![
            20 => (acked, rtt.clone(), prop::bool::weighted(0.9))
                .prop_map(|(segments, rtt, limited)| Event::Ack { segments, rtt, limited }),
            4 => rtt.clone().prop_map(move |rtt| Event::Ack { segments: stretch, rtt, limited: true }),
            12 => (rtt, each).prop_map(|(rtt, each)| Event::Round { rtt, each }),
            2 * troubles => Just(Event::Loss),
            2 => Just(Event::Mark),
            troubles => Just(Event::Timeout),
            troubles => Just(Event::Undo),
            1 => (1..100_000_u64).prop_map(|milliseconds| Event::Idle { milliseconds }),
        ];
        vec(event, 1..most)
    })
}

/// Number of sequences, of up to 120 events each.
pub fn sequences(count: usize) -> impl Iterator<Item = Sequence> {
    let shape = Shape { most: 120, troubles: 1, acked: 1..=3, each: 1..=2 };
    drawn((events(shape), 2_u64..2000, prop::option::of(2_u64..4000))).take(count)
}

/// The same sequences; in every second one, each third round trip has marks.
pub fn marked_sequences(count: usize) -> impl Iterator<Item = Sequence> {
    sequences(count)
        .enumerate()
        .map(|(i, sequence)| if i % 2 == 0 { sequence } else { marked(sequence) })
}

fn marked(mut sequence: Sequence) -> Sequence {
    let rounds = sequence.events.iter_mut().filter(|event| matches!(event, Event::Round { .. }));
    for (i, event) in rounds.skip(ROUNDS - 1).step_by(ROUNDS).enumerate() {
        if let Event::Round { rtt, each } = *event {
            *event = Event::MarkedRound { rtt, each, every: MARKED[i % MARKED.len()] };
        }
    }
    sequence
}

/// Sequences that few lines record: up to 40 events, and round trips of few ACKs. Each undo comes
/// right after a loss or a timeout, and each third round trip has marks.
pub fn short_sequences() -> impl Iterator<Item = Sequence> {
    let shape = Shape { most: 40, troubles: 2, acked: 1..=12, each: 5..=40 };
    drawn((events(shape), 2_u64..600, (2_u64..600).prop_map(Some))).map(|mut sequence| {
        let undone = |(number, event)| match event {
            Event::Undo if number % 2 == 0 => vec![Event::Loss, event],
            Event::Undo => vec![Event::Timeout, event],
            _ => vec![event],
        };
        sequence.events = sequence.events.into_iter().enumerate().flat_map(undone).collect();
        marked(sequence)
    })
}

fn drawn(
    strategy: impl Strategy<Value = (Vec<Event>, u64, Option<u64>)>,
) -> impl Iterator<Item = Sequence> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    std::iter::repeat_with(move || {
        let tree = strategy.new_tree(&mut runner);
        #[expect(clippy::expect_used, reason = "nothing filters, and so nothing is rejected")]
        let (events, window, ssthresh) = tree.expect("a sequence").current();
        Sequence { events, window, ssthresh }
    })
}
