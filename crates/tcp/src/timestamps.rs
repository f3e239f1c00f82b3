//! The clock of the timestamps option (RFC 7323).
//!
//! Decisions:
//! - Timestamps are on by default: one timed segment a round trip lets the RTO lag behind a queue
//!   that fills within one; with many samples the gains are divided (RFC 7323 appendix G).

use units::{Span, Time};

/// TSval counts milliseconds (section 5.4 allows 1 ms to 1 s).
const TIMESTAMP_CLOCK: Span = Span::from_millis(1);

/// TSval at `now`.
#[expect(clippy::cast_possible_truncation, reason = "the clock wraps")]
pub(crate) fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / TIMESTAMP_CLOCK.as_nanos()) as u32
}

/// The time since `echo` was the time.
pub(crate) fn round_trip(now: Time, echo: u32) -> Span {
    TIMESTAMP_CLOCK * u64::from(timestamp(now).wrapping_sub(echo))
}

/// The timestamp whose echo at `now` gives this round trip.
#[expect(clippy::cast_possible_truncation, reason = "the clock wraps")]
pub(crate) fn echoed(now: Time, round_trip: Span) -> u32 {
    timestamp(now).wrapping_sub((round_trip.as_nanos() / TIMESTAMP_CLOCK.as_nanos()) as u32)
}
