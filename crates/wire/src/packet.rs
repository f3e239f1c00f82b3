//! Parsing of whole IP packets: destination, ports and the ECN field.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::checksum::update;
use crate::ip::{CE, ECN_MASK, IPV4_HEADER, IPV6_HEADER, IpVersion, PROTOCOL_TCP, PROTOCOL_UDP};

/// A whole IP packet as a host sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpPacket {
    version: IpVersion,
    bytes: Box<[u8]>,
}

impl IpPacket {
    /// Parses the packet in `bytes`; `None` if it is none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let version = match bytes.first()? >> 4 {
            4 => IpVersion::V4,
            6 => IpVersion::V6,
            _ => return None,
        };
        let is_whole = bytes.len() >= usize::from(version.header_bytes());
        is_whole.then(|| Self { version, bytes: bytes.into() })
    }

    /// All bytes of the packet.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The source address.
    pub fn source(&self) -> IpAddr {
        match self.version {
            IpVersion::V4 => Ipv4Addr::from(self.field(12)).into(),
            IpVersion::V6 => Ipv6Addr::from(self.field(8)).into(),
        }
    }

    /// The destination address.
    pub fn destination(&self) -> IpAddr {
        match self.version {
            IpVersion::V4 => Ipv4Addr::from(self.field(16)).into(),
            IpVersion::V6 => Ipv6Addr::from(self.field(24)).into(),
        }
    }

    /// Source and destination ports of a TCP segment or UDP datagram. `None` for later fragments
    /// and behind extension headers.
    pub fn ports(&self) -> Option<(u16, u16)> {
        let (protocol, offset, header) = match self.version {
            IpVersion::V4 => {
                (self.bytes[9], self.word(6) & 0x1fff, usize::from(self.bytes[0] & 0xf) * 4)
            }
            IpVersion::V6 => (self.bytes[6], 0, usize::from(IPV6_HEADER)),
        };
        let has_ports = matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP)
            && offset == 0
            && header >= usize::from(IPV4_HEADER)
            && self.bytes.len() >= header + 4;
        has_ports.then(|| (self.word(header), self.word(header + 2)))
    }

    /// One number for addresses, protocol and ports, by which queues keep flows apart: a hash
    /// (FNV-1a). Later fragments have no ports.
    pub fn flow_key(&self) -> u32 {
        const OFFSET: u32 = 0x811c_9dc5;
        const PRIME: u32 = 0x0100_0193;
        let (protocol, addresses) = match self.version {
            IpVersion::V4 => (self.bytes[9], &self.bytes[12..20]),
            IpVersion::V6 => (self.bytes[6], &self.bytes[8..40]),
        };
        let (source, destination) = self.ports().unwrap_or_default();
        let ports = source.to_be_bytes().into_iter().chain(destination.to_be_bytes());
        let bytes = addresses.iter().copied().chain([protocol]).chain(ports);
        bytes.fold(OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
    }

    /// The two bits of the ECN field (RFC 3168 section 5).
    pub fn ecn(&self) -> u8 {
        // The traffic class of IPv6 lies across the first two bytes.
        let field = match self.version {
            IpVersion::V4 => self.bytes[1],
            IpVersion::V6 => self.bytes[1] >> 4,
        };
        field & ECN_MASK
    }

    /// Sets the ECN field to "congestion experienced" and updates the checksum that IPv4 has over
    /// its header.
    pub fn mark(&mut self) {
        match self.version {
            IpVersion::V4 => {
                let before = self.word(0);
                self.bytes[1] |= CE;
                let checksum = update(self.word(10), before, self.word(0));
                self.bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            IpVersion::V6 => self.bytes[1] |= CE << 4,
        }
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.field(at))
    }

    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|byte| self.bytes[at + byte])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::ECT_0;
    use crate::{Addresses, TcpPacket, tcp::flags};

    /// The same segment over both versions of IP.
    fn packets(dscp_ecn: u8) -> [IpPacket; 2] {
        [
            Addresses::V4([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            Addresses::V6([0xfd; 16].into(), [0xfe; 16].into()),
        ]
        .map(|addresses| {
            let mut bytes = Vec::new();
            let packet = TcpPacket {
                addresses,
                source_port: 5001,
                destination_port: 40_000,
                ttl: 64,
                dscp_ecn,
                flags: flags::ACK,
                ..TcpPacket::default()
            };
            packet.write(0, &mut bytes);
            IpPacket::read(&bytes).unwrap()
        })
    }

    #[test]
    fn a_flow_has_one_key_and_its_ports_and_addresses_change_it() {
        for packet in packets(0) {
            let again = IpPacket::read(packet.bytes()).unwrap();
            assert_eq!(packet.flow_key(), again.flow_key());
            let (address, port) = match packet.version {
                IpVersion::V4 => (19, 23),
                IpVersion::V6 => (39, 43),
            };
            for place in [address, port] {
                let mut bytes = packet.bytes().to_vec();
                bytes[place] ^= 1;
                let other = IpPacket::read(&bytes).unwrap();
                assert_ne!(packet.flow_key(), other.flow_key(), "byte {place}");
            }
        }
    }

    #[test]
    fn destination_ports_and_the_ecn_field_are_found() {
        let destinations = [IpAddr::from([10, 0, 0, 2]), IpAddr::from([0xfe; 16])];
        for (packet, destination) in packets(ECT_0).into_iter().zip(destinations) {
            assert_eq!(packet.destination(), destination);
            assert_eq!(packet.ports(), Some((5001, 40_000)));
            assert_eq!(packet.ecn(), ECT_0);
        }
    }

    #[test]
    fn a_marked_packet_is_the_one_that_would_have_been_sent_marked() {
        for dscp_ecn in [1, 2, 0xb9] {
            for (mut marked, expected) in packets(dscp_ecn).into_iter().zip(packets(dscp_ecn | 3)) {
                marked.mark();
                assert_eq!(marked, expected);
                assert_eq!(marked.ecn(), CE);
            }
        }
    }

    #[test]
    fn ports_are_those_of_tcp_and_udp_only_and_must_be_there() {
        for (packet, protocol) in packets(0).into_iter().zip([9, 6]) {
            let mut bytes = packet.bytes().to_vec();
            bytes[protocol] = PROTOCOL_UDP;
            assert_eq!(IpPacket::read(&bytes).unwrap().ports(), Some((5001, 40_000)));
            bytes[protocol] = 1;
            assert_eq!(IpPacket::read(&bytes).unwrap().ports(), None);
            let cut = packet.bytes().len() - 17;
            assert_eq!(IpPacket::read(&packet.bytes()[..cut]).unwrap().ports(), None);
        }
    }

    #[test]
    fn a_header_shorter_than_any_has_no_ports() {
        let [mut packet, _] = packets(0);
        packet.bytes[0] = 0x44;
        assert_eq!(packet.ports(), None);
    }

    #[test]
    fn what_is_no_ip_packet_is_none() {
        assert_eq!(IpPacket::read(&[]), None);
        assert_eq!(IpPacket::read(&[0x45; 19]), None);
        assert_eq!(IpPacket::read(&[0x60; 39]), None);
        assert_eq!(IpPacket::read(&[0x50; 60]), None);
    }
}
