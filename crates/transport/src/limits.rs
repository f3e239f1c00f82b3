//! Time of a sender by the limit that holds it back.
//!
//! The time of a connection is divided from its first SYN to its last acknowledged byte. Until it
//! is open the set-up takes it. Between the end of the set-up and the first byte that the
//! application writes, nothing is counted. From that byte on, at each instant the first of these
//! applies:
//!
//! 1. recovery: a loss is being repaired, by fast recovery or after a timeout
//! 2. send buffer: all that the send buffer holds is sent, and the application waits for room in it
//! 3. application: all that the application has written is sent, or what remains is less than a
//!    segment and waits for more (Nagle's algorithm). The last round trip of a transfer belongs to
//!    it, and so does a pause in which nothing is outstanding and after which the application
//!    writes again
//! 4. congestion window, receive window: there is something to send, and the smaller of both
//!    windows does not let it go. The congestion window if they are equal
//! 5. pacing: both windows would let it go, and its departure time has not come. A window or a send
//!    buffer that was used up remains the limit until all that was outstanding then is
//!    acknowledged: a pacer spreads what it lets go
//! 6. congestion window: all else, as while a probe of the path MTU is being collected
//!
//! Linux measures two of these (`tcp_chrono_start`): the receive window, while it and not the
//! congestion window stops transmission, and the send buffer, while no segment waits and the
//! application sleeps. It has no rule for losses, and time in which a pacer spreads a window is in
//! neither.

use std::ops::AddAssign;

use units::{Span, Time};

/// Limit that holds a sender back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Limit {
    /// The congestion window.
    CongestionWindow,
    /// The window of the receiver.
    ReceiveWindow,
    /// The application.
    Application,
    /// The send buffer.
    SendBuffer,
    /// The departure time of the next segment.
    Pacing,
    /// Repair of a loss.
    Recovery,
    /// The set-up of the connection.
    SetUp,
    /// The application, with nothing outstanding. It counts if the application writes again.
    Idle,
    /// None: nothing is written yet, or the connection is over.
    Uncounted,
}

impl Limit {
    /// All limits with a share, in the order of [`Limits::times`].
    pub const ALL: [Self; 7] = [
        Self::SetUp,
        Self::CongestionWindow,
        Self::ReceiveWindow,
        Self::SendBuffer,
        Self::Application,
        Self::Recovery,
        Self::Pacing,
    ];
}

/// The limit that holds a sender back now, and the time that each has taken.
#[derive(Clone, Debug)]
pub struct LimitClock {
    limit: Limit,
    since: Time,
    times: [Span; Limit::Uncounted as usize + 1],
}

impl Default for LimitClock {
    fn default() -> Self {
        Self { limit: Limit::Uncounted, since: Time::ZERO, times: Default::default() }
    }
}

impl LimitClock {
    /// The limit that holds the sender back.
    #[inline(always)]
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// From `now` on it is this one.
    pub fn change(&mut self, now: Time, limit: Limit) {
        if limit == self.limit {
            return;
        }
        let is_last_pause = self.limit == Limit::Idle && limit == Limit::Uncounted;
        let past = if is_last_pause { Limit::Uncounted } else { self.limit };
        let time = &mut self.times[past as usize];
        *time = *time + now.since(self.since);
        (self.limit, self.since) = (limit, now);
    }

    /// The times until `now`.
    pub fn times(&self, now: Time) -> Limits {
        let mut all = self.clone();
        all.change(now, Limit::Uncounted);
        let idle = all.times[Limit::Idle as usize];
        let time = |limit| match limit {
            Limit::Application => all.times[Limit::Application as usize] + idle,
            other => all.times[other as usize],
        };
        Limits { times: Limit::ALL.map(|limit| Some(time(limit))), total: None }
    }
}

/// Time of connections by what held their senders back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time of each limit of [`Limit::ALL`]; `None` if the sender does not report it.
    pub times: [Option<Span>; Limit::ALL.len()],
    /// The time of which they are parts, where that is not their sum.
    pub total: Option<Span>,
}

