//! TCP settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use super::words::{Off, Unlimited};

/// TCP settings of both ends of a flow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Transport {
    /// How losses are found and repaired; `"linux"` is RACK-TLP with proportional rate reduction.
    /// Default: the recovery that the controller was written for.
    pub recovery: Option<RecoveryName>,
    /// What a loss halves: the flight size (RFC 5681 equation 4), or `"pipe"`, from which what is
    /// SACKed or lost has been taken already, as ns-3 does, or `"cwnd"`, as ns-2 and Linux do. With
    /// the recovery `"linux"` cwnd stands for the flight size.
    #[schemars(extend("x-renamed-from" = "loss_threshold"))]
    pub ssthresh_basis: LossThreshold,
    /// Maximum segment size in bytes, without TCP options (RFC 9293 section 3.7.1). The default
    /// fills an Ethernet frame.
    #[schemars(range(min = 64, max = 65_495))]
    pub mss: u32,
    /// Receive buffer: the largest window that is advertised; above 65535B it needs
    /// `window_scaling` (RFC 7323 section 2). The default is our choice: it carries 60 Mbit/s over
    /// a GEO link.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub receive_buffer: Bytes,
    /// Send buffer: unacknowledged and unsent data.
    pub send_buffer: SizeLimit,
    /// How fast the application reads. Default: it reads at once.
    pub reader_rate: Option<Rate>,
    /// Window scale option (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Timestamps option (RFC 7323 section 3): one RTT sample per ACK, and 12 bytes of each segment.
    /// On, as in Linux. Without it one segment at a time is timed, and on a long path the RTO lags
    /// behind a queue that fills within one RTT.
    pub timestamps: bool,
    /// When the receiver acknowledges: a time (with every second segment), `"off"` (each segment),
    /// or a table. RFC 5681 section 4.2 asks for at most 500ms; the default is that of most
    /// systems.
    pub delayed_ack: DelayedAck,
    /// Initial window in segments (RFC 6928).
    #[schemars(range(min = 1, max = 65_535))]
    pub initial_window: u32,
    /// Initial slow start threshold; `"unlimited"` is the "arbitrarily high" of RFC 5681 section
    /// 3.1.
    pub initial_ssthresh: SizeLimit,
    /// Duplicate ACKs that mean a loss (RFC 5681 section 3.2).
    #[schemars(range(min = 1, max = 255))]
    #[schemars(extend("x-renamed-from" = "duplicate_threshold"))]
    pub dupthresh: u32,
    /// Segments of growth for one ACK in slow start: the L of RFC 3465; 1 is RFC 5681.
    #[schemars(range(min = 1, max = 255))]
    #[schemars(extend("x-renamed-from" = "byte_counting"))]
    pub abc_limit: u32,
    /// Grow cwnd only while it is what limits the sender (RFC 7661).
    pub window_validation: bool,
    /// Retransmission timer (RFC 6298).
    pub rto: Rto,
    /// First persist interval (RFC 9293 section 3.8.6.1). The default is our choice: the lower
    /// bound of the RTO.
    #[schemars(extend("x-minimum" = "1ms"))]
    pub persist_timeout: Span,
    /// Retransmissions of one segment after which the connection is aborted (R2 of RFC 9293
    /// section 3.8.3). The default is Linux's tcp_retries2.
    #[schemars(range(min = 1, max = 255))]
    #[schemars(extend("x-renamed-from" = "retransmission_threshold"))]
    pub max_retries: u32,
    /// Whose segments leave no faster than a rate: `"controller"`, those of controllers that need it,
    /// or `"linux"`, all: that is a Linux host with the `fq` queueing discipline. Without `fq` Linux
    /// paces no others than BBR.
    pub pacing: Pacing,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Nagle's algorithm (RFC 9293 section 3.7.4). Off by default: it only delays the last segment
    /// of a response.
    pub nagle: bool,
    /// Fall back to the initial window after an idle RTO (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Explicit congestion notification (RFC 3168): data may be marked by queues with `ecn_marking` and the
    /// sender reduces its window as after a loss. On anyway for controllers that need the marks.
    pub ecn: bool,
    /// Report data that arrived twice in the first SACK block (RFC 2883). On anyway for controllers
    /// that need the reports, and with the recovery `"linux"`; needs that or `"sack"`.
    pub dsack: bool,
    /// What an earlier connection over the same path has found: Careful Resume, RFC 9959. After the
    /// first round trip cwnd jumps to half of the saved window, paced, and falls back when that
    /// proves too much. Stands beside any controller. Default: nothing is resumed.
    pub careful_resume: Option<CarefulResume>,
    /// First sequence number of the side that sends the data; the other takes one more. Default:
    /// derived from the number of the flow, so that traces are told apart.
    pub initial_sequence: Option<u32>,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            recovery: None,
            ssthresh_basis: LossThreshold::FlightSize,
            mss: 1460,
            receive_buffer: Bytes(4 << 20),
            send_buffer: SizeLimit::Unlimited(Unlimited::Unlimited),
            reader_rate: None,
            window_scaling: true,
            timestamps: true,
            delayed_ack: DelayedAck::Timeout(Span::from_millis(200)),
            initial_window: 10,
            initial_ssthresh: SizeLimit::Unlimited(Unlimited::Unlimited),
            dupthresh: 3,
            abc_limit: 1,
            window_validation: true,
            rto: Rto::default(),
            persist_timeout: Span::from_secs(1),
            max_retries: 15,
            pacing: Pacing::Controller,
            limited_transmit: true,
            nagle: false,
            idle_restart: true,
            ecn: false,
            dsack: false,
            careful_resume: None,
            initial_sequence: None,
        }
    }
}

