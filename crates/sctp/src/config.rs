//! Settings of an association.

use transport::{Estimator, RtoConfig};
use units::{Bytes, SizeLimit, Span};

use crate::chunk::{Address, COMMON_HEADER, DATA_HEADER, SACK};

/// Most paths of an association.
pub const MAX_PATHS: u8 = 8;

/// SCTP settings of one end. The defaults are those of RFC 9260 section 16, unless the description
/// says otherwise.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Config {
    /// Largest payload of a DATA chunk in bytes, the same at both ends and on all paths.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub mss: u32,
    /// Receive buffer in bytes of payload.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub receive_buffer: Bytes,
    /// The application reads at once; otherwise it calls
    /// [`read`](transport::Endpoint::read).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub reads_at_once: bool,
    /// Initial slow start threshold in bytes, at most the window that the other end advertises.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub initial_ssthresh: SizeLimit,
    /// Number of paths. Path 0 is the primary path.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub paths: u8,
    /// Type of the addresses, which INIT and INIT ACK list if there are several paths.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub address: Address,
    /// Number of streams in each direction. A transfer sends its messages on all of them in turn. A
    /// request and its answer have one stream.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65_535)))]
    pub streams: u32,
    /// Length of the messages that an application writes. Longer ones than fit a chunk are sent in
    /// fragments, and shorter ones share packets. Default: what fits a chunk.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB")))]
    pub message_size: Option<Bytes>,
    /// Messages of transfers have no order, not even within a stream (U flag).
    pub unordered: bool,
    /// Delay of a SACK for a single packet (section 6.2).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "0ms", "x-maximum" = "500ms")))]
    pub sack_delay: Span,
    /// Number of packets after which a SACK is not delayed (section 6.2).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65_535)))]
    pub sack_frequency: u32,
    /// RTO before the first RTT sample (RTO.Initial).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub rto_initial: Span,
    /// Lower bound of the RTO (RTO.Min).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub rto_min: Span,
    /// Upper bound of the RTO (RTO.Max).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub rto_max: Span,
    /// Number of data packets that one event may release (Max.Burst).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65_535)))]
    pub max_burst: u32,
    /// Interval of heartbeats on an idle path, to which the RTO is added (HB.interval).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub heartbeat_interval: Span,
    /// Timeouts in succession after which a path is inactive: one more than this number
    /// (Path.Max.Retrans).
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 65_535)))]
    pub path_max_retries: u32,
    /// Timeouts in succession after which the association is aborted: one more than this number
    /// (Association.Max.Retrans).
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 65_535)))]
    pub max_retries: u32,
    /// Number of retransmissions of INIT and of COOKIE ECHO (Max.Init.Retransmits).
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 65_535)))]
    pub init_max_retries: u32,
    /// Time for which a state cookie is valid (Valid.Cookie.Life).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1s")))]
    pub cookie_life: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1452,
            receive_buffer: Bytes(4 << 20),
            reads_at_once: true,
            initial_ssthresh: SizeLimit::UNLIMITED,
            paths: 1,
            address: Address::V4,
            streams: 10,
            message_size: None,
            unordered: false,
            sack_delay: Span::from_millis(200),
            sack_frequency: 2,
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            max_burst: 4,
            heartbeat_interval: Span::from_secs(30),
            path_max_retries: 5,
            max_retries: 10,
            init_max_retries: 8,
            cookie_life: Span::from_secs(60),
        }
    }
}

impl Config {
    /// Length of a SACK without gaps, without the header of IP.
    pub const ACK: u64 = (COMMON_HEADER + SACK) as u64;

    /// Length of a packet with one full DATA chunk, without the header of IP.
    pub fn full_packet(&self) -> u64 {
        u64::from(COMMON_HEADER) + u64::from(DATA_HEADER) + u64::from(self.mss.next_multiple_of(4))
    }

    /// PMDCS: the largest DATA chunk, with its header (section 1.7).
    pub(crate) fn chunk(&self) -> u64 {
        u64::from(self.mss) + u64::from(DATA_HEADER)
    }

    /// Section 6.3.1, which has the constants of RFC 6298. The granularity is that of present
    /// systems.
    pub(crate) fn rto(&self) -> RtoConfig {
        RtoConfig {
            estimator: Estimator::Rfc6298,
            initial: self.rto_initial,
            min: self.rto_min,
            max: self.rto_max,
            granularity: Span::from_millis(1),
            alpha: 0.125,
            beta: 0.25,
            k: 4.0,
        }
    }
}
