//! OpenVPN over UDP with AES-GCM: packets of the kind `P_DATA_V2`.
//!
//! Around the packet are operation code and peer (4 bytes), a packet number (4) and a tag (16). TCP
//! segments are limited so that outer packets have at most 1492 bytes (`mssfix`, the default since
//! version 2.6).
//!
//! Reconstructed: lengths of the messages of the set-up. Their number is that of a reset, TLS 1.3,
//! the exchange of keys, and the request for options.

use link::{Mechanism, Provenance};
use units::Span;
use wire::IpVersion;

use super::{Flights, KEY, KIND, Protocol, datagram, largest, settings};

/// Operation code, peer, packet number and tag.
const AROUND: u16 = 4 + 4 + 16;
/// Longest outer packet of TCP by default.
const MSSFIX: u16 = 1492;

settings! {
    /// Parameters of OpenVPN.
    OpenvpnSettings {}
}

impl Protocol for OpenvpnSettings {
    const ABOUT: &'static Mechanism = &Mechanism {
        name: "openvpn",
        key: KEY,
        kind: KIND,
        source: "OpenVPN 2.6, manual (link options: mssfix; tls-timeout) and wire protocol; lengths of the set-up reconstructed",
        status: Provenance::Reconstructed,
        hurts: "Split proxies, header compression and ACK filters between its ends have no effect, a fair queue gives \
                all its flows one share, and its set-up over a satellite takes more than two seconds.",
    };

    // Reset; hello and certificates; end of TLS with keys; request for options and answer.
    const FLIGHTS: Flights = Flights {
        bytes: &[&[42], &[54], &[350], &[1200, 1200, 800], &[600], &[400], &[100], &[300]],
        timeout: Span::from_secs(2),
        backs_off: true,
        confirms: false,
    };

    const COPIES_ECN: bool = false;

    fn outer(&self, ip: IpVersion, inner: u16, _: u16) -> u16 {
        datagram(ip) + AROUND + inner
    }

    fn usual_mtu(&self, ip: IpVersion, path: u16) -> u16 {
        largest(path.min(MSSFIX), |inner| self.outer(ip, inner, inner))
    }
}
