//! Configuration of a connection.

use congestion::{Ecn, Repair};
use transport::{MtuProbing, Pacing, RtoConfig, SavedPath};
use units::{Bytes, Rate, SizeLimit, Span};

use crate::buffers::{ReceiveBuffer, ReceiveTuning, SendTuning};
use crate::receiver::{ReceiveOffload, SackCompression};
use crate::scps::Scps;
use crate::segment::TIMESTAMPS_BYTES;

/// Loss recovery of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "lowercase"), schemars(inline))]
pub enum Recovery {
    /// Fast retransmit and fast recovery that ends with the first new ACK (RFC 5681 section 3.2).
    Reno,
    /// Fast recovery that lasts until everything sent before the loss is acknowledged (RFC 6582).
    NewReno,
    /// The receiver reports what is missing, and it is retransmitted at once: SCPS-TP. Not the
    /// recovery of a flow of TCP.
    #[cfg_attr(feature = "schema", serde(skip))]
    Snack,
    /// Selective acknowledgements steer the retransmissions (RFC 2018, RFC 6675).
    Sack,
    /// As Linux: losses are found by time (RACK-TLP, RFC 8985), the window falls in the measure in
    /// which data arrives (RFC 9937), and needless reductions are taken back (RFC 3708, RFC 5682).
    Linux,
}

impl Recovery {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Snack => "snack",
            Self::Sack => "sack",
            Self::Linux => "linux",
        }
    }

    /// Returns true if an end with it offers selective acknowledgements (RFC 2018 section 2).
    pub fn has_sack(self) -> bool {
        matches!(self, Self::Sack | Self::Linux)
    }
}

impl From<Repair> for Recovery {
    /// The recovery that a controller was designed for.
    fn from(repair: Repair) -> Self {
        match repair {
            Repair::SingleLoss => Self::Reno,
            Repair::PartialAcks => Self::NewReno,
            Repair::SelectiveAcks => Self::Sack,
        }
    }
}

/// Amount from which ssthresh is computed after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum SsthreshBasis {
    /// Everything sent and not acknowledged: FlightSize (RFC 5681 equation 4).
    FlightSize,
    /// Estimate of the data in the network, without SACKed and lost data: the rule of ns-3.
    Pipe,
    /// The congestion window: the rule of ns-2 and Linux. The flight may be twice as large when a
    /// timeout ends a recovery.
    Cwnd,
}

/// Window with which an ACK must agree to be a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "lowercase"), schemars(inline))]
pub enum DuplicateWindow {
    /// The one of the ACK before (RFC 5681 section 2).
    Advertised,
    /// The one that the sender uses, which its controller may have enlarged: OPNET's TCP.
    Sender,
}

/// The congestion window after a NewReno recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum RecoveryExit {
    /// ssthresh: the second option of RFC 6582 section 3.2 step 3.
    Ssthresh,
    /// At most what is in flight and one segment: the first option, as RFC 3782 has it.
    FlightSize,
}

/// Delayed acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct DelayedAck {
    /// Number of full-sized segments after which an ACK is sent at once. 1 acknowledges each
    /// segment.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 255)))]
    pub segments: u32,
    /// Maximum delay of an ACK.
    pub timeout: Span,
}

impl Default for DelayedAck {
    /// Every second segment (RFC 5681 section 4.2), after at most 200 ms.
    fn default() -> Self {
        Self { segments: 2, timeout: Span::from_millis(200) }
    }
}

/// When the receiver acknowledges data in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTiming {
    /// After a number of segments or a time, always the same.
    Fixed(DelayedAck),
    /// As Linux: at once at the start of a connection, after a pause and after duplicates,
    /// otherwise after a time that follows the arrivals.
    Linux,
}

impl AckTiming {
    /// Number of full-sized segments after which an ACK is sent at once, whatever came before.
    pub fn segments(&self) -> u32 {
        match self {
            Self::Fixed(delayed) => delayed.segments,
            Self::Linux => 2,
        }
    }

    /// Maximum delay of an ACK.
    pub fn longest(&self) -> Span {
        match self {
            Self::Fixed(delayed) => delayed.timeout,
            Self::Linux => crate::receiver::LONGEST_DELAY,
        }
    }
}

impl Default for AckTiming {
    fn default() -> Self {
        Self::Fixed(DelayedAck::default())
    }
}

