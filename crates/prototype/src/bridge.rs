//! A Python object as a controller of the engine.
//!
//! The window stands on both sides: before a method of the object runs it is given the engine's,
//! and afterwards the engine takes over what it has become. Methods that the class does not have of
//! its own are not called at all; the engine does what the trait says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use congestion::standard;
use pyo3::call::PyCallArgs;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use units::{Span, Time};

use crate::errors::ControllerError;

use crate::base::Controller;
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, Sent};
use crate::values::{Answer, Bytes, Rate, unexpected};

macro_rules! methods {
    ($($method:ident),+ $(,)?) => {
        /// Methods that a Python class may have of its own.
        #[derive(Clone, Copy, Debug)]
        #[expect(non_camel_case_types, reason = "the names are those of the methods")]
        pub enum Method { $($method),+ }

        impl Method {
            pub const ALL: &[Self] = &[$(Self::$method),+];

            pub fn name(self, py: Python<'_>) -> &Bound<'_, PyString> {
                match self {
                    $(Self::$method => intern!(py, stringify!($method)),)+
                }
            }
        }
    };
}

methods! {
    needs, on_feedback, on_sent, on_segment_lost, on_path_change, on_rtt, on_ack, grow, slow_start,
    avoid_congestion, threshold_after_loss, on_loss, on_congestion_mark,
    on_loss_after_mark, on_partial_ack, on_recovery_exit, on_timeout, on_start, on_idle, extra_rto, retransmission_quota, duplicate_threshold,
    finds_loss, repeats_everything, backs_off, pacing_rate,
}

/// The methods that a class has of its own, one bit each.
#[derive(Clone, Copy, Debug)]
struct Own(u32);

impl Own {
    /// All are asked for; the class's search finds the base's where there is no other.
    const ALL: Self = Self(u32::MAX);

    fn of(object: &Bound<'_, Controller>) -> PyResult<Self> {
        let py = object.py();
        let (class, base) = (object.get_type(), py.get_type::<Controller>());
        let own = object.getattr_opt(intern!(py, "__dict__"))?;
        let mut bits = 0;
        for method in Method::ALL {
            let name = method.name(py);
            let inherited = class.getattr(name)?.is(&base.getattr(name)?);
            let in_object = own.as_ref().map_or(Ok(false), |own| own.contains(name))?;
            bits |= u32::from(!inherited || in_object) << *method as u32;
        }
        Ok(Self(bits))
    }

    fn has(self, method: Method) -> bool {
        self.0 >> method as u32 & 1 == 1
    }
}

/// The first exception that a run's controllers have raised.
#[derive(Debug, Default)]
pub struct Failure {
    happened: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    /// A controller has raised one.
    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    pub(crate) fn raise(&self, error: PyErr) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.happened.store(true, Ordering::Relaxed);
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// See the head of this file. Once anything has failed it is standard TCP until the run ends.
#[derive(Debug)]
pub struct Bridge {
    object: Py<Controller>,
    window: congestion::Window,
    own: Own,
    needs: congestion::Needs,
    /// `on_loss` has been called.
    had_loss: bool,
    failure: Arc<Failure>,
}

impl Bridge {
    /// For the engine.
    pub fn new(object: &Bound<'_, Controller>, failure: Arc<Failure>) -> PyResult<Self> {
        let mut bridge = Self { own: Own::of(object)?, failure, ..Self::within(object) };
        if bridge.own.has(Method::needs) {
            let given = bridge.call(object.py(), Method::needs, ())?;
            let needs = given.cast::<Needs>();
            let what = bridge.told(object.py(), Method::needs);
            let needs =
                needs.map_err(|_| unexpected(&what, "bentpipe.controller.Needs(...)", &given))?;
            bridge.needs = needs.get().into();
            bridge.window = object.get().window(object.py());
        }
        bridge.needs.round_trips |= bridge.own.has(Method::on_rtt);
        Ok(bridge)
    }

    /// For a rule of standard TCP that the object asks for while one of its methods runs.
    pub fn within(object: &Bound<'_, Controller>) -> Self {
        Self {
            object: object.clone().unbind(),
            window: object.get().window(object.py()),
            own: Own::ALL,
            needs: congestion::Needs::default(),
            had_loss: false,
            failure: Arc::default(),
        }
    }

    /// Applies a rule of standard TCP to the object. What the rule asks for, the object answers.
    pub fn apply<R>(
        object: &Bound<'_, Controller>,
        rule: impl FnOnce(&mut Self) -> R,
    ) -> PyResult<R> {
        let mut bridge = Self::within(object);
        let answer = rule(&mut bridge);
        if let Some(error) = bridge.failure.take() {
            return Err(error);
        }
        object.get().set_window(object.py(), bridge.window);
        Ok(answer)
    }

    /// The name of the class, and the attributes of the object as a text.
    pub fn described(&self, py: Python<'_>) -> (String, String) {
        let object = self.object.bind(py);
        let class = object.get_type().name().map(|name| name.to_string());
        let attributes = object.getattr_opt(intern!(py, "__dict__")).ok().flatten();
        let attributes = attributes.and_then(|own| own.repr().ok()).map(|own| own.to_string());
        (class.unwrap_or_default(), attributes.unwrap_or_default())
    }

    fn has(&self, method: Method) -> bool {
        self.own.has(method) && !self.failure.happened()
    }

    /// The method as users call it.
    fn told(&self, py: Python<'_>, method: Method) -> String {
        let class = self.object.bind(py).get_type().name();
        let class = class.map_or_else(|_| "?".to_owned(), |name| name.to_string());
        format!("{class}.{}", method.name(py))
    }

    fn call<'py, A: PyCallArgs<'py>>(
        &self,
        py: Python<'py>,
        method: Method,
        arguments: A,
    ) -> PyResult<Bound<'py, PyAny>> {
        let object = self.object.bind(py);
        object.get().set_window(py, self.window);
        object.call_method1(method.name(py), arguments)
    }

    /// Calls a method that may change the window.
    fn tell<R: Answer>(
        &mut self,
        method: Method,
        arguments: impl for<'py> PyCallArgs<'py>,
    ) -> Option<R> {
        let told = Python::attach(|py| {
            let given = self.call(py, method, arguments)?;
            let answer = self.read(&given, method)?;
            Ok((answer, self.object.get().window(py)))
        });
        let (answer, window) = told.map_err(|error| self.failure.raise(error)).ok()?;
        self.window = window;
        Some(answer)
    }

    /// Calls a method that may not.
    fn ask<R: Answer>(
        &self,
        method: Method,
        arguments: impl for<'py> PyCallArgs<'py>,
    ) -> Option<R> {
        let asked = Python::attach(|py| {
            let given = self.call(py, method, arguments)?;
            if self.object.get().window(py) != self.window {
                let what = self.told(py, method);
                let message = format!("{what}: expected to answer, but it changes self.window");
                return Err(ControllerError::new_err(message));
            }
            self.read(&given, method)
        });
        asked.map_err(|error| self.failure.raise(error)).ok()
    }

    fn read<R: Answer>(&self, given: &Bound<'_, PyAny>, method: Method) -> PyResult<R> {
        let what = || self.told(given.py(), method);
        R::read(given).ok_or_else(|| unexpected(&what(), R::EXPECTED, given))
    }

    /// The rule of standard TCP for the end of a recovery sets cwnd to ssthresh, so `on_loss` of
    /// the class must have set one. It is not called in a recovery whose losses all count as errors
    /// of links.
    fn check_threshold(&mut self) {
        if self.had_loss && self.window.ssthresh == u64::MAX {
            self.failure.raise(ControllerError::new_err(
                "ssthresh: expected a number of bytes at the end of a recovery, where cwnd becomes \
                 ssthresh, found none: on_loss must set it",
            ));
        }
    }
}

/// A controller that has nothing of its own, for what the trait answers without looking.
pub struct Standard(pub congestion::Window);

impl congestion::TcpPolicy for Standard {}

impl congestion::Controller for Standard {
    fn window(&self) -> &congestion::Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut congestion::Window {
        &mut self.0
    }
}

/// An event: passed to the object if its class listens, and else handled by the default rule.
macro_rules! event {
    ($self:ident.$method:ident($($argument:expr),*), else $rule:expr) => {
        if $self.has(Method::$method) {
            $self.tell::<()>(Method::$method, ($($argument,)*));
        } else {
            $rule;
        }
    };
}

/// A question that only those answer that have an answer.
macro_rules! question {
    ($self:ident.$method:ident($($argument:expr),*) as $answer:ty) => {{
        let own = $self.has(Method::$method);
        let own = own.then(|| $self.ask::<$answer>(Method::$method, ($($argument,)*))).flatten();
        own.unwrap_or_else(|| Standard($self.window).$method($($argument),*))
    }};
}

impl congestion::Controller for Bridge {
    fn window(&self) -> &congestion::Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut congestion::Window {
        &mut self.window
    }

    fn needs(&self) -> congestion::Needs {
        self.needs
    }

    fn on_feedback(&mut self, feedback: &congestion::Feedback) {
        event!(
            self.on_feedback(Feedback(*feedback)),
            else Standard(self.window).on_feedback(feedback)
        );
    }

    fn on_sent(&mut self, sent: &congestion::Sent) {
        event!(self.on_sent(Sent(*sent)), else Standard(self.window).on_sent(sent));
    }

    fn on_segment_lost(&mut self, lost: &congestion::LostSegment) {
        event!(
            self.on_segment_lost(LostSegment(*lost)),
            else Standard(self.window).on_segment_lost(lost)
        );
    }

    fn on_path_change(&mut self, change: &congestion::PathChange) {
        event!(
            self.on_path_change(PathChange(*change)),
            else Standard(self.window).on_path_change(change)
        );
    }

    fn on_rtt(&mut self, now: Time, sample: Span) {
        event!(
            self.on_rtt(now.as_secs_f64(), sample.as_secs_f64()),
            else Standard(self.window).on_rtt(now, sample)
        );
    }

    fn on_ack(&mut self, ack: &congestion::Ack) {
        event!(self.on_ack(Ack(*ack)), else standard::on_ack(self, ack));
    }

    fn grow(&mut self, ack: &congestion::Ack) {
        event!(self.grow(Ack(*ack)), else standard::grow(self, ack));
    }

    fn slow_start(&mut self, ack: &congestion::Ack) {
        event!(self.slow_start(Ack(*ack)), else standard::slow_start(self, ack));
    }

    fn avoid_congestion(&mut self, ack: &congestion::Ack) {
        event!(self.avoid_congestion(Ack(*ack)), else standard::avoid_congestion(self, ack));
    }

    fn threshold_after_loss(&self, loss: &congestion::Loss) -> u64 {
        let own = self.has(Method::threshold_after_loss);
        let ask = || self.ask(Method::threshold_after_loss, (Loss(*loss),));
        let own = own.then(ask).flatten().map(|Bytes(threshold)| threshold);
        own.unwrap_or_else(|| standard::threshold_after_loss(self, loss))
    }

    fn on_loss(&mut self, loss: &congestion::Loss) {
        self.had_loss = true;
        event!(self.on_loss(Loss(*loss)), else standard::on_loss(self, loss));
    }

    fn on_congestion_mark(&mut self, loss: &congestion::Loss) {
        event!(self.on_congestion_mark(Loss(*loss)), else standard::on_congestion_mark(self, loss));
    }

    fn on_loss_after_mark(&mut self, loss: &congestion::Loss) {
        event!(self.on_loss_after_mark(Loss(*loss)), else {});
    }

    fn on_partial_ack(&mut self, partial: &congestion::PartialAck) {
        event!(
            self.on_partial_ack(PartialAck(*partial)),
            else standard::on_partial_ack(self, partial)
        );
    }

    fn on_recovery_exit(&mut self, now: Time) {
        event!(self.on_recovery_exit(now.as_secs_f64()), else {
            self.check_threshold();
            standard::on_recovery_exit(self);
        });
    }

    fn on_timeout(&mut self, loss: &congestion::Loss) {
        event!(self.on_timeout(Loss(*loss)), else standard::on_timeout(self, loss));
    }

    fn on_start(&mut self, now: Time) {
        event!(self.on_start(now.as_secs_f64()), else {});
    }

    fn on_idle(&mut self) {
        event!(self.on_idle(), else standard::on_idle(self));
    }

    fn pacing_rate(&self) -> Option<f64> {
        let own = self.has(Method::pacing_rate);
        let own = own.then(|| self.ask(Method::pacing_rate, ())).flatten();
        own.map_or_else(|| Standard(self.window).pacing_rate(), |Rate(rate)| rate)
    }
}

impl congestion::TcpPolicy for Bridge {
    fn extra_rto(&self) -> Span {
        question!(self.extra_rto() as Span)
    }

    fn retransmission_quota(&self) -> u32 {
        question!(self.retransmission_quota() as u32)
    }

    fn duplicate_threshold(&self, configured: u32) -> u32 {
        question!(self.duplicate_threshold(configured) as u32)
    }

    fn finds_loss(&mut self, feedback: &congestion::Feedback) -> bool {
        let own = self.has(Method::finds_loss);
        let own = own.then(|| self.tell(Method::finds_loss, (Feedback(*feedback),))).flatten();
        own.unwrap_or_else(|| Standard(self.window).finds_loss(feedback))
    }

    fn repeats_everything(&self) -> bool {
        question!(self.repeats_everything() as bool)
    }

    fn backs_off(&self) -> bool {
        question!(self.backs_off() as bool)
    }
}
