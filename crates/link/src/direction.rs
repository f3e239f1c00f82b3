//! A FIFO link with analytic departures.
//!
//! A first-in first-out link of constant rate knows, when a packet is offered, when the packet
//! will leave: as soon as all before it have left. So there is no event at the end of a
//! transmission, and one event per packet and hop: the arrival. This is exact, not an
//! approximation; the slow engine of the network's tests keeps it so.

use std::collections::VecDeque;

use units::{Rate, Span, Time};

use crate::channel::Channel;
use crate::marker::{Marker, Marking};
use crate::serialiser::Serialiser;

/// How much may wait, not counting the packet that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets.
    Packets(u32),
    /// At most so many bytes, framing included.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

/// What a link is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Serialisation rate; not zero.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Limit of what waits; drop-tail.
    pub limit: Limit,
    /// When the queue marks instead of dropping; `None` never does.
    pub marking: Option<Marking>,
    /// Bytes that the link adds to each packet.
    pub framing: u32,
}

/// What happens to a packet that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The queue was full.
    Dropped,
    /// It is sent and damaged on its way; nobody will see it.
    Damaged,
    /// It arrives intact at this time.
    Arrives(Time),
}

/// What a link did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets accepted.
    pub accepted_packets: u64,
    /// Packets dropped because the queue was full.
    pub dropped_packets: u64,
    /// Packets damaged by the channel.
    pub damaged_packets: u64,
    /// Largest number of bytes that waited.
    pub max_waiting_bytes: u64,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    settings: Settings,
    serialiser: Serialiser,
    channel: Channel,
    marker: Option<Marker>,
    /// When everything accepted so far will have left.
    free_at: Time,
    /// Time spent sending, for all packets accepted so far.
    busy: Span,
    /// Start of transmission and bytes of each packet that had to wait. Those that have started
    /// are forgotten when the next packet is offered, so that a packet costs O(1) amortised.
    waiting: VecDeque<(Time, u32)>,
    waiting_bytes: u64,
    counters: Counters,
}

impl Link {
    /// An idle link.
    pub fn new(settings: Settings, channel: Channel) -> Self {
        let serialiser = Serialiser::new(settings.rate);
        Self {
            marker: settings.marking.map(Marker::new),
            settings,
            serialiser,
            channel,
            free_at: Time::ZERO,
            busy: Span::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            counters: Counters::default(),
        }
    }

    /// What the link is.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Offers a packet of `bytes`. `now` must not go back.
    #[inline]
    pub fn offer(&mut self, now: Time, bytes: u32) -> Fate {
        let framed = bytes + self.settings.framing;
        self.forget_started(now);
        if now < self.free_at && self.is_full_for(framed) {
            self.counters.dropped_packets += 1;
            return Fate::Dropped;
        }
        self.counters.accepted_packets += 1;
        let left = self.accept(now, framed);
        // Framing is synchronisation, coding and padding: it takes time, but the packet that can
        // be damaged is the IP packet.
        if self.channel.damages(left, bytes) {
            self.counters.damaged_packets += 1;
            Fate::Damaged
        } else {
            Fate::Arrives(left + self.settings.delay)
        }
    }

    /// A packet is about to be offered. Returns whether the queue is so long that the packet is to
    /// be marked.
    #[inline]
    pub fn marks(&mut self, now: Time) -> bool {
        self.marker.is_some() && self.marks_arrival(now)
    }

    fn marks_arrival(&mut self, now: Time) -> bool {
        self.forget_started(now);
        let waiting = self.waiting.len();
        self.marker.as_mut().is_some_and(|marker| marker.on_arrival(waiting))
    }

    /// What the link did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Packets and bytes that wait at `now`, not counting the one being sent.
    pub fn waiting(&mut self, now: Time) -> (usize, u64) {
        self.forget_started(now);
        (self.waiting.len(), self.waiting_bytes)
    }

    /// Time spent sending until `now`. What was accepted and not yet sent is one block without
    /// gaps, so it is simply the time that remains.
    pub fn busy_until(&self, now: Time) -> Span {
        self.busy.saturating_sub(self.free_at.since(now))
    }

