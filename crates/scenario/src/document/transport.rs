//! Keys of `flow.transport`: the protocol, a table for each other protocol than TCP, and keys of
//! TCP that have a short form here, or a default that depends on something else. All other keys are
//! those of [`Config`] and [`RtoConfig`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcp::{Config, Growth, Recovery, Scps, SendTuning};
use transport::{Protocol, RtoConfig};
use units::{Bytes, Rate, SizeLimit, Span};

use super::words::{EcnForm, Linux, Name, Off};

/// Transport protocol of a flow, with the settings of both ends. Keys without a table of their own
/// are settings of TCP.
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
    /// Receive buffer: a size, which is the largest advertised window, or a table for one that
    /// tunes itself as in Linux (`tcp_rmem`), of which the window is a part. `{}` has the defaults
    /// of Linux 6.18. More than 65535B requires `window_scaling` (RFC 7323 section 2). The default
    /// is our choice: it allows 60 Mbit/s over a GEO link.
    pub receive_buffer: ReceiveBuffer,
    /// Send buffer, for unacknowledged and unsent data: a size, `"unlimited"`, or a table for one
    /// that tunes itself as in Linux (`tcp_wmem`). `{}` has the defaults of Linux 6.18. An
    /// application that finds it full waits until a third of it is free.
    pub send_buffer: SendBuffer,
    /// Delayed acknowledgement: a time (with every second segment), `"off"` (each segment),
    /// `"linux"` (at once at the start of a connection, after a pause longer than the RTO and after
    /// duplicates; otherwise every second segment, or after 40ms to 200ms that follow the
    /// arrivals), or a table. RFC 5681 section 4.2 requires at most 500ms. The default does not
    /// depend on `recovery`.
    pub delayed_ack: DelayedAck,
    /// Retransmission timer (RFC 6298).
    pub rto: Rto,
    /// Explicit congestion notification: queues with `ecn_marking` or `aqm` mark data instead of
    /// dropping it, and the sender reduces its window as its controller does after a mark. `true`
    /// is RFC 3168, with one report of marks in a round trip. `"accurate"` is RFC 9768: the
    /// receiver counts marked packets and bytes. `"passive"` agrees to RFC 3168 if the other end
    /// requests ECN, and requests nothing itself, as Linux does (`tcp_ecn = 2`). The end that opens
    /// the connection requests. A table with `from` and `to` has one form for each end: `{ from =
    /// "passive", to = true }` is a client that requests ECN from a server of Linux. Gateways of a
    /// flow with such a table are passive. Default: the form that the controller needs, and
    /// `false` for those that need no marks. A controller that needs marks has its own form with
    /// `true` too, and refuses `false`.
    pub ecn: Option<Ecn>,
    /// Rate at which the application reads. Default: it reads at once.
    pub reader_rate: Option<Rate>,
    /// Initial sequence number of the data sender. The receiver uses the next number. Default:
    /// derived from the number of the flow, to distinguish the flows in a capture.
    pub initial_sequence: Option<u32>,
}

/// A size, or a table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum ReceiveBuffer {
    Size(#[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))] Bytes),
    Tuned(ReceiveTable),
}

impl Default for ReceiveBuffer {
    fn default() -> Self {
        Self::Size(Config::RECEIVE_BUFFER)
    }
}

impl ReceiveBuffer {
    /// The size of a buffer that has one.
    pub(crate) fn size(&self) -> Option<Bytes> {
        match self {
            Self::Size(size) => Some(*size),
            Self::Tuned(_) => None,
        }
    }
}

