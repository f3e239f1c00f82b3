//! The IPv4 addresses of nodes.

use std::net::Ipv4Addr;

/// The first byte of all addresses: a network of RFC 1918.
const NETWORK: u8 = 10;

/// The address of a node: 10.0.0.1 for the first.
pub fn address(node: u16) -> Ipv4Addr {
    let [_, a, b, c] = (u32::from(node) + 1).to_be_bytes();
    Ipv4Addr::new(NETWORK, a, b, c)
}

/// The node with this address, if it can be one.
pub fn node(address: Ipv4Addr) -> Option<u16> {
    let [network, a, b, c] = address.octets();
    let number = u32::from_be_bytes([0, a, b, c]).checked_sub(1)?;
    (network == NETWORK).then(|| u16::try_from(number).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_found_by_its_address() {
        for number in [0, 1, 254, 255, 256, u16::MAX] {
            assert_eq!(node(address(number)), Some(number));
        }
        assert_eq!(address(0), Ipv4Addr::new(10, 0, 0, 1));
    }

    #[test]
    fn an_address_of_no_node_is_none() {
        for other in [[10, 0, 0, 0], [192, 0, 0, 1], [10, 255, 255, 255], [224, 0, 0, 22]] {
            assert_eq!(node(Ipv4Addr::from(other)), None);
        }
    }
}
