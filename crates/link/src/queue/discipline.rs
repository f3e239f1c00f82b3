//! Queues that decide at dequeue.

use std::fmt::Debug;

use sketch::Sketch;
use units::{Span, Time};

use super::{AnyDiscipline, Ecn, Queueing};
use crate::direction::Fate;
use crate::priority::Priority;

/// A packet in a discipline's queue. The network holds the packet itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Number under which the network holds the packet.
    pub ticket: u32,
    /// What a router takes for its flow: one number for addresses, protocol and ports.
    pub flow: u32,
    /// Its bytes on the link, overhead included.
    pub bytes: u32,
    /// Its priority.
    pub priority: Priority,
    /// Its ECN field. A discipline marks by changing it.
    pub ecn: Ecn,
    /// When it arrived at the queue.
    pub since: Time,
}

/// A queue that decides at dequeue which packet is next and which are dropped.
pub trait Discipline: Debug + Send + Sync {
    /// Takes a packet that arrives at `packet.since`. `waits` is false if the transmitter is free:
    /// the packet is dequeued at once, and limits do not count it. The tickets of packets that the
    /// queue drops go to `dropped`; the packet itself may be one of them.
    fn enqueue(&mut self, packet: Queued, waits: bool, dropped: &mut Vec<u32>);

    /// Removes the next packet to be sent, at `now`. The tickets of packets that are dropped instead
    /// go to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<u32>) -> Option<Queued>;

    /// Takes a packet of `flow` that waits out of the queue: it is not sent, and not dropped by the
    /// queue either. `None` if none with this ticket waits, and from disciplines that cannot do it.
    fn remove(&mut self, ticket: u32, flow: u32) -> Option<Queued> {
        let _ = (ticket, flow);
        None
    }

    /// Packets and bytes in the queue, overhead included.
    fn waiting(&self) -> (usize, u64);

    /// What it has decided so far, apart from its limit.
    fn decisions(&self) -> Decisions {
        Decisions::default()
    }

    /// The same queue once more.
    fn boxed_clone(&self) -> Box<dyn Discipline>;
}

impl Clone for Box<dyn Discipline> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// Decisions of active queue management. Packets dropped by a full queue are none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Packets dropped before the queue was full.
    pub dropped_packets: u64,
    /// Packets marked; those that came with a mark do not count.
    pub marked_packets: u64,
}

impl Decisions {
    /// Drops a packet.
    pub(crate) fn drop(&mut self, ticket: u32, dropped: &mut Vec<u32>) {
        self.dropped_packets += 1;
        dropped.push(ticket);
    }

    /// Marks a packet whose endpoints use ECN.
    pub(crate) fn mark(&mut self, packet: &mut Queued) {
        self.marked_packets += u64::from(packet.ecn != Ecn::Marked);
        packet.ecn = packet.ecn.marked();
    }
}

/// Totals of a queue with a discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AqmCounters {
    /// Its decisions.
    pub decisions: Decisions,
    /// Packets that have left the queue to be sent.
    pub sent_packets: u64,
    /// Sum of the times that these have waited.
    pub queue_delay: Span,
    /// The longest of these times.
    pub max_queue_delay: Span,
}

impl AqmCounters {
    /// A packet leaves the queue after `delay`.
    pub fn count(&mut self, delay: Span) {
        self.sent_packets += 1;
        self.queue_delay = self.queue_delay + delay;
        self.max_queue_delay = self.max_queue_delay.max(delay);
    }
}

/// A packet whose transmission has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The packet, with its ECN field behind the queue.
    pub packet: Queued,
    /// [`Fate::Arrives`] or [`Fate::Corrupted`].
    pub fate: Fate,
}

/// A discipline at work.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled {
    pub discipline: AnyDiscipline,
    pub dropped: Vec<u32>,
    /// When the last packet arrived.
    pub last_arrival: Time,
    /// When the next transmission starts; never, if nothing waits.
    pub next_service: Time,
    pub queueing: Queueing,
    /// Totals without the decisions, which the discipline counts.
    pub counters: AqmCounters,
}

impl Scheduled {
    pub fn new(discipline: AnyDiscipline) -> Self {
        Self {
            discipline,
            dropped: Vec::new(),
            last_arrival: Time::ZERO,
            next_service: Time::NEVER,
            queueing: Queueing { delay: Sketch::new(), bytes: Some(Sketch::new()) },
            counters: AqmCounters::default(),
        }
    }

    pub fn counters(&self) -> AqmCounters {
        AqmCounters { decisions: self.discipline.decisions(), ..self.counters }
    }

    /// Records the length of the queue, which a packet has just joined.
    pub fn record_length(&mut self, bytes: u64) {
        self.queueing.bytes.get_or_insert_default().record(bytes);
    }

    /// Largest number of bytes that waited.
    pub fn max_waiting_bytes(&self) -> u64 {
        self.queueing.bytes.as_ref().map_or(0, Sketch::max)
    }

    pub fn is_empty(&self) -> bool {
        self.discipline.waiting().0 == 0
    }
}
