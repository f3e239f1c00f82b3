//! MASQUE: IP packets (RFC 9484) or payloads of UDP (RFC 9298) in HTTP datagrams (RFC 9297) of a
//! QUIC connection (RFC 9221).
//!
//! Around the content are the short header of QUIC with a connection ID of 8 bytes and a packet
//! number of 2, the type and the length of the DATAGRAM frame (3), the stream and the context (2),
//! and a tag of 16 bytes.
//!
//! Datagrams are not retransmitted, and the outer connection does not hold them back: its
//! congestion control is left out.
//!
//! Reconstructed: lengths of the messages of the set-up, and of the connection ID and packet
//! number. The first probe timeout is that of RFC 9002 section 6.2.2.

use link::{Mechanism, Provenance};
use units::Span;
use wire::IpVersion;

use super::{Flights, KEY, KIND, Protocol, datagram, settings};

/// Short header, frame, stream and context, and tag.
const AROUND: u16 = 1 + 8 + 2 + 3 + 2 + 16;

/// Content of the datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum MasqueMethod {
    /// Whole IP packets.
    #[default]
    ConnectIp,
    /// Payloads of UDP.
    ConnectUdp,
}

settings! {
    /// Parameters of MASQUE.
    MasqueSettings {
        /// Content of the datagrams: `"connect-ip"`, whole IP packets (RFC 9484), or
        /// `"connect-udp"`, payloads of UDP without their headers (RFC 9298). The latter carries
        /// flows over UDP and QUIC only.
        method: MasqueMethod,
    }
}

impl Protocol for MasqueSettings {
    const ABOUT: &'static Mechanism = &Mechanism {
        name: "masque",
        key: KEY,
        kind: KIND,
        source: "RFC 9484; RFC 9298; RFC 9297 section 2.1; RFC 9221 section 4; RFC 9000 section 17.3; lengths of the set-up reconstructed",
        status: Provenance::Reconstructed,
        hurts: "Split proxies, header compression and ACK filters between its ends have no effect, and a fair queue \
                gives all its flows one share.",
    };

    // The handshake of QUIC, then settings and the request.
    const FLIGHTS: Flights = Flights {
        bytes: &[&[1200], &[1200, 1200, 1000], &[400], &[150]],
        timeout: Span::from_millis(999),
        backs_off: true,
        confirms: false,
    };

    const COPIES_ECN: bool = false;

    fn outer(&self, ip: IpVersion, inner: u16, _: u16) -> u16 {
        let headers = match self.method {
            MasqueMethod::ConnectIp => 0,
            MasqueMethod::ConnectUdp => datagram(ip),
        };
        datagram(ip) + AROUND + inner.saturating_sub(headers)
    }
}
