//! Any of the controllers, as a connection holds one.
//!
//! An enum and not a trait object: the calls are on the per-packet path, where a match is inlined
//! and a vtable is not. Standard TCP is in the enum itself. The others, whose state is larger, are
//! in a box, so that idle connections do not pay for the largest of them. Controllers of other
//! crates are behind a vtable.

use std::fmt::Debug;

use units::{Span, Time};

use crate::controller::Controller;
use crate::controllers::{each, first};
use crate::events::{
    Ack, Ecn, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, RequestState,
    RouterFeedback, Sent, Utilisation,
};
use crate::tcp_policy::{Probe, ProbeState, SendState, Sizing, TcpPolicy};
use crate::window::Window;
use wire::feedback::Request;

pub use crate::controllers::AnyController;

/// A controller from another crate.
pub trait External: Controller + TcpPolicy + Debug + Send + Sync {}

impl<C: Controller + TcpPolicy + Debug + Send + Sync> External for C {}

/// Declares the module of each controller and imports its type, and those of its variants; makes
/// the enum over all of them and the list for the registry.
macro_rules! controllers {
    (
        inline $inline_module:ident::$inline:ident | $inline_linux:ident;
        $($module:ident::$boxed:ident $(| $variant:ident)*;)+
    ) => {
        use crate::parts::linux::ORIGINAL;

        pub(crate) mod $inline_module;
        $(pub(crate) mod $module;)+

        use $inline_module::{$inline, $inline_linux};
        $(use $module::{$boxed $(, $variant)*};)+

        /// Any of the controllers.
        #[derive(Debug)]
        pub enum AnyController {
            #[doc = concat!("`", stringify!($inline), "`.")] $inline($inline),
            #[doc = concat!("`", stringify!($inline_linux), "`.")] $inline_linux(Box<$inline_linux>),
            $(
                #[doc = concat!("`", stringify!($boxed), "`.")] $boxed(Box<$boxed>),
                $(#[doc = concat!("`", stringify!($variant), "`.")] $variant(Box<$variant>),)*
            )+
            /// One of another crate.
            External(Box<dyn crate::any::External>),
        }

        /// The entries of each controller.
        pub(crate) const LISTS: &[fn() -> Vec<crate::registry::Registered>] = &[
            || crate::registry::entries_of::<$inline>(ORIGINAL, |settings, values| {
                AnyController::$inline(<$inline as crate::Listed>::build(settings, values))
            }),
            || crate::registry::entries_of::<$inline_linux>(<$inline_linux as crate::Listed>::VARIANT, |settings, values| {
                AnyController::$inline_linux(Box::new(<$inline_linux as crate::Listed>::build(
                    settings, values,
                )))
            }),
            $(
                || crate::registry::entries_of::<$boxed>(ORIGINAL, |settings, values| {
                    AnyController::$boxed(Box::new(<$boxed as crate::Listed>::build(settings, values)))
                }),
                $(|| crate::registry::entries_of::<$variant>(<$variant as crate::Listed>::VARIANT, |settings, values| {
                    AnyController::$variant(Box::new(<$variant as crate::Listed>::build(settings, values)))
                }),)*
            )+
        ];

        #[cfg(test)]
        pub(crate) const MODULES: &[&str] =
            &[stringify!($inline_module), $(stringify!($module),)+];

        /// For the calls of each segment: standard TCP is asked in place, all others in a call.
        macro_rules! first {
            ($self:expr, $controller:ident => $call:expr, or $others:expr) => {
                match $self {
                    AnyController::$inline($controller) => $call,
                    _ => $others,
                }
            };
        }

        macro_rules! each {
            ($self:expr, $controller:ident => $call:expr) => {
                match $self {
                    AnyController::$inline($controller) => $call,
                    AnyController::$inline_linux($controller) => $call,
                    $(
                        AnyController::$boxed($controller) => $call,
                        $(AnyController::$variant($controller) => $call,)*
                    )+
                    AnyController::External($controller) => $call,
                }
            };
        }

        pub(crate) use {each, first};
    };
}

pub(crate) use controllers;

impl AnyController {
    #[inline(never)]
    fn window_of_boxed(&self) -> &Window {
        each!(self, c => c.window())
    }

    #[inline(never)]
    fn on_ack_of_boxed(&mut self, ack: Ack) {
        each!(self, c => c.on_ack(&ack))
    }

    #[inline(never)]
    fn extra_rto_of_boxed(&self) -> Span {
        each!(self, c => c.extra_rto())
    }

    #[inline(never)]
    fn retransmission_quota_of_boxed(&self) -> u32 {
        each!(self, c => c.retransmission_quota())
    }

    #[inline(never)]
    fn advertised_window_of_boxed(&mut self, sizing: Sizing, taken: u64, state: SendState) -> u64 {
        each!(self, c => c.advertised_window(sizing, taken, &state))
    }
}

impl Controller for AnyController {
    #[inline]
    fn window(&self) -> &Window {
        first!(self, c => c.window(), or self.window_of_boxed())
    }
    fn window_mut(&mut self) -> &mut Window {
        each!(self, c => c.window_mut())
    }
    fn needs(&self) -> Needs {
        each!(self, c => c.needs())
    }
    fn on_ecn(&mut self, agreed: Ecn) {
        each!(self, c => c.on_ecn(agreed))
    }
    fn on_feedback(&mut self, feedback: &Feedback) {
        each!(self, c => c.on_feedback(feedback))
    }
    fn on_sent(&mut self, sent: &Sent) {
        each!(self, c => c.on_sent(sent))
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        each!(self, c => c.on_segment_lost(lost))
    }
    fn router_request(&mut self, state: &RequestState) -> Option<Request> {
        each!(self, c => c.router_request(state))
    }
    fn on_utilisation(&mut self, measured: &Utilisation) {
        each!(self, c => c.on_utilisation(measured))
    }
    fn on_path_change(&mut self, change: &PathChange) {
        each!(self, c => c.on_path_change(change))
    }
    fn on_router_feedback(&mut self, feedback: &RouterFeedback) {
        each!(self, c => c.on_router_feedback(feedback))
    }
    fn on_rtt(&mut self, now: Time, sample: Span) {
        each!(self, c => c.on_rtt(now, sample))
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        first!(self, c => c.on_ack(ack), or self.on_ack_of_boxed(*ack))
    }
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        each!(self, c => c.threshold_after_loss(loss))
    }
    fn on_loss(&mut self, loss: &Loss) {
        each!(self, c => c.on_loss(loss))
    }
    fn on_congestion_mark(&mut self, loss: &Loss) {
        each!(self, c => c.on_congestion_mark(loss))
    }
    fn answers_mark(&self, now: Time) -> bool {
        each!(self, c => c.answers_mark(now))
    }
    fn on_loss_after_mark(&mut self, loss: &Loss) {
        each!(self, c => c.on_loss_after_mark(loss))
    }
    fn on_partial_ack(&mut self, partial: &PartialAck) {
        each!(self, c => c.on_partial_ack(partial))
    }
    fn on_recovery_exit(&mut self, now: Time) {
        each!(self, c => c.on_recovery_exit(now))
    }
    fn on_timeout(&mut self, loss: &Loss) {
        each!(self, c => c.on_timeout(loss))
    }
    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        each!(self, c => c.on_spurious_loss(cwnd, ssthresh))
    }
    fn on_start(&mut self, now: Time) {
        each!(self, c => c.on_start(now));
    }

    fn on_idle(&mut self) {
        each!(self, c => c.on_idle())
    }
    fn pacing_rate(&self) -> Option<f64> {
        each!(self, c => c.pacing_rate())
    }
    fn least_packet(&self) -> u64 {
        each!(self, c => c.least_packet())
    }
    fn windows_in_buffer(&self) -> u64 {
        each!(self, c => c.windows_in_buffer())
    }
}