/// Keep-alive. The defaults are those of Linux (tcp(7)); two hours is the least that RFC 9293
/// section 3.8.4 allows as a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct KeepAlive {
    /// Time without a segment from the other end after which the first probe is sent. On the kernel
    /// backend in whole seconds (`TCP_KEEPIDLE`).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1s", "x-maximum" = "32767s")))]
    pub idle: Span,
    /// Time from one probe to the next. On the kernel backend in whole seconds (`TCP_KEEPINTVL`).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1s", "x-maximum" = "32767s")))]
    pub interval: Span,
    /// Number of unanswered probes after which the connection is aborted (`TCP_KEEPCNT`).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 127)))]
    pub probes: u32,
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self { idle: Span::from_secs(7200), interval: Span::from_secs(75), probes: 9 }
    }
}

/// TCP settings of one end, and what a scenario calls them. `recovery`, `delayed_ack` and `rto`
/// have a short form or a default of their own in the language, and are skipped here.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default))]
pub struct Config {
    /// Loss recovery.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub recovery: Recovery,
    /// Delayed acknowledgement.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub delayed_ack: AckTiming,
    /// Retransmission timer.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub rto: RtoConfig,
    /// The application reads at once; otherwise it calls
    /// [`read`](transport::Endpoint::read).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub reads_at_once: bool,
    /// Amount from which ssthresh is computed after a loss: the flight size (RFC 5681 equation 4);
    /// `"pipe"`, which excludes SACKed and lost data, as in ns-3; or `"cwnd"`, as in ns-2 and
    /// Linux. With the recovery `"linux"`, `"flight-size"` uses cwnd.
    pub ssthresh_basis: SsthreshBasis,
    /// Maximum segment size in bytes, without TCP options (RFC 9293 section 3.7.1). The default
    /// fills an Ethernet frame. SCTP, whose headers are longer, has the default 1452, and 1432 with
    /// IPv6.
    #[cfg_attr(feature = "schema", schemars(range(min = 64, max = 65_495)))]
    pub mss: u32,
    /// Receive buffer, which is the largest advertised window; the largest of one that tunes
    /// itself.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub receive_buffer: Bytes,
    /// How the receive buffer tunes itself, if it does.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub receive_tuning: Option<ReceiveTuning>,
    /// Send buffer, for unacknowledged and unsent data; the largest of one that tunes itself.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub send_buffer: SizeLimit,
    /// How the send buffer tunes itself, if it does.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub send_tuning: Option<SendTuning>,
    /// Window scale option (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Timestamps option (RFC 7323 section 3): one RTT sample per ACK, for 12 bytes in each
    /// segment. On by default, as in Linux. Without it, one segment at a time is timed. On a long
    /// path the RTO is then too small while a queue fills within one RTT.
    pub timestamps: bool,
    /// Initial window in segments (RFC 6928).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65_535)))]
    pub initial_window: u32,
    /// Initial slow start threshold. `"unlimited"` is "arbitrarily high" in RFC 5681 section 3.1.
    pub initial_ssthresh: SizeLimit,
    /// Number of duplicate ACKs that indicate a loss (RFC 5681 section 3.2).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 255)))]
    pub dupthresh: u32,
    /// Maximum growth per ACK in slow start, in segments: L of RFC 3465. 1 is RFC 5681.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 255)))]
    pub abc_limit: u32,
    /// Increase cwnd only while it limits the sender (RFC 7661).
    pub window_validation: bool,
    /// Shortest time before the first zero-window probe, which otherwise comes after an RTO (RFC
    /// 9293 section 3.8.6.1). The default is our choice: the lower bound of the RTO.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub persist_timeout: Span,
    /// Number of retransmissions of a segment after which the connection is aborted (R2 of RFC 9293
    /// section 3.8.3). The default is tcp_retries2 of Linux.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 255)))]
    pub max_retries: u32,
    /// Keep-alive probes while both ends have nothing to send (RFC 9293 section 3.8.4). An idle end
    /// does not notice otherwise that the other one is gone. `{}` has the defaults of Linux.
    /// Default: off.
    pub keep_alive: Option<KeepAlive>,
    /// Time without progress after which the connection is aborted (RFC 9293 section 3.8.3,
    /// RFC 5482; `TCP_USER_TIMEOUT` of Linux). It replaces `max_retries` and the number of
    /// keep-alive probes, and also ends a connection whose receiver keeps its window closed. On the
    /// kernel backend in whole milliseconds. Default: none.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "2147483s")))]
    pub user_timeout: Option<Span>,
    /// Pacing of segments: `"controller"` paces only controllers that need it, `"linux"` paces all,
    /// like a Linux host with the `fq` queueing discipline. Without `fq`, Linux paces only BBR.
    pub pacing: Pacing,
    /// Window with which an ACK without SACK must agree to be a duplicate: `"advertised"`, the one
    /// of the ACK before (RFC 5681 section 2), or `"sender"`, the one that the sender uses, as in
    /// OPNET. They differ for controllers that enlarge the window (adalr). `"sender"` requires the
    /// recovery `"reno"` or `"newreno"`.
    pub duplicate_window: DuplicateWindow,
    /// cwnd after a recovery: `"ssthresh"` (RFC 6582 section 3.2 step 3, second option), or
    /// `"flight-size"`, at most the flight size and one segment (first option, as in RFC 3782 and
    /// OPNET). `"flight-size"` requires the recovery `"newreno"`.
    pub recovery_exit: RecoveryExit,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Nagle's algorithm (RFC 9293 section 3.7.4). Off by default, because it only delays the last
    /// segment of a response.
    pub nagle: bool,
    /// Fall back to the initial window after an idle RTO (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Explicit congestion notification. The larger of this and what the controller needs is
    /// offered to the other end.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub ecn: Ecn,
    /// Report data that arrived twice in the first SACK block (RFC 2883). Requires the recovery
    /// `"sack"` or `"linux"`. Always on with `"linux"`, with `ecn = "accurate"` (RFC 9768), and for
    /// controllers that need the reports.
    pub dsack: bool,
    /// Path MTU discovery without ICMP (RFC 4821), with the rules of Linux (`tcp_mtu_probing`):
    /// `"off"`, `"black-hole"` (segments become smaller when retransmissions time out for 3s, and
    /// then larger step by step), or `"always"` (the connection starts with segments of 1024
    /// bytes). Messages of routers that a packet is too long for a `link.mtu` (RFC 1191, RFC 8201)
    /// count with each of them.
    pub mtu_probing: MtuProbing,
    /// Careful Resume (RFC 9959) with the parameters of an earlier connection over the same path.
    /// After the first round trip, cwnd jumps to half of the saved window, paced. It falls back if
    /// the path cannot carry it. Works with every controller. Default: off.
    pub careful_resume: Option<SavedPath>,
    /// Quick-Start (RFC 4782): the rate that the data sender asks the routers on its path for, in
    /// its SYN. It is rounded down to 40 kbit/s times a power of two. Routers with
    /// `link.feedback = "quick-start"` on all links approve or lower it. The sender starts with the
    /// window that the approved rate fills in a round trip, paced, and falls back to the initial
    /// window if any of it is lost. Works with every controller, and not with `careful_resume`.
    /// Default: off.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "80kbit/s", "x-maximum" = "1310720kbit/s")))]
    pub quick_start: Option<Rate>,
    /// Explicit loss notification: a loss leaves the window as it is if the gateway reports that an
    /// error has caused it. The data of the flow has to pass a node with
    /// `middlebox = { name = "snoop", eln = true }` behind the lossy link, and its ACKs the same
    /// node. Works with every controller.
    pub eln: bool,
    /// ACK congestion control (RFC 5690): the data sender notices lost or marked ACKs, and asks the
    /// receiver to acknowledge fewer segments, at least two times in a window. For return links
    /// that are slower than the ACKs. Works with every controller, and not with
    /// `delayed_ack = "linux"`.
    pub ack_control: bool,
    /// Receive offload of the host (GRO, LRO): segments that arrive together are acknowledged once.
    /// `{}` has the defaults. For links whose last hop delivers bursts, as of frames or slots.
    /// Default: off.
    pub receive_offload: Option<ReceiveOffload>,
    /// SACK compression of Linux: one ACK answers duplicates that arrive within a millisecond of
    /// each other. `{}` has the defaults of Linux. For return links that are slower than the ACKs
    /// of a recovery. Default: off.
    pub sack_compression: Option<SackCompression>,
    /// SCPS-TP, if that is the protocol.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub scps: Option<Scps>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            recovery: Recovery::Sack,
            delayed_ack: AckTiming::default(),
            rto: RtoConfig::default(),
            reads_at_once: true,
            ssthresh_basis: SsthreshBasis::FlightSize,
            mss: 1460,
            receive_buffer: Self::RECEIVE_BUFFER,
            receive_tuning: None,
            send_buffer: SizeLimit::UNLIMITED,
            send_tuning: None,
            window_scaling: true,
            timestamps: true,
            initial_window: 10,
            initial_ssthresh: SizeLimit::UNLIMITED,
            dupthresh: 3,
            abc_limit: 1,
            window_validation: true,
            persist_timeout: Span::from_secs(1),
            max_retries: 15,
            keep_alive: None,
            user_timeout: None,
            pacing: Pacing::Controller,
            duplicate_window: DuplicateWindow::Advertised,
            recovery_exit: RecoveryExit::Ssthresh,
            limited_transmit: true,
            nagle: false,
            idle_restart: true,
            ecn: Ecn::Off,
            dsack: false,
            mtu_probing: MtuProbing::Off,
            careful_resume: None,
            quick_start: None,
            eln: false,
            ack_control: false,
            receive_offload: None,
            sack_compression: None,
            scps: None,
        }
    }
}

