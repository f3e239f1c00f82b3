//! What the emulator reads and writes of an IP packet: destination, ports and the ECN field.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use network::Ecn;

/// Of IPv4 without options (RFC 791 section 3.1).
const SHORTEST_IPV4_HEADER: usize = 20;
/// Of IPv6 without extensions (RFC 8200 section 3).
const IPV6_HEADER: usize = 40;
/// All four combinations of the ECN field's two bits but 0 may be marked; this one is (RFC 3168
/// section 5).
const CONGESTION_EXPERIENCED: u8 = 3;
const TCP: u8 = 6;

/// A whole IP packet as a host sent it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IpPacket(Box<[u8]>);

impl IpPacket {
    /// The packet in `bytes`; `None` if it is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let header = match bytes.first()? >> 4 {
            4 => SHORTEST_IPV4_HEADER,
            6 => IPV6_HEADER,
            _ => return None,
        };
        (bytes.len() >= header).then(|| Self(bytes.into()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn is_ipv4(&self) -> bool {
        self.0[0] >> 4 == 4
    }

    pub(crate) fn destination(&self) -> IpAddr {
        if self.is_ipv4() {
            Ipv4Addr::from(self.field(16)).into()
        } else {
            Ipv6Addr::from(self.field(24)).into()
        }
    }

    /// Source and destination ports of a TCP segment that is no later fragment and that no extension
    /// stands before.
    pub(crate) fn tcp_ports(&self) -> Option<(u16, u16)> {
        let (protocol, offset, header) = if self.is_ipv4() {
            let offset = self.word(6) & 0x1fff;
            (self.0[9], offset, usize::from(self.0[0] & 0xf) * 4)
        } else {
            (self.0[6], 0, IPV6_HEADER)
        };
        let has_ports = protocol == TCP && offset == 0 && self.0.len() >= header + 4;
        has_ports.then(|| (self.word(header), self.word(header + 2)))
    }

    pub(crate) fn ecn(&self) -> Ecn {
        // The traffic class of IPv6 lies across the first two bytes.
        let field = if self.is_ipv4() { self.0[1] } else { self.0[1] >> 4 };
        match field & 3 {
            0 => Ecn::NotCapable,
            CONGESTION_EXPERIENCED => Ecn::Marked,
            _ => Ecn::Capable,
        }
    }

    /// Sets the ECN field to "congestion experienced" and mends the checksum that IPv4 has over its
    /// header (RFC 1624 equation 3).
    pub(crate) fn mark(&mut self) {
        if !self.is_ipv4() {
            self.0[1] |= CONGESTION_EXPERIENCED << 4;
            return;
        }
        let before = self.word(0);
        self.0[1] |= CONGESTION_EXPERIENCED;
        let after = self.word(0);
        let mut sum = u32::from(!self.word(10)) + u32::from(!before) + u32::from(after);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        self.0[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.field(at))
    }

    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|byte| self.0[at + byte])
    }
}

#[cfg(test)]
mod tests {
    use recording::{Addresses, TcpPacket, flags};

    use super::*;

    /// The same segment over both versions of IP.
    fn packets(dscp_ecn: u8) -> [IpPacket; 2] {
        [
            Addresses::V4(runtime::ipv4(0), runtime::ipv4(1)),
            Addresses::V6(runtime::ipv6(0), runtime::ipv6(1)),
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
    fn destination_ports_and_the_ecn_field_are_found() {
        for packet in packets(2) {
            assert_eq!(runtime::node(packet.destination()), Some(1));
            assert_eq!(packet.tcp_ports(), Some((5001, 40_000)));
            assert_eq!(packet.ecn(), Ecn::Capable);
        }
    }

    #[test]
    fn a_marked_packet_is_the_one_that_would_have_been_sent_marked() {
        for dscp_ecn in [1, 2, 0xb9] {
            for (mut marked, expected) in packets(dscp_ecn).into_iter().zip(packets(dscp_ecn | 3)) {
                marked.mark();
                assert_eq!(marked, expected);
                assert_eq!(marked.ecn(), Ecn::Marked);
            }
        }
    }

    #[test]
    fn what_is_no_tcp_segment_has_no_ports() {
        for (packet, protocol) in packets(0).into_iter().zip([9, 6]) {
            let mut bytes = packet.bytes().to_vec();
            bytes[protocol] = 17;
            assert_eq!(IpPacket::read(&bytes).unwrap().tcp_ports(), None);
            let cut = packet.bytes().len() - 17;
            assert_eq!(IpPacket::read(&packet.bytes()[..cut]).unwrap().tcp_ports(), None);
        }
    }

    #[test]
    fn what_is_no_ip_packet_is_none() {
        assert_eq!(IpPacket::read(&[]), None);
        assert_eq!(IpPacket::read(&[0x45; 19]), None);
        assert_eq!(IpPacket::read(&[0x60; 39]), None);
        assert_eq!(IpPacket::read(&[0x50; 60]), None);
    }
}