impl TcpPolicy for AnyController {
    fn bounds_sender(&self) -> bool {
        matches!(self, Self::External(_)) || each!(self, c => c.bounds_sender())
    }

    #[inline]
    fn advertised_window(&mut self, sizing: Sizing, taken: u64, state: &SendState) -> u64 {
        first!(
            self,
            c => c.advertised_window(sizing, taken, state),
            or self.advertised_window_of_boxed(sizing, taken, *state)
        )
    }
    #[inline]
    fn extra_rto(&self) -> Span {
        first!(self, c => c.extra_rto(), or self.extra_rto_of_boxed())
    }
    #[inline]
    fn retransmission_quota(&self) -> u32 {
        first!(self, c => c.retransmission_quota(), or self.retransmission_quota_of_boxed())
    }
    fn duplicate_threshold(&self, configured: u32) -> u32 {
        each!(self, c => c.duplicate_threshold(configured))
    }
    fn finds_loss(&mut self, feedback: &Feedback) -> bool {
        each!(self, c => c.finds_loss(feedback))
    }
    fn repeats_everything(&self) -> bool {
        each!(self, c => c.repeats_everything())
    }
    fn backs_off(&self) -> bool {
        each!(self, c => c.backs_off())
    }
    fn take_probe(&mut self, state: &ProbeState) -> Option<Probe> {
        each!(self, c => c.take_probe(state))
    }
    fn probe_deadline(&self) -> Time {
        each!(self, c => c.probe_deadline())
    }
    fn on_probe_answered(&mut self, state: &ProbeState) {
        each!(self, c => c.on_probe_answered(state))
    }
}
