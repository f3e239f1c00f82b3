//! What a congestion controller decides, and what it does by default.
//!
//! [`Controller`] is for every transport protocol. What only TCP asks is a trait of its own,
//! [`TcpPolicy`](crate::TcpPolicy), so that QUIC and SCTP can do without.
//!
//! Two things are done otherwise than in neqo, which was considered:
//!
//! - Slow start is no type parameter. The ways to end it (`parts/slow_start`) are values that a
//!   scenario chooses with a parameter; as types, every controller would be compiled, listed and
//!   matched once for each of them.
//! - The controller does not save its state before a reduction, to have it back when the loss proves
//!   spurious. TCP saves cwnd and ssthresh and restores them, as Linux does for every controller
//!   here; W_max of CUBIC, which RFC 9438 section 4.9 restores too, stays. A controller that needs
//!   more gets a method with that default.

use units::{Span, Time};

use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Sent};
use crate::standard;
use crate::window::Window;

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

    /// The rate, in bytes per second, that segments must not exceed; `None` while there is none.
    /// Asked of those that [need](Needs::pacing) it.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
}
