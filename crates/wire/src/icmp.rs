//! The ICMP message with which a router answers a packet that is too long for the next link: "fragmentation
//! needed" of IPv4 (RFC 792, RFC 1191 section 4) and "packet too big" of IPv6 (RFC 4443 section 3.2).
//!
//! It quotes as much of the packet as fits: the whole message has at most 576 bytes with IPv4 (RFC 1812
//! section 4.3.2.3), 1280 with IPv6 (RFC 4443 section 2.4 c), and no more than the link takes. By the quote
//! the sender finds its connection.

use std::net::IpAddr;

use crate::checksum::{fold, sum_of_words};
use crate::ip::{Addresses, IpHeader, IpVersion};
use crate::packet::IpPacket;

/// Protocol number of ICMP.
pub const PROTOCOL_ICMP: u8 = 1;
/// Protocol number of ICMPv6.
pub const PROTOCOL_ICMP_V6: u8 = 58;
/// Bytes of its header: type, code, checksum, and the MTU of the next link.
pub const ICMP_HEADER: u16 = 8;

/// Longest messages of IPv4 and of IPv6.
const LONGEST: (u16, u16) = (576, 1280);
/// Destination unreachable, because fragmentation was needed (RFC 792).
const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];
/// Packet too big (RFC 4443 section 3.2).
const PACKET_TOO_BIG: [u8; 2] = [2, 0];
/// TTL or hop limit of Linux.
const TTL: u8 = 64;

/// Length of the message about a packet of `bytes` bytes, as an IP packet.
pub fn too_big_bytes(version: IpVersion, bytes: u16, mtu: u16) -> u16 {
    let longest = match version {
        IpVersion::V4 => LONGEST.0,
        IpVersion::V6 => LONGEST.1,
    };
    let headers = version.header_bytes() + ICMP_HEADER;
    // Whole words, of which checksums are made.
    (bytes.saturating_add(headers).min(longest).min(mtu) & !1).max(headers)
}

impl IpPacket {
    /// The message of `router` about this packet, which is too long for a link of `mtu` bytes. `None` about
    /// packets other than whole TCP segments: no error is reported about errors (RFC 1122 section 3.2.2), and
    /// hosts send nothing else.
    pub fn too_big(&self, router: IpAddr, mtu: u16) -> Option<Self> {
        let source = self.tcp()?.addresses;
        let addresses = match (router, source) {
            (IpAddr::V4(router), Addresses::V4(to, _)) => Addresses::V4(router, to),
            (IpAddr::V6(router), Addresses::V6(to, _)) => Addresses::V6(router, to),
            _ => return None,
        };
        let version = addresses.version();
        let total = too_big_bytes(version, u16::try_from(self.bytes().len()).ok()?, mtu);
        let payload = total - version.header_bytes();
        let quoted = self.bytes().get(..usize::from(payload - ICMP_HEADER))?;
        let (protocol, code) = match version {
            IpVersion::V4 => (PROTOCOL_ICMP, FRAGMENTATION_NEEDED),
            IpVersion::V6 => (PROTOCOL_ICMP_V6, PACKET_TOO_BIG),
        };
        let header = IpHeader { addresses, ttl: TTL, protocol, ..IpHeader::default() };
        let mut out = Vec::with_capacity(total.into());
        header.write(payload.into(), &mut out);
        let start = out.len();
        out.extend_from_slice(&code);
        out.extend_from_slice(&[0, 0, 0, 0]); // checksum, and the upper half of the MTU of IPv6
        out.extend_from_slice(&mtu.to_be_bytes());
        out.extend_from_slice(quoted);
        let pseudo_header = match version {
            IpVersion::V4 => 0,
            IpVersion::V6 => addresses.pseudo_header_sum(protocol, payload.into()),
        };
        let checksum = fold(pseudo_header + sum_of_words(&out[start..]));
        out[start + 2..start + 4].copy_from_slice(&checksum.to_be_bytes());
        Self::read(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpPacket;
    use crate::checksum::ones_complement_sum;
    use crate::tcp::flags;

    fn packet(addresses: Addresses) -> IpPacket {
        let mut bytes = Vec::new();
        let packet = TcpPacket {
            addresses,
            source_port: 5001,
            destination_port: 40_000,
            ttl: 64,
            sequence: 77,
            flags: flags::ACK,
            payload_len: 1441,
            ..TcpPacket::default()
        };
        packet.write(usize::MAX, &mut bytes);
        IpPacket::read(&bytes).unwrap()
    }

    #[test]
    fn the_message_of_ipv4_has_the_mtu_and_quotes_up_to_576_bytes() {
        let packet = packet(Addresses::V4([10, 0, 0, 1].into(), [10, 0, 0, 2].into()));
        let message = packet.too_big([10, 0, 0, 9].into(), 1400).unwrap();
        let bytes = message.bytes();
        assert_eq!(bytes.len(), 576);
        assert_eq!(message.destination(), IpAddr::from([10, 0, 0, 1]));
        assert_eq!((bytes[9], &bytes[20..22]), (PROTOCOL_ICMP, &FRAGMENTATION_NEEDED[..]));
        assert_eq!(&bytes[24..28], &[0, 0, 0x05, 0x78], "1400");
        assert_eq!(&bytes[28..], &packet.bytes()[..548]);
        assert_eq!(ones_complement_sum(&bytes[20..]), 0xffff);
        assert_eq!(message.too_big([10, 0, 0, 9].into(), 500), None, "no error about an error");
    }

    #[test]
    fn the_message_of_ipv6_has_a_checksum_over_its_addresses() {
        let addresses = Addresses::V6([0xfd; 16].into(), [0xfe; 16].into());
        let packet = packet(addresses);
        let message = packet.too_big([0xfc; 16].into(), 1280).unwrap();
        let bytes = message.bytes();
        assert_eq!((bytes.len(), bytes[6], &bytes[40..42]), (1280, 58, &PACKET_TOO_BIG[..]));
        assert_eq!(&bytes[44..48], &[0, 0, 0x05, 0x00]);
        assert_eq!(&bytes[48..], &packet.bytes()[..1232]);
        let mut pseudo = [[0xfc; 16], [0xfd; 16]].concat();
        pseudo.extend([0, 0, 0x04, 0xd8, 0, 0, 0, 58]);
        pseudo.extend(&bytes[40..]);
        assert_eq!(ones_complement_sum(&pseudo), 0xffff);
    }

    #[test]
    fn a_short_packet_is_quoted_whole_and_a_message_fits_the_link() {
        assert_eq!(too_big_bytes(IpVersion::V4, 200, 150), 150);
        assert_eq!(too_big_bytes(IpVersion::V4, 200, 1000), 228);
        assert_eq!(too_big_bytes(IpVersion::V6, 1500, 1400), 1280);
        assert_eq!(too_big_bytes(IpVersion::V4, 201, 199), 198);
    }
}
