//! MASQUE: IP packets (RFC 9484) or payloads of UDP (RFC 9298) in HTTP datagrams (RFC 9297) of a
//! QUIC connection (RFC 9221).
//!
//! Around the content are the short header of QUIC with a connection ID of 8 bytes and a packet
//! number of 2, the type and the length of the DATAGRAM frame (3), the stream and the context (2),
//! and a tag of 16 bytes.
//!
//! With capsules (RFC 9297 section 3.5) instead of DATAGRAM frames, it is the STREAM frame with an
//! offset of 4 bytes (8), the DATA frame of HTTP/3 (3), and type, length and context of the capsule
//! (4). Each capsule is in a packet of its own.
//!
//! Without a `controller` the outer connection neither limits nor acknowledges its packets, as if
//! its window were never full.
//!
//! Reconstructed: lengths of the messages of the set-up, and of the connection ID, packet number
//! and offset. The first probe timeout is that of RFC 9002 section 6.2.2.

use link::{Mechanism, Provenance};
use units::{Bytes, Span};
use wire::IpVersion;

use super::{Flights, KEY, KIND, Protocol, datagram, settings};

/// Short header and tag.
const PACKET: u16 = 1 + 8 + 2 + 16;
/// Frame, stream and context.
const DATAGRAM: u16 = 3 + 2;
/// STREAM frame, DATA frame of HTTP/3 and head of the capsule.
const CAPSULE: u16 = 8 + 3 + 4;
/// Bytes that wait at an end if none are written: the send buffer of quinn for DATAGRAM frames.
const BUFFER: Bytes = Bytes(1 << 20);

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
        /// Congestion controller of the outer connection, at both ends and with its defaults.
        /// Packets then wait for its window at the end of the tunnel, and the other end
        /// acknowledges them. Controllers that QUIC cannot carry are not possible. Default: the
        /// outer connection has no congestion control.
        #[cfg_attr(
            feature = "schema",
            serde(skip_serializing_if = "Option::is_none"),
            schemars(extend("x-format" = "controller"))
        )]
        controller: Option<String>,
        /// Largest congestion window of the outer connection, in bytes of UDP payload. Only with
        /// `controller`. Default: no limit.
        #[cfg_attr(
            feature = "schema",
            serde(skip_serializing_if = "Option::is_none"),
            schemars(extend("x-minimum" = "2kB"))
        )]
        max_window: Option<Bytes>,
        /// Bytes of outer packets that may wait at an end for the window. What finds the buffer
        /// full is discarded. Only with `controller`. Default: 1MiB.
        #[cfg_attr(
            feature = "schema",
            serde(skip_serializing_if = "Option::is_none"),
            schemars(extend("x-minimum" = "2kB"))
        )]
        buffer: Option<Bytes>,
        /// True if packets are in capsules on the stream of the request (RFC 9297 section 3.5), and
        /// not in DATAGRAM frames: lost ones are retransmitted, and all come out in order. Only
        /// with `controller`.
        capsules: bool,
    }
}

impl MasqueSettings {
    /// Bytes of outer packets that may wait at an end.
    pub fn buffer_bytes(&self) -> Bytes {
        self.buffer.unwrap_or(BUFFER)
    }

    /// A key that is written and needs a `controller`, if there is none.
    pub fn without_controller(&self) -> Option<&'static str> {
        if self.controller.is_some() {
            return None;
        }
        let written = [
            ("max_window", self.max_window.is_some()),
            ("buffer", self.buffer.is_some()),
            ("capsules", self.capsules),
        ];
        written.into_iter().find_map(|(key, is_written)| is_written.then_some(key))
    }
}

impl Protocol for MasqueSettings {
    const ABOUT: &'static Mechanism = &Mechanism {
        name: "masque",
        key: KEY,
        kind: KIND,
        source: "RFC 9484; RFC 9298; RFC 9297 sections 2.1 and 3.5; RFC 9221; RFC 9002; RFC 9000 section 17.3; lengths of the set-up reconstructed",
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
        let frames = if self.capsules { CAPSULE } else { DATAGRAM };
        datagram(ip) + PACKET + frames + inner.saturating_sub(headers)
    }
}
