//! A controller of the registry and its prototype in Python, in the same connections.
//!
//! Both get every event and answer every question; the network follows the controller of the
//! registry. After each step cwnd, ssthresh and answers are compared. The first difference ends the
//! run. Until then both have had the same events, so that this step is where the rules differ.
//!
//! A change of the window by recovery between two steps is made for both. Fractions of a byte
//! that a window keeps belong to each controller: a difference of them shows when it is a byte.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::{
    AnyController, Controller as _, External, Needs, Probe, ProbeState, SendState, Sizing,
    Specification, Window,
};
use prototype::{
    Ack, Bridge, Failure, Feedback, Loss, LostSegment, PartialAck, PathChange, Prototypes, Sent,
};
use pyo3::BoundObject;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use simulator::{Controllers, Options, Progress};
use units::{Span, Time};

use crate::arguments::Seed;
use crate::record::record;
use crate::scenario::Scenario;

record! {
    /// A controller after a step.
    StepState {
        /// Name of the controller.
        controller: String,
        /// Congestion window in bytes.
        cwnd: u64,
        /// Slow start threshold in bytes; 2**64 - 1 for none.
        ssthresh: u64,
        /// The answer, if the step is a question.
        answer: Option<String>,
        /// The other attributes: of a class those of the object, of Rust the fields of the type.
        attributes: String,
    }
}

record! {
    /// The first step after which two controllers differ.
    StepDifference {
        /// Name of the flow.
        flow: String,
        /// Number of the step among all of the run, from 1.
        step: u64,
        /// Time of the run in seconds.
        at_s: f64,
        /// The method with its argument.
        event: String,
        /// Congestion window of both before the step, in bytes.
        cwnd_before: u64,
        /// Slow start threshold of both before the step, in bytes.
        ssthresh_before: u64,
        /// The controller of the scenario.
        registered: StepState,
        /// The prototype in Python.
        prototype: StepState,
    }
}

record! {
    /// The steps of a controller and its prototype.
    Lockstep {
        /// Number of steps, up to the first difference: events and questions of both ends.
        steps: u64,
        /// The first difference; None if all steps are equal.
        difference: Option<StepDifference>,
    }
}

#[derive(Debug, Default)]
struct Log {
    steps: u64,
    difference: Option<StepDifference>,
}

type SharedLog = Arc<Mutex<Log>>;

/// Run a scenario with its controllers and, in the same connections, with prototypes.
///
/// `controllers` and the errors are those of `run`. The run ends at the first difference.
#[pyfunction]
#[pyo3(signature = (scenario, controllers, *, seed = None))]
pub fn lockstep(
    py: Python<'_>,
    scenario: &Scenario,
    controllers: &Bound<'_, PyMapping>,
    seed: Option<Seed>,
) -> PyResult<Lockstep> {
    let scenario = &scenario.inner;
    let seed = seed.map_or(scenario.seed, |Seed(seed)| seed);
    let pairs = Pairs {
        prototypes: Prototypes::new(controllers, &scenario.flows)?,
        flows: scenario.flows.iter().map(|f| (f.name.clone(), f.controller.clone())).collect(),
        log: SharedLog::default(),
    };
    let mut raised = None;
    py.detach(|| {
        let mut heard = |_: &Progress| {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        };
        let options =
            Options { progress: Some(&mut heard), controllers: Some(&pairs), ..Options::default() };
        batch::run(scenario, seed, options)
    });
    if let Some(error) = raised.or_else(|| pairs.prototypes.take_error()) {
        return Err(error);
    }
    let log = pairs.log.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Lockstep { steps: log.steps, difference: log.difference.clone() })
}

/// The controllers of a run. Flows without a prototype keep theirs.
struct Pairs {
    prototypes: Prototypes,
    flows: Vec<(String, Specification)>,
    log: SharedLog,
}

impl Controllers for Pairs {
    fn describe(&self, _flow: usize) -> Option<(&str, &str)> {
        None
    }

    fn build(&self, flow: usize, settings: &congestion::Settings) -> Option<Box<dyn External>> {
        let prototype = self.prototypes.bridge(flow, settings)?;
        let (name, specification) = &self.flows[flow];
        let registered = specification.build(settings);
        let pair = Pair {
            flow: name.clone(),
            name: specification.entry().name,
            prototype: Mutex::new(Prototype {
                bridge: prototype,
                after: *registered.window(),
                at: Time::ZERO,
            }),
            registered,
            log: Arc::clone(&self.log),
            failure: self.prototypes.failure(),
        };
        pair.compare_start();
        Some(Box::new(pair))
    }

    fn failed(&self) -> bool {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        self.prototypes.failed() || log.difference.is_some()
    }
}

/// Both controllers of one end of a connection.
#[derive(Debug)]
struct Pair {
    flow: String,
    name: &'static str,
    registered: AnyController,
    /// Behind a lock because controllers may be moved between threads. Nothing waits for it.
    prototype: Mutex<Prototype>,
    log: SharedLog,
    failure: Arc<Failure>,
}

