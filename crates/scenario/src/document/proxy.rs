//! The split proxy of a gateway. Names of keys are those of the daemon's file, see `SplitSide`.

use std::borrow::Cow;
use std::iter;

use middlebox::{Accept, AtLimit, Preset, SideName, SplitLimits, SplitSide};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcp::{Recovery, Scps};
use transport::{Protocol, SavedPath};
use units::{Bytes, Rate, Span};

use super::{Controller, Name};

/// A split proxy by the name of its preset, or with keys.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum NamedProxy {
    Name(ProxyName),
    Table(Box<Proxy>),
}

/// A name of a preset, or `none`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ProxyName(String);

impl JsonSchema for ProxyName {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "ProxyName".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = iter::once("none").chain(Preset::ALL.map(Preset::name)).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

impl NamedProxy {
    /// The proxy with its keys; `None` for `none`.
    pub(crate) fn resolve(&self) -> Option<Cow<'_, Proxy>> {
        match self {
            Self::Table(proxy) => Some(Cow::Borrowed(proxy)),
            Self::Name(ProxyName(name)) => {
                let preset = Preset::ALL.into_iter().find(|preset| preset.name() == name)?;
                Some(Cow::Owned(Proxy { preset: Some(preset), ..Proxy::default() }))
            }
        }
    }
}

/// A split proxy. It ends the client's connection, opens another one to the server, and relays in
/// both directions. End of stream (FIN) and reset are passed on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Proxy {
    /// A proxy of a paper or a program, which sets controller and recovery of the satellite side.
    /// Keys that are written come before it. "scps-gateway" and "satpep" are for both ends of the
    /// satellite, and also set the protocol and `rate`.
    pub preset: Option<Preset>,
    /// Time at which the client's connection is accepted. `"early"` is at once: a server that
    /// refuses is seen as a reset after the handshake. `"late"` is after the server has accepted: a
    /// refused port looks refused. `"early-if-known"` is at once for hosts that have accepted a
    /// connection within `known_for`.
    #[serde(default)]
    pub accept: Accept,
    /// Time for which a host counts as known after it has accepted a connection, with
    /// `accept = "early-if-known"`. Default: 5min.
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "24h"))]
    pub known_for: Option<Span>,
    /// Time in which a server must accept. After it the client is reset. With `accept = "late"` it
    /// is left without an answer. Default: 75s.
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "10min"))]
    pub connect_timeout: Option<Span>,
    /// The side that is not the satellite's.
    #[serde(default)]
    pub terrestrial: ProxySide,
    /// The side of the satellite.
    #[serde(default)]
    pub satellite: ProxySide,
    /// Limits.
    #[serde(default)]
    pub limits: ProxyLimits,
}

impl Proxy {
    /// A side by its name.
    pub(crate) fn side(&self, name: SideName) -> &ProxySide {
        match name {
            SideName::Terrestrial => &self.terrestrial,
            SideName::Satellite => &self.satellite,
        }
    }
}

/// One side of the gateway. TCP settings that it does not have are those of the flow.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct ProxySide {
    /// Neighbours of the node on this side. A beam is a neighbour of its gateway. Default: all
    /// neighbours that the other side does not have. If neither side has them, the satellite's are
    /// the beams of the node. Without any, it is the one neighbour with a proxy of its own. Without
    /// one, it is the one neighbour over a link with a delay of at least 119 ms in a direction, as
    /// far as a geostationary satellite is. If there is none or several, or a beam and one of them,
    /// one of the sides must have them.
    #[schemars(length(min = 1))]
    pub towards: Option<Vec<Name>>,
    /// Settings that the daemon has too. The default of `send_buffer` is that of the flow, or 4MiB
    /// if the flow has no limit: the largest that Linux gives a socket (tcp_wmem), and our choice.
    #[serde(flatten)]
    pub tcp: SplitSide<Controller>,
    /// Protocol of the connections on this side: `"tcp"`, `"scps-tp"` (CCSDS 714.0-B) or `"quic"`,
    /// which carries each TCP connection over a QUIC connection between two proxies. The last two
    /// are in the simulator only. Both ends of a leg must have the same: for another protocol
    /// between two proxies, the satellite sides of both have it. Default: `"tcp"`, unless the
    /// preset has another.
    pub protocol: Option<SideProtocol>,
    /// Settings of SCPS-TP, with `protocol = "scps-tp"`.
    pub scps: Option<Scps>,
    /// Settings of QUIC, with `protocol = "quic"`.
    pub quic: Option<quic::Settings>,
    /// Loss recovery. Default: the one that the `controller` of this side was designed for, or that
    /// of the flow if this side has no `controller`. Not with `protocol = "scps-tp"`, which has its
    /// own.
    pub recovery: Option<Recovery>,
    /// Careful Resume (RFC 9959) of connections on this side, with the parameters of an earlier
    /// connection. Default: off.
    pub careful_resume: Option<SavedPath>,
    /// Rate that all connections on this side share, counted over the IP packets that the gateway
    /// sends, ACKs included: a token bucket. Connections that wait for it send one packet each in
    /// turn. Default: no limit.
    #[schemars(extend("x-minimum" = "1kbit/s"))]
    pub rate: Option<Rate>,
    /// Size of the bucket of `rate`: the most that leaves at once. At least a full packet. Default:
    /// what `rate` brings in 50 ms, and at least five full packets.
    #[schemars(extend("x-minimum" = "100B", "x-maximum" = "1GiB"))]
    pub burst: Option<Bytes>,
}

/// Protocol of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum SideProtocol {
    /// TCP.
    Tcp,
    /// SCPS-TP.
    ScpsTp,
    /// QUIC.
    Quic,
}

impl From<SideProtocol> for Protocol {
    fn from(protocol: SideProtocol) -> Self {
        match protocol {
            SideProtocol::Tcp => Self::Tcp,
            SideProtocol::ScpsTp => Self::ScpsTp,
            SideProtocol::Quic => Self::Quic,
        }
    }
}

/// Limits of the proxy.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProxyLimits {
    /// Maximum number of split connections at the same time. Default: no limit.
    #[schemars(range(min = 1, max = 500_000))]
    pub connections: Option<u32>,
    /// Treatment of new connections above `connections`: `"pass"` (the default: they cross unsplit)
    /// or `"refuse"` (they are reset).
    pub at_limit: Option<AtLimit>,
    /// Maximum number of bytes that the relay holds for one direction of a connection, in addition
    /// to the buffers of both connections.
    #[schemars(extend("x-minimum" = "64KiB", "x-maximum" = "1MiB"))]
    pub relay_buffer: Bytes,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        let relay_buffer = SplitLimits::default().relay_buffer;
        Self { connections: None, at_limit: None, relay_buffer }
    }
}
