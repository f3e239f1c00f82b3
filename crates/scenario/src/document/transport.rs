//! TCP settings: what has a short form here, or a default that depends on something else. All other
//! keys are those of [`Config`] and [`RtoConfig`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcp::{Config, Recovery, Scps};
use transport::{Protocol, RtoConfig};
use units::{Rate, Span};

use super::words::{Accurate, Linux, Name, Off};

/// Transport protocol of a flow, with the settings of both ends. The settings are those of TCP.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Transport {
    /// The transport protocol. `bentpipe transports` lists them.
    pub protocol: Protocol,
    /// Settings of QUIC. The defaults are those of quinn.
    pub quic: quic::Settings,
    /// Settings of STP.
    pub stp: stp::Config,
    /// Settings of XTP.
    pub xtp: xtp::Config,
    /// Settings of SCTP.
    pub sctp: Sctp,
    /// SCPS-TP: the route, the SNACK option and the ACKs.
    pub scps: Scps,
    /// Loss recovery. `"linux"` is RACK-TLP with proportional rate reduction. Default: the recovery
    /// that the controller was designed for.
    pub recovery: Option<Recovery>,
    #[serde(flatten)]
    pub config: Config,
    /// Delayed acknowledgement: a time (with every second segment), `"off"` (each segment),
    /// `"linux"` (at once at the start of a connection, after a pause longer than the RTO and after
    /// duplicates; otherwise every second segment, or after 40ms to 200ms that follow the arrivals),
    /// or a table. RFC 5681 section 4.2 requires at most 500ms. The default does not depend on
    /// `recovery`.
    pub delayed_ack: DelayedAck,
    /// Retransmission timer (RFC 6298).
    pub rto: Rto,
    /// Explicit congestion notification: queues with `ecn_marking` or `aqm` mark data instead of
    /// dropping it, and the sender reduces its window as its controller does after a mark. `true` is
    /// RFC 3168, with one report of marks in a round trip. `"accurate"` is RFC 9768: the receiver counts
    /// marked packets and bytes. Default: the form that the controller needs, and `false` for those that
    /// need no marks. A controller that needs marks has its own form with `true` too, and refuses `false`.
    pub ecn: Option<Ecn>,
    /// Rate at which the application reads. Default: it reads at once.
    pub reader_rate: Option<Rate>,
    /// Initial sequence number of the data sender. The receiver uses the next number. Default:
    /// derived from the number of the flow, to distinguish the flows in a capture.
    pub initial_sequence: Option<u32>,
}

/// SCTP settings. The defaults are those of RFC 9260 section 16, unless the description says otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Sctp {
    /// Nodes through which the paths of an association lead (multihoming), the one of the primary path first. Both hosts
    /// have an address for each path, and packets in both directions pass its node. Default: one path, with the
    /// smallest delay.
    #[schemars(length(min = 1, max = 8))]
    pub paths: Option<Vec<Name>>,
    #[serde(flatten)]
    pub config: sctp::Config,
}

/// `true`, `false` or `"accurate"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Ecn {
    Switch(bool),
    Accurate(Accurate),
}

/// `"off"`, `"linux"`, a time, or a table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum DelayedAck {
    Off(Off),
    Linux(Linux),
    Timeout(Span),
    Table(tcp::DelayedAck),
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self::Timeout(tcp::DelayedAck::default().timeout)
    }
}

/// Retransmission timer. The defaults are those of RFC 6298 section 2.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Rto {
    /// Lower bound of the RTO (rule 2.4). With the estimator `"linux"`, lower bound of the part that
    /// is added to the smoothed RTT. Default: 1s, or 200ms with the estimator `"linux"`.
    #[schemars(extend("x-minimum" = "1ms"))]
    pub min: Option<Span>,
    #[serde(flatten)]
    pub config: RtoConfig,
}
