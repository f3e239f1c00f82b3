//! Sequence numbers: 32 bits that wrap on the wire, and 64 bits internally, which do not.
//!
//! TCP numbers bytes. Internally, its SYN is number 0, the first byte is number 1, and the FIN
//! follows the last byte. STP numbers packets.

/// The sequence space of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    initial: u32,
}

impl Space {
    /// Number 0 is `initial` on the wire.
    #[inline]
    pub const fn new(initial: u32) -> Self {
        Self { initial }
    }

    /// The number as it is on the wire, where it wraps.
    #[inline]
    pub const fn wrap(self, number: u64) -> u32 {
        self.initial.wrapping_add(number as u32)
    }

    /// The number of `wire`, taken as the one within 2^31 of `near` (RFC 9293 section 3.4);
    /// `None` if that lies before number 0.
    #[inline]
    pub fn unwrap(self, wire: u32, near: u64) -> Option<u64> {
        let distance = wire.wrapping_sub(self.wrap(near)) as i32;
        // Streams end far below 2^63, so the sign tells what lies before number 0.
        let number = near.wrapping_add_signed(i64::from(distance));
        (number as i64 >= 0).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_wrap_past_the_end_of_the_space() {
        let space = Space::new(u32::MAX - 1);
        assert_eq!(space.wrap(3), 1);
        assert_eq!(space.unwrap(1, 2), Some(3));
    }

    #[test]
    fn a_number_before_the_first_is_none() {
        assert_eq!(Space::new(100).unwrap(99, 0), None);
    }

    proptest! {
        #[test]
        fn wrapping_is_undone_near_the_number(
            initial: u32, near in 0u64..1 << 40, distance in -(1i64 << 31)..1 << 31,
        ) {
            let space = Space::new(initial);
            if let Some(number) = near.checked_add_signed(distance) {
                prop_assert_eq!(space.unwrap(space.wrap(number), near), Some(number));
            }
        }
    }
}
