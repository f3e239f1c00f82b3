//! A controller around another one: it passes events on, and changes some of them.
//!
//! [`Hook`] has a method for each event that a wrapper may change. Its defaults pass everything on.

use std::fmt::Debug;

use units::{Span, Time};

use crate::any::AnyController;
use crate::controller::Controller;
use crate::events::{
    Ack, Ecn, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, RequestState,
    RouterFeedback, Sent, Utilisation,
};
use crate::tcp_policy::{Probe, ProbeState, SendState, Sizing, TcpPolicy};
use crate::window::Window;
use wire::feedback::Request;

/// The changes that a wrapper makes.
pub trait Hook: Debug + Send + Sync {
    /// An event with the time `now` is passed on next.
    fn before(&mut self, _inner: &mut AnyController, _now: Time) {}

    /// The needs of both, given those of the inner controller.
    fn needs(&self, inner: Needs) -> Needs {
        inner
    }

    fn on_path_change(&mut self, inner: &mut AnyController, change: &PathChange) {
        inner.on_path_change(change);
    }

    fn on_segment_lost(&mut self, inner: &mut AnyController, lost: &LostSegment) {
        inner.on_segment_lost(lost);
    }

    fn on_feedback(&mut self, inner: &mut AnyController, feedback: &Feedback) {
        inner.on_feedback(feedback);
    }

    fn on_loss(&mut self, inner: &mut AnyController, loss: &Loss) {
        inner.on_loss(loss);
    }

    fn on_recovery_exit(&mut self, inner: &mut AnyController, now: Time) {
        inner.on_recovery_exit(now);
    }

    fn on_timeout(&mut self, inner: &mut AnyController, loss: &Loss) {
        inner.on_timeout(loss);
    }

    fn on_spurious_loss(&mut self, inner: &mut AnyController, cwnd: u64, ssthresh: u64) {
        inner.on_spurious_loss(cwnd, ssthresh);
    }
}

/// A controller in a wrapper.
#[derive(Debug)]
pub struct Around<H> {
    inner: AnyController,
    hook: H,
}

impl<H> Around<H> {
    pub(crate) fn new(inner: AnyController, hook: H) -> Self {
        Self { inner, hook }
    }

    #[cfg(test)]
    pub(crate) fn hook_mut(&mut self) -> &mut H {
        &mut self.hook
    }
}

impl<H: Hook> Around<H> {
    /// Both, before an event with the time `now`.
    fn at(&mut self, now: Time) -> (&mut H, &mut AnyController) {
        self.hook.before(&mut self.inner, now);
        (&mut self.hook, &mut self.inner)
    }
}

impl<H: Hook> Controller for Around<H> {
    fn window(&self) -> &Window {
        self.inner.window()
    }
    fn window_mut(&mut self) -> &mut Window {
        self.inner.window_mut()
    }
    fn needs(&self) -> Needs {
        self.hook.needs(self.inner.needs())
    }
    fn on_ecn(&mut self, agreed: Ecn) {
        self.inner.on_ecn(agreed);
    }
    fn on_feedback(&mut self, feedback: &Feedback) {
        let (hook, inner) = self.at(feedback.now);
        hook.on_feedback(inner, feedback);
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.at(sent.now).1.on_sent(sent);
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        let (hook, inner) = self.at(lost.now);
        hook.on_segment_lost(inner, lost);
    }
    fn router_request(&mut self, state: &RequestState) -> Option<Request> {
        self.inner.router_request(state)
    }
    fn on_router_feedback(&mut self, feedback: &RouterFeedback) {
        self.at(feedback.now).1.on_router_feedback(feedback);
    }
    fn on_utilisation(&mut self, measured: &Utilisation) {
        self.inner.on_utilisation(measured);
    }
    fn on_path_change(&mut self, change: &PathChange) {
        let (hook, inner) = self.at(change.now);
        hook.on_path_change(inner, change);
    }
    fn on_rtt(&mut self, now: Time, sample: Span) {
        self.at(now).1.on_rtt(now, sample);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.at(ack.now).1.on_ack(ack);
    }
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        self.inner.threshold_after_loss(loss)
    }
    fn on_loss(&mut self, loss: &Loss) {
        let (hook, inner) = self.at(loss.now);
        hook.on_loss(inner, loss);
    }
    fn on_congestion_mark(&mut self, loss: &Loss) {
        self.at(loss.now).1.on_congestion_mark(loss);
    }
    fn answers_mark(&self, now: Time) -> bool {
        self.inner.answers_mark(now)
    }
    fn on_loss_after_mark(&mut self, loss: &Loss) {
        self.at(loss.now).1.on_loss_after_mark(loss);
    }
    fn on_partial_ack(&mut self, partial: &PartialAck) {
        self.inner.on_partial_ack(partial);
    }
    fn on_recovery_exit(&mut self, now: Time) {
        let (hook, inner) = self.at(now);
        hook.on_recovery_exit(inner, now);
    }
    fn on_timeout(&mut self, loss: &Loss) {
        let (hook, inner) = self.at(loss.now);
        hook.on_timeout(inner, loss);
    }
    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        self.hook.on_spurious_loss(&mut self.inner, cwnd, ssthresh);
    }
    fn on_start(&mut self, now: Time) {
        self.at(now).1.on_start(now);
    }
    fn on_idle(&mut self) {
        self.inner.on_idle();
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.inner.pacing_rate()
    }
    fn least_packet(&self) -> u64 {
        self.inner.least_packet()
    }
    fn windows_in_buffer(&self) -> u64 {
        self.inner.windows_in_buffer()
    }
}

impl<H: Hook> TcpPolicy for Around<H> {
    fn bounds_sender(&self) -> bool {
        self.inner.bounds_sender()
    }

    fn advertised_window(&mut self, sizing: Sizing, taken: u64, state: &SendState) -> u64 {
        self.inner.advertised_window(sizing, taken, state)
    }
    fn extra_rto(&self) -> Span {
        self.inner.extra_rto()
    }
    fn retransmission_quota(&self) -> u32 {
        self.inner.retransmission_quota()
    }
    fn duplicate_threshold(&self, configured: u32) -> u32 {
        self.inner.duplicate_threshold(configured)
    }
    fn finds_loss(&mut self, feedback: &Feedback) -> bool {
        self.inner.finds_loss(feedback)
    }
    fn repeats_everything(&self) -> bool {
        self.inner.repeats_everything()
    }
    fn backs_off(&self) -> bool {
        self.inner.backs_off()
    }
    fn take_probe(&mut self, state: &ProbeState) -> Option<Probe> {
        self.at(state.now).1.take_probe(state)
    }
    fn probe_deadline(&self) -> Time {
        self.inner.probe_deadline()
    }
    fn on_probe_answered(&mut self, state: &ProbeState) {
        self.at(state.now).1.on_probe_answered(state);
    }
}
