//! Content of streams: bytes that follow from their position.

use bytes::Bytes;

/// The pattern repeats after this many bytes, a prime: a shift by a packet or a power of two shows.
const PERIOD: u64 = 251;
const PERIOD_LENGTH: usize = 251;
/// Bytes that are handed over at once.
const PIECE: usize = 64 * 1024;

static PATTERN: [u8; PIECE + PERIOD_LENGTH] = pattern();

#[expect(clippy::cast_possible_truncation, reason = "below 251")]
const fn pattern() -> [u8; PIECE + PERIOD_LENGTH] {
    let mut bytes = [0; PIECE + PERIOD_LENGTH];
    let mut position = 0;
    while position < bytes.len() {
        bytes[position] = (position % PERIOD_LENGTH) as u8;
        position += 1;
    }
    bytes
}

const fn phase(position: u64) -> usize {
    (position % PERIOD) as usize
}

/// The bytes at `position`, at most `wanted`. They are not copied.
pub(crate) fn piece(position: u64, wanted: u64) -> Bytes {
    let length = usize::try_from(wanted).map_or(PIECE, |wanted| wanted.min(PIECE));
    let start = phase(position);
    Bytes::from_static(&PATTERN[start..start + length])
}

/// Returns true if `bytes` are those of `position`.
pub(crate) fn is_at(position: u64, bytes: &[u8]) -> bool {
    bytes.chunks(PIECE).zip(0u64..).all(|(chunk, number)| {
        let start = phase(position + number * PIECE as u64);
        *chunk == PATTERN[start..start + chunk.len()]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_from_their_position() {
        assert_eq!(piece(250, 3).as_ref(), [250, 0, 1]);
        assert_eq!(piece(7, u64::MAX).len(), PIECE);
        let mut long = Vec::new();
        while long.len() < 200_000 {
            let position = 500 + long.len() as u64;
            long.extend_from_slice(&piece(position, 200_000 - long.len() as u64));
        }
        assert!(is_at(500, &long));
        assert!(!is_at(501, &long));
        long[150_000] ^= 1;
        assert!(!is_at(500, &long));
    }
}
