//! The bytes of a path that are neither acknowledged nor lost.
//!
//! quinn reports sent bytes with their instant, acknowledged bytes with the instant of their
//! transmission, and a number of lost bytes with the instant of the youngest. From these, the place
//! of each in the order of transmission follows: a loss concerns all that is outstanding and was
//! sent before that instant, because packets are found to be lost in the order of their numbers
//! (RFC 9002 section 6.1). Only packets that were sent at the same instant cannot be distinguished;
//! then the first count.
//!
//! Positions count all bytes ever sent. Nothing is sent twice under the same position: QUIC puts
//! lost frames into new packets.

use std::collections::VecDeque;

use transport::Range;
use units::{Span, Time};

/// Bytes that were sent at one instant.
#[derive(Clone, Copy, Debug)]
struct Burst {
    sent_at: Time,
    /// The first position that is outstanding.
    start: u64,
    end: u64,
}

/// After this time quinn's own idle timeout has closed every connection that gets no ACK. What is
/// older are packets without data, which are not acknowledged.
const FORGOTTEN_AFTER: Span = Span::from_secs(60);

/// Outstanding packets, in the order of transmission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    bursts: VecDeque<Burst>,
    outstanding: u64,
    sent: u64,
}

impl Flight {
    /// Bytes that are neither acknowledged nor lost.
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Position after the last byte sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Position up to which nothing is outstanding.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.bursts.front().map_or(self.sent, |burst| burst.start)
    }

    pub(crate) fn send(&mut self, now: Time, bytes: u64) {
        while self.bursts.front().is_some_and(|oldest| oldest.sent_at + FORGOTTEN_AFTER < now) {
            self.drop_oldest();
        }
        self.sent += bytes;
        self.outstanding += bytes;
        match self.bursts.back_mut() {
            Some(last) if last.sent_at == now => last.end = self.sent,
            _ => {
                let start = self.sent - bytes;
                self.bursts.push_back(Burst { sent_at: now, start, end: self.sent });
            }
        }
    }

    /// `bytes` of what was sent at `sent_at` are acknowledged. Returns their place; an empty one
    /// for packets that quinn did not report as sent, such as probes of the path MTU.
    pub(crate) fn acknowledge(&mut self, sent_at: Time, bytes: u64) -> Range {
        let index = self.bursts.partition_point(|burst| burst.sent_at < sent_at);
        let Some(burst) = self.bursts.get_mut(index).filter(|burst| burst.sent_at == sent_at)
        else {
            return Range { start: self.sent, end: self.sent };
        };
        let start = burst.start;
        burst.start = burst.end.min(start + bytes);
        let end = burst.start;
        self.outstanding -= end - start;
        self.trim();
        Range { start, end }
    }

    /// All that was sent before `youngest` is lost, and so much of what was sent then that it is
    /// `bytes` together. Calls `tell` for each place.
    pub(crate) fn lose(&mut self, youngest: Time, bytes: u64, mut tell: impl FnMut(Range)) {
        let mut left = bytes;
        for burst in self.bursts.iter_mut().take_while(|burst| burst.sent_at <= youngest) {
            let start = burst.start;
            let all = burst.end - start;
            let lost = if burst.sent_at < youngest { all } else { all.min(left) };
            burst.start += lost;
            left = left.saturating_sub(lost);
            self.outstanding -= lost;
            if lost > 0 {
                tell(Range { start, end: start + lost });
            }
        }
        self.trim();
    }

    /// quinn counts `in_flight` bytes. What is more here are packets without data, and those of a
    /// handshake that is over; they are older than `before`.
    pub(crate) fn reconcile(&mut self, in_flight: u64, before: Time) {
        while self.outstanding > in_flight
            && self.bursts.front().is_some_and(|oldest| oldest.sent_at < before)
        {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.bursts.pop_front() {
            self.outstanding -= oldest.end - oldest.start;
        }
    }

    /// Bursts of which nothing is outstanding are removed at the lower end, where most are.
    fn trim(&mut self) {
        while self.bursts.front().is_some_and(|burst| burst.start == burst.end) {
            self.bursts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(milliseconds: u64) -> Time {
        Time::from_nanos(milliseconds * 1_000_000)
    }

    /// Packets of 100 bytes, two of them at each of these milliseconds.
    fn flight(times: &[u64]) -> Flight {
        let mut flight = Flight::default();
        for &time in times {
            flight.send(at(time), 100);
            flight.send(at(time), 100);
        }
        flight
    }

    #[test]
    fn positions_follow_from_the_instants_of_transmission() {
        let mut flight = flight(&[1, 2, 3]);
        assert_eq!(flight.acknowledge(at(2), 100), Range { start: 200, end: 300 });
        assert_eq!((flight.acknowledged(), flight.outstanding()), (0, 500));
        assert_eq!(flight.acknowledge(at(1), 200), Range { start: 0, end: 200 });
        assert_eq!((flight.acknowledged(), flight.outstanding()), (300, 300));
        assert_eq!(flight.acknowledge(at(9), 100).len(), 0, "a probe of the path MTU");
        assert_eq!((flight.sent(), flight.outstanding()), (600, 300));
    }

    #[test]
    fn a_loss_takes_all_that_is_older_and_its_own_bytes_of_the_last_instant() {
        let mut flight = flight(&[1, 2, 3]);
        flight.acknowledge(at(2), 100);
        flight.acknowledge(at(3), 100);
        let mut lost = Vec::new();
        flight.lose(at(3), 400, |range| lost.push((range.start, range.end)));
        assert_eq!(lost, [(0, 200), (300, 400), (500, 600)]);
        assert_eq!((flight.acknowledged(), flight.outstanding()), (600, 0));
        let mut flight = self::flight(&[1, 2]);
        flight.lose(at(2), 300, |_| ());
        assert_eq!((flight.acknowledged(), flight.outstanding()), (300, 100));
    }

    #[test]
    fn packets_without_data_do_not_stay() {
        let mut flight = flight(&[1, 2, 3]);
        flight.reconcile(400, at(3));
        assert_eq!((flight.acknowledged(), flight.outstanding()), (200, 400));
        flight.reconcile(0, at(3));
        assert_eq!(flight.outstanding(), 200, "what is young may be acknowledged yet");
        flight.send(at(3) + FORGOTTEN_AFTER + Span::from_millis(1), 100);
        assert_eq!(flight.outstanding(), 100);
    }
}
