//! Decisions of congestion controllers that only TCP needs.

use units::{Span, Time};

use crate::events::Feedback;

/// The two moments at which the sender checks the advertised window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// After each ACK, for the total amount that may be sent.
    Total,
    /// Before each new segment, for its length.
    Segment,
}

/// Outstanding data of the sender.
#[derive(Clone, Copy, Debug)]
pub struct SendState {
    /// Flight size in bytes.
    pub flight: u64,
    /// Bytes from the first unacknowledged byte to the end of the data that was outstanding when
    /// the last loss was detected; zero if all of it is acknowledged.
    pub to_recover: u64,
}

/// A segment of low priority that probes for unused capacity. Queues may drop it before others, and
/// the receiver answers it at once. Its data may be useful or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A copy of the last segment. The receiver ignores its data.
    Dummy,
    /// Outstanding data, oldest first and cyclically. The receiver uses data that it lacks.
    Repeat,
    /// New data, from the end of the data that fits the receiver's window and the send buffer. It
    /// is retransmitted only if the receiver does not report it.
    Ahead,
}

/// State of the sender when it requests a probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbeState {
    /// Current time.
    pub now: Time,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Advertised window of the receiver in bytes.
    pub advertised: u64,
}

/// Decisions of a controller about TCP, in addition to its window. The defaults are standard TCP.
/// Most controllers have an empty `impl`.
pub trait TcpPolicy {
    /// Returns true if it has its own [`advertised_window`](Self::advertised_window),
    /// [`extra_rto`](Self::extra_rto) or [`retransmission_quota`](Self::retransmission_quota).
    /// Called once per connection. If it returns false, the others are not called. Those of
    /// controllers of other crates always are.
    fn bounds_sender(&self) -> bool {
        false
    }

    /// The window in bytes that the sender uses as the advertised window, given its present value.
    /// Each ACK resets it to the receiver's window. A larger value violates flow control.
    fn advertised_window(&mut self, _sizing: Sizing, taken: u64, _state: &SendState) -> u64 {
        taken
    }

    /// Time added to each retransmission timeout.
    fn extra_rto(&self) -> Span {
        Span::ZERO
    }

    /// Maximum number of retransmissions for one ACK or timeout.
    fn retransmission_quota(&self) -> u32 {
        u32::MAX
    }

    /// Number of duplicate ACKs, or of segments above a gap, that indicate a loss, given the value
    /// of the scenario (RFC 5681 section 3.2).
    fn duplicate_threshold(&self, configured: u32) -> u32 {
        configured
    }

    /// Returns true if this ACK shows a loss before the duplicate threshold is reached. Called
    /// after [`on_feedback`](crate::Controller::on_feedback). Used outside of recovery while data
    /// is outstanding.
    fn finds_loss(&mut self, _feedback: &Feedback) -> bool {
        false
    }

    /// Returns true if, after a loss detected by duplicate ACKs, all outstanding data is
    /// retransmitted, instead of the lost data only. Called after
    /// [`on_loss`](crate::Controller::on_loss).
    fn repeats_everything(&self) -> bool {
        false
    }

    /// Returns true if each retransmission timeout doubles the next (RFC 6298 rule 5.5).
    fn backs_off(&self) -> bool {
        true
    }

    /// The probe to send now, if any. It then counts as sent. Called after each ACK, after each
    /// segment and at the [deadline](Self::probe_deadline), while data is outstanding and until it
    /// returns `None`, for controllers that [need](crate::Needs::probes) it. Probes are not part of
    /// the flight.
    fn take_probe(&mut self, _state: &ProbeState) -> Option<Probe> {
        None
    }

    /// Time at which a probe must be sent even if no ACK arrives.
    fn probe_deadline(&self) -> Time {
        Time::NEVER
    }

    /// The receiver answered a probe. Called after the events of the data that the answer
    /// acknowledges.
    fn on_probe_answered(&mut self, _state: &ProbeState) {}
}
