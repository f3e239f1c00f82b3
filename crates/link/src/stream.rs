//! Random streams: one for each purpose and entity.
//!
//! Two runs with one seed meet the same random numbers at the same link, whatever else differs
//! between them, so that a comparison of two controllers is a paired one (common random numbers).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Errors of a channel.
    Channel = 1,
    /// Choices of an application.
    Application = 2,
    /// Propagation in a link, such as jitter.
    Propagation = 3,
    /// Choices of active queue management.
    Queue = 4,
    /// When the events of links happen.
    Phase = 5,
    /// Errors of hints about paths.
    Hints = 6,
    /// When applications begin and end.
    Sessions = 7,
    /// Slots and back-offs of random access.
    Access = 8,
    /// Sizes of web pages.
    Pages = 9,
    /// Times of probes of paths.
    Probes = 10,
}

/// The seed of a run. It records whether anything was drawn from it. Clones share the record.
#[derive(Clone, Debug, Default)]
pub struct Seed(Arc<SeedState>);

#[derive(Debug, Default)]
struct SeedState {
    number: u64,
    is_drawn: AtomicBool,
}

impl Seed {
    /// The seed with this number, from which nothing has been drawn.
    pub fn new(number: u64) -> Self {
        Self(Arc::new(SeedState { number, is_drawn: AtomicBool::new(false) }))
    }

    /// The number, for recordings only. Use `draw` for anything that affects the run.
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// The stream for one purpose and entity.
    pub fn stream(&self, purpose: Purpose, entity: u64) -> Xoshiro256PlusPlus {
        stream(self.draw(), purpose, entity)
    }

    /// The number, for a generator of another library.
    pub fn draw(&self) -> u64 {
        self.0.is_drawn.store(true, Ordering::Relaxed);
        self.0.number
    }

    /// The stream of errors of a direction that reports what it draws in [`Trials`]. It does not
    /// count as drawn.
    pub(crate) fn trials(&self, entity: u64) -> Xoshiro256PlusPlus {
        stream(self.0.number, Purpose::Channel, entity)
    }

    /// Returns true if anything has been drawn from it, apart from [`Trials`].
    pub fn is_drawn(&self) -> bool {
        self.0.is_drawn.load(Ordering::Relaxed)
    }
}

/// The draws of a direction whose packets are lost independently of each other: each packet draws
/// once, and is lost if the number is below a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trials {
    /// Packets that have drawn.
    pub packets: u64,
    /// Largest threshold of a packet.
    pub threshold: u64,
    /// Packets that are lost.
    pub lost: u64,
}

impl Trials {
    /// Returns true if no packet is lost here, and none would be with the seed `number` in
    /// direction `entity`.
    pub fn are_lossless(&self, number: u64, entity: u64) -> bool {
        let mut random = stream(number, Purpose::Channel, entity);
        self.lost == 0 && (0..self.packets).all(|_| random.next_u64() >= self.threshold)
    }
}

/// The stream of `seed` for one purpose and entity.
pub fn stream(seed: u64, purpose: Purpose, entity: u64) -> Xoshiro256PlusPlus {
    let mut state = mix(seed);
    state = mix(state ^ purpose as u64);
    state = mix(state ^ entity);
    Xoshiro256PlusPlus::seed_from_u64(state)
}

/// A number that is uniform from 0 to below 1.
pub fn uniform(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number above 0, exponential with the mean 1.
pub fn exponential(random: &mut impl Rng) -> f64 {
    -libm::log(1.0 - uniform(random))
}

/// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_entity_and_are_repeatable() {
        let first = |seed, purpose, entity| stream(seed, purpose, entity).next_u64();
        let base = first(1, Purpose::Channel, 0);
        assert_eq!(base, first(1, Purpose::Channel, 0));
        assert_ne!(base, first(2, Purpose::Channel, 0));
        assert_ne!(base, first(1, Purpose::Application, 0));
        assert_ne!(base, first(1, Purpose::Channel, 1));
    }

    #[test]
    fn no_two_of_many_streams_are_the_same() {
        let purposes = [
            Purpose::Channel,
            Purpose::Application,
            Purpose::Propagation,
            Purpose::Queue,
            Purpose::Phase,
            Purpose::Hints,
            Purpose::Sessions,
            Purpose::Access,
            Purpose::Pages,
        ];
        let mut firsts = Vec::new();
        for seed in 0..20 {
            for purpose in purposes {
                firsts.extend((0..20).map(|entity| stream(seed, purpose, entity).next_u64()));
            }
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 20 * 9 * 20);
    }

    #[test]
    fn a_seed_knows_whether_it_is_drawn_and_its_copies_are_the_same() {
        let seed = Seed::new(7);
        let copy = seed.clone();
        assert_eq!(seed.trials(3).next_u64(), stream(7, Purpose::Channel, 3).next_u64());
        assert!(!seed.is_drawn());
        assert_eq!(
            copy.stream(Purpose::Queue, 3).next_u64(),
            stream(7, Purpose::Queue, 3).next_u64()
        );
        assert!(seed.is_drawn());
        let other = Seed::new(7);
        assert_eq!(other.draw(), 7);
        assert!(other.is_drawn());
    }

    #[test]
    fn trials_are_lossless_up_to_the_first_number_below_the_threshold() {
        let numbers: Vec<u64> = {
            let mut random = stream(5, Purpose::Channel, 2);
            (0..1000).map(|_| random.next_u64()).collect()
        };
        let threshold = numbers.iter().min().unwrap() + 1;
        let place = numbers.iter().position(|number| *number < threshold).unwrap() as u64;
        let trials = |packets, lost| Trials { packets, threshold, lost };
        assert!(trials(place, 0).are_lossless(5, 2));
        assert!(!trials(place + 1, 0).are_lossless(5, 2));
        assert!(!trials(place, 1).are_lossless(5, 2));
    }

    /// The first numbers of SplitMix64 from the state 0, which the algorithm is tested with
    /// (Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
    #[test]
    fn inputs_are_mixed_as_by_splitmix64() {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = [0, GAMMA, GAMMA.wrapping_mul(2)].map(mix);
        let published = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!(mixed, published);
    }
}
