//! What the emulator reads and writes of an IPv4 packet: destination, ports and the ECN field.

use std::net::Ipv4Addr;

use network::Ecn;

const SHORTEST_HEADER: usize = 20;
/// The lower two bits of the second byte (RFC 3168 section 5).
const ECN_MASK: u8 = 3;
/// All four combinations of the ECN field but 0 may be marked; this one is.
const CONGESTION_EXPERIENCED: u8 = 3;
const TCP: u8 = 6;

/// A whole IPv4 packet as a host sent it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ipv4(Box<[u8]>);

impl Ipv4 {
    /// The packet in `bytes`; `None` if it is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let version = bytes.first()? >> 4;
        (version == 4 && bytes.len() >= SHORTEST_HEADER).then(|| Self(bytes.into()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::new(self.0[16], self.0[17], self.0[18], self.0[19])
    }

    /// Source and destination ports of a TCP segment that is no later fragment.
    pub(crate) fn tcp_ports(&self) -> Option<(u16, u16)> {
        let offset = u16::from_be_bytes([self.0[6], self.0[7]]) & 0x1fff;
        let header = usize::from(self.0[0] & 0xf) * 4;
        let ports = self.0.get(header..header + 4)?;
        let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
        (self.0[9] == TCP && offset == 0).then(|| (port(0), port(2)))
    }

    pub(crate) fn ecn(&self) -> Ecn {
        match self.0[1] & ECN_MASK {
            0 => Ecn::NotCapable,
            CONGESTION_EXPERIENCED => Ecn::Marked,
            _ => Ecn::Capable,
        }
    }

    /// Sets the ECN field to "congestion experienced" and mends the header's checksum (RFC 1624
    /// equation 3).
    pub(crate) fn mark(&mut self) {
        let word = |header: &[u8], at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let before = word(&self.0, 0);
        self.0[1] |= CONGESTION_EXPERIENCED;
        let after = word(&self.0, 0);
        let mut sum = u32::from(!word(&self.0, 10)) + u32::from(!before) + u32::from(after);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        self.0[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use recording::{TcpPacket, flags};

    use super::*;

    fn packet(dscp_ecn: u8) -> Ipv4 {
        let mut bytes = Vec::new();
        let packet = TcpPacket {
            source: [10, 0, 0, 1],
            destination: [10, 0, 0, 2],
            source_port: 5001,
            destination_port: 40_000,
            ttl: 64,
            dscp_ecn,
            flags: flags::ACK,
            ..TcpPacket::default()
        };
        packet.write(0, &mut bytes);
        Ipv4::read(&bytes).unwrap()
    }

    #[test]
    fn destination_ports_and_the_ecn_field_are_found() {
        let packet = packet(2);
        assert_eq!(packet.destination(), Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(packet.tcp_ports(), Some((5001, 40_000)));
        assert_eq!(packet.ecn(), Ecn::Capable);
    }

    #[test]
    fn a_marked_packet_is_the_one_that_would_have_been_sent_marked() {
        for dscp_ecn in [1, 2, 0xb9] {
            let mut marked = packet(dscp_ecn);
            marked.mark();
            assert_eq!(marked, packet(dscp_ecn | 3));
        }
    }

    #[test]
    fn what_is_no_ipv4_packet_is_none() {
        assert_eq!(Ipv4::read(&[]), None);
        assert_eq!(Ipv4::read(&[0x45; 19]), None);
        assert_eq!(Ipv4::read(&[0x60; 40]), None);
    }
}
