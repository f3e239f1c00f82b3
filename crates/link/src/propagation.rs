//! Propagation: how a packet gets from the transmitter to the far end, with everything in it that
//! is random.
//!
//! [`Jitter`] is a delay that differs from packet to packet, for example by processing in hosts and
//! sharing of radio channels. Each packet that a link accepts draws a change of its propagation
//! delay. Packets keep their order, unless the jitter says that they overtake: one that would
//! overtake the packet before arrives together with it.
//!
//! Packets that are sent at once, copies and slots are those of netem, one file each.
//!
//! Losses are those of a trace. They come in addition to the errors of the channel.
//!
//! Decisions:
//! - Jitter keeps the order of packets where nothing else is written: a link is FIFO, and with
//!   departures computed a packet still costs one event.
//! - A direction that reorders forgets the order at the first packet with a shorter delay than the
//!   packet before. From there on packets keep their order again, so that jitter reorders only
//!   where it has `reorder` itself.
//! - All random parts share one stream of the run, and each has its own part of it: a further one
//!   starts a `jump` of the generator behind the one before. So it changes no number that the
//!   others draw.

mod distribution;
mod duplication;
mod jitter;
mod normal;
mod reordering;
mod slots;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::{Span, Time};

use crate::channel::threshold;
use crate::direction::Settings;
use crate::stream::{Purpose, Seed};

pub use distribution::{Distribution, MOST_VALUES};
use duplication::Copying;
pub use duplication::Duplication;
use jitter::{Draws, Shift};
pub use jitter::{Jitter, Variation};
use reordering::Overtaking;
pub use reordering::Reordering;
pub use slots::Slots;
use slots::Slotting;

/// The random parts of the propagation in one direction, and the order of packets.
#[derive(Clone, Debug)]
pub struct Propagation {
    jitter: Option<Draws>,
    losses: Option<Xoshiro256PlusPlus>,
    /// True if packets overtake others where the delay falls.
    reorders: bool,
    /// True if packets overtake others that have more jitter.
    overtakes: bool,
    /// Packets that are sent at once, and packets that arrive twice. In boxes, as few directions
    /// have them.
    overtaking: Option<Box<Overtaking>>,
    copying: Option<Box<Copying>>,
    /// Slots in which packets are let go.
    slotting: Option<Box<Slotting>>,
    /// The delay of the last packet.
    last_delay: Span,
    /// When the last intact packet arrives.
    last_arrival: Time,
}

/// Random decisions about one packet.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// Change of its propagation delay.
    jitter: Shift,
    /// It takes no propagation delay.
    at_once: bool,
    /// Change of the delay of its copy; none if it has none.
    copy: Option<Shift>,
    /// A random number, which is large for packets that get through; none without losses.
    luck: Option<u64>,
}

/// Totals of random impairments of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairmentCounters {
    /// Packets that were sent at once, corrupted ones included.
    pub reordered_packets: u64,
    /// Copies of packets that have arrived.
    pub duplicated_packets: u64,
}

impl Drawn {
    /// The decisions where nothing is random.
    pub(crate) const NOTHING: Self =
        Self { jitter: Shift::NONE, at_once: false, copy: None, luck: None };

    /// The time that it takes where the propagation delay is `delay`.
    pub fn delayed(&self, delay: Span) -> Span {
        if self.at_once { Span::ZERO } else { self.jitter.of(delay) }
    }

    /// Returns true if it is sent at once, and overtakes those that take the delay.
    pub fn is_at_once(&self) -> bool {
        self.at_once
    }

    /// The time that its copy takes where the propagation delay is `delay`; none without a copy.
    pub fn copy_delayed(&self, delay: Span) -> Option<Span> {
        self.copy.map(|shift| shift.of(delay))
    }

    /// Returns true if the packet is lost where packets are with probability `loss`.
    pub fn is_lost(&self, loss: f64) -> bool {
        self.luck.is_some_and(|luck| luck < threshold(loss))
    }
}

