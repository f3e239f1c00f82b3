//! A link that changes while packets pass: another rate, another delay, or an outage, as a handover
//! or a new route brings them, or a delay with jitter. RFC 9743 asks how a controller behaves on such
//! paths.
//!
//! What it means for packets:
//!
//! - A packet is sent at the rate that holds when its transmission starts, and to its end at that.
//! - It is on its way for the delay that holds when its last bit leaves. One that would overtake the
//!   packet before arrives together with it, for a link is FIFO.
//! - In an outage no transmission starts. The one that goes on ends, what is on its way arrives, and
//!   what waits goes on waiting.
//!
//! All changes are known beforehand, so that departures stay analytic. Whoever looks for the rate of
//! the next packet is at the end of the queue, and whoever looks for a delay may be before that.

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Rate, Span, Time};

use super::{Fate, Link};
use crate::jitter::Jitter;
use crate::priority::Priority;

/// What becomes different at an instant; `None` stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// From when on.
    pub at: Time,
    /// The rate; not zero.
    pub rate: Option<Rate>,
    /// The propagation delay.
    pub delay: Option<Span>,
    /// No transmission starts for so long.
    pub outage: Option<Span>,
}

/// The changes of a link, and how far they have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    all: Arc<[Change]>,
    jitter: Option<Jitter>,
    /// The first that has not happened at the end of the queue.
    next: usize,
    /// Times in which outages keep the link from sending, from now on to the end of the queue.
    silences: VecDeque<(Time, Time)>,
    /// When the last intact packet arrives.
    last_arrival: Time,
}

impl Changes {
    /// Time after `now` and before the end of the queue in which an outage keeps the link from
    /// sending.
    pub fn silent_after(&self, now: Time) -> Span {
        let left = self.silences.iter().map(|(from, to)| to.since(now.max(*from)));
        left.fold(Span::ZERO, |sum, span| sum + span)
    }

    /// The next change, if it happens until `time`.
    fn due(&mut self, time: Time) -> Option<Change> {
        let change = self.all.get(self.next).filter(|change| change.at <= time)?;
        self.next += 1;
        Some(*change)
    }
}

impl Link {
    /// The link with `changes` in the order of their times. They cannot go together with
    /// [`LowPriority::PushOut`](super::LowPriority::PushOut): what has been computed for a packet would
    /// no longer hold when one before it is pushed out.
    #[must_use]
    pub fn with_changes(mut self, changes: impl Into<Arc<[Change]>>) -> Self {
        let all = changes.into();
        if !all.is_empty() {
            self.changes.get_or_insert_default().all = all;
        }
        self
    }

