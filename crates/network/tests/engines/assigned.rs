//! Demand assignment: both engines use the same slots, and what is sent comes out.

use generate::{RandomDirection, assigned, changing, coding, managed, prioritised};
use proptest::prelude::*;

use super::repeats::{hop_of, out_of, run_both};
use super::{cases, sendings};

fn hop() -> impl Strategy<Value = [RandomDirection; 2]> {
    let other = prop_oneof![assigned(), coding(), changing(), managed(), prioritised()];
    hop_of(assigned(), other)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn both_engines_send_the_same_packets_in_slots(
        hops in prop::collection::vec(hop(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
    }

    #[test]
    fn what_is_accepted_comes_out_once_or_is_corrupted(hop in hop(), sendings in sendings()) {
        let hops = [hop];
        let [(out, reports, _), _] = run_both(&hops, &sendings);
        for (side, direction) in hops[0].iter().enumerate() {
            let Some(demand) = direction.demand else { continue };
            out_of(side, &out);
            let report = &reports[reports.len() - 2 + side];
            let counters = report.counters.demand.unwrap();
            let sent = report.delivered_packets + report.counters.corrupted_packets;
            prop_assert_eq!(sent, counters.sent_packets);
            // A rate that falls below a byte per slot sends nothing.
            prop_assert!(sent <= report.counters.accepted_packets);
            prop_assert!(counters.vbdc_slots + counters.unused_slots <= counters.requested_slots);
            prop_assert!(demand.vbdc || counters.requests == 0);
            prop_assert!(demand.cra > 0 || counters.cra_slots == 0);
            prop_assert!(demand.fca > 0 || counters.fca_slots == 0);
            let used = counters.cra_slots + counters.vbdc_slots + counters.fca_slots;
            prop_assert!(used > 0 || sent == 0);
        }
    }
}
