//! Controllers by name. Adding one is its own file and one line in `registry!`.

use std::fmt::Debug;
use std::sync::LazyLock;

use units::{Span, Time};

use crate::controller::{Controller, Recovery};
use crate::controllers::adalr::Adalr;
use crate::controllers::aliad::Aliad;
use crate::controllers::bbr::Bbr;
use crate::controllers::bbr3::Bbr3;
use crate::controllers::bic::Bic;
use crate::controllers::bulk_repeat::BulkRepeat;
use crate::controllers::cherry::Cherry;
use crate::controllers::ck_stp::CkStp;
use crate::controllers::cubic::Cubic;
use crate::controllers::highspeed::HighSpeed;
use crate::controllers::htcp::Htcp;
use crate::controllers::hybla::Hybla;
use crate::controllers::jersey::{Jersey, NewJersey};
use crate::controllers::logwestwood_plus::LogWestwoodPlus;
use crate::controllers::new_vegas::NewVegas;
use crate::controllers::newreno_sat::NewRenoSat;
use crate::controllers::peach::Peach;
use crate::controllers::peach_plus::PeachPlus;
use crate::controllers::reno::Reno;
use crate::controllers::scalable::Scalable;
use crate::controllers::star::Star;
use crate::controllers::vegas::Vegas;
use crate::controllers::veno::Veno;
use crate::controllers::westwood::Westwood;
use crate::controllers::westwood_abse::WestwoodAbse;
use crate::controllers::westwood_plus::WestwoodPlus;
use crate::events::{
    Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Probe, ProbeState, SendState, Sent, Sizing,
};
use crate::parameters::{Parameter, ParameterError, Value, Values};
use crate::window::{Settings, Window};

/// How far a controller can be trusted to be the one of its paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its rules were read in the published source.
    Published,
    /// Some of its rules were not found and had to be reconstructed.
    Reconstructed,
}

impl Status {
    /// The word that users see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Reconstructed => "reconstructed",
        }
    }
}

/// What there is to know about a controller before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in scenarios.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// The paper or RFC that defines it.
    pub source: &'static str,
    /// How far it is the published one.
    pub status: Status,
    /// The loss recovery that it was written for, used when a scenario names none.
    pub recovery: Recovery,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    build: fn(&Settings, &Values) -> AnyController,
}

/// A type with one or more entries in the registry.
pub(crate) trait Listed: Controller + Sized {
    /// Name, summary, source, status, recovery and parameters of each entry.
    const LISTED: &'static [Listing];
    /// Builds it with the parameter values of a scenario.
    fn build(settings: &Settings, values: &Values) -> Self;
}

/// A controller from outside of this crate. Only it is called through a vtable.
pub trait Foreign: Controller + Debug {}

impl<C: Controller + Debug> Foreign for C {}

/// An [`Entry`] as a controller's file writes it.
pub(crate) struct Listing {
    pub name: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    pub status: Status,
    pub recovery: Recovery,
    pub parameters: &'static [Parameter],
}

/// No controller has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no controller {name:?}")]
pub struct UnknownController {
    /// The name that was asked for.
    pub name: String,
}

/// A controller chosen and parameterised, ready to be built for each connection.
#[derive(Clone, Debug)]
pub struct Specification {
    entry: &'static Entry,
    values: Values,
}

impl Specification {
    /// The controller `name` with its default parameters.
    ///
    /// # Errors
    /// When there is no controller of that name.
    pub fn named(name: &str) -> Result<Self, UnknownController> {
        let entry = find(name).ok_or_else(|| UnknownController { name: name.to_owned() })?;
        Ok(Self { entry, values: Values::defaults(entry.parameters) })
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// When the controller has no such parameter or the value is not allowed.
    pub fn set(&mut self, parameter: &str, value: Value) -> Result<(), ParameterError> {
        self.values.set(self.entry.name, parameter, value)
    }

    /// What is known about the controller.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The parameter values.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// A controller for one connection.
    pub fn build(&self, settings: &Settings) -> AnyController {
        (self.entry.build)(settings, &self.values)
    }
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| LISTS.iter().flat_map(|l| l()).collect());

impl PartialEq for Specification {
    fn eq(&self, other: &Self) -> bool {
        self.entry.name == other.entry.name && self.values == other.values
    }
}

/// All controllers, in the order of the registry.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter()
}

