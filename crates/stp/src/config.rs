//! Settings of a connection.

use congestion::Needs;
use units::{Bytes, Rate, SizeLimit, Span};

use crate::pdu::{SD_HEADER, header_of_data};

/// STP settings of one end. Timers and counts that Q.2110 leaves open have the values that are
/// usual for SSCOP, unless their description says otherwise.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Config {
    /// Largest payload of a packet in bytes, the same at both ends.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub mss: u32,
    /// Receive buffer. The receiver takes as many packets as fit it if all are full, and at
    /// most 65535.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub receive_buffer: Bytes,
    /// The application reads at once; otherwise it calls
    /// [`read`](transport::Endpoint::read).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub reads_at_once: bool,
    /// Initial congestion window in packets.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub initial_window: u32,
    /// Initial slow start threshold.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub initial_ssthresh: SizeLimit,
    /// Length of the IP header, which counts for the rate.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub ip_header: u16,
    /// Rate at which data packets leave, with their headers and that of IP. No congestion window
    /// limits them then, and losses change nothing. Default: the controller's congestion window.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1kbit/s")))]
    pub rate: Option<Rate>,
    /// Number of data packets after which a POLL is sent (MaxPD of SSCOP).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65_535)))]
    pub packets_per_poll: u32,
    /// Time after a POLL at which the next one is sent while data is waiting or unacknowledged
    /// (Timer_POLL of SSCOP). No other timer finds a loss.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub poll_interval: Span,
    /// Time from the last acknowledgement to the first POLL of an idle connection (Timer_IDLE of
    /// SSCOP).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub idle: Span,
    /// Time from one unanswered POLL of an idle connection to the next (Timer_KEEP-ALIVE of SSCOP).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub keep_alive: Span,
    /// Time without a STAT while POLLs are unanswered after which the connection is aborted
    /// (Timer_NO-RESPONSE of SSCOP). A longer outage of the link ends the connection.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub no_response: Span,
    /// Time from one unanswered BGN or END to the next (Timer_CC of SSCOP).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub set_up_interval: Span,
    /// Number of BGNs or ENDs (MaxCC of SSCOP). After the last BGN without an answer the connection
    /// is aborted.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65_535)))]
    pub set_up_attempts: u32,
    /// The BGN carries the first packet of the stream, if it is written before.
    pub fast_connect: bool,
    /// Probing of XSTP: after a loss no data is sent until two probes, one round trip apart, have
    /// shown its cause. The window falls only for congestion. Reconstructed from the idea of its
    /// authors.
    pub probing: bool,
    /// A probe whose round trip takes more than this multiple of the minimum RTT shows congestion.
    /// Our choice.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub probe_inflation: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            receive_buffer: Bytes(4 << 20),
            reads_at_once: true,
            initial_window: 10,
            initial_ssthresh: SizeLimit::UNLIMITED,
            ip_header: 20,
            rate: None,
            packets_per_poll: 25,
            poll_interval: Span::from_millis(750),
            idle: Span::from_secs(15),
            keep_alive: Span::from_secs(2),
            no_response: Span::from_secs(7),
            set_up_interval: Span::from_secs(1),
            set_up_attempts: 4,
            fast_connect: true,
            probing: false,
            probe_inflation: 1.25,
        }
    }
}

impl Config {
    /// Length of a STAT without gaps, without the header of IP.
    pub const ACK: u64 = crate::pdu::STAT as u64;

    /// Length of a full SD without the header of IP, as most of them are: with a POLL if each has
    /// one.
    pub fn full_packet(&self) -> u64 {
        u64::from(self.mss) + u64::from(header_of_data(self.packets_per_poll == 1))
    }

    /// Length of a full SD with a POLL, without the header of IP.
    pub fn longest_packet(&self) -> u64 {
        u64::from(self.mss) + u64::from(SD_HEADER)
    }

    /// Settings of the controller. Growth is not limited per acknowledgement, because a STAT
    /// acknowledges what many ACKs of TCP do.
    pub fn controller(&self) -> congestion::Settings {
        congestion::Settings {
            mss: self.mss,
            initial_window: u64::from(self.initial_window) * u64::from(self.mss),
            initial_ssthresh: self.initial_ssthresh.get(),
            byte_counting: u32::MAX,
        }
    }
}

/// A need of the controller that STP cannot serve; `None` if STP can carry the controller. The
/// tests of all transports list those that it cannot.
///
/// STP acknowledges with STATs, a few in each round trip, and has no ECN.
pub fn missing(needs: &Needs) -> Option<&'static str> {
    let missing = [
        (needs.tcp, "decisions that only TCP takes"),
        (needs.router_feedback.is_some(), "feedback from routers"),
        (needs.probes, "probes of unused capacity"),
        (needs.marks != congestion::Ecn::Off, "ECN"),
        (needs.duplicate_reports, "reports of duplicates"),
        (needs.records, "delivery rate samples"),
        (needs.feedback, "an event for each ACK"),
        (needs.pacing, "pacing at its own rate"),
        (needs.own_recovery, "its own window in recovery"),
    ];
    missing.into_iter().find(|(needed, _)| *needed).map(|(_, name)| name)
}
