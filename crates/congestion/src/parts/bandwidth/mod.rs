//! Bandwidth estimators from ACKs, for controllers that set their window from a rate.
//!
//! [`accounting`] computes the bytes delivered by each ACK. An [`Estimator`] computes a rate in
//! bytes per second, and [`Share`] a window from the rate. The members of the Westwood family
//! differ in the estimator.

mod abse;
mod accounting;
mod clock;
mod low_pass;
mod per_round;
mod share;
mod sliding;
mod tustin;

pub use abse::{Abse, Adaptation};
pub use clock::{AtReceiver, AtSender, Clock};
pub use per_round::PerRound;
pub use share::Share;
pub use sliding::SlidingRate;
pub use tustin::Tustin;

use units::Time;

use crate::events::Feedback;
use crate::window::Window;

/// Interface of the estimators of the Westwood family.
pub trait Estimator {
    /// An ACK that tells of `delivered` more bytes.
    fn on_ack(&mut self, feedback: &Feedback, delivered: u64, window: &Window);

    /// Bytes per second; none before there is an estimate.
    fn rate_at(&self, now: Time) -> Option<f64>;
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
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: None,
        }
    }

    pub(crate) fn duplicate(milliseconds: u64) -> Feedback {
        Feedback { duplicate: true, ..acknowledged(milliseconds, 0) }
    }
}
