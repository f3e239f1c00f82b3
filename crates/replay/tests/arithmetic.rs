//! The arithmetic of `bpf/bentpipe.h` and `bpf/log.h` against that of floating point and 128 bits.

use proptest::prelude::*;
use replay::{exp2, log2, mul_shift, sqrt};

const LOG_ONE: f64 = 16_777_216.0;
const POWER_ONE: f64 = 4_294_967_296.0;

proptest! {
    #[test]
    fn a_logarithm_is_right_to_23_bits(value in 1..u64::MAX, shift in 0..64_u32) {
        let value = (value >> shift).max(1);
        let exact = (value as f64).log2() - 16.0;
        let error = log2(value) as f64 / LOG_ONE - exact;
        prop_assert!(error.abs() < 2.0 / LOG_ONE, "log2 of {value} is off by {error}");
    }

    #[test]
    fn a_power_is_right_to_26_bits_or_its_last_one(exponent in (-32_i64 << 24)..(31 << 24)) {
        let exact = (exponent as f64 / LOG_ONE).exp2();
        let error = exp2(exponent) as f64 / POWER_ONE - exact;
        prop_assert!(
            error.abs() < exact / (4.0 * LOG_ONE) + 1.0 / POWER_ONE,
            "2^{exponent} is off by {error}"
        );
    }

    #[test]
    fn a_root_is_the_largest_one_that_fits(value in 0..(1_u64 << 63), shift in 0..63_u32) {
        let value = value >> shift;
        let root = sqrt(value);
        prop_assert!(root * root <= value);
        prop_assert!(u128::from(root + 1).pow(2) > u128::from(value));
    }

    #[test]
    fn a_product_is_shifted_exactly_or_saturates(a: u64, b: u64, low in 0..64_u32, shift in 1..64_u32) {
        let b = b >> low;
        let exact = (u128::from(a) * u128::from(b)) >> shift;
        prop_assert_eq!(mul_shift(a, b, shift), u64::try_from(exact).unwrap_or(u64::MAX));
    }
}

#[test]
fn the_ends_of_the_ranges_are_answered() {
    assert_eq!(log2(0), -16 << 24);
    assert_eq!(log2(1 << 16), 0);
    assert_eq!((exp2(0), exp2(31 << 24), exp2(-33 << 24)), (1 << 32, u64::MAX, 0));
    assert_eq!((sqrt(0), sqrt(1), sqrt((1 << 63) - 1)), (0, 1, 3_037_000_499));
}
