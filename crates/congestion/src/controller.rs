//! The interface of congestion controllers, with standard TCP as the default.
//!
//! [`Controller`] is for every transport protocol. Decisions that only TCP needs are in a second
//! trait, [`TcpPolicy`](crate::TcpPolicy), which QUIC and SCTP do not use.
//!
//! There are two differences from neqo, which was considered as a model:
//!
//! - Slow start is not a type parameter. Its variants (`parts/slow_start`) are values that a
//!   scenario chooses with a parameter. As types, every controller would be compiled, listed and
//!   matched once for each of them.
//! - The transport saves cwnd and ssthresh before a reduction, and [`Controller::on_spurious_loss`]
//!   restores them. A controller that restores more keeps it itself, as CUBIC does (RFC 9438
//!   section 4.9).

use units::{Span, Time};

use crate::events::{
    Ack, Ecn, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, RequestState,
    RouterFeedback, Sent, Utilisation,
};
use crate::standard;
use crate::window::Window;
use wire::feedback::Request;

/// A congestion controller. The defaults are standard TCP: RFC 5681 and RFC 6582.
pub trait Controller {
    /// cwnd and ssthresh.
    fn window(&self) -> &Window;

    /// Mutable cwnd and ssthresh: recovery inflates and deflates cwnd (RFC 6582 section 3.2).
    fn window_mut(&mut self) -> &mut Window;

    /// A round-trip time was measured on a segment that was sent once (Karn's algorithm): the
    /// youngest of those that an ACK acknowledges for the first time, so that an ACK that waited
    /// for more data shows no queue. Before all others comes that of the handshake. Given to those
    /// that [need](Needs::round_trips) it.
    fn on_rtt(&mut self, _now: Time, _sample: Span) {}

    /// Events that the controller needs in addition to those of standard TCP.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The connection is open, and both ends use `agreed` of ECN. It is less than the controller
    /// [needs](Needs::marks) if the other end does not have it.
    fn on_ecn(&mut self, _agreed: Ecn) {}

    /// An ACK of any kind arrived. Called before the events that follow from it, for controllers
    /// that [need](Needs::feedback) it.
    fn on_feedback(&mut self, _feedback: &Feedback) {}

    /// A segment was sent. Called for controllers that [need](Needs::feedback) it.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// A segment was detected as lost. Called before the feedback of the same ACK, for controllers
    /// that [need](Needs::records) it.
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}

    /// The request that the next data segment carries to the routers on its way; `None` for none.
    /// Called for controllers that [need](Needs::router_feedback) it.
    fn router_request(&mut self, _state: &RequestState) -> Option<Request> {
        None
    }

    /// An ACK returns what routers have made of requests. Called before all other events of the
    /// ACK, for controllers that [need](Needs::router_feedback) it.
    fn on_router_feedback(&mut self, _feedback: &RouterFeedback) {}

    /// The link that the connection shares with others was measured. Called for controllers that
    /// [need](Needs::utilisation) it, where something knows the rate of the link.
    fn on_utilisation(&mut self, _measured: &Utilisation) {}

    /// A hint that the path is about to change, or has changed. Called for controllers that
    /// [need](Needs::path_changes) it, with the time of the hint, and before the first event that
    /// is not earlier. Hints from before the first event of a connection are not repeated.
    fn on_path_change(&mut self, _change: &PathChange) {}

    /// New data was acknowledged outside of recovery.
    fn on_ack(&mut self, ack: &Ack) {
        standard::on_ack(self, ack);
    }

    /// Growth by the rule of the phase, if cwnd limited the sender.
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

    /// Recovery begins after a loss: cwnd is reduced to the new ssthresh.
    fn on_loss(&mut self, loss: &Loss) {
        standard::on_loss(self, loss);
    }

    /// The network marked data to say that it is congested: the controller's own response to a
    /// loss, but nothing has to be sent again (RFC 3168 section 6.1.2). At most once in a round
    /// trip, and not in recovery.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        standard::on_congestion_mark(self, loss);
    }

    /// Returns true if a mark that is reported at this time is answered. Called once a round trip
    /// has passed since the last reduction, outside of recovery.
    fn answers_mark(&self, _now: Time) -> bool {
        true
    }

    /// Recovery begins after a loss in the window that a mark has reduced. One reduction answers
    /// both (RFC 3168 section 6.1.2), so cwnd and ssthresh stay. A controller whose response to a
    /// mark is no reduction takes it as any other loss.
    fn on_loss_after_mark(&mut self, _loss: &Loss) {}

    /// A partial ACK: deflate cwnd by the acknowledged bytes and add one SMSS (RFC 6582 section 3.2
    /// step 5). If recovery counts the pipe, cwnd is not deflated.
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

    /// The last reduction, for a loss or a timeout, was spurious: nothing was lost. `cwnd` and
    /// `ssthresh` are what they were before it. Neither falls: the window may have outgrown them
    /// (Linux, `tcp_undo_cwnd_reduction`). Comes after the end of a recovery.
    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        standard::on_spurious_loss(self, cwnd, ssthresh);
    }

    /// Data is sent at `now` while nothing is outstanding: the first data, or the first one after a
    /// pause of any length. The time of a pause says nothing about the path, so a window that is a
    /// function of time does not count it (RFC 9438 section 5.8; Linux, `CA_EVENT_TX_START`).
    /// Called before [`on_idle`](Self::on_idle).
    fn on_start(&mut self, _now: Time) {}

    /// Nothing was sent for longer than the RTO: at most the initial window
    /// (RFC 5681 section 4.1).
    fn on_idle(&mut self) {
        standard::on_idle(self);
    }

    /// The pacing rate in bytes per second; `None` for no pacing. Called for controllers that
    /// [need](Needs::pacing) it.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// The segments that a packet of a host with segmentation offload holds at least
    /// (`min_tso_segs` of Linux; `sysctl_tcp_min_tso_segs` by default).
    fn least_packet(&self) -> u64 {
        2
    }

    /// Congestion windows for which a send buffer that tunes itself has room (`sndbuf_expand` of
    /// Linux).
    fn windows_in_buffer(&self) -> u64 {
        2
    }
}
