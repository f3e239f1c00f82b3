//! Links that change through both engines: the fast one computes at once when a packet will arrive,
//! the slow one finds out.

use link::{Change, LowPriority};
use proptest::prelude::*;
use units::Span;

use super::{Hop, delay_us, limit, micros, per, rate, rate_kbps, run_both, sendings};

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let outage = prop_oneof![Just(1000u32), 1u32..9000];
    let change = (
        prop_oneof![1 => Just(0u32), 2 => Just(1000), 2 => 0u32..9000],
        prop::option::of(rate_kbps().prop_map(rate)),
        prop::option::of(delay_us().prop_map(micros)),
        prop::option::weighted(0.3, outage.prop_map(micros)),
    );
    prop::collection::vec(change, 1..20).prop_map(|changes| {
        let mut at = Span::ZERO;
        let change = |(wait, rate, delay, outage)| {
            at = at + micros(wait);
            Change { at, every: None, rate, delay, outage }
        };
        changes.into_iter().map(change).collect()
    })
}

pub(super) fn hop() -> impl Strategy<Value = Hop> {
    let rule = prop::sample::select(vec![LowPriority::Ignore, LowPriority::Refuse]);
    (rate_kbps(), delay_us(), limit(), rule, per(), changes()).prop_map(
        |(rate_kbps, delay_us, limit, low_priority, per, changes)| Hop {
            rate_kbps,
            delay_us,
            limit,
            low_priority,
            per,
            changes,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn both_engines_deliver_the_same_packets_at_the_same_times_over_links_that_change(
        hops in prop::collection::vec(hop(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        let order: Vec<_> = fast.0.iter().map(|(_, number)| number).collect();
        prop_assert!(order.is_sorted(), "no packet overtakes another");
    }
}
