//! Directions that change during a run: another rate, another delay or an outage, such as in a
//! handover or after a new route, or a delay with jitter. RFC 9743 requires tests on such paths.
//!
//! Effects on packets:
//!
//! - A packet has the rate at the start of its transmission, until its end.
//! - It has the delay at the time when its last bit is sent. A packet that would overtake the
//!   previous one arrives together with it, because a link is FIFO. Where the direction reorders, a
//!   packet that has a shorter delay than the previous one may overtake it.
//! - In an outage no transmission starts. The present transmission ends, packets in propagation
//!   arrive, and waiting packets continue to wait.
//! - A loss applies to packets whose last bit is sent then. Such a packet counts as corrupted.
//!
//! All changes are known in advance, so that departures can be computed. They are entries of a
//! [`Timeline`], which all runs of a scenario share. Each direction reads it with its own cursor. A
//! periodic change is one entry for any number of repetitions: an hour at 100 Hz takes no more
//! memory than a minute.
//!
//! Decisions:
//! - What changes in a link is known before the run: departures stay computed, with one event per
//!   packet and hop; links that never change turn off at one comparison.
//! - The changes of a link are a timeline that all runs share and each reads with a cursor: a
//!   periodic change is one entry, however often it happens.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use rand_xoshiro::rand_core::Rng;
use units::{Rate, Span, Time};

use crate::far_end::FarEnd;
use crate::propagation::{Drawn, ImpairmentCounters, Propagation};
use crate::stream::{Purpose, Seed};
use crate::transmitter::Transmitter;

/// A change of a direction at an instant; `None` stays as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Time of the change, since the start of the run.
    pub at: Span,
    /// Period with which it is repeated; `None`: it happens once.
    pub every: Option<Span>,
    /// Serialisation rate; not zero.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Option<Span>,
    /// Length of an outage, in which no transmission starts.
    pub outage: Option<Span>,
    /// Probability that a packet is lost on its way, in addition to the errors of the channel.
    pub loss: Option<f64>,
}

/// All changes of a direction, in the order of their first times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline(Arc<[Change]>);

impl Timeline {
    /// A timeline of `changes`. Of several at one instant, those that come first here happen first.
    pub fn new(mut changes: Vec<Change>) -> Self {
        changes.sort_by_key(|change| change.at);
        Self(changes.into())
    }

    /// The changes as they were given, periodic ones once.
    pub fn changes(&self) -> &[Change] {
        &self.0
    }

    /// The timeline with all its changes later by `by`.
    #[must_use]
    pub fn later(&self, by: Span) -> Self {
        if by == Span::ZERO || self.is_empty() {
            return self.clone();
        }
        self.0.iter().map(|change| Change { at: change.at + by, ..*change }).collect()
    }

    /// These changes and those of `other`. At one instant, those of `other` happen last.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other.clone(),
            (_, true) => self.clone(),
            _ => self.0.iter().chain(&*other.0).copied().collect(),
        }
    }

    /// Returns true if it has losses.
    pub fn has_loss(&self) -> bool {
        self.0.iter().any(|change| change.loss.is_some())
    }

    /// Returns true if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that happens before `end`, in the order of time.
    pub fn until(&self, end: Time) -> Cursor {
        let mut cursor = Cursor {
            timeline: self.clone(),
            end,
            once: 0,
            periodic: BinaryHeap::new(),
            next: None,
        };
        let numbered = self.0.iter().enumerate();
        let periodic = numbered.filter(|(_, change)| change.every.is_some());
        cursor.periodic.extend(periodic.map(|(n, change)| Reverse((Time::ZERO + change.at, n))));
        cursor.find_next();
        cursor
    }
}

impl FromIterator<Change> for Timeline {
    fn from_iter<I: IntoIterator<Item = Change>>(changes: I) -> Self {
        Self::new(changes.into_iter().collect())
    }
}

