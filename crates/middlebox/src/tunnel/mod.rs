//! Tunnels: packets of flows in packets of one outer flow. Nothing between the ends reads TCP.
//! Split proxies do not split, header compression and ACK filters have nothing to read, and a
//! fair queue gives all flows in the tunnel one share.
//!
//! One file per protocol has its bytes and its set-up; [`SetUp`] exchanges the messages before the
//! first packet.
//!
//! Decisions:
//! - Lengths and instants are modelled, and no bits: a packet is carried whole and comes out as it
//!   went in.
//! - No outer packet is longer than the MTU between the ends: the language refuses scenarios in
//!   which one would be. So nothing is fragmented outside.
//! - ECN: WireGuard and ESP copy the field into the outer header and back (RFC 6040 section 4).
//!   OpenVPN and MASQUE do not, so queues drop their packets instead of marking them.
//! - New keys during a run are left out. WireGuard exchanges 240 bytes every two minutes while the
//!   old keys go on.

mod esp;
mod masque;
mod openvpn;
mod set_up;
mod wireguard;

use link::Mechanism;
use wire::IpVersion;

pub use esp::EspSettings;
pub use masque::{MasqueMethod, MasqueSettings};
pub use openvpn::OpenvpnSettings;
pub use set_up::{Flights, Message, SetUp, SetUpAction};
pub use wireguard::WireguardSettings;

/// The key of scenarios that takes a tunnel.
const KEY: &str = "flow.tunnel";
const KIND: &str = "tunnel";

/// The name of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(transparent),
    schemars(inline, extend("x-format" = "name"))
)]
pub struct NodeName(pub String);

/// Names of the two nodes at the ends of a tunnel.
pub type Between = [NodeName; 2];

/// A tunnel with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum Tunnel {
    /// WireGuard: 60 bytes around each packet with IPv4, and a handshake of one round trip.
    Wireguard(WireguardSettings),
    /// ESP in tunnel mode with AES-GCM (IPsec): 54 to 57 bytes around each packet with IPv4, and
    /// IKEv2 with two round trips.
    Esp(EspSettings),
    /// OpenVPN over UDP with AES-GCM: 52 bytes around each packet with IPv4, and four round trips
    /// before the first one.
    Openvpn(OpenvpnSettings),
    /// MASQUE: packets in datagrams of a QUIC connection to a proxy, and two round trips before the
    /// first one.
    Masque(MasqueSettings),
}

/// Calls a method of the settings of each protocol.
macro_rules! each {
    ($any:expr, $settings:ident => $call:expr) => {
        match $any {
            Tunnel::Wireguard($settings) => $call,
            Tunnel::Esp($settings) => $call,
            Tunnel::Openvpn($settings) => $call,
            Tunnel::Masque($settings) => $call,
        }
    };
}

/// Properties of a protocol, one file each.
trait Protocol {
    /// Name, source and when it hurts.
    const ABOUT: &'static Mechanism;
    /// Messages before the first packet.
    const FLIGHTS: Flights;
    /// True if the ECN field of a packet is copied into the outer header and back.
    const COPIES_ECN: bool;

    /// Length of the outer packet around one of `inner` bytes, in a tunnel for packets of up to
    /// `mtu` bytes. Both are IP packets.
    fn outer(&self, ip: IpVersion, inner: u16, mtu: u16) -> u16;

    /// The largest inner packet that the program allows by default if outer packets of `path` bytes
    /// pass.
    fn usual_mtu(&self, ip: IpVersion, path: u16) -> u16 {
        largest(path, |inner| self.outer(ip, inner, inner))
    }
}

/// The largest MTU of a tunnel: its outer packets are IP packets, too.
const LARGEST_MTU: u16 = 65_000;

/// The largest inner packet whose outer packet has at most `path` bytes.
fn largest(path: u16, outer: impl Fn(u16) -> u16) -> u16 {
    (0..=path.min(LARGEST_MTU)).rev().find(|inner| outer(*inner) <= path).unwrap_or(0)
}

/// Bytes of the headers of IP and UDP.
fn datagram(ip: IpVersion) -> u16 {
    ip.header_bytes() + wire::udp::HEADER
}

