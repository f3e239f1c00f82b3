//! Packets that are offered to a direction ahead of time.
//!
//! Where all packets of a direction come out of one other direction with a plain queue, it is known
//! when they come as soon as the other has accepted them. They can be offered then: nothing comes
//! between them, and queue, transmitter, channel and delay look at the time of the offer only. Just
//! totals would be those of a later time. So the direction keeps the offers whose time has not
//! come, and totals are those without them.

use units::{Span, Time};

use super::{Direction, Fate};
use crate::priority::Priority;
use crate::queue::Queue;

/// Offers for which there is room at first.
const AT_A_TIME: usize = 64;

/// An offer.
#[derive(Clone, Copy, Debug)]
struct Offer {
    at: Time,
    /// When the transmitter is free behind it.
    free_at: Time,
    /// Length of the packet, without overhead.
    bytes: u32,
    dropped: bool,
}

/// Packets that were offered ahead of time.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    /// The offers whose time has not come, and before them some of those whose time has: the last
    /// one at least.
    offers: Vec<Offer>,
    /// Totals are those of offers until then, without those behind it.
    until: Time,
    to_come: ToCome,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { offers: Vec::new(), until: Time::NEVER, to_come: ToCome::default() }
    }
}

impl Ahead {
    /// Notes an offer that is made at `now`.
    #[inline(always)]
    fn note(&mut self, now: Time, offer: Offer) {
        if self.offers.len() == self.offers.capacity() {
            self.make_room(now);
        }
        self.offers.push(offer);
    }

    /// Makes room for an offer: removes those whose time has come, or allocates.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: Time) {
        let past = self.past(now).saturating_sub(1);
        if 2 * past < self.offers.len() || self.offers.is_empty() {
            self.offers.reserve(self.offers.len().max(AT_A_TIME));
        } else {
            self.offers.drain(..past);
        }
    }

    /// How many of the offers are those until `time`.
    fn past(&self, time: Time) -> usize {
        self.offers.partition_point(|offer| offer.at <= time)
    }

    /// The packets whose time has not come at `time`.
    fn to_come_at(&self, time: Time) -> ToCome {
        let (past, offers) = self.offers.split_at(self.past(time));
        let mut free_at = past.last().map_or(Time::ZERO, |offer| offer.free_at);
        let mut to_come = ToCome { free_at: Some(free_at), ..ToCome::default() };
        for offer in offers {
            to_come.packets += 1;
            to_come.bytes += u64::from(offer.bytes);
            to_come.accepted_packets += u64::from(!offer.dropped);
            if !offer.dropped {
                to_come.busy = to_come.busy + offer.free_at.since(offer.at.max(free_at));
                free_at = offer.free_at;
            }
        }
        to_come
    }
}

/// Packets that were offered ahead of time, and whose time has not come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToCome {
    /// All of them.
    pub packets: u64,
    /// Their bytes, without overhead.
    pub bytes: u64,
    /// Those that are accepted.
    pub(super) accepted_packets: u64,
    /// Time that their transmissions take.
    pub(super) busy: Span,
    /// When the transmitter is free of all others; `None` where no packets are offered ahead.
    pub(super) free_at: Option<Time>,
}

impl ToCome {
    /// Those that are dropped.
    pub(super) fn dropped_packets(&self) -> u64 {
        self.packets - self.accepted_packets
    }
}

impl Direction {
    /// Offers a packet at `now` that comes at `at`. Both must not go back, and all packets must be
    /// offered so. Only a direction with a plain queue that pushes nothing out takes packets ahead
    /// of time. Always inlined, as [`offer`](Self::offer).
    #[inline(always)]
    pub fn offer_ahead(&mut self, now: Time, at: Time, bytes: u32, priority: Priority) -> Fate {
        let (Queue::Plain(fifo), Some(ahead)) = (&mut self.queue, &mut self.ahead) else {
            return Fate::Dropped;
        };
        let fate = self.line.offer::<false>(fifo, (now, at), bytes, priority);
        let (free_at, dropped) = (self.line.transmitter.free_at(), fate == Fate::Dropped);
        ahead.note(now, Offer { at, free_at, bytes, dropped });
        fate
    }

    /// Takes packets ahead of time from now on.
    pub fn take_ahead(&mut self) {
        self.ahead.get_or_insert_default();
    }

    /// From now on, totals are those of the packets that come until `time`: without later ones,
    /// which were offered ahead of time.
    pub fn count_offers_until(&mut self, time: Time) {
        if let Some(ahead) = &mut self.ahead {
            (ahead.until, ahead.to_come) = (time, ahead.to_come_at(time));
        }
    }

    /// The packets that totals are without.
    pub fn to_come(&self) -> ToCome {
        self.ahead.as_ref().map_or_else(ToCome::default, |ahead| ahead.to_come)
    }

    /// Totals are those of offers until then.
    pub(super) fn offered(&self) -> Time {
        self.ahead.as_ref().map_or(Time::NEVER, |ahead| ahead.until)
    }
}
