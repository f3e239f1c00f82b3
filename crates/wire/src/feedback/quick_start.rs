//! Codes of rates in Quick-Start (RFC 4782 section 3.1): four bits, and code N above zero is 40
//! kbit/s x 2^N.
//!
//! Rates are bytes per second. All of these are whole numbers that 32 bits of floating point hold
//! exactly.

/// Rate of code zero, if it had one: 40 kbit/s.
const UNIT: f32 = 5000.0;
const LARGEST_CODE: u8 = 15;

/// The largest rate of a code that is at most `rate`; zero below the smallest one.
///
/// Senders and routers round down, so that nobody gets more than was asked for or is free.
pub fn round_down(rate: f64) -> f32 {
    let codes = (1..=LARGEST_CODE).rev().map(|code| UNIT * f32::from(1_u16 << code));
    codes.into_iter().find(|coded| f64::from(*coded) <= rate).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_powers_of_two_from_80_kbit_to_1310_mbit() {
        for (kbits, coded) in [
            (79.9, 0.0),
            (80.0, 80.0),
            (159.9, 80.0),
            (160.0, 160.0),
            (5000.0, 2560.0),
            (1_310_720.0, 1_310_720.0),
            (1e9, 1_310_720.0),
        ] {
            assert_eq!(f64::from(round_down(kbits * 125.0)), coded * 125.0, "{kbits} kbit/s");
        }
        assert_eq!(round_down(-1.0), 0.0);
    }
}
