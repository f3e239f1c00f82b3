//! CRC32c, the checksum of SCTP (RFC 9260 appendix A), one byte at a time.

/// Reflected form of the polynomial of Castagnoli.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Contribution of each byte to a CRC.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The CRC32c of these bytes.
pub fn crc32c(bytes: &[u8]) -> u32 {
    !bytes
        .iter()
        .fold(!0, |crc, byte| (crc >> 8) ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of catalogues of CRCs, and the examples of RFC 3720 appendix B.4 with 32
    /// equal bytes.
    #[test]
    fn the_published_values() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }
}
