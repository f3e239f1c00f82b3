//! Traffic of applications.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use super::words::{Off, Unlimited};
use crate::page::document::Page;

/// One of `download`, `bulk`, `web`, `page`, `constant`, `on_off`, `call`, `messages`, `video` and
/// `speedtest`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Traffic {
    Download {
        /// Bytes to receive: `to` opens the connection, sends a request and receives from `from`.
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000000GB"))]
        download: Bytes,
        /// Bytes of the request. With none, `from` sends as soon as the connection is established.
        #[serde(default)]
        #[schemars(extend("x-maximum" = "1GB"))]
        request: Bytes,
        /// Bytes of one write of `from`, where `transport.send_buffer` tunes itself. Default:
        /// 64KiB.
        #[serde(default)]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
        write: Option<Bytes>,
    },
    Bulk {
        /// Bytes to send, or `"unlimited"` until the run ends: `from` opens the connection.
        bulk: Bulk,
        /// Bytes of one write, where `transport.send_buffer` tunes itself. Default: 64KiB.
        #[serde(default)]
        #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
        write: Option<Bytes>,
    },
    Web {
        /// `to` fetches pages from `from` by HTTP/1.1, or over streams of QUIC as HTTP/3 does.
        web: Web,
    },
    Page {
        /// `to` loads pages from `from` as a browser does.
        page: Box<Page>,
    },
    Constant {
        /// `from` opens the connection and writes at a constant rate until the flow stops.
        constant: Constant,
    },
    OnOff {
        /// `from` opens the connection and writes in bursts until the flow stops.
        on_off: OnOff,
    },
    Call {
        /// A voice call between `from` and `to`, with `transport.protocol = "udp"`.
        call: applications::call::Settings,
    },
    Messages {
        /// `to` sends requests at a period, and `from` answers: over datagrams with
        /// `transport.protocol = "udp"`, else over one connection that `to` opens.
        messages: applications::messages::Settings,
    },
    Video {
        /// `to` plays an adaptive video that it fetches from `from`.
        video: applications::video::Settings,
    },
    Speedtest {
        /// `to` tests the rate and the latency of its connection to `from`, each way.
        speedtest: applications::speedtest::Settings,
    },
}

impl Traffic {
    /// Bytes of one write, if the scenario names them.
    pub(crate) fn write(&self) -> Option<Bytes> {
        match self {
            Self::Download { write, .. } | Self::Bulk { write, .. } => *write,
            Self::Web { .. }
            | Self::Page { .. }
            | Self::Constant { .. }
            | Self::OnOff { .. }
            | Self::Call { .. }
            | Self::Messages { .. }
            | Self::Video { .. }
            | Self::Speedtest { .. } => None,
        }
    }
}

/// An amount, or `"unlimited"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Bulk {
    Unlimited(Unlimited),
    Size(#[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000000GB"))] Bytes),
}

/// Web pages over HTTP/1.1 (RFC 9112). Over QUIC, each request and its answer have a stream of
/// their own, as with HTTP/3 (RFC 9114). The default page is the one of the TCP-ADaLR experiments.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Web {
    /// Number of pages to fetch. Default: pages until the run ends.
    #[schemars(range(min = 1))]
    pub pages: Option<u32>,
    /// Time from the start of one page to the start of the next, with several pages. Default: 30s,
    /// of Omueti and Trajkovic, TCP-ADaLR, 2007.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub interval: Option<Span>,
    /// Bytes of the main object. Default: as `interval`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "100GB"))]
    pub main_object: Bytes,
    /// Number of embedded objects. Default: as `interval`.
    #[schemars(range(max = 100_000))]
    pub embedded_objects: u32,
    /// Bytes of each embedded object. Default: as `interval`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "100GB"))]
    pub embedded_object: Bytes,
    /// Bytes of each request. The default is our choice: a GET with the usual header fields.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub request: Bytes,
    /// Parallel connections. Default: 2, the limit of RFC 2616 section 8.1.4, and with QUIC 1.
    #[schemars(range(min = 1, max = 1000))]
    pub connections: Option<u32>,
    /// Send requests without waiting for the previous response (RFC 9112 section 9.3.2). Default:
    /// false, and with QUIC true.
    pub pipelining: Option<bool>,
    /// Idle time after which a connection is closed. With `"off"`, connections stay open: they are
    /// persistent (RFC 9112 section 9.3). Those of QUIC end after `idle_timeout` nevertheless.
    pub keep_alive: KeepAlive,
}

impl Default for Web {
    fn default() -> Self {
        Self {
            pages: None,
            interval: None,
            main_object: Bytes(10_710),
            embedded_objects: 15,
            embedded_object: Bytes(7758),
            request: Bytes(350),
            connections: None,
            pipelining: None,
            keep_alive: KeepAlive::Off(Off::Off),
        }
    }
}

/// A time, or `"off"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum KeepAlive {
    Off(Off),
    Timeout(Span),
}

/// A source with a constant rate. If TCP is slower, data waits in the application without limit. So
/// the offered load does not depend on the network.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Constant {
    /// Rate of written data, without headers.
    #[schemars(extend("x-maximum" = "320Gbit/s"))]
    pub rate: Rate,
    /// Bytes of each write. The first write is at the start of the flow. Default: one full segment.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub message: Option<Bytes>,
}

/// A source of bursts and pauses over one connection, which stays open. If TCP is slower, data
/// waits in the application without limit, and bursts can overlap.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnOff {
    /// Rate of written data during a burst, without headers.
    #[schemars(extend("x-maximum" = "320Gbit/s"))]
    pub rate: Rate,
    /// Mean duration of a burst. The first burst begins at the start of the flow.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub on: Span,
    /// Mean duration of a pause.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub off: Span,
    /// Distribution of both durations.
    #[serde(default)]
    pub distribution: Distribution,
    /// Shape of the Pareto distribution. Smaller values have a heavier tail. Up to 2 the variance
    /// is infinite. Default: 1.5, as in ns-2.
    #[schemars(extend("exclusiveMinimum" = 1))]
    pub shape: Option<f64>,
    /// Bytes of each write. The last write of a burst may be smaller. Default: one full segment.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub message: Option<Bytes>,
}

/// A distribution of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Distribution {
    #[default]
    Exponential,
    Pareto,
    Constant,
}
