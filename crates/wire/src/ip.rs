//! The Internet Protocol: versions, addresses and headers.
//!
//! IPv4: RFC 791 section 3.1. IPv6: RFC 8200 section 3. ECN: RFC 3168 section 5.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::checksum::{fold, sum, sum_of_words};

/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER: u16 = 20;
/// Bytes of an IPv6 header without extensions.
pub const IPV6_HEADER: u16 = 40;
/// Bytes of the longest packet. The length field has 16 bits. That of IPv6 does not count the
/// header, but no packet here is longer.
pub const LONGEST_PACKET: u16 = u16::MAX;

/// Protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// Protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// Protocol number for experiments (RFC 3692 section 2.1), of protocols without one of their own.
pub const PROTOCOL_EXPERIMENT: u8 = 253;

/// The two bits of ECN in the byte that they share with the DSCP.
pub const ECN_MASK: u8 = 0b11;
/// ECT(0), the code point of packets that routers may mark.
pub const ECT_0: u8 = 0b10;
/// ECT(1): its endpoints use scalable congestion control (RFC 9331).
pub const ECT_1: u8 = 0b01;
/// The code point of a marked packet: congestion experienced.
pub const CE: u8 = 0b11;
/// The lower-effort DSCP 000001 (RFC 8622), above the two bits of ECN.
pub const LOWER_EFFORT: u8 = 1 << 2;

/// Hosts discover the path MTU (RFC 1191) and so forbid routers to fragment.
const DONT_FRAGMENT: u16 = 0x4000;

/// A version of the Internet Protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    schemars(inline)
)]
pub enum IpVersion {
    /// RFC 791.
    #[default]
    #[cfg_attr(feature = "schema", serde(rename = "ipv4"))]
    V4,
    /// RFC 8200.
    #[cfg_attr(feature = "schema", serde(rename = "ipv6"))]
    V6,
}

impl IpVersion {
    /// Bytes of its header without options or extensions.
    pub const fn header_bytes(self) -> u16 {
        match self {
            Self::V4 => IPV4_HEADER,
            Self::V6 => IPV6_HEADER,
        }
    }
}

/// Source and destination of an IP packet. Both have the same version of IP, which is that of the
/// packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Source and destination of an IPv4 packet.
    V4(Ipv4Addr, Ipv4Addr),
    /// Source and destination of an IPv6 packet.
    V6(Ipv6Addr, Ipv6Addr),
}

impl Default for Addresses {
    fn default() -> Self {
        Self::V4(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED)
    }
}

impl Addresses {
    /// The version of the packet.
    pub const fn version(self) -> IpVersion {
        match self {
            Self::V4(..) => IpVersion::V4,
            Self::V6(..) => IpVersion::V6,
        }
    }

    /// Sum over the pseudo header of a payload of `length` bytes, carries not yet added (RFC 9293
    /// section 3.1, RFC 8200 section 8.1).
    pub(crate) fn pseudo_header_sum(self, protocol: u8, length: u32) -> u64 {
        let addresses = match self {
            Self::V4(source, destination) => {
                sum_of_words(&source.octets()) + sum_of_words(&destination.octets())
            }
            Self::V6(source, destination) => {
                sum_of_words(&source.octets()) + sum_of_words(&destination.octets())
            }
        };
        addresses + u64::from(protocol) + u64::from(length)
    }

    /// The Internet checksum over the pseudo header and what follows the header of IP: zero if
    /// `bytes` have a valid one, and else what belongs into its field if that is zero.
    pub fn checksum(self, protocol: u8, bytes: &[u8]) -> u16 {
        fold(self.pseudo_header_sum(protocol, bytes.len() as u32) + sum(bytes))
    }
}

/// The header of an IP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpHeader {
    /// Source and destination address.
    pub addresses: Addresses,
    /// Identification; IPv6 has none.
    pub identification: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub dscp_ecn: u8,
    /// Number of the protocol that the packet carries.
    pub protocol: u8,
}

impl IpHeader {
    /// Appends the header of a packet with `payload` bytes behind it.
    ///
    /// A length above 65,535 bytes is written as zero, as Linux does for segments that the network
    /// card will cut. Wireshark then goes by the length of the captured frame.
    pub fn write(&self, payload: u32, out: &mut Vec<u8>) {
        match self.addresses {
            Addresses::V4(source, destination) => {
                self.write_ipv4(source, destination, payload, out);
            }
            Addresses::V6(source, destination) => {
                self.write_ipv6(source, destination, payload, out);
            }
        }
    }

    fn write_ipv4(&self, source: Ipv4Addr, destination: Ipv4Addr, payload: u32, out: &mut Vec<u8>) {
        let start = out.len();
        let total = payload.saturating_add(u32::from(IPV4_HEADER));
        out.extend_from_slice(&[0x45, self.dscp_ecn]); // version 4, five words
        out.extend_from_slice(&length_field(total).to_be_bytes());
        out.extend_from_slice(&self.identification.to_be_bytes());
        out.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        out.extend_from_slice(&[self.ttl, self.protocol, 0, 0]);
        out.extend_from_slice(&source.octets());
        out.extend_from_slice(&destination.octets());
        let checksum = fold(sum_of_words(&out[start..]));
        out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    }

    /// The length does not count the header, and there is no checksum.
    fn write_ipv6(&self, source: Ipv6Addr, destination: Ipv6Addr, payload: u32, out: &mut Vec<u8>) {
        let version_class_flow = 6 << 28 | u32::from(self.dscp_ecn) << 20;
        out.extend_from_slice(&version_class_flow.to_be_bytes());
        out.extend_from_slice(&length_field(payload).to_be_bytes());
        out.extend_from_slice(&[self.protocol, self.ttl]);
        out.extend_from_slice(&source.octets());
        out.extend_from_slice(&destination.octets());
    }
}

/// A length as its field of 16 bits has it.
fn length_field(length: u32) -> u16 {
    u16::try_from(length).unwrap_or(0)
}
