//! Events that a transport reports to congestion controllers.

use units::{Span, Time};
use wire::feedback::{Protocol, Response};

/// Method by which recovery counts the data in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryStyle {
    /// cwnd is inflated by each duplicate ACK and deflated again (RFC 5681, RFC 6582).
    Inflation,
    /// cwnd is constant and the scoreboard counts the pipe (RFC 6675).
    Pipe,
}

/// An ACK for new data outside of loss recovery.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Arrival time.
    pub now: Time,
    /// Newly acknowledged bytes.
    pub acked: u64,
    /// Flight size in bytes after this ACK.
    pub flight: u64,
    /// Advertised window of the receiver in bytes.
    pub advertised: u64,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Smallest round-trip time of the connection, if there has been a sample. Without
    /// [`Needs::round_trips`] it is that of the retransmission timer, in ticks of the timestamps.
    pub min_rtt: Option<Span>,
    /// True if cwnd limited the sender. A window that is not used must not grow (RFC 7661).
    pub cwnd_limited: bool,
}

/// A loss detected by recovery, or a retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Time of detection.
    pub now: Time,
    /// Flight size in bytes at that time.
    pub flight: u64,
    /// True if the retransmission of the same data timed out before (RFC 5681 section 3.1), or a
    /// mark has reduced the window of this round trip (RFC 3168 section 6.1.2): ssthresh does not
    /// change then.
    pub repeated: bool,
}

/// A measurement of a link that connections share, where its rate is known.
#[derive(Clone, Copy, Debug)]
pub struct Utilisation {
    /// Rate of the link in bytes per second.
    pub rate: f64,
    /// Part of it that was sent in the last interval.
    pub used: f64,
    /// Connections that sent in it, and this one.
    pub connections: u32,
    /// Flight size in bytes.
    pub flight: u64,
    /// Smoothed round-trip time.
    pub srtt: Span,
}

/// An ACK for new data during recovery that leaves some of the old data unacknowledged.
#[derive(Clone, Copy, Debug)]
pub struct PartialAck {
    /// Newly acknowledged bytes.
    pub acked: u64,
    /// Method by which recovery counts the data in the network.
    pub style: RecoveryStyle,
}

/// ECN between two ends, from none to the most exact reports of marks. The larger of what a
/// scenario and a controller ask for is offered to the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ecn {
    /// Routers drop packets and do not mark them.
    #[default]
    Off,
    /// An end that agrees to a request of the other end, and requests nothing itself (`tcp_ecn = 2`
    /// of Linux). An open connection has one of the other forms.
    Passive,
    /// The receiver echoes a mark until the sender has answered it: one report in a round trip
    /// (RFC 3168 section 6.1).
    Classic,
    /// Each ACK says whether the data that it acknowledges was marked (RFC 8257 section 3.2). It is
    /// agreed on as [`Classic`](Self::Classic), and both ends have to use it.
    EachMark,
    /// The receiver counts marks, and the sender knows the number (RFC 9768).
    Accurate,
    /// [`Accurate`](Self::Accurate), and data is sent with ECT(1), which asks routers for low
    /// latency (RFC 9331). If the other end has no accurate reports, data is sent with ECT(0).
    LowLatency,
}

impl Ecn {
    /// Returns true if each mark is reported, and not only one in a round trip.
    pub const fn reports_each_mark(self) -> bool {
        matches!(self, Self::EachMark | Self::Accurate | Self::LowLatency)
    }

    /// Form of a connection between an end that sends the SYN, `opener`, and one that answers it.
    #[must_use]
    pub fn agreed(opener: Self, listener: Self) -> Self {
        match (opener, listener) {
            (Self::Off | Self::Passive, _) | (_, Self::Off) => Self::Off,
            (_, Self::Passive) => Self::Classic,
            (opener, listener) => opener.min(listener),
        }
    }

    /// Returns true if marks are counted as in RFC 9768.
    pub const fn is_accurate(self) -> bool {
        matches!(self, Self::Accurate | Self::LowLatency)
    }
}

