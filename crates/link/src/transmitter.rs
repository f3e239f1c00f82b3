//! The transmitter of a direction: it sends one packet after the other at a rate.

use units::{Rate, Span, Time};

/// A transmitter: when it is free, and how long it was busy.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    serialiser: Serialiser,
    /// When everything accepted so far will have left, and an outage that follows is over.
    free_at: Time,
    /// Time until then in which it does not send.
    idle: Span,
}

impl Transmitter {
    pub fn new(rate: Rate) -> Self {
        Self { serialiser: Serialiser::new(rate), free_at: Time::ZERO, idle: Span::ZERO }
    }

    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Time spent sending until `now`, of which outages take `silent` between `now` and the end of
    /// the last packet. The packets accepted and not yet sent are one block without gaps but those
    /// of outages, so it is the time that remains. Packets that take `to_come` were accepted ahead
    /// of time; without them it is free at `free_at`.
    pub fn busy_until(&self, now: Time, silent: Span, free_at: Time, to_come: Span) -> Span {
        let busy = self.free_at.since(Time::ZERO + self.idle).saturating_sub(to_come);
        busy.saturating_sub(free_at.since(now).saturating_sub(silent))
    }

    /// The rate of the next packet.
    pub fn set_rate(&mut self, rate: Rate) {
        self.serialiser.set_rate(rate);
    }

    /// Sends a packet of `bytes`, overhead included, as soon as it is free. Returns when the
    /// transmission starts and when it ends.
    #[inline(always)]
    pub fn send(&mut self, now: Time, bytes: u32) -> (Time, Time) {
        let (start, duration) = if now > self.free_at {
            self.idle = self.idle + now.since(self.free_at);
            (now, self.serialiser.restart(bytes))
        } else {
            (self.free_at, self.serialiser.next(bytes))
        };
        self.free_at = start + duration;
        (start, self.free_at)
    }

    /// Sends from `start` to `end`, whatever it is; it must be free then.
    pub fn occupy(&mut self, start: Time, end: Time) {
        self.idle = self.idle + start.since(self.free_at);
        self.free_at = end;
    }

    /// Does not send before `up`. What follows is as after an idle period.
    pub fn pause_until(&mut self, up: Time) {
        self.idle = self.idle + up.since(self.free_at);
        self.free_at = up;
        self.serialiser.restart(0);
    }

    /// Packets that would have taken so long are not sent.
    pub fn gain(&mut self, earlier: Span) {
        self.free_at = self.free_at - earlier;
    }
}

/// Turns bytes into nanoseconds and carries the fraction that whole nanoseconds lose, so that a
/// long run keeps the configured rate: truncation alone makes 40-byte ACKs at 10 Gbit/s 1.5 % fast.
#[derive(Clone, Debug)]
pub struct Serialiser {
    rate: u64,
    /// The last length with its quotient and remainder: nearly all packets have one of two
    /// lengths, and a division costs as much as the rest of a hop.
    cached: (u32, u64, u64),
    /// Fraction of a nanosecond that is owed, in units of 1 / rate.
    owed: u64,
}

impl Serialiser {
    /// A serialiser for `rate`, which must not be zero.
    pub fn new(rate: Rate) -> Self {
        Self { rate: rate.bits_per_second(), cached: (0, 0, 0), owed: 0 }
    }

    /// From now on another rate, which must not be zero. What is owed at the old one is dropped;
    /// where the rate is the same, nothing happens.
    pub fn set_rate(&mut self, rate: Rate) {
        if self.rate != rate.bits_per_second() {
            *self = Self::new(rate);
        }
    }

    /// The time that `bytes` take after an idle period.
    #[inline]
    pub fn restart(&mut self, bytes: u32) -> Span {
        let (nanos, remainder) = self.divide(bytes);
        self.owed = remainder;
        Span::from_nanos(nanos)
    }

    /// The time that `bytes` take directly behind the packet before.
    #[inline]
    pub fn next(&mut self, bytes: u32) -> Span {
        let (mut nanos, remainder) = self.divide(bytes);
        self.owed += remainder;
        if self.owed >= self.rate {
            self.owed -= self.rate;
            nanos += 1;
        }
        Span::from_nanos(nanos)
    }

    /// The whole nanoseconds that `bytes` take, and the rest in units of 1 / rate.
    #[inline]
    fn divide(&mut self, bytes: u32) -> (u64, u64) {
        if self.cached.0 != bytes {
            let work = u64::from(bytes) * 8 * 1_000_000_000;
            self.cached = (bytes, work / self.rate, work % self.rate);
        }
        let (_, nanos, remainder) = self.cached;
        (nanos, remainder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_packets_take_exactly_what_the_rate_says() {
        let mut serialiser = Serialiser::new(Rate::from_bits_per_second(9_999_999_967));
        let total: u64 = (0..1_000_000).map(|_| serialiser.next(66).as_nanos()).sum();
        let exact = 66.0 * 8.0 * 1e6 / 9_999_999_967.0 * 1e9;
        assert!((total as f64 - exact).abs() <= 1.0, "{total} instead of {exact}");
    }
}
