//! Token buckets: both engines send the same packets, and no time has more bytes than its tokens
//! and the burst.

use generate::{RandomDirection, bucketed, changing, coding, managed, prioritised, repeating};
use link::{Jitter, TokenBucket};
use proptest::prelude::*;
use units::{Bytes, Rate};

use super::repeats::{hop_of, run_both};
use super::{cases, sendings};

/// Any two directions. ARQ excludes what it excludes in the language.
fn hop() -> impl Strategy<Value = [RandomDirection; 2]> {
    let plain = prop_oneof![
        coding().boxed(),
        changing().boxed(),
        managed().boxed(),
        prioritised().boxed(),
        bucketed().boxed()
    ];
    let others = prop_oneof![4 => plain.boxed(), 1 => repeating().boxed()];
    hop_of(bucketed(), others).prop_map(|mut sides| {
        if sides.iter().any(|direction| direction.arq.is_some()) {
            for direction in &mut sides {
                direction.buckets[0] = None;
                direction.demand = None;
                // ARQ relies on the order in both directions.
                (direction.reorder, direction.jitter) = (false, Jitter::NONE);
                (direction.reordering, direction.duplication, direction.slots) = (None, None, None);
            }
        }
        sides
    })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn both_engines_shape_and_police_the_same_packets(
        hops in prop::collection::vec(hop(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
    }

    /// Without jitter and framing, packets arrive as they start. A packet that has arrived at one
    /// end of a window started earlier by its own transmission.
    #[test]
    fn what_arrives_in_any_time_had_its_tokens(
        hop in prioritised(), sendings in sendings(), kbps in 300u32..7000, burst in 1500u64..9000,
    ) {
        let mut hop = hop.plain();
        let bucket = TokenBucket::new(Rate::from_bits_per_second(u64::from(kbps) * 1000), Bytes(burst));
        hop.buckets = [Some(bucket), None];
        let line = u128::from(hop.settings().rate.bits_per_second());
        let [(out, ..), _] = super::run_both(&[hop], &sendings);
        for (first, (from, ..)) in out.iter().enumerate() {
            let mut bytes = 0;
            for (to, number, _) in &out[first..] {
                let last = u128::from(sendings[*number as usize].1);
                bytes += last;
                let starts = u128::from(to.since(*from).as_nanos()) + 1500 * 8_000_000_000 / line;
                let tokens = u128::from(bucket.rate.bits_per_second()) * starts;
                prop_assert!(bytes * 8_000_000_000 <= tokens + u128::from(burst) * 8_000_000_000);
            }
        }
    }
}
