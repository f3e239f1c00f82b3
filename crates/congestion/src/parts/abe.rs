//! ABE, alternative backoff with ECN: a mark takes less of the window than a loss.
//!
//! Source: RFC 8511 section 3. A queue that marks is kept short, so that the window does not have
//! to fall as far as after a loss to empty it. A mark leaves the share `beta_ecn` of the flight
//! size, at least two segments, once in a round trip: 0.8 for NewReno, 0.85 for CUBIC. The response
//! to a loss stays. It holds for congestion avoidance only: slow start may have sent twice what the
//! path carries when the mark comes, so a mark in slow start has the response to a loss (abstract,
//! section 4). It is an option, experimental in the IETF, and Linux does not have it.

use crate::events::Loss;
use crate::parameters::{Allowed, Parameter, Values};
use crate::window::{Window, whole};

/// `beta_ecn` of NewReno (section 3).
pub(crate) const NEWRENO: f64 = 0.8;
/// `beta_ecn` of CUBIC (section 3).
pub(crate) const CUBIC: f64 = 0.85;

/// The parameter by which a scenario chooses.
pub(crate) const PARAMETER: Parameter = Parameter {
    name: "abe",
    default: "off",
    allowed: Allowed::OneOf(&["on", "off"]),
    meaning: "Alternative backoff with ECN (RFC 8511): outside of slow start, a mark leaves 0.8 of the flight \
              size with newreno and 0.85 with cubic; requires transport.ecn",
};

/// Returns true if the scenario has chosen it.
pub(crate) fn is_on(values: &Values) -> bool {
    values.has(PARAMETER.name) && values.word(PARAMETER.name) == "on"
}

/// Answers a mark in congestion avoidance: ssthresh and cwnd become the share `beta`.
pub(crate) fn answer_mark(loss: &Loss, window: &mut Window, beta: f64) {
    let share = whole(beta * loss.flight as f64).max(2 * window.mss);
    window.cwnd = share.min(window.cwnd);
    window.ssthresh = window.cwnd;
}
