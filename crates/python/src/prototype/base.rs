//! The class that controllers in Python inherit from. Its methods are the defaults of the trait.

use congestion::{Controller as _, standard};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::bridge::{Bridge, Standard};
use super::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Sent};
use super::window::{Settings, Window};

/// A congestion controller: standard TCP until a class that inherits it says otherwise.
#[pyclass(frozen, subclass, module = "bentpipe.controller")]
#[derive(Debug)]
pub struct Controller {
    #[pyo3(get)]
    window: Py<Window>,
}

impl Controller {
    pub fn window(&self, py: Python<'_>) -> congestion::Window {
        self.window.borrow(py).0
    }

    pub fn set_window(&self, py: Python<'_>, window: congestion::Window) {
        self.window.borrow_mut(py).0 = window;
    }

    /// The constants of the trait.
    fn standard(&self, py: Python<'_>) -> Standard {
        Standard(self.window(py))
    }
}

#[pymethods]
#[expect(unused_variables, reason = "the names of arguments are those that Python sees")]
impl Controller {
    /// Further arguments are for the classes that inherit it.
    #[new]
    #[pyo3(signature = (settings, *args, **kwargs), text_signature = "(settings)")]
    fn new(
        settings: &Bound<'_, Settings>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let window = settings.get().window();
        Ok(Self { window: Py::new(settings.py(), Window(window))? })
    }

    fn __init__(&self, settings: &Bound<'_, Settings>) {}

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn on_feedback(&self, feedback: &Feedback) {}

    fn on_sent(&self, sent: &Sent) {}

    fn on_segment_lost(&self, lost: &LostSegment) {}

    fn on_rtt(&self, now_s: f64, sample_s: f64) {}

    fn on_ack(slf: &Bound<'_, Self>, ack: &Ack) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_ack(controller, &ack.0))
    }

    fn grow(slf: &Bound<'_, Self>, ack: &Ack) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::grow(controller, &ack.0))
    }

    fn slow_start(slf: &Bound<'_, Self>, ack: &Ack) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::slow_start(controller, &ack.0))
    }

    fn avoid_congestion(slf: &Bound<'_, Self>, ack: &Ack) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::avoid_congestion(controller, &ack.0))
    }

    fn threshold_after_loss(slf: &Bound<'_, Self>, loss: &Loss) -> PyResult<u64> {
        Bridge::apply(slf, |controller| standard::threshold_after_loss(controller, &loss.0))
    }

    fn on_loss(slf: &Bound<'_, Self>, loss: &Loss) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_loss(controller, &loss.0))
    }

    fn on_congestion_mark(slf: &Bound<'_, Self>, loss: &Loss) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_congestion_mark(controller, &loss.0))
    }

    fn on_partial_ack(slf: &Bound<'_, Self>, partial: &PartialAck) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_partial_ack(controller, &partial.0))
    }

    fn on_recovery_exit(slf: &Bound<'_, Self>, now_s: f64) -> PyResult<()> {
        Bridge::apply(slf, standard::on_recovery_exit)
    }

    fn on_timeout(slf: &Bound<'_, Self>, loss: &Loss) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_timeout(controller, &loss.0))
    }

    fn on_idle(slf: &Bound<'_, Self>) -> PyResult<()> {
        Bridge::apply(slf, standard::on_idle)
    }

    fn extra_rto(&self, py: Python<'_>) -> f64 {
        self.standard(py).extra_rto().as_secs_f64()
    }

    fn retransmission_quota(&self, py: Python<'_>) -> u32 {
        self.standard(py).retransmission_quota()
    }

    fn duplicate_threshold(&self, py: Python<'_>, configured: u32) -> u32 {
        self.standard(py).duplicate_threshold(configured)
    }

    fn finds_loss(&self, py: Python<'_>, feedback: &Feedback) -> bool {
        self.standard(py).finds_loss(&feedback.0)
    }

    fn repeats_everything(&self, py: Python<'_>) -> bool {
        self.standard(py).repeats_everything()
    }

    fn backs_off(&self, py: Python<'_>) -> bool {
        self.standard(py).backs_off()
    }

    fn pacing_rate(&self, py: Python<'_>) -> Option<f64> {
        self.standard(py).pacing_rate()
    }
}
