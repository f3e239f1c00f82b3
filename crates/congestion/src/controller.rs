//! What a congestion controller may decide, and what it does by default.

use units::{Span, Time};

use crate::events::{
    Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Probe, ProbeState, SendState, Sent, Sizing,
};
use crate::standard;
use crate::window::Window;

/// How TCP finds and repairs losses. It is no part of the controller, but each controller has one
/// that its paper was written for.
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

/// Whose segments leave no faster than a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Those of controllers that [need](crate::Needs::pacing) it.
    Controller,
    /// All, by the rules of Linux.
    Linux,
}

/// A congestion controller. The defaults are standard TCP: RFC 5681 and RFC 6582.
pub trait Controller {
    /// cwnd and ssthresh.
    fn window(&self) -> &Window;

    /// cwnd and ssthresh, to change: recovery inflates and deflates cwnd (RFC 6582 section 3.2).
    fn window_mut(&mut self) -> &mut Window;

    /// A round-trip time was measured on a segment that was sent once (Karn's algorithm).
    fn on_rtt(&mut self, _now: Time, _sample: Span) {}

    /// What it needs to be told beyond the ACKs that let standard TCP grow.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// An ACK arrived, whatever it acknowledges; comes before all that follows from it. Given to
    /// those that [need](Needs::feedback) it.
    fn on_feedback(&mut self, _feedback: &Feedback) {}

    /// A segment was sent. Given to those that [need](Needs::feedback) it.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// A segment was found to be lost; comes before the feedback of the same ACK. Given to those
    /// that [need](Needs::records) it.
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}

    /// New data was acknowledged outside of recovery.
    fn on_ack(&mut self, ack: &Ack) {
        standard::on_ack(self, ack);
    }

    /// Growth by the rule of the phase, unless something else than cwnd held the sender back.
    fn grow(&mut self, ack: &Ack) {
        standard::grow(self, ack);
    }

    /// Growth below ssthresh: by the bytes acknowledged, at most one SMSS (RFC 5681 equation 2).
    fn slow_start(&mut self, ack: &Ack) {
        standard::slow_start(self, ack);
    }

    /// Growth at and above ssthresh: SMSS * SMSS / cwnd for each ACK (RFC 5681 equation 3).
    fn avoid_congestion(&mut self, ack: &Ack) {
        standard::avoid_congestion(self, ack);
    }

    /// ssthresh after a loss, in bytes: half the flight size (RFC 5681 equation 4).
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        standard::threshold_after_loss(self, loss)
    }

    /// Recovery found a loss and begins: cwnd falls to the new ssthresh.
    fn on_loss(&mut self, loss: &Loss) {
        standard::on_loss(self, loss);
    }

    /// The network marked data to say that it is congested: as after a loss, but nothing has to be
    /// sent again (RFC 3168 section 6.1.2). At most once in a round trip, and not in recovery.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        standard::on_congestion_mark(self, loss);
    }

    /// A partial ACK: deflate by what was acknowledged and add one SMSS back
    /// (RFC 6582 section 3.2 step 5). The pipe needs no deflating.
    fn on_partial_ack(&mut self, partial: &PartialAck) {
        standard::on_partial_ack(self, partial);
    }

    /// Recovery is over: cwnd = ssthresh (RFC 6582 section 3.2 step 3, second option).
    fn on_recovery_exit(&mut self, _now: Time) {
        standard::on_recovery_exit(self);
    }

    /// The retransmission timer expired: one segment (RFC 5681 section 3.1).
    fn on_timeout(&mut self, loss: &Loss) {
        standard::on_timeout(self, loss);
    }

    /// Nothing was sent for longer than the RTO: at most the initial window
    /// (RFC 5681 section 4.1).
    fn on_idle(&mut self) {
        standard::on_idle(self);
    }

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

    /// The rate, in bytes per second, that segments must not exceed; `None` while there is none.
    /// Asked of those that [need](Needs::pacing) it.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
}