/// Events and features that a controller needs in addition to those of standard TCP. Queried once
/// per connection, so that unused features cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Controller::on_feedback`](crate::Controller::on_feedback) for each ACK, and
    /// [`Controller::on_sent`](crate::Controller::on_sent) for each segment.
    pub feedback: bool,
    /// A record of each segment in flight: rate samples and the time when the first
    /// unacknowledged segment was sent, in each [`Feedback`], and
    /// [`Controller::on_segment_lost`](crate::Controller::on_segment_lost).
    pub records: bool,
    /// [`Controller::on_rtt`](crate::Controller::on_rtt), and [`Ack::min_rtt`] to the nanosecond.
    /// A controller with feedback or records gets them, too.
    pub round_trips: bool,
    /// Segments leave no faster than [`Controller::pacing_rate`](crate::Controller::pacing_rate).
    pub pacing: bool,
    /// ECN: routers may mark packets instead of dropping them, and the receiver reports the marks.
    pub marks: Ecn,
    /// DSACK: the receiver reports data that arrived twice (RFC 2883).
    pub duplicate_reports: bool,
    /// [`TcpPolicy::take_probe`](crate::TcpPolicy::take_probe) and
    /// [`TcpPolicy::on_probe_answered`](crate::TcpPolicy::on_probe_answered).
    pub probes: bool,
    /// The controller sets cwnd during recovery, instead of proportional rate reduction (RFC 9937).
    pub own_recovery: bool,
    /// Feedback from routers that speak this protocol:
    /// [`Controller::router_request`](crate::Controller::router_request) for each data segment, and
    /// [`Controller::on_router_feedback`](crate::Controller::on_router_feedback) for each ACK that
    /// returns it.
    pub router_feedback: Option<Protocol>,
    /// Measurements of the link that connections share:
    /// [`Controller::on_utilisation`](crate::Controller::on_utilisation).
    pub utilisation: bool,
    /// Hints that the path changes, where the connection has a source of them:
    /// [`Controller::on_path_change`](crate::Controller::on_path_change).
    pub path_changes: bool,
    /// Decisions of [`TcpPolicy`](crate::TcpPolicy) without which it is another algorithm, so that
    /// no other transport can carry it.
    pub tcp: bool,
}

impl Needs {
    /// The union of the needs of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            feedback: self.feedback || other.feedback,
            records: self.records || other.records,
            round_trips: self.round_trips || other.round_trips,
            pacing: self.pacing || other.pacing,
            marks: self.marks.max(other.marks),
            duplicate_reports: self.duplicate_reports || other.duplicate_reports,
            probes: self.probes || other.probes,
            own_recovery: self.own_recovery || other.own_recovery,
            router_feedback: self.router_feedback.or(other.router_feedback),
            utilisation: self.utilisation || other.utilisation,
            path_changes: self.path_changes || other.path_changes,
            tcp: self.tcp || other.tcp,
        }
    }
}

/// State of a sender whose next segment asks routers for a rate.
#[derive(Clone, Copy, Debug)]
pub struct RequestState {
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Advertised window of the receiver in bytes.
    pub advertised: u64,
}

/// An ACK that returns feedback of routers.
#[derive(Clone, Copy, Debug)]
pub struct RouterFeedback {
    /// Arrival time.
    pub now: Time,
    /// Feedback that the receiver returns.
    pub response: Response,
    /// Smoothed round-trip time, without the sample of this ACK.
    pub srtt: Option<Span>,
}