/// How much later than written the events of a run with `seed` happen: uniform from zero to below
/// `most`. All links of a run have the same delay, so that events at one instant stay together, and
/// it does not depend on controllers, so that runs of one seed are paired.
pub fn event_delay(seed: &Seed, most: Span) -> Span {
    up_to(seed, 0, most)
}

/// A time below `most` that all links of a run with `seed` share, number `entity` of them.
pub(crate) fn up_to(seed: &Seed, entity: u64, most: Span) -> Span {
    if most == Span::ZERO {
        return Span::ZERO;
    }
    let drawn = seed.stream(Purpose::Phase, entity).next_u64();
    // The upper half of a product of 128 bits is below `most`.
    Span::from_nanos(((u128::from(drawn) * u128::from(most.as_nanos())) >> u64::BITS) as u64)
}

/// A place in a timeline. It holds one entry for each periodic change.
#[derive(Clone, Debug)]
pub struct Cursor {
    timeline: Timeline,
    end: Time,
    /// No change that happens once and has not happened stands before this number.
    once: usize,
    /// The next time and the number of each periodic change.
    periodic: BinaryHeap<Reverse<(Time, usize)>>,
    /// The next time and the number of the change that happens then, before the end.
    next: Option<(Time, usize)>,
}

impl Cursor {
    fn find_next(&mut self) {
        let changes = &self.timeline.0;
        while changes.get(self.once).is_some_and(|change| change.every.is_some()) {
            self.once += 1;
        }
        let once = changes.get(self.once).map(|change| (Time::ZERO + change.at, self.once));
        let periodic = self.periodic.peek().map(|Reverse(next)| *next);
        let next = once.into_iter().chain(periodic).min();
        self.next = next.filter(|(at, _)| *at < self.end);
    }
}

impl Iterator for Cursor {
    type Item = (Time, Change);

    fn next(&mut self) -> Option<(Time, Change)> {
        let (at, number) = self.next?;
        let change = self.timeline.0[number];
        match change.every {
            Some(every) => {
                self.periodic.pop();
                self.periodic.push(Reverse((at + every, number)));
            }
            None => self.once = number + 1,
        }
        self.find_next();
        Some((at, change))
    }
}

/// When a packet arrives, and whether it is corrupted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Time,
    pub corrupted: bool,
}

/// The dynamics of a direction, as far as they have come.
#[derive(Clone, Debug)]
pub(crate) struct Dynamics {
    /// The changes that have not happened at the end of the queue.
    cursor: Cursor,
    propagation: Propagation,
    /// The propagation has a random part.
    is_random: bool,
    /// The rate and the delay as far as they have changed.
    rate: Rate,
    delay: Span,
    loss: f64,
    /// Losses of the trace.
    lost: FarEnd,
    /// Times in which outages keep the transmitter from sending, from now on to the end of the
    /// queue.
    silences: VecDeque<(Time, Time)>,
    /// When the copy of the last packet arrives.
    copy: Option<Time>,
}

impl Dynamics {
    /// `None` if nothing changes.
    pub fn new(
        cursor: Cursor,
        propagation: Propagation,
        rate: Rate,
        delay: Span,
    ) -> Option<Box<Self>> {
        let is_random = propagation.is_random();
        let is_any = cursor.next.is_some() || is_random;
        is_any.then(|| {
            Box::new(Self {
                cursor,
                propagation,
                is_random,
                rate,
                delay,
                loss: 0.0,
                lost: FarEnd::default(),
                silences: VecDeque::new(),
                copy: None,
            })
        })
    }

    /// All that changes from now on.
    pub fn changes(&self) -> Cursor {
        self.cursor.clone()
    }

    pub fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// Totals of random impairments until `now`.
    pub fn impairments(&mut self, now: Time) -> Option<ImpairmentCounters> {
        self.propagation.impairments(now)
    }

    /// When the copy of the last packet arrives; none without a copy, and once.
    pub fn take_copy(&mut self) -> Option<Time> {
        self.copy.take()
    }