/// The controller called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.name == name)
}

/// Builds the enum over all controllers. An enum and not a trait object: the calls stand on the
/// per-packet path, where a match is inlined and a vtable is not. Standard TCP stands in the enum
/// itself; the others, whose state is larger, in a box, so that they do not make each idle
/// connection pay for the largest of them.
macro_rules! registry {
    (inline: $inline:ident; boxed: $($boxed:ident),+ $(,)?) => {
        /// Any of the controllers.
        #[derive(Debug)]
        pub enum AnyController {
            #[allow(missing_docs)] $inline($inline),
            $(#[allow(missing_docs)] $boxed(Box<$boxed>),)+
            /// One that is in no registry.
            Foreign(Box<dyn Foreign>),
        }

        const LISTS: &[fn() -> Vec<Entry>] = &[
            || entries_of::<$inline>(|settings, values| {
                AnyController::$inline(<$inline as Listed>::build(settings, values))
            }),
            $(|| entries_of::<$boxed>(|settings, values| {
                AnyController::$boxed(Box::new(<$boxed as Listed>::build(settings, values)))
            }),)+
        ];


        /// For what is asked for each segment: standard TCP is asked on the spot, all others in a
        /// call.
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
                    $(AnyController::$boxed($controller) => $call,)+
                    AnyController::Foreign($controller) => $call,
                }
            };
        }
    };
}

fn entries_of<C: Listed>(build: fn(&Settings, &Values) -> AnyController) -> Vec<Entry> {
    let entry = |listing: &Listing| Entry {
        name: listing.name,
        summary: listing.summary,
        source: listing.source,
        status: listing.status,
        recovery: listing.recovery,
        parameters: listing.parameters,
        build,
    };
    C::LISTED.iter().map(entry).collect()
}

registry! {
    inline: Reno;
    boxed: Adalr, Aliad, Bbr, Bbr3, Bic, BulkRepeat, Cherry, CkStp, Cubic, HighSpeed, Htcp, Hybla, Jersey, LogWestwoodPlus, NewJersey, NewRenoSat, NewVegas, Peach, PeachPlus, Scalable, Star, Vegas, Veno, Westwood, WestwoodAbse, WestwoodPlus,
}

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
    fn on_feedback(&mut self, feedback: &Feedback) {
        each!(self, c => c.on_feedback(feedback))
    }
    fn on_sent(&mut self, sent: &Sent) {
        each!(self, c => c.on_sent(sent))
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        each!(self, c => c.on_segment_lost(lost))
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
    fn on_partial_ack(&mut self, partial: &PartialAck) {
        each!(self, c => c.on_partial_ack(partial))
    }
    fn on_recovery_exit(&mut self, now: Time) {
        each!(self, c => c.on_recovery_exit(now))
    }
    fn on_timeout(&mut self, loss: &Loss) {
        each!(self, c => c.on_timeout(loss))
    }
    fn on_idle(&mut self) {
        each!(self, c => c.on_idle())
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
    fn pacing_rate(&self) -> Option<f64> {
        each!(self, c => c.pacing_rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_controller_can_be_built_from_its_defaults() {
        let settings = Settings {
            mss: 1460,
            initial_window: 14_600,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        for entry in entries() {
            let specification = Specification::named(entry.name).unwrap();
            let cwnd = specification.build(&settings).window().cwnd;
            // One knows its window from the start.
            let expected = if entry.name == "ck-stp" { 128_000 } else { 14_600 };
            assert_eq!(cwnd, expected, "{}", entry.name);
        }
    }

    #[test]
    fn names_are_unique_and_defaults_are_allowed() {
        let mut names: Vec<_> = entries().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), entries().count());
        for entry in entries() {
            let mut specification = Specification::named(entry.name).unwrap();
            let values: Vec<_> =
                specification.values().iter().map(|(p, v)| (p.name, v.clone())).collect();
            for (name, value) in values {
                specification.set(name, value).unwrap();
            }
        }
    }
}
