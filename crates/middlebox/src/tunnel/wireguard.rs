//! WireGuard (Donenfeld, NDSS 2017; <https://www.wireguard.com/protocol>).
//!
//! A packet is padded to 16 bytes, though never beyond the MTU of the interface
//! (`calculate_skb_padding` of Linux), and gets a header of 16 bytes and a tag of 16.

use link::{Mechanism, Provenance};
use units::Span;
use wire::IpVersion;

use super::{Flights, KEY, KIND, Protocol, datagram, settings};

/// Type, receiver, counter, and the tag of Poly1305.
const AROUND: u16 = 16 + 16;
/// Packets are padded to a multiple of it.
const UNIT: u16 = 16;

settings! {
    /// Parameters of WireGuard.
    WireguardSettings {}
}

impl Protocol for WireguardSettings {
    const ABOUT: &'static Mechanism = &Mechanism {
        name: "wireguard",
        key: KEY,
        kind: KIND,
        source: "Donenfeld, NDSS 2017; Linux 6.12, drivers/net/wireguard (calculate_skb_padding, REKEY_TIMEOUT)",
        status: Provenance::FromImplementation,
        hurts: "Split proxies, header compression and ACK filters between its ends have no effect, and a fair queue \
                gives all its flows one share.",
    };

    // The responder waits for the first packet of the initiator, and REKEY_TIMEOUT is constant.
    const FLIGHTS: Flights = Flights {
        bytes: &[&[148], &[92]],
        timeout: Span::from_secs(5),
        backs_off: false,
        confirms: true,
    };

    const COPIES_ECN: bool = true;

    fn outer(&self, ip: IpVersion, inner: u16, mtu: u16) -> u16 {
        datagram(ip) + AROUND + inner.next_multiple_of(UNIT).min(mtu.max(inner))
    }

    /// `wg-quick` has room for an outer header of IPv6 in any case.
    fn usual_mtu(&self, _: IpVersion, path: u16) -> u16 {
        path.saturating_sub(datagram(IpVersion::V6) + AROUND)
    }
}
