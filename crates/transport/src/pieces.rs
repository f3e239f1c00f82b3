//! Search in a queue of pieces of a stream, which are sorted and nearly all of one length.

use std::collections::VecDeque;

/// The number of pieces that end at `number` or below. `end` gives the end of a piece. Its place is
/// first computed from the length of a piece on average, and searched only if it is not there.
#[inline]
pub fn pieces_up_to<T>(pieces: &VecDeque<T>, number: u64, end: impl Fn(&T) -> u64) -> usize {
    let (Some(first), Some(last)) = (pieces.front(), pieces.back()) else { return 0 };
    let (first, last) = (end(first), end(last));
    if number < first {
        return 0;
    }
    if number >= last {
        return pieces.len();
    }
    // At least two pieces end here, one of them above `number`.
    let others = pieces.len() - 1;
    let before = (number - first).saturating_mul(others as u64) / (last - first);
    let guess = 1 + usize::try_from(before).unwrap_or(0).min(others - 1);
    if end(&pieces[guess - 1]) <= number && number < end(&pieces[guess]) {
        return guess;
    }
    pieces.partition_point(|piece| end(piece) <= number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_a_search_whatever_the_lengths() {
        for lengths in [vec![], vec![7], vec![5; 9], vec![5, 5, 5, 2], vec![1, 90, 1, 1, 30]] {
            let ends = lengths.iter().scan(10, |end, length| {
                *end += length;
                Some(*end)
            });
            let ends: VecDeque<u64> = ends.collect();
            for number in 0..150 {
                let expected = ends.iter().filter(|end| **end <= number).count();
                assert_eq!(pieces_up_to(&ends, number, |end| *end), expected, "{number} {ends:?}");
            }
        }
    }
}
