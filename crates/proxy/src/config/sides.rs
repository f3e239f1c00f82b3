//! Settings of connections: those of a side, and those of a subnet.

use middlebox::SplitSide;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

/// One side of the gateway.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Side {
    /// Network interfaces of this side.
    #[schemars(length(min = 1), extend("examples" = [["eth0"]]))]
    pub interfaces: Vec<String>,
    /// Settings of connections on this side.
    #[serde(flatten)]
    pub tcp: TcpOptions,
}

/// TCP settings of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct TcpOptions {
    /// Settings that a simulated proxy has too.
    #[serde(flatten)]
    pub split: SplitSide,
    /// Settings that subnets can have too.
    #[serde(flatten)]
    pub connection: ConnectionOptions,
    /// Rate that connections share.
    #[serde(flatten)]
    pub shared: RateOptions,
    /// TCP Fast Open (RFC 7413), as a client and as a server.
    pub fast_open: Option<bool>,
}

/// A rate that connections share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct RateOptions {
    /// Rate that all these connections share for what is sent to them: data, and the headers of its
    /// packets. Pure ACKs and retransmissions do not count. Connections that wait for it have
    /// turns. That of a subnet replaces that of the side. Default: no limit.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "320Gbit/s"))]
    pub rate: Option<Rate>,
    /// Size of the bucket of `rate`: the most that is sent at once after a pause. Default: what
    /// `rate` brings in 50 ms, and at least five packets of 1500 bytes.
    #[schemars(extend("x-minimum" = "1500B", "x-maximum" = "1GiB"))]
    pub burst: Option<Bytes>,
}

/// Settings that take effect on connections that are open already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct ConnectionOptions {
    /// Idle time before the first keep-alive probe, in whole seconds. The next ones follow after a
    /// tenth of it each, rounded down to whole seconds and at least 1s. The connection ends after
    /// nine. Default: no probes.
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "32000s"))]
    pub keepalive: Option<Span>,
    /// Time for which sent data may stay unacknowledged (RFC 5482), in whole milliseconds. Default:
    /// that of the kernel.
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "24h"))]
    pub user_timeout: Option<Span>,
    /// Upper bound of data that the socket holds unsent. Default: none, or with `rate` what it
    /// brings in 2 ms, but 16 to 128 KiB.
    #[schemars(extend("x-minimum" = "1KiB", "x-maximum" = "1GiB"))]
    pub notsent_lowat: Option<Bytes>,
}

/// Settings for a subnet. A handshake is over before the subnet of a client is known, so `mss` and
/// `fast_open` are keys of a side. The kernel takes `initial_window` from routes, which have
/// interfaces.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Subnet {
    /// Addresses.
    #[schemars(extend("examples" = ["203.0.113.0/24"]))]
    pub prefix: String,
    /// Congestion controller.
    #[schemars(extend("examples" = ["hybla"]))]
    pub controller: Option<String>,
    /// Send buffer of one connection.
    #[schemars(extend("x-minimum" = "4KiB", "x-maximum" = "1GiB"))]
    pub send_buffer: Option<Bytes>,
    /// Receive buffer of one connection.
    #[schemars(extend("x-minimum" = "4KiB", "x-maximum" = "1GiB"))]
    pub receive_buffer: Option<Bytes>,
    /// Maximum pacing rate of one connection.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "320Gbit/s"))]
    pub pacing_rate: Option<Rate>,
    /// Other settings of connections whose far end is in it.
    #[serde(flatten)]
    pub connection: ConnectionOptions,
    /// Rate that the connections whose far end is in it share.
    #[serde(flatten)]
    pub shared: RateOptions,
}

impl Subnet {
    /// The settings as those of a side, without keys that a subnet does not have.
    pub(super) fn tcp(&self) -> TcpOptions {
        let Self {
            prefix: _,
            controller,
            send_buffer,
            receive_buffer,
            pacing_rate,
            connection,
            shared,
        } = self.clone();
        let none = SplitSide::default();
        let split = SplitSide { controller, send_buffer, receive_buffer, pacing_rate, ..none };
        TcpOptions { split, connection, shared, fast_open: None }
    }
}