/// Information from any ACK, for new data or a duplicate, in recovery or not.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Arrival time.
    pub now: Time,
    /// Bytes that are newly acknowledged cumulatively.
    pub acked: u64,
    /// Bytes that are newly acknowledged by SACK blocks.
    pub sacked: u64,
    /// True for a duplicate ACK.
    pub duplicate: bool,
    /// True during recovery, and after a timeout until the data outstanding then is acknowledged.
    /// With `recovery = "linux"` also while a mark reduces cwnd (`TCP_CA_CWR`), unless the
    /// controller does that itself.
    pub recovering: bool,
    /// Round-trip time that it measures: since the youngest of the segments was sent that it
    /// acknowledges for the first time, selectively or not.
    pub round_trip: Option<Span>,
    /// Smoothed round-trip time, including this sample.
    pub srtt: Option<Span>,
    /// Smallest round-trip time of the connection, this sample included; that of the handshake,
    /// whose segments are small, only until there is one of data.
    pub min_rtt: Option<Span>,
    /// Stream position up to which everything is acknowledged. A round trip ends when it reaches
    /// the value of `sent` at the start of the round trip.
    pub acknowledged: u64,
    /// Stream position after the last byte sent.
    pub sent: u64,
    /// Estimated bytes in the network after this ACK (RFC 6675 section 4, `SetPipe`).
    pub pipe: u64,
    /// Advertised window of the receiver in bytes.
    pub advertised: u64,
    /// TSval of the ACK in milliseconds of the receiver's clock, if timestamps are used (RFC 7323
    /// section 3.2).
    pub peer_clock: Option<u32>,
    /// True if the receiver reports an ECN mark (RFC 3168 section 6.1.3, RFC 9768 section 3.2).
    pub marked: bool,
    /// Bytes that arrived with a mark. The number is exact with [`Ecn::Accurate`] as far as the
    /// receiver counts bytes. Otherwise it is all that an ACK with a report acknowledges
    /// cumulatively.
    pub marked_bytes: u64,
    /// Bytes that the receiver reports as received twice, from needless retransmissions (RFC 2883).
    pub needless: u64,
    /// Time at which the first unacknowledged segment was last sent; with [`Needs::records`].
    pub head_sent: Option<Time>,
    /// Sample of the delivery rate, if this ACK delivers data; with [`Needs::records`].
    pub rate: Option<RateSample>,
}

/// Delivery rate between the transmission of a segment and its acknowledgement
/// (draft-ietf-ccwg-bbr section 4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Delivery rate in bytes per second; `None` if the interval is too short.
    pub rate: Option<f64>,
    /// Bytes delivered over the whole connection, including this ACK.
    pub delivered: u64,
    /// Bytes delivered when the segment was sent.
    pub prior_delivered: u64,
    /// Bytes lost between the sending of the segment and this ACK.
    pub lost: u64,
    /// Bytes in the network right after the segment was sent.
    pub in_flight_when_sent: u64,
    /// True if the application may have limited the rate.
    pub app_limited: bool,
}

/// A segment detected as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Time of detection.
    pub now: Time,
    /// Time of its last transmission.
    pub sent_at: Time,
    /// Length in bytes.
    pub bytes: u64,
    /// Bytes in the network right after it was sent.
    pub in_flight_when_sent: u64,
    /// Bytes lost since it was sent, including its own.
    pub lost_since_sent: u64,
    /// True if the application may have limited the sender when it was sent.
    pub app_limited: bool,
}

/// The two hints that belong to one change of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChangeKind {
    /// The path is about to change.
    Coming,
    /// The path has changed.
    Done,
}

impl PathChangeKind {
    /// The name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Coming => "coming",
            Self::Done => "done",
        }
    }
}

/// A hint that the path of a connection changes, as in a hand-over: the path phase boundary of
/// draft-lai-ccwg-lsncc-01, which leaves open how a sender learns of it. A hint is what its source
/// says. It may be late, early or missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// Time of the hint.
    pub now: Time,
    /// The change is about to come, or it has come.
    pub kind: PathChangeKind,
    /// Time of the change, as the source takes it to be.
    pub at: Time,
    /// Number of the phase of the path that begins with the change. The first hint of a run is
    /// about phase 1. Changes without a hint are not counted.
    pub phase: u64,
}

/// A segment that has just been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Time of transmission.
    pub now: Time,
    /// Length in bytes.
    pub bytes: u64,
    /// True for a retransmission.
    pub again: bool,
    /// Stream position after the last byte sent.
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

    /// The first loss in a flight of `flight` bytes.
    pub(crate) fn loss(flight: u64) -> Loss {
        Loss { now: Time::ZERO, flight, repeated: false }
    }
}
