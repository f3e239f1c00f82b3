//! Propagation: how a packet gets from the transmitter to the far end, with everything in it that is
//! random.
//!
//! [`Jitter`] is a delay that differs from packet to packet, for example by processing in hosts and
//! sharing of radio channels. Each packet that a link accepts draws a time that is added to its
//! propagation delay. Packets keep their order: one that would overtake the packet before arrives
//! together with it.
//!
//! Losses are those of a trace. They come in addition to the errors of the channel.
//!
//! Decisions:
//! - Jitter keeps the order of packets: a link is FIFO, and with departures computed a packet still
//!   costs one event.
//! - A direction that reorders forgets the order at the first packet with a shorter delay than the
//!   packet before. From there on packets keep their order again, so that jitter never reorders.
//! - All random parts share one stream of the run, and each has its own part of it: a further one
//!   starts a `jump` of the generator behind the one before. So it changes no number that the others
//!   draw.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::{Span, Time};

use crate::channel::threshold;
use crate::stream::{Purpose, stream};

/// The random parts of the propagation in one direction, and the order of packets.
#[derive(Clone, Debug)]
pub struct Propagation {
    jitter: Option<Jitter>,
    losses: Option<Xoshiro256PlusPlus>,
    /// True if packets overtake others where the delay falls.
    reorders: bool,
    /// The delay of the last packet.
    last_delay: Span,
    /// When the last intact packet arrives.
    last_arrival: Time,
}

/// Random decisions about one packet.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// Addition to its propagation delay.
    pub jitter: Span,
    /// A random number, which is large for packets that get through; none without losses.
    luck: Option<u64>,
}

impl Drawn {
    /// Returns true if the packet is lost where packets are with probability `loss`.
    pub fn is_lost(&self, loss: f64) -> bool {
        self.luck.is_some_and(|luck| luck < threshold(loss))
    }
}

impl Propagation {
    /// Propagation with jitter up to `jitter`, in direction `entity` of a run with `seed`.
    pub(crate) fn new(jitter: Span, seed: u64, entity: u64) -> Self {
        let random = stream(seed, Purpose::Propagation, entity);
        Self {
            jitter: Jitter::new(jitter, random),
            losses: None,
            reorders: false,
            last_delay: Span::ZERO,
            last_arrival: Time::ZERO,
        }
    }

    /// The same with losses, in direction `entity` of a run with `seed`.
    pub(crate) fn with_losses(self, seed: u64, entity: u64) -> Self {
        let mut random = stream(seed, Purpose::Propagation, entity);
        random.jump();
        Self { losses: Some(random), ..self }
    }

    /// The same, and packets overtake others where the delay falls if it `reorders`.
    pub(crate) fn reordering(self, reorders: bool) -> Self {
        Self { reorders, ..self }
    }

    /// Returns true if it has a random part.
    pub(crate) fn is_random(&self) -> bool {
        let Self { jitter, losses, reorders: _, last_delay: _, last_arrival: _ } = self;
        jitter.is_some() || losses.is_some()
    }

    /// Decides about the next packet. Every packet draws, whatever becomes of it: one seed gives the same
    /// packet the same numbers.
    pub fn draw(&mut self) -> Drawn {
        Drawn {
            jitter: self.jitter.as_mut().map_or(Span::ZERO, Jitter::draw),
            luck: self.losses.as_mut().map(Rng::next_u64),
        }
    }

    /// When a packet arrives that leaves at `left`. Packets do not overtake each other, except where a
    /// direction that reorders has a shorter delay than before. A corrupted packet delays no other.
    pub(crate) fn arrival(
        &mut self,
        left: Time,
        delay: Span,
        drawn: Drawn,
        corrupted: bool,
    ) -> Time {
        if self.reorders && delay < self.last_delay {
            self.last_arrival = Time::ZERO;
        }
        self.last_delay = delay;
        let arrival = self.last_arrival.max(left + delay + drawn.jitter);
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

    /// When a packet without jitter arrives that leaves after `left` with this delay, all in milliseconds.
    fn arrival(propagation: &mut Propagation, left: u64, delay: u64, corrupted: bool) -> u64 {
        let drawn = propagation.draw();
        let left = Time::ZERO + Span::from_millis(left);
        let at = propagation.arrival(left, Span::from_millis(delay), drawn, corrupted);
        at.as_nanos() / 1_000_000
    }

    #[test]
    fn a_packet_arrives_with_the_one_that_it_would_overtake_unless_that_one_is_corrupted() {
        let mut propagation = Propagation::new(Span::ZERO, 1, 0);
        assert_eq!(arrival(&mut propagation, 0, 9, false), 9);
        assert_eq!(arrival(&mut propagation, 1, 5, false), 9);
        assert_eq!(arrival(&mut propagation, 2, 50, true), 52);
        assert_eq!(arrival(&mut propagation, 3, 8, false), 11);
    }

    #[test]
    fn a_packet_overtakes_others_where_the_delay_falls_if_the_direction_reorders() {
        let mut propagation = Propagation::new(Span::ZERO, 1, 0).reordering(true);
        let delays = [(0, 50), (1, 20), (2, 20), (3, 40), (4, 30)];
        let arrivals = delays.map(|(left, delay)| arrival(&mut propagation, left, delay, false));
        assert_eq!(arrivals, [50, 21, 22, 43, 34]);
    }

    #[test]
    fn jitter_keeps_the_order_of_packets_that_have_the_same_delay() {
        let jitter = Span::from_millis(10);
        let mut propagation = Propagation::new(jitter, 1, 0).reordering(true);
        let arrivals: Vec<_> = (0..1000).map(|n| arrival(&mut propagation, n, 5, false)).collect();
        assert!(arrivals.is_sorted());
    }

    #[test]
    fn losses_are_binomial_and_change_no_jitter() {
        let jitter = Span::from_millis(10);
        let mut without = Propagation::new(jitter, 7, 3);
        let mut with = Propagation::new(jitter, 7, 3).with_losses(7, 3);
        let mut lost = 0u32;
        for _ in 0..100_000 {
            let drawn = with.draw();
            assert_eq!(drawn.jitter, without.draw().jitter);
            assert!(!drawn.is_lost(0.0) && drawn.is_lost(1.0));
            lost += u32::from(drawn.is_lost(0.1));
        }
        // Five standard deviations of the binomial distribution are 474.
        assert!((9526..=10_474).contains(&lost), "{lost}");
        assert!(!without.draw().is_lost(1.0), "nothing is lost without losses");
    }

    #[test]
    fn the_least_jitter_is_drawn_too() {
        let mut jitter = jitter(Span::from_nanos(1));
        let drawn: Vec<_> = (0..64).map(|_| jitter.draw().as_nanos()).collect();
        assert!(drawn.contains(&0) && drawn.contains(&1) && drawn.iter().all(|nanos| *nanos < 2));
    }
}
