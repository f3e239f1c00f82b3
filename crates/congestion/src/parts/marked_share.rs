//! The share of data that arrives with a mark, as DCTCP and Prague estimate it.
//!
//! Source: RFC 8257 section 3.3. Once in a window of data, with M the share of its bytes that were
//! marked, alpha = (1 - g) alpha + g M. A reduction takes alpha / 2 of the window.

use crate::events::Feedback;
use crate::window::{Window, whole};

/// g, the gain of the estimate: `1/16` (section 4.2).
pub(crate) const GAIN: f64 = 1.0 / 16.0;

/// The estimate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkedShare {
    alpha: f64,
    gain: f64,
    acked: u64,
    marked: u64,
    /// The window of data ends when this is acknowledged.
    end: u64,
}

impl MarkedShare {
    pub(crate) fn new(alpha: f64, gain: f64) -> Self {
        Self { alpha, gain, acked: 0, marked: 0, end: 0 }
    }

    #[cfg(test)]
    pub(crate) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts the data that an ACK covers.
    pub(crate) fn count(&mut self, feedback: &Feedback) {
        self.acked += feedback.acked;
        self.marked += feedback.marked_bytes;
    }

    /// Returns true if a window of data is acknowledged since the last update.
    pub(crate) fn is_due(&self, feedback: &Feedback) -> bool {
        feedback.acknowledged > self.end
    }

    /// Ends the window of data without an update.
    pub(crate) fn skip(&mut self, feedback: &Feedback) {
        (self.acked, self.marked) = (0, 0);
        self.end = feedback.sent;
    }

    /// Ends the window of data.
    pub(crate) fn update(&mut self, feedback: &Feedback) {
        if self.acked > 0 {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += self.gain * (share - self.alpha);
        }
        self.skip(feedback);
    }

    /// cwnd in bytes after a reduction, at least two segments, and never more than before.
    pub(crate) fn reduced(&self, window: &Window) -> u64 {
        let kept = (1.0 - self.alpha / 2.0) * window.cwnd as f64;
        whole(kept).max(2 * window.mss).min(window.cwnd)
    }
}
