//! Propagation: how a packet gets from the transmitter to the far end, with everything in it that is
//! random.
//!
//! [`Jitter`] is a delay that differs from packet to packet, for example by processing in hosts and
//! sharing of radio channels. Each packet that a link accepts draws a time that is added to its
//! propagation delay. Packets keep their order: one that would overtake the packet before arrives
//! together with it.
//!
//! Decisions:
//! - Jitter keeps the order of packets: a link is FIFO, and with departures computed a packet still
//!   costs one event; reordering would be another kind of link.
//! - All random parts share one stream of the run, and each has its own part of it: a further one
//!   starts a `jump` of the generator behind the one before. So it changes no number that the others
//!   draw.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::{Span, Time};

use crate::stream::{Purpose, stream};

/// The random parts of the propagation in one direction, and the order of packets.
#[derive(Clone, Debug)]
pub struct Propagation {
    jitter: Option<Jitter>,
    /// When the last intact packet arrives.
    last_arrival: Time,
}

/// What the random parts have decided about one packet.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// Addition to its propagation delay.
    pub jitter: Span,
}

impl Propagation {
    /// Propagation with jitter up to `jitter`, in direction `entity` of a run with `seed`.
    pub(crate) fn new(jitter: Span, seed: u64, entity: u64) -> Self {
        let random = stream(seed, Purpose::Propagation, entity);
        Self { jitter: Jitter::new(jitter, random), last_arrival: Time::ZERO }
    }

    /// Whether it has a random part.
    pub(crate) fn is_random(&self) -> bool {
        let Self { jitter, last_arrival: _ } = self;
        jitter.is_some()
    }

    /// Decides about the next packet.
    pub fn draw(&mut self) -> Drawn {
        Drawn { jitter: self.jitter.as_mut().map_or(Span::ZERO, Jitter::draw) }
    }

    /// When a packet arrives that leaves at `left`. Packets do not overtake each other; one that is
    /// corrupted delays no other. Corrupted packets draw too: one seed gives the same packet the same
    /// jitter.
    pub(crate) fn arrival(&mut self, left: Time, delay: Span, corrupted: bool) -> Time {
        let Drawn { jitter } = self.draw();
        let arrival = self.last_arrival.max(left + delay + jitter);
        if !corrupted {
            self.last_arrival = arrival;
        }
        arrival
    }
}

/// Times that are evenly distributed from none to `most`, with their own stream of randomness.
#[derive(Clone, Debug)]
struct Jitter {
    most: Span,
    rng: Xoshiro256PlusPlus,
}

impl Jitter {
    /// Jitter up to `most`; nothing for none.
    fn new(most: Span, rng: Xoshiro256PlusPlus) -> Option<Self> {
        (most > Span::ZERO).then_some(Self { most, rng })
    }

    /// The time of the next packet.
    fn draw(&mut self) -> Span {
        let values = u128::from(self.most.as_nanos()) + 1;
        // The high half of the product is even but for one part in 2^64 of the values.
        Span::from_nanos(((u128::from(self.rng.next_u64()) * values) >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jitter(most: Span) -> Jitter {
        Jitter::new(most, stream(1, Purpose::Propagation, 0)).unwrap()
    }

    #[test]
    fn jitter_is_even_from_nothing_to_the_most() {
        let most = Span::from_millis(10);
        let mut jitter = jitter(most);
        let mut tenths = [0u32; 10];
        for _ in 0..100_000 {
            let drawn = jitter.draw();
            assert!(drawn <= most);
            tenths[(drawn.as_nanos() / 1_000_001) as usize] += 1;
        }
        // Five standard deviations of a count around 10,000.
        assert!(tenths.iter().all(|count| count.abs_diff(10_000) < 475), "{tenths:?}");
    }

    #[test]
    fn a_packet_arrives_with_the_one_that_it_would_overtake_unless_that_one_is_corrupted() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut propagation = Propagation::new(Span::ZERO, 1, 0);
        assert_eq!(propagation.arrival(at(0), Span::from_millis(9), false), at(9));
        assert_eq!(propagation.arrival(at(1), Span::from_millis(5), false), at(9));
        assert_eq!(propagation.arrival(at(2), Span::from_millis(50), true), at(52));
        assert_eq!(propagation.arrival(at(3), Span::from_millis(8), false), at(11));
    }

    #[test]
    fn the_least_jitter_is_drawn_too() {
        let mut jitter = jitter(Span::from_nanos(1));
        let drawn: Vec<_> = (0..64).map(|_| jitter.draw().as_nanos()).collect();
        assert!(drawn.contains(&0) && drawn.contains(&1) && drawn.iter().all(|nanos| *nanos < 2));
    }
}
