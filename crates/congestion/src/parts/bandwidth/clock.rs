//! Clocks for the time of deliveries.

use units::{Span, Time};

use crate::events::Feedback;

/// Tells when what an ACK acknowledges was delivered.
pub trait Clock: Default {
    /// The time of this ACK; never before that of an earlier one.
    fn read(&mut self, feedback: &Feedback) -> Time;
}

/// ACKs count when they arrive at the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtSender;

impl Clock for AtSender {
    fn read(&mut self, feedback: &Feedback) -> Time {
        feedback.now
    }
}

/// ACKs count when the receiver sent them, which it says in their timestamps (RFC 7323 section 3),
/// to the millisecond. Without timestamps they count when they arrive.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtReceiver {
    last: Option<u32>,
    /// Time on its clock since its first ACK.
    passed: Time,
}

impl Clock for AtReceiver {
    fn read(&mut self, feedback: &Feedback) -> Time {
        let Some(stamp) = feedback.peer_clock else { return feedback.now };
        let ahead = stamp.wrapping_sub(self.last.unwrap_or(stamp)) as i32;
        // An ACK that was overtaken tells of nothing later than the one before.
        if let Ok(milliseconds) = u64::try_from(ahead) {
            self.last = Some(stamp);
            self.passed += Span::from_millis(milliseconds);
        }
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::{acknowledged, at};

    fn stamped(stamp: u32) -> Feedback {
        Feedback { peer_clock: Some(stamp), ..acknowledged(7, 1000) }
    }

    #[test]
    fn the_receivers_clock_runs_from_its_first_ack_and_may_wrap() {
        let mut clock = AtReceiver::default();
        assert_eq!(clock.read(&stamped(u32::MAX - 9)), at(0));
        assert_eq!(clock.read(&stamped(10)), at(20));
    }

    #[test]
    fn an_ack_that_was_overtaken_moves_no_clock() {
        let mut clock = AtReceiver::default();
        clock.read(&stamped(100));
        assert_eq!(clock.read(&stamped(150)), at(50));
        assert_eq!(clock.read(&stamped(120)), at(50));
        assert_eq!(clock.read(&stamped(151)), at(51));
    }

    #[test]
    fn without_timestamps_acks_count_when_they_arrive() {
        let mut clock = AtReceiver::default();
        assert_eq!(clock.read(&acknowledged(7, 1000)), at(7));
    }
}
