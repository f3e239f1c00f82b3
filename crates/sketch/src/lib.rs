//! The distribution of many whole numbers in little memory: mean, maximum, and percentiles within
//! [`RELATIVE_ERROR`].
//!
//! A [`Sketch`] counts values in buckets, 128 for each power of two. The bucket of a value is the
//! upper bits of its representation in floating point (IEEE 754 binary32): exponent and seven bits
//! of the mantissa. Memory grows with the range of the values and not with their number: 1 kB for
//! each power of two between the smallest and the largest, and 32 or 64 bytes for values that are
//! all about the same. Most connections of a run with thousands have few values.
//!
//! Decisions:
//! - No library: a value is recorded for nearly every packet and hop, and the budget is some five
//!   instructions for each hop. Here a bucket takes a conversion, a shift, a subtraction and a
//!   comparison. The crate `hdrhistogram` has the same kind of buckets, but updates and checks more
//!   for each value. DDSketch takes a logarithm for each value. A t-digest sorts, and its error has
//!   no bound.

/// Bits of the mantissa that a bucket keeps.
const BITS: u32 = 7;

/// Buckets for each power of two.
const PER_OCTAVE: u32 = 1 << BITS;

/// Buckets are made in multiples of this.
const STEP: u32 = 4;

/// Up to this number, memory is made for twice as many buckets as there are, and then for a quarter
/// more: a run may have thousands of connections, and each has few values.
const DOUBLED: usize = 16;

/// Values of which the sum is sure to be below 2^64: in nanoseconds each may be nine years.
const CHUNK: usize = 64;

/// Bound of the relative error of a percentile: the width of a bucket, 0.8 %. Usually the error is
/// smaller, because values within a bucket are taken to be spread evenly.
pub const RELATIVE_ERROR: f64 = 1.0 / PER_OCTAVE as f64;

/// The distribution of values of 1 and more. Values of zero are counted by the caller, see
/// [`Sketch::summary`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// Sum of all values.
    sum: u128,
    /// Number of the bucket of `counts[0]`.
    base: u32,
    /// Values in each bucket, in whole [`STEP`]s, from the bucket of the smallest value to that of
    /// the largest.
    counts: Vec<u64>,
    /// The largest value; exact.
    max: u64,
    /// Number of values.
    count: u64,
}

/// Key figures of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Arithmetic mean; exact.
    pub mean: f64,
    /// Median, within [`RELATIVE_ERROR`].
    pub median: f64,
    /// 95th percentile, within [`RELATIVE_ERROR`].
    pub p95: f64,
    /// 99th percentile, within [`RELATIVE_ERROR`].
    pub p99: f64,
    /// Maximum; exact.
    pub max: f64,
}

impl Summary {
    /// The same in another unit, which is `unit` of the recorded ones.
    #[must_use]
    pub fn per(self, unit: f64) -> Self {
        let Self { mean, median, p95, p99, max } = self;
        let [mean, median, p95, p99, max] = [mean, median, p95, p99, max].map(|x| x / unit);
        Self { mean, median, p95, p99, max }
    }
}

/// The bucket of a value below 2^63.
#[inline(always)]
fn bucket(value: u64) -> u32 {
    // The signed conversion is one instruction, the unsigned one a branch.
    (value.cast_signed() as f32).to_bits() >> (f32::MANTISSA_DIGITS - 1 - BITS)
}

/// The lower edge of a bucket.
fn edge(bucket: u32) -> f64 {
    f32::from_bits(bucket << (f32::MANTISSA_DIGITS - 1 - BITS)).into()
}

impl Sketch {
    /// Nothing recorded yet.
    pub const fn new() -> Self {
        Self { sum: 0, base: 0, counts: Vec::new(), max: 0, count: 0 }
    }

