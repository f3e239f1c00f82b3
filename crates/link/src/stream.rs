//! Random streams: one for each purpose and entity.
//!
//! Two runs with one seed meet the same random numbers at the same link, whatever else differs
//! between them, so that a comparison of two controllers is a paired one (common random numbers).

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
