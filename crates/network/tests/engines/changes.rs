//! Links that change through both engines: the fast one computes at once when a packet will arrive,
//! the slow one finds out.

use generate::changing;
use proptest::prelude::*;

use super::{run_both, sendings};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn both_engines_deliver_the_same_packets_at_the_same_times_over_links_that_change(
        hops in prop::collection::vec(changing(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
        let order: Vec<_> = fast.0.iter().map(|(_, number, _)| number).collect();
        prop_assert!(order.is_sorted(), "no packet overtakes another");
    }
}