    /// The rate as far as it has changed.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Time after `now` and before the end of the queue in which an outage keeps the transmitter
    /// from sending.
    pub fn silent_after(&self, now: Time) -> Span {
        let left = self.silences.iter().map(|(from, to)| to.since(now.max(*from)));
        left.fold(Span::ZERO, |sum, span| sum + span)
    }

    /// A packet comes to the end of the queue at `now`. Brings the transmitter to where it can send
    /// it. An outage moves the end of the queue, maybe beyond the next change.
    pub fn before_packet(&mut self, now: Time, transmitter: &mut Transmitter) {
        while self.change_until(now.max(transmitter.free_at()), transmitter) {}
        transmitter.set_rate(self.rate);
        while self.silences.front().is_some_and(|(_, to)| *to <= now) {
            self.silences.pop_front();
        }
    }

    /// Packets that the trace has lost, and that would have arrived by `now`.
    pub fn lost_until(&mut self, now: Time) -> u64 {
        self.lost.count_until(now);
        self.lost.packets
    }

    /// The fate of a packet of `bytes` on the link that leaves at `left`, and has been `corrupted`
    /// by the channel or not.
    pub fn arrival(
        &mut self,
        now: Time,
        (left, bytes): (Time, u32),
        corrupted: bool,
        transmitter: &mut Transmitter,
    ) -> Arrival {
        while self.change_until(left, transmitter) {}
        if !self.is_random {
            let drawn = Drawn::NOTHING;
            let at = self.propagation.arrival((left, bytes), self.delay, drawn, corrupted);
            return Arrival { at, corrupted };
        }
        let drawn = self.propagation.draw();
        let is_lost = !corrupted && drawn.is_lost(self.loss);
        let corrupted = corrupted || is_lost;
        let at = self.propagation.arrival((left, bytes), self.delay, drawn, corrupted);
        if is_lost {
            self.lost.expect(now, at);
        }
        if !corrupted {
            self.copy = self.propagation.copy_arrival(now, (left, bytes), self.delay, drawn);
        }
        Arrival { at, corrupted }
    }

    /// Lets the next change happen that does until `time`. Returns whether there was one.
    #[inline]
    fn change_until(&mut self, time: Time, transmitter: &mut Transmitter) -> bool {
        let due = self.cursor.next.is_some_and(|(at, _)| at <= time);
        if due {
            self.change(transmitter);
        }
        due
    }

