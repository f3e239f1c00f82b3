//! Split proxies of papers and programs: settings of the satellite side by a name.
//!
//! - PEPsal (CNES, version 2.0.2): TCP Hybla towards the satellite.
//! - CK-STP (Davoli, Spanò, Vignola and Zappatore): a constant window of one bandwidth-delay
//!   product, one duplicate ACK, losses never reduce the window. The slides say that it is ideal
//!   inside a proxy.
//! - AeroTCP (Shang, Hadjitheodosiou and Baras, DASC 2004): a fixed window and one duplicate ACK.
//!   The abstract does not give the size of the window. The bandwidth-delay product of the
//!   satellite leg and NewReno's recovery are our choice.
//!
//! - The gateway of the SCPS reference implementation (MITRE and GST), by the recipe of its manual:
//!   SCPS-TP between two gateways. Towards the satellite the rate of the link, no congestion
//!   control, buffers of two bandwidth-delay products, and no RTO below the round trip. On the
//!   other side buffers of 32 KiB and the congestion control of Van Jacobson.
//!   `crates/tcp/src/scps/mod.rs` has what differs from it in the protocol.
//! - SaTPEP (Networking 2002): the window follows the measured utilisation of the satellite link,
//!   and losses are reported by negative acknowledgements. Only the abstract was read. The rules of
//!   the window are ours (`crates/congestion/src/link_share.rs`, `meter.rs`), and the negative
//!   acknowledgements are those of SCPS-TP.

use link::{Mechanism, Provenance};

#[cfg(feature = "schema")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

/// The key of scenarios that takes a preset.
const KEY: &str = "node.proxy";
const KIND: &str = "split proxy";

/// A split proxy of a paper or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum Preset {
    /// PEPsal: TCP Hybla on the satellite side.
    Pepsal,
    /// CK-STP in a proxy: a constant window of the bandwidth-delay product of the satellite leg,
    /// and recovery at the first duplicate ACK.
    CkStp,
    /// AeroTCP: a fixed window on the satellite side, and fast recovery at the first duplicate ACK.
    Aerotcp,
    /// SaTPEP: a window from the measured utilisation of the link, and negative acknowledgements.
    Satpep,
    /// Gateway of the SCPS reference implementation: SCPS-TP at the rate of the link, without
    /// congestion control, on the satellite side.
    ScpsGateway,
}

const PEPSAL: Mechanism = Mechanism {
    name: "pepsal",
    key: KEY,
    kind: KIND,
    source: "CNES, PEPsal 2.0.2, 2025; Caini, Firrincieli and Lacamera, PEPsal: A Performance Enhancing \
             Proxy for TCP Satellite Connections, 2006",
    status: Provenance::FromImplementation,
    hurts: "Without loss, where CUBIC has the same rate. PEPsal itself has no half-close, and sets the \
            controller of the connections that it opens only; here the satellite side always has it.",
};

const CK_STP: Mechanism = Mechanism {
    name: "ck-stp",
    key: KEY,
    kind: KIND,
    source: "Davoli, Spanò, Vignola and Zappatore, Performance Measurements and Comparison of Modified TCP \
             Control Algorithms over Rain-Faded Satellite Channels; the proxy around it is our choice",
    status: Provenance::Reconstructed,
    hurts: "Several connections: each of them offers a whole bandwidth-delay product. Packets out of order, \
            and a link that becomes slower: losses never reduce the window.",
};

const AEROTCP: Mechanism = Mechanism {
    name: "aerotcp",
    key: KEY,
    kind: KIND,
    source: "Shang, Hadjitheodosiou and Baras, DASC 2004 (abstract); the size of the window and the \
             recovery are our choice",
    status: Provenance::Reconstructed,
    hurts: "As ck-stp: several connections, packets out of order, and a link that becomes slower.",
};

const SCPS_GATEWAY: Mechanism = Mechanism {
    name: "scps-gateway",
    key: KEY,
    kind: KIND,
    source: "Reference implementation of SCPS (MITRE and GST), with the recipe for a satellite of its manual; \
             CCSDS 714.0-B was not read",
    status: Provenance::Reconstructed,
    hurts: "Other traffic on the satellite link, and a link that becomes slower: nothing reduces the rate. A \
            terrestrial side with a long round trip: its buffers have 32 KiB. One gateway alone is refused.",
};

const SATPEP: Mechanism = Mechanism {
    name: "satpep",
    key: KEY,
    kind: KIND,
    source: "SaTPEP: a TCP performance enhancing proxy for satellite links, Networking 2002 (abstract); the rule \
             for the window is our choice, and the negative acknowledgements are those of SCPS-TP",
    status: Provenance::Reconstructed,
    hurts: "As scps-gateway: other traffic on the satellite link, and a link that becomes slower. One gateway alone is \
            refused.",
};

impl Preset {
    /// All presets.
    pub const ALL: [Self; 5] =
        [Self::Pepsal, Self::CkStp, Self::Aerotcp, Self::Satpep, Self::ScpsGateway];

    /// Those that can be chosen, with what is shown of them.
    pub fn mechanisms() -> [&'static Mechanism; 5] {
        [&PEPSAL, &CK_STP, &AEROTCP, &SCPS_GATEWAY, &SATPEP]
    }

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pepsal => PEPSAL.name,
            Self::CkStp => CK_STP.name,
            Self::Aerotcp => AEROTCP.name,
            Self::Satpep => SATPEP.name,
            Self::ScpsGateway => SCPS_GATEWAY.name,
        }
    }

    /// Description, and its settings.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Pepsal => {
                "PEPsal, a split proxy for Linux that many satellite gateways run. On the satellite side it sets \
                 `controller = \"hybla\"` and `recovery = \"sack\"`."
            }
            Self::CkStp => {
                "CK-STP in a proxy: a constant window, which losses never reduce, and retransmission at the first \
                 duplicate ACK. On the satellite side it sets `controller = \"ck-stp\"`, with the \
                 bandwidth-delay product of the satellite leg as its window, and `recovery = \"sack\"`."
            }
            Self::Aerotcp => {
                "AeroTCP, a proxy of the University of Maryland: a fixed window, and fast recovery at the first \
                 duplicate ACK. On the satellite side it sets `controller = \"ck-stp\"`, with the \
                 bandwidth-delay product of the satellite leg as its window, and `recovery = \"newreno\"`."
            }
            Self::ScpsGateway => {
                "The gateway of the SCPS reference implementation, at both ends of the satellite. On the satellite \
                 side it sets `protocol = \"scps-tp\"`, `rate` to that of the links, `controller = \"none\"`, buffers \
                 of two bandwidth-delay products, and the round trip as the lower bound of the RTO. On the \
                 terrestrial side it sets `controller = \"reno\"` and buffers of 32 KiB."
            }
            Self::Satpep => {
                "SaTPEP, at both ends of the satellite: the window follows the part of the link's rate that is free, as \
                 the gateway measures it. On the satellite side it sets `protocol = \"scps-tp\"`, `rate` to that of the \
                 links, losses by corruption, and a window that no other key chooses."
            }
        }
    }
}