impl Config {
    /// Receive buffer of an end that names none. Our choice: it allows 60 Mbit/s over a GEO link.
    pub const RECEIVE_BUFFER: Bytes = Bytes(4 << 20);

    /// Returns true if a sender with these settings does without the reports that its recovery
    /// needs, because `receiver` offers none (RFC 2018 section 2).
    pub fn lacks_sack(&self, receiver: &Self) -> bool {
        self.recovery.has_sack() && !receiver.recovery.has_sack() && receiver.scps.is_none()
    }

    /// Payload of a full segment in bytes: the MSS less the timestamps, which it does not count
    /// (RFC 9293 section 3.7.1, RFC 7323 appendix A).
    pub fn full_payload(&self) -> u32 {
        self.mss - self.timestamps_bytes()
    }

    /// Bytes of the timestamps option in each segment after the set-up.
    pub fn timestamps_bytes(&self) -> u32 {
        if self.timestamps { TIMESTAMPS_BYTES } else { 0 }
    }

    /// Full segments for each ACK, if segments arrive every `segment_time` seconds: their number,
    /// or those of the time between ACKs of SCPS-TP.
    pub fn segments_per_ack(&self, segment_time: f64) -> f64 {
        let counted = f64::from(self.delayed_ack.segments());
        match self.time_between_acks() {
            Some(time) if self.acks_by_timer() => (time.as_secs_f64() / segment_time).max(1.0),
            Some(time) => (time.as_secs_f64() / segment_time).max(counted),
            None => counted,
        }
    }