impl Propagation {
    /// Propagation with `jitter`, in direction `entity` of a run with `seed`.
    pub(crate) fn new(jitter: &Jitter, seed: &Seed, entity: u64) -> Self {
        Self {
            jitter: Draws::new(jitter, || seed.stream(Purpose::Propagation, entity)),
            losses: None,
            reorders: false,
            overtakes: jitter.reorders(),
            overtaking: None,
            copying: None,
            slotting: None,
            last_delay: Span::ZERO,
            last_arrival: Time::ZERO,
        }
    }

    /// The same with losses, in direction `entity` of a run with `seed`.
    pub(crate) fn with_losses(self, seed: &Seed, entity: u64) -> Self {
        let mut random = seed.stream(Purpose::Propagation, entity);
        random.jump();
        Self { losses: Some(random), ..self }
    }

    /// The same with the packets that are sent at once, the copies and the slots of `settings`.
    pub(crate) fn impaired(self, settings: &Settings, seed: &Seed, entity: u64) -> Self {
        let Settings { jitter, reordering, duplication, slots, .. } = settings;
        let part = |jumps: u32| {
            let mut random = seed.stream(Purpose::Propagation, entity);
            (0..jumps).for_each(|_| random.jump());
            random
        };
        let overtaking = reordering.as_ref().map(|one| Overtaking::new(one, part(2)).into());
        let copying = duplication.as_ref().map(|one| Copying::new(one, jitter, part(3)).into());
        let slotting = slots.map(|slots| Slotting::new(slots, part(5)).into());
        Self { overtaking, copying, slotting, ..self }
    }

    /// The same, and packets overtake others where the delay falls if it `reorders`.
    pub(crate) fn reordering(self, reorders: bool) -> Self {
        Self { reorders, ..self }
    }

    /// Returns true if it has a random part.
    pub(crate) fn is_random(&self) -> bool {
        let Self {
            jitter,
            losses,
            reorders: _,
            overtakes: _,
            overtaking,
            copying,
            slotting,
            last_delay: _,
            last_arrival: _,
        } = self;
        let is_impaired = overtaking.is_some() || copying.is_some() || slotting.is_some();
        is_impaired || jitter.is_some() || losses.is_some()
    }

    /// Decides about the next packet. Every packet draws, whatever becomes of it: one seed gives
    /// the same packet the same numbers.
    pub fn draw(&mut self) -> Drawn {
        Drawn {
            jitter: self.jitter.as_mut().map(Draws::draw).unwrap_or_default(),
            luck: self.losses.as_mut().map(Rng::next_u64),
            at_once: self.overtaking.as_mut().is_some_and(|overtaking| overtaking.is_next()),
            copy: self.copying.as_mut().and_then(|copying| copying.draw()),
        }
    }

    /// When a packet of `bytes` arrives that could do so at `due`: in a slot, where the direction
    /// has slots.
    pub fn release(&mut self, due: Time, bytes: u32) -> Time {
        self.slotting.as_mut().map_or(due, |slotting| slotting.release(due, bytes))
    }

    /// When a packet of `bytes` on the link arrives that leaves at `left`. Packets do not overtake
    /// each other, except by jitter that reorders, if they are sent at once, and where a direction
    /// that reorders has a shorter delay than before. A corrupted packet delays no other.
    pub(crate) fn arrival(
        &mut self,
        (left, bytes): (Time, u32),
        delay: Span,
        drawn: Drawn,
        corrupted: bool,
    ) -> Time {
        if self.overtakes || (self.reorders && delay < self.last_delay) {
            self.last_arrival = Time::ZERO;
        }
        if drawn.at_once {
            return left;
        }
        self.last_delay = delay;
        let due = self.last_arrival.max(left + drawn.delayed(delay));
        let arrival = self.release(due, bytes);
        if !corrupted {
            self.last_arrival = arrival;
        }
        arrival
    }

    /// When the copy of a packet arrives that leaves at `left` and is not corrupted; none without a
    /// copy. The packet has its arrival.
    pub(crate) fn copy_arrival(
        &mut self,
        now: Time,
        (left, bytes): (Time, u32),
        delay: Span,
        drawn: Drawn,
    ) -> Option<Time> {
        let due = left + drawn.copy_delayed(delay)?;
        let due = if self.overtakes { due } else { self.last_arrival.max(due) };
        let at = self.release(due, bytes);
        self.last_arrival = at;
        self.copying.as_mut()?.expect(now, at);
        Some(at)
    }

