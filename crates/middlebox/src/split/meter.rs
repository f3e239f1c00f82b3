//! The utilisation of a rate that connections share, as a state machine without I/O: which part of
//! the rate was sent in an interval, and by how many connections. SaTPEP (Networking 2002, the
//! abstract) monitors it at the gateway.
//!
//! Reconstructed: an interval lasts half a round trip of the connection that ends the one before.
//! It ends when a connection looks at the meter, which each does when a packet arrives for it. So a
//! meter needs no timer.

use units::{Rate, Span, Time};

/// Measurements of an interval, for a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Rate in bytes per second.
    pub rate: f64,
    /// Part of it that was sent.
    pub used: f64,
    /// Connections that sent data in the interval, and this one.
    pub connections: u32,
}

/// State of a connection in a meter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metered {
    /// Number of the interval in which it sent last.
    sent_in: u64,
    /// Number of the interval whose measurement it has.
    read_in: u64,
}

/// The meter of a rate. Intervals are numbered from 1.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    rate: f64,
    interval: u64,
    since: Time,
    until: Time,
    bytes: u64,
    connections: u32,
    /// Part of the rate that was sent in the interval before, and connections that sent.
    last: (f64, u32),
}

impl Meter {
    /// A meter of a rate, in its first interval.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate: rate.bits_per_second() as f64 / 8.0,
            interval: 1,
            since: Time::ZERO,
            until: Time::ZERO,
            bytes: 0,
            connections: 0,
            last: (0.0, 0),
        }
    }

    /// A connection has sent a packet of `bytes`.
    pub fn on_sent(&mut self, bytes: u64, has_data: bool, by: &mut Metered) {
        self.bytes += bytes;
        if has_data && by.sent_in != self.interval {
            by.sent_in = self.interval;
            self.connections += 1;
        }
    }

    /// The measurement of the last interval, for a connection that does not have it.
    pub fn read(&mut self, now: Time, round_trip: Span, by: &mut Metered) -> Option<Measured> {
        if now >= self.until {
            self.end(now, round_trip);
        }
        if by.read_in == self.interval {
            return None;
        }
        by.read_in = self.interval;
        let (used, others) = self.last;
        // It counts itself if it has sent in the last interval, or in the new one.
        let is_counted = by.sent_in + 1 >= self.interval && by.sent_in > 0;
        let connections = others + u32::from(!is_counted);
        Some(Measured { rate: self.rate, used, connections: connections.max(1) })
    }

    /// Ends the interval, and begins one of half a round trip.
    fn end(&mut self, now: Time, round_trip: Span) {
        let sent = self.bytes as f64;
        let room = self.rate * now.since(self.since).as_secs_f64();
        let used = if room > 0.0 { (sent / room).min(1.0) } else { 0.0 };
        self.last = (used, self.connections);
        (self.bytes, self.connections) = (0, 0);
        self.interval += 1;
        self.since = now;
        self.until = now + Span::from_nanos(round_trip.as_nanos() / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Span = Span::from_millis(500);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// A meter of a megabyte per second whose first interval ended at 1 s, when `by` read it.
    fn meter(by: &mut Metered) -> Meter {
        let mut meter = Meter::new(Rate::from_bits_per_second(8_000_000));
        let first = meter.read(at(1000), ROUND_TRIP, by).unwrap();
        assert_eq!((first.used, first.connections, first.rate), (0.0, 1, 1e6));
        meter
    }

    #[test]
    fn the_part_that_was_sent_is_that_of_the_whole_interval() {
        let mut by = Metered::default();
        let mut meter = meter(&mut by);
        meter.on_sent(60_000, true, &mut by);
        meter.on_sent(15_000, true, &mut by);
        assert_eq!(meter.read(at(1249), ROUND_TRIP, &mut by), None, "the interval lasts");
        // It ends when somebody looks: 75,000 of 300,000 bytes.
        let measured = meter.read(at(1300), ROUND_TRIP, &mut by).unwrap();
        assert_eq!((measured.used, measured.connections), (0.25, 1));
        assert_eq!(meter.read(at(1310), ROUND_TRIP, &mut by), None, "it has it already");
        let idle = meter.read(at(2000), ROUND_TRIP, &mut by).unwrap();
        assert_eq!(idle.used, 0.0);
    }

    #[test]
    fn connections_count_if_they_have_sent_data() {
        let [mut first, mut second, mut third] = [Metered::default(); 3];
        let mut meter = meter(&mut first);
        meter.on_sent(1000, true, &mut first);
        meter.on_sent(1000, true, &mut second);
        meter.on_sent(52, false, &mut third);
        let mut connections = |by| meter.read(at(1250), ROUND_TRIP, by).unwrap().connections;
        assert_eq!(connections(&mut first), 2);
        assert_eq!(connections(&mut second), 2);
        assert_eq!(connections(&mut third), 3, "a new one counts itself");
    }
}
