//! The window that the path carries: what the controllers of the Westwood family set ssthresh to.
//!
//! Source: the papers of the family, see `westwood.rs`: ssthresh = BWE * RTTmin, at least two
//! segments, where BWE is the rate that an [`Estimator`] makes of the ACKs. Before there is one,
//! half the flight size as in standard TCP.

use units::{Span, Time};

use super::Estimator;
use super::accounting::Accounting;
use crate::events::{Feedback, Loss};
use crate::window::{Window, whole};

/// An estimator with what it is fed by and what is made of it.
#[derive(Clone, Debug)]
pub struct Share<E> {
    estimator: E,
    accounting: Accounting,
    min_rtt: Option<Span>,
}

impl<E: Estimator> Share<E> {
    /// Before the first ACK.
    pub fn new(estimator: E) -> Self {
        Self { estimator, accounting: Accounting::default(), min_rtt: None }
    }

    /// Any ACK, duplicates and those in recovery included.
    pub fn on_feedback(&mut self, feedback: &Feedback, window: &Window) {
        self.min_rtt = feedback.min_rtt;
        let delivered = self.accounting.delivered(feedback, window.mss);
        self.estimator.on_ack(feedback, delivered, window);
    }

    /// BWE * RTTmin in bytes.
    pub fn window_at(&self, now: Time) -> Option<f64> {
        Some(self.estimator.rate_at(now)? * self.min_rtt?.as_secs_f64())
    }

    /// ssthresh after a loss.
    pub fn threshold_after(&self, loss: &Loss, window: &Window) -> u64 {
        self.window_at(loss.now)
            .map_or_else(|| window.half(loss.flight), |share| whole(share).max(2 * window.mss))
    }
}
