//! A connection that is closed, after its control block is deleted (RFC 9293 section 3.10.7.4:
//! "enter the CLOSED state, delete the TCB"). It has totals, and resets what still arrives.
//!
//! A run may open hundreds of thousands of connections one after the other. Most memory of a
//! connection is in buffers, controller and loss recovery, which a closed one does not need.

use sketch::Sketch;
use transport::{AbortCause, Counters, Endpoint, Limit, Limits, Sample};
use units::{Span, Time};

use crate::segment::Segment;

use super::reset::Reset;
use super::{Connection, State};

/// RTT samples of an end that has given its own away.
static NO_SAMPLES: Sketch = Sketch::new();

/// One end of a connection whose control block is deleted.
#[derive(Clone, Debug)]
pub struct Ended {
    reset: Option<Reset>,
    recent_timestamp: u32,
    delivered: u64,
    written: u64,
    counters: Counters,
    sample: Sample,
    /// Times of [`Limit::ALL`]; no clock runs any more.
    times: [Span; Limit::ALL.len()],
}

impl Connection {
    /// The remains of the connection if nothing of it can matter any more: both ends have closed,
    /// all data is acknowledged and read, no timer runs, and there is nothing to send. `None` for
    /// all others, and for connections that ended before their time.
    pub fn ended(&mut self, now: Time) -> Option<Ended> {
        let is_over = self.state == State::Closed
            && self.closing
            && self.cause.is_none()
            && self.deadline() == Time::NEVER
            && !self.may_send()
            && self.unread() == 0;
        if !is_over {
            return None;
        }
        let Limits { times, total: None } = self.halves.sender.limits(now) else { return None };
        Some(Ended {
            reset: None,
            recent_timestamp: self.halves.recent_timestamp,
            delivered: self.delivered(),
            written: self.withdraw(),
            counters: *self.counters(),
            sample: self.sample(),
            times: times.map(Option::unwrap_or_default),
        })
    }

    /// Takes the RTT samples of a connection in TIME-WAIT, and gives back memory for data that it
    /// sends: it only waits, and has nothing to send any more. `None` in other states.
    pub fn rest(&mut self) -> Option<Sketch> {
        (self.state == State::TimeWait).then(|| self.halves.sender.rest())
    }
}

impl Endpoint for Ended {
    type Packet = Segment;

    fn connect(&mut self) {}

    fn listen(&mut self) {}

    fn on_packet(&mut self, _now: Time, packet: &Segment) {
        if packet.reported_mss().is_none()
            && let Some(reset) = Reset::refusing(packet)
        {
            self.reset = Some(reset);
        }
    }

    fn on_congestion_experienced(&mut self) {}

    fn may_send(&self) -> bool {
        self.reset.is_some()
    }

    fn next_packet(&mut self, now: Time) -> Option<Segment> {
        Some(self.reset.take()?.segment(now, self.recent_timestamp))
    }

    fn may_have_low_priority(&self) -> bool {
        false
    }

    fn next_of_low_priority(&mut self, _now: Time) -> Option<Segment> {
        None
    }

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn on_deadline(&mut self, _now: Time) {}

    fn write(&mut self, _bytes: u64) {
        debug_assert!(false, "nothing can be written after close");
    }

    fn withdraw(&mut self) -> u64 {
        self.written
    }

    fn read(&mut self, _bytes: u64) {}

    fn unread(&self) -> u64 {
        0
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn close(&mut self) {}

    fn abort_cause(&self) -> Option<AbortCause> {
        None
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn sample(&self) -> Sample {
        self.sample
    }

    fn rtt_samples(&self) -> &Sketch {
        &NO_SAMPLES
    }

    fn limits(&self, _now: Time) -> Option<Limits> {
        Some(Limits { times: self.times.map(Some), total: None })
    }
}

#[cfg(test)]
mod tests {
    use congestion::{Settings, Specification};

    use super::*;
    use crate::config::Config;
    use crate::segment::Flags;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn end(sequence: u32) -> Connection {
        let config = Config::default();
        let settings = Settings {
            mss: config.mss,
            initial_window: 10 * u64::from(config.mss),
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let controller = Specification::named("cubic").unwrap().build(&settings);
        Connection::new(config.into(), controller, sequence)
    }

    /// Passes segments between two ends until both are silent, each with a delay of 10 ms.
    fn exchange(ends: &mut [Connection; 2], now: &mut Time) {
        loop {
            let mut is_silent = true;
            for from in [0, 1] {
                while let Some(segment) = ends[from].next_packet(*now) {
                    is_silent = false;
                    ends[1 - from].on_segment(*now + Span::from_millis(10), &segment);
                }
            }
            *now += Span::from_millis(10);
            if is_silent {
                return;
            }
        }
    }

    /// Two ends that have sent 10 kB and closed, the first one before the other.
    fn closed() -> ([Connection; 2], Time) {
        let (mut ends, mut now) = ([end(7), end(1000)], at(0));
        ends[1].listen();
        ends[0].connect();
        exchange(&mut ends, &mut now);
        ends[0].write(10_000);
        ends[0].close();
        exchange(&mut ends, &mut now);
        ends[1].close();
        exchange(&mut ends, &mut now);
        assert_eq!([ends[0].state(), ends[1].state()], [State::TimeWait, State::Closed]);
        (ends, now)
    }

    #[test]
    fn only_an_end_that_is_closed_is_over() {
        let ([mut first, mut last], now) = closed();
        assert!(last.ended(now).is_some());
        assert!(first.ended(now).is_none(), "it waits");
        let samples = first.rtt().samples().count();
        assert!(samples > 0);
        assert_eq!(first.rest().unwrap().count(), samples);
        assert_eq!(first.rtt().samples().count(), 0);
        assert!(last.rest().is_none());
        let then = first.deadline();
        first.on_deadline(then);
        assert!(first.ended(then).is_some());
        let mut open = end(0);
        open.listen();
        assert!(open.ended(now).is_none());
        let mut aborted = end(0);
        aborted.close();
        aborted.abort();
        assert!(aborted.ended(now).is_none(), "its cause is no total");
    }

    #[test]
    fn what_is_left_answers_as_the_closed_connection_and_has_its_totals() {
        let ([mut first, mut last], now) = closed();
        let then = first.deadline();
        first.on_deadline(then);
        for (connection, now) in [(&mut first, then), (&mut last, now)] {
            let mut ended = connection.ended(now).unwrap();
            let later = now + Span::from_secs(5);
            for bits in 0..32 {
                for payload in [0, 100] {
                    let segment = Segment {
                        sequence: 5000 + bits,
                        acknowledgement: 77,
                        flags: Flags(bits as u8),
                        payload,
                        ..Segment::default()
                    };
                    connection.on_segment(later, &segment);
                    ended.on_packet(later, &segment);
                    assert_eq!(ended.may_send(), connection.may_send());
                    let answer = connection.next_packet(later);
                    assert_eq!(ended.next_packet(later), answer, "{segment:?}");
                    assert_eq!(answer.is_none(), segment.flags.contains(Flags::RST));
                    assert!(ended.next_packet(later).is_none());
                }
            }
            assert_eq!(ended.counters(), connection.counters());
            assert_eq!(ended.sample(), connection.sample());
            assert_eq!(ended.limits(later), Endpoint::limits(connection, later));
            assert_eq!(ended.delivered(), connection.delivered());
            assert_eq!(ended.withdraw(), connection.withdraw());
            assert_eq!(ended.deadline(), Time::NEVER);
        }
    }
}
