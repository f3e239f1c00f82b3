//! Rate control: at most BURST bytes leave in an interval of RTIMER = BURST / RATE.
//!
//! A burst leaves at once, and what it leaves unused is lost. The two numbers are the smaller ones
//! of those that this end has and the other end announces. Data packets count with their headers
//! and that of IP, and others do not count, which is our choice.

use units::{Span, Time};

use crate::packet::Traffic;

/// Rate and burst in bytes, and what is left of a burst.
#[derive(Debug)]
pub(crate) struct Limit {
    rate: u64,
    burst: u64,
    left: u64,
    /// When the interval ends, in which `left` may leave.
    rtimer: Time,
    /// A packet waits for that time; [`Time::NEVER`] while none does.
    waiting: Time,
}

/// Gate of the data packets of one sender; without a limit everything passes.
#[derive(Debug, Default)]
pub(crate) struct Gate(Option<Limit>);

impl Gate {
    /// For a sender of `rate` in bytes per second.
    pub(crate) fn new(rate: Option<u64>, burst: u64) -> Self {
        Self(rate.map(|rate| Limit {
            rate: rate.max(1),
            burst,
            left: 0,
            rtimer: Time::ZERO,
            waiting: Time::NEVER,
        }))
    }

    /// The other end takes no more than `traffic` has, but never less than a packet of `packet`
    /// bytes in a burst.
    pub(crate) fn restrict(&mut self, traffic: &Traffic, packet: u64) {
        let (rate, burst) = (u64::from(traffic.in_rate), u64::from(traffic.in_burst));
        if rate == 0 {
            return;
        }
        let burst = burst.max(packet);
        match &mut self.0 {
            Some(limit) => {
                limit.rate = limit.rate.min(rate);
                limit.burst = limit.burst.min(burst);
                limit.left = limit.left.min(limit.burst);
            }
            None => *self = Self::new(Some(rate), burst),
        }
    }

    /// Returns true if a packet of `bytes` must wait now.
    #[inline]
    pub(crate) fn holds(&mut self, now: Time, bytes: u64) -> bool {
        let Some(limit) = &mut self.0 else { return false };
        let holds = now < limit.rtimer && bytes > limit.left;
        if holds {
            limit.waiting = limit.rtimer;
        }
        holds
    }

    /// A packet of `bytes` leaves.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64) {
        let Some(limit) = &mut self.0 else { return };
        if now >= limit.rtimer {
            limit.rtimer = now + interval(limit.burst, limit.rate);
            limit.left = limit.burst;
        }
        limit.left = limit.left.saturating_sub(bytes);
    }

    /// When the packet that waits may leave.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.0.as_ref().map_or(Time::NEVER, |limit| limit.waiting)
    }

    /// The packet that waits may leave, or need not any more.
    pub(crate) fn release(&mut self) {
        if let Some(limit) = &mut self.0 {
            limit.waiting = Time::NEVER;
        }
    }
}

/// RTIMER, rounded up to a nanosecond.
fn interval(burst: u64, rate: u64) -> Span {
    let nanos = (u128::from(burst) * 1_000_000_000).div_ceil(u128::from(rate));
    Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_next_one_after_rtimer() {
        let mut gate = Gate::new(Some(10_000), 3_000);
        for _ in 0..3 {
            assert!(!gate.holds(at(5), 1000));
            gate.on_sent(at(5), 1000);
        }
        assert!(gate.holds(at(304), 1));
        assert_eq!(gate.deadline(), at(305));
        gate.release();
        assert!(!gate.holds(at(305), 1000));
    }

    #[test]
    fn what_a_burst_leaves_unused_is_lost() {
        let mut gate = Gate::new(Some(10_000), 2_500);
        gate.on_sent(at(0), 1000);
        gate.on_sent(at(0), 1000);
        assert!(gate.holds(at(0), 1000), "500 are left");
        assert!(!gate.holds(at(0), 500));
        gate.on_sent(at(250), 1000);
        gate.on_sent(at(250), 1000);
        assert!(gate.holds(at(300), 1000));
    }

    #[test]
    fn the_smaller_rate_of_both_ends_counts() {
        let mut gate = Gate::new(Some(10_000), 4_000);
        gate.restrict(&Traffic { in_rate: 5_000, in_burst: 100, ..Traffic::default() }, 1_000);
        gate.on_sent(at(0), 1000);
        assert!(gate.holds(at(199), 1000) && !gate.holds(at(200), 1000));
        gate.restrict(&Traffic { in_rate: 50_000, in_burst: 9_000, ..Traffic::default() }, 1_000);
        gate.on_sent(at(200), 1000);
        assert!(gate.holds(at(399), 1000));
        let mut gate = Gate::default();
        gate.restrict(&Traffic::default(), 1_000);
        gate.on_sent(at(0), 1000);
        assert!(!gate.holds(at(0), 1000), "zero is no limit");
        gate.restrict(&Traffic { in_rate: 1_000, in_burst: 1_000, ..Traffic::default() }, 1_000);
        gate.on_sent(at(0), 1000);
        assert!(gate.holds(at(999), 1000));
    }
}
