//! Timers of endpoints and applications: their entries in the schedule.

use network::FlowId;
use runtime::EndpointId;
use units::Time;

use super::Hosts;
use crate::transports::Connection;

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A TCP timer of an endpoint.
    Endpoint(EndpointId),
    /// A timer of a flow's application.
    Application(FlowId),
    /// The slow reader behind an endpoint has read a piece, or the server behind a gateway's end is
    /// given up if it has not answered.
    Reader(EndpointId),
    /// A rate that ends share has tokens for the first of those who wait.
    Rate(u32),
    /// A signal of a gateway arrives, by its place in the list of signals.
    Signal(u32),
    /// The far end of a port finds an error, by its place among those watched.
    Error(u32),
}

const APPLICATION: u64 = 1 << 63;
pub(super) const READER: u64 = 1 << 62;
pub(super) const RATE: u64 = 1 << 61;
const SIGNAL: u64 = 1 << 60;
const ERROR: u64 = 1 << 59;

/// Entries of an endpoint in the schedule. None is after the deadline of its connection.
///
/// Timers are never cancelled, so an entry stays where a nearer one goes before it: the
/// retransmission timeout behind the departures of a sender that is paced. It is remembered, and
/// counts again once the nearer one has happened. Otherwise each departure would leave another one
/// behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm {
    /// Time of the first entry; never, if there is none.
    first: Time,
    /// Time of an entry behind it, if one is known.
    second: Time,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { first: Time::NEVER, second: Time::NEVER }
    }
}

impl Alarm {
    /// An entry is added before all others.
    #[inline]
    fn set(&mut self, at: Time) {
        *self = Self { first: at, second: self.first };
    }

    /// The first entry is removed.
    fn take(&mut self) {
        *self = Self { first: self.second, second: Time::NEVER };
    }

    /// The first entry comes too early for `deadline`. Returns true if it moves there, and false if
    /// it is removed: nothing is awaited, or the entry behind it is early enough.
    fn postpone(&mut self, deadline: Time) -> bool {
        let moves = deadline < self.second;
        if moves {
            self.first = deadline;
        } else {
            self.take();
        }
        moves
    }
}

impl<C: Connection> Hosts<C> {
    /// Sets a timer of a flow's application.
    pub(crate) fn wake_application(&mut self, at: Time, flow: FlowId) {
        self.timers.push(at, APPLICATION | u64::from(flow.0));
    }

    /// Lets a signal of a gateway arrive.
    pub(crate) fn expect_signal(&mut self, at: Time, number: u32) {
        self.timers.push(at, SIGNAL | u64::from(number));
    }

    /// Lets the far end of a port find an error, by its number among those watched.
    pub(crate) fn expect_error(&mut self, at: Time, number: u32) {
        self.timers.push(at, ERROR | u64::from(number));
    }

    /// When the next timer expires.
    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        self.timers.next_time()
    }

    /// Takes the next timer. `None` when it turns out to have been moved.
    #[expect(clippy::cast_possible_truncation, reason = "a tag without its flag has 32 bits")]
    pub(crate) fn take_timer(&mut self) -> Option<(Time, Timer)> {
        let (at, tag) = self.timers.peek()?;
        if tag & APPLICATION != 0 {
            self.timers.pop();
            return Some((at, Timer::Application(FlowId((tag & !APPLICATION) as u32))));
        }
        if tag & READER != 0 {
            self.timers.pop();
            return Some((at, Timer::Reader(EndpointId((tag & !READER) as u32))));
        }
        if C::MAY_BE_OTHERS && tag & RATE != 0 {
            self.timers.pop();
            return Some((at, Timer::Rate((tag & !RATE) as u32)));
        }
        if C::MAY_BE_OTHERS && tag & SIGNAL != 0 {
            self.timers.pop();
            return Some((at, Timer::Signal((tag & !SIGNAL) as u32)));
        }
        if C::MAY_BE_OTHERS && tag & ERROR != 0 {
            self.timers.pop();
            return Some((at, Timer::Error((tag & !ERROR) as u32)));
        }
        let endpoint = &mut self.endpoints[tag as usize];
        if endpoint.alarm.first != at {
            self.timers.pop();
            return None;
        }
        let deadline = endpoint.connection.deadline();
        if deadline > at {
            // Timers are never cancelled: an entry that comes too early moves to where the
            // deadline is now, which costs one step for each RTO and not one for each ACK.
            if endpoint.alarm.postpone(deadline) {
                self.timers.postpone_top(deadline);
            } else {
                self.timers.pop();
            }
            if C::MAY_BE_OTHERS {
                self.delete_if_over(at, EndpointId(tag as u32));
            }
            return None;
        }
        endpoint.alarm.take();
        self.timers.pop();
        Some((at, Timer::Endpoint(EndpointId(tag as u32))))
    }

    /// Arms the timer of `endpoint`. What makes its deadline count may happen after the deadline
    /// itself: XTP asks for a report at an interval after the last request, but only once there is
    /// data to ask about.
    #[inline(always)]
    pub(super) fn arm(&mut self, now: Time, number: EndpointId) {
        let endpoint = &mut self.endpoints[number.index()];
        let mut deadline = endpoint.connection.deadline();
        if C::MAY_BE_OTHERS {
            deadline = deadline.max(now);
        }
        if deadline < endpoint.alarm.first {
            endpoint.alarm.set(deadline);
            self.timers.push(deadline, u64::from(number.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_entry_behind_a_departure_counts_again_after_it() {
        let mut alarm = Alarm::default();
        alarm.set(at(900));
        alarm.set(at(10));
        alarm.take();
        assert_eq!(alarm.first, at(900), "so that no other one is entered for a later deadline");
    }

    #[test]
    fn an_entry_that_comes_too_early_moves_only_if_none_is_behind_it_in_time() {
        let mut alarm = Alarm::default();
        alarm.set(at(900));
        alarm.set(at(10));
        assert!(alarm.postpone(at(20)));
        assert_eq!((alarm.first, alarm.second), (at(20), at(900)));
        assert!(!alarm.postpone(at(1000)), "the one at 900 ms is early enough");
        assert_eq!((alarm.first, alarm.second), (at(900), Time::NEVER));
        assert!(!alarm.postpone(Time::NEVER), "nothing is awaited");
        assert_eq!(alarm.first, Time::NEVER);
    }
}
