//! Work of a gateway on whole TCP packets: it completes a checksum, forwards a SYN, answers with a
//! reset.

use crate::checksum::{fold, sum_of_words, update};
use crate::ip::PROTOCOL_TCP;
use crate::packet::IpPacket;
use crate::segment::span;
use crate::tcp::{TcpPacket, flags};
use crate::{Addresses, TcpFields};

/// Hops of a packet that starts here (RFC 1700).
const TTL: u8 = 64;
/// Place of the checksum in a TCP header (RFC 9293 section 3.1).
const CHECKSUM: usize = 16;

impl IpPacket {
    /// The same TCP packet with a complete checksum. Hosts leave the sum to their network card, and
    /// then the field has the sum over the pseudo header only. `None` if the field has neither, so
    /// that a damaged packet does not become a valid one, and for packets without a TCP segment.
    pub fn completed(&self) -> Option<Self> {
        let fields = self.tcp()?;
        let (start, end) = span(self.bytes())?;
        let mut bytes = self.bytes().to_vec();
        let length = u32::try_from(end - start).ok()?;
        let pseudo = fields.addresses.pseudo_header_sum(PROTOCOL_TCP, length);
        let place = start + CHECKSUM;
        let found = u16::from_be_bytes([bytes[place], bytes[place + 1]]);
        bytes[place..place + 2].fill(0);
        let segment = &bytes[start..end];
        let odd = segment.len() % 2;
        let last = segment.last().filter(|_| odd == 1).map_or(0, |byte| u64::from(*byte) << 8);
        let sum = pseudo + sum_of_words(&segment[..segment.len() - odd]) + last;
        let complete = fold(sum);
        let is_valid = found == complete || found == !fold(pseudo);
        bytes[place..place + 2].copy_from_slice(&complete.to_be_bytes());
        is_valid.then(|| Self::read(&bytes)).flatten()
    }

    /// The packet after this hop: TTL or hop limit less by one. `None` if it ends here (RFC 1812
    /// section 5.3.1, RFC 8200 section 3).
    pub fn forwarded(&self) -> Option<Self> {
        let mut bytes = self.bytes().to_vec();
        let place = if bytes[0] >> 4 == 4 { 8 } else { 7 };
        let left = bytes[place].checked_sub(1).filter(|left| *left > 0)?;
        let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let before = word(&bytes, 8);
        bytes[place] = left;
        if place == 8 {
            let checksum = update(word(&bytes, 10), before, word(&bytes, 8));
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        Self::read(&bytes)
    }

    /// DSCP in the upper six bits, as IP_TOS takes it. The bits of ECN are zero.
    pub fn dscp(&self) -> u8 {
        let bytes = self.bytes();
        let class = if bytes[0] >> 4 == 4 { bytes[1] } else { bytes[0] << 4 | bytes[1] >> 4 };
        class & !3
    }
}

impl TcpFields {
    /// The reset by which a closed port answers this segment, a SYN without ACK (RFC 9293
    /// section 3.10.7.1).
    pub fn refusal(&self) -> Option<IpPacket> {
        let addresses = match self.addresses {
            Addresses::V4(source, destination) => Addresses::V4(destination, source),
            Addresses::V6(source, destination) => Addresses::V6(destination, source),
        };
        let length = self.payload + u32::from(self.flags & flags::SYN != 0);
        let packet = TcpPacket {
            addresses,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ttl: TTL,
            acknowledgement: self.sequence.wrapping_add(length),
            flags: flags::RST | flags::ACK,
            ..TcpPacket::default()
        };
        let mut out = Vec::new();
        packet.write(0, &mut out);
        IpPacket::read(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::ones_complement_sum;

    /// A SYN over each version of IP, with four bytes of data.
    fn syns() -> [Vec<u8>; 2] {
        let four = Addresses::V4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let six = Addresses::V6([0xfd; 16].into(), [0xfe; 16].into());
        [four, six].map(|addresses| {
            let mut bytes = Vec::new();
            let packet = TcpPacket {
                addresses,
                source_port: 5001,
                destination_port: 80,
                ttl: 3,
                dscp_ecn: 0xbb,
                sequence: u32::MAX,
                flags: flags::SYN,
                mss: Some(1460),
                payload_len: 4,
                ..TcpPacket::default()
            };
            packet.write(0, &mut bytes);
            bytes
        })
    }

    fn read(bytes: &[u8]) -> IpPacket {
        IpPacket::read(bytes).unwrap()
    }

    #[test]
    fn a_sum_that_was_left_to_the_card_is_completed_and_a_wrong_one_is_not() {
        for mut bytes in syns() {
            let whole = read(&bytes);
            assert_eq!(whole.completed().as_ref(), Some(&whole));
            let (start, end) = span(&bytes).unwrap();
            // As Linux leaves it: the sum over the pseudo header, without the complement.
            let addresses = whole.tcp().unwrap().addresses;
            let partial = !fold(addresses.pseudo_header_sum(PROTOCOL_TCP, (end - start) as u32));
            bytes[start + 16..start + 18].copy_from_slice(&partial.to_be_bytes());
            assert_eq!(read(&bytes).completed(), Some(whole));
            bytes[start + 17] ^= 1;
            assert_eq!(read(&bytes).completed(), None);
        }
    }

    #[test]
    fn an_odd_byte_of_data_is_in_the_sum() {
        let [bytes, _] = syns();
        let mut odd = bytes[..bytes.len() - 3].to_vec();
        odd[3] -= 3;
        *odd.last_mut().unwrap() = 7;
        let (start, end) = span(&odd).unwrap();
        let addresses = read(&odd).tcp().unwrap().addresses;
        let pseudo = addresses.pseudo_header_sum(PROTOCOL_TCP, (end - start) as u32);
        odd[start + 16..start + 18].copy_from_slice(&(!fold(pseudo)).to_be_bytes());
        let complete = read(&odd).completed().unwrap();
        let sum = u64::from(ones_complement_sum(&complete.bytes()[start..])) + pseudo;
        assert_eq!(fold(sum), 0);
    }

    #[test]
    fn a_forwarded_packet_has_one_hop_less_and_the_last_one_ends() {
        for bytes in syns() {
            let packet = read(&bytes);
            let next = packet.forwarded().unwrap();
            if bytes[0] >> 4 == 4 {
                assert_eq!(ones_complement_sum(&next.bytes()[..20]), 0xffff);
            }
            assert!(next.forwarded().is_some_and(|last| last.forwarded().is_none()));
            assert_eq!(next.tcp(), packet.tcp());
        }
    }

    #[test]
    fn the_bits_of_ecn_are_no_dscp() {
        for bytes in syns() {
            assert_eq!(read(&bytes).dscp(), 0xb8);
        }
    }

    #[test]
    fn a_refusal_acknowledges_the_syn_and_its_data() {
        for bytes in syns() {
            let packet = read(&bytes);
            let answer = packet.tcp().unwrap().refusal().unwrap();
            assert_eq!(answer.completed().as_ref(), Some(&answer));
            let (fields, asked) = (answer.tcp().unwrap(), packet.tcp().unwrap());
            assert_eq!(
                (answer.source(), answer.destination()),
                (packet.destination(), packet.source())
            );
            assert_eq!((fields.source_port, fields.destination_port), (80, 5001));
            assert_eq!((fields.sequence, fields.acknowledgement), (0, 4));
            assert_eq!(fields.flags, flags::RST | flags::ACK);
            assert_eq!(asked.sequence, u32::MAX);
        }
    }
}
