//! First in, first out, as a discipline that decides at dequeue.
//!
//! It drops, marks and gives way as the FIFO with computed departures does. It is for ports where
//! something looks at the packets that wait and takes some of them out, or where ARQ sends more
//! than the packets of the queue, so that departures cannot be computed.

use units::Time;

use super::aqm::store::Store;
use super::{Discipline, LowPriority, Marker, Marking, QueueLimit, Queued};
use crate::priority::Priority;

/// A drop-tail queue.
#[derive(Clone, Debug)]
pub(crate) struct DropTail {
    limit: QueueLimit,
    low_priority: LowPriority,
    marker: Option<Marker>,
    store: Store,
}

impl DropTail {
    pub fn new(limit: QueueLimit, low_priority: LowPriority, marking: Option<Marking>) -> Self {
        Self { limit, low_priority, marker: marking.map(Marker::new), store: Store::default() }
    }

    /// Makes room for a packet that has to wait, if the rules allow it.
    #[inline]
    fn admits(&mut self, packet: &Queued, dropped: &mut Vec<u32>) -> bool {
        let waiting = self.store.waiting();
        let is_low = packet.priority == Priority::Low;
        let is_crowded = || match self.limit {
            QueueLimit::Bytes(_) => waiting.1 > LowPriority::REFUSES_ABOVE_BYTES,
            _ => waiting.0 > LowPriority::REFUSES_ABOVE_PACKETS,
        };
        if is_low && self.low_priority == LowPriority::Refuse && is_crowded() {
            return false;
        }
        if !self.limit.is_full(waiting, packet.bytes) {
            return true;
        }
        !is_low && self.low_priority == LowPriority::PushOut && self.push_out(packet.bytes, dropped)
    }

    /// Drops the last packets of low priority, if that makes room for `bytes`.
    fn push_out(&mut self, bytes: u32, dropped: &mut Vec<u32>) -> bool {
        let (mut packets, mut waiting) = self.store.waiting();
        let mut out = Vec::new();
        for last in self.store.iter().rev().filter(|queued| queued.priority == Priority::Low) {
            if !self.limit.is_full((packets, waiting), bytes) {
                break;
            }
            packets -= 1;
            waiting -= u64::from(last.bytes);
            out.push(last.ticket);
        }
        let has_room = !self.limit.is_full((packets, waiting), bytes);
        if has_room {
            for ticket in &out {
                self.store.remove(*ticket);
            }
            dropped.extend(out);
        }
        has_room
    }
}

impl Discipline for DropTail {
    #[inline]
    fn enqueue(&mut self, mut packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        let (waiting, _) = self.store.waiting();
        if self.marker.as_mut().is_some_and(|marker| marker.on_arrival(waiting)) {
            packet.ecn = packet.ecn.marked();
        }
        if waits && !self.admits(&packet, dropped) {
            dropped.push(packet.ticket);
        } else {
            self.store.push(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, _: Time, _: &mut Vec<u32>) -> Option<Queued> {
        self.store.pop()
    }

    fn is_fifo(&self) -> bool {
        true
    }

    fn next_bytes(&self) -> Option<u32> {
        self.store.first().map(|packet| packet.bytes)
    }

    fn remove(&mut self, ticket: u32, _: u32) -> Option<Queued> {
        self.store.remove(ticket)
    }

    #[inline]
    fn waiting(&self) -> (usize, u64) {
        self.store.waiting()
    }

    fn boxed_clone(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}
