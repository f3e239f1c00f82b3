//! The class that controllers in Python inherit from. Its methods are the defaults of the trait.

use congestion::{Controller as _, TcpPolicy as _, standard};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::bridge::{Bridge, Standard};
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, Sent};
use crate::window::{Settings, Window};

/// Congestion controller in Python. Methods that a subclass does not define are standard TCP.
///
/// There is one for each end of each connection. Events change `window` and return nothing;
/// questions return an answer and leave `window` alone. Times are seconds, amounts bytes. A method
/// that a class does not have of its own costs nothing. docs/python-controllers.md is the guide.
#[pyclass(frozen, subclass, module = "bentpipe.controller")]
#[derive(Debug)]
pub struct Controller {
    /// The window and its threshold. Recovery changes cwnd as well (RFC 6582 section 3.2).
    #[pyo3(get)]
    window: Py<Window>,
}

impl Controller {
    pub(crate) fn window(&self, py: Python<'_>) -> congestion::Window {
        self.window.borrow(py).0
    }

    pub(crate) fn set_window(&self, py: Python<'_>, window: congestion::Window) {
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

    /// Start with the window of `settings`; a class may have further arguments.
    fn __init__(&self, settings: &Bound<'_, Settings>) {}

    /// Events that it needs in addition to `on_ack`; called once. By default none.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// An ACK of any kind arrived. Called before the events that follow from it.
    ///
    /// For those that need feedback.
    fn on_feedback(&self, feedback: &Feedback) {}

    /// A segment was sent; for those that need feedback.
    fn on_sent(&self, sent: &Sent) {}

    /// A segment was detected as lost; for those that need records.
    fn on_segment_lost(&self, lost: &LostSegment) {}

    /// The path is about to change, or has changed; for those that need path changes.
    fn on_path_change(&self, change: &PathChange) {}

    /// A round-trip time was measured on a segment that was sent once (Karn's algorithm).
    fn on_rtt(&self, now_s: f64, sample_s: f64) {}

    /// New data was acknowledged outside of recovery; by default `grow`.
    fn on_ack(slf: &Bound<'_, Self>, ack: &Ack) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_ack(controller, &ack.0))
    }

    /// Growth by the rule of the phase, if cwnd limited the sender.
    fn grow(slf: &Bound<'_, Self>, ack: &Ack) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::grow(controller, &ack.0))
    }

    /// Growth below ssthresh (RFC 5681 equation 2).
    fn slow_start(slf: &Bound<'_, Self>, ack: &Ack) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::slow_start(controller, &ack.0))
    }

    /// Growth at and above ssthresh (RFC 5681 equation 3).
    fn avoid_congestion(slf: &Bound<'_, Self>, ack: &Ack) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::avoid_congestion(controller, &ack.0))
    }

    /// 1 to 2**48 bytes: ssthresh after a loss, half the flight size (RFC 5681 equation 4).
    fn threshold_after_loss(slf: &Bound<'_, Self>, loss: &Loss) -> PyResult<u64> {
        Bridge::apply(slf, |controller| standard::threshold_after_loss(controller, &loss.0))
    }

    /// Recovery begins after a loss: cwnd = ssthresh = `threshold_after_loss`.
    fn on_loss(slf: &Bound<'_, Self>, loss: &Loss) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_loss(controller, &loss.0))
    }

    /// An ECN mark, at most once per round trip: the reaction is that to a loss (RFC 3168).
    fn on_congestion_mark(slf: &Bound<'_, Self>, loss: &Loss) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_congestion_mark(controller, &loss.0))
    }

    /// A loss in the window that a mark has reduced: the window stays (RFC 3168).
    ///
    /// Override it if `on_congestion_mark` does not reduce.
    fn on_loss_after_mark(&self, loss: &Loss) {}

    /// A partial ACK: deflate cwnd and add a segment (RFC 6582 section 3.2 step 5).
    fn on_partial_ack(slf: &Bound<'_, Self>, partial: &PartialAck) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_partial_ack(controller, &partial.0))
    }

    /// Recovery is over: cwnd = ssthresh (RFC 6582 section 3.2 step 3).
    fn on_recovery_exit(slf: &Bound<'_, Self>, now_s: f64) -> PyResult<()> {
        Bridge::apply(slf, standard::on_recovery_exit)
    }

    /// The retransmission timer expired: one segment (RFC 5681 section 3.1).
    fn on_timeout(slf: &Bound<'_, Self>, loss: &Loss) -> PyResult<()> {
        Bridge::apply(slf, |controller| standard::on_timeout(controller, &loss.0))
    }

    /// Data is sent while nothing is outstanding, as after a pause.
    ///
    /// A window that is a function of time leaves out the time since the last ACK (RFC 9438
    /// section 5.8).
    fn on_start(&self, now_s: f64) {}

    /// Nothing was sent for an RTO: at most the initial window (RFC 5681 section 4.1).
    fn on_idle(slf: &Bound<'_, Self>) -> PyResult<()> {
        Bridge::apply(slf, standard::on_idle)
    }

    /// Seconds added to each retransmission timeout, up to a day; by default none.
    fn extra_rto(&self, py: Python<'_>) -> f64 {
        self.standard(py).extra_rto().as_secs_f64()
    }

    /// Maximum number of retransmissions for one ACK or timeout; by default no limit.
    fn retransmission_quota(&self, py: Python<'_>) -> u32 {
        self.standard(py).retransmission_quota()
    }

    /// Number of duplicate ACKs that indicate a loss, by default that of the scenario.
    fn duplicate_threshold(&self, py: Python<'_>, configured: u32) -> u32 {
        self.standard(py).duplicate_threshold(configured)
    }

    /// True if this ACK shows a loss before the duplicate threshold; after `on_feedback`.
    ///
    /// May change the window. By default False.
    fn finds_loss(&self, py: Python<'_>, feedback: &Feedback) -> bool {
        self.standard(py).finds_loss(&feedback.0)
    }

    /// True to retransmit all outstanding data after a loss; called after `on_loss`.
    fn repeats_everything(&self, py: Python<'_>) -> bool {
        self.standard(py).repeats_everything()
    }

    /// True if each timeout doubles the next (RFC 6298 rule 5.5); the default.
    fn backs_off(&self, py: Python<'_>) -> bool {
        self.standard(py).backs_off()
    }

    /// Pacing rate in bytes per second, or None; for those that need pacing.
    fn pacing_rate(&self, py: Python<'_>) -> Option<f64> {
        self.standard(py).pacing_rate()
    }
}