/// A receive buffer that tunes itself. Sizes are memory: a full segment of 1448 bytes takes 2304,
/// so the window is five eighths of it, and less for smaller segments.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct ReceiveTable {
    /// Size at the start, of which half is window. Default: that of the version, 131072B, or 87380B
    /// up to 4.19 and 65536B for FreeBSD, where all of it is window.
    #[schemars(extend("x-minimum" = "4096B", "x-maximum" = "1GiB"))]
    pub default: Option<Bytes>,
    /// Largest size. Default: that of the version, 6MiB up to 6.15, 32MiB from 6.16 on, and 2MiB
    /// for FreeBSD.
    #[schemars(extend("x-minimum" = "4096B", "x-maximum" = "1GiB"))]
    pub max: Option<Bytes>,
    /// System by whose rule the buffer grows: `"linux-4.19"` up to 4.19, whose first window has 20
    /// segments, `"linux-5.15"` up to 6.5, where half of it is window whatever segments cost,
    /// `"linux-6.12"` up to 6.15, `"linux-6.16"` for 6.16 and 6.17, which let it grow every other
    /// round trip only, `"linux-6.18"`, or `"freebsd-14"`, where all of it is window. Not on the
    /// kernel backend, whose kernel has its own rule.
    pub growth: Growth,
}

/// A size, `"unlimited"`, or a table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum SendBuffer {
    Size(SizeLimit),
    Tuned(SendTable),
}

impl Default for SendBuffer {
    fn default() -> Self {
        Self::Size(SizeLimit::UNLIMITED)
    }
}

/// A send buffer that tunes itself. Sizes are memory, which is the data and a twentieth of it, or
/// more where packets are small.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct SendTable {
    /// Size at the start. It has room for ten segments and two congestion windows, or three with
    /// BBR, however small it is.
    #[schemars(extend("x-minimum" = "4096B", "x-maximum" = "1GiB"))]
    pub default: Bytes,
    /// Largest size.
    #[schemars(extend("x-minimum" = "4096B", "x-maximum" = "1GiB"))]
    pub max: Bytes,
    /// Unsent data in the buffer at which the application waits, whatever its size
    /// (`tcp_notsent_lowat`, or the socket option `TCP_NOTSENT_LOWAT`). It goes on when less than
    /// half of it is unsent. Linux tests it when a packet buffer begins, so up to 64 kB more are
    /// unsent.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub notsent_lowat: SizeLimit,
}

impl Default for SendTable {
    fn default() -> Self {
        Self {
            default: SendTuning::DEFAULT,
            max: SendTuning::MAX,
            notsent_lowat: SizeLimit::UNLIMITED,
        }
    }
}

/// SCTP settings. The defaults are those of RFC 9260 section 16, unless the description says
/// otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Sctp {
    /// Nodes through which the paths of an association lead (multihoming), the one of the primary
    /// path first. Both hosts have an address for each path, and packets in both directions pass
    /// its node. Default: one path, with the smallest delay.
    #[schemars(length(min = 1, max = 8))]
    pub paths: Option<Vec<Name>>,
    #[serde(flatten)]
    pub config: sctp::Config,
}

/// One form for both ends, or a table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Ecn {
    Both(EcnOfEnd),
    Ends(EcnOfEnds),
}

impl Ecn {
    /// At `from` and at `to`.
    pub(crate) fn ends(self) -> [EcnOfEnd; 2] {
        match self {
            Self::Both(form) => [form, form],
            Self::Ends(EcnOfEnds { from, to }) => [from, to],
        }
    }
}

/// ECN of ends that differ.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct EcnOfEnds {
    /// At the sender of the data.
    pub from: EcnOfEnd,
    /// At its receiver.
    pub to: EcnOfEnd,
}

/// `true`, `false`, `"accurate"` or `"passive"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum EcnOfEnd {
    Switch(bool),
    Form(EcnForm),
}

impl From<EcnOfEnd> for congestion::Ecn {
    fn from(form: EcnOfEnd) -> Self {
        match form {
            EcnOfEnd::Switch(false) => Self::Off,
            EcnOfEnd::Switch(true) => Self::Classic,
            EcnOfEnd::Form(EcnForm::Accurate) => Self::Accurate,
            EcnOfEnd::Form(EcnForm::Passive) => Self::Passive,
        }
    }
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
    /// Lower bound of the RTO (rule 2.4). With the estimator `"linux"`, lower bound of the part
    /// that is added to the smoothed RTT. Default: 1s, or 200ms with the estimator `"linux"`.
    #[schemars(extend("x-minimum" = "1ms"))]
    pub min: Option<Span>,
    #[serde(flatten)]
    pub config: RtoConfig,
}
