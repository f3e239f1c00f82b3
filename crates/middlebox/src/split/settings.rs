//! Settings that a simulated split proxy and the daemon share.

use units::{Bytes, Rate};

#[cfg(feature = "schema")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

/// Time at which the client's connection is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"))]
pub enum Accept {
    /// At once: one round trip of the far leg sooner. A server that refuses is seen as a
    /// reset after the handshake.
    #[default]
    Early,
    /// After the server has accepted. A refused port looks refused.
    Late,
    /// At once for servers that have accepted a connection lately, otherwise after the server.
    EarlyIfKnown,
}

impl Accept {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Late => "late",
            Self::EarlyIfKnown => "early-if-known",
        }
    }
}

/// Treatment of new connections above the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"))]
pub enum AtLimit {
    /// They cross the gateway unsplit.
    #[default]
    Pass,
    /// They are reset.
    Refuse,
}

impl AtLimit {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Refuse => "refuse",
        }
    }
}

/// TCP settings of one side of a split proxy. An absent key leaves the decision to the host's TCP.
/// `C` names a congestion controller: on Linux a name is all that there is, in a scenario there are
/// parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, bound(deserialize = "C: Deserialize<'de>")))]
#[cfg_attr(feature = "schema", schemars(extend("additionalProperties" = false)))]
pub struct SplitSide<C = String> {
    /// Congestion controller.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["hybla"])))]
    pub controller: Option<C>,
    /// Initial congestion window in segments (RFC 6928 has 10).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub initial_window: Option<u32>,
    /// Send buffer of one connection. The manual of the SCPS gateway recommends two BDP.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "4KiB", "x-maximum" = "1GiB")))]
    pub send_buffer: Option<Bytes>,
    /// Receive buffer of one connection.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "4KiB", "x-maximum" = "1GiB")))]
    pub receive_buffer: Option<Bytes>,
    /// Upper bound of the MSS.
    #[cfg_attr(feature = "schema", schemars(range(min = 88, max = 65495)))]
    pub mss: Option<u32>,
    /// Maximum pacing rate of one connection.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "320Gbit/s")))]
    pub pacing_rate: Option<Rate>,
}

/// Without a bound on `C`, which a derived default would have.
impl<C> Default for SplitSide<C> {
    fn default() -> Self {
        Self {
            controller: None,
            initial_window: None,
            send_buffer: None,
            receive_buffer: None,
            mss: None,
            pacing_rate: None,
        }
    }
}

/// A side of a split proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideName {
    /// The side that is not the satellite's.
    Terrestrial,
    /// The side of the satellite.
    Satellite,
}

impl SideName {
    /// Both sides.
    pub const ALL: [Self; 2] = [Self::Terrestrial, Self::Satellite];

    /// The side across the gateway.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Terrestrial => Self::Satellite,
            Self::Satellite => Self::Terrestrial,
        }
    }

    /// The key in files, and the label in metrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Terrestrial => "terrestrial",
            Self::Satellite => "satellite",
        }
    }

    /// Position in [`SideName::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Limits of a split proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema))]
#[cfg_attr(feature = "schema", serde(default))]
#[cfg_attr(feature = "schema", schemars(extend("additionalProperties" = false)))]
pub struct SplitLimits {
    /// Maximum number of split connections at the same time.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 500_000)))]
    pub connections: u32,
    /// Treatment of new connections above the limit: `"pass"` (they cross unsplit) or `"refuse"`.
    pub at_limit: AtLimit,
    /// Maximum number of bytes that the relay holds for one direction of a connection, in addition
    /// to the buffers of both sockets.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "64KiB", "x-maximum" = "1MiB")))]
    pub relay_buffer: Bytes,
}

impl Default for SplitLimits {
    fn default() -> Self {
        Self { connections: 4_000, at_limit: AtLimit::Pass, relay_buffer: Bytes(256 * 1024) }
    }
}
