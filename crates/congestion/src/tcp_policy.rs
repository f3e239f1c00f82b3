//! What only TCP asks of a congestion controller.

use units::{Span, Time};

use crate::events::Feedback;

/// The two moments at which the sender asks how much the receiver lets it send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// Once when an ACK has arrived: how much may be sent in all.
    Total,
    /// Before each new segment: how long it may be.
    Segment,
}

/// What the sender has outstanding when it asks.
#[derive(Clone, Copy, Debug)]
pub struct SendState {
    /// Flight size in bytes.
    pub flight: u64,
    /// Bytes from the first unacknowledged one to the end of the data that was outstanding when
    /// the last loss was found; zero when all of it is acknowledged.
    pub to_recover: u64,
}

/// A segment of low priority that probes for unused capacity: queues may drop it before others, and
/// the receiver answers it at once. What it carries may be of use or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A copy of the segment that was sent last; the receiver takes nothing from it.
    Dummy,
    /// Data that is outstanding, which the receiver takes if it lacks it; the oldest first, again
    /// and again.
    Repeat,
    /// Data that was never sent, from the far end of what the receiver's window and the send buffer
    /// hold; it is sent again only if the receiver does not report it.
    Ahead,
}

/// What the sender knows when it asks for a probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbeState {
    /// When.
    pub now: Time,
    /// Smoothed round-trip time, if there has been a sample.
    pub srtt: Option<Span>,
    /// The window that the receiver advertised, in bytes.
    pub advertised: u64,
}

/// Decisions of a controller about TCP besides its window. The defaults are standard TCP; most
/// controllers have an empty `impl`.
pub trait TcpPolicy {
    /// The window that the sender takes as advertised, in bytes, given the one it took so far.
    /// Each ACK puts it back to what the receiver said. Going beyond breaks flow control.
    fn advertised_window(&mut self, _sizing: Sizing, taken: u64, _state: &SendState) -> u64 {
        taken
    }

    /// Time added to each retransmission timeout.
    fn extra_rto(&self) -> Span {
        Span::ZERO
    }

    /// How many segments may be retransmitted in answer to one ACK or timeout.
    fn retransmission_quota(&self) -> u32 {
        u32::MAX
    }

    /// Duplicate ACKs, or segments above a gap, that mean a loss, given the number that the
    /// scenario sets (RFC 5681 section 3.2).
    fn duplicate_threshold(&self, configured: u32) -> u32 {
        configured
    }

    /// Whether this ACK shows a loss before the duplicate threshold is reached. Asked after
    /// [`on_feedback`](Self::on_feedback); counts outside of recovery while data is outstanding.
    fn finds_loss(&mut self, _feedback: &Feedback) -> bool {
        false
    }

    /// Whether a loss that was found by duplicate ACKs is answered by sending everything
    /// outstanding again, and not only what is known to be lost. Asked after
    /// [`on_loss`](Self::on_loss).
    fn repeats_everything(&self) -> bool {
        false
    }

    /// Whether each retransmission timeout doubles the next (RFC 6298 rule 5.5).
    fn backs_off(&self) -> bool {
        true
    }

    /// The probe to send now, if there is to be one; it counts as sent. Asked after each ACK, each
    /// segment and at the [deadline](Self::probe_deadline), while data is outstanding and until
    /// there is none, of those that [need](Needs::probes) it. Probes are no part of the flight.
    fn take_probe(&mut self, _state: &ProbeState) -> Option<Probe> {
        None
    }

    /// When a probe is to be sent even if nothing arrives.
    fn probe_deadline(&self) -> Time {
        Time::NEVER
    }

    /// The receiver has answered a probe; comes after what its answer acknowledges.
    fn on_probe_answered(&mut self, _state: &ProbeState) {}
}