#[derive(Debug)]
struct Prototype {
    bridge: Bridge,
    /// The window after the last step. What has changed since then, the transport has changed.
    after: Window,
    /// The time of the last event that has one.
    at: Time,
}

impl Pair {
    fn prototype(&self) -> MutexGuard<'_, Prototype> {
        self.prototype.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compare_start(&self) {
        let (one, other) = (self.registered.needs(), self.prototype().bridge.needs());
        // What only informs a controller changes no other.
        let active = |n: Needs| (n.pacing, n.marks, n.duplicate_reports, n.own_recovery);
        let shown = |n: Needs| {
            let (pacing, marks, duplicate_reports, own_recovery) = active(n);
            format!(
                "pacing={pacing}, marks={marks:?}, duplicate_reports={duplicate_reports}, \
                 own_recovery={own_recovery}"
            )
        };
        let before = self.begin();
        self.compare(
            "needs",
            before,
            active(one) == active(other),
            |_| String::new(),
            || (shown(one), shown(other)),
        );
        self.end("the start", before, |_| String::new());
    }

    /// Passes on what the transport has done to the window, and returns the window before the step.
    fn begin(&self) -> Window {
        let window = *self.registered.window();
        let mut prototype = self.prototype();
        if window != prototype.after {
            *prototype.bridge.window_mut() = window;
            prototype.after = window;
        }
        window
    }

    /// Compares the windows after an event.
    fn end(&self, method: &str, before: Window, argument: impl FnOnce(Python<'_>) -> String) {
        let equal = {
            let mut prototype = self.prototype();
            prototype.after = *self.registered.window();
            let (one, other) = (self.registered.window(), prototype.bridge.window());
            (one.cwnd, one.ssthresh) == (other.cwnd, other.ssthresh)
        };
        self.note(method, before, equal, argument, None);
    }

    /// Compares the answers to a question.
    fn compare(
        &self,
        method: &str,
        before: Window,
        equal: bool,
        argument: impl FnOnce(Python<'_>) -> String,
        answers: impl FnOnce() -> (String, String),
    ) {
        let answers = (!equal).then(answers);
        self.note(method, before, equal, argument, answers);
    }

    fn note(
        &self,
        method: &str,
        before: Window,
        equal: bool,
        argument: impl FnOnce(Python<'_>) -> String,
        answers: Option<(String, String)>,
    ) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if self.failure.happened() || log.difference.is_some() {
            return;
        }
        log.steps += 1;
        if equal {
            return;
        }
        let (one, other) = answers.unzip();
        let prototype = self.prototype();
        let (event, name, attributes) = Python::attach(|py| {
            let (name, attributes) = prototype.bridge.described(py);
            (format!("{method}({})", argument(py)), name, attributes)
        });
        let state = |controller: String, window: &Window, answer, attributes| StepState {
            controller,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            answer,
            attributes,
        };
        log.difference = Some(StepDifference {
            flow: self.flow.clone(),
            step: log.steps,
            at_s: prototype.at.as_secs_f64(),
            event,
            cwnd_before: before.cwnd,
            ssthresh_before: before.ssthresh,
            registered: state(
                self.name.to_owned(),
                self.registered.window(),
                one,
                format!("{:?}", self.registered),
            ),
            prototype: state(name, prototype.bridge.window(), other, attributes),
        });
    }
}

/// The text of an argument as Python shows it.
fn shown<'py, T: IntoPyObject<'py>>(py: Python<'py>, argument: T) -> String {
    let object = argument.into_pyobject(py).map_err(Into::into);
    let text =
        object.and_then(|object| object.into_any().into_bound().repr().map(|r| r.to_string()));
    text.unwrap_or_else(|error: PyErr| error.to_string())
}

/// An event for both. `at` is its time, if it has one.
macro_rules! event {
    ($self:ident.$method:ident($($argument:expr),*), $shown:expr $(, at $at:expr)?) => {{
        let before = $self.begin();
        $($self.prototype().at = $at;)?
        $self.registered.$method($($argument),*);
        $self.prototype().bridge.$method($($argument),*);
        $self.end(stringify!($method), before, $shown);
    }};
}

/// A question for both. The transport gets the answer of the registered one.
macro_rules! question {
    ($self:ident.$method:ident($($argument:expr),*), $shown:expr) => {{
        let before = $self.begin();
        let answer = $self.registered.$method($($argument),*);
        let other = $self.prototype().bridge.$method($($argument),*);
        let texts = || (debug(&answer), debug(&other));
        $self.compare(stringify!($method), before, answer == other, $shown, texts);
        answer
    }};
}

fn debug(answer: &impl Debug) -> String {
    format!("{answer:?}")
}

fn nothing(_: Python<'_>) -> String {
    String::new()
}

impl congestion::Controller for Pair {
    fn window(&self) -> &Window {
        self.registered.window()
    }

    fn window_mut(&mut self) -> &mut Window {
        self.registered.window_mut()
    }

    fn needs(&self) -> Needs {
        self.registered.needs().or(self.prototype().bridge.needs())
    }

    fn on_rtt(&mut self, now: Time, sample: Span) {
        let text = move |_: Python<'_>| {
            format!("now_s={}, sample_s={}", now.as_secs_f64(), sample.as_secs_f64())
        };
        event!(self.on_rtt(now, sample), text, at now);
    }

    fn on_feedback(&mut self, feedback: &congestion::Feedback) {
        event!(self.on_feedback(feedback), |py| shown(py, Feedback(*feedback)), at feedback.now);
    }

    fn on_sent(&mut self, sent: &congestion::Sent) {
        event!(self.on_sent(sent), |py| shown(py, Sent(*sent)), at sent.now);
    }

    fn on_segment_lost(&mut self, lost: &congestion::LostSegment) {
        event!(self.on_segment_lost(lost), |py| shown(py, LostSegment(*lost)), at lost.now);
    }

    fn on_path_change(&mut self, change: &congestion::PathChange) {
        event!(self.on_path_change(change), |py| shown(py, PathChange(*change)), at change.now);
    }

    fn on_ack(&mut self, ack: &congestion::Ack) {
        event!(self.on_ack(ack), |py| shown(py, Ack(*ack)), at ack.now);
    }

    fn grow(&mut self, ack: &congestion::Ack) {
        event!(self.grow(ack), |py| shown(py, Ack(*ack)), at ack.now);
    }

    fn slow_start(&mut self, ack: &congestion::Ack) {
        event!(self.slow_start(ack), |py| shown(py, Ack(*ack)), at ack.now);
    }

    fn avoid_congestion(&mut self, ack: &congestion::Ack) {
        event!(self.avoid_congestion(ack), |py| shown(py, Ack(*ack)), at ack.now);
    }

    fn threshold_after_loss(&self, loss: &congestion::Loss) -> u64 {
        question!(self.threshold_after_loss(loss), |py| shown(py, Loss(*loss)))
    }

    fn on_loss(&mut self, loss: &congestion::Loss) {
        event!(self.on_loss(loss), |py| shown(py, Loss(*loss)), at loss.now);
    }

    fn on_congestion_mark(&mut self, loss: &congestion::Loss) {
        event!(self.on_congestion_mark(loss), |py| shown(py, Loss(*loss)), at loss.now);
    }

    fn on_loss_after_mark(&mut self, loss: &congestion::Loss) {
        event!(self.on_loss_after_mark(loss), |py| shown(py, Loss(*loss)), at loss.now);
    }

    fn on_partial_ack(&mut self, partial: &congestion::PartialAck) {
        event!(self.on_partial_ack(partial), |py| shown(py, PartialAck(*partial)));
    }

    fn on_recovery_exit(&mut self, now: Time) {
        event!(self.on_recovery_exit(now), nothing, at now);
    }

    fn on_timeout(&mut self, loss: &congestion::Loss) {
        event!(self.on_timeout(loss), |py| shown(py, Loss(*loss)), at loss.now);
    }

    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        let text = move |_: Python<'_>| format!("cwnd={cwnd}, ssthresh={ssthresh}");
        event!(self.on_spurious_loss(cwnd, ssthresh), text);
    }

