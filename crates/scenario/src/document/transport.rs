//! TCP settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use super::words::{Off, Unlimited};

/// TCP settings of both ends of a flow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Transport {
    /// Loss recovery. `"linux"` is RACK-TLP with proportional rate reduction. Default: the recovery
    /// that the controller was designed for.
    pub recovery: Option<RecoveryName>,
    /// Amount from which ssthresh is computed after a loss: the flight size (RFC 5681 equation 4);
    /// `"pipe"`, which excludes SACKed and lost data, as in ns-3; or `"cwnd"`, as in ns-2 and Linux.
    /// With the recovery `"linux"`, `"flight-size"` uses cwnd.
    #[schemars(extend("x-renamed-from" = "loss_threshold"))]
    pub ssthresh_basis: LossThreshold,
    /// Maximum segment size in bytes, without TCP options (RFC 9293 section 3.7.1). The default
    /// fills an Ethernet frame.
    #[schemars(range(min = 64, max = 65_495))]
    pub mss: u32,
    /// Receive buffer, which is the largest advertised window. More than 65535B requires
    /// `window_scaling` (RFC 7323 section 2). The default is our choice: it allows 60 Mbit/s over a
    /// GEO link.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub receive_buffer: Bytes,
    /// Send buffer, for unacknowledged and unsent data.
    pub send_buffer: SizeLimit,
    /// Rate at which the application reads. Default: it reads at once.
    pub reader_rate: Option<Rate>,
    /// Window scale option (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Timestamps option (RFC 7323 section 3): one RTT sample per ACK, for 12 bytes in each segment.
    /// On by default, as in Linux. Without it, one segment at a time is timed. On a long path the RTO
    /// is then too small while a queue fills within one RTT.
    pub timestamps: bool,
    /// Delayed acknowledgement: a time (with every second segment), `"off"` (each segment), or a
    /// table. RFC 5681 section 4.2 requires at most 500ms. The default is that of most systems.
    pub delayed_ack: DelayedAck,
    /// Initial window in segments (RFC 6928).
    #[schemars(range(min = 1, max = 65_535))]
    pub initial_window: u32,
    /// Initial slow start threshold. `"unlimited"` is "arbitrarily high" in RFC 5681 section 3.1.
    pub initial_ssthresh: SizeLimit,
    /// Number of duplicate ACKs that indicate a loss (RFC 5681 section 3.2).
    #[schemars(range(min = 1, max = 255))]
    #[schemars(extend("x-renamed-from" = "duplicate_threshold"))]
    pub dupthresh: u32,
    /// Maximum growth per ACK in slow start, in segments: L of RFC 3465. 1 is RFC 5681.
    #[schemars(range(min = 1, max = 255))]
    #[schemars(extend("x-renamed-from" = "byte_counting"))]
    pub abc_limit: u32,
    /// Increase cwnd only while it limits the sender (RFC 7661).
    pub window_validation: bool,
    /// Retransmission timer (RFC 6298).
    pub rto: Rto,
    /// First persist interval (RFC 9293 section 3.8.6.1). The default is our choice: the lower
    /// bound of the RTO.
    #[schemars(extend("x-minimum" = "1ms"))]
    pub persist_timeout: Span,
    /// Number of retransmissions of a segment after which the connection is aborted (R2 of RFC 9293
    /// section 3.8.3). The default is tcp_retries2 of Linux.
    #[schemars(range(min = 1, max = 255))]
    #[schemars(extend("x-renamed-from" = "retransmission_threshold"))]
    pub max_retries: u32,
    /// Pacing of segments: `"controller"` paces only controllers that need it, `"linux"` paces all,
    /// like a Linux host with the `fq` queueing discipline. Without `fq`, Linux paces only BBR.
    pub pacing: Pacing,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Nagle's algorithm (RFC 9293 section 3.7.4). Off by default, because it only delays the last
    /// segment of a response.
    pub nagle: bool,
    /// Fall back to the initial window after an idle RTO (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Explicit congestion notification (RFC 3168): queues with `ecn_marking` mark data instead of
    /// dropping it, and the sender reduces its window as after a loss. Always on for controllers that
    /// need marks.
    pub ecn: bool,
    /// Report data that arrived twice in the first SACK block (RFC 2883). Requires the recovery
    /// `"sack"` or `"linux"`. Always on with `"linux"`, and for controllers that need the reports.
    pub dsack: bool,
    /// Careful Resume (RFC 9959) with the parameters of an earlier connection over the same path.
    /// After the first round trip, cwnd jumps to half of the saved window, paced. It falls back if the
    /// path cannot carry it. Works with every controller. Default: off.
    pub careful_resume: Option<CarefulResume>,
    /// Initial sequence number of the data sender. The receiver uses the next number. Default:
    /// derived from the number of the flow, to distinguish the flows in a capture.
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
        /// Number of full-sized segments after which an ACK is sent at once. 1 acknowledges each
        /// segment.
        #[serde(default = "every_second")]
        #[schemars(range(min = 1, max = 255))]
        segments: u32,
        /// Maximum delay of an ACK.
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
    /// Estimator of the RTT variance: that of RFC 6298, with gains divided by the number of samples
    /// per round trip (RFC 7323 appendix G), or `"linux"`: the largest mean deviation of a round trip.
    pub estimator: Estimator,
    /// RTO before the first RTT sample (rule 2.1).
    #[schemars(extend("x-minimum" = "1ms"))]
    pub initial: Span,
    /// Lower bound of the RTO (rule 2.4). With the estimator `"linux"`, lower bound of the part that
    /// is added to the smoothed RTT. Default: 1s, or 200ms with the estimator `"linux"`.
    #[schemars(extend("x-minimum" = "1ms"))]
    pub min: Option<Span>,
    /// Upper bound of the RTO (rule 2.5).
    #[schemars(extend("x-minimum" = "1ms"))]
    pub max: Span,
    /// Clock granularity G. The variance term is at least G, and the RTO is a multiple of G. The
    /// default is our choice: the clock of present systems.
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

/// Saved parameters of an earlier connection (RFC 9959).
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CarefulResume {
    /// Bytes acknowledged in a round-trip time: `saved_cwnd` of the RFC.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    #[schemars(extend("x-renamed-from" = "saved_window"))]
    pub saved_cwnd: Bytes,
    /// Minimum round-trip time. The path is taken as a different one if its RTT is at most half or
    /// more than ten times as long.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "60s"))]
    pub saved_rtt: Span,
    /// Maximum window after the jump.
    #[serde(default = "no_limit")]
    pub max_jump: SizeLimit,
}

fn no_limit() -> SizeLimit {
    SizeLimit::Unlimited(Unlimited::Unlimited)
}

/// Amount from which ssthresh is computed after a loss.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum LossThreshold {
    FlightSize,
    Pipe,
    Cwnd,
}

/// Controllers whose segments are paced.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum Pacing {
    Controller,
    Linux,
}

/// Estimator of the RTT variance.
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
