//! The Internet checksum (RFC 1071).

/// Sum of the 16-bit words of an even number of bytes, carries not yet added (RFC 1071 section 2).
pub(crate) fn sum_of_words(bytes: &[u8]) -> u64 {
    debug_assert!(bytes.len().is_multiple_of(2));
    bytes.chunks_exact(2).map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// The checksum of these bytes alone: zero if they have a valid one, and else what belongs into its
/// field if that is zero.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    fold(sum(bytes))
}

/// The sum of any number of bytes. An odd last byte is padded with zero.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let (even, odd) = bytes.split_at(bytes.len() & !1);
    sum_of_words(even) + odd.first().map_or(0, |byte| u64::from(*byte) << 8)
}

/// Adds the carries back and takes the complement (RFC 1071 section 1).
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The checksum after a word that it covers has changed (RFC 1624 equation 3).
pub(crate) fn update(checksum: u16, before: u16, after: u16) -> u16 {
    fold(u64::from(!checksum) + u64::from(!before) + u64::from(after))
}

/// For tests: the text of RFC 1071 taken literally, a sum with end-around carry at every step, over
/// every byte. A packet with a valid checksum in place gives 0xffff.
#[cfg(test)]
pub(crate) fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u16;
    for (i, byte) in bytes.iter().enumerate() {
        let word = if i % 2 == 0 { u16::from(*byte) << 8 } else { u16::from(*byte) };
        let (next, carry) = sum.overflowing_add(word);
        sum = next + u16::from(carry);
    }
    sum
}
