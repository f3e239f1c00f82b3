//! FEC: both engines carry the same packets, and what is sent comes out or is lost.

use generate::{RandomDirection, changing, coding, managed, prioritised, repeating};
use proptest::prelude::*;

use super::repeats::{hop_of, is_fifo, out_of, run_both};
use super::{cases, sendings};

fn hop() -> impl Strategy<Value = [RandomDirection; 2]> {
    let other = prop_oneof![coding(), repeating(), changing(), managed(), prioritised()];
    hop_of(coding(), other)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn both_engines_code_the_same_packets(
        hops in prop::collection::vec(hop(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
    }

    #[test]
    fn what_is_accepted_comes_out_once_and_in_order_or_is_lost(
        hop in hop(), sendings in sendings(),
    ) {
        let hops = [hop];
        let [(out, reports, _), _] = run_both(&hops, &sendings);
        for (side, direction) in hops[0].iter().enumerate() {
            let Some(fec) = direction.fec else { continue };
            let bodies = out_of(side, &out);
            prop_assert!(!fec.in_order || !is_fifo(direction) || bodies.is_sorted());
            let report = &reports[reports.len() - 2 + side];
            let counters = report.counters.fec.unwrap();
            let accepted = report.counters.accepted_packets;
            prop_assert_eq!(counters.data_packets, accepted);
            let decided = report.delivered_packets + counters.lost_packets;
            prop_assert!(decided <= accepted);
            // Only a group whose end did not arrive has packets that nobody has decided about.
            let last_group = u64::from(fec.data * fec.depth);
            prop_assert!(accepted - decided <= counters.corrupted_packets.min(accepted));
            let loses = direction.changes.iter().any(|change| change.loss > Some(0.0));
            prop_assert!(direction.per > 0.0 || loses || decided == accepted);
            prop_assert!(counters.corrupted_packets > 0 || counters.repaired_packets == 0);
            prop_assert!(counters.blocks * u64::from(fec.parity) == counters.parity_packets);
            prop_assert!(counters.parity_packets > 0 || accepted == 0, "{}", last_group);
        }
    }
}