/// A size, or `"unlimited"`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum SizeLimit {
    Unlimited(Unlimited),
    Size(#[schemars(extend("x-minimum" = "1B"))] Bytes),
}

impl SizeLimit {
    /// The limit, if there is one.
    pub fn size(self) -> Option<Bytes> {
        match self {
            Self::Unlimited(_) => None,
            Self::Size(size) => Some(size),
        }
    }
}

/// `"off"`, a time, or a table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum DelayedAck {
    Off(Off),
    Timeout(Span),
    Table {
        /// Full-sized segments after which an ACK is sent at once; 1 acknowledges each segment.
        #[serde(default = "every_second")]
        #[schemars(range(min = 1, max = 255))]
        segments: u32,
        /// The longest an ACK waits.
        #[serde(default = "usual_delay")]
        timeout: Span,
    },
}

pub(crate) fn every_second() -> u32 {
    2
}

fn usual_delay() -> Span {
    Span::from_millis(200)
}

/// Retransmission timer. The defaults are those of RFC 6298 section 2.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rto {
    /// What the RTT variance is: that of RFC 6298, its gains divided by the samples of a round trip
    /// (RFC 7323 appendix G), or in `"linux"` the largest mean deviation of a round trip.
    pub estimator: Estimator,
    /// Before the first sample (rule 2.1).
    #[schemars(extend("x-minimum" = "1ms"))]
    pub initial: Span,
    /// Lower bound (rule 2.4); with the estimator `"linux"` of what is added to the smoothed RTT.
    /// Default: 1s, or the 200ms of Linux with its estimator.
    #[schemars(extend("x-minimum" = "1ms"))]
    pub min: Option<Span>,
    /// Upper bound (rule 2.5).
    #[schemars(extend("x-minimum" = "1ms"))]
    pub max: Span,
    /// Clock granularity G: the variance term is at least G and the RTO a multiple of it. The
    /// default is our choice: the clock of current systems.
    pub granularity: Span,
    /// Gain alpha of the smoothed RTT (rule 2.3).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    #[schemars(extend("x-renamed-from" = "gain"))]
    pub alpha: f64,
    /// Gain beta of the RTT variance (rule 2.3).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    #[schemars(extend("x-renamed-from" = "deviation_gain"))]
    pub beta: f64,
    /// Coefficient K of the variance in the RTO (rule 2.2).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    #[schemars(extend("x-renamed-from" = "deviation_coefficient"))]
    pub k: f64,
}

impl Default for Rto {
    fn default() -> Self {
        Self {
            estimator: Estimator::Rfc6298,
            initial: Span::from_secs(1),
            min: None,
            max: Span::from_secs(60),
            granularity: Span::from_millis(1),
            alpha: 0.125,
            beta: 0.25,
            k: 4.0,
        }
    }
}

/// What an earlier connection has found (RFC 9959).
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CarefulResume {
    /// Bytes that were acknowledged in a round-trip time: the `saved_cwnd` of the RFC.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    #[schemars(extend("x-renamed-from" = "saved_window"))]
    pub saved_cwnd: Bytes,
    /// The smallest round-trip time. The path counts as another when its RTT is at most half or
    /// more than ten times as long.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "60s"))]
    pub saved_rtt: Span,
    /// The largest window to jump to.
    #[serde(default = "no_limit")]
    pub max_jump: SizeLimit,
}

fn no_limit() -> SizeLimit {
    SizeLimit::Unlimited(Unlimited::Unlimited)
}

/// What a loss halves.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum LossThreshold {
    FlightSize,
    Pipe,
    Cwnd,
}

/// Whose segments are paced.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum Pacing {
    Controller,
    Linux,
}

/// How the RTT variance is estimated.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum Estimator {
    Rfc6298,
    Linux,
}

/// The name of a recovery.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RecoveryName(pub String);