    /// Records a value, which must not be zero.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.sum += u128::from(value);
        self.count += 1;
        if value > self.max {
            self.max = value;
        }
        self.count_one(bucket(value));
    }

    /// Records the value of each item, which is below 2^58 and not zero, at less cost for each.
    pub fn record_all<T>(&mut self, values: &[T], value: impl Fn(&T) -> u64) {
        for chunk in values.chunks(CHUNK) {
            let (mut sum, mut max) = (0, self.max);
            for value in chunk.iter().map(&value) {
                sum += value;
                if value > max {
                    max = value;
                }
                self.count_one(bucket(value));
            }
            self.sum += u128::from(sum);
            self.max = max;
        }
        self.count += values.len() as u64;
    }

    #[inline(always)]
    fn count_one(&mut self, bucket: u32) {
        match self.counts.get_mut(bucket.wrapping_sub(self.base) as usize) {
            Some(count) => *count += 1,
            None => {
                self.extend_to(bucket);
                self.counts[(bucket - self.base) as usize] += 1;
            }
        }
    }

    /// Makes the buckets around `bucket`.
    #[cold]
    #[inline(never)]
    fn extend_to(&mut self, bucket: u32) {
        let from = bucket / STEP * STEP;
        if self.counts.is_empty() {
            self.base = from;
        }
        let more = self.base.saturating_sub(from);
        self.base -= more;
        self.counts.splice(0..0, std::iter::repeat_n(0, more as usize));
        let length = ((from + STEP - self.base) as usize).max(self.counts.len());
        if length > self.counts.capacity() {
            let made = self.counts.len();
            let more = if made < DOUBLED { made } else { made / 4 };
            self.counts.reserve_exact(more.max(length - made));
        }
        self.counts.resize(length, 0);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest value; zero without values.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Adds the values of another sketch.
    pub fn merge(&mut self, other: &Self) {
        let Self { sum, base, counts, max, count } = other;
        if counts.is_empty() {
            return;
        }
        self.sum += sum;
        self.max = self.max.max(*max);
        self.count += count;
        self.extend_to(*base);
        self.extend_to(base + counts.len() as u32 - 1);
        let from = (base - self.base) as usize;
        self.counts[from..].iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    /// Percentiles from 0 to 1, which must rise, of the values and `zeros` zeros. By nearest rank:
    /// the smallest value that at least this share of all does not exceed. The error is at most
    /// [`RELATIVE_ERROR`] of it. Zero without values.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N], zeros: u64) -> [f64; N] {
        let all = self.count() + zeros;
        let (mut below, mut inside, mut at) = (zeros, 0, 0);
        let mut buckets = (self.base..).zip(&self.counts);
        shares.map(|share| {
            let rank = ((share * all as f64).ceil() as u64).clamp(1, all.max(1));
            while below + inside < rank {
                let Some((bucket, count)) = buckets.next() else { break };
                below += inside;
                (at, inside) = (bucket, *count);
            }
            if rank == all {
                return self.max as f64;
            }
            if rank <= zeros {
                return 0.0;
            }
            let within = ((rank - below) as f64 - 0.5) / inside as f64;
            (edge(at) + within * (edge(at + 1) - edge(at))).min(self.max as f64)
        })
    }

    /// Key figures of the values and `zeros` zeros; `None` for no values at all.
    pub fn summary(&self, zeros: u64) -> Option<Summary> {
        let all = self.count() + zeros;
        let [median, p95, p99] = self.quantiles([0.5, 0.95, 0.99], zeros);
        let mean = self.sum as f64 / all as f64;
        (all > 0).then_some(Summary { mean, median, p95, p99, max: self.max as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values of all magnitudes, with many that are equal.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let any = (0u32..58, any::<u64>()).prop_map(|(bits, x)| (x >> (63 - bits)).max(1));
        let near = 1_000_000u64..2_000_000;
        prop::collection::vec(prop_oneof![any, near, Just(7), 1u64..300], 0..300)
    }

    fn sketch(values: &[u64]) -> Sketch {
        let mut sketch = Sketch::new();
        let (first, rest) = values.split_at(values.len() / 3);
        first.iter().for_each(|value| sketch.record(*value));
        sketch.record_all(rest, |value| *value);
        sketch
    }

    fn is_near(estimate: f64, exact: f64) -> bool {
        (estimate - exact).abs() <= RELATIVE_ERROR * exact * (1.0 + 1e-6)
    }

    proptest! {
        #[test]
        fn percentiles_are_within_the_error_and_mean_and_maximum_are_exact(
            values in values(), zeros in 0u64..40
        ) {
            let mut all: Vec<u64> = values.clone();
            all.extend((0..zeros).map(|_| 0));
            all.sort_unstable();
            let sketch = sketch(&values);
            prop_assert_eq!(sketch.count(), values.len() as u64);
            let Some(summary) = sketch.summary(zeros) else {
                prop_assert!(all.is_empty());
                return Ok(());
            };
            let exact = |q: f64| all[((q * all.len() as f64).ceil() as usize).max(1) - 1] as f64;
            for (q, estimate) in [(0.5, summary.median), (0.95, summary.p95), (0.99, summary.p99)] {
                prop_assert!(is_near(estimate, exact(q)), "{q}: {estimate} for {}", exact(q));
            }
            let sum: u128 = all.iter().map(|value| u128::from(*value)).sum();
            prop_assert!((summary.mean - sum as f64 / all.len() as f64).abs() <= 1e-9 * summary.mean);
            prop_assert_eq!(summary.max, *all.last().unwrap() as f64);
            prop_assert_eq!(sketch.quantiles([1.0], zeros), [summary.max]);
            let order = [summary.median, summary.p95, summary.p99, summary.max];
            prop_assert!(order.is_sorted(), "{order:?}");
        }

        #[test]
        fn the_order_of_values_does_not_matter_and_merged_sketches_have_all_values(
            values in values(), others in values()
        ) {
            let mut merged = sketch(&values);
            merged.merge(&sketch(&others));
            let mut all = [values, others].concat();
            prop_assert_eq!(&merged, &sketch(&all));
            all.sort_unstable();
            prop_assert_eq!(&merged, &sketch(&all));
        }
    }

    #[test]
    fn memory_depends_on_the_range_and_not_on_the_number() {
        let mut sketch = Sketch::new();
        (0..1_000_000u64).for_each(|n| sketch.record(600_000_000 + n * 500));
        assert!(sketch.counts.len() <= 2 * PER_OCTAVE as usize, "{}", sketch.counts.len());
        let mut steady = Sketch::new();
        (0..1_000_000u64).for_each(|n| steady.record(520_000_000 + n));
        assert_eq!(size_of::<u64>() * steady.counts.capacity(), 64, "on both sides of a multiple");
    }
}
