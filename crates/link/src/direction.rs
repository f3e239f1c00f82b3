//! A FIFO link with analytic departures.
//!
//! A first-in first-out link of constant rate knows, when a packet is offered, when the packet
//! will leave: as soon as all before it have left. So there is no event at the end of a
//! transmission, and one event per packet and hop: the arrival. This is exact, not an
//! approximation; the slow engine of the network's tests keeps it so. It stays exact for a link that
//! changes, because what changes is known beforehand.

mod changes;

use std::collections::VecDeque;

use units::{Rate, Span, Time};

use crate::channel::Channel;
use crate::marker::{Marker, Marking};
use crate::priority::Priority;
use crate::serialiser::Serialiser;

pub use changes::Change;
use changes::Changes;

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

/// What a queue does with packets of low priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LowPriority {
    /// The same as with all others.
    #[default]
    Ignore,
    /// They give way: a normal packet that finds the queue full takes the place of the one that
    /// came last. This is what the papers on TCP-Peach ask of routers, as far as secondary
    /// descriptions tell.
    PushOut,
    /// They enter only while hardly anything waits, at most one packet, or 2000 bytes where the
    /// limit is in bytes: the rule of the queue for TCP-Peach in GTNetS.
    Refuse,
}

impl LowPriority {
    /// Most packets that may wait where a packet of low priority is not refused.
    pub const REFUSES_ABOVE_PACKETS: usize = 1;
    /// Most bytes that may wait where a packet of low priority is not refused.
    pub const REFUSES_ABOVE_BYTES: u64 = 2000;
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
    /// What the queue does with packets of low priority.
    pub low_priority: LowPriority,
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
    /// The queue is full, and others have to give way: to be offered again when
    /// [`Link::push_out`] has made room.
    PushesOut,
    /// It is sent and damaged on its way; nobody will see it.
    Damaged,
    /// It arrives intact at this time.
    Arrives(Time),
}

/// A packet that was accepted and has to leave the queue again. All behind it arrive earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedOut {
    /// It would have arrived: the channel had not damaged it.
    pub intact: bool,
    /// Packets behind it that will arrive.
    pub behind: usize,
    /// By how much they arrive earlier.
    pub earlier: Span,
}

/// What a link did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets accepted, without those pushed out later.
    pub accepted_packets: u64,
    /// Packets dropped because the queue was full, and packets pushed out of it.
    pub dropped_packets: u64,
    /// Packets damaged by the channel.
    pub damaged_packets: u64,
    /// Largest number of bytes that waited.
    pub max_waiting_bytes: u64,
}

