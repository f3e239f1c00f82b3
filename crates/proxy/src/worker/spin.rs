//! Looks for events without sleep, for a time after the last ones (`busy_poll`).
//!
//! Most of the latency of a proxy without load is that of wake-ups: a thread that sleeps, on a core
//! that may sleep too, needs longer to begin than to relay a message.

use std::time::Duration;

use units::Span;

/// When the last events came.
#[derive(Debug, Default)]
pub(super) struct Spin {
    last: Duration,
}

impl Spin {
    /// Events have come, or not.
    pub(super) fn note(&mut self, now: Duration, has_events: bool) {
        if has_events {
            self.last = now;
        }
    }

    /// Returns true if the next look is to be without sleep.
    pub(super) fn goes_on(&self, now: Duration, time: Span) -> bool {
        now.saturating_sub(self.last) < Duration::from_nanos(time.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_for_the_time_after_the_last_events() {
        let (time, at) = (Span::from_nanos(50_000), Duration::from_micros);
        let mut spin = Spin::default();
        spin.note(at(1000), true);
        assert!(spin.goes_on(at(1049), time) && !spin.goes_on(at(1050), time));
        spin.note(at(1040), false);
        assert!(!spin.goes_on(at(1050), time));
        spin.note(at(1045), true);
        assert!(spin.goes_on(at(1050), time));
        assert!(!spin.goes_on(at(1045), Span::ZERO));
    }
}
