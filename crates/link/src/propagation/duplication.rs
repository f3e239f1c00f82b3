//! Packets that arrive twice (`duplicate` of netem).
//!
//! Decisions:
//! - A copy is made on the way: it takes no place in the queue and no time of the transmitter, as
//!   where a link layer repeats a frame whose acknowledgement was lost. It has the delay of the
//!   direction, with its own jitter.
//! - Only packets that arrive have a copy. netem makes it before it decides about losses, and a
//!   loss takes one of both then, so that the packet arrives once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand_xoshiro::Xoshiro256PlusPlus;
use units::Time;

use super::jitter::{Draws, Jitter, Shift};
use crate::correlated::{Chance, share};

/// Random duplication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplication {
    /// Probability that a packet that arrives does so twice.
    pub probability: f64,
    /// Correlation of the random numbers, as in netem's `get_crandom`.
    pub correlation: f64,
}

impl Duplication {
    /// Share of packets that arrive twice in the long run.
    pub fn share(&self) -> f64 {
        share(self.probability, self.correlation)
    }
}

/// Duplication at work.
#[derive(Clone, Debug)]
pub(super) struct Copying {
    chance: Chance,
    jitter: Option<Draws>,
    /// Arrival times of copies on their way.
    coming: BinaryHeap<Reverse<Time>>,
    /// Copies that have arrived.
    packets: u64,
}

impl Copying {
    /// Copies that have `jitter` of their own.
    pub fn new(duplication: &Duplication, jitter: &Jitter, mut rng: Xoshiro256PlusPlus) -> Self {
        let Duplication { probability, correlation } = *duplication;
        let chance = Chance::new(probability, correlation, rng.clone());
        rng.jump();
        Self { chance, jitter: Draws::new(jitter, || rng), coming: BinaryHeap::new(), packets: 0 }
    }

    /// The change of the delay of the copy of the next packet; none if it has no copy.
    pub fn draw(&mut self) -> Option<Shift> {
        let shift = self.jitter.as_mut().map(Draws::draw).unwrap_or_default();
        self.chance.happens().then_some(shift)
    }

    /// A copy will arrive at `at`.
    pub fn expect(&mut self, now: Time, at: Time) {
        self.count_until(now);
        self.coming.push(Reverse(at));
    }

    /// Copies that have arrived by `now`.
    pub fn count_until(&mut self, now: Time) -> u64 {
        while self.coming.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.coming.pop();
            self.packets += 1;
        }
        self.packets
    }
}