    /// Totals of packets sent at once, and of copies that have arrived by `now`; none if it has
    /// neither of both.
    pub fn impairments(&mut self, now: Time) -> Option<ImpairmentCounters> {
        let Self { overtaking, copying, .. } = self;
        (overtaking.is_some() || copying.is_some()).then(|| ImpairmentCounters {
            reordered_packets: overtaking.as_ref().map_or(0, |all| all.packets),
            duplicated_packets: copying.as_mut().map_or(0, |all| all.count_until(now)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a packet without jitter arrives that leaves after `left` with this delay, all in
    /// milliseconds.
    fn arrival(propagation: &mut Propagation, left: u64, delay: u64, corrupted: bool) -> u64 {
        let drawn = propagation.draw();
        let left = Time::ZERO + Span::from_millis(left);
        let delay = Span::from_millis(delay);
        let at = propagation.arrival((left, 1500), delay, drawn, corrupted);
        at.as_nanos() / 1_000_000
    }

    #[test]
    fn a_packet_arrives_with_the_one_that_it_would_overtake_unless_that_one_is_corrupted() {
        let mut propagation = Propagation::new(&Jitter::NONE, &Seed::new(1), 0);
        assert_eq!(arrival(&mut propagation, 0, 9, false), 9);
        assert_eq!(arrival(&mut propagation, 1, 5, false), 9);
        assert_eq!(arrival(&mut propagation, 2, 50, true), 52);
        assert_eq!(arrival(&mut propagation, 3, 8, false), 11);
    }

    #[test]
    fn a_packet_overtakes_others_where_the_delay_falls_if_the_direction_reorders() {
        let mut propagation = Propagation::new(&Jitter::NONE, &Seed::new(1), 0).reordering(true);
        let delays = [(0, 50), (1, 20), (2, 20), (3, 40), (4, 30)];
        let arrivals = delays.map(|(left, delay)| arrival(&mut propagation, left, delay, false));
        assert_eq!(arrivals, [50, 21, 22, 43, 34]);
    }

    #[test]
    fn jitter_keeps_the_order_of_packets_that_have_the_same_delay() {
        let jitter = Jitter::UpTo(Span::from_millis(10));
        let mut propagation = Propagation::new(&jitter, &Seed::new(1), 0).reordering(true);
        let arrivals: Vec<_> = (0..1000).map(|n| arrival(&mut propagation, n, 5, false)).collect();
        assert!(arrivals.is_sorted());
    }

    #[test]
    fn packets_overtake_by_jitter_where_it_reorders_and_keep_their_order_elsewhere() {
        for reorder in [false, true] {
            let jitter = Jitter::Around(Variation {
                variation: Span::from_millis(10),
                distribution: Distribution::Normal,
                correlation: 0.0,
                reorder,
            });
            let mut propagation = Propagation::new(&jitter, &Seed::new(1), 0);
            let arrivals: Vec<_> =
                (0..1000).map(|n| arrival(&mut propagation, n, 50, false)).collect();
            assert_eq!(arrivals.is_sorted(), !reorder);
        }
    }

    #[test]
    fn losses_are_binomial_and_change_no_jitter() {
        let jitter = Jitter::UpTo(Span::from_millis(10));
        let mut without = Propagation::new(&jitter, &Seed::new(7), 3);
        let mut with = Propagation::new(&jitter, &Seed::new(7), 3).with_losses(&Seed::new(7), 3);
        let mut lost = 0u32;
        for _ in 0..100_000 {
            let drawn = with.draw();
            assert_eq!(drawn.jitter, without.draw().jitter);
            assert!(!drawn.is_lost(0.0) && drawn.is_lost(1.0));
            lost += u32::from(drawn.is_lost(0.1));
        }
        // Five standard deviations of the binomial distribution are 474.
        assert!((9526..=10_474).contains(&lost), "{lost}");
        assert!(!without.draw().is_lost(1.0), "nothing is lost without losses");
    }
}
