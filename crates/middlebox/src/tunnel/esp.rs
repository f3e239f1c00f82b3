//! ESP in tunnel mode (RFC 4303) with AES-GCM (RFC 4106), and IKEv2 (RFC 7296).
//!
//! Around the packet are the SPI and a sequence number (8 bytes), an IV of 8 bytes and a check
//! value of 16. Padding, its length and the next header fill the last word of 4 bytes.
//!
//! Reconstructed: lengths of the messages of IKEv2 with a shared key, and the first timeout, for
//! which RFC 7296 has no values.

use link::{Mechanism, Provenance};
use units::Span;
use wire::IpVersion;

use super::{Flights, KEY, KIND, Protocol, settings};

/// SPI, sequence number, IV and check value.
const AROUND: u16 = 8 + 8 + 16;
/// Pad length and next header.
const TRAILER: u16 = 2;
/// The end of the trailer is at a multiple of it.
const UNIT: u16 = 4;

settings! {
    /// Parameters of ESP.
    EspSettings {
        /// True if ESP is in datagrams of UDP, as behind a NAT (RFC 3948): 8 bytes more.
        nat_traversal: bool,
    }
}

impl Protocol for EspSettings {
    const ABOUT: &'static Mechanism = &Mechanism {
        name: "esp",
        key: KEY,
        kind: KIND,
        source: "RFC 4303 section 2; RFC 4106 section 3; RFC 3948; RFC 7296 section 1.2; lengths of IKEv2 messages reconstructed",
        status: Provenance::Reconstructed,
        hurts: "Split proxies, header compression and ACK filters between its ends have no effect, and a fair queue \
                gives all its flows one share.",
    };

    // IKE_SA_INIT and IKE_AUTH.
    const FLIGHTS: Flights = Flights {
        bytes: &[&[300], &[300], &[350], &[300]],
        timeout: Span::from_secs(4),
        backs_off: true,
        confirms: false,
    };

    const COPIES_ECN: bool = true;

    fn outer(&self, ip: IpVersion, inner: u16, _: u16) -> u16 {
        let udp = if self.nat_traversal { wire::udp::HEADER } else { 0 };
        ip.header_bytes() + udp + AROUND + (inner + TRAILER).next_multiple_of(UNIT)
    }
}
