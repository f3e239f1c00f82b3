//! ICMP messages about a packet that goes no further. If it is too long for the next link:
//! "fragmentation needed" of IPv4 (RFC 792, RFC 1191 section 4) and "packet too big" of IPv6
//! (RFC 4443 section 3.2). If its destination cannot be reached: "destination unreachable" of both
//! (RFC 792; RFC 4443 section 3.1).
//!
//! A message quotes as much of the packet as fits: the whole message has at most 576 bytes with
//! IPv4 (RFC 1812 section 4.3.2.3), 1280 with IPv6 (RFC 4443 section 2.4 c), and no more than the
//! link takes. By the quote the sender finds its connection.

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
/// Types of "destination unreachable", for IPv4 and IPv6.
const UNREACHABLE: [u8; 2] = [3, 1];
/// TTL or hop limit of Linux.
const TTL: u8 = 64;

/// Why a destination cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no route to it.
    Network,
    /// It does not answer to its address.
    Host,
    /// A filter forbids it (RFC 1812 section 5.2.7.1).
    Prohibited,
}

impl Unreachable {
    /// Codes of IPv4 and IPv6.
    const fn codes(self) -> [u8; 2] {
        match self {
            Self::Network => [0, 0],
            Self::Host => [1, 3],
            Self::Prohibited => [13, 1],
        }
    }
}

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
    /// The message of `router` about this packet, which is too long for a link of `mtu` bytes.
    /// `None` about packets other than whole TCP segments: no error is reported about errors
    /// (RFC 1122 section 3.2.2), and hosts send nothing else.
    pub fn too_big(&self, router: IpAddr, mtu: u16) -> Option<Self> {
        self.error(router, mtu, mtu, |version| match version {
            IpVersion::V4 => FRAGMENTATION_NEEDED,
            IpVersion::V6 => PACKET_TOO_BIG,
        })
    }

    /// The message of `router` that this packet cannot reach its destination. `None` about the same
    /// packets as [`too_big`](Self::too_big).
    pub fn unreachable(&self, router: IpAddr, why: Unreachable) -> Option<Self> {
        self.error(router, 0, u16::MAX, |version| {
            let of = |[v4, v6]: [u8; 2]| if version == IpVersion::V4 { v4 } else { v6 };
            [of(UNREACHABLE), of(why.codes())]
        })
    }

    /// A message with `kind` (type and code) and with `rest` in the last two bytes of its header,
    /// of at most `longest` bytes.
    fn error(
        &self,
        router: IpAddr,
        rest: u16,
        longest: u16,
        kind: impl FnOnce(IpVersion) -> [u8; 2],
    ) -> Option<Self> {
        let source = self.tcp()?.addresses;
        let addresses = match (router, source) {
            (IpAddr::V4(router), Addresses::V4(to, _)) => Addresses::V4(router, to),
            (IpAddr::V6(router), Addresses::V6(to, _)) => Addresses::V6(router, to),
            _ => return None,
        };
        let version = addresses.version();
        let total = too_big_bytes(version, u16::try_from(self.bytes().len()).ok()?, longest);
        let payload = total - version.header_bytes();
        let quoted = self.bytes().get(..usize::from(payload - ICMP_HEADER))?;
        let protocol = match version {
            IpVersion::V4 => PROTOCOL_ICMP,
            IpVersion::V6 => PROTOCOL_ICMP_V6,
        };
        let header = IpHeader { addresses, ttl: TTL, protocol, ..IpHeader::default() };
        let mut out = Vec::with_capacity(total.into());
        header.write(payload.into(), &mut out);
        let start = out.len();
        out.extend_from_slice(&kind(version));
        out.extend_from_slice(&[0, 0, 0, 0]); // checksum, and the upper half of the MTU of IPv6
        out.extend_from_slice(&rest.to_be_bytes());
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
    fn a_message_names_why_a_destination_cannot_be_reached() {
        let v4 = packet(Addresses::V4([10, 0, 0, 1].into(), [10, 0, 0, 2].into()));
        let v6 = packet(Addresses::V6([0xfd; 16].into(), [0xfe; 16].into()));
        for (why, codes) in [
            (Unreachable::Network, [[3, 0], [1, 0]]),
            (Unreachable::Host, [[3, 1], [1, 3]]),
            (Unreachable::Prohibited, [[3, 13], [1, 1]]),
        ] {
            let message = v4.unreachable([10, 0, 0, 2].into(), why).unwrap();
            assert_eq!(
                (&message.bytes()[20..22], &message.bytes()[24..28]),
                (&codes[0][..], &[0; 4][..])
            );
            assert_eq!(&message.bytes()[28..], &v4.bytes()[..548]);
            let message = v6.unreachable([0xfe; 16].into(), why).unwrap();
            assert_eq!(
                (&message.bytes()[40..42], &message.bytes()[44..48]),
                (&codes[1][..], &[0; 4][..])
            );
            assert_eq!(message.destination(), IpAddr::from([0xfd; 16]));
        }
        assert_eq!(
            v4.unreachable([0xfe; 16].into(), Unreachable::Host),
            None,
            "two versions of IP"
        );
    }

    #[test]
    fn a_short_packet_is_quoted_whole_and_a_message_fits_the_link() {
        assert_eq!(too_big_bytes(IpVersion::V4, 200, 150), 150);
        assert_eq!(too_big_bytes(IpVersion::V4, 200, 1000), 228);
        assert_eq!(too_big_bytes(IpVersion::V6, 1500, 1400), 1280);
        assert_eq!(too_big_bytes(IpVersion::V4, 201, 199), 198);
    }
}
