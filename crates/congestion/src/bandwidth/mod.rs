//! What the path carries, as the ACKs show it: estimators for controllers that set their window
//! from a rate.
//!
//! [`Accounting`] says how much has arrived with each ACK; an estimator makes a rate in bytes per
//! second of that. Which one is what the members of the Westwood family differ in.

mod abse;
mod accounting;
mod low_pass;
mod per_round;
#[cfg_attr(not(test), expect(dead_code, reason = "TCP-Jersey and TCP-STAR stand on it"))]
mod sliding;
mod tustin;

pub(crate) use abse::{Abse, Adaptation};
pub(crate) use accounting::Accounting;
pub(crate) use per_round::PerRound;
pub(crate) use tustin::Tustin;

use units::Span;

use crate::window::Window;

/// The window that keeps a path of this rate busy and its queues empty: rate times the smallest
/// round-trip time, in bytes, at least two segments.
pub(crate) fn window_for(rate: f64, min_rtt: Span, window: &Window) -> u64 {
    ((rate * min_rtt.as_secs_f64()) as u64).max(2 * window.mss)
}

/// Events for tests.
#[cfg(test)]
pub(crate) mod samples {
    use units::Time;

    use crate::events::Feedback;

    pub(crate) fn at(milliseconds: u64) -> Time {
        Time::from_nanos(milliseconds * 1_000_000)
    }

    /// An ACK for new data.
    pub(crate) fn acknowledged(milliseconds: u64, acked: u64) -> Feedback {
        Feedback {
            now: at(milliseconds),
            acked,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: None,
            srtt: None,
            min_rtt: None,
            acknowledged: 0,
            sent: 0,
            pipe: 0,
            advertised: u64::MAX,
            peer_clock: None,
            head_sent: None,
            rate: None,
            marked: false,
            needless: 0,
        }
    }

    pub(crate) fn duplicate(milliseconds: u64) -> Feedback {
        Feedback { duplicate: true, ..acknowledged(milliseconds, 0) }
    }
}