    /// Minimum time between two ACKs of data in order, if there is one.
    pub fn time_between_acks(&self) -> Option<Span> {
        let floor = self.scps?.ack_floor;
        let timer = if self.acks_by_timer() { self.delayed_ack.longest() } else { Span::ZERO };
        Some(floor.max(timer))
    }

    /// Returns true if data in order is acknowledged by the timer only.
    pub(crate) fn acks_by_timer(&self) -> bool {
        self.scps.is_some_and(|scps| scps.strictly_delayed)
    }

    /// Returns true if this end offers best-effort transport.
    pub(crate) fn offers_best_effort(&self) -> bool {
        self.scps.is_some_and(|scps| scps.best_effort.is_some())
    }

    /// Settings of the controller.
    pub fn controller(&self) -> congestion::Settings {
        let mss = self.full_payload();
        congestion::Settings {
            mss,
            initial_window: u64::from(self.initial_window) * u64::from(mss),
            initial_ssthresh: self.initial_ssthresh.get(),
            byte_counting: self.abc_limit,
        }
    }

    /// Shift of the window scale option that this end offers (RFC 7323 section 2.2): the smallest
    /// that lets the whole receive buffer be advertised.
    pub fn window_shift(&self) -> u8 {
        if let Some(tuning) = &self.receive_tuning {
            return ReceiveBuffer::shift(tuning);
        }
        let mut shift = 0;
        while shift < 14 && self.receive_buffer.get() >> shift > u64::from(u16::MAX) {
            shift += 1;
        }
        shift
    }

    /// Window of a SYN with segments of `mss` bytes.
    pub(crate) fn first_window(&self, mss: u64) -> u64 {
        match &self.receive_tuning {
            Some(tuning) => ReceiveBuffer::first_window(tuning, mss),
            None => self.receive_buffer.get(),
        }
    }
}
