//! The part of a direction behind the queue: transmitter, channel and delay, and the far
//! end.

use units::{Span, Time};

use super::Fate;
use crate::channel::Channel;
use crate::dynamics::{Arrival, Dynamics};
use crate::far_end::FarEnd;
use crate::framing::Framing;
use crate::priority::Priority;
use crate::queue::{Fifo, Queued, Scheduled};
use crate::transmitter::Transmitter;

/// The part of a direction behind the queue, and the totals.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Plain, if the queue is a FIFO with computed departures.
    pub(super) framing: Framing,
    pub(super) transmitter: Transmitter,
    pub(super) channel: Channel,
    pub(super) delay: Span,
    pub(super) accepted_packets: u64,
    pub(super) dropped_packets: u64,
    pub(super) far_end: FarEnd,
}

impl Line {
    /// Offers a packet to `fifo`, at `at`, which may still be to come at `now`. With `IS_CHANGING`,
    /// the caller computes the arrival again, and reports a corrupted packet to the far end itself.
    #[inline(always)]
    pub(super) fn offer<const IS_CHANGING: bool>(
        &mut self,
        fifo: &mut Fifo,
        (now, at): (Time, Time),
        bytes: u32,
        priority: Priority,
    ) -> Fate {
        let framed = self.framing.plain_bytes(bytes);
        fifo.forget_started(at);
        if at < self.transmitter.free_at() && fifo.turns_away(framed, priority) {
            return self.turn_away(fifo, framed, priority);
        }
        self.accepted_packets += 1;
        let (start, left) = self.transmitter.send(at, framed);
        if start > at {
            fifo.push(now, (at, start), framed, priority);
        }
        let arrival = left + self.delay;
        // The packet that can be corrupted is the IP packet.
        if !self.channel.corrupts(left, bytes) {
            return Fate::Arrives(arrival);
        }
        if start > at {
            fifo.damage_last();
        }
        if IS_CHANGING {
            return Fate::Corrupted(arrival);
        }
        Fate::Corrupted(self.far_end.expect(now, arrival))
    }

    /// Takes the next packet out of the queue of a discipline, at the start of its transmission.
    /// Counts it, and those that are dropped instead.
    #[inline(always)]
    pub(super) fn dequeue(&mut self, scheduled: &mut Scheduled, start: Time) -> Option<Queued> {
        let dropped_before = scheduled.dropped.len();
        let packet = scheduled.dequeue(start);
        let dropped = (scheduled.dropped.len() - dropped_before) as u64;
        self.dropped_packets += dropped;
        self.accepted_packets -= dropped;
        let waited = start.since(packet?.since);
        scheduled.counters.count(waited);
        if waited > Span::ZERO {
            scheduled.queueing.delay.record(waited.as_nanos());
        }
        packet
    }

    /// Sends `unframed` bytes, which are `bytes` on the line, from `start` on. Returns when the
    /// last bit is sent, and whether the channel corrupts them.
    #[inline(always)]
    pub(super) fn transmit(&mut self, start: Time, bytes: u32, unframed: u32) -> (Time, bool) {
        let (_, left) = self.transmitter.send(start, bytes);
        (left, self.channel.corrupts(left, unframed))
    }

    /// Arrival of `bytes` whose last bit was sent at `left`, with the dynamics of the direction.
    #[inline(always)]
    pub(super) fn arrival(
        &mut self,
        dynamics: &mut Option<Box<Dynamics>>,
        now: Time,
        (left, bytes): (Time, u32),
        corrupted: bool,
    ) -> Arrival {
        match dynamics {
            Some(dynamics) => {
                dynamics.arrival(now, (left, bytes), corrupted, &mut self.transmitter)
            }
            None => Arrival { at: left + self.delay, corrupted },
        }
    }

    /// Fate of a packet with this arrival. The far end expects a corrupted one.
    #[inline(always)]
    pub(super) fn fate(&mut self, now: Time, arrival: Arrival) -> Fate {
        match arrival.corrupted {
            false => Fate::Arrives(arrival.at),
            true => Fate::Corrupted(self.far_end.expect(now, arrival.at)),
        }
    }

    /// The queue does not take a packet as it is.
    #[cold]
    fn turn_away(&mut self, fifo: &Fifo, framed: u32, priority: Priority) -> Fate {
        if fifo.can_push_out_for(framed, priority) {
            return Fate::PushesOut;
        }
        self.dropped_packets += 1;
        Fate::Dropped
    }
}
