//! Jitter: a delay that differs from packet to packet, for example by processing in hosts and sharing
//! of radio channels.
//!
//! Each packet that a link accepts draws a time that is added to its propagation delay. Packets keep
//! their order: one that would overtake the packet before arrives together with it.
//!
//! Decisions:
//! - Jitter keeps the order of packets: a link is FIFO, and with departures computed a packet still
//!   costs one event; reordering would be another kind of link.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::Span;

/// Times that are evenly distributed from none to `most`, with their own stream of randomness.
#[derive(Clone, Debug)]
pub struct Jitter {
    most: Span,
    rng: Xoshiro256PlusPlus,
}

impl Jitter {
    /// Jitter up to `most`; nothing for none.
    pub fn new(most: Span, rng: Xoshiro256PlusPlus) -> Option<Self> {
        (most > Span::ZERO).then_some(Self { most, rng })
    }

    /// The time of the next packet.
    pub fn draw(&mut self) -> Span {
        let values = u128::from(self.most.as_nanos()) + 1;
        // The high half of the product is even but for one part in 2^64 of the values.
        Span::from_nanos(((u128::from(self.rng.next_u64()) * values) >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    #[test]
    fn jitter_is_even_from_nothing_to_the_most() {
        let most = Span::from_millis(10);
        let mut jitter = Jitter::new(most, stream(1, Purpose::Jitter, 0)).unwrap();
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
    fn the_least_jitter_is_drawn_too() {
        let mut jitter = Jitter::new(Span::from_nanos(1), stream(1, Purpose::Jitter, 0)).unwrap();
        let drawn: Vec<_> = (0..64).map(|_| jitter.draw().as_nanos()).collect();
        assert!(drawn.contains(&0) && drawn.contains(&1) && drawn.iter().all(|nanos| *nanos < 2));
    }
}