impl Tunnel {
    /// All protocols with their defaults.
    pub fn all() -> [Self; 4] {
        [
            Self::Wireguard(WireguardSettings::default()),
            Self::Esp(EspSettings::default()),
            Self::Openvpn(OpenvpnSettings::default()),
            Self::Masque(MasqueSettings::default()),
        ]
    }

    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        self.about().name
    }

    /// Its description.
    pub fn about(&self) -> &'static Mechanism {
        fn about<P: Protocol>(_: &P) -> &'static Mechanism {
            P::ABOUT
        }
        each!(self, settings => about(settings))
    }

    /// Messages before the first packet.
    pub fn flights(&self) -> Flights {
        fn flights<P: Protocol>(_: &P) -> Flights {
            P::FLIGHTS
        }
        each!(self, settings => flights(settings))
    }

    /// Returns true if the ECN field of a packet is copied into the outer header and back.
    pub fn copies_ecn(&self) -> bool {
        fn copies<P: Protocol>(_: &P) -> bool {
            P::COPIES_ECN
        }
        each!(self, settings => copies(settings))
    }

    /// Length of the outer packet around one of `inner` bytes, in a tunnel for packets of up to
    /// `mtu` bytes. Both are IP packets.
    pub fn outer(&self, ip: IpVersion, inner: u16, mtu: u16) -> u16 {
        each!(self, settings => settings.outer(ip, inner, mtu))
    }

    /// The MTU inside the tunnel if none is written and outer packets of `path` bytes pass.
    pub fn usual_mtu(&self, ip: IpVersion, path: u16) -> u16 {
        each!(self, settings => settings.usual_mtu(ip, path)).min(LARGEST_MTU)
    }

    /// The largest MTU inside the tunnel if outer packets of `path` bytes pass.
    pub fn largest_mtu(&self, ip: IpVersion, path: u16) -> u16 {
        largest(path, |inner| self.outer(ip, inner, inner))
    }

    /// The two nodes that are written.
    pub fn between(&self) -> Option<&Between> {
        each!(self, settings => settings.between.as_ref())
    }

    /// The same tunnel between these two nodes.
    #[must_use]
    pub fn with_between(mut self, between: Option<Between>) -> Self {
        each!(&mut self, settings => settings.between = between);
        self
    }

    /// The MTU inside the tunnel that is written.
    pub fn mtu(&self) -> Option<u16> {
        each!(self, settings => settings.mtu)
    }

    /// Returns true if the tunnel exists when the run starts.
    pub fn is_established(&self) -> bool {
        each!(self, settings => settings.established)
    }

    /// The settings of MASQUE.
    pub fn masque(&self) -> Option<&MasqueSettings> {
        match self {
            Self::Masque(settings) => Some(settings),
            Self::Wireguard(_) | Self::Esp(_) | Self::Openvpn(_) => None,
        }
    }

    /// Returns true if it carries datagrams of UDP, and no other packets.
    pub fn carries_udp_only(&self) -> bool {
        matches!(self, Self::Masque(MasqueSettings { method: MasqueMethod::ConnectUdp, .. }))
    }
}

/// The protocols, for `bentpipe path`.
pub(crate) fn mechanisms() -> Vec<&'static Mechanism> {
    Tunnel::all().iter().map(Tunnel::about).collect()
}

/// Declares the settings of a protocol: the keys that all of them have, and its own.
macro_rules! settings {
    ($(#[$doc:meta])* $name:ident { $($(#[$key_doc:meta])* $key:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(
            feature = "schema",
            derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
            serde(default, deny_unknown_fields),
            schemars(inline)
        )]
        pub struct $name {
            /// The two nodes at the ends of the tunnel. All packets of the flow that pass one of
            /// them and then the other are in the tunnel between them. A terminal of a beam stands
            /// for the host behind it, and a group for the terminal of the flow. Default: the ends
            /// of the flow.
            #[cfg_attr(
                feature = "schema",
                serde(skip_serializing_if = "Option::is_none")
            )]
            pub between: Option<crate::tunnel::Between>,
            /// Length of the longest IP packet inside the tunnel, in bytes. Default: the largest
            /// that the program chooses for the smallest MTU of the links between the ends, which
            /// is 1500 without `link.mtu`.
            #[cfg_attr(
                feature = "schema",
                serde(skip_serializing_if = "Option::is_none"),
                schemars(range(min = 88, max = 65_000))
            )]
            pub mtu: Option<u16>,
            /// True if the tunnel exists when the run starts. Otherwise its set-up begins with the
            /// first packet, which waits for it.
            pub established: bool,
            $($(#[$key_doc])* pub $key: $type,)*
        }
    };
}

use settings;

#[cfg(test)]
mod tests;
