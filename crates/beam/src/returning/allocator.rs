//! The allocation of slots by the network control centre: max-min fairness.
//!
//! No terminal gets more slots than it requests. A shortage is that of the terminals which request
//! most: all of them get the same number of slots, in the measure of their weights. Remainders go
//! round, so that shares are equal over time.

/// Slots for demands of (slots, weight) out of `capacity`. The remainder of a frame begins at
/// demand number `turn`.
pub fn max_min(demands: &[(u32, u32)], capacity: u32, turn: usize) -> Vec<u32> {
    let total: u64 = demands.iter().map(|(slots, _)| u64::from(*slots)).sum();
    if total <= u64::from(capacity) {
        return demands.iter().map(|(slots, _)| *slots).collect();
    }
    let mut order: Vec<usize> = (0..demands.len()).collect();
    // Those that need least in the measure of their weights are served in full first.
    order.sort_by_key(|&one| {
        let (slots, weight) = demands[one];
        (ratio(slots, weight), one)
    });
    let mut left = capacity;
    let mut weights: u64 = demands.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let mut shares = vec![0; demands.len()];
    for (served, &one) in order.iter().enumerate() {
        let (slots, weight) = demands[one];
        if u64::from(slots) * weights > u64::from(left) * u64::from(weight) {
            divide(&mut shares, demands, &order[served..], (left, weights), turn);
            break;
        }
        shares[one] = slots;
        left -= slots;
        weights -= u64::from(weight);
    }
    shares
}

/// Slots in millionths for each unit of weight.
fn ratio(slots: u32, weight: u32) -> u64 {
    u64::from(slots) * 1_000_000 / u64::from(weight.max(1))
}

/// Divides `left` slots by weight among those who request more than their share.
#[expect(clippy::cast_possible_truncation, reason = "a share is at most what is left")]
fn divide(
    shares: &mut [u32],
    demands: &[(u32, u32)],
    rest: &[usize],
    (left, weights): (u32, u64),
    turn: usize,
) {
    let mut given = 0;
    for &one in rest {
        let share = u64::from(left) * u64::from(demands[one].1) / weights;
        shares[one] = (share as u32).min(demands[one].0);
        given += shares[one];
    }
    let mut rest = rest.to_vec();
    rest.sort_unstable();
    let first = rest.partition_point(|one| *one < turn % demands.len());
    rest.rotate_left(first);
    let mut left = left - given;
    while left > 0 {
        let before = left;
        for &one in &rest {
            if left > 0 && shares[one] < demands[one].0 {
                shares[one] += 1;
                left -= 1;
            }
        }
        if left == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_shortage_is_that_of_those_who_request_most() {
        assert_eq!(max_min(&[(10, 1), (10, 1), (100, 1)], 90, 0), [10, 10, 70]);
        assert_eq!(max_min(&[(100, 1), (100, 2)], 90, 0), [30, 60]);
    }

    #[test]
    fn remainders_go_round() {
        let mut all = [0; 3];
        for turn in 0..30 {
            let shares = max_min(&[(9, 1); 3], 10, turn);
            all.iter_mut().zip(shares).for_each(|(all, share)| *all += share);
        }
        assert_eq!(all, [100; 3]);
    }

    proptest! {
        /// Against water filling: slot by slot to the one that has least for its weight.
        #[test]
        fn shares_are_those_of_water_filling(
            demands in prop::collection::vec((0..60_u32, 1..4_u32), 1..12),
            capacity in 0..200_u32,
            turn in 0..20_usize,
        ) {
            let shares = max_min(&demands, capacity, turn);
            let total: u32 = demands.iter().map(|(slots, _)| slots).sum();
            prop_assert_eq!(shares.iter().sum::<u32>(), total.min(capacity));
            for (one, share) in demands.iter().zip(&shares) {
                prop_assert!(*share <= one.0);
                // Who gets less than requested has as much as anybody, apart from a remainder.
                for (other, theirs) in demands.iter().zip(&shares) {
                    let (own, theirs) = (f64::from(*share + 1), f64::from(*theirs) - 1.0);
                    let is_served = *share == one.0;
                    prop_assert!(is_served || theirs / f64::from(other.1) <= own / f64::from(one.1));
                }
            }
        }
    }
}
