//! Links that change through both engines: the fast one computes at once when a packet will arrive,
//! the slow one finds out.

use generate::{changing, duplicating, micros, reordering, slotted};
use link::{Change, LowPriority, QueueLimit};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::{cases, run_both, sendings};

proptest! {
    #![proptest_config(cases())]

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

    #[test]
    fn both_engines_deliver_the_same_packets_where_they_overtake_each_other(
        hops in prop::collection::vec(reordering(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
    }

    #[test]
    fn both_engines_deliver_the_same_packets_where_they_arrive_in_slots(
        hops in prop::collection::vec(slotted(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
    }

    #[test]
    fn both_engines_deliver_the_same_packets_where_some_arrive_twice(
        hops in prop::collection::vec(duplicating(), 1..4), sendings in sendings(),
    ) {
        let [fast, slow] = run_both(&hops, &sendings);
        prop_assert_eq!(&fast.0, &slow.0);
        prop_assert_eq!(&fast.1, &slow.1);
        prop_assert_eq!(&fast.2, &slow.2);
        let order: Vec<_> = fast.0.iter().map(|(_, number, _)| number).collect();
        let is_fifo = hops.iter().all(|hop| hop.aqm.is_none());
        prop_assert!(order.is_sorted() || !is_fifo, "no packet overtakes another");
        // After all packets: what a port was offered is what came out, with its copies, or what is
        // missing.
        let [.., last] = &fast.1[..] else { return Ok(()) };
        let copies = last.counters.impairments.map_or(0, |counters| counters.duplicated_packets);
        let missing = last.counters.corrupted_packets + last.counters.dropped_packets;
        let before = fast.1[fast.1.len() - hops.len()].delivered_packets;
        prop_assert!(hops.len() > 1 || before + missing == sendings.len() as u64 + copies);
    }
}

/// The packets in the order in which they arrive over a link whose delay falls from 50 ms to 10 ms
/// at 2 ms, and rises to 30 ms at 4 ms. Each takes 1 ms.
fn order(reorder: bool) -> Vec<u32> {
    let change = |at, delay| Change {
        at: micros(at),
        every: None,
        rate: None,
        delay: Some(micros(delay)),
        outage: None,
        loss: None,
    };
    let mut runner = TestRunner::deterministic();
    let drawn = changing().new_tree(&mut runner).expect("nothing is rejected").current();
    let mut link = drawn.plain();
    (link.rate_kbps, link.delay_us, link.per) = (8000, 50_000, 0.0);
    (link.limit, link.low_priority) = (QueueLimit::Unlimited, LowPriority::Ignore);
    (link.changes, link.reorder) = (vec![change(2500, 10_000), change(4500, 30_000)], reorder);
    let [fast, slow] = run_both(&[link], &[(0, 1000, false); 6]);
    assert_eq!(fast.0, slow.0);
    fast.0.iter().map(|(_, number, _)| *number).collect()
}

#[test]
fn packets_overtake_others_where_the_delay_falls_and_nowhere_else() {
    assert_eq!(order(true), [2, 3, 4, 5, 0, 1]);
    assert_eq!(order(false), [0, 1, 2, 3, 4, 5]);
}