    /// Lets the next change happen.
    #[cold]
    fn change(&mut self, transmitter: &mut Transmitter) {
        let Some((at, change)) = self.cursor.next() else { return };
        self.rate = change.rate.unwrap_or(self.rate);
        self.delay = change.delay.unwrap_or(self.delay);
        self.loss = change.loss.unwrap_or(self.loss);
        if let Some(outage) = change.outage
            && at + outage > transmitter.free_at()
        {
            self.silences.push_back((at.max(transmitter.free_at()), at + outage));
            transmitter.pause_until(at + outage);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direction::{Direction, Fate, Settings};
    use crate::priority::Priority;
    use crate::propagation::Jitter;
    use crate::queue::QueueLimit;

    /// 1000 bytes take 1 ms; the delay is 10 ms.
    fn settings() -> Settings {
        Settings::new(Rate::from_bits_per_second(8_000_000), Span::from_millis(10))
    }

    fn link(queue: QueueLimit, changes: &[Change]) -> Direction {
        let timeline = Timeline::new(changes.to_vec());
        Direction::new(Settings { queue, timeline, ..settings() }, &Seed::new(1), 0, Time::NEVER)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn change(millis: u64) -> Change {
        let at = Span::from_millis(millis);
        Change { at, every: None, rate: None, delay: None, outage: None, loss: None }
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

    fn offer(link: &mut Direction, now: Time) -> Fate {
        link.offer(now, 1000, Priority::Normal)
    }

    /// The fates of `packets` packets that are offered at once, at `now`.
    fn offer_many(link: &mut Direction, now: Time, packets: usize) -> Vec<Fate> {
        (0..packets).map(|_| offer(link, now)).collect()
    }

    fn arrivals(millis: &[u64]) -> Vec<Fate> {
        millis.iter().map(|millis| Fate::Arrives(at(*millis))).collect()
    }

    #[test]
    fn the_packet_that_is_being_sent_keeps_its_rate_and_those_that_wait_get_the_new_one() {
        let mut link = link(QueueLimit::Unlimited, &[rate(1, 4_000_000)]);
        assert_eq!(offer(&mut link, at(0) + Span::from_nanos(1)), {
            Fate::Arrives(at(11) + Span::from_nanos(1))
        });
        let second = Fate::Arrives(at(13) + Span::from_nanos(1));
        assert_eq!(offer(&mut link, at(0) + Span::from_nanos(1)), second);
    }

    #[test]
    fn a_packet_that_starts_at_the_instant_of_a_change_has_the_new_rate() {
        let mut link = link(QueueLimit::Unlimited, &[rate(2, 4_000_000), rate(4, 8_000_000)]);
        assert_eq!(offer_many(&mut link, at(0), 5), arrivals(&[11, 12, 14, 15, 16]));
    }

    #[test]
    fn an_idle_link_changes_too() {
        let mut link = link(QueueLimit::Unlimited, &[rate(2, 4_000_000), delay(3, 20)]);
        assert_eq!(offer(&mut link, at(50)), Fate::Arrives(at(72)));
    }

    #[test]
    fn a_packet_keeps_the_delay_that_holds_when_its_last_bit_leaves() {
        let mut link = link(QueueLimit::Unlimited, &[delay(2, 30)]);
        assert_eq!(offer_many(&mut link, at(0), 3), arrivals(&[11, 32, 33]));
    }

    #[test]
    fn packets_do_not_overtake_each_other_when_the_delay_falls() {
        let mut link = link(QueueLimit::Unlimited, &[delay(2, 7)]);
        assert_eq!(offer_many(&mut link, at(0), 5), arrivals(&[11, 11, 11, 11, 12]));
    }

    #[test]
    fn jitter_delays_packets_and_keeps_their_order() {
        let jitter = Jitter::UpTo(Span::from_millis(5));
        let mut link =
            Direction::new(Settings { jitter, ..settings() }, &Seed::new(1), 0, Time::NEVER);
        let mut last = Time::ZERO;
        let mut late = Vec::new();
        for number in 1..=1000 {
            let Fate::Arrives(arrival) = offer(&mut link, at(0)) else { panic!("corrupted") };
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
        let mut link = link(QueueLimit::Unlimited, &[outage(1, 8)]);
        assert_eq!(offer_many(&mut link, at(0), 3), arrivals(&[11, 20, 21]));
        assert_eq!(link.waiting(at(8)), (2, 2000));
        assert_eq!(link.waiting(at(9)), (1, 1000));
    }

    #[test]
    fn an_outage_of_an_idle_link_makes_packets_wait_in_its_queue() {
        let mut link = link(QueueLimit::Packets(2), &[outage(5, 10)]);
        assert_eq!(offer_many(&mut link, at(6), 2), arrivals(&[26, 27]));
        assert_eq!(offer(&mut link, at(7)), Fate::Dropped, "nothing is being sent");
        assert_eq!(link.waiting(at(7)), (2, 2000));
    }

    #[test]
    fn outages_that_overlap_end_with_the_last() {
        let mut link = link(QueueLimit::Unlimited, &[outage(5, 10), outage(6, 2), outage(14, 3)]);
        assert_eq!(offer(&mut link, at(5)), Fate::Arrives(at(28)));
    }

    #[test]
    fn what_changes_in_an_outage_holds_after_it_and_not_for_the_packet_before() {
        let mut link =
            link(QueueLimit::Unlimited, &[outage(1, 8), delay(4, 50), rate(5, 4_000_000)]);
        assert_eq!(offer_many(&mut link, at(0), 2), arrivals(&[11, 61]));
    }

    #[test]
    fn an_outage_is_no_time_spent_sending() {
        let mut link = link(QueueLimit::Unlimited, &[outage(1, 8)]);
        offer_many(&mut link, at(0), 3);
        let busy = [0, 1, 5, 9, 10, 20].map(|millis| link.busy_until(at(millis)));
        assert_eq!(busy, [0, 1, 1, 1, 2, 3].map(Span::from_millis));
    }

    #[test]
    fn a_periodic_change_happens_again_and_at_one_instant_the_first_in_the_list_comes_first() {
        let every = |period: u64, change: Change| Change {
            every: Some(Span::from_millis(period)),
            ..change
        };
        let changes = [every(10, delay(5, 1)), delay(15, 2), every(20, delay(15, 3)), delay(40, 4)];
        let cursor = Timeline::new(changes.to_vec()).until(at(45));
        let happened: Vec<_> = cursor.map(|(at, change)| (at, change.delay)).collect();
        let expected = [(5, 1), (15, 1), (15, 2), (15, 3), (25, 1), (35, 1), (35, 3), (40, 4)];
        let expected = expected.map(|(millis, delay)| (at(millis), Some(Span::from_millis(delay))));
        assert_eq!(happened, expected);
    }

    #[test]
    fn an_hour_at_100_hz_is_one_entry_of_a_timeline_that_runs_share() {
        let change = Change { every: Some(Span::from_millis(10)), ..rate(10, 4_000_000) };
        let timeline = Timeline::new(vec![change]);
        let hour = Time::ZERO + Span::from_secs(3600);
        assert_eq!(timeline.until(hour).count(), 359_999);
        let cursors: Vec<_> = (0..1000).map(|_| timeline.until(hour)).collect();
        assert!(cursors.iter().all(|cursor| Arc::ptr_eq(&cursor.timeline.0, &timeline.0)));
        assert_eq!(cursors[0].periodic.len(), 1);
    }

    #[test]
    fn a_later_timeline_is_the_same_changes_later() {
        let every = Change { every: Some(Span::from_millis(10)), ..rate(5, 4_000_000) };
        let timeline = Timeline::new(vec![every, delay(15, 2)]);
        let by = Span::from_nanos(7_250_000);
        let times = |timeline: &Timeline| {
            timeline.until(at(100)).map(|(at, change)| (at, change.delay)).collect::<Vec<_>>()
        };
        let moved = times(&timeline).into_iter().map(|(at, delay)| (at + by, delay));
        let moved: Vec<_> = moved.filter(|(time, _)| *time < at(100)).collect();
        assert_eq!(times(&timeline.later(by)), moved);
        assert!(Arc::ptr_eq(&timeline.later(Span::ZERO).0, &timeline.0), "nothing is copied");
    }

    #[test]
    fn delays_of_events_are_uniform_below_the_bound_and_those_of_their_seed() {
        let most = Span::from_secs(15);
        let delays: Vec<_> = (0..4000).map(|seed| event_delay(&Seed::new(seed), most)).collect();
        assert!(delays.iter().all(|delay| *delay < most));
        for tenth in 0..10 {
            let from = Span::from_millis(1500 * tenth);
            let there = |delay: &&Span| **delay >= from && **delay < from + Span::from_millis(1500);
            let count = delays.iter().filter(there).count();
            // Five standard deviations of a binomial distribution.
            assert!((305..=495).contains(&count), "{count} of 4000 in tenth {tenth}");
        }
        assert_eq!(delays[7], event_delay(&Seed::new(7), most));
        assert_eq!(event_delay(&Seed::new(7), Span::ZERO), Span::ZERO);
    }

    #[test]
    fn nothing_changes_from_the_end_on() {
        let settings = Settings { timeline: Timeline::new(vec![delay(5, 1)]), ..settings() };
        let mut link = Direction::new(settings.clone(), &Seed::new(1), 0, at(5));
        assert_eq!(offer(&mut link, at(6)), Fate::Arrives(at(17)));
        let mut link = Direction::new(settings, &Seed::new(1), 0, at(6));
        assert_eq!(offer(&mut link, at(6)), Fate::Arrives(at(8)));
    }
}
