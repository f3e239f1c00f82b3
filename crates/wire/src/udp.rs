//! The header of a UDP datagram (RFC 768).

use crate::checksum::{fold, sum_of_words};
use crate::ip::{Addresses, PROTOCOL_UDP};

/// Bytes of the header.
pub const HEADER: u16 = 8;

/// The header of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

impl UdpHeader {
    /// Appends the datagram with `payload`.
    ///
    /// # Errors
    /// The length of the datagram, if its field of 16 bits cannot hold it.
    pub fn write(
        &self,
        addresses: Addresses,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), usize> {
        let total = usize::from(HEADER) + payload.len();
        let length = u16::try_from(total).map_err(|_| total)?;
        let words = [self.source_port, self.destination_port, length];
        // An odd last byte is padded with zero for the checksum.
        let (even, odd) = payload.split_at(payload.len() & !1);
        let last = odd.first().map_or(0, |byte| u64::from(*byte) << 8);
        let header: u64 = words.iter().map(|word| u64::from(*word)).sum();
        let pseudo_header = addresses.pseudo_header_sum(PROTOCOL_UDP, u32::from(length));
        let checksum = match fold(pseudo_header + header + sum_of_words(even) + last) {
            // Zero would mean that there is none.
            0 => u16::MAX,
            checksum => checksum,
        };
        out.extend(words.iter().chain([&checksum]).flat_map(|word| word.to_be_bytes()));
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Parses the header of the datagram in `bytes`. Returns it with the payload; `None` if the
    /// bytes are too few for the header or for the length that it names.
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (header, _) = bytes.split_first_chunk::<{ HEADER as usize }>()?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let payload = bytes.get(usize::from(HEADER)..usize::from(word(4)))?;
        Some((Self { source_port: word(0), destination_port: word(2) }, payload))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checksum::ones_complement_sum;

    proptest! {
        #[test]
        fn a_datagram_is_read_as_it_was_written_and_its_checksum_verifies(
            addresses in any::<([u8; 4], [u8; 4])>(), ports in any::<(u16, u16)>(),
            payload in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let header = UdpHeader { source_port: ports.0, destination_port: ports.1 };
            let mut bytes = Vec::new();
            let ip = Addresses::V4(addresses.0.into(), addresses.1.into());
            header.write(ip, &payload, &mut bytes).unwrap();
            prop_assert_eq!(UdpHeader::read(&bytes), Some((header, &payload[..])));
            let mut summed = [addresses.0, addresses.1].concat();
            summed.extend([0, PROTOCOL_UDP]);
            summed.extend((bytes.len() as u16).to_be_bytes());
            summed.extend(&bytes);
            prop_assert_eq!(ones_complement_sum(&summed), 0xffff);
            prop_assert_eq!(UdpHeader::read(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn a_checksum_of_zero_is_written_as_all_ones() {
        // The sum of all else is 0xffff: 17 + 8 + 8 of protocol and lengths, and the source port.
        let header = UdpHeader { source_port: 0xffff - 33, destination_port: 0 };
        let mut bytes = Vec::new();
        header.write(Addresses::default(), &[], &mut bytes).unwrap();
        assert_eq!(bytes[6..], [0xff, 0xff]);
    }

    #[test]
    fn a_payload_beyond_the_length_field_is_refused() {
        let written =
            UdpHeader::default().write(Addresses::default(), &[0; 65_528], &mut Vec::new());
        assert_eq!(written, Err(65_536));
    }
}
