//! Queues that decide at dequeue.

use std::fmt::Debug;

use units::Time;

use super::Ecn;
use crate::direction::Fate;
use crate::priority::Priority;

/// A packet in a discipline's queue. The network holds the packet itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Number under which the network holds the packet.
    pub ticket: u32,
    /// Number of its flow.
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

    /// Packets and bytes in the queue, overhead included.
    fn waiting(&self) -> (usize, u64);

    /// The same queue once more.
    fn boxed_clone(&self) -> Box<dyn Discipline>;
}

impl Clone for Box<dyn Discipline> {
    fn clone(&self) -> Self {
        self.boxed_clone()
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
    pub discipline: Box<dyn Discipline>,
    pub dropped: Vec<u32>,
    /// When the last packet arrived.
    pub last_arrival: Time,
    /// When the next transmission starts; never, if nothing waits.
    pub next_service: Time,
    /// Largest number of bytes that waited.
    pub max_waiting_bytes: u64,
}

impl Scheduled {
    pub fn new(discipline: Box<dyn Discipline>) -> Self {
        Self {
            discipline,
            dropped: Vec::new(),
            last_arrival: Time::ZERO,
            next_service: Time::NEVER,
            max_waiting_bytes: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.discipline.waiting().0 == 0
    }
}