/// A packet that had to wait.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When its transmission starts.
    start: Time,
    /// Its bytes, framing included.
    bytes: u32,
    low: bool,
    damaged: bool,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    settings: Settings,
    serialiser: Serialiser,
    channel: Channel,
    marker: Option<Marker>,
    /// What changes while packets pass; `None` for most links, which then pay one comparison.
    changes: Option<Box<Changes>>,
    /// When everything accepted so far will have left, and an outage that follows is over.
    free_at: Time,
    /// Time spent sending, for all packets accepted so far.
    busy: Span,
    /// Each packet that had to wait. Those that have started are forgotten when the next packet is
    /// offered, so that a packet costs O(1) amortised.
    waiting: VecDeque<Waiting>,
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
            changes: None,
            free_at: Time::ZERO,
            busy: Span::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            counters: Counters::default(),
        }
    }

    /// What the link is, as far as it has changed by now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Offers a packet of `bytes`. `now` must not go back. Always inlined: that a packet which
    /// pushes others out is offered twice must not cost all packets a call.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        if self.is_changing() {
            return self.offer_changing(now, bytes, priority);
        }
        self.offer_constant(now, bytes, priority)
    }

    #[inline(always)]
    fn offer_constant(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        let framed = bytes + self.settings.framing;
        self.forget_started(now);
        if now < self.free_at && (self.is_full_for(framed) || self.refuses(priority)) {
            return self.turn_away(framed, priority);
        }
        self.counters.accepted_packets += 1;
        let left = self.accept(now, framed, priority);
        // Framing is synchronisation, coding and padding: it takes time, but the packet that can
        // be damaged is the IP packet.
        if self.channel.damages(left, bytes) {
            self.counters.damaged_packets += 1;
            if let Some(waiting) = self.waiting.back_mut() {
                waiting.damaged = true;
            }
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

    /// Removes the last packet of low priority that waits, if a packet of `bytes` finds no room.
    /// What it would have taken is time that all behind it gain.
    pub fn push_out(&mut self, bytes: u32) -> Option<PushedOut> {
        if !self.is_full_for(bytes + self.settings.framing) {
            return None;
        }
        let place = self.waiting.iter().rposition(|waiting| waiting.low)?;
        let out = self.waiting.remove(place)?;
        let end = self.waiting.get(place).map_or(self.free_at, |next| next.start);
        let earlier = end.since(out.start);
        let mut behind = 0;
        for waiting in self.waiting.range_mut(place..) {
            waiting.start = waiting.start - earlier;
            behind += usize::from(!waiting.damaged);
        }
        self.free_at = self.free_at - earlier;
        self.busy = self.busy - earlier;
        self.waiting_bytes -= u64::from(out.bytes);
        self.counters.accepted_packets -= 1;
        self.counters.dropped_packets += 1;
        self.counters.damaged_packets -= u64::from(out.damaged);
        Some(PushedOut { intact: !out.damaged, behind, earlier })
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
    /// gaps but those of outages, so it is simply the time that remains.
    pub fn busy_until(&self, now: Time) -> Span {
        let silent = self.changes.as_ref().map_or(Span::ZERO, |changes| changes.silent_after(now));
        self.busy.saturating_sub(self.free_at.since(now).saturating_sub(silent))
    }

    /// When the packet leaves. Inlined for the reason that [`offer`](Self::offer) is.
    #[inline(always)]
    fn accept(&mut self, now: Time, bytes: u32, priority: Priority) -> Time {
        let (start, duration) = if now > self.free_at {
            (now, self.serialiser.restart(bytes))
        } else {
            (self.free_at, self.serialiser.next(bytes))
        };
        if start > now {
            let low = priority == Priority::Low;
            self.waiting.push_back(Waiting { start, bytes, low, damaged: false });
            self.waiting_bytes += u64::from(bytes);
            self.counters.max_waiting_bytes =
                self.counters.max_waiting_bytes.max(self.waiting_bytes);
        }
        self.busy = self.busy + duration;
        self.free_at = start + duration;
        self.free_at
    }

    fn forget_started(&mut self, now: Time) {
        while let Some(first) = self.waiting.front() {
            if first.start > now {
                break;
            }
            self.waiting_bytes -= u64::from(first.bytes);
            self.waiting.pop_front();
        }
    }

    /// The queue does not take a packet as it is.
    #[cold]
    fn turn_away(&mut self, framed: u32, priority: Priority) -> Fate {
        let pushes_out = self.settings.low_priority == LowPriority::PushOut;
        if pushes_out && priority == Priority::Normal && self.can_make_room_for(framed) {
            return Fate::PushesOut;
        }
        self.counters.dropped_packets += 1;
        Fate::Dropped
    }

    fn refuses(&self, priority: Priority) -> bool {
        priority == Priority::Low
            && self.settings.low_priority == LowPriority::Refuse
            && self.is_busy()
    }

    /// More waits than packets of low priority may disturb.
    fn is_busy(&self) -> bool {
        match self.settings.limit {
            Limit::Bytes(_) => self.waiting_bytes > LowPriority::REFUSES_ABOVE_BYTES,
            _ => self.waiting.len() > LowPriority::REFUSES_ABOVE_PACKETS,
        }
    }

    /// Whether there is room for a packet without those of low priority.
    fn can_make_room_for(&self, framed: u32) -> bool {
        let low = self.waiting.iter().filter(|waiting| waiting.low);
        match self.settings.limit {
            Limit::Packets(_) => low.count() > 0,
            Limit::Bytes(limit) => {
                let bytes: u64 = low.map(|waiting| u64::from(waiting.bytes)).sum();
                self.waiting_bytes - bytes + u64::from(framed) <= limit
            }
            Limit::Unlimited => true,
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
        link_with(limit, errors, LowPriority::Ignore)
    }

    fn link_with(limit: Limit, errors: Errors, low_priority: LowPriority) -> Link {
        let settings = Settings {
            rate: Rate::from_bits_per_second(8_000_000),
            delay: Span::from_millis(10),
            limit,
            low_priority,
            marking: None,
            framing: 0,
        };
        Link::new(settings, Channel::new(errors, stream(1, Purpose::Channel, 0)))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Offers a packet and pushes out what has to make room for it.
    fn offer(link: &mut Link, now: Time, bytes: u32) -> Fate {
        let fate = link.offer(now, bytes, Priority::Normal);
        if fate == Fate::PushesOut {
            while link.push_out(bytes).is_some() {}
            return link.offer(now, bytes, Priority::Normal);
        }
        fate
    }

    fn offer_low(link: &mut Link, now: Time, bytes: u32) -> Fate {
        link.offer(now, bytes, Priority::Low)
    }

    #[test]
    fn a_packet_arrives_after_serialisation_and_delay() {
        let mut link = link(Limit::Unlimited, Errors::None);
        assert_eq!(offer(&mut link, at(5), 1000), Fate::Arrives(at(16)));
    }

    #[test]
    fn packets_leave_one_after_the_other() {
        let mut link = link(Limit::Unlimited, Errors::None);
        assert_eq!(offer(&mut link, at(0), 1000), Fate::Arrives(at(11)));
        assert_eq!(offer(&mut link, at(0), 2000), Fate::Arrives(at(13)));
        assert_eq!(offer(&mut link, at(1), 1000), Fate::Arrives(at(14)));
        assert_eq!(link.waiting(at(1)), (1, 1000));
    }

    #[test]
    fn a_queue_of_two_packets_holds_two_beside_the_one_being_sent() {
        let mut link = link(Limit::Packets(2), Errors::None);
        let fates: Vec<_> = (0..4).map(|_| offer(&mut link, at(0), 1000)).collect();
        assert_eq!(fates[2], Fate::Arrives(at(13)));
        assert_eq!(fates[3], Fate::Dropped);
        assert_ne!(offer(&mut link, at(1), 1000), Fate::Dropped);
    }

    #[test]
    fn a_queue_in_bytes_counts_bytes() {
        let mut link = link(Limit::Bytes(1500), Errors::None);
        offer(&mut link, at(0), 1000);
        assert_ne!(offer(&mut link, at(0), 1000), Fate::Dropped);
        assert_eq!(offer(&mut link, at(0), 501), Fate::Dropped);
        assert_ne!(offer(&mut link, at(0), 500), Fate::Dropped);
        assert_eq!(link.counters().max_waiting_bytes, 1500);
    }

    #[test]
    fn framing_takes_time_on_the_link() {
        let mut link = link(Limit::Unlimited, Errors::None);
        link.settings.framing = 1000;
        assert_eq!(offer(&mut link, at(0), 1000), Fate::Arrives(at(12)));
    }

    #[test]
    fn a_damaged_packet_takes_its_time_all_the_same() {
        let mut link = link(Limit::Unlimited, Errors::Packet { per: 1.0 });
        assert_eq!(offer(&mut link, at(0), 1000), Fate::Damaged);
        assert_eq!(link.busy_until(at(100)), Span::from_millis(1));
    }

    #[test]
    fn busy_time_does_not_count_what_has_not_been_sent_yet() {
        let mut link = link(Limit::Unlimited, Errors::None);
        for _ in 0..10 {
            offer(&mut link, at(0), 1000);
        }
        assert_eq!(link.busy_until(at(4)), Span::from_millis(4));
        assert_eq!(link.busy_until(at(40)), Span::from_millis(10));
    }

    #[test]
    fn a_normal_packet_pushes_out_the_last_of_low_priority_and_all_behind_it_arrive_earlier() {
        let mut link = link_with(Limit::Packets(4), Errors::None, LowPriority::PushOut);
        offer(&mut link, at(0), 1000);
        offer_low(&mut link, at(0), 1000);
        offer_low(&mut link, at(0), 2000);
        offer(&mut link, at(0), 1000);
        assert_eq!(offer(&mut link, at(0), 1000), Fate::Arrives(at(16)));
        assert_eq!(link.offer(at(0), 1000, Priority::Normal), Fate::PushesOut);
        let out: Vec<_> = std::iter::from_fn(|| link.push_out(1000)).collect();
        let pushed = PushedOut { intact: true, behind: 2, earlier: Span::from_millis(2) };
        assert_eq!(out, [pushed]);
        assert_eq!(link.offer(at(0), 1000, Priority::Normal), Fate::Arrives(at(15)));
        assert_eq!(link.waiting(at(0)), (4, 4000));
        assert_eq!(link.busy_until(at(100)), Span::from_millis(5));
        assert_eq!((link.counters.accepted_packets, link.counters.dropped_packets), (5, 1));
    }

    #[test]
    fn a_packet_of_low_priority_pushes_nothing_out_of_a_full_queue() {
        let mut link = link_with(Limit::Packets(1), Errors::None, LowPriority::PushOut);
        offer(&mut link, at(0), 1000);
        offer_low(&mut link, at(0), 1000);
        assert_eq!(offer_low(&mut link, at(0), 1000), Fate::Dropped);
        assert_ne!(offer(&mut link, at(0), 1000), Fate::Dropped);
        assert_eq!(offer(&mut link, at(0), 1000), Fate::Dropped, "a queue of normal packets");
    }

    #[test]
    fn what_would_not_make_enough_room_stays() {
        let mut link = link_with(Limit::Bytes(2000), Errors::None, LowPriority::PushOut);
        offer(&mut link, at(0), 1000);
        offer(&mut link, at(0), 1500);
        offer_low(&mut link, at(0), 200);
        offer_low(&mut link, at(0), 200);
        assert_eq!(offer(&mut link, at(0), 1000), Fate::Dropped);
        assert_eq!(link.waiting(at(0)), (3, 1900));
        assert_ne!(offer(&mut link, at(0), 500), Fate::Dropped);
        assert_eq!(link.waiting(at(0)), (2, 2000));
    }

    #[test]
    fn a_damaged_packet_that_is_pushed_out_was_never_sent() {
        let mut link =
            link_with(Limit::Packets(1), Errors::Packet { per: 1.0 }, LowPriority::PushOut);
        offer(&mut link, at(0), 1000);
        offer_low(&mut link, at(0), 1000);
        assert_eq!(link.offer(at(0), 1000, Priority::Normal), Fate::PushesOut);
        assert!(link.push_out(1000).is_some_and(|out| !out.intact && out.behind == 0));
        link.offer(at(0), 1000, Priority::Normal);
        assert_eq!(link.counters.damaged_packets, 2);
    }

    #[test]
    fn the_other_rule_lets_low_priority_in_while_at_most_one_packet_waits() {
        let mut link = link_with(Limit::Packets(100), Errors::None, LowPriority::Refuse);
        for _ in 0..3 {
            assert_ne!(offer_low(&mut link, at(0), 1000), Fate::Dropped);
        }
        assert_eq!(offer_low(&mut link, at(0), 1000), Fate::Dropped);
        assert_ne!(offer(&mut link, at(0), 1000), Fate::Dropped);
        assert_eq!(link.waiting(at(0)), (3, 3000));
    }

    #[test]
    fn where_bytes_are_counted_it_lets_low_priority_in_up_to_2000_bytes() {
        let mut link = link_with(Limit::Bytes(100_000), Errors::None, LowPriority::Refuse);
        offer(&mut link, at(0), 1000);
        offer(&mut link, at(0), 2000);
        assert_ne!(offer_low(&mut link, at(0), 1), Fate::Dropped);
        assert_eq!(offer_low(&mut link, at(0), 1), Fate::Dropped);
    }

    #[test]
    fn a_queue_that_ignores_priority_drops_what_comes_last() {
        let mut link = link(Limit::Packets(1), Errors::None);
        offer(&mut link, at(0), 1000);
        offer_low(&mut link, at(0), 1000);
        assert_eq!(offer(&mut link, at(0), 1000), Fate::Dropped);
    }
}
