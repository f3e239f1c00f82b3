//! Packets of both priorities through both engines: with queues that give normal packets the
//! room of others, a packet that was accepted may still be dropped, and those behind it move.

use generate::prioritised;
use proptest::prelude::*;

use super::{cases, run_both, sendings};

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn both_engines_push_out_the_same_packets_and_deliver_the_rest_at_the_same_times(
        hops in prop::collection::vec(prioritised(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
        for report in &fast.1[fast.1.len() - hops.len()..] {
            let counters = report.counters;
            let out = report.delivered_packets + counters.corrupted_packets;
            prop_assert_eq!(out, counters.accepted_packets, "what was accepted came out");
        }
    }
}