    /// When the packet leaves.
    fn accept(&mut self, now: Time, bytes: u32) -> Time {
        let (start, duration) = if now > self.free_at {
            (now, self.serialiser.restart(bytes))
        } else {
            (self.free_at, self.serialiser.next(bytes))
        };
        if start > now {
            self.waiting.push_back((start, bytes));
            self.waiting_bytes += u64::from(bytes);
            self.counters.max_waiting_bytes =
                self.counters.max_waiting_bytes.max(self.waiting_bytes);
        }
        self.busy = self.busy + duration;
        self.free_at = start + duration;
        self.free_at
    }

    fn forget_started(&mut self, now: Time) {
        while let Some(&(start, bytes)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
        }
    }

    fn is_full_for(&self, bytes: u32) -> bool {
        match self.settings.limit {
            Limit::Packets(limit) => self.waiting.len() >= limit as usize,
            Limit::Bytes(limit) => self.waiting_bytes + u64::from(bytes) > limit,
            Limit::Unlimited => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Errors;
    use crate::stream::{Purpose, stream};

    /// 1000 bytes take 1 ms; the delay is 10 ms.
    fn link(limit: Limit, errors: Errors) -> Link {
        let settings = Settings {
            rate: Rate::from_bits_per_second(8_000_000),
            delay: Span::from_millis(10),
            limit,
            marking: None,
            framing: 0,
        };
        Link::new(settings, Channel::new(errors, stream(1, Purpose::Channel, 0)))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_packet_arrives_after_serialisation_and_delay() {
        let mut link = link(Limit::Unlimited, Errors::None);
        assert_eq!(link.offer(at(5), 1000), Fate::Arrives(at(16)));
    }

    #[test]
    fn packets_leave_one_after_the_other() {
        let mut link = link(Limit::Unlimited, Errors::None);
        assert_eq!(link.offer(at(0), 1000), Fate::Arrives(at(11)));
        assert_eq!(link.offer(at(0), 2000), Fate::Arrives(at(13)));
        assert_eq!(link.offer(at(1), 1000), Fate::Arrives(at(14)));
        assert_eq!(link.waiting(at(1)), (1, 1000));
    }

    #[test]
    fn a_queue_of_two_packets_holds_two_beside_the_one_being_sent() {
        let mut link = link(Limit::Packets(2), Errors::None);
        let fates: Vec<_> = (0..4).map(|_| link.offer(at(0), 1000)).collect();
        assert_eq!(fates[2], Fate::Arrives(at(13)));
        assert_eq!(fates[3], Fate::Dropped);
        assert_ne!(link.offer(at(1), 1000), Fate::Dropped);
    }

    #[test]
    fn a_queue_in_bytes_counts_bytes() {
        let mut link = link(Limit::Bytes(1500), Errors::None);
        link.offer(at(0), 1000);
        assert_ne!(link.offer(at(0), 1000), Fate::Dropped);
        assert_eq!(link.offer(at(0), 501), Fate::Dropped);
        assert_ne!(link.offer(at(0), 500), Fate::Dropped);
        assert_eq!(link.counters().max_waiting_bytes, 1500);
    }

    #[test]
    fn framing_takes_time_on_the_link() {
        let mut link = link(Limit::Unlimited, Errors::None);
        link.settings.framing = 1000;
        assert_eq!(link.offer(at(0), 1000), Fate::Arrives(at(12)));
    }

    #[test]
    fn a_damaged_packet_takes_its_time_all_the_same() {
        let mut link = link(Limit::Unlimited, Errors::Packet { per: 1.0 });
        assert_eq!(link.offer(at(0), 1000), Fate::Damaged);
        assert_eq!(link.busy_until(at(100)), Span::from_millis(1));
    }

    #[test]
    fn busy_time_does_not_count_what_has_not_been_sent_yet() {
        let mut link = link(Limit::Unlimited, Errors::None);
        for _ in 0..10 {
            link.offer(at(0), 1000);
        }
        assert_eq!(link.busy_until(at(4)), Span::from_millis(4));
        assert_eq!(link.busy_until(at(40)), Span::from_millis(10));
    }
}
