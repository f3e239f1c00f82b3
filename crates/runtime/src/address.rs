//! The IP addresses of nodes.
//!
//! Decisions:
//! - One version of IP for a whole scenario: the header is a number of each endpoint and not of
//!   each packet; a host has one address, and a name leads to nothing else. What has several paths
//!   has further addresses, which lead through other nodes; their numbers follow those of the
//!   nodes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::IpVersion;

/// The first byte of all IPv4 addresses: a network of RFC 1918.
const IPV4_NETWORK: u8 = 10;
/// The first word of all IPv6 addresses, whose other bits but the last 32 are zero: unique local
/// ones (RFC 4193 section 3.1). The bits of the Global ID are not random, for nothing outside meets
/// them.
const IPV6_NETWORK: u16 = 0xfd00;

/// The address of a node: 10.0.0.1 or fd00::1 for the first.
pub fn address(node: u16, version: IpVersion) -> IpAddr {
    match version {
        IpVersion::V4 => ipv4(node).into(),
        IpVersion::V6 => ipv6(node).into(),
    }
}

/// The IPv4 address of a node.
pub fn ipv4(node: u16) -> Ipv4Addr {
    let [_, a, b, c] = number(node).to_be_bytes();
    Ipv4Addr::new(IPV4_NETWORK, a, b, c)
}

/// The IPv6 address of a node.
pub fn ipv6(node: u16) -> Ipv6Addr {
    let [a, b, c, d] = number(node).to_be_bytes();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Ipv6Addr::new(IPV6_NETWORK, 0, 0, 0, 0, 0, high, low)
}

/// Counted from 1: zero is the address of a whole network.
fn number(node: u16) -> u32 {
    u32::from(node) + 1
}

/// The node with this address, if it can be one.
pub fn node(address: IpAddr) -> Option<u16> {
    let number = match address {
        IpAddr::V4(address) => {
            let [network, a, b, c] = address.octets();
            (network == IPV4_NETWORK).then_some(u32::from_be_bytes([0, a, b, c]))
        }
        IpAddr::V6(address) => {
            let [network, zeros @ .., high, low] = address.segments();
            let is_ours = network == IPV6_NETWORK && zeros == [0; 5];
            is_ours.then_some(u32::from(high) << 16 | u32::from(low))
        }
    };
    u16::try_from(number?.checked_sub(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_found_by_its_address() {
        for version in [IpVersion::V4, IpVersion::V6] {
            for number in [0, 1, 254, 255, 256, u16::MAX] {
                assert_eq!(node(address(number, version)), Some(number));
            }
        }
        assert_eq!(address(0, IpVersion::V4).to_string(), "10.0.0.1");
        assert_eq!(address(0, IpVersion::V6).to_string(), "fd00::1");
    }

    #[test]
    fn an_address_of_no_node_is_none() {
        for other in ["10.0.0.0", "192.0.0.1", "10.255.255.255", "224.0.0.22"] {
            assert_eq!(node(other.parse().unwrap()), None, "{other}");
        }
        for other in ["fd00::", "fd01::1", "fd00::1:0:1", "fd00:1::1", "fd00::2:0", "ff02::16"] {
            assert_eq!(node(other.parse().unwrap()), None, "{other}");
        }
    }
}
