//! Rules of BBR in which algorithms that build on it differ. The defaults are those of BBR.

use std::fmt::Debug;

use units::Span;

use super::{CYCLE, LEAST_SEGMENTS};
use crate::events::PathChange;
use crate::parts::delivery_model::MaxFilter;

/// Rules that differ.
pub trait Rules: Clone + Debug + Send + Sync {
    /// The filter of the bandwidth.
    type Bandwidth: MaxFilter;
    /// The filter of the excess of ACKs.
    type Excess: MaxFilter;

    /// The order of steps of the kernel's modules: the window that is kept is that before the ACK
    /// that shows a loss, and no smaller than one kept before; the next burst counts as in the
    /// network while the path is probed for more; a phase is judged by the gain of the ACK before;
    /// and a rate of zero is none.
    const AS_MODULE: bool = false;
    /// Hints that the path changes have an effect.
    const ACTS_ON_HINTS: bool = false;

    /// A hint that the path changes.
    fn on_path_change(&mut self, _change: &PathChange) {}

    /// A round begins, before the sample of its first ACK is taken in.
    fn on_round(&mut self, _is_probing_bandwidth: bool) {}

    /// An ACK with a sample of the delivery rate in bytes per second, before it is taken in;
    /// `is_measuring` in `ProbeRTT`.
    fn on_rate(&mut self, _rate: f64, _round_trip: Option<Span>, _is_measuring: bool) {}

    /// Startup is over.
    fn on_full_pipe(&mut self) {}

    /// The model has taken in an ACK, and rate and window follow.
    fn after_model(
        &mut self,
        _round_trip: Option<Span>,
        _min_rtt: Option<Span>,
        _is_probing_bandwidth: bool,
    ) {
    }

    /// The bandwidth that sets the rate and the window, given the maximum, in bytes per second.
    fn bandwidth(&self, max: f64) -> f64 {
        max
    }

    /// Pacing gain of the phase of `ProbeBW` that looks for more.
    fn probe_gain(&self) -> f64 {
        CYCLE[0]
    }

    /// The window of `ProbeRTT` in bytes, given the BDP.
    fn probe_rtt_cwnd(&self, _bdp: f64, mss: u64) -> u64 {
        LEAST_SEGMENTS * mss
    }

    /// Returns true if the RTT is to be measured. `expired`: the smallest is too old.
    fn is_probe_rtt_due(&self, expired: bool, _is_probing_bandwidth: bool) -> bool {
        expired
    }

    /// The smallest RTT at the end of `ProbeRTT`, given the sample of its last ACK; `None` keeps
    /// the smallest so far.
    fn measured_rtt(&self, _round_trip: Option<Span>) -> Option<Span> {
        None
    }

    /// The bandwidth to begin with after `ProbeRTT` on a path that has changed, in bytes per
    /// second; `None` for the same path.
    fn bandwidth_of_new_path(&self) -> Option<f64> {
        None
    }
}
