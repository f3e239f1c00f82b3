//! The MTU of a link: the longest packet that it takes.
//!
//! All packets have DF of IPv4 set, or are of IPv6, so the router before the link cannot fragment
//! them. It drops one that is too long and reports the MTU of the link to the sender by ICMP
//! (RFC 1191 section 4, RFC 8201 section 3; [`wire::icmp`]), if it sends such messages. The message
//! is a packet like others: it takes the way back, its rate and its queues, and can be lost.
//!
//! Decisions:
//! - The length is that of the IP packet: before header compression, and without what the link
//!   adds.
//! - A host knows the MTU of its own links, and agrees on segments that fit them (RFC 9293
//!   section 3.7.1).
//! - Routers report each packet that is too long, as Linux does: its limit of messages spares this
//!   one (`icmpv4_mask_allow`).
//! - No message reports another message.

use link::{Mechanism, Provenance};

/// The MTU among the mechanisms on the path.
pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "mtu",
    key: "link.mtu",
    kind: "MTU",
    source: "RFC 1191; RFC 8201; RFC 4443 section 3.2; length of messages: RFC 1812 section 4.3.2.3",
    status: Provenance::Published,
    hurts: "The first window of each connection is lost, and a packet that is too long vanishes where ICMP is \
            filtered: the connection opens, but data never arrives, unless its sender probes (`mtu_probing`).",
};

/// Fate of messages about packets that are too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(inline)
)]
pub enum Icmp {
    /// They go back to the sender.
    #[default]
    Sent,
    /// There are none.
    Filtered,
}

impl Icmp {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Filtered => "filtered",
        }
    }
}

/// The longest packet that a link takes, and what happens to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct Mtu {
    /// Length of the longest packet in bytes, with the header of IP.
    #[cfg_attr(feature = "schema", schemars(range(min = 68, max = 65_535)))]
    pub bytes: u16,
    /// Messages about packets that are too long: `"sent"` to their sender (RFC 1191, RFC 8201), or
    /// `"filtered"`: such packets vanish.
    #[cfg_attr(feature = "schema", serde(default))]
    pub icmp: Icmp,
}

impl Mtu {
    /// The MTU of a link that reports packets that are too long.
    pub fn of(bytes: u16) -> Self {
        Self { bytes, icmp: Icmp::Sent }
    }
}
