//! What a congestion controller is told.

use units::{Span, Time};

/// How recovery keeps count of what is in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryStyle {
    /// cwnd is inflated by each duplicate ACK and deflated again (RFC 5681, RFC 6582).
    Inflation,
    /// cwnd stands still and the scoreboard counts the pipe (RFC 6675).
    Pipe,
}

/// An ACK for new data outside of loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes that it acknowledges for the first time.
    pub acked: u64,
    /// Flight size in bytes after this ACK.
    pub flight: u64,
    /// The window that the receiver advertised, in bytes.
    pub advertised: u64,
    /// Smoothed round-trip time, if there has been a sample.
    pub srtt: Option<Span>,
    /// Smallest round-trip time of the connection, if there has been a sample.
    pub min_rtt: Option<Span>,
    /// Whether the congestion window was what held the sender back; growing a window that is not
    /// used says nothing about the path (RFC 7661).
    pub cwnd_limited: bool,
}

/// A loss that recovery found, or a retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was found.
    pub now: Time,
    /// Flight size in bytes when it was found.
    pub flight: u64,
    /// The retransmission of the same data timed out before: ssthresh stays as it is
    /// (RFC 5681 section 3.1).
    pub repeated: bool,
}

/// An ACK for new data during recovery that leaves some of the old data unacknowledged.
#[derive(Clone, Copy, Debug)]
pub struct PartialAck {
    /// Bytes that it acknowledges for the first time.
    pub acked: u64,
    /// How recovery counts what is in the network.
    pub style: RecoveryStyle,
}

/// What a controller needs to be told beyond the ACKs that let standard TCP grow. Asked once for
/// each connection, so that what nobody needs costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Controller::on_feedback`](crate::Controller::on_feedback) for each ACK, and
    /// [`Controller::on_sent`](crate::Controller::on_sent) for each segment.
    pub feedback: bool,
    /// A record of each segment in flight: rate samples and the time when the first
    /// unacknowledged segment was sent, in each [`Feedback`], and
    /// [`Controller::on_segment_lost`](crate::Controller::on_segment_lost).
    pub records: bool,
    /// Segments leave no faster than [`Controller::pacing_rate`](crate::Controller::pacing_rate).
    pub pacing: bool,
    /// Routers may mark instead of dropping, and the receiver echoes it (RFC 3168).
    pub marks: bool,
    /// The receiver reports what it has received twice (RFC 2883).
    pub duplicate_reports: bool,
    /// [`Controller::take_probe`](crate::Controller::take_probe) and
    /// [`Controller::on_probe_answered`](crate::Controller::on_probe_answered).
    pub probes: bool,
    /// cwnd during recovery is left to it, where others have it reduced proportionally (RFC 9937).
    pub own_recovery: bool,
}

impl Needs {
    /// What either of the two needs.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            feedback: self.feedback || other.feedback,
            records: self.records || other.records,
            pacing: self.pacing || other.pacing,
            marks: self.marks || other.marks,
            duplicate_reports: self.duplicate_reports || other.duplicate_reports,
            probes: self.probes || other.probes,
            own_recovery: self.own_recovery || other.own_recovery,
        }
    }
}

/// What an ACK tells, be it for new data or a duplicate, in recovery or out of it.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// When it arrived.
    pub now: Time,
    /// Bytes that it acknowledges cumulatively for the first time.
    pub acked: u64,
    /// Bytes that its SACK blocks acknowledge for the first time.
    pub sacked: u64,
    /// It counts as a duplicate ACK.
    pub duplicate: bool,
    /// It arrived during recovery or before what was outstanding at a timeout was acknowledged.
    pub recovering: bool,
    /// Round-trip time that it measures.
    pub round_trip: Option<Span>,
    /// Smoothed round-trip time, this sample included.
    pub srtt: Option<Span>,
    /// Smallest round-trip time of the connection, this sample included.
    pub min_rtt: Option<Span>,
    /// Position in the stream up to which everything is acknowledged. A round trip is over when it
    /// reaches what `sent` was at the start of the round.
    pub acknowledged: u64,
    /// Position in the stream behind the last byte sent.
    pub sent: u64,
    /// Bytes thought to be in the network after this ACK (RFC 6675 section 4, `SetPipe`).
    pub pipe: u64,
    /// The window that the receiver advertised, in bytes.
    pub advertised: u64,
    /// TSval of the ACK, in milliseconds of the receiver's clock, when timestamps are in use
    /// (RFC 7323 section 3.2).
    pub peer_clock: Option<u32>,
    /// A router marked data on its way, and the receiver echoes it (ECN-Echo, RFC 3168 section
    /// 6.1.3).
    pub marked: bool,
    /// Bytes that the receiver reports to have received twice: they were sent again needlessly
    /// (RFC 2883).
    pub needless: u64,
    /// When the first unacknowledged segment was last sent; with [`Needs::records`].
    pub head_sent: Option<Time>,
    /// A sample of the delivery rate, when this ACK delivers anything; with [`Needs::records`].
    pub rate: Option<RateSample>,
}

/// How fast the network delivered, between the sending of a segment and its acknowledgement
/// (draft-ietf-ccwg-bbr section 4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Delivery rate in bytes per second; `None` when the interval is too short to say.
    pub rate: Option<f64>,
    /// Bytes delivered over the whole connection, this ACK included.
    pub delivered: u64,
    /// The same when the segment was sent.
    pub prior_delivered: u64,
    /// Bytes lost between the sending of the segment and this ACK.
    pub lost: u64,
    /// Bytes in the network right after the segment was sent.
    pub in_flight_when_sent: u64,
    /// The application, and not the network, may have set the rate.
    pub app_limited: bool,
}

/// A segment that was found to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// When it was found.
    pub now: Time,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes in the network right after it was sent.
    pub in_flight_when_sent: u64,
    /// Bytes lost since it was sent, its own included.
    pub lost_since_sent: u64,
    /// The application may have held the sender back when it was sent.
    pub app_limited: bool,
}

/// A segment that has just been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub now: Time,
    /// Its bytes.
    pub bytes: u64,
    /// It was sent before.
    pub again: bool,
    /// Position in the stream behind the last byte sent.
    pub sent: u64,
    /// Bytes in the network before it was sent.
    pub pipe_before: u64,
}

/// Events as most tests of controllers need them.
#[cfg(test)]
pub(crate) mod samples {
    use units::Time;

    use super::{Ack, Loss};

    /// An ACK of a sender that cwnd limits.
    pub(crate) fn ack(acked: u64) -> Ack {
        Ack {
            now: Time::ZERO,
            acked,
            flight: 0,
            advertised: u64::MAX,
            srtt: None,
            min_rtt: None,
            cwnd_limited: true,
        }
    }

    /// The first loss in a flight of so many bytes.
    pub(crate) fn loss(flight: u64) -> Loss {
        Loss { now: Time::ZERO, flight, repeated: false }
    }
}
