//! Random streams: one for each purpose and entity.
//!
//! Two runs with one seed meet the same random numbers at the same link, whatever else differs
//! between them, so that a comparison of two controllers is a paired one (common random numbers).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Errors of a channel.
    Channel = 1,
    /// Choices of an application.
    Application = 2,
    /// Propagation in a link, such as jitter.
    Propagation = 3,
}

/// The stream of `seed` for one purpose and entity.
pub fn stream(seed: u64, purpose: Purpose, entity: u64) -> Xoshiro256PlusPlus {
    let mut state = mix(seed);
    state = mix(state ^ purpose as u64);
    state = mix(state ^ entity);
    Xoshiro256PlusPlus::seed_from_u64(state)
}

/// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::Rng;

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
}