impl Limits {
    /// The times of all these connections; `None` if one of them is not known, or without any.
    pub fn sum(all: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        all.into_iter().reduce(|sum, limits| {
            let (mut sum, limits) = sum.zip(limits)?;
            sum += limits;
            Some(sum)
        })?
    }

    /// Time that the shares divide.
    pub fn total(&self) -> Span {
        let sum = || self.times.iter().flatten().fold(Span::ZERO, |sum, time| sum + *time);
        self.total.unwrap_or_else(sum)
    }

    /// Time that a limit has taken; `None` if it is not reported.
    pub fn time(&self, limit: Limit) -> Option<Span> {
        let place = Limit::ALL.iter().position(|one| *one == limit)?;
        self.times[place]
    }

    /// Part of the time that a limit has taken, from 0 to 1; `None` if it is not reported, or
    /// without any time.
    pub fn share(&self, limit: Limit) -> Option<f64> {
        let total = self.total();
        let time = self.time(limit).filter(|_| total > Span::ZERO)?;
        Some(time.as_nanos() as f64 / total.as_nanos() as f64)
    }
}

/// The times of two connections. What one of them does not report is not known of both.
impl AddAssign for Limits {
    fn add_assign(&mut self, other: Self) {
        let total = self.total() + other.total();
        self.total = self.total.or(other.total).map(|_| total);
        for (time, more) in self.times.iter_mut().zip(other.times) {
            *time = time.zip(more).map(|(time, more)| time + more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn each_limit_has_the_time_until_the_next() {
        let mut clock = LimitClock::default();
        for (millis, limit) in [
            (5, Limit::SetUp),
            (10, Limit::Uncounted),
            (100, Limit::CongestionWindow),
            (110, Limit::ReceiveWindow),
            (130, Limit::Application),
            (131, Limit::Idle),
            (136, Limit::Recovery),
        ] {
            clock.change(at(millis), limit);
        }
        let times = clock.times(at(140));
        assert_eq!(times.total(), Span::from_millis(5 + 10 + 20 + 1 + 5 + 4));
        let millis = times.times.map(|time| time.unwrap().as_nanos() / 1_000_000);
        assert_eq!(millis, [5, 10, 20, 0, 6, 4, 0]);
        assert_eq!(times.share(Limit::ReceiveWindow), Some(20.0 / 45.0));
    }

    #[test]
    fn a_pause_counts_only_if_the_application_writes_again() {
        let mut clock = LimitClock::default();
        clock.change(at(0), Limit::Application);
        clock.change(at(10), Limit::Idle);
        assert_eq!(clock.times(at(50)).total(), Span::from_millis(10));
        let mut over = clock.clone();
        over.change(at(50), Limit::Uncounted);
        assert_eq!(over.times(at(60)).total(), Span::from_millis(10));
        clock.change(at(50), Limit::CongestionWindow);
        assert_eq!(clock.times(at(50)).total(), Span::from_millis(50));
    }

    #[test]
    fn the_sum_of_two_connections_lacks_what_one_does_not_report() {
        let mut clock = LimitClock::default();
        clock.change(at(0), Limit::SetUp);
        let mut sum = clock.times(at(10));
        assert_eq!(sum.share(Limit::SetUp), Some(1.0));
        let mut kernel = Limits { times: [None; 7], total: Some(Span::from_millis(30)) };
        kernel.times[2] = Some(Span::from_millis(3));
        sum += kernel;
        assert_eq!(sum.total(), Span::from_millis(40));
        assert_eq!((sum.share(Limit::SetUp), sum.share(Limit::Application)), (None, None));
        assert_eq!(sum.share(Limit::ReceiveWindow), Some(3.0 / 40.0));
        assert_eq!(Limits::sum([Some(sum), None, Some(kernel)]), None);
        assert_eq!(Limits::sum([]), None);
    }
}
