//! The real clock, counted from the start of the process.

use std::time::{Duration, Instant, SystemTime};

use units::{Span, Time};

/// The monotonic clock of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Starts at zero.
    #[expect(clippy::disallowed_methods, reason = "the daemon runs in real time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub(crate) fn now(self) -> Duration {
        self.0.elapsed()
    }
}

/// A time of the clock for state machines.
pub(crate) fn time(now: Duration) -> Time {
    Time::ZERO + Span::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// Seconds since 1970, for lines of the log.
#[expect(clippy::disallowed_methods, reason = "lines of a log have the time of day")]
pub(crate) fn time_of_day() -> f64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.map_or(0.0, |time| time.as_secs_f64())
}
