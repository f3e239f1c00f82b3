//! Simulated time as the instants that quinn takes.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use units::{Span, Time};

/// Time zero of all runs. An `Instant` has no other constructor, and quinn only computes
/// differences.
#[expect(clippy::disallowed_methods, reason = "no result depends on which instant it is")]
static ZERO: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The instant of a time.
pub(crate) fn instant(time: Time) -> Instant {
    *ZERO + Duration::from_nanos(time.since(Time::ZERO).as_nanos())
}

/// The time of an instant.
pub(crate) fn time(instant: Instant) -> Time {
    Time::ZERO + span(instant.saturating_duration_since(*ZERO))
}

/// A span of the same length.
pub(crate) fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// A duration of the same length.
pub(crate) const fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}
