//! What a connection is configured with.

use congestion::Repair;
use transport::Pacing;
use transport::SavedPath;
use units::Span;

use transport::RtoConfig;

/// How TCP finds and repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit and fast recovery that ends with the first new ACK (RFC 5681 section 3.2).
    Reno,
    /// Fast recovery that lasts until everything sent before the loss is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgements steer the retransmissions (RFC 2018, RFC 6675).
    Sack,
    /// As Linux: losses are found by time (RACK-TLP, RFC 8985), the window falls in the measure in
    /// which data arrives (RFC 9937), and needless reductions are taken back (RFC 3708, RFC 5682).
    Linux,
}

impl Recovery {
    /// Every recovery with the name it has in scenarios.
    pub const ALL: [(&'static str, Self); 4] = [
        ("reno", Self::Reno),
        ("newreno", Self::NewReno),
        ("sack", Self::Sack),
        ("linux", Self::Linux),
    ];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, r)| *r == self).map_or("", |(name, _)| name)
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

/// What a loss halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossThreshold {
    /// Everything sent and not acknowledged: FlightSize (RFC 5681 equation 4).
    FlightSize,
    /// What is thought to be in the network, without what is SACKed or lost: the rule of ns-3.
    Pipe,
    /// The congestion window: the rule of ns-2 and Linux. The flight may be twice as large when a
    /// timeout ends a recovery.
    Cwnd,
}

/// When a receiver acknowledges (RFC 5681 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Segments after which an ACK is sent at once.
    pub segments: u32,
    /// The longest an ACK waits.
    pub timeout: Span,
}

/// TCP settings of one end.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// MSS option in bytes, not counting TCP options (RFC 9293 section 3.7.1).
    pub mss: u32,
    /// Receive buffer in bytes.
    pub receive_buffer: u64,
    /// Send buffer in bytes: unacknowledged and unsent data.
    pub send_buffer: u64,
    /// Whether the application reads at once; otherwise it calls
    /// [`Connection::read`](crate::Connection::read).
    pub reads_at_once: bool,
    /// Offer the window scale option (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Offer the timestamps option (RFC 7323 section 3).
    pub timestamps: bool,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// What a loss halves.
    pub loss_threshold: LossThreshold,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Report what was received twice (RFC 2883).
    pub dsack: bool,
    /// Duplicate ACKs that mean a loss.
    pub duplicate_threshold: u32,
    /// Grow cwnd only while it is what limits the sender.
    pub window_validation: bool,
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// First persist interval.
    pub persist_timeout: Span,
    /// Retransmissions of one segment after which the connection is aborted.
    pub retransmission_threshold: u32,
    /// Whose segments leave no faster than a rate.
    pub pacing: Pacing,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// Restart from the initial window after an idle RTO.
    pub idle_restart: bool,
    /// What an earlier connection has found, to resume from (RFC 9959).
    pub careful_resume: Option<SavedPath>,
}

impl Config {
    /// Payload of a full segment in bytes, given whether timestamps are in use: the MSS option
    /// does not count TCP options, the payload has to (RFC 9293 section 3.7.1).
    pub fn payload_of_full_segment(&self, timestamps: bool) -> u32 {
        self.mss - if timestamps { crate::segment::TIMESTAMPS_BYTES } else { 0 }
    }

    /// Shift of the window scale option that this end offers (RFC 7323 section 2.2): the smallest
    /// that lets the whole receive buffer be advertised.
    pub fn window_shift(&self) -> u8 {
        let mut shift = 0;
        while shift < 14 && self.receive_buffer >> shift > u64::from(u16::MAX) {
            shift += 1;
        }
        shift
    }
}
