//! The real clock, counted from the start of a run.

use std::time::Instant;

use units::{Span, Time};

/// The monotonic clock of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    /// Starts at zero.
    #[expect(clippy::disallowed_methods, reason = "this backend runs in real time")]
    pub(crate) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Time since the start.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        Time::ZERO + Span::from_nanos(self.origin.elapsed().as_nanos() as u64)
    }
}