    fn on_start(&mut self, now: Time) {
        event!(self.on_start(now), nothing, at now);
    }

    fn on_idle(&mut self) {
        event!(self.on_idle(), nothing);
    }

    fn pacing_rate(&self) -> Option<f64> {
        question!(self.pacing_rate(), nothing)
    }
}

/// Windows beyond the advertised one and probes are for Rust only.
impl congestion::TcpPolicy for Pair {
    fn advertised_window(&mut self, sizing: Sizing, taken: u64, state: &SendState) -> u64 {
        self.registered.advertised_window(sizing, taken, state)
    }

    fn extra_rto(&self) -> Span {
        question!(self.extra_rto(), nothing)
    }

    fn retransmission_quota(&self) -> u32 {
        question!(self.retransmission_quota(), nothing)
    }

    fn duplicate_threshold(&self, configured: u32) -> u32 {
        question!(self.duplicate_threshold(configured), |_| format!("configured={configured}"))
    }

    fn finds_loss(&mut self, feedback: &congestion::Feedback) -> bool {
        let before = self.begin();
        self.prototype().at = feedback.now;
        let answer = self.registered.finds_loss(feedback);
        let other = self.prototype().bridge.finds_loss(feedback);
        let text = |py: Python<'_>| shown(py, Feedback(*feedback));
        let texts = || (debug(&answer), debug(&other));
        self.compare("finds_loss", before, answer == other, text, texts);
        self.end("finds_loss", before, text);
        answer
    }

    fn repeats_everything(&self) -> bool {
        question!(self.repeats_everything(), nothing)
    }

    fn backs_off(&self) -> bool {
        question!(self.backs_off(), nothing)
    }

    fn take_probe(&mut self, state: &ProbeState) -> Option<Probe> {
        self.registered.take_probe(state)
    }

    fn probe_deadline(&self) -> Time {
        self.registered.probe_deadline()
    }

    fn on_probe_answered(&mut self, state: &ProbeState) {
        self.registered.on_probe_answered(state);
    }
}