    /// The link with jitter, which as little goes together with packets that are pushed out.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Option<Jitter>) -> Self {
        if jitter.is_some() {
            self.changes.get_or_insert_default().jitter = jitter;
        }
        self
    }

    /// Whether anything changes.
    #[inline]
    pub fn is_changing(&self) -> bool {
        self.changes.is_some()
    }

    /// What changes, in the order of time.
    pub fn changes(&self) -> &[Change] {
        self.changes.as_ref().map_or(&[], |changes| &changes.all)
    }

    /// The jitter of the link.
    pub fn jitter(&self) -> Option<&Jitter> {
        self.changes.as_ref()?.jitter.as_ref()
    }

    /// [`Link::offer`] for a link that changes.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_changing(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        // An outage moves the end of the queue, maybe beyond the next change.
        while self.change_until(now.max(self.free_at)) {}
        self.serialiser.set_rate(self.settings.rate);
        self.forget_silences(now);
        let fate = self.offer_constant(now, bytes, priority);
        if !matches!(fate, Fate::Arrives(_) | Fate::Damaged) {
            return fate;
        }
        // Damaged packets draw too: one seed gives the same packet the same jitter.
        let jitter = self.changes.as_mut().and_then(|changes| changes.jitter.as_mut());
        let jitter = jitter.map_or(Span::ZERO, Jitter::draw);
        match fate {
            Fate::Arrives(_) => Fate::Arrives(self.arrival_of_last(jitter)),
            fate => fate,
        }
    }

    /// When the packet that was accepted last arrives.
    fn arrival_of_last(&mut self, jitter: Span) -> Time {
        let left = self.free_at;
        while self.change_until(left) {}
        let arrival = left + self.settings.delay + jitter;
        self.changes.as_mut().map_or(arrival, |changes| {
            changes.last_arrival = changes.last_arrival.max(arrival);
            changes.last_arrival
        })
    }

    /// Lets the next change happen that does until `time`. Returns whether there was one.
    fn change_until(&mut self, time: Time) -> bool {
        let Some(changes) = &mut self.changes else { return false };
        let Some(change) = changes.due(time) else { return false };
        self.settings.rate = change.rate.unwrap_or(self.settings.rate);
        self.settings.delay = change.delay.unwrap_or(self.settings.delay);
        let up = change.at + change.outage.unwrap_or(Span::ZERO);
        if up > self.free_at && change.outage.is_some() {
            changes.silences.push_back((change.at.max(self.free_at), up));
            self.free_at = up;
            // As after an idle period.
            self.serialiser.restart(0);
        }
        true
    }

    fn forget_silences(&mut self, now: Time) {
        let Some(changes) = &mut self.changes else { return };
        while changes.silences.front().is_some_and(|(_, to)| *to <= now) {
            changes.silences.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Limit, LowPriority, Settings};
    use super::*;
    use crate::channel::{Channel, Errors};
    use crate::stream::{Purpose, stream};

    /// 1000 bytes take 1 ms; the delay is 10 ms.
    fn link(limit: Limit, changes: &[Change]) -> Link {
        let settings = Settings {
            rate: Rate::from_bits_per_second(8_000_000),
            delay: Span::from_millis(10),
            limit,
            low_priority: LowPriority::Ignore,
            marking: None,
            framing: 0,
        };
        let channel = Channel::new(Errors::None, stream(1, Purpose::Channel, 0));
        Link::new(settings, channel).with_changes(changes)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn change(millis: u64) -> Change {
        Change { at: at(millis), rate: None, delay: None, outage: None }
    }

    fn rate(millis: u64, bits_per_second: u64) -> Change {
        Change { rate: Some(Rate::from_bits_per_second(bits_per_second)), ..change(millis) }
    }

    fn delay(millis: u64, delay: u64) -> Change {
        Change { delay: Some(Span::from_millis(delay)), ..change(millis) }
    }

    fn outage(millis: u64, outage: u64) -> Change {
        Change { outage: Some(Span::from_millis(outage)), ..change(millis) }
    }

    fn offer(link: &mut Link, now: Time) -> Fate {
        link.offer(now, 1000, Priority::Normal)
    }

    /// The fates of so many packets that are offered at once, at `now`.
    fn offer_many(link: &mut Link, now: Time, packets: usize) -> Vec<Fate> {
        (0..packets).map(|_| offer(link, now)).collect()
    }

    fn arrivals(millis: &[u64]) -> Vec<Fate> {
        millis.iter().map(|millis| Fate::Arrives(at(*millis))).collect()
    }

    #[test]
    fn the_packet_that_is_being_sent_keeps_its_rate_and_those_that_wait_get_the_new_one() {
        let mut link = link(Limit::Unlimited, &[rate(1, 4_000_000)]);
        assert_eq!(offer(&mut link, at(0) + Span::from_nanos(1)), {
            Fate::Arrives(at(11) + Span::from_nanos(1))
        });
        let second = Fate::Arrives(at(13) + Span::from_nanos(1));
        assert_eq!(offer(&mut link, at(0) + Span::from_nanos(1)), second);
    }

    #[test]
    fn a_packet_that_starts_at_the_instant_of_a_change_has_the_new_rate() {
        let mut link = link(Limit::Unlimited, &[rate(2, 4_000_000), rate(4, 8_000_000)]);
        assert_eq!(offer_many(&mut link, at(0), 5), arrivals(&[11, 12, 14, 15, 16]));
    }

    #[test]
    fn an_idle_link_changes_too() {
        let mut link = link(Limit::Unlimited, &[rate(2, 4_000_000), delay(3, 20)]);
        assert_eq!(offer(&mut link, at(50)), Fate::Arrives(at(72)));
    }

    #[test]
    fn a_packet_keeps_the_delay_that_holds_when_its_last_bit_leaves() {
        let mut link = link(Limit::Unlimited, &[delay(2, 30)]);
        assert_eq!(offer_many(&mut link, at(0), 3), arrivals(&[11, 32, 33]));
    }

    #[test]
    fn packets_do_not_overtake_each_other_when_the_delay_falls() {
        let mut link = link(Limit::Unlimited, &[delay(2, 7)]);
        assert_eq!(offer_many(&mut link, at(0), 5), arrivals(&[11, 11, 11, 11, 12]));
    }

    #[test]
    fn jitter_delays_packets_and_keeps_their_order() {
        let jitter = Jitter::new(Span::from_millis(5), stream(1, Purpose::Jitter, 0));
        let mut link = link(Limit::Unlimited, &[]).with_jitter(jitter);
        let mut last = Time::ZERO;
        let mut late = Vec::new();
        for number in 1..=1000 {
            let Fate::Arrives(arrival) = offer(&mut link, at(0)) else { panic!("damaged") };
            assert!(arrival >= last);
            assert!(arrival >= at(number + 10) && arrival <= at(number + 15));
            late.push(arrival.since(at(number + 10)));
            last = arrival;
        }
        assert!(late.iter().any(|late| *late < Span::from_millis(2)));
        assert!(late.iter().any(|late| *late > Span::from_nanos(4_900_000)));
    }

    #[test]
    fn in_an_outage_the_packet_being_sent_ends_and_the_others_wait() {
        let mut link = link(Limit::Unlimited, &[outage(1, 8)]);
        assert_eq!(offer_many(&mut link, at(0), 3), arrivals(&[11, 20, 21]));
        assert_eq!(link.waiting(at(8)), (2, 2000));
        assert_eq!(link.waiting(at(9)), (1, 1000));
    }

    #[test]
    fn an_outage_of_an_idle_link_makes_packets_wait_in_its_queue() {
        let mut link = link(Limit::Packets(2), &[outage(5, 10)]);
        assert_eq!(offer_many(&mut link, at(6), 2), arrivals(&[26, 27]));
        assert_eq!(offer(&mut link, at(7)), Fate::Dropped, "nothing is being sent");
        assert_eq!(link.waiting(at(7)), (2, 2000));
    }

    #[test]
    fn outages_that_overlap_end_with_the_last() {
        let mut link = link(Limit::Unlimited, &[outage(5, 10), outage(6, 2), outage(14, 3)]);
        assert_eq!(offer(&mut link, at(5)), Fate::Arrives(at(28)));
    }

    #[test]
    fn what_changes_in_an_outage_holds_after_it_and_not_for_the_packet_before() {
        let mut link = link(Limit::Unlimited, &[outage(1, 8), delay(4, 50), rate(5, 4_000_000)]);
        assert_eq!(offer_many(&mut link, at(0), 2), arrivals(&[11, 61]));
    }

    #[test]
    fn an_outage_is_no_time_spent_sending() {
        let mut link = link(Limit::Unlimited, &[outage(1, 8)]);
        offer_many(&mut link, at(0), 3);
        let busy = [0, 1, 5, 9, 10, 20].map(|millis| link.busy_until(at(millis)));
        assert_eq!(busy, [0, 1, 1, 1, 2, 3].map(Span::from_millis));
    }
}
